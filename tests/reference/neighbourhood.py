"""The paper's formulas as literal loops in float64, written for clarity and nothing else."""

import math

import numpy as np


def unit(embedding):
    return np.array([z / math.sqrt((z * z).sum()) for z in embedding.astype(np.float64)])


def neighbourhood(label, attribute, i):
    """P_i: the same class, another attribute; unknown (-1) has and is no neighbour."""
    return [
        j
        for j in range(len(label))
        if label[j] == label[i] and attribute[j] != attribute[i] and attribute[i] >= 0 and attribute[j] >= 0
    ]


def pair_weights(embedding, label, attribute, temperature):
    """Eq. (3); at temperature 0 the nearest neighbours share, at inf all do."""
    n, z = len(label), unit(embedding)
    weights = np.zeros((n, n))
    for i in range(n):
        members = neighbourhood(label, attribute, i)
        if not members:
            continue
        similarity = {j: float(z[i] @ z[j]) for j in members}
        nearest = max(similarity.values())
        if temperature == 0:
            score = {j: 1.0 if s > nearest - 1e-12 else 0.0 for j, s in similarity.items()}
        else:
            score = {j: math.exp((s - nearest) / temperature) for j, s in similarity.items()}
        total = sum(score.values())
        for j in members:
            weights[i, j] = score[j] / total
    return weights


def sample_weights(embedding, label, attribute, temperature, balance, totals=None):
    """p_j for every balance, by its definition; 1 where there is no neighbour."""
    n = len(label)
    pair = pair_weights(embedding, label, attribute, temperature)
    cells = {}
    for i in range(n):
        if attribute[i] >= 0:
            cells.setdefault((label[i], attribute[i]), []).append(i)
    known = sum(len(members) for members in cells.values())
    weights = np.ones(n)
    for j in range(n):
        anchors = neighbourhood(label, attribute, j)
        if not anchors:
            continue
        if balance == "group":
            weights[j] = known / len(cells) * sum(pair[i, j] / len(cells[label[i], attribute[i]]) for i in anchors)
        else:
            weights[j] = sum(pair[i, j] for i in anchors)
    if balance in ("group", "sample"):
        return weights
    for (c, a), members in cells.items():
        if not neighbourhood(label, attribute, members[0]):
            continue
        of_class = sum(len(m) for (c2, _), m in cells.items() if c2 == c)
        of_attribute = sum(len(m) for (_, a2), m in cells.items() if a2 == a)
        total = of_class * of_attribute / known if totals is None else totals[c, a]
        present = sum(weights[j] for j in members)
        for j in members:  # a cell that no anchor points to has no shape: its total is spread evenly
            weights[j] = weights[j] * total / present if present > 0 else total / len(members)
    return weights


def group_objective(embedding, label, attribute, loss, temperature):
    """Eq. (4), its four sums as printed, over the cells that are not empty."""
    pair = pair_weights(embedding, label, attribute, temperature)
    means = []
    for c in sorted(set(label)):
        for a in sorted(set(attribute)):
            members = [i for i in range(len(label)) if label[i] == c and attribute[i] == a]
            if members:
                means.append(
                    sum(sum(pair[i, j] * loss[j] for j in range(len(label))) for i in members) / len(members)
                )
    return sum(means) / len(means)


def sample_objective(embedding, label, attribute, loss, temperature):
    """Eq. (5): the mean over samples of g1 / g2."""
    n, z, total = len(label), unit(embedding), 0.0
    for i in range(n):
        members = neighbourhood(label, attribute, i)
        g1 = sum(math.exp((z[i] @ z[j] - 1) / temperature) * loss[j] for j in members) / len(members)
        g2 = sum(math.exp((z[i] @ z[j] - 1) / temperature) for j in members) / len(members)
        total += g1 / g2
    return total / n


def update_inner(u, batch, embedding, label, attribute, loss, temperature, gamma, floor):
    """Alg. 2 with Eq. (7): u maps a row to [u1, u2]; a first visit takes the estimate."""
    z = unit(embedding)
    estimates = {}
    for i, row in enumerate(batch):
        members = neighbourhood(label, attribute, i)
        if not members:
            continue
        affinity = [math.exp((z[i] @ z[j] - 1) / temperature) for j in members]
        g1 = sum(e * loss[j] for e, j in zip(affinity, members, strict=True)) / len(members)
        g2 = sum(affinity) / len(members)
        estimates.setdefault(row, []).append((g1, g2))
    after = dict(u)
    for row, several in estimates.items():
        g1 = sum(g[0] for g in several) / len(several)
        g2 = sum(g[1] for g in several) / len(several)
        if row in u:
            g1, g2 = (1 - gamma) * u[row][0] + gamma * g1, (1 - gamma) * u[row][1] + gamma * g2
        after[row] = (g1, max(g2, floor))
    return after


def gradient_estimate(u, batch, embedding, label, attribute, loss, loss_slope, embedding_slope, temperature):
    """G(w), Eq. (8), with the right form of Eq. (6): 1 / temperature and the Jacobian of the unit embedding.

    loss_slope[j] is the gradient of sample j's loss and embedding_slope[j] the Jacobian of its raw embedding, both
    with respect to one vector of parameters. Pass zeros as embedding_slope for RAAN, whose encoder is fixed.
    """
    n, z = len(batch), unit(embedding)
    slopes = []
    for j in range(n):
        length = math.sqrt((embedding[j] ** 2).sum())
        slopes.append((np.eye(len(z[j])) - np.outer(z[j], z[j])) / length @ embedding_slope[j])
    total = np.zeros_like(loss_slope[0])
    for i, row in enumerate(batch):
        members = neighbourhood(label, attribute, i)
        if not members:
            continue
        slope1, slope2 = np.zeros_like(total), np.zeros_like(total)
        for j in members:
            affinity = math.exp((z[i] @ z[j] - 1) / temperature)
            affinity_slope = affinity / temperature * (z[i] @ slopes[j] + z[j] @ slopes[i])
            slope1 += (affinity * loss_slope[j] + affinity_slope * loss[j]) / len(members)
            slope2 += affinity_slope / len(members)
        u1, u2 = u[row]
        total += slope1 / u2 - u1 / u2**2 * slope2
    return total / n
