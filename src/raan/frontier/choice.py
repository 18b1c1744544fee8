"""The choice of a point by tests: the labels accept or reject what the posterior planned, in a fixed order.

Each path is tested from small to large changes, and testing ends at the first point whose claims the rows do not
support at the given confidence. As the order is fixed before any label is looked at, the error of all tests of one
claim together is that of a single one, however many points a path has (fixed-sequence testing).
"""

import math
from typing import NamedTuple

import numpy as np
from jaxtyping import Bool, Float, Int

from raan.fairness.evidence import is_constant, support_budget, support_gain, support_guard, support_limit
from raan.fairness.measures import AIMS, Limit, Measure
from raan.fairness.rule import Rule
from raan.frontier.plan import Points

SPARE = 1.0
"""Standard errors beyond the margin that the posterior must expect of the guard where the tests begin. Before that
point so few rows switch that they could support nothing.
"""

AS_GOOD = 0.5
"""Gaps that differ by less than so many of their standard errors are equally good: the earlier point is taken."""

ENOUGH = 0.8
"""A forecast of rows is for this share of the gain that would be taken without a margin."""


class Choice(NamedTuple):
    """A point, and why no other was taken where it is the plain one."""

    place: int
    reason: str = ""
    rows_needed: int | None = None  # about how many rows would support most of the gain, where these do not


def choose(points: Points, rule: Rule) -> Choice:
    """Choose the best point of the rule's path that the rows support; the reference where they support none.

    With limits, a path for each of them is tested from large to small changes: of the points within the limits the
    one with the best performance is taken.
    """
    if rule.seeks_performance:
        return _choose_within_limits(points, rule)
    places = find_path(points, rule, rule.goal)
    if not len(places):
        return Choice(0, f"no decisions keep the guard within any budget of {rule.currency.title}")
    passed = accept_path(points, rule, places)
    taken = places[passed]
    if not len(taken):
        return Choice(0, _explain(points, rule, places), forecast_rows(points, rule, places))
    loss = rule.goal.loss_of(points.counts[taken])
    slack = 0.0 if rule.goal.more_is_better else AS_GOOD * rule.noise
    first = taken[np.flatnonzero(loss <= np.nanmin(loss) + slack)[0]] if not np.isnan(loss).all() else taken[0]
    for place in (first, taken[int(np.nanargmin(loss))] if not np.isnan(loss).all() else first):
        if supports_gain(points, rule, int(place)):
            return Choice(int(place))
    return Choice(0, "the gain is within its own noise", forecast_rows(points, rule, places))


def find_path(points: Points, rule: Rule, wanted: Measure | Limit) -> Int[np.ndarray, "place"]:
    """Return the points to be tested for an aim or a limit, from small to large changes.

    An aim with a name has a path of its own. For others it consists of the points that are best by the posterior:
    no other one is expected to be as good for them at a smaller loss of performance. No label takes part in this.
    """
    if isinstance(wanted, Measure) and wanted.key in AIMS:
        return points.on_path(wanted.key, rule.worst_group_drop is not None)
    everything = np.arange(len(points.path))
    currency = rule.currency
    loss = currency.to_loss(currency(points.expected))
    value = wanted.loss_of(points.expected) if isinstance(wanted, Measure) else -wanted.spare(points.expected)
    usable = (everything > 0) & (value < value[0]) & np.isfinite(loss)
    if rule.worst_group_drop is not None:
        usable &= _support(points, rule, everything, expected=True)[1] >= 0
    order = np.lexsort((value, loss))
    order = order[usable[order]]
    best = np.minimum.accumulate(np.r_[np.inf, value[order]])
    return np.asarray(order[value[order] < best[:-1]])


def accept_path(points: Points, rule: Rule, places: Int[np.ndarray, "place"]) -> Bool[np.ndarray, "place"]:
    """Test budget and guard along a path; return which of its points are accepted.

    Testing begins at the first point whose guard the posterior expects to pass, and ends at the first rejection.
    """
    accepted = np.minimum(*_support(points, rule, places)) >= rule.margin
    accepted &= ~is_constant(points.counts[places])
    start = _find_start(points, rule, places)
    run = np.zeros(len(places), bool)
    run[start:] = np.logical_and.accumulate(accepted[start:])
    return run


def _find_start(points: Points, rule: Rule, places: Int[np.ndarray, "place"]) -> int:
    """The first point of a path whose guard the posterior expects to pass, or comes nearest to passing."""
    _, guard = _support(points, rule, places, expected=True)
    ready = np.flatnonzero(guard >= rule.margin + SPARE)
    return int(ready[0]) if len(ready) else int(guard.argmax())


def _support(
    points: Points, rule: Rule, places: Int[np.ndarray, "place"], *, expected: bool = False
) -> tuple[Float[np.ndarray, "place"], Float[np.ndarray, "place"]]:
    """How strongly the rows support budget and guard at some points; or how strongly the posterior expects it."""
    if expected:
        # The posterior expects as many rows of a cell as there are; the tests depend on their true number.
        counts, switched = points.expected[places], points.expected_switched[places]
        reference = points.expected[0]
    else:
        counts, switched, reference = points.counts[places], points.switched[places], points.counts[0]
    budget = support_budget(counts, reference, switched, rule.accuracy_drop, rule.currency)
    if rule.worst_group_drop is None:
        return budget, np.full(len(places), np.inf)
    return budget, support_guard(counts, reference, switched, rule.worst_group_drop, rule.guard)


