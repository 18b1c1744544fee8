"""How a model's probabilities order and calibrate each group, and which columns it leans on: on test rows."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import pandas as pd
from jaxtyping import Float, Float32, Int

from raan.fairness.counts import MIN_CHOSEN
from raan.frontier.decide import decide

PLACES, BINS = 60, 10
"""Points of a ROC curve at most, and bins of probabilities."""

MOST_ROWS, MOST_SHUFFLED, LEAST_ROWS = 2_000, 40_000, 200
"""Test rows that are shuffled at most; with all columns together at most; and at least, however many columns."""

Codes: TypeAlias = Int[np.ndarray, "row"]
Curve = Float[np.ndarray, "place two"]


class GroupScores(NamedTuple):
    """The ROC curve and the calibration of one group; of two classes, the second is the favourable one."""

    group: str
    roc: Curve
    calibration: Curve


def score_groups(
    probability: Float[np.ndarray, "row label"], label: Codes, group: Codes, names: Sequence[str]
) -> tuple[GroupScores, ...]:
    """Each group's curves on test rows; none where there are more than two classes."""
    if probability.shape[1] != 2:
        return ()
    favourable, score = label == 1, probability[:, 1]
    found = []
    for code, name in enumerate(names):
        here = group == code
        if favourable[here].any() and not favourable[here].all():
            curves = _roc(score[here], favourable[here]), _calibration(score[here], favourable[here])
            found.append(GroupScores(name, *curves))
    return tuple(found)


def _roc(score: np.ndarray, favourable: np.ndarray) -> Curve:
    """False and true positive rates at thresholds from the highest to the lowest."""
    order = np.argsort(-score, kind="stable")
    hit = favourable[order]
    last = np.append(score[order][1:] != score[order][:-1], True)  # equal scores are cut together
    true, false = np.cumsum(hit)[last] / hit.sum(), np.cumsum(~hit)[last] / (~hit).sum()
    curve = np.stack([np.append(0.0, false), np.append(0.0, true)], axis=1)
    kept = np.unique(np.linspace(0, len(curve) - 1, PLACES).round().astype(int))
    return np.asarray(curve[kept])


def _calibration(score: np.ndarray, favourable: np.ndarray) -> Curve:
    """The mean probability and the share of the favourable class in each bin; over few rows a share is noise."""
    place = np.minimum((score * BINS).astype(int), BINS - 1)
    size = np.bincount(place, minlength=BINS)
    there = size >= MIN_CHOSEN
    mean, share = (np.bincount(place, each, BINS)[there] / size[there] for each in (score, favourable))
    return np.stack([mean, share], axis=1)


@dataclass(frozen=True, eq=False)
class Probe:
    """Test rows as they are, and with each column shuffled in turn: what a model says of them.

    `posterior` is [as it is or column, row, class, group]; of a model that weights do not make, the decisions as
    posteriors of one group.
    """

    columns: tuple[str, ...]
    label: Int[np.ndarray, "row"]
    group: Int[np.ndarray, "row"]
    posterior: Float32[np.ndarray, "version row label group"]

    def importance(
        self, weights: Float[np.ndarray, "label group"], groups: int
    ) -> list[tuple[str, float, tuple[float, ...]]]:
        """For each column, the accuracy lost by shuffling it, in all and by group; the most important first."""
        if not len(self.posterior):
            return []
        if self.posterior.shape[-1] == 1:
            weights = np.ones((len(weights), 1))
        right = np.stack([decide(each.astype(np.float64), weights) == self.label for each in self.posterior])
        lost = right[0].astype(float) - right[1:]
        of_group = [lost[:, self.group == code] for code in range(groups)]
        by_group = [each.mean(1) if each.shape[1] else np.full(len(lost), np.nan) for each in of_group]
        found = zip(self.columns, lost.mean(1).tolist(), np.transpose(by_group).tolist(), strict=True)
        return sorted(((name, whole, tuple(each)) for name, whole, each in found), key=lambda row: -row[1])


def shuffle_columns(
    features: Any,
    spans: Mapping[str, slice],
    label: Codes,
    group: Codes,
    ask: Callable[[Any], Float[np.ndarray, "row label group"]],
    seed: int = 0,
) -> Probe:
    """Ask a model about some test rows, and about the same with the features of each column shuffled together.

    The features are an array or a data frame; `spans` are the places of each column's features in it.
    """
    size = max(LEAST_ROWS, min(MOST_ROWS, MOST_SHUFFLED // (len(spans) + 1)))
    some, rng = features[:size], np.random.default_rng(seed)
    answers = [ask(some)]
    for span in spans.values():
        shuffled, order = some.copy(), rng.permutation(len(some))
        if isinstance(some, pd.DataFrame):
            for name in some.columns[span]:
                shuffled[name] = some[name].array[order]
        else:
            shuffled[:, span] = some[order, span]
        answers.append(ask(shuffled))
    return Probe(tuple(spans), label[:size], group[:size], np.stack(answers).astype(np.float32))
