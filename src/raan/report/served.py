"""Whom the saved model serves how, before and after: rates of each group, and people per thousand."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from raan.fairness.bootstrap import Estimate
from raan.report.measures import NOTHING, percent, signed
from raan.report.names import call
from raan.report.rates import (
    Rate,
    change,
    estimate_rates,
    expect_switched,
    is_settled,
    rates_of,
)
from raan.report.saved import Saved
from raan.report.tables import Cell, Tone


@dataclass(frozen=True)
class Told:
    """A rate of one group: of how many people, before, after, the change; the same as places on a line."""

    group: str
    people: str
    before: Cell
    after: Cell
    change: Cell
    moves: tuple[float, float] | None


@dataclass(frozen=True)
class Compared:
    """A rate of every group."""

    title: str
    meaning: str
    groups: Sequence[Told]


@dataclass(frozen=True)
class Moved:
    """How many more or fewer people of a thousand something happens to, and how sure that is."""

    number: str
    what: str
    sure: str
    tone: Tone


@dataclass(frozen=True)
class Served:
    """What changes for one group, in people."""

    group: str
    moved: Sequence[Moved]


def class_names(saved: Saved) -> list[str]:
    """The classes as sentences call them."""
    return [call(name, saved.label, "class") for name in saved.classes]


def group_names(saved: Saved) -> list[str]:
    """The groups as sentences call them."""
    return [call(name, saved.attribute, "group") for name in saved.groups]


def changes_at(saved: Saved, rate: Rate, point: int) -> list[Estimate]:
    """How each group's rate at a point differs from the plain model's, on test rows."""
    counts, plain = saved.test[point], saved.test[saved.plain]
    switched = expect_switched(counts, plain) if saved.test_switched is None else saved.test_switched[point]
    return change(rate, counts, plain, switched)


def compare(saved: Saved) -> list[Compared]:
    """Every rate of every group on test rows, of the plain model and of the saved one."""
    rates, names = rates_of(class_names(saved)), group_names(saved)
    before, after = (estimate_rates(rates, saved.test[point]) for point in (saved.plain, saved.chosen))
    found = []
    for place, rate in enumerate(rates):
        people = rate.size(saved.test[saved.chosen]).tolist()
        moved = changes_at(saved, rate, saved.chosen)
        of_groups = zip(names, people, before[place], after[place], moved, strict=True)
        found.append(Compared(rate.title, rate.meaning, [_told(rate, *each) for each in of_groups]))
    return found


def _told(rate: Rate, group: str, people: float, before: Estimate, after: Estimate, moved: Estimate) -> Told:
    defined = not math.isnan(moved.value)
    return Told(
        group,
        f"{people:,.0f}",
        _level(before),
        _level(after),
        Cell(signed(moved.value), _reach(moved, signed), tone=tone_of(moved, rate.better)),
        (round(100 * before.value, 1), round(100 * after.value, 1)) if defined else None,
    )


def _level(found: Estimate) -> Cell:
    return Cell(percent(found.value), _reach(found, percent))


def _reach(found: Estimate, write: Callable[[float], str]) -> str:
    """The 95 % interval; nothing where there is none."""
    return "" if math.isnan(found.low) else f"{write(found.low)} to {write(found.high)}"


def tone_of(moved: Estimate, better: int) -> Tone:
    """Whether a change is a gain or a loss, where it is beyond chance and one of the two at all."""
    if not better or not is_settled(moved):
        return ""
    return "gain" if moved.value * better > 0 else "loss"


def count_people(saved: Saved) -> list[Served]:
    """What the saved model changes for each group against the plain one, in people per thousand, on test rows."""
    rates = [rate for rate in rates_of(class_names(saved)) if len(rate.classes) == 1]
    fates = [_fate(saved, rate.classes[0]) for rate in rates]
    moved = [changes_at(saved, rate, saved.chosen) for rate in rates]
    return [
        Served(name, [_moved(moved[k][a], fates[k], rate.better) for k, rate in enumerate(rates)])
        for a, name in enumerate(group_names(saved))
    ]


def _fate(saved: Saved, k: int) -> str:
    """What happens to the people of a class: of two, whether they are selected, rightly or wrongly."""
    name = class_names(saved)[k]
    who = f"of 1,000 {'who are' if name == saved.classes[k] else 'with'} {name}"
    if len(saved.classes) > 2:
        return f"{who} are predicted right"
    return f"{who} are {'selected' if k else 'wrongly selected'}"


def _moved(found: Estimate, what: str, better: int) -> Moved:
    """`52 more`, and whether that is beyond chance."""
    if math.isnan(found.value):
        return Moved(NOTHING, what, "no test rows", "")
    number = round(1000 * found.value)
    ends = f"{_thousandths(found.low)} to {_thousandths(found.high)}"
    if not is_settled(found):
        said = f"{abs(number)} {'more' if number > 0 else 'fewer'}" if number else "as many"
        return Moved(said, what, f"within chance, {ends}", "")
    said = f"{abs(number)} {'more' if found.value > 0 else 'fewer'}" if number else "nearly as many"
    return Moved(said, what, ends, tone_of(found, better))


def _thousandths(share: float) -> str:
    text = f"{1000 * share:+.0f}"
    return "0" if text in ("+0", "-0") else text.replace("-", "−")
