"""Every named rate is that of a literal loop, of scikit-learn, fairlearn and OxonFair, weights included."""

import fairlearn.metrics
import numpy as np
import pytest
import sklearn.metrics
from fairlearn.metrics import MetricFrame
from oxonfair.utils import group_metrics as oxonfair

import raan
from raan import measures as m
from raan.errors import InputError
from raan.fairness.counts import count, effective_weights
from raan.fairness.measures import COMPARISONS, MEASURES, Limit, read_aim
from raan.fairness.metrics import measure

rng = np.random.default_rng(5)
ROWS = 4_000
A = rng.integers(0, 3, ROWS)
Y = (rng.random(ROWS) < 0.3 + 0.15 * A).astype(int)
P = np.where(rng.random(ROWS) < 0.75 + 0.05 * A, Y, 1 - Y)
W = rng.exponential(1.0, ROWS)
COUNTS, WEIGHTED = count(Y, A, P, 2, 3), count(Y, A, P, 2, 3, W)

OF_SCIKIT_LEARN = {
    "accuracy": sklearn.metrics.accuracy_score,
    "balanced_accuracy": sklearn.metrics.balanced_accuracy_score,
    "recall": sklearn.metrics.recall_score,
    "precision": sklearn.metrics.precision_score,
    "f1": sklearn.metrics.f1_score,
    "jaccard": sklearn.metrics.jaccard_score,
    "mcc": sklearn.metrics.matthews_corrcoef,
}

OF_FAIRLEARN = {
    "selection_rate": fairlearn.metrics.selection_rate,
    "recall": fairlearn.metrics.true_positive_rate,
    "specificity": fairlearn.metrics.true_negative_rate,
    "false_positive_rate": fairlearn.metrics.false_positive_rate,
    "false_negative_rate": fairlearn.metrics.false_negative_rate,
    "accuracy": sklearn.metrics.accuracy_score,
    "precision": sklearn.metrics.precision_score,
    "balanced_accuracy": sklearn.metrics.balanced_accuracy_score,
    "f1": sklearn.metrics.f1_score,
}

OF_OXONFAIR = {
    "accuracy": "accuracy",
    "balanced_accuracy": "balanced_accuracy",
    "min_accuracy": "lower_recall",
    "f1": "f1",
    "mcc": "mcc",
    "precision": "precision",
    "recall": "recall",
    "true_pos_rate": "recall",
    "true_neg_rate": "specificity",
    "false_pos_rate": "false_positive_rate",
    "false_neg_rate": "false_negative_rate",
    "pos_pred_val": "precision",
    "neg_pred_val": "negative_predictive_value",
    "pos_pred_rate": "selection_rate",
    "neg_pred_rate": "1 - selection_rate",
    "pos_data_rate": "base_rate",
    "neg_data_rate": "1 - base_rate",
    "specificity": "specificity",
    "rejection_rate": "negative_predictive_value",
    "acceptance_rate": "precision",
    "cond_accept": "(tp + fn) / (tp + fp)",
    "cond_reject": "(tn + fp) / (tn + fn)",
    "error_ratio": "error_ratio",
    "bias_amplification": "abs(fn - fp) / (tp + fn + fp + tn)",
    "gen_entropy": "((tp+fp+tn+fn) * (tp + 4*fp + tn) / ((tp + 2*fp + tn) * (tp + 2*fp + tn)) - 1) / 2",
}
"""OxonFair's measures by group, each as a formula."""

GAPS_OF_OXONFAIR = {
    "demographic_parity": "selection_rate.mean_gap",
    "disparate_impact": "selection_rate.ratio",
    "predictive_parity": "precision.mean_gap",
    "predictive_equality": "false_negative_rate.mean_gap",
    "equal_opportunity": "recall.mean_gap",
    "equalized_odds": "(recall.mean_gap + specificity.mean_gap) / 2",
    "equalized_odds_max": "largest(recall.gap, specificity.gap)",
    "cond_use_accuracy": "(precision.mean_gap + negative_predictive_value.mean_gap) / 2",
    "accuracy_parity": "accuracy.mean_gap",
    "treatment_equality": "error_ratio.mean_gap",
}


@pytest.mark.parametrize("name", OF_SCIKIT_LEARN)
def test_an_overall_value_is_that_of_scikit_learn_weights_included(name):
    function = OF_SCIKIT_LEARN[name]
    assert float(m.RATES[name](COUNTS)) == pytest.approx(function(Y, P))
    assert float(m.RATES[name](WEIGHTED)) == pytest.approx(function(Y, P, sample_weight=W))


