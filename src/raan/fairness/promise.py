"""What new rows may expect of a chosen model, and whether rows that had no part in the choice confirm it.

A promise is a list of claims. Each claim is tested in one way: by how far the rows fall short of it, in standard
errors. The title of a report, its table, the model card, the exit code and `raan audit --baseline` show the result
of this test and decide nothing themselves.
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from statistics import NormalDist
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float

from raan.fairness.counts import Estimate, bracket, resample, resample_pair
from raan.fairness.evidence import Switched, paired_error
from raan.fairness.measures import ACCURACY, MEASURES, Measure, read_measure
from raan.fairness.metrics import (
    NAMES,
    accuracy,
    attribute_accuracy,
    group_accuracy,
    worst_group_accuracy,
)
from raan.fairness.rule import Rule
from raan.text import html_table

CONFIDENCE, REPLICATES = 0.95, 1000
"""The level of the intervals, and the bootstrap samples that they are made from."""

LEVEL = 0.01
"""The error rate of the test of one claim: a promise has at most five, so all of them together stay below 5 %."""

SURE = NormalDist().inv_cdf(1 - LEVEL)
"""The standard errors beyond which falling short is more than chance."""

CONFIRMED = NormalDist().inv_cdf(0.95)
"""The standard errors by which a gain must exceed zero to count as confirmed."""

WIDTH = 2 * NormalDist().inv_cdf((1 + CONFIDENCE) / 2)
"""The width of an interval in standard errors."""

TOLERANCE = 1e-9
"""Bounds are inclusive; this keeps rounding from deciding."""

OneModel = Float[np.ndarray, "label attribute prediction"]


class Status(StrEnum):
    """What rows say of a claim, the best first."""

    KEPT = "kept"
    NOT_CONFIRMED = "not confirmed"
    CONTRADICTED = "contradicted"


@dataclass(frozen=True)
class Claim:
    """One claim of a promise, and what rows that had no part in the choice show of it.

    `short` is how far they fall short of it, negative where they do better; `error` is the standard error of that.
    A `gain` is kept only if it exceeds what chance gives one time in twenty: half of all gains that are none look
    like some.
    """

    key: str
    title: str
    promised: str
    found: Estimate
    short: float
    error: float
    gain: bool = False

    @property
    def status(self) -> Status:
        """Kept, short of it by no more than chance explains, or short of it beyond that.

        What is undefined on the rows is not confirmed by them.
        """
        if self.short <= TOLERANCE:
            sure = not self.gain or -self.short > CONFIRMED * self.error
            return Status.KEPT if sure else Status.NOT_CONFIRMED
        return Status.CONTRADICTED if self.short > SURE * self.error + TOLERANCE else Status.NOT_CONFIRMED

    @property
    def note(self) -> str:
        """By how much the rows fall short; nothing where they do not."""
        if math.isnan(self.short):
            return "undefined on these rows"
        if self.status is Status.NOT_CONFIRMED and self.short <= TOLERANCE:
            return f"standard error {100 * self.error:.1f}"
        return "" if self.status is Status.KEPT else f"short by {100 * self.short:.1f} points"

    @property
    def shown(self) -> str:
        """What the rows show, with its interval, in the unit of what was promised."""
        if math.isnan(self.found.value):
            return "undefined"
        ends = (self.found.value, self.found.low, self.found.high)
        unit = next((unit for unit in (" points", " %") if self.promised.endswith(unit)), "")
        value, low, high = (f"{round(100 * x, 1) + 0.0:.1f}" if unit else f"{x:.3g}" for x in ends)
        return f"{value}{unit} ({low} to {high})"

    def to_dict(self) -> dict[str, Any]:
        """The claim for JSON."""
        numbers = {"found": self.found.value, "short": self.short, "error": self.error}
        plain = {name: None if math.isnan(value) else round(value, 6) for name, value in numbers.items()}
        return {"title": self.title, "promised": self.promised, **plain, "status": str(self.status)}


@dataclass(frozen=True)
class Verdict:
    """All claims of a promise, tested on the same rows."""

    claims: tuple[Claim, ...]

    @property
    def status(self) -> Status:
        """That of the claim that fares worst."""
        return max((claim.status for claim in self.claims), key=list(Status).index, default=Status.KEPT)

    def of(self, status: Status) -> tuple[Claim, ...]:
        """The claims of this status."""
        return tuple(claim for claim in self.claims if claim.status is status)

    def to_dict(self) -> dict[str, Any]:
        """The verdict for JSON."""
        return {"status": str(self.status), "claims": {claim.key: claim.to_dict() for claim in self.claims}}


@dataclass(frozen=True, repr=False)
class Promise:
    """What new rows may expect of the choice, measured on rows that did not make it, with 95 % intervals.

    `metrics` are the chosen classifier's, by name, `plain` the plain estimator's on the same rows; `accuracy_loss`
    is what the choice costs, with the interval of the paired difference, and `performance_loss` the same of the
    performance that the budget is for.
    """

    metrics: Mapping[str, Estimate]
    plain: Mapping[str, Estimate]
    accuracy_loss: Estimate
    performance_loss: Estimate
    rows: int

    @classmethod
    def of(cls, chosen: OneModel, plain: OneModel, switched: Switched, rule: Rule) -> "Promise":
        """The promise of decisions on rows that did not make the choice, against the plain estimator's there."""
        loss = float(accuracy(plain) - accuracy(chosen))
        error = float(np.sqrt(max(switched.sum() / chosen.sum() - loss**2, 0) / chosen.sum()))
        half = WIDTH / 2 * error
        accuracy_loss = performance_loss = Estimate(loss, loss - half, loss + half)
        if rule.performance != ACCURACY.key:
            drawn = resample_pair(plain, chosen, switched, REPLICATES)
            performance_loss = _find_loss(rule.currency, (plain, chosen), drawn)
        metrics, of_plain = (estimate_metrics(each, rule.measures) for each in (chosen, plain))
        return cls(metrics, of_plain, accuracy_loss, performance_loss, int(plain.sum()))

    def check(self, rule: Rule, found: OneModel | Mapping[str, Estimate]) -> Verdict:
        """Test what can be tested without the plain estimator: performance and the aim are as good as expected.

        `found` are the chosen classifier's counts on new rows, or its metrics there with intervals. What is
        claimed is the end of the promise's own interval. A gap is an absolute difference, which noise alone makes
        larger: the noise of the new rows is taken off first, in squares.
        """
        if not isinstance(found, Mapping):
            found = estimate_metrics(found, rule.measures)
        aimed = [limit.measure for limit in rule.limits] if rule.seeks_performance else [rule.goal]
        claimed = {each.metric: each for each in (ACCURACY, rule.currency, *aimed)}
        return Verdict(tuple(self._expect(each, found[name]) for name, each in claimed.items() if name in found))

    def _expect(self, measured: Measure, found: Estimate) -> Claim:
        expected, error, value = self.metrics[measured.metric], _error(found), found.value
        bound = expected.low if measured.more_is_better else expected.high
        bound = expected.value if math.isnan(bound) else bound
        if not measured.more_is_better and measured.compares_groups:
            value = math.sqrt(max(value**2 - error**2, 0)) if value == value else value
        side = "at least" if measured.more_is_better else "at most"
        short = -measured.gain(value - bound)
        title = f"{measured.title} as expected"
        return Claim(measured.metric, title, f"{side} {measured.format(bound)}", found, short, error)

    def to_dict(self) -> dict[str, Any]:
        """The promise for JSON; an undefined number is None."""
        losses = {name: getattr(self, name) for name in ("accuracy_loss", "performance_loss")}
        values = {**self.metrics, **losses}
        return {
            "metrics": {name: _numbers(each) for name, each in values.items()},
            "plain": {name: _numbers(each) for name, each in self.plain.items()},
            "rows": self.rows,
        }

    @classmethod
    def from_dict(cls, stored: Mapping[str, Any]) -> "Promise":
        """What `to_dict` gave."""
        metrics, plain = ({str(k): _read(v) for k, v in stored[part].items()} for part in ("metrics", "plain"))
        losses = (metrics.pop("accuracy_loss"), metrics.pop("performance_loss"))
        if not {*NAMES} <= {*metrics} == {*plain}:
            raise ValueError(f"the promise has the metrics {', '.join(metrics)}; expected {', '.join(NAMES)}")
        return cls(metrics, plain, *losses, int(stored["rows"]))

    def __str__(self) -> str:
        lines = [f"on {self.rows:,} rows that did not choose: plain -> chosen"]
        lines += [f"  {title + ':':<26}{' -> '.join(values)}" for title, *values in self._table()]
        return "\n".join(lines)

    def __repr__(self) -> str:
        return str(self)

    def _repr_html_(self) -> str:
        """The promise as a table for notebooks."""
        rows = [
            ["", "plain", "chosen"],
            *(row if len(row) == 3 else [row[0], "", row[1]] for row in self._table()),
        ]
        return html_table(rows, f"Expected on new rows, from {self.rows:,} rows that did not choose")

    def _table(self) -> Iterator[list[str]]:
        """Each measure with its value for plain and chosen, and last what the choice costs."""
        known = {each.metric: each for each in MEASURES}
        for name, value in self.metrics.items():
            measured = known.get(name) or read_measure(name)
            both = (self.plain[name], value)
            yield [measured.title, *(str(each) if measured.unit else each.as_number() for each in both)]
        yield ["accuracy lost", str(self.accuracy_loss)]