def supports_gain(points: Points, rule: Rule, place: int) -> bool:
    """Test that the aim is better than the plain classifier's."""
    found = support_gain(rule.goal, points.counts[place], points.counts[0], points.switched[place])
    return found >= rule.margin and found > 0


def _explain(points: Points, rule: Rule, places: Int[np.ndarray, "place"]) -> str:
    """Say which claim of the first point that is tested the rows do not support."""
    first = places[[_find_start(points, rule, places)]]
    if is_constant(points.counts[first]).any():
        return "every candidate gives nearly all rows one class"
    budget, guard = _support(points, rule, first)
    if guard[0] < rule.margin <= budget[0]:
        return "the rows do not support the guard"
    return f"the rows do not support the budget of {rule.currency.title}"


def forecast_rows(points: Points, rule: Rule, places: Int[np.ndarray, "place"]) -> int | None:
    """About how many rows would support most of the gain that the path offers within the budget.

    Standard errors shrink with the root of the number of rows. None where no number would do.
    """
    support = np.minimum(*_support(points, rule, places))
    loss = rule.goal.loss_of(points.counts[places])
    gain = rule.goal.loss_of(points.counts[0]) - loss
    possible = (support > 0) & (gain > 0) & ~is_constant(points.counts[places])
    if not possible.any():
        return None
    large = np.flatnonzero(possible & (gain >= ENOUGH * gain[possible].max()))
    large = large[np.unique(np.linspace(0, len(large) - 1, 4).astype(int))]
    gains = np.array(
        [
            support_gain(rule.goal, points.counts[places[i]], points.counts[0], points.switched[places[i]])
            for i in large
        ]
    )
    factor = (rule.margin / np.minimum(support[large], np.maximum(gains, 1e-6))).min() ** 2
    rows = float(points.counts[0].sum())
    return math.ceil(rows * max(factor, 1.0)) if factor < 1000 else None


def _choose_within_limits(points: Points, rule: Rule) -> Choice:
    """The point with the best performance whose limits the rows support."""
    if _support_limits(points.counts[0], rule) >= rule.margin:
        return Choice(0)
    budgeted = rule.accuracy_drop < 1

    def keeps_all(place: int, *, expected: bool = False) -> float:
        """How strongly budget, guard and limits are supported, or expected, at a point."""
        budget, guard = _support(points, rule, np.array([place]), expected=expected)
        limits = _support_limits((points.expected if expected else points.counts)[place], rule)
        return float(min([guard[0], limits, *([budget[0]] if budgeted else [])]))

    best = 0
    loss = rule.currency.to_loss(rule.currency(points.counts))
    for limit in rule.limits:
        places = find_path(points, rule, _to_path(limit))[::-1]
        if not len(places):
            continue
        hoped = np.array([keeps_all(place, expected=True) for place in places])
        ready = np.flatnonzero(hoped >= rule.margin + SPARE)
        for place in places[int(ready[0]) if len(ready) else int(np.nanargmax(hoped)) :].tolist():
            if not keeps_all(place) >= rule.margin:
                break
            if not is_constant(points.counts[place]) and (best == 0 or loss[place] <= loss[best]):
                best = place
    return Choice(best) if best else Choice(0, _explain_limits(points, rule))


def _to_path(limit: Limit) -> Measure | Limit:
    """The aim whose path leads to a limit, where it has a name and is limited in its own direction."""
    own = limit.measure.key in AIMS and limit.measure.more_is_better == (limit.side == "at least")
    return limit.measure if own else limit


def _explain_limits(points: Points, rule: Rule) -> str:
    """Say which limit no point is known to keep, and how near the points come."""
    for limit in rule.limits:
        places = np.r_[0, find_path(points, rule, _to_path(limit))]
        if max(support_limit(limit, points.counts[place]) for place in places) >= rule.margin:
            continue
        found = limit.measure(points.counts[places])
        nearest = np.nanmin(found) if limit.side == "at most" else np.nanmax(found)
        extreme = "smallest" if limit.side == "at most" else "largest"
        return (
            f"no point of this trade-off is known to have a {limit.measure.title} of {limit.side} "
            f"{limit.measure.format(limit.value)}, and the {extreme} is {limit.measure.format(float(nearest))},"
        )
    others = [
        *([] if rule.worst_group_drop is None else ["guard"]),
        *(["budget"] if rule.accuracy_drop < 1 else []),
    ]
    kept = ["limits" if len(rule.limits) > 1 else "limit", *others]
    return f"no point of this trade-off is known to keep the {' and the '.join(kept)}"


def _support_limits(counts: Float[np.ndarray, "label slot prediction"], rule: Rule) -> float:
    return min(support_limit(limit, counts) for limit in rule.limits)
