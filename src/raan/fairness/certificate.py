"""A certificate: what is sure of a chosen model, from rows that neither trained nor chose it."""

import json
import math
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from itertools import permutations
from os import PathLike
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Bool, Float

from raan._version import __version__
from raan.errors import InputError, Option, is_number, listed
from raan.fairness.bounds import Sum, bound_largest, bound_loss, bound_rate
from raan.fairness.counts import MIN_MEASURED
from raan.fairness.evidence import Switched
from raan.fairness.measures import ACCURACY, AIMS, Limit
from raan.fairness.metrics import accuracy
from raan.fairness.promise import OneModel
from raan.fairness.rule import Rule
from raan.io.files import write_text

GAPS = ("equalized_odds", "demographic_parity", "equal_opportunity")
"""The gaps that a certificate bounds, by their aims."""


class Bound(NamedTuple):
    """A figure on the rows, and the bound that is sure: an upper one of losses and gaps, a lower one of rates."""

    seen: float
    bound: float


@dataclass(frozen=True)
class CellBound:
    """How often rows of a class and group are decided rightly: on the rows, and at least."""

    label: str
    group: str
    rows: int
    seen: float
    bound: float


@dataclass(frozen=True)
class Certificate:
    """Bounds that hold all together, with the given confidence, for rows like those that were used.

    The error rate is divided evenly among the loss, the lowest recall, each gap, and all recalls of the table
    together. The bounds are exact or conservative for any number of rows.

    Attributes:
        confidence: how sure it is that all bounds hold.
        rows: how many rows were used; those of unknown group count in the loss only.
        claims: among how many claims the error rate is divided.
        loss: the accuracy lost against the baseline.
        budget: how much may be lost by the model's own rule.
        lowest: the recall of the worst-served (class, group); None where none is large enough.
        gaps: by aim, the gap between the groups.
        limits: the most that gaps may be by the model's own rule.
        recalls: the recall of each class of each group.
        left_out: groups too small to be certified.
        unknown: rows whose group is unknown.
        rows_needed: about how many more rows would certify the budget; None where it is, or where none would.
        aim: what the model was chosen for.
        notes: what is to be known of the rows.
        model: the model's fingerprint.
        data: the rows' fingerprint.
    """

    confidence: float
    rows: int
    claims: int
    loss: Bound
    budget: float
    lowest: Bound | None
    gaps: dict[str, Bound]
    limits: dict[str, float]
    recalls: tuple[CellBound, ...]
    left_out: tuple[str, ...]
    unknown: int
    rows_needed: int | None
    aim: str
    notes: tuple[str, ...] = ()
    model: str = ""
    data: str = ""

    @property
    def certified(self) -> bool:
        """Whether the accuracy budget of the model's rule, and its limits, are certified."""
        within = [key in self.gaps and self.gaps[key].bound <= most for key, most in self.limits.items()]
        return self.loss.bound <= self.budget and all(within)

    @property
    def sentence(self) -> str:
        """The certificate in one sentence."""
        parts = [f"at most {_percent(self.loss.bound)} points of accuracy lost"]
        if self.lowest:
            parts.append(f"no group's recall below {_percent(self.lowest.bound, math.floor)} %")
        key = self.aim if self.aim in self.gaps else next(iter(self.gaps), None)
        if key:
            parts.append(f"{AIMS[key].title} at most {_percent(self.gaps[key].bound)} points")
        text = f"{100 * self.confidence:g} % sure: {', '.join(parts)}"
        budget = f"{100 * self.budget:g} points"
        if self.budget >= 1 or self.loss.bound <= self.budget:
            return f"{text}."
        if self.rows_needed is None:
            return f"{text}; {budget} cannot be certified where {100 * self.loss.seen:.1f} are lost."
        return f"{text}; to certify {budget} you need about {self.rows_needed:,} more rows."

    def __str__(self) -> str:
        return "\n".join([self.sentence, "", *self._table(), *self._remarks()])

    def _table(self) -> Iterator[str]:
        lines: list[tuple[str, Bound, str, Any]] = [("accuracy lost", self.loss, "at most", math.ceil)]
        lines += [(AIMS[key].title, each, "at most", math.ceil) for key, each in self.gaps.items()]
        if self.lowest:
            lines.append(("lowest recall of a group", self.lowest, "at least", math.floor))
        lines += [
            (f"recall of {each.label}, {each.group}", Bound(each.seen, each.bound), "at least", math.floor)
            for each in self.recalls
        ]
        width = max(len(title) for title, *_ in lines)
        yield f"{'':<{width}}  {'here':>6}  {'sure':>14}"
        for title, (seen, bound), side, rounded in lines:
            yield f"{title:<{width}}  {100 * seen + 0.0:>6.1f}  {side} {_percent(bound, rounded):>5}"

    def _remarks(self) -> Iterator[str]:
        yield ""
        unknown = f" {self.unknown:,} of unknown group count in the loss only." if self.unknown else ""
        yield (
            f"{self.rows:,} rows.{unknown} All bounds hold together; the error rate of "
            f"{100 * (1 - self.confidence):g} % is divided among {self.claims} claims, the recalls of all groups "
            "being one."
        )
        if self.left_out:
            yield f"Too few rows to certify: {listed(self.left_out)}."
        yield from self.notes

    def to_dict(self) -> dict[str, Any]:
        """The certificate for JSON; shares, not points."""
        return {
            "certificate": 1,
            "raan": __version__,
            "certified": self.certified,
            "sentence": self.sentence,
            **asdict(self),
            "loss": self.loss._asdict(),
            "lowest": self.lowest and self.lowest._asdict(),
            "gaps": {key: each._asdict() for key, each in self.gaps.items()},
        }

    def save(self, path: str | PathLike[str]) -> None:
        """Write the certificate to a JSON file, whole or not at all."""
        write_text(path, json.dumps(self.to_dict(), ensure_ascii=False, indent=1) + "\n")


