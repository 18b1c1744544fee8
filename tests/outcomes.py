"""Outcomes of fits made up from rates, without training."""

from dataclasses import replace

import numpy as np

from raan.fairness.promise import Promise
from raan.fairness.rule import Rule
from raan.fit.inspect import GroupScores, Probe
from raan.fit.outcome import Facts, Outcome
from raan.frontier.plan import PATHS, Points


def made_up(
    classes=("<=50K", ">50K"),
    groups=("Female", "Male"),
    *,
    fairer=True,
    points=40,
    rows=12_000,
    place=None,
    rule=Rule("equalized_odds", 0.005, 0.0),
    seed=0,
    **facts,
):
    """An outcome whose points serve the last class of the first group ever better, others a bit worse.

    On test rows the same happens, or where it is not `fairer` the opposite.
    """
    rng = np.random.default_rng(seed)
    kinds, parts = len(classes), len(groups)
    size = np.round(np.full((kinds, parts + 1), rows / kinds / (parts + 0.05)))
    size[:, -1] = np.round(0.05 * size[:, -1])
    right = np.full((kinds, parts + 1), 0.9)
    right[-1] = np.linspace(0.6, 0.72, parts + 1)
    held_out, test, switched = [], [], []
    for point in range(points):
        moved, seen = right.copy(), right.copy()
        share = point / points
        for each, sign in ((moved, 1), (seen, 1 if fairer else -1)):
            each[-1, 0] += 0.12 * share * sign
            each[0] -= 0.02 * share
        held_out.append(count(np.round(moved * size), size))
        test.append(count(np.round(seen * size), size))
        differ = np.abs(test[-1] - test[0]).sum(-1) / 2
        switched.append(np.minimum(differ + np.round(0.005 * size * min(point, 1)), size))
    counts, moved = np.array(held_out), np.array(switched)
    path = np.arange(points) % len(PATHS)
    path[0] = -1
    weights = 1 + rng.random((points, kinds, parts))
    weights[0] = 1
    chosen = points // 2 if place is None else place
    known = {
        "label": "income",
        "attributes": ("sex",),
        "source": "adult.csv",
        "sizes": (rows, rows, int(size.sum())),
        "cells": tuple(tuple(int(n) for n in row[:-1]) for row in size),
        "all_groups": tuple(groups),
        "columns": ("relationship", "age", "hours"),
        "minutes": 5.0,
        "trained": ("gradient boosting",),
        "method": "gradient boosting under FairFrontier",
        "plain_method": "gradient boosting",
        "own_plain": True,
        "known": {"equalized_odds": 0.03},
        "known_rule": (0.005, 0.0),
        "notes": ("Two columns were left out: id, date.",),
        "warnings": (),
        "command": "raan fit adult.csv --label income --attribute sex --out fair",
    }
    scores = {
        which: tuple(GroupScores(group, *curves(bend)) for group in groups if kinds == 2)
        for which, bend in (("plain", 2), ("chosen", 3))
    }
    sample = 200
    return Outcome(
        Facts(classes=tuple(classes), groups=tuple(groups), **(known | facts)),
        Points(weights, counts, moved, counts.copy(), moved.copy(), path),
        rule.with_noise_of(held_out[0]),
        chosen,
        Promise.of(held_out[chosen], held_out[0], switched[chosen], rule),
        np.array(test),
        np.array(switched),
        scores,
        Probe(
            ("relationship", "age", "hours"),
            rng.integers(0, kinds, sample),
            rng.integers(0, parts, sample),
            rng.random((4, sample, kinds, parts)).astype(np.float32),
        ),
    )


def with_test(outcome, plain, chosen, switched=None):
    """The outcome with these counts on test rows; by default the rows that switched are those that differ."""
    test, moved = outcome.test.copy(), outcome.switched.copy()
    test[0], test[outcome.place] = plain, chosen
    right = [np.stack([each[k, :, k] for k in range(len(each))]) for each in (plain, chosen)]
    moved[0], moved[outcome.place] = 0, np.abs(right[0] - right[1]) if switched is None else switched
    return replace(outcome, test=test, switched=moved)


def count(right, size):
    """Counts with so many right of so many, the others given to the next class."""
    kinds = len(size)
    counts = np.zeros((*size.shape, kinds))
    for k in range(kinds):
        counts[k, :, k] = right[k]
        counts[k, :, (k + 1) % kinds] += size[k] - right[k]
    return counts


def counts_of(*rights, size=1000):
    """Of so many rows of each class and group, those that are right, both classes alike; none of unknown group."""
    right = np.array([[*rights, 0]] * 2, float)
    return count(right, np.array([[*[size] * len(rights), 0]] * 2, float))


def curves(bend):
    false = np.linspace(0, 1, 21)
    return np.stack([false, 1 - (1 - false) ** bend], axis=1), np.stack([false[::2], false[::2] ** 1.2], axis=1)
