"""What the numbers say, in plain sentences."""

import math
from collections.abc import Iterator, Mapping

from raan.fairness.aims import ACCURACY
from raan.fairness.metrics import undefined
from raan.lab.results.statistics import Difference
from raan.lab.results.summary import describe_threshold, paired
from raan.report.budgets import budgets
from raan.report.measures import group_name, interval, p_value, percent, several, signed
from raan.report.reading import Reading, against_others, best, cell_rows, corrected, level, shift


def headline(reading: Reading) -> str:
    """The most important sentence: what the saved method, or the best on validation rows, changes on test rows.

    It is not picked by its test rows, where the luckiest of many methods would win.
    """
    now = level(reading.baseline, reading.aim).mean
    pick = reading.headlined
    if math.isnan(now) or (reading.rivals and pick is None):
        return f"The {reading.aim.title} is not defined on these rows: {'; '.join(_reasons(reading))}."
    if pick is None:
        return (
            f"{reading.against} reaches {percent(now)} % {reading.aim.title} at "
            f"{percent(level(reading.baseline, ACCURACY).mean)} % accuracy; there is nothing to compare it with."
        )
    then = level(reading.chosen[pick], reading.aim).mean
    if reading.aim.gain(then - now) <= 0:
        # Others may be better on test rows, which pick none.
        leads = best(reading, reading.rivals, "validation") == pick
        which = f"{pick}, the best on validation rows," if leads else pick
        return (
            f"{which} does not improve on {reading.against} here: {_subject(reading)} goes "
            f"from {percent(now)} % to {percent(then)} %."
        )
    verb = "raises" if reading.aim.more_is_better else "narrows"
    return (
        f"{pick} {verb} {_subject(reading)} from {percent(now)} % to {percent(then)} % and {_cost(reading, pick)}."
    )


def sureness(reading: Reading) -> str:
    """How sure the headline is, and which method is ahead on test rows if it is another one."""
    pick = reading.headlined
    if pick is None:
        return ""
    held = {method: shift(reading.chosen[method], reading.baseline, reading.aim) for method in reading.rivals}
    sentences = [_settled(held, pick, reading.against), _against_best(reading, pick)]
    ahead = best(reading, (pick, *reading.chosen))  # first, so that one that is only as good is not ahead of it
    if ahead not in (pick, None):
        reached = percent(level(reading.chosen[str(ahead)], reading.aim).mean)
        sentences.append(f"On test rows {ahead} is ahead of {pick}, with {reached} %.")
    return " ".join(filter(None, sentences))


def who_gains(reading: Reading, method: str) -> str:
    """The groups that a method serves better than the baseline, those it serves worse, and the unsettled ones."""
    gains, losses, open_ = [], [], []
    for label, attribute, change in group_changes(reading, method):
        where = f"{group_name(label, attribute)} ({signed(change.estimate.mean)})"
        if not change.estimate.significant:
            open_.append(where)
        elif change.estimate.mean > 0:
            gains.append(where)
        else:
            losses.append(where)
    parts = {"better served": gains, "worse served": losses, "not settled by these seeds": open_}
    said = "; ".join(f"{how}: {', '.join(groups)}" for how, groups in parts.items() if groups)
    return f"{method} against {reading.against}, in points of accuracy. {said[0].upper()}{said[1:]}."


def group_changes(reading: Reading, method: str) -> Iterator[tuple[str, str, Difference]]:
    """For each class and attribute value, the change of its accuracy against the baseline."""
    for i, label in enumerate(reading.comparison.classes):
        for j, attribute in enumerate(reading.comparison.attributes):
            change = paired(reading.chosen[method], reading.baseline, lambda it: it.group[:, i, j])  # noqa: B023
            yield label, attribute, change


