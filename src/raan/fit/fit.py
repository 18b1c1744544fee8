"""From a table to a fairer model: families of models within a time budget, and the choice by the user's rule."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from raan.errors import MissingExtra, is_installed
from raan.fairness.aims import AIMS
from raan.fairness.rule import ACCURACY_DROP, CONFIDENCE
from raan.fit.clock import Clock
from raan.fit.families import TIMED, WIDE, Kind, fit_family, fit_in_time, in_order, tell_seconds
from raan.fit.rows import Rows, judge_groups
from raan.fit.trade_off import Family, Settled, Weighted, choose_aloud, settle
from raan.frontier.estimator import FairFrontier
from raan.frontier.posterior import give_attribute
from raan.tabular.frame import Loaded

FIRST_SHARE, NEXT_SHARE = 0.6, 0.4
"""The shares of the time that is left that the first family, and the second after it, may take."""

LEAST_SECONDS = 10.0
"""Networks are not begun with less time than this: importing torch alone takes some of it."""


@dataclass(frozen=True)
class Wish:
    """What the user asks for: the aim and what it may cost, the time, and the seed of everything."""

    aim: str = "equalized_odds"
    accuracy_drop: float = ACCURACY_DROP
    worst_group_drop: float | None = 0.0
    confidence: float = CONFIDENCE
    seconds: float = 300.0
    seed: int = 0

    @property
    def rule(self) -> dict[str, Any]:
        """The rule as FairFrontier takes it."""
        names = ("aim", "accuracy_drop", "worst_group_drop", "confidence")
        return {name: getattr(self, name) for name in names}


@dataclass(frozen=True, eq=False)
class Fit:
    """All that was trained, the plain model that all is held against, and the point that the rule takes."""

    rows: Rows  # those that trained; groups too small to judge by are unknown here
    loaded: Loaded  # as it was read
    wish: Wish
    settled: Settled
    known: Mapping[str, float]  # by aim, what would be promised if the group of each new row were known
    notes: tuple[str, ...]


def fit(loaded: Loaded, wish: Wish, clock: Clock) -> Fit:
    """Fit every family as far as the time goes, and choose out of fold.

    The first is always there: boosting, or logistic regression where texts or images became many features. An
    interruption by the user, or the end of the time, leaves what is finished; only before the first family is
    there does a KeyboardInterrupt pass.
    """
    judged, notes = judge_groups(loaded)
    whole = Rows.of(judged, wish.seed)
    first, second = in_order(whole)
    rows, seconds = _plan_first(first, whole, clock)
    with clock.work(first.title, seconds):
        families = [fit_family(first, rows, wish.rule)]
    known: dict[str, float] = {}
    found = [*notes, *_say_subsample(rows, whole)]
    with clock.limit():
        for family, more in _fit_others(second, rows, wish, clock):
            families += family
            found += more
        known = tell_known(families[0])
    if clock.interrupted:
        found.append("Training was interrupted: the choice is among what had been trained by then.")
    settled = settle(families)
    found += choose_aloud(settled.best.frontier)[1]
    return Fit(rows, loaded, wish, settled, known, tuple(found))


def _plan_first(kind: Kind, rows: Rows, clock: Clock) -> tuple[Rows, float]:
    """The rows that the first family can be fitted to in its share of the time, and about how long that takes."""
    if len(rows.training) <= TIMED[0]:
        clock.plan(clock.left)
        return rows, 0.5 * clock.left
    with clock.work("measuring", 0.0):
        tell_seconds(kind, rows.few(TIMED[0] // 4))  # the first fits pay for threads and caches
        seconds = tell_seconds(kind, rows)
    some = fit_in_time(seconds, rows, FIRST_SHARE * clock.left)
    first = seconds(len(some.training))
    # Networks alone use up the time; without them only a second family is to come.
    clock.plan(clock.left if is_installed("torch") else first + NEXT_SHARE * max(clock.left - first, 0.0))
    return some, first


def _say_subsample(rows: Rows, whole: Rows) -> Iterator[str]:
    """A note where not all rows trained."""
    if len(rows.training) < len(whole.training):
        yield (
            f"The models were fitted and chosen on {len(rows.training):,} of {len(whole.training):,} training "
            f"rows, to keep within the time; all {len(whole.test):,} test rows judged them. Give more --minutes "
            "for more rows."
        )


def _fit_others(
    second: Kind, rows: Rows, wish: Wish, clock: Clock
) -> Iterator[tuple[Sequence[Family], Sequence[str]]]:
    """The second family where it is quick, then networks in the time that is left."""
    if clock.left:
        yield _fit_quick(second, rows, wish, clock), ()
    if not is_installed("torch"):
        yield (), (f"Networks were left out: {MissingExtra('training them', 'torch')}.",)
    elif clock.left > LEAST_SECONDS:
        from raan.fit.networks import fit_networks

        yield fit_networks(rows, wish.rule, clock)
    else:
        yield (), ("Networks were not trained: there was no time left. Give more --minutes for them.",)


def _fit_quick(kind: Kind, rows: Rows, wish: Wish, clock: Clock) -> list[Family]:
    """The family, unless it would take more than its share of the time."""
    if len(rows.training) > TIMED[0] or rows.width > WIDE:
        # Of a wide table even the small fits take long: a smaller one says whether they are worth it.
        for some in (rows.few(TIMED[0] // 4), rows) if rows.width > WIDE else (rows,):
            seconds = tell_seconds(kind, some)(len(some.training))
            if seconds > NEXT_SHARE * clock.left:
                return []
    else:
        seconds = 0.1 * clock.left
    with clock.work(kind.title, seconds):
        return [fit_family(kind, rows, wish.rule)]


def tell_known(family: Family) -> dict[str, float]:
    """By aim, what the rule would promise with thresholds for each group, if new rows' groups were known."""
    assert isinstance(family.held_out, Weighted)
    judge, frontier = family.held_out.judge, family.frontier
    names = np.array([*frontier.groups_, None], dtype=object)
    wish = {name: getattr(frontier, name) for name in ("accuracy_drop", "worst_group_drop", "confidence")}
    posterior = give_attribute(judge.posterior.sum(2), judge.group, len(frontier.groups_))
    found = FairFrontier.from_posterior(posterior, judge.label, names[judge.group], aim=frontier.aim, **wish)
    return {aim: _promised(found, aim) for aim in AIMS}


def _promised(frontier: FairFrontier, aim: str) -> float:
    return float(frontier.choose(aim=aim).promise_.metrics[AIMS[aim].metric].value)
