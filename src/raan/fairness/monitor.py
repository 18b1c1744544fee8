"""Monitoring of a deployed model, month after month, with one error rate for all months together.

Every claim has a bet against it (`raan.fairness.bounds`). Its capital depends on counts alone, so months add their
counts, and so do labels that arrive late. A fall may begin in any month, so the capital is divided among bets that
begin in each. A claim is contradicted once its capital exceeds the number of claims / `ERROR`.
"""

import json
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from pathlib import Path
from typing import Any

import numpy as np
from jaxtyping import Float, Int
from scipy.special import logsumexp  # type: ignore[import-untyped]

from raan.errors import InputError, Option
from raan.fairness.bounds import bet_against, bet_against_gap, bound_rate, follow_rate
from raan.fairness.certificate import GAPS, list_sums
from raan.fairness.counts import MIN_CHOSEN, Counts, count
from raan.fairness.measures import Measure
from raan.fairness.metrics import measure
from raan.fairness.promise import OneModel, Promise
from raan.fairness.rule import Rule
from raan.io.files import digest, write_text

ERROR = 0.05
"""How likely any false alarm is, over all months and all claims."""

HORIZON = 24
"""Months that share half of the capital evenly: a fall is found about as soon in each of them."""

TAIL = 0.025
"""What the past knows of a rate: all but this on each side."""


class Standing(StrEnum):
    """What all months together say of a claim."""

    WITHIN = "within chance"
    DANGER = "in danger"
    CONTRADICTED = "contradicted"


@dataclass(frozen=True, eq=False)
class Month:
    """Decisions on the rows of a month.

    Attributes:
        counts: the rows with a label, [class, group or unknown, predicted class].
        late: the rows whose label is still to come, [group or unknown, predicted class].
        rows: the fingerprint of the predictions and groups, which labels do not change.
    """

    counts: Counts
    late: Float[np.ndarray, "slot prediction"]
    rows: str

    @classmethod
    def of(
        cls,
        label: Int[np.ndarray, "row"],
        group: Int[np.ndarray, "row"],
        prediction: Int[np.ndarray, "row"],
        shape: tuple[int, int],
    ) -> "Month":
        """Count the rows of a month, as codes; the label is -1 where it is not known yet."""
        known = label >= 0
        counts = count(label[known], group[known], prediction[known], *shape)
        nobody = np.zeros(int((~known).sum()), np.int64)
        late = count(nobody, group[~known], prediction[~known], *shape)[0]
        return cls(counts, late, digest(np.stack([group, prediction]).astype("<i8").tobytes()))

    @property
    def selected(self) -> Float[np.ndarray, "slot prediction"]:
        """The decisions on all rows, with or without a label."""
        return np.asarray(self.counts.sum(0) + self.late)


@dataclass(frozen=True)
class Watched:
    """A claim of a promise, and what the months say of it.

    Attributes:
        key: its name in JSON.
        title: what it is about, and of whom.
        promised: the claim.
        latest: the figure in the latest month; nan where it is undefined.
        found: the figure in all months.
        counts: how many of how many rows have it; None of gaps.
        evidence: the logarithm of the capital of the bet against the claim.
        threshold: where the capital contradicts the claim.
    """

    key: str
    title: str
    promised: str
    latest: float
    found: float
    counts: tuple[float, float] | None
    evidence: float
    threshold: float = math.inf

    @property
    def standing(self) -> Standing:
        """Contradicted, in danger (it would be, were it the only claim), or within chance."""
        if self.evidence >= self.threshold:
            return Standing.CONTRADICTED
        return Standing.DANGER if self.evidence >= -math.log(ERROR) else Standing.WITHIN

    @property
    def interval(self) -> tuple[float, float] | None:
        """Where the true figure is, at all times together with those of the other claims; None of gaps."""
        return follow_rate(*self.counts, math.exp(-self.threshold)) if self.counts and self.counts[1] else None

    @property
    def shown(self) -> str:
        """The figure of all months, with its interval."""
        if math.isnan(self.found):
            return "no rows yet"
        low_high = f" ({100 * self.interval[0]:.1f} to {100 * self.interval[1]:.1f})" if self.interval else ""
        return f"{100 * self.found:.1f}{low_high}"

    def to_dict(self) -> dict[str, Any]:
        """The claim for JSON."""
        numbers = {
            "latest": self.latest,
            "found": self.found,
            "evidence": self.evidence,
            "threshold": self.threshold,
        }
        plain = {name: None if math.isnan(value) else round(value, 6) for name, value in numbers.items()}
        return {"title": self.title, "promised": self.promised, **plain, "status": str(self.standing)}


