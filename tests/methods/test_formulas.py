"""Each method's loss against its literal loop, in float64, run by run."""

from dataclasses import replace

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from batches_of import first_step
from problems import problem
from raan.lab.methods.penalties import hsic, score_gap
from raan.lab.methods.rnf import MIXTURES, SCATTER, partners
from raan.methods import EOR, ERM, HSIC, IRM, RNF, GapPenalty, GroupDRO, GroupWeights, Reweighing
from raan.methods.erm import group_weights, independence_weights
from reference import methods as loops
from reference import neighbourhood as paper

each_shape = pytest.mark.parametrize(("classes", "attributes"), [(2, 2), (3, 4)])


def runs(step):
    """For each run: its number, logits, label, attribute."""
    for run, logits in enumerate(step.logits()):
        yield run, logits, step.batch.label[run].numpy(), step.batch.attribute[run].numpy()


def probabilities(logits):
    return np.array([loops.softmax(logit) for logit in logits])


@each_shape
def test_erm(classes, attributes):
    step = first_step(ERM(), classes, attributes)
    loss, _, _ = step.loss()
    for run, logits, label, _ in runs(step):
        assert loss[run].item() == pytest.approx(loops.mean_cross_entropy(logits, label))


@each_shape
@pytest.mark.parametrize(
    ("method", "weights"), [(GroupWeights(), loops.group_weights), (Reweighing(), loops.reweighing)]
)
def test_weighted_methods_weigh_each_row_as_their_definition_says(method, weights, classes, attributes):
    step = first_step(method, classes, attributes)
    loss, _, _ = step.loss()
    for run, logits, label, _ in runs(step):
        rows = step.rows.train[run]
        of_row = dict(
            zip(
                rows.tolist(),
                weights(step.table.label[rows].numpy(), step.table.attribute[rows].numpy()),
                strict=True,
            )
        )
        batch = step.batch.row[run].tolist()
        terms = [of_row[row] * loops.cross_entropy(logits[i], label[i]) for i, row in enumerate(batch)]
        assert loss[run].item() == pytest.approx(sum(terms) / len(terms))


@settings(max_examples=30, deadline=None)
@given(seed=st.integers(0, 10_000), rows=st.integers(8, 40))
def test_balancing_only_is_group_weights_where_the_attribute_is_binary(seed, rows):
    p = problem(seed=seed, rows=rows, classes=2, attributes=2)
    uniform = paper.sample_weights(
        p.embedding.numpy(), p.label.numpy(), p.attribute.numpy(), float("inf"), "group"
    )
    np.testing.assert_allclose(group_weights(p.label, p.attribute).numpy(), uniform, rtol=1e-9)


@settings(max_examples=30, deadline=None)
@given(seed=st.integers(0, 10_000), rows=st.integers(13, 40), unknown=st.integers(0, 3))
def test_reweighed_classes_and_attributes_are_independent(seed, rows, unknown):
    p = problem(seed=seed, rows=rows, classes=3, attributes=4, unknown=unknown)
    weight = independence_weights(p.label, p.attribute)
    known = p.attribute >= 0
    joint = torch.zeros(3, 4, dtype=torch.float64)
    joint.index_put_((p.label[known], p.attribute[known]), weight[known], accumulate=True)
    product = joint.sum(1, keepdim=True) * joint.sum(0, keepdim=True) / joint.sum()
    seen = joint > 0
    if seen.all():  # an empty cell has no rows to carry its total
        torch.testing.assert_close(joint, product)


@each_shape
def test_group_dro_over_several_steps(classes, attributes):
    step = first_step(GroupDRO(step=0.7), classes, attributes)
    memory = step.memory
    names = [(c, a) for c in range(classes) for a in range(attributes)]
    known = [
        loops.cells(step.table.label[rows].numpy(), step.table.attribute[rows].numpy()) for rows in step.rows.train
    ]
    q = [{cell: 1 / len(cells) for cell in cells} for cells in known]
    for _ in range(3):
        loss, memory = step.method.loss(step.model, step.batch, memory)
        for run, logits, label, attribute in runs(step):
            expected, q[run] = loops.group_dro(logits, label, attribute, q[run], 0.7)
            assert loss[run].item() == pytest.approx(expected)
            found = memory.whole[run].exp().tolist()
            assert found == pytest.approx([q[run].get(cell, 0.0) for cell in names])


def test_group_dro_never_loses_a_group_to_rounding():
    step = first_step(GroupDRO(step=2.0), 2, 2)
    memory = step.memory._replace(whole=torch.tensor([[0.0, -900.0, -900.0, -900.0]] * 2, dtype=torch.float64))
    _, after = step.method.loss(step.model, step.batch, memory)
    assert after.whole.isfinite().all()
    assert (after.whole[:, 1:] < -800).all()


@each_shape
def test_irm(classes, attributes):
    step = first_step(IRM(weight=3.0), classes, attributes)
    loss, _, _ = step.loss()
    for run, logits, label, _ in runs(step):
        expected = loops.irm(logits, label, step.batch.environment[run].tolist(), 3.0)
        assert loss[run].item() == pytest.approx(expected, rel=1e-6)


@pytest.mark.usefixtures("as_users_call")
@pytest.mark.parametrize(
    ("environment", "message"),
    [
        (None, "IRM needs environments, and the table 'table' has none"),
        (torch.zeros(240, dtype=torch.long), "needs two environments or more, and all training rows are of one"),
    ],
)
def test_irm_says_where_it_does_not_apply(environment, message):
    step = first_step(ERM())
    with pytest.raises(ValueError, match=message):
        IRM().prepare(step.model, replace(step.table, environment=environment), step.rows.train)


