from copy import copy
from dataclasses import replace

import numpy as np
import pytest

from raan.fairness.metrics import accuracy, demographic_parity_gap
from raan.fit.families import choose_family
from raan.frontier.decide import decide


def test_points_are_counted_against_another_familys_plain_model_as_a_loop_does(boosting, logistic):
    held_out, test = boosting.count(logistic, slice(5))
    for judge, other, found in (
        (boosting.frontier.evaluation_, logistic.frontier.evaluation_, held_out),
        (boosting.test, logistic.test, test),
    ):
        for point, weights in enumerate(boosting.frontier.points_.weights[:5]):
            decided = decide(judge.posterior, weights)
            counts, switched = np.zeros_like(found.counts[point]), np.zeros_like(found.switched[point])
            for row in range(judge.rows):
                place = judge.label[row], judge.group[row]
                counts[(*place, decided[row])] += 1
                switched[place] += (decided[row] == judge.label[row]) != (other.plain[row] == judge.label[row])
            assert np.array_equal(found.counts[point], counts)
            assert np.array_equal(found.switched[point], switched)


def test_the_choice_is_the_best_of_all_families_within_the_budget(families):
    reference, best = choose_family(families)
    frontier = best.frontier.frontier_
    assert best.place > 0
    assert accuracy(frontier.chosen.counts) >= accuracy(frontier.plain.counts) - 0.03
    assert float(demographic_parity_gap(frontier.chosen.counts)) < float(
        demographic_parity_gap(frontier.plain.counts)
    )
    assert not frontier.switched[0].any()
    assert np.array_equal(frontier.counts[0], reference.count(reference, slice(1))[0].counts[0])


def test_a_plain_model_more_accurate_by_chance_alone_does_not_replace_boosting(boosting):
    judge = boosting.frontier.evaluation_
    wrong = np.flatnonzero(judge.plain != judge.label)

    def other(repaired):
        """The same posterior, with some rows put right."""
        posterior = judge.posterior.copy()
        posterior[wrong[:repaired]] = posterior[wrong[:repaired], ::-1]
        frontier = copy(boosting.frontier)
        frontier.evaluation_ = replace(judge, posterior=posterior, reference=None)
        return replace(boosting, title="other", frontier=frontier)

    assert choose_family([boosting, other(0)])[0] is boosting
    assert choose_family([boosting, other(1)])[0] is boosting  # better in one row
    assert choose_family([boosting, other(2)])[0].title == "other"  # better in two, and worse in none


@pytest.mark.parametrize("name", ["boosting", "logistic"])
def test_the_baseline_decides_by_the_mean_probability_of_the_folds(request, rows, name):
    family = request.getfixturevalue(name)
    features = rows.features(rows.test)
    plain = family.frontier.plain()
    assert np.array_equal(plain.predict(features), family.test.plain)
    mean = np.mean([model.label.predict_proba(features) for model in family.frontier.models_], axis=0)
    assert np.allclose(plain.predict_proba(features), mean)