@dataclass(frozen=True, eq=False)
class Watch:
    """What was promised of a model, by which its months are tested.

    Attributes:
        rule: the rule by which the model was chosen.
        promise: what new rows may expect.
        past: the counts of the choice in cross-validation, [class, group or unknown, predicted class].
        classes: the names of the classes.
        groups: the names of the groups.
    """

    rule: Rule
    promise: Promise
    past: OneModel
    classes: Sequence[str]
    groups: Sequence[str]

    @property
    def fingerprint(self) -> str:
        """What identifies the promise."""
        return digest(self.past.tobytes() + json.dumps([self.promise.to_dict(), self.rule.aim]).encode())

    def check(self, months: Sequence[Month]) -> tuple[Watched, ...]:
        """Test every claim by all months; the claims are the same whatever the months hold."""
        counts = np.array([month.counts for month in months])
        selected = np.array([month.selected for month in months])
        claims = list(self._claims(counts, selected))
        return tuple(replace(claim, threshold=math.log(len(claims) / ERROR)) for claim in claims)

    def _claims(self, counts: np.ndarray, selected: np.ndarray) -> Iterator[Watched]:
        """The claims, from counts and selections by month."""
        rows = counts.sum((1, 2, 3))
        right = np.trace(counts.sum(2), axis1=1, axis2=2)
        least = self.promise.metrics["accuracy"].low
        yield watch_rate("accuracy", "accuracy", right, rows, least, 1.0)
        goal = self.rule.goal
        for aim in [limit.measure for limit in self.rule.limits] if self.rule.seeks_performance else [goal]:
            if aim.key in (*GAPS, "worst_group"):  # others have no bets against them
                yield self._aim(aim, counts)
        enough = self.past[:, :-1].sum(-1) >= MIN_CHOSEN
        for y, a in np.argwhere(enough).tolist():
            past, size = self.past[y, a, y], self.past[y, a].sum()
            least = float(bound_rate(past, size, TAIL, upper=False))
            title = f"recall of {self.classes[y]}, {self.groups[a]}"
            yield watch_rate(f"recall_{y}_{a}", title, counts[:, y, a, y], counts[:, y, a].sum(-1), least, 1.0)
        for k in range(len(self.classes)) if len(self.classes) > 2 else (1,):
            for a in np.flatnonzero(enough.any(0)).tolist():
                past, size = self.past[:, a, k].sum(), self.past[:, a].sum()
                low, high = (float(bound_rate(past, size, TAIL, upper=side)) for side in (False, True))
                title = f"{self.classes[k]} given to {self.groups[a]}"
                yield watch_rate(f"selected_{k}_{a}", title, selected[:, a, k], selected[:, a].sum(-1), low, high)

    def _aim(self, aim: Measure, counts: np.ndarray) -> Watched:
        """The claim that the aim is as good as expected."""
        expected = self.promise.metrics[aim.metric]
        bound = expected.low if aim.more_is_better else expected.high
        bound = expected.value if math.isnan(bound) else bound
        since = _since(counts)
        if aim.key in GAPS:
            past = list_sums(aim.key, self.past[:, :-1])
            capital = np.array([bet_against_gap(list_sums(aim.key, each[:, :-1]), bound, past) for each in since])
        else:  # no recall is below the bound: the mean of the bets against each
            size = since[:, :, :-1].sum(-1)
            right = np.stack([since[:, y, :-1, y] for y in range(since.shape[1])], axis=1)
            several = bet_against(size - right, size, 1 - bound).reshape(len(since), -1)
            capital = logsumexp(several, axis=1) - math.log(several.shape[1])
        side = "at least" if aim.more_is_better else "at most"
        latest, found = (float(measure(aim.metric, each)) for each in (counts[-1], since[0]))
        promised = f"{side} {100 * bound:.1f} %"
        return Watched(aim.metric, aim.title, promised, latest, found, None, share_capital(capital))


