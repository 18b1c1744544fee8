"""What new rows may expect of a choice, and what a user should be warned of."""

import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial

import numpy as np
from jaxtyping import Float

from raan.errors import Message, Option
from raan.fairness.aims import ACCURATE, MEASURES
from raan.fairness.bootstrap import Estimate, estimate
from raan.fairness.counts import resample
from raan.fairness.metrics import NAMES, accuracy, measure
from raan.fairness.rule import Rule, paired_errors
from raan.frontier.search import Tried

CONFIDENCE, QUANTILE = 0.95, 1.96
"""How sure the intervals are, and so many standard errors."""

REPLICATES = 1000
"""Bootstrap samples of an interval."""


@dataclass(frozen=True)
class Promise:
    """What new rows may expect of the choice, measured on rows that did not make it, with 95 % intervals.

    `metrics` are the chosen classifier's, `plain` the plain estimator's on the same rows; `accuracy_loss` is what
    the choice costs, with the interval of the paired difference.
    """

    metrics: Mapping[str, Estimate]
    plain: Mapping[str, Estimate]
    accuracy_loss: Estimate
    rows: int

    def holds(self, rule: Rule) -> bool:
        """Whether the aim is served better than by the plain estimator; limits alone are always held to."""
        before, after = (each[rule.goal.metric].value for each in (self.plain, self.metrics))
        return rule.goal is ACCURATE or rule.goal.gain(after - before) > 0

    def of_plain(self) -> "Promise":
        """What new rows may expect of the plain estimator."""
        return Promise(self.plain, self.plain, Estimate(0.0, 0.0, 0.0), self.rows)

    def __str__(self) -> str:
        lines = [f"on {self.rows:,} rows that did not choose: plain -> chosen"]
        lines += [
            f"  {each.title + ':':<26}{self.plain[each.metric]} -> {self.metrics[each.metric]}"
            for each in MEASURES
        ]
        return "\n".join([*lines, f"  {'accuracy lost:':<26}{self.accuracy_loss}"])


def promise(tried: Tried, rule: Rule) -> Promise:
    """The metrics of the choices that each part's rows did not make, added up over the parts."""
    parts = tried.counts.shape[1]
    chosen = [tried.choose(rule, np.flatnonzero(np.arange(parts) != part)) for part in range(parts)]
    counts = sum(tried.counts[place, part] for part, place in enumerate(chosen))
    switched = sum(tried.switched[place, part] for part, place in enumerate(chosen))
    plain = tried.counts[0].sum(0)
    error, _ = paired_errors(counts, plain, switched)
    loss = float(accuracy(plain) - accuracy(counts))
    half = QUANTILE * float(error)
    return Promise(
        _estimates(counts), _estimates(plain), Estimate(loss, loss - half, loss + half), int(plain.sum())
    )


def _estimates(counts: np.ndarray) -> dict[str, Estimate]:
    replicates = resample(counts, REPLICATES, np.random.default_rng(0))
    return {
        name: Estimate(*estimate(partial(measure, name), counts, replicates, confidence=CONFIDENCE).tolist())
        for name in NAMES
    }


def warn_levelling(
    plain: Float[np.ndarray, "label slot prediction"], chosen: Float[np.ndarray, "label slot prediction"]
) -> None:
    """Warn of a choice that is hardly better than one class for all, or that selects far fewer people."""
    majority = float(plain.sum((1, 2)).max() / plain.sum())
    before, right = float(accuracy(plain)), float(accuracy(chosen))
    if right < before and right < majority + 0.1 * max(before - majority, 0):
        text = Message(
            f"the choice is right for {100 * right:.1f} % of the rows, and one class for all would be right for "
            f"{100 * majority:.1f} %: a smaller ",
            *(Option("accuracy_drop"), ", or a ", Option("worst_group_drop"), ", keeps it useful"),
        )
        warnings.warn(text, stacklevel=4)
    share, after = (float(each[..., 1].sum() / each.sum()) for each in (plain, chosen))
    if len(plain) == 2 and after < share / 2:
        text = Message(
            f"the choice selects {100 * after:.1f} % of the rows where the plain estimator selects "
            f"{100 * share:.1f} %: it levels down. A smaller ",
            *(Option("accuracy_drop"), ", or ", Option("worst_group_drop", "0"), ", helps"),
        )
        warnings.warn(text, stacklevel=4)
