"""The tables of a report."""

import math
from collections.abc import Iterator, Mapping
from typing import Any

from raan.fairness.aims import ACCURACY, MEASURES, Measure
from raan.lab.results.statistics import Difference, Estimate
from raan.lab.results.summary import CAPTIONS, Choice, Paths, varying
from raan.report.content import Paper
from raan.report.measures import (
    NOTHING,
    group_name,
    interval,
    p_value,
    percent,
    settings,
    several,
    signed,
    spread,
    two_places,
    written,
)
from raan.report.reading import Reading, against_others, best, corrected, group_sizes, level, lost, shift
from raan.report.tables import Cell, Table, Tone, table
from raan.report.words import group_changes

PLAIN = "plain training"
"""The row that all methods start from."""

_OUTSIDE = {
    "Boosting": ("nothing", "none", "none", "none"),
    "Logistic": ("nothing", "none", "none", "none"),
    "AANReweighting": ("the training weights and the threshold", "attribute", "attribute", "none"),
    "FairFrontier": ("the decisions", "attribute", "attribute", "none"),
    "Plain + threshold": ("nothing: its threshold is chosen", "none", "none", "none"),
}
"""What is not a network states nothing of itself."""


def key_table(reading: Reading, paper: Paper | None = None) -> Table:
    """All four numbers of every method, the plain training that they start from above them."""
    choices = {PLAIN: reading.start, **reading.chosen}
    winners = {measure: _winners(choices, measure) for measure in MEASURES}
    rows: list[list[Cell]] = [
        [Cell(method), *(_level(choice, measure, method in winners[measure]) for measure in MEASURES)]
        for method, choice in choices.items()
    ]
    header = ["method", *(f"{measure.short} %" for measure in MEASURES)]
    lose = 1 + MEASURES.index(ACCURACY) + 1
    header.insert(lose, "lost (on validation rows)")
    for row, choice in zip(rows, choices.values(), strict=True):
        row.insert(lose, _lost(reading, choice))
    for measure in MEASURES:
        theirs = [in_paper(reading, method, measure, paper or {}) for method in ("", *reading.chosen)]
        if any(theirs):
            beside = header.index(f"{measure.short} %") + 1
            header.insert(beside, f"{measure.short} % in the paper")
            for row, printed in zip(rows, theirs, strict=True):
                row.insert(beside, Cell(printed or NOTHING))
    seeds = _seeds({len(choice.seeds) for choice in reading.chosen.values()})
    regime = f"; {CAPTIONS[reading.regime]}" if reading.regime else ""
    return table(
        f"{reading.name}: test rows, mean ± standard deviation over {seeds}, 95 % interval; lost are points of "
        f"plain training's accuracy{regime}",
        header,
        rows,
    )


def differences_table(reading: Reading) -> Table:
    """Every method against the baseline and against the best of the other methods, paired over seeds.

    Beside each p-value is the one that Holm's rule makes of it: against the baseline for as many tests as there
    are methods held against it, against the best other for as many as there are others that might have been it.
    """
    aim = reading.aim
    header = (
        "method",
        f"{aim.short} against {reading.against}",
        "p (Holm)",
        f"accuracy against {reading.against}",
        "p (Holm)",
        f"{aim.short} against the best other",
        "p (Holm)",
    )
    caption = (
        f"{reading.name}: differences in points, paired over seeds, with 95 % intervals, paired t-tests, and "
        "their p-values corrected for the number of rivals"
    )
    return table(caption, header, map(list, _difference_rows(reading)))