def check_against_plain(rule: Rule, chosen: OneModel, plain: OneModel, switched: Switched) -> Verdict:
    """Test what is claimed against the plain estimator on rows that both decided: budget, guard, aim, limits."""
    before, after = resample_pair(plain, chosen, switched, REPLICATES)
    return Verdict(tuple(_claims(rule, chosen, plain, before, after)))


def _claims(
    rule: Rule, chosen: OneModel, plain: OneModel, before: np.ndarray, after: np.ndarray
) -> Iterator[Claim]:
    if rule.accuracy_drop < 1:
        lost, most = _find_loss(rule.currency, (plain, chosen), (before, after)), rule.accuracy_drop
        promised = f"at most {100 * most:g} points" if rule.currency.unit else f"at most {most:g}"
        title = f"{rule.currency.title} lost" if rule.currency.more_is_better else f"more {rule.currency.title}"
        yield Claim(f"{rule.performance}_budget", title, promised, lost, lost.value - most, _error(lost))
    if rule.worst_group_drop is not None:
        fell, several = _find_fall(rule, (plain, chosen), (before, after))
        most = rule.worst_group_drop
        promised = f"at most {100 * most:g} points"
        error = _error(fell) * NormalDist().inv_cdf(1 - LEVEL / several) / SURE
        yield Claim("worst_group_guard", GUARDED[rule.guard], promised, fell, fell.value - most, error)
    if not rule.seeks_performance:
        values = [rule.goal(each) for each in (plain, chosen, before, after)]
        sign = 1 if rule.goal.more_is_better else -1
        gain = _centred(sign * (values[1] - values[0]), sign * (values[3] - values[2]))
        least = 1e-6  # no gain at all is none
        short, title = least - gain.value, f"gain in {rule.goal.title}"
        promised = "above 0 points" if rule.goal.unit else "above 0"
        yield Claim("aim", title, promised, gain, short, _error(gain), gain=True)
    for limit in rule.limits:
        found = _centred(limit.measure(chosen), limit.measure(after))
        promised = f"{limit.side} {limit.measure.format(limit.value)}"
        short = -float(limit.spare(chosen))
        yield Claim(f"limit_{limit.measure.key}", limit.measure.title, promised, found, short, _error(found))


