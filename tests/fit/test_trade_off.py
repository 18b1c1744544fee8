from copy import copy
from dataclasses import replace

import numpy as np
import pytest

from raan.fairness.counts import count
from raan.fairness.metrics import accuracy, demographic_parity_gap
from raan.fit.trade_off import Given, Weighted, plain_of, settle
from raan.frontier.decide import decide


def test_decisions_are_counted_and_held_against_a_reference_as_a_loop_does():
    rng = np.random.default_rng(0)
    label, group, part = (rng.integers(0, n, 60) for n in (2, 3, 2))
    group[:7] = -1
    decided, reference = rng.integers(0, 2, (4, 60)).astype(np.int8), rng.integers(0, 2, 60)
    counts, switched, _ = Given(decided, label, group, part, 2, (2, 3)).against(reference)
    for point in range(4):
        expected, moved = np.zeros((2, 2, 4, 2)), np.zeros((2, 2, 4))
        for row in range(60):
            place = part[row], label[row], group[row]
            expected[(*place, decided[point, row])] += 1
            moved[place] += (decided[point, row] == label[row]) != (reference[row] == label[row])
        assert np.array_equal(counts[point], expected)
        assert np.array_equal(switched[point], moved)


def test_weights_decide_and_are_counted_as_the_same_decisions_given_one_by_one(boosting):
    judge, weights = boosting.held_out.judge, boosting.held_out.weights[:20]
    decided = np.stack([decide(judge.posterior, each) for each in weights])
    shape = judge.posterior.shape[1:]
    given = Given(decided, judge.label, judge.group, judge.part, judge.parts, shape)
    reference = np.random.default_rng(0).integers(0, 2, judge.rows)
    ours, theirs = (each.against(reference) for each in (Weighted(judge, weights), given))
    assert np.array_equal(ours.counts, theirs.counts)
    assert np.array_equal(ours.switched, theirs.switched)
    assert np.array_equal(Weighted(judge, weights).plain, given.plain)


def test_every_family_is_held_against_one_plain_model_which_is_its_first_point(families):
    settled = settle(families)
    held = [each.frontier.frontier_.counts[0] for each in settled.trade_offs]
    for counts, each in zip(held, settled.trade_offs, strict=True):
        assert np.array_equal(counts, held[0])
        assert np.array_equal(each.test[0], settled.trade_offs[0].test[0])
        assert not each.frontier.frontier_.switched[0].any()
        assert each.shift == (each.family is not settled.reference)


def test_the_choice_is_the_best_of_all_families_within_the_allowance(families):
    settled = settle(families)
    best = settled.best.frontier.frontier_
    assert best.chosen_place > 0
    assert accuracy(best.chosen.counts) >= accuracy(best.plain.counts) - 0.03
    gaps = [float(demographic_parity_gap(each.frontier.frontier_.chosen.counts)) for each in settled.trade_offs]
    assert float(demographic_parity_gap(best.chosen.counts)) <= min(gaps) + 0.001 + best.rule.noise
    assert min(gaps) < float(demographic_parity_gap(best.plain.counts))


def test_a_plain_model_more_accurate_by_chance_alone_does_not_replace_boosting(boosting):
    label, plain = boosting.held_out.label, boosting.held_out.plain
    wrong = np.flatnonzero(plain != label)

    def other(repaired):
        """The same decisions, some of them put right."""
        decided = plain.copy()
        decided[wrong[:repaired]] = label[wrong[:repaired]]
        judge = boosting.held_out.judge
        held = Given(decided[None], label, judge.group, judge.part, judge.parts, judge.posterior.shape[1:])
        frontier = replace_tried(boosting.frontier)
        return replace(boosting, name="Other", held_out=held, test=boosting.test.first, frontier=frontier)

    assert settle([boosting, other(0)]).reference is boosting
    assert settle([boosting, other(1)]).reference.name == "Other"  # better in one row and worse in none


def replace_tried(frontier):
    other = copy(frontier)
    tried = frontier.tried_
    other.tried_ = type(tried)(tried.weights[:1], tried.counts[:1], tried.switched[:1], tried.smoothed[:1])
    return other


@pytest.mark.parametrize("name", ["boosting", "logistic"])
def test_the_plain_twin_decides_by_the_mean_probability_of_the_folds(request, rows, name):
    family = request.getfixturevalue(name)
    features = rows.features(rows.test)
    plain = plain_of(family.frontier)
    assert np.array_equal(plain.predict(features), family.test.plain)
    mean = np.mean([model.label.predict_proba(features) for model in family.frontier.models_], axis=0)
    assert np.allclose(plain.predict_proba(features), mean)


def test_the_classifier_of_a_trade_off_decides_as_its_point_was_counted(families, rows):
    label, group = rows.label(rows.test), rows.group(rows.test)
    for each in settle(families).trade_offs:
        if each.place:
            predicted = np.asarray(each.classifier.predict(rows.features(rows.test))).astype(np.int64)
            assert np.array_equal(count(label, group, predicted, 2, 2), each.test[each.place]), each.family.name
