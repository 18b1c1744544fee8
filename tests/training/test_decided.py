"""The threshold as a dial: counts at many thresholds against a literal loop."""

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from raan.training.evaluate import Rows, count_at, count_decisions, decide_at_thresholds, margins, threshold_grid


def drawn(seed, runs=2, rows=40, classes=2, attributes=2, ties=False):
    """Rows of random class, attribute (some unknown) and reference decision, and logits."""
    rng = np.random.default_rng(seed)
    logit = rng.standard_normal((runs, rows, classes)).astype(np.float32)
    if ties:
        logit = np.round(logit)
    codes = Rows(
        rng.integers(classes, size=(runs, rows)),
        rng.integers(-1, attributes, size=(runs, rows)),
        rng.integers(classes, size=(runs, rows)),
        classes,
        attributes,
    )
    return torch.from_numpy(logit), codes


def counted_literally(margin, threshold, rows):
    """Row by row, threshold by threshold."""
    counts = np.zeros((*threshold.shape, 2, rows.attributes + 1, 2))
    switched = np.zeros((*threshold.shape, 2, rows.attributes + 1))
    for run in range(threshold.shape[0]):
        for dial in range(threshold.shape[1]):
            for row in range(margin.shape[1]):
                label, attribute, held = (part[run, row] for part in rows[:3])
                decision = int(margin[run, row] > threshold[run, dial])
                counts[run, dial, label, attribute, decision] += 1
                switched[run, dial, label, attribute] += (decision == label) != (held == label)
    return counts, switched


@pytest.mark.parametrize("ties", [False, True])
@given(seed=st.integers(0, 10_000), many=st.integers(1, 12))
@settings(max_examples=15, deadline=None)
def test_counts_at_every_threshold_are_those_of_a_literal_loop(seed, many, ties):
    logit, rows = drawn(seed, ties=ties)
    margin = margins(logit)
    grid = threshold_grid(margin, rows.label, many)
    assert grid.shape == (2, many + 1)
    assert bool((grid.diff(dim=1) >= 0).all())
    for found, expected in zip(
        count_at(margin, grid, rows), counted_literally(margin.numpy(), grid.numpy(), rows), strict=True
    ):
        np.testing.assert_array_equal(found, expected)


def test_the_grid_holds_the_likeliest_class_and_decides_evenly_for_ever_fewer():
    logit, rows = drawn(3, rows=1000)
    margin = margins(logit)
    grid = threshold_grid(margin, rows.label, 99)
    assert bool((grid == 0).any(1).all())
    for run in range(2):
        own = grid[run][grid[run] != 0]
        above = (margin[run].unsqueeze(1) > own).sum(0).numpy()
        reach = min(2 * rows.label[run].mean(), 1)
        np.testing.assert_array_equal(above, np.floor(np.arange(99, 0, -1) * reach * 1000 / 100))


def test_thresholds_are_chosen_on_validation_rows_and_applied_to_test_rows():
    (validation, seen), (test, unseen) = drawn(1), drawn(2, rows=70)
    decided = decide_at_thresholds((validation, test), (seen, unseen), 9)
    grid = threshold_grid(margins(validation), seen.label, 9)
    np.testing.assert_allclose(decided.threshold, 1 / (1 + np.exp(-grid.double().numpy())))
    np.testing.assert_array_equal(decided.validation, counted_literally(margins(validation), grid, seen)[0])
    np.testing.assert_array_equal(decided.test, counted_literally(margins(test), grid, unseen)[0])
    even = np.flatnonzero(decided.threshold[0] == 0.5)[0]
    likeliest = count_decisions(
        (validation.argmax(-1).numpy()[:, None], test.argmax(-1).numpy()[:, None]), (seen, unseen)
    )
    np.testing.assert_array_equal(decided.test[0, even], likeliest.test[0, 0])
    np.testing.assert_array_equal(decided.switched[0, even], likeliest.switched[0, 0])


def test_of_more_than_two_classes_the_likeliest_is_all_that_is_decided_for():
    (validation, seen), (test, unseen) = drawn(1, classes=3), drawn(2, classes=3)
    decided = decide_at_thresholds((validation, test), (seen, unseen), 9)
    assert decided.validation.shape == (2, 1, 3, 3, 3)
    assert np.isnan(decided.threshold).all()
    right = validation.argmax(-1).numpy() == seen.label
    moved = right != (seen.held == seen.label)
    for run in range(2):
        for label in range(3):
            for attribute in range(-1, 2):
                cell = (seen.label[run] == label) & (seen.attribute[run] == attribute)
                assert decided.switched[run, 0, label, attribute] == moved[run][cell].sum()