@pytest.mark.parametrize("name", OF_FAIRLEARN)
def test_groups_and_comparisons_are_those_of_fairlearn_weights_included(name):
    rate = m.RATES[name]
    for counts, weights in ((COUNTS, None), (WEIGHTED, W)):
        parameters = None if weights is None else {"sample_weight": weights}
        frame = MetricFrame(
            metrics=OF_FAIRLEARN[name], y_true=Y, y_pred=P, sensitive_features=A, sample_params=parameters
        )
        assert rate.by_group(counts) == pytest.approx(frame.by_group.to_numpy().astype(float))
        assert float(rate.gap(counts)) == pytest.approx(frame.difference())
        assert float(rate.ratio(counts)) == pytest.approx(frame.ratio())
        assert float(rate.min(counts)) == pytest.approx(frame.group_min())
        assert float(rate.max(counts)) == pytest.approx(frame.group_max())
        assert float(rate(counts)) == pytest.approx(frame.overall)


@pytest.mark.parametrize("name", OF_OXONFAIR)
def test_measures_by_group_are_those_of_oxonfair(name):
    theirs = getattr(oxonfair, name)
    rate = m.Rate(OF_OXONFAIR[name]) if OF_OXONFAIR[name] not in m.RATES else m.RATES[OF_OXONFAIR[name]]
    assert rate.by_group(COUNTS) == pytest.approx(theirs.per_group(Y, P, A).ravel(), abs=1e-9)
    assert float(rate.mean_gap(COUNTS)) == pytest.approx(float(theirs.diff(Y, P, A)[0]))


@pytest.mark.parametrize("name", GAPS_OF_OXONFAIR)
def test_comparisons_are_those_of_oxonfair(name):
    if name == "disparate_impact":  # OxonFair's is the mean over pairs; with two groups both are the same
        two = A < 2
        theirs = float(oxonfair.disparate_impact(Y[two], P[two], A[two])[0])
        counts = count(Y[two], A[two], P[two], 2, 2)
    else:
        theirs, counts = float(getattr(oxonfair, name)(Y, P, A)[0]), COUNTS
    assert float(m.read_measure(GAPS_OF_OXONFAIR[name])(counts)) == pytest.approx(theirs)


@pytest.mark.parametrize("classes", [2, 3])
def test_the_aims_of_tables_are_the_metrics(classes):
    counts = rng.integers(1, 99, (6, classes, 4, classes)).astype(float)
    for each in MEASURES:
        np.testing.assert_allclose(each(counts), measure(each.metric, counts), atol=1e-15)


@pytest.mark.parametrize("name", m.RATES)
def test_every_class_of_several_counts_against_the_rest(name):
    counts = rng.integers(1, 99, (3, 3, 3)).astype(float)
    rate, known = m.RATES[name], counts[:, :-1]
    for group in range(2):
        values = []
        for k in range(3):
            table = known[:, group]
            tp, fn, fp = table[k, k], table[k].sum() - table[k, k], table[:, k].sum() - table[k, k]
            one = np.array([[table.sum() - tp - fn - fp, fp], [fn, tp]])
            right = np.trace(table)
            binary = np.zeros((2, 2, 2))
            binary[:, 0] = one
            if name in ("accuracy", "error_rate"):
                share = right / table.sum()
                values.append(share if name == "accuracy" else 1 - share)
            else:
                of_one = m.Rate(rate.formula)
                values.append(float(of_one.by_group(binary)[0]))
        assert float(rate.by_group(counts)[group]) == pytest.approx(np.mean(values))


def test_the_positive_class_can_be_the_first():
    turned = count(1 - Y, A, 1 - P, 2, 3)
    for name in ("recall.gap", "precision.min", "selection_rate.ratio", "f1", "cost(fp=2, fn=7)"):
        read = m.read_measure(name)
        assert float(read.at(0)(COUNTS)) == pytest.approx(float(read(turned)))


def test_a_measure_is_read_as_it_is_written():
    own = m.Rate("fn / (tn + fn)", "regret", better=True, classes="mean", unit="")
    rates = [*m.RATES.values(), own, (m.recall + m.specificity) / 2, 1 - m.precision, m.cost(fp=1, fn=5)]
    for rate in rates:
        for how in COMPARISONS:
            wanted = getattr(rate, how)
            again = m.read_measure(str(wanted))
            assert (again.key, again.more_is_better, again.title) == (
                wanted.key,
                wanted.more_is_better,
                wanted.title,
            )
            np.testing.assert_array_equal(again(COUNTS), wanted(COUNTS))
    assert m.read_measure("selection-rate-ratio") == m.read_measure("selection_rate.ratio")
    assert m.read_measure(m.recall) == m.recall.overall


