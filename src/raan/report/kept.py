"""What was promised for new rows against what test rows show, and whether the promise was kept."""

import math

from raan.fairness.aims import AIMS, Aim
from raan.fairness.bootstrap import Estimate
from raan.report.measures import NOTHING, percent, points, signed
from raan.report.rates import accuracy_change, estimate_metric, expect_switched
from raan.report.saved import Saved
from raan.report.tables import Cell, Table, Tone, table


def kept_table(saved: Saved) -> Table:
    """A row for the accuracy that was given up, each aim and the floor; the last column says what became of it."""
    rows = [_loss_row(saved), *(_aim_row(saved, aim) for aim in AIMS.values() if aim.metric in saved.promise)]
    if saved.rule.worst_group_drop is not None:
        rows.append(_floor_row(saved))
    caption = "Promised from rows out of fold, and found on test rows, which chose nothing; 95 % intervals"
    header = ("percent", "plain, promised", "saved, promised", "plain, test rows", "saved, test rows", "promise")
    return table(caption, header, rows, words=(5,))


def loss_on_test(saved: Saved) -> Estimate:
    """The accuracy that the saved model loses against the plain one on test rows."""
    counts, plain = saved.test[saved.chosen], saved.test[saved.plain]
    every = saved.test_switched
    switched = expect_switched(counts, plain) if every is None else every[saved.chosen]
    moved = accuracy_change(counts, plain, switched)
    return Estimate(-moved.value, -moved.high, -moved.low)


def _loss_row(saved: Saved) -> list[Cell]:
    lost, allowed = loss_on_test(saved), saved.rule.accuracy_drop
    verdict = judge(lost.value - allowed, lost.high - lost.value)
    told = Cell(verdict.text, f"allowed: {points(allowed)}", tone=verdict.tone)
    cells = (Cell(NOTHING), _cell(saved.accuracy_loss), Cell(NOTHING), _cell(lost), told)
    return [Cell("accuracy lost (points)"), *cells]


def _aim_row(saved: Saved, aim: Aim) -> list[Cell]:
    before, after = saved.promise[aim.metric]
    plain, chosen = (estimate_metric(aim.metric, saved.test[place]) for place in (saved.plain, saved.chosen))
    noise = math.hypot(_half(after), _half(chosen))
    name = f"{aim.title}{', the aim' if aim.key == saved.rule.aim else ''}"
    verdict = judge(-aim.gain(chosen.value - after.value), noise)
    return [Cell(name), *map(_cell, (before, after, plain, chosen)), verdict]


def _floor_row(saved: Saved) -> list[Cell]:
    """The worst group may not fall below the plain model's, up to the rule's allowance."""
    plain, chosen = (
        estimate_metric("worst_group_accuracy", saved.test[place]) for place in (saved.plain, saved.chosen)
    )
    drop = saved.rule.worst_group_drop or 0.0
    verdict = judge(plain.value - drop - chosen.value, _half(chosen))
    name = "floor: the worst group is served no worse" + (f", up to {points(drop)}" if drop else "")
    promised = Cell(f"at least {percent(plain.value - drop)}")
    return [Cell(name), Cell(NOTHING), promised, Cell(percent(plain.value)), Cell(percent(chosen.value)), verdict]


def judge(short: float, noise: float) -> Cell:
    """What became of a promise that test rows fall short of by so much, where so much may be chance."""
    if math.isnan(short):
        return Cell("cannot be said", "undefined on test rows")
    if short <= 5e-4:  # what rounds to nothing
        return Cell("✓ kept")
    tone: Tone = "loss" if short > noise else ""
    return Cell(
        "✗ broken" if tone else "≈ short, within chance", f"by {signed(short).lstrip('+')} points", tone=tone
    )


def broken(sheet: Table) -> list[str]:
    """The promises that broke, by the names of their rows."""
    return [row[0].text for row in sheet.rows if row[-1].tone == "loss"]


def _half(found: Estimate) -> float:
    return 0.0 if math.isnan(found.low) else (found.high - found.low) / 2


def _cell(found: Estimate) -> Cell:
    reach = "" if math.isnan(found.low) else f"{percent(found.low)} to {percent(found.high)}"
    return Cell(percent(found.value), reach)