def caveats(reading: Reading) -> list[str]:
    """What a reader must know of these runs: what is left out or unfinished, budgets that differ, divergence."""
    notes = [*filter(None, [describe_threshold(reading.comparison.records)]), *_left_out(reading)]
    if reading.comparison.unfinished:
        notes.append(
            f"Not shown, because no seed has been run with all configurations yet: "
            f"{', '.join(reading.comparison.unfinished)}."
        )
    given = budgets(reading)
    if len({*given.values()}) > 1:
        counted = ", ".join(f"{method} {count}" for method, count in given.items())
        notes.append(f"The methods had different numbers of configurations to be chosen from: {counted}.")
    notes.append(_smallest(reading))
    diverged = {method: paths.diverged for method, paths in reading.comparison.methods.items() if paths.diverged}
    if diverged:
        counted = ", ".join(f"{method} {count}" for method, count in diverged.items())
        notes.append(f"Runs that diverged, used up to where they did: {counted}.")
    if len(reading.baseline.seeds) == 1:
        notes.append("One seed: nothing here says how much chance there is in the numbers.")
    return notes


def _smallest(reading: Reading) -> str:
    """How few rows the worst group's accuracy may hang on."""
    parts = []
    for part in ("validation", "test"):
        rows = cell_rows(reading, part).min((1, 2))
        least, most = int(rows.min()), int(rows.max())
        parts.append(f"{least:,}{'' if least == most else f' to {most:,}'} {part} rows")
    return f"The smallest cell of a class and an attribute value has {' and '.join(parts)}."


def _left_out(reading: Reading) -> Iterator[str]:
    """The seeds that a method lacks in some configuration."""
    for method, paths in reading.comparison.methods.items():
        if paths.left_out:
            seeds = f"{several(len(paths.left_out), 'seed')} left out ({', '.join(map(str, paths.left_out))})"
            yield f"{method}: {seeds}, because not every configuration has been run with it yet."


def _subject(reading: Reading) -> str:
    return "the worst-served group" if reading.aim.more_is_better else f"the {reading.aim.title}"


def _cost(reading: Reading, method: str) -> str:
    """What it costs in accuracy."""
    change = shift(reading.chosen[method], reading.baseline, ACCURACY).estimate.mean
    points = percent(abs(change))
    if points == "0.0":
        return "costs no accuracy"
    return f"{'costs' if change < 0 else 'gains'} {points} points of accuracy"


def _against_best(reading: Reading, pick: str) -> str:
    """The method against the best of its rivals on test rows, corrected for their number."""
    others = against_others(reading, pick)
    rival = best(reading, tuple(other for other in others if other != reading.against))
    if rival is None or others[rival].estimate.seeds < 2:
        return ""
    shown = others[rival].estimate
    return (
        f"Against {rival}, the best of the others on test rows: {signed(shown.mean)} points, "
        f"{_tested(others, rival)}."
    )


def _tested(held: Mapping[str, Difference], which: str) -> str:
    """A p-value, and what is left of it after Holm's correction for all that were compared."""
    p = f"p = {p_value(held[which].p_value)}"
    if len(held) > 1:
        p += f" ({p_value(corrected(held)[which])} corrected for {len(held)} rivals)"
    return p.replace("p = <", "p <")


def _settled(held: Mapping[str, Difference], pick: str, against: str) -> str:
    """Whether the seeds settle the sign of a change, with the numbers."""
    shown = held[pick].estimate
    if shown.seeds < 2:
        return "One seed cannot say how sure that is."
    numbers = (
        f"{signed(shown.mean)} points against {against}, 95 % interval {interval(shown, signed)}, "
        f"{_tested(held, pick)}, {shown.seeds} paired seeds"
    )
    verdict = "The seeds agree" if shown.significant else "The seeds do not settle it"
    return f"{verdict}: {numbers}."


def _reasons(reading: Reading) -> tuple[str, ...]:
    """Why the aim is undefined in some seed."""
    counts = next(iter(reading.comparison.methods.values())).test[0, 0]
    for of_seed in counts:
        reasons = undefined(of_seed, reading.comparison.classes, reading.comparison.attributes)
        if reasons:
            return reasons
    return ("some run predicts nothing that it could be measured by",)
