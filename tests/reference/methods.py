"""The methods' formulas as literal loops in float64, for one run, written for clarity and nothing else."""

import math

import numpy as np

from reference import neighbourhood as paper


def softmax(logit):
    shifted = [math.exp(value - max(logit)) for value in logit]
    return np.array([value / sum(shifted) for value in shifted])


def cross_entropy(logit, label):
    return -math.log(softmax(logit)[label])


def mean_cross_entropy(logits, labels):
    return sum(cross_entropy(logit, label) for logit, label in zip(logits, labels, strict=True)) / len(labels)


# Weights


def cells(label, attribute):
    """The rows of each (class, attribute) cell that has any."""
    found = {}
    for row, (c, a) in enumerate(zip(label, attribute, strict=True)):
        if a >= 0:
            found.setdefault((c, a), []).append(row)
    return found


def group_weights(label, attribute):
    groups = cells(label, attribute)
    known = sum(len(rows) for rows in groups.values())
    weights = np.ones(len(label))
    for rows in groups.values():
        for row in rows:
            weights[row] = known / len(groups) / len(rows)
    return weights


def reweighing(label, attribute):
    """Kamiran and Calders: the expected share of the cell over the observed one."""
    known = [row for row in range(len(label)) if attribute[row] >= 0]
    weights = np.ones(len(label))
    for row in known:
        of_class = sum(label[other] == label[row] for other in known) / len(known)
        of_group = sum(attribute[other] == attribute[row] for other in known) / len(known)
        of_both = sum(label[other] == label[row] and attribute[other] == attribute[row] for other in known) / len(
            known
        )
        weights[row] = of_class * of_group / of_both
    return weights


# Losses of one batch


def group_dro(logits, label, attribute, q, step):
    """Sagawa et al.: q maps a cell to its weight; the loss, and q after the step."""
    losses = {}
    for cell in q:
        members = cells(label, attribute).get(cell, [])
        losses[cell] = sum(cross_entropy(logits[i], label[i]) for i in members) / max(len(members), 1)
    grown = {cell: q[cell] * math.exp(step * losses[cell]) for cell in q}
    q = {cell: weight / sum(grown.values()) for cell, weight in grown.items()}
    return sum(q[cell] * losses[cell] for cell in q), q


def irm(logits, label, environment, weight):
    """IRMv1, the slope in the multiplier by a central difference."""

    def risk(members, scale):
        return sum(cross_entropy(scale * logits[i], label[i]) for i in members) / len(members)

    present = sorted(set(environment))
    total = 0.0
    for name in present:
        members = [i for i in range(len(label)) if environment[i] == name]
        slope = (risk(members, 1 + 1e-5) - risk(members, 1 - 1e-5)) / 2e-5
        total += risk(members, 1) + weight * slope**2
    return total / len(present)


def log_odds(logit):
    p = softmax(logit)
    return np.array([math.log(p[k] / sum(p[j] for j in range(len(p)) if j != k)) for k in range(len(p))])


def _gap(values, attribute, members):
    """The largest difference between two groups' means over the members."""
    means = []
    for a in sorted({attribute[i] for i in members if attribute[i] >= 0}):
        group = [values[i] for i in members if attribute[i] == a]
        means.append(sum(group) / len(group))
    return max((abs(first - second) for first in means for second in means), default=0.0)


def demographic_parity_penalty(score, label, attribute):
    classes, everyone = score.shape[1], range(len(label))
    return sum(_gap(score[:, k], attribute, everyone) for k in range(classes)) / classes


def equalized_odds_penalty(score, label, attribute):
    classes, total = score.shape[1], 0.0
    for k in range(classes):
        total += _gap(score[:, k], attribute, [i for i in range(len(label)) if label[i] == k])
        total += _gap(score[:, k], attribute, [i for i in range(len(label)) if label[i] != k])
    return total / classes


