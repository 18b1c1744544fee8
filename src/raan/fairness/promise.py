"""What new rows may expect of a chosen model, and whether rows that had no part in the choice confirm it.

A promise is a list of claims. Each claim is tested in one way: by how far the rows fall short of it, in standard
errors. The title of a report, its table, the model card, the exit code and `raan audit --baseline` show the result
of this test and decide nothing themselves.
"""

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from statistics import NormalDist
from typing import Any

import numpy as np
from jaxtyping import Float

from raan.fairness.aims import ACCURACY, ACCURATE, AIMS, MEASURES, Measure
from raan.fairness.counts import Estimate, bracket, resample
from raan.fairness.metrics import NAMES, accuracy, measure, worst_group_accuracy
from raan.fairness.rule import Rule, Switched

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
        unit = "points" if self.promised.endswith("points") else "%"
        value, low, high = (
            f"{round(100 * x, 1) + 0.0:.1f}" for x in (self.found.value, self.found.low, self.found.high)
        )
        return f"{value} {unit} ({low} to {high})"

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

    @classmethod
    def of(cls, chosen: OneModel, plain: OneModel, switched: Switched) -> "Promise":
        """The promise of decisions on rows that did not make the choice, against the plain estimator's there."""
        loss = float(accuracy(plain) - accuracy(chosen))
        error = float(np.sqrt(max(switched.sum() / chosen.sum() - loss**2, 0) / chosen.sum()))
        half = WIDTH / 2 * error
        return cls(
            estimate_metrics(chosen),
            estimate_metrics(plain),
            Estimate(loss, loss - half, loss + half),
            int(plain.sum()),
        )

    def of_plain(self) -> "Promise":
        """What new rows may expect of the plain estimator."""
        return Promise(self.plain, self.plain, Estimate(0.0, 0.0, 0.0), self.rows)

    def check(self, rule: Rule, found: OneModel | Mapping[str, Estimate]) -> Verdict:
        """Test what can be tested without the plain estimator: accuracy and the aim are as good as expected.

        `found` are the chosen classifier's counts on new rows, or its metrics there with intervals. What is
        claimed is the end of the promise's own interval. A gap is an absolute difference, which noise alone makes
        larger: the noise of the new rows is taken off first, in squares.
        """
        if not isinstance(found, Mapping):
            found = estimate_metrics(found)
        aimed = [rule.goal] if rule.goal is not ACCURATE else [AIMS[key] for key, _ in rule.limits]
        return Verdict(tuple(self._expect(each, found[each.metric]) for each in (ACCURACY, *aimed)))

    def _expect(self, measured: Measure, found: Estimate) -> Claim:
        expected, error, value = self.metrics[measured.metric], _error(found), found.value
        bound = expected.low if measured.more_is_better else expected.high
        bound = expected.value if math.isnan(bound) else bound
        if not measured.more_is_better:
            value = math.sqrt(max(value**2 - error**2, 0)) if value == value else value
        side = "at least" if measured.more_is_better else "at most"
        short = -measured.gain(value - bound)
        title = f"{measured.title} as expected"
        return Claim(measured.metric, title, f"{side} {100 * bound:.1f} %", found, short, error)

    def to_dict(self) -> dict[str, Any]:
        """The promise for JSON; an undefined number is None."""
        values = {**self.metrics, "accuracy_loss": self.accuracy_loss}
        return {
            "metrics": {name: _numbers(each) for name, each in values.items()},
            "plain": {name: _numbers(each) for name, each in self.plain.items()},
            "rows": self.rows,
        }

    @classmethod
    def from_dict(cls, stored: Mapping[str, Any]) -> "Promise":
        """What `to_dict` gave."""
        metrics, plain = ({str(k): _read(v) for k, v in stored[part].items()} for part in ("metrics", "plain"))
        return cls({name: metrics[name] for name in NAMES}, plain, metrics["accuracy_loss"], int(stored["rows"]))

    def __str__(self) -> str:
        lines = [f"on {self.rows:,} rows that did not choose: plain -> chosen"]
        lines += [
            f"  {each.title + ':':<26}{self.plain[each.metric]} -> {self.metrics[each.metric]}"
            for each in MEASURES
        ]
        return "\n".join([*lines, f"  {'accuracy lost:':<26}{self.accuracy_loss}"])


