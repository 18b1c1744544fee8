"""The one rule, against a literal loop over points."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from raan.errors import InputError
from raan.fairness import AIMS, MEASURES, Metrics, count, metrics, read_aim
from raan.fairness.rule import LAST, TOLERANCE, Rule


def random_counts(rng, points, batch=(), classes=2, groups=2):
    shape = (points, *batch, classes, groups + 1, classes)
    return rng.integers(0, 30, shape).astype(np.float64)


def literal_choice(rule, points, reference):
    """What the docstring says, point by point; -1 where nothing may be taken."""
    best, taken = math.inf, -1
    allowed = {}
    before = metrics(reference)
    for place, counts in enumerate(points):
        here = metrics(counts)
        value = getattr(here, AIMS[rule.aim].metric)
        if math.isnan(value) or here.accuracy < before.accuracy - rule.accuracy_drop - TOLERANCE:
            continue
        floor = before.worst_group_accuracy
        least = -math.inf if rule.worst_group_drop is None or math.isnan(floor) else floor - rule.worst_group_drop
        if not (here.worst_group_accuracy >= least - TOLERANCE or least == -math.inf):
            continue
        loss = 1 - value if rule.aim == "worst_group" else math.sqrt(value**2 + rule.noise**2)
        allowed[place] = (loss, here.accuracy)
        if loss < best:
            best, taken = loss, place
    if rule.tie is not None and allowed:
        tied = [place for place, (loss, _) in allowed.items() if loss <= best + rule.tie]
        taken = max(tied, key=lambda place: (allowed[place][1], -place))
    return taken


@settings(deadline=None, max_examples=150)
@given(
    st.sampled_from(sorted(AIMS)),
    st.sampled_from([0.0, 0.02, 0.2, 1.0]),
    st.sampled_from([None, 0.0, 0.1]),
    st.sampled_from([0.0, 0.05]),
    st.sampled_from([None, 0.0, 0.02]),
    st.integers(0, 2**32 - 1),
)
def test_the_choice_is_that_of_a_loop_over_points(aim, drop, floor, noise, tie, seed):
    rng = np.random.default_rng(seed)
    rule = Rule(aim, drop, floor, noise, tie)
    points = random_counts(rng, 8, (3,))
    reference = points[0]
    expected = [literal_choice(rule, points[:, run], reference[run]) for run in range(3)]
    assert rule.choose(points, reference).tolist() == expected


def test_floors_and_allowances_hold_on_the_judging_rows_exactly():
    rng = np.random.default_rng(0)
    for _ in range(50):
        points = random_counts(rng, 40) + 1
        place = int(Rule("equalized_odds", 0.03, 0.0).choose(points, points[0]))
        before, after = metrics(points[0]), metrics(points[place])
        assert after.accuracy >= before.accuracy - 0.03 - TOLERANCE
        assert after.worst_group_accuracy >= before.worst_group_accuracy - TOLERANCE


def test_without_an_aim_the_last_allowed_point_is_taken():
    right, wrong = np.zeros((2, 2, 3, 2))
    right[0, 0, 0] = right[1, 0, 1] = wrong[0, 0, 1] = wrong[1, 0, 0] = 10
    points = np.stack([right, right, wrong])
    assert LAST.choose(points, points[0]) == 2
    assert Rule(None, 0.1).choose(points, points[0]) == 1


def test_an_undefined_aim_takes_nothing():
    counts = np.zeros((4, 2, 3, 2))
    counts[:, 0, 0, 0] = 5  # no sample of class 1
    assert Rule("worst_group").choose(counts, counts[0]) == -1


def test_luck_within_the_noise_costs_no_accuracy():
    def point(missed, missed_of_many):
        """Group 0 has 1000 of each class, group 1 too; some of group 1's second class are missed."""
        counts = np.zeros((2, 3, 2))
        counts[0, :2, 0] = 1000 - missed_of_many
        counts[0, :2, 1] = missed_of_many
        counts[1, :2, 1] = 1000
        counts[1, 1] = missed, 1000 - missed
        return counts

    points = np.stack([point(200, 0), point(4, 55), point(1, 90)])
    assert Rule("equalized_odds", 0.05, tie=0.001).choose(points, points[0]) == 2
    assert Rule("equalized_odds", 0.05, noise=0.02, tie=0.001).choose(points, points[0]) == 1