def group_table(reading: Reading) -> Table:
    """The accuracy of every class and attribute value, and its change against the baseline."""
    sizes = group_sizes(reading)
    header = ["method"] + [
        f"{group_name(label, attribute)} ({several(round(sizes[i, j].item()), 'row')})"
        for i, label in enumerate(reading.comparison.classes)
        for j, attribute in enumerate(reading.comparison.attributes)
    ]
    rows = [[Cell(reading.against), *map(Cell, map(percent, reading.baseline.group.mean(0).flatten().tolist()))]]
    for method in reading.rivals:
        reached = reading.chosen[method].group.mean(0).flatten().tolist()
        changes = [change.estimate for _, _, change in group_changes(reading, method)]
        rows.append([Cell(method), *map(_group_cell, reached, changes)])
    return table(
        f"{reading.name}: accuracy of each group in percent, and the change against {reading.against} in points "
        "with its 95 % interval",
        header,
        rows,
    )


def chosen_table(reading: Reading) -> Table:
    """For every method and seed, the configuration and the step that the rule chose, and the threshold."""
    aim, dialled = reading.aim, any(paths.threshold is not None for paths in reading.comparison.methods.values())
    header = (
        *("method", "seed", "configuration", "step", *(["threshold"] if dialled else [])),
        *(f"{aim.short} % (validation)", f"{aim.short} % (test)", "accuracy % (validation)", "accuracy % (test)"),
    )
    rows = [
        [
            method,
            str(seed),
            settings(varying(paths.candidates)[candidate]),
            f"{int(paths.step[point, candidate, number]):,}",
            *([_threshold(paths, (point, candidate, number))] if dialled else []),
            percent(aim.of(choice.validation)[number].item()),
            percent(aim.of(choice.test)[number].item()),
            percent(choice.validation.accuracy[number].item()),
            percent(choice.test.accuracy[number].item()),
        ]
        for method, choice in reading.chosen.items()
        for paths in [reading.comparison.methods[method]]
        for number, (seed, candidate, point) in enumerate(
            zip(choice.seeds, choice.candidate.tolist(), choice.point.tolist(), strict=True)
        )
    ]
    return table(f"{reading.name}: what the rule chose for every seed", header, rows, words=(2,))


def _threshold(paths: Paths, place: tuple[int, int, int]) -> str:
    """The threshold of a point, if it is decided by one."""
    value = math.nan if paths.threshold is None else float(paths.threshold[place])
    return NOTHING if math.isnan(value) else f"{value:.3f}"


def information_table(names: Mapping[str, tuple[str, Mapping[str, Any]]]) -> Table:
    """What each method makes fair, and which knowledge of groups it uses.

    `names` holds for each method as the study calls it the name it has here, and the hyperparameters of a run.
    """
    header = ("method", "makes fair", "in training", "on validation rows", "at prediction")
    rows = [[name, *_information(*known)] for name, known in names.items()]
    return table("What each method makes fair, and the knowledge of groups it uses", header, rows, (1, 2, 3, 4))


def weight_table(entry: Mapping[str, Any]) -> Table:
    """The weights of each class and attribute value."""
    header = ("group", "people", "mean weight", "5 %", "25 %", "median", "75 %", "95 %")
    rows = [
        [
            group_name(cell["class"], cell["attribute"]),
            f"{cell['rows']:,}",
            *(f"{number:.2f}" for number in (cell["mean"], *cell["quantiles"])),
        ]
        for cell in entry["cells"]
    ]
    return table(f"{entry['data']}: the weights that {entry['method']} gave, and their quantiles", header, rows)


def feature_table(entry: Mapping[str, Any]) -> Table:
    """How the tenth of the people with the largest weights differs from all."""
    header = ("feature", "all people", "most up-weighted tenth", "difference (standard deviations)")
    rows = [
        [
            str(feature["feature"]),
            written(float(feature["all"])),
            written(float(feature["upweighted"])),
            f"{feature['difference']:+.2f}".replace("-", "−"),
        ]
        for feature in entry["features"]
    ]
    return table(f"{entry['data']}: means of the features that differ most", header, rows)


def _seeds(counts: set[int]) -> str:
    """`5 seeds`, or `4 to 5 seeds` where some method has fewer."""
    most = several(max(counts), "seed")
    return most if len(counts) == 1 else f"{min(counts)} to {most}"