def _find_loss(
    currency: Measure, models: tuple[OneModel, OneModel], replicates: tuple[np.ndarray, np.ndarray]
) -> Estimate:
    """How much performance the second model loses against the first."""
    plain, chosen, before, after = (currency.to_loss(currency(each)) for each in (*models, *replicates))
    return _centred(chosen - plain, after - before)


GUARDED = {
    "worst": "fall of the worst-served group",
    "groups": "largest fall of a group's accuracy",
    "cells": "largest fall of a (class, group)",
}
"""What the claim of the guard is called, by its level."""


def _find_fall(
    rule: Rule, models: tuple[OneModel, OneModel], replicates: tuple[np.ndarray, np.ndarray]
) -> tuple[Estimate, int]:
    """The fall of what is guarded, and of how many falls it is the largest in standard errors."""
    if rule.guard == "worst":
        values = [worst_group_accuracy(each) for each in (*models, *replicates)]
        return _centred(values[0] - values[1], values[2] - values[3]), 1
    rate = attribute_accuracy if rule.guard == "groups" else group_accuracy
    rates = [rate(each) for each in (*models, *replicates)]
    falls, drawn = (rates[0] - rates[1]).ravel(), (rates[2] - rates[3]).reshape(len(replicates[0]), -1)
    known = np.flatnonzero(~np.isnan(falls))
    if not len(known):
        return Estimate(math.nan, math.nan, math.nan), 1
    error = np.maximum(np.nanstd(drawn[:, known], axis=0), TOLERANCE)
    worst = known[int((falls[known] / error).argmax())]
    return _centred(falls[worst], drawn[:, worst]), len(known)