def watch_rate(key: str, title: str, hits: np.ndarray, size: np.ndarray, low: float, high: float) -> Watched:
    """The claim that a rate is at least `low` and at most `high`; hits and sizes by month."""
    after, rows = _since(hits), _since(size)
    capital = bet_against(rows - after, rows, 1 - low)
    promised = f"at least {100 * low:.1f} %"
    if high < 1:
        capital = np.logaddexp(capital, bet_against(after, rows, high)) - math.log(2)
        promised = f"{100 * low:.1f} to {100 * high:.1f} %"
    latest, found = (float(h / n) if n else math.nan for h, n in ((hits[-1], size[-1]), (after[0], rows[0])))
    return Watched(key, title, promised, latest, found, (after[0], rows[0]), share_capital(capital))


def _since(months: np.ndarray) -> np.ndarray:
    """Add up, for every month, what came in it and after it."""
    return np.asarray(months[::-1].cumsum(0)[::-1])


def share_capital(since: Float[np.ndarray, "month"]) -> float:
    """Return the logarithm of the capital of bets that begin in each month.

    Half of the first capital is divided evenly among the first `HORIZON` months; of the other half month s has
    2 / ((s + 1) (s + 2)). What is on months to come has not changed.
    """
    start = np.arange(1, len(since) + 1)
    share = 1 / ((start + 1) * (start + 2)) + (start <= HORIZON) / (2 * HORIZON)
    return float(logsumexp(np.append(since, 0.0), b=np.append(share, max(1 - share.sum(), 0.0))))


@dataclass
class History:
    """The months of a model so far, in the order in which they were first audited.

    Attributes:
        promise: the fingerprint of the promise that they are tested by.
        months: each month by its name.
    """

    promise: str
    months: dict[str, Month] = field(default_factory=dict)

    def add(self, name: str, month: Month, *, named: bool = True) -> None:
        """Add a month, or replace the one of its name, as when labels have come.

        Raises:
            InputError: if the rows are those of another month, or if the name was not given by the user and is
                that of other rows.
        """
        twice = next((key for key, each in self.months.items() if each.rows == month.rows and key != name), None)
        if twice is not None:
            raise InputError(
                Option("month"),
                f"is {name!r}, whose rows are those of the month {twice!r}",
                "other rows",
                "each row counts once",
            )
        if not named and name in self.months and self.months[name].rows != month.rows:
            raise InputError(Option("month"), f"is not given, and {name!r} has other rows", "a name for the month")
        self.months[name] = month

    def save(self, path: Path) -> None:
        """Write the history to a JSON file, whole or not at all."""
        months = {
            name: {
                "counts": each.counts.astype(int).tolist(),
                "late": each.late.astype(int).tolist(),
                "rows": each.rows,
            }
            for name, each in self.months.items()
        }
        write_text(
            path, json.dumps({"history": 1, "promise": self.promise, "months": months}, ensure_ascii=False) + "\n"
        )

    @classmethod
    def read(cls, path: Path, watch: Watch) -> "History":
        """Read a history, or begin one where there is no file.

        Raises:
            InputError: for a file that is no history, or that of another model.
        """
        if not path.exists():
            return cls(watch.fingerprint)
        shape = watch.past.shape
        try:
            stored: Mapping[str, Any] = json.loads(path.read_text(encoding="utf-8"))
            if stored["history"] != 1:
                raise ValueError("another version")
            found = cls(str(stored["promise"]))
            for name, each in stored["months"].items():
                counts, late = (np.array(each[part], float) for part in ("counts", "late"))
                if found.promise == watch.fingerprint and (counts.shape != shape or late.shape != shape[1:]):
                    raise ValueError("counts of another shape")
                found.months[str(name)] = Month(counts, late, str(each["rows"]))
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise InputError(str(path), "is no history of audits", "a file that --state wrote") from error
        if found.promise != watch.fingerprint:
            raise InputError(
                str(path), "is the history of another model or choice", "a file of its own for each model"
            )
        return found


def describe(claims: Sequence[Watched]) -> str:
    """Say in a sentence which claims are contradicted or in danger, and for whom."""
    parts = []
    for standing in (Standing.CONTRADICTED, Standing.DANGER):
        several = [
            f"{each.title} ({each.promised}; so far {each.shown} %)"
            for each in claims
            if each.standing is standing
        ]
        parts += [f"{str(standing).capitalize()}: {'; '.join(several)}."] if several else []
    return " ".join(parts) or "No promise is in danger."