def hsic(score, attribute, bandwidth):
    """tr(K H L H) / m^2 with H = I - 1/m, over the samples of known attribute."""
    known = [i for i in range(len(attribute)) if attribute[i] >= 0]
    m = len(known)
    kernel, equal = np.zeros((m, m)), np.zeros((m, m))
    for i, first in enumerate(known):
        for j, second in enumerate(known):
            distance = sum((score[first] - score[second]) ** 2)
            kernel[i, j] = math.exp(-distance / (2 * bandwidth**2))
            equal[i, j] = attribute[first] == attribute[second]
    centring = np.eye(m) - np.ones((m, m)) / m
    return np.trace(kernel @ centring @ equal @ centring) / m**2


# RNF


def rnf_partners(label, attribute, row, scatter):
    """Each sample's partner or None: the samples of a cell take their neighbours in turn, in scattered order."""
    order = sorted(range(len(label)), key=lambda i: int(row[i]) * scatter % 2**32)
    turns, partner = {}, [None] * len(label)
    for i in order:
        cell = (label[i], attribute[i])
        turn = turns.get(cell, 0)
        turns[cell] = turn + 1
        mates = [j for j in order if j in paper.neighbourhood(label, attribute, i)]
        if mates:
            partner[i] = mates[turn % len(mates)]
    return partner


def rnf(head, embedding, soft_label, partner, smoothness, mixtures):
    """Du et al.: `head` maps an embedding to probabilities."""
    losses = []
    for i, j in enumerate(partner):
        if j is None:
            continue
        middle = head((embedding[i] + embedding[j]) / 2)
        error = middle - (soft_label[i] + soft_label[j]) / 2
        loss = sum(error**2) / len(error)
        for share in mixtures:
            loss += smoothness * sum(abs(head(share * embedding[i] + (1 - share) * embedding[j]) - middle))
        losses.append(loss)
    return sum(losses) / len(losses) if losses else 0.0


def generalised_cross_entropy(logit, label, q):
    return (1 - softmax(logit)[label] ** q) / q


# The adversary


def adversary_loss(c, weight, bias, logits, label, attribute, sees_label):
    """Zhang et al.: s = softmax((1 + |c|) logit), and a linear guess of the attribute from it."""
    losses = []
    for logit, y, a in zip(logits, label, attribute, strict=True):
        if a < 0:
            continue
        s = softmax((1 + abs(c)) * logit)
        if sees_label:
            seen = np.zeros(len(s) ** 2)
            seen[y * len(s) : (y + 1) * len(s)] = s
        else:
            seen = s
        guess = [bias[k] + sum(seen[m] * weight[m][k] for m in range(len(seen))) for k in range(len(bias))]
        losses.append(cross_entropy(np.array(guess), a))
    return sum(losses) / len(losses) if losses else 0.0


def adversarial_gradient(predictor, adversary, weight):
    """g_P - proj_{g_A} g_P - weight g_A of one weight matrix, the inner products over its entries."""
    inner = square = 0.0
    for row in range(predictor.shape[0]):
        for column in range(predictor.shape[1]):
            inner += predictor[row, column] * adversary[row, column]
            square += adversary[row, column] ** 2
    projection = inner / square * adversary if square > 0 else np.zeros_like(adversary)
    return predictor - projection - weight * adversary


# The optimisers that the paper leaves open


def moap_inner(u, batch, n, embedding, label, attribute, loss, temperature, gamma):
    """MOAP's u: all rows shrink by 1 - gamma, the batch's gain gamma n / B g-hat; a first visit takes g-hat.

    A row of the batch without neighbours in it has no g-hat, and counts as not drawn.
    """
    after = {row: ((1 - gamma) * u1, (1 - gamma) * u2) for row, (u1, u2) in u.items()}
    estimates = paper.update_inner({}, batch, embedding, label, attribute, loss, temperature, 1.0, 0.0)
    for row, (g1, g2) in estimates.items():
        if row in u:
            gain = gamma * n / len(batch)
            after[row] = (after[row][0] + gain * g1, after[row][1] + gain * g2)
        else:
            after[row] = (g1, g2)
    return after