@each_shape
def test_eor(classes, attributes):
    step = first_step(EOR(weight=0.3), classes, attributes)
    loss, _, _ = step.loss()
    for run, logits, label, attribute in runs(step):
        odds = np.array([loops.log_odds(logit) for logit in logits])
        penalty = loops.equalized_odds_penalty(odds, label, attribute)
        assert loss[run].item() == pytest.approx(loops.mean_cross_entropy(logits, label) + 0.3 * penalty)


@each_shape
@pytest.mark.parametrize("notion", ["DP", "EO"])
def test_gap_penalties(notion, classes, attributes):
    step = first_step(GapPenalty(notion, weight=0.3), classes, attributes)
    penalty = loops.demographic_parity_penalty if notion == "DP" else loops.equalized_odds_penalty
    loss, _, _ = step.loss()
    for run, logits, label, attribute in runs(step):
        expected = loops.mean_cross_entropy(logits, label) + 0.3 * penalty(probabilities(logits), label, attribute)
        assert loss[run].item() == pytest.approx(expected)


def test_the_eo_gap_of_predictions_is_the_papers_metric():
    """Probabilities of 0 and 1 are predictions: the surrogate is then the metric itself, for two classes."""
    from raan.fairness import count, demographic_parity_gap, equalized_odds_gap

    generator = torch.Generator().manual_seed(0)
    label, prediction = (torch.randint(2, (4, 60), generator=generator) for _ in range(2))
    attribute = torch.randint(3, (4, 60), generator=generator)
    score = torch.nn.functional.one_hot(prediction, 2).double()
    counts = count(label.numpy(), attribute.numpy(), prediction.numpy(), 2, 3)
    np.testing.assert_allclose(score_gap(score, label, attribute, "DP"), demographic_parity_gap(counts))
    two = attribute.clamp(max=1)
    gap = equalized_odds_gap(count(label.numpy(), two.numpy(), prediction.numpy(), 2, 2))
    np.testing.assert_allclose(score_gap(score, label, two, "EO"), gap)


@each_shape
def test_hsic_penalty(classes, attributes):
    step = first_step(HSIC(weight=5.0, bandwidth=0.3), classes, attributes)
    loss, _, _ = step.loss()
    for run, logits, label, attribute in runs(step):
        criterion = loops.hsic(probabilities(logits), attribute, 0.3)
        assert loss[run].item() == pytest.approx(loops.mean_cross_entropy(logits, label) + 5 * criterion)


@settings(max_examples=30, deadline=None)
@given(seed=st.integers(0, 10_000), rows=st.integers(4, 30))
def test_hsic_is_never_negative_and_zero_for_equal_scores(seed, rows):
    generator = torch.Generator().manual_seed(seed)
    attribute = torch.randint(-1, 3, (2, rows), generator=generator)
    score = torch.rand(2, rows, 2, generator=generator, dtype=torch.float64)
    bandwidth = torch.tensor(0.5, dtype=torch.float64)
    assert (hsic(score, attribute, bandwidth) >= -1e-12).all()
    assert hsic(torch.ones_like(score), attribute, bandwidth).abs().max() < 1e-12


@each_shape
@pytest.mark.parametrize("dropout", [0.0, 0.3])
def test_rnf(classes, attributes, dropout):
    step = first_step(RNF(smoothness=0.2, temperature=3.0), classes, attributes, dropout=dropout)
    # The student has moved on from its teacher.
    step = step._replace(model=step.model.at(step.model.parameters + 0.05))
    loss, _, _ = step.loss()
    teacher = step.model.at(step.memory.whole)(step.batch.features).logit.numpy()
    embedding = step.model(step.batch.features, step.batch.keep).embedding
    head = step.model.without_encoder()
    for run, _, label, attribute in runs(step):
        soft_label = probabilities(teacher[run] / 3.0)
        partner = loops.rnf_partners(label, attribute, step.batch.row[run].numpy(), SCATTER)
        expected = _rnf(step, head, run, embedding[run].numpy(), soft_label, partner)
        assert loss[run].item() == pytest.approx(expected)


def _rnf(step, head, run, embedding, soft_label, partner):
    """The loop's mean over pairs, each answered by the head under the sample's own dropout."""
    losses = []
    for i, j in enumerate(partner):
        if j is None:
            continue
        units = step.model.encoder.units
        keep = None if step.batch.keep is None else step.batch.keep[:, i : i + 1, units:]

        def answer(z, keep=keep):
            point = torch.tensor(z).expand(2, 1, -1)
            return loops.softmax(head(point, keep).logit[run, 0].detach().numpy())

        only = [j if k == i else None for k in range(len(partner))]
        losses.append(loops.rnf(answer, embedding, soft_label, only, 0.2, MIXTURES[1:]))
    return sum(losses) / len(losses)


@settings(max_examples=40, deadline=None)
@given(seed=st.integers(0, 10_000), rows=st.integers(10, 30), unknown=st.integers(0, 4))
def test_rnf_partners_are_neighbours_and_shared_fairly(seed, rows, unknown):
    p = problem(seed=seed, rows=rows, classes=2, attributes=3, unknown=unknown)
    row = torch.randperm(1000, generator=torch.Generator().manual_seed(seed))[:rows]
    chosen = partners(p.label, p.attribute, row)
    expected = loops.rnf_partners(p.label.tolist(), p.attribute.tolist(), row.tolist(), SCATTER)
    for i, j in enumerate(expected):
        assert chosen[i].nonzero().flatten().tolist() == ([] if j is None else [j])