def _percent(share: float, rounded: Any = math.ceil) -> str:
    """In percent with one decimal, rounded to the cautious side."""
    return f"{rounded(round(1000 * share, 6)) / 10:.1f}"


def certify_counts(
    chosen: OneModel,
    plain: OneModel,
    switched: Switched,
    rule: Rule,
    classes: Sequence[str],
    groups: Sequence[str],
    *,
    confidence: float = 0.95,
    min_count: int = MIN_MEASURED,
    same: bool = False,
) -> Certificate:
    """Certify a choice from the counts of rows that neither trained nor chose.

    Args:
        chosen: the counts of the chosen model, [class, group or unknown, predicted class].
        plain: those of the baseline.
        switched: the rows of each cell that are right in one of the two only.
        rule: the model's own rule, with its budget and its limits.
        classes: the names of the classes.
        groups: the names of the groups.
        confidence: how sure it is that all bounds hold.
        min_count: groups with fewer rows of some class are left out, by name.
        same: whether the model is the baseline itself, which loses nothing.

    Returns:
        The certificate, without fingerprints.

    Raises:
        InputError: for a confidence that is no share from 0.5 up, below 1, or where there are no rows.
    """
    if not is_number(confidence) or not 0.5 <= confidence < 1:
        raise InputError(Option("confidence"), f"is {confidence!r}", "a share from 0.5 up, below 1")
    rows = float(chosen.sum())
    if not rows:
        raise InputError("the rows to certify with", "are none", "at least one")
    known = chosen[:, :-1]
    large = (known.sum(-1) >= min_count).all(0)
    strata = [
        compared
        for stratum in rule.strata or [range(len(groups))]
        if len(compared := [group for group in stratum if large[group]]) > 1
    ]
    claims = 1 + bool(large.any()) * 2 + bool(strata) * len(GAPS)
    level = (1 - confidence) / claims
    lost = float(accuracy(plain) - accuracy(chosen))
    worse, better = (float(switched.sum() + sign * round(lost * rows)) / 2 for sign in (1, -1))
    loss = Bound(lost, 0.0 if same else bound_loss(worse, better, rows, level))
    budget = float(rule.accuracy_drop) if rule.performance == ACCURACY.key else 1.0
    recalls = tuple(_bound_recalls(known, large, classes, groups, level))
    return Certificate(
        confidence=float(confidence),
        rows=int(rows),
        claims=int(claims),
        loss=loss,
        budget=budget,
        lowest=_bound_lowest(known, large, level),
        gaps={key: bound_gap(key, known, level, strata) for key in GAPS} if strata else {},
        limits={limit.measure.key: limit.value for limit in rule.limits if _is_bounded(limit)},
        recalls=recalls,
        left_out=tuple(name for name, enough in zip(groups, large, strict=True) if not enough),
        unknown=int(chosen[:, -1].sum()),
        rows_needed=_count_rows_needed(loss, rule.accuracy_drop, rows)
        if rule.performance == ACCURACY.key
        else None,
        aim=rule.goal.key,
        notes=tuple(_list_uncertified(rule)),
    )