class Change(NamedTuple):
    """How many more of 1,000 people of a class and group are decided rightly, with a 95 % interval."""

    label: int
    group: int
    people: int
    per_1000: Estimate


def find_changes(chosen: OneModel, plain: OneModel, switched: Switched) -> list[Change]:
    """Say who gains and who loses by the choice: for every class and group, in people of 1,000."""
    size = plain[:, :-1].sum(-1)
    moved = group_accuracy(chosen) - group_accuracy(plain)
    half = WIDTH / 2 * paired_error(moved, switched[:, :-1], size)
    return [
        Change(y, a, int(size[y, a]), Estimate(*(1000 * (moved[y, a] + sign * half[y, a]) for sign in (0, -1, 1))))
        for y, a in np.argwhere(size > 0).tolist()
    ]


def estimate_metrics(counts: OneModel, measures: Sequence[Measure] = MEASURES) -> dict[str, Estimate]:
    """Every metric of the decisions, with its interval by the bootstrap over rows."""
    replicates = resample(counts, REPLICATES, np.random.default_rng(0))
    return {
        each.metric: Estimate(*bracket(each(counts), each(replicates), CONFIDENCE).tolist()) for each in measures
    }


def _centred(value: Any, replicates: np.ndarray) -> Estimate:
    """The value with an interval of standard errors around it.

    The percentiles of the bootstrap are not used here: those of absolute differences lie above their value, and so
    those of a gain below it.
    """
    half = WIDTH / 2 * float(np.nanstd(replicates)) if np.isfinite(replicates).any() else math.nan
    return Estimate(float(value), float(value) - half, float(value) + half)


def _numbers(estimate: Estimate) -> list[float | None]:
    values = (estimate.value, estimate.low, estimate.high)
    return [None if math.isnan(each) else each for each in values]


def _read(bounds: Any) -> Estimate:
    value, low, high = (math.nan if each is None else float(each) for each in bounds)
    return Estimate(value, low, high)


def _error(estimate: Estimate) -> float:
    """The standard error that an interval implies; none where there is no interval."""
    width = estimate.high - estimate.low
    return 0.0 if math.isnan(width) else width / WIDTH
