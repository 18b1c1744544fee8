"""What the numbers say, in plain sentences."""

import math
from collections.abc import Mapping

from raan.fairness.measures import ACCURACY
from raan.fairness.metrics import undefined
from raan.lab.results.statistics import (
    Difference,
    against_others,
    best,
    cell_rows,
    corrected,
    group_changes,
    level,
    shift,
)
from raan.lab.results.summary import Comparison, count_configurations, describe_threshold
from raan.report.tables import group_name, interval, p_value, percent, several, signed


def headline(comparison: Comparison) -> str:
    """The most important sentence: what the saved method, or the best on validation rows, changes on test rows.

    It is not picked by its test rows, where the luckiest of many methods would win.
    """
    now = level(comparison.baseline, comparison.aim).mean
    pick = best(comparison, comparison.others, "validation")
    if math.isnan(now) or (comparison.others and pick is None):
        return f"The {comparison.aim.title} is not defined on these rows: {'; '.join(_reasons(comparison))}."
    if pick is None:
        return (
            f"{comparison.against} reaches {percent(now)} % {comparison.aim.title} at "
            f"{percent(level(comparison.baseline, ACCURACY).mean)} % accuracy; there is nothing to compare it "
            "with."
        )
    then = level(comparison.chosen[pick], comparison.aim).mean
    subject = "the worst-served group" if comparison.aim.more_is_better else f"the {comparison.aim.title}"
    if comparison.aim.gain(then - now) <= 0:
        # Others may be better on test rows, which pick none.
        return (
            f"{pick}, the best on validation rows, does not improve on {comparison.against} here: {subject} goes "
            f"from {percent(now)} % to {percent(then)} %."
        )
    verb = "raises" if comparison.aim.more_is_better else "narrows"
    change = shift(comparison.chosen[pick], comparison.baseline, ACCURACY).estimate.mean
    cost = f"{'costs' if change < 0 else 'gains'} {percent(abs(change))} points of accuracy"
    cost = "costs no accuracy" if percent(abs(change)) == "0.0" else cost
    return f"{pick} {verb} {subject} from {percent(now)} % to {percent(then)} % and {cost}."


def significance(comparison: Comparison) -> str:
    """Describe the significance of the headline, and which method is ahead on test rows if it is another one."""
    pick = best(comparison, comparison.others, "validation")
    if pick is None:
        return ""
    held = {
        method: shift(comparison.chosen[method], comparison.baseline, comparison.aim)
        for method in comparison.others
    }
    sentences = [_describe_significance(held, pick, comparison.against), _against_best(comparison, pick)]
    ahead = best(
        comparison, (pick, *comparison.chosen)
    )  # first, so that one that is only as good is not ahead of it
    if ahead not in (pick, None):
        reached = percent(level(comparison.chosen[str(ahead)], comparison.aim).mean)
        sentences.append(f"On test rows {ahead} is ahead of {pick}, with {reached} %.")
    return " ".join(filter(None, sentences))


def who_gains(comparison: Comparison, method: str) -> str:
    """The groups that a method serves better than the baseline, those it serves worse, and the unsettled ones."""
    gains, losses, open_ = [], [], []
    for label, attribute, change in group_changes(comparison, method):
        where = f"{group_name(label, attribute)} ({signed(change.estimate.mean)})"
        if not change.estimate.significant:
            open_.append(where)
        elif change.estimate.mean > 0:
            gains.append(where)
        else:
            losses.append(where)
    parts = {"better served": gains, "worse served": losses, "not settled by these seeds": open_}
    said = "; ".join(f"{how}: {', '.join(groups)}" for how, groups in parts.items() if groups)
    return f"{method} against {comparison.against}, in points of accuracy. {said[0].upper()}{said[1:]}."


def caveats(comparison: Comparison) -> list[str]:
    """What a reader must know of these runs: what is left out or unfinished, budgets that differ, divergence."""
    notes = [*filter(None, [describe_threshold(comparison.records)])]
    for method, paths in comparison.methods.items():
        if paths.left_out:
            seeds = f"{several(len(paths.left_out), 'seed')} left out ({', '.join(map(str, paths.left_out))})"
            notes.append(f"{method}: {seeds}, because not every configuration has been run with it yet.")
    if comparison.unfinished:
        notes.append(
            f"Not shown, because no seed has been run with all configurations yet: "
            f"{', '.join(comparison.unfinished)}."
        )
    given = count_configurations(comparison)
    if len({*given.values()}) > 1:
        counted = ", ".join(f"{method} {count}" for method, count in given.items())
        notes.append(f"The methods had different numbers of configurations to be chosen from: {counted}.")
    smallest = []  # the accuracy of the worst group may depend on so few rows
    for part in ("validation", "test"):
        rows = cell_rows(comparison, part).min((1, 2))
        least, most = int(rows.min()), int(rows.max())
        smallest.append(f"{least:,}{'' if least == most else f' to {most:,}'} {part} rows")
    notes.append(f"The smallest cell of a class and an attribute value has {' and '.join(smallest)}.")
    diverged = {method: paths.diverged for method, paths in comparison.methods.items() if paths.diverged}
    if diverged:
        counted = ", ".join(f"{method} {count}" for method, count in diverged.items())
        notes.append(f"Runs that diverged, used up to where they did: {counted}.")
    if len(comparison.baseline.seeds) == 1:
        notes.append("One seed: nothing here says how much chance there is in the numbers.")
    return notes


def _against_best(comparison: Comparison, pick: str) -> str:
    """Return the method against the best of the others on test rows, corrected for their number."""
    others = against_others(comparison, pick)
    other = best(comparison, tuple(name for name in others if name != comparison.against))
    if other is None or others[other].estimate.seeds < 2:
        return ""
    shown = others[other].estimate
    return (
        f"Against {other}, the best of the others on test rows: {signed(shown.mean)} points, "
        f"{_tested(others, other)}."
    )


def _tested(held: Mapping[str, Difference], which: str) -> str:
    """Return a p-value, and what is left of it after Holm's correction for all that were compared."""
    p = f"p = {p_value(held[which].p_value)}"
    if len(held) > 1:
        p += f" ({p_value(corrected(held)[which])} corrected for {len(held)} rivals)"
    return p.replace("p = <", "p <")


def _describe_significance(held: Mapping[str, Difference], pick: str, against: str) -> str:
    """Describe whether a change is statistically significant, with its numbers."""
    shown = held[pick].estimate
    if shown.seeds < 2:
        return "One seed cannot say how sure that is."
    numbers = (
        f"{signed(shown.mean)} points against {against}, 95 % interval {interval(shown, signed)}, "
        f"{_tested(held, pick)}, {shown.seeds} paired seeds"
    )
    verdict = "The seeds agree" if shown.significant else "The seeds do not settle it"
    return f"{verdict}: {numbers}."


def _reasons(comparison: Comparison) -> tuple[str, ...]:
    """Why the aim is undefined in some seed."""
    counts = next(iter(comparison.methods.values())).test[0, 0]
    for of_seed in counts:
        reasons = undefined(of_seed, comparison.classes, comparison.attributes)
        if reasons:
            return reasons
    return ("some run predicts nothing that it could be measured by",)