def _winners(choices: Mapping[str, Choice], measure: Measure) -> list[str]:
    """The rows with the best mean, as it is shown: a tie to the last digit is a tie."""
    gains = {method: measure.gain(level(choice, measure).mean) for method, choice in choices.items()}
    rounded = {method: round(100 * gain, 1) for method, gain in gains.items() if not math.isnan(gain)}
    return [method for method, gain in rounded.items() if gain == max(rounded.values())]


def _level(choice: Choice, measure: Measure, is_best: bool = False) -> Cell:
    reached = level(choice, measure)
    return Cell(spread(reached), interval(reached), best=is_best)


def in_paper(reading: Reading, method: str, measure: Measure, paper: Paper) -> str:
    """Return what the paper prints for the method and this measure, as mean ± deviation, or nothing."""
    printed = paper.get((reading.comparison.data, reading.comparison.style, method, measure.metric))
    return f"{printed[0]:.1f} ± {printed[1]:.1f}" if printed else ""


def _difference_rows(reading: Reading) -> Iterator[list[Cell]]:
    """A row for each method; the baseline is not held against itself."""
    held = {
        measure: {method: shift(reading.chosen[method], reading.baseline, measure) for method in reading.rivals}
        for measure in (reading.aim, ACCURACY)
    }
    for method in reading.chosen:
        row = [Cell(method)]
        for measure, differences in held.items():
            row += _difference(differences, method, measure)
        others = against_others(reading, method)
        yield row + _difference(others, best(reading, tuple(others)), reading.aim, named=True)


def _difference(
    several: Mapping[str, Difference], which: str | None, measure: Measure, named: bool = False
) -> list[Cell]:
    """One of several differences and its p-value, that corrected for their number beside it: two cells."""
    if which is None or which not in several:
        return [Cell(NOTHING), Cell(NOTHING)]
    shown = several[which].estimate
    note = "; ".join(filter(None, (interval(shown, signed), f"against {which}" if named else "")))
    many = len(several) > 1
    return [
        Cell(signed(shown.mean), note, tone=_tone(shown, measure)),
        Cell(p_value(several[which].p_value), p_value(corrected(several)[which]) if many else ""),
    ]


def _lost(reading: Reading, choice: Choice) -> Cell:
    """What the choice loses of plain training's accuracy on test rows, and in brackets on validation rows."""
    if choice is reading.start:
        return Cell(NOTHING)
    on_test, on_validation = (two_places(lost(reading, choice, part).mean) for part in ("test", "validation"))
    return Cell(on_test, on_validation)


def _tone(change: Estimate, measure: Measure) -> Tone:
    """Whether it is a gain or a loss, where the seeds settle that."""
    if not change.significant:
        return ""
    return "gain" if measure.gain(change.mean) > 0 else "loss"


def _group_cell(reached: float, change: Estimate) -> Cell:
    known = "" if math.isnan(change.mean) else signed(change.mean)
    note = "; ".join(filter(None, (known, interval(change, signed))))
    return Cell(percent(reached), note, tone=_tone(change, ACCURACY))


def _information(name: str, recorded: Mapping[str, Any]) -> list[str]:
    """What a method states of itself; of an unknown one, what its runs state."""
    if name in _OUTSIDE:
        return list(_OUTSIDE[name])
    try:
        from raan.methods import METHODS
    except ModuleNotFoundError:  # the methods are on torch, which a reader of results need not have
        return [f"torch is not installed, so known are its settings alone: {settings(recorded)}", *[NOTHING] * 3]
    if name in METHODS:
        use = METHODS[name].group_use
        made_fair = " and ".join(METHODS[name].debiases) or "nothing"
        return [made_fair, *(each or "none" for each in (use.training, use.validation, use.prediction))]
    return [f"not known here; settings: {settings(recorded)}", *[NOTHING] * 3]