def test_the_noise_is_the_standard_error_of_the_aim_on_the_reference():
    rng = np.random.default_rng(0)
    label, attribute = rng.integers(0, 2, (2, 4000))
    prediction = np.where(rng.random(4000) < np.where((label == 1) & (attribute == 0), 0.6, 0.9), label, 1 - label)
    counts = count(label, attribute, prediction, 2, 2)
    rows = ((label == 1) & (attribute == 0)).sum()
    worst = float(metrics(counts).worst_group_accuracy)
    noise = Rule("worst_group").with_noise_of(counts).noise
    assert noise == pytest.approx(math.sqrt(worst * (1 - worst) / rows), rel=0.2)


@pytest.mark.parametrize("aim", AIMS)
def test_an_aim_is_read_in_either_spelling(aim):
    assert read_aim(aim) is read_aim(AIMS[aim].option) is read_aim(AIMS[aim]) is AIMS[aim]
    assert Rule(AIMS[aim].option).aim == aim


@pytest.mark.parametrize("value", ["fairness", "", None, 3, "Worst_Group"])
def test_an_unknown_aim_names_those_there_are(value):
    with pytest.raises(InputError, match=r"aim is .*expected one of 'worst_group', ") as caught:
        read_aim(value)
    assert caught.value.argument.name == "aim"


@pytest.mark.parametrize("drop", [-0.1, 1.5, math.nan])
def test_an_allowance_that_is_no_share_is_an_error(drop):
    with pytest.raises(ValueError, match=r"accuracy_drop is .*expected a share from 0 to 1"):
        Rule(accuracy_drop=drop)


def test_every_field_of_the_metrics_is_a_measure_with_names_of_its_own():
    assert {measure.metric for measure in MEASURES} == set(Metrics.__dataclass_fields__)
    for names in ("title", "short"):
        assert len({getattr(measure, names) for measure in MEASURES}) == len(MEASURES)


def paired(lost: int, switched: int, rows: int = 1000):
    """A reference that is right in 80 % of each cell, and a point that loses so many rows of one cell."""
    reference = np.zeros((2, 3, 2))
    reference[0, :2], reference[1, :2] = [0.2 * rows, 0.05 * rows], [0.05 * rows, 0.2 * rows]
    point = reference.copy()
    point[1, 1] += [lost, -lost]
    moved = np.zeros((2, 3))
    moved[1, 1] = switched
    return point, reference, moved


@pytest.mark.parametrize(
    ("lost", "switched", "margin", "allowed"), [(2, 2, 1.28, True), (3, 60, 0.0, True), (3, 60, 1.28, False)]
)
def test_the_budget_is_kept_by_so_many_standard_errors_of_the_paired_difference(lost, switched, margin, allowed):
    point, reference, moved = paired(lost, switched)
    error = math.sqrt((switched / 1000 - (lost / 1000) ** 2) / 1000)
    assert allowed == (lost / 1000 + margin * error <= 0.005)
    assert bool(Rule(accuracy_drop=0.005, margin=margin).allows(point, reference, moved)) == allowed


@pytest.mark.parametrize(("switched", "margin", "allowed"), [(40, 0.0, True), (40, 1.28, False), (4, 1.28, True)])
def test_the_guard_is_kept_by_so_many_standard_errors_of_the_cells_difference(switched, margin, allowed):
    point, reference, moved = paired(4, switched)
    error = math.sqrt((switched / 250 - (4 / 250) ** 2) / 250)
    assert allowed == (4 / 250 + margin * error <= 0.03)
    rule = Rule(accuracy_drop=1.0, worst_group_drop=0.03, margin=margin)
    assert bool(rule.allows(point, reference, moved)) == allowed