def _is_bounded(limit: Limit) -> bool:
    """Whether a limit is on a gap that has an exact bound."""
    return limit.side == "at most" and limit.measure.key in GAPS


def _list_uncertified(rule: Rule) -> Iterator[str]:
    """Say what the model was chosen by and has no exact bound here."""
    if rule.performance != ACCURACY.key:
        yield f"The budget of {rule.currency.title} is not certified: its loss has no exact bound here."
    for limit in rule.limits:
        if not _is_bounded(limit):
            yield f"The limit {limit} is not certified: it has no exact bound here."


def _count_rows_needed(loss: Bound, budget: float, rows: float) -> int | None:
    """About how many more rows would certify the budget: the bound comes nearer with the root of their number."""
    if loss.bound <= budget or loss.seen >= budget:
        return None
    more = rows * (((loss.bound - loss.seen) / (budget - loss.seen)) ** 2 - 1)
    place = 10 ** max(math.floor(math.log10(max(more, 1))) - 1, 0)
    return int(math.ceil(more / place) * place)


def _bound_recalls(
    known: Float[np.ndarray, "label group prediction"],
    large: Bool[np.ndarray, "group"],
    classes: Sequence[str],
    groups: Sequence[str],
    level: float,
) -> Iterator[CellBound]:
    """The recall of each class of each large group, all of them sure together."""
    several = len(classes) * int(large.sum())
    for a in np.flatnonzero(large).tolist():
        for y, name in enumerate(classes):
            right, size = known[y, a, y], known[y, a].sum()
            least = float(bound_rate(right, size, level / several, upper=False))
            yield CellBound(str(name), str(groups[a]), int(size), float(right / size), least)


def _bound_lowest(
    known: Float[np.ndarray, "label group prediction"], large: Bool[np.ndarray, "group"], level: float
) -> Bound | None:
    """The lowest recall. No level is divided: the lowest bound is not above that of the truly lowest recall."""
    if not large.any():
        return None
    right = np.diagonal(known[:, large], axis1=0, axis2=2).T
    size = known[:, large].sum(-1)
    least = bound_rate(right, size, level, upper=False)
    return Bound(float((right / size).min()), float(least.min()))


def list_sums(aim: str, known: Float[np.ndarray, "label group prediction"]) -> list[Sum]:
    """Return the sums of rates whose largest is the gap of an aim: of every pair of groups, of every class."""
    classes = range(known.shape[0])
    size = known.sum(-1)  # [label, group]
    found = []
    for k in classes if len(classes) > 2 else classes[1:]:
        true = known[k, :, k], size[k]
        false = known[:, :, k].sum(0) - known[k, :, k], size.sum(0) - size[k]
        selected = known[:, :, k].sum(0), size.sum(0)
        for a, b in permutations(range(known.shape[1]), 2):
            pairs = {"demographic_parity": [selected], "equal_opportunity": [true]}.get(aim, [true, false])
            hits, sizes = (np.array([each[part][g] for each in pairs for g in (a, b)]) for part in (0, 1))
            signs = [(1, -1)] if len(pairs) == 1 else [(1, -1, 1, -1), (1, -1, -1, 1)]
            found += [Sum(hits, sizes, np.array(sign, float)) for sign in signs]
    return found


def bound_gap(
    aim: str,
    known: Float[np.ndarray, "label group prediction"],
    level: float,
    strata: Sequence[Sequence[int]] | None = None,
) -> Bound:
    """Return the gap of an aim among groups, and its upper bound; with strata the largest within one."""
    sums = [each for stratum in strata or [range(known.shape[1])] for each in list_sums(aim, known[:, stratum])]
    return Bound(max(each.seen for each in sums), bound_largest(sums, level))