def check_against_plain(rule: Rule, chosen: OneModel, plain: OneModel, switched: Switched) -> Verdict:
    """Test what is claimed against the plain estimator on rows that both decided: budget, guard, aim, limits."""
    before, after = resample_pair(plain, chosen, switched)
    return Verdict(tuple(_claims(rule, chosen, plain, before, after)))


def _claims(
    rule: Rule, chosen: OneModel, plain: OneModel, before: np.ndarray, after: np.ndarray
) -> Iterator[Claim]:
    if rule.accuracy_drop < 1:
        lost = _centred(accuracy(plain) - accuracy(chosen), accuracy(before) - accuracy(after))
        most = rule.accuracy_drop
        promised = f"at most {100 * most:g} points"
        yield Claim("accuracy_budget", "accuracy lost", promised, lost, lost.value - most, _error(lost))
    if rule.worst_group_drop is not None:
        worst = [worst_group_accuracy(each) for each in (plain, chosen, before, after)]
        fell = _centred(worst[0] - worst[1], worst[2] - worst[3])
        most = rule.worst_group_drop
        promised = f"at most {100 * most:g} points"
        title = "fall of the worst-served group"
        yield Claim("worst_group_guard", title, promised, fell, fell.value - most, _error(fell))
    if rule.goal.key in AIMS:
        values = [measure(rule.goal.metric, each) for each in (plain, chosen, before, after)]
        sign = 1 if rule.goal.more_is_better else -1
        gain = _centred(sign * (values[1] - values[0]), sign * (values[3] - values[2]))
        least = 1e-6  # no gain at all is none
        short, title = least - gain.value, f"gain in {rule.goal.title}"
        yield Claim("aim", title, "above 0 points", gain, short, _error(gain), gain=True)
    for key, most in rule.limits:
        limited = AIMS[key]
        loss = _centred(limited.loss_of(chosen), limited.loss_of(after))
        title = f"error of the {limited.short}" if limited.more_is_better else limited.title
        yield Claim(f"limit_{key}", title, f"at most {100 * most:g} %", loss, loss.value - most, _error(loss))


def resample_pair(plain: OneModel, chosen: OneModel, switched: Switched) -> tuple[np.ndarray, np.ndarray]:
    """Bootstrap samples of the counts of two models that decided the same rows.

    Of two classes, how many rows of each cell are right in one model only says how often both are right: rows are
    drawn with both decisions, and the difference of the models is as noisy as it really is. Of more classes the
    two are drawn apart, which makes the difference noisier than it is.
    """
    rng = np.random.default_rng(0)
    if len(plain) != 2:
        return resample(plain, REPLICATES, rng), resample(chosen, REPLICATES, rng)
    right, moved = (np.stack([each[k, :, k] for k in range(2)]) for each in (plain, chosen))
    both = (right + moved - switched) / 2
    size = plain.sum(-1)
    joint = np.stack([both, right - both, moved - both, size - right - moved + both], axis=-1)
    drawn = resample(np.maximum(joint, 0), REPLICATES, rng)
    return tuple(_predicted(drawn[..., 0] + drawn[..., place], drawn.sum(-1)) for place in (1, 2))  # type: ignore[return-value]


def _predicted(right: np.ndarray, size: np.ndarray) -> np.ndarray:
    """Counts of two classes from how many of each cell are right, [replicate, label, attribute, prediction]."""
    wrong = size - right
    return np.stack([np.stack([right[:, 0], wrong[:, 0]], -1), np.stack([wrong[:, 1], right[:, 1]], -1)], axis=1)


def estimate_metrics(counts: OneModel) -> dict[str, Estimate]:
    """Every metric of the decisions, with its interval by the bootstrap over rows."""
    replicates = resample(counts, REPLICATES, np.random.default_rng(0))
    return {name: _estimate(measure(name, counts), measure(name, replicates)) for name in NAMES}


def _estimate(value: Any, replicates: np.ndarray) -> Estimate:
    return Estimate(*bracket(np.asarray(value), replicates, CONFIDENCE).tolist())


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