def test_undefined_is_nan_and_min_count_is_kept():
    empty = COUNTS.copy()
    empty[1, 0] = 0
    assert np.isnan(float(m.recall.gap(empty)))
    assert np.isnan(float(m.recall.gap(COUNTS, COUNTS[1, :-1].sum(-1).min() + 1)))
    assert not np.isnan(float(m.recall.gap(COUNTS, COUNTS[1, :-1].sum(-1).min())))
    one_group = COUNTS[:, [0, -1]]
    assert np.isnan(float(m.recall.gap(one_group)))


@pytest.mark.parametrize(
    "formula",
    [
        "presicion",
        "recall.gaps",
        "recall.gap.min",
        "__import__('os').system('true')",
        "recall if 1 else 2",
        "[tp]",
        "tp ** 9",
        "cost(fp='a')",
        "cost(1)",
        "cost(fn=-1)",
        "rate('tp', better=3)",
        "rate(tp)",
        "rate('__import__')",
        "3",
        "",
        None,
        "(" * 300,
        "recall + " * 90 + "recall",
    ],
)
@pytest.mark.usefixtures("as_users_call")
def test_what_is_no_formula_is_refused_and_never_executed(formula):
    with pytest.raises(InputError, match="expected"):
        m.read_measure(formula)


def test_the_nearest_name_is_named():
    with pytest.raises(InputError, match="did you mean precision"):
        m.read_measure("presicion")
    with pytest.raises(AttributeError, match="did you mean recall"):
        _ = m.recal
    with pytest.raises(InputError, match=r"recall\.gap, \.ratio"):
        read_aim("recall")


def test_a_limit_is_on_the_side_that_it_says():
    ratio = float(m.selection_rate.ratio(COUNTS))
    least = Limit.read("selection_rate.ratio", "at least", 0.8)
    assert float(least.spare(COUNTS)) == pytest.approx(ratio - 0.8)
    assert str(least) == "selection rate ratio at least 0.8"
    assert float(Limit.read(m.recall, "at most", 0.4).spare(COUNTS)) == pytest.approx(
        0.4 - float(m.recall(COUNTS))
    )
    error = Limit.read("worst_group", "at most", 0.4)  # of the worst group it is the error that is limited
    assert (error.side, error.value) == ("at least", 0.6)


def test_effective_weights_are_those_of_a_loop():
    cell, person = rng.integers(0, 4, 300), rng.integers(0, 120, 300)
    weight = rng.exponential(1, 300)

    def factor(rows):
        total = {}
        for row in rows:
            total[person[row]] = total.get(person[row], 0.0) + weight[row]
        return sum(total.values()) / sum(value**2 for value in total.values())

    parts = [np.flatnonzero(cell == each) for each in range(4)]
    expected = min(map(factor, [*parts, np.arange(300)]))
    np.testing.assert_allclose(effective_weights(weight, person, cell), weight * expected)
    assert effective_weights(None, None, cell) is None
    np.testing.assert_allclose(effective_weights(np.full(300, 7.0), None, cell), 1.0)
    np.testing.assert_allclose(effective_weights(None, np.arange(300) // 2, np.zeros(300, int)), 0.5)


def test_an_audit_takes_measures_weights_persons_and_strata():
    control = np.where(np.arange(ROWS) < 15, "few", np.where(A + Y > 1, "north", "south"))
    found = raan.audit(
        Y, P, A, measures=["precision.gap", m.cost(fp=1, fn=5)], sample_weight=W, control_features=control
    )
    assert found.count == ROWS
    assert found.overall["precision.gap"].value == pytest.approx(float(m.precision.gap(WEIGHTED)))
    assert "cost(fp=1, fn=5)" in str(found)
    assert "few" in found.notes[-1]
    for name, inside in found.strata.items():
        rows = control == name
        own = count(Y[rows], A[rows], P[rows], 2, 3, W[rows])
        assert inside.accuracy.value == pytest.approx(float(m.accuracy(own)))
    narrow = raan.audit(Y, P, A).accuracy
    wide = raan.audit(Y, P, A, groups=np.arange(ROWS) // 4).accuracy  # four rows of each person count as one
    assert wide.value == pytest.approx(narrow.value)
    assert (wide.high - wide.low) / (narrow.high - narrow.low) == pytest.approx(2, rel=0.15)
