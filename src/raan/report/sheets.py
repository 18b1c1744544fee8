"""The tables of a report on a study."""

import math
from collections.abc import Mapping
from typing import Any

from raan.fairness.measures import ACCURACY, MEASURES, Measure
from raan.lab.results.statistics import (
    Difference,
    Estimate,
    against_others,
    best,
    cell_rows,
    corrected,
    group_changes,
    level,
    lost,
    shift,
)
from raan.lab.results.summary import (
    CAPTIONS,
    Choice,
    Comparison,
    Paths,
    count_configurations,
    distinct,
    expected,
    spend,
    varying,
)
from raan.report.content import Paper
from raan.report.tables import (
    NOTHING,
    Cell,
    Table,
    Tone,
    group_name,
    interval,
    p_value,
    percent,
    settings,
    several,
    signed,
    spread,
    table,
    two_places,
    written,
)

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


def key_table(comparison: Comparison, paper: Paper | None = None) -> Table:
    """Tabulate all measures of every method, and of the plain training that all start from.

    Args:
        comparison: The comparison and what its rule selected.
        paper: The paper's own figures, which get columns beside ours.
    """
    choices = {PLAIN: comparison.start, **comparison.chosen}
    header, columns = ["method"], [[Cell(method) for method in choices]]
    for measure in MEASURES:
        levels = {method: level(choice, measure) for method, choice in choices.items()}
        # A tie to the last digit that is shown is a tie.
        gains = {method: round(100 * measure.gain(each.mean), 1) for method, each in levels.items()}
        best_gain = max((gain for gain in gains.values() if not math.isnan(gain)), default=math.nan)
        header.append(f"{measure.short} %")
        columns.append(
            [
                Cell(spread(each), interval(each), best=gains[method] == best_gain)
                for method, each in levels.items()
            ]
        )
        printed = [in_paper(comparison, method, measure, paper or {}) for method in ("", *comparison.chosen)]
        if any(printed):
            header.append(f"{measure.short} % in the paper")
            columns.append([Cell(each or NOTHING) for each in printed])
        if measure == ACCURACY:
            header.append("lost (on validation rows)")
            columns.append([_lost(comparison, choice) for choice in choices.values()])
    counts = {len(choice.seeds) for choice in comparison.chosen.values()}
    seeds = several(max(counts), "seed")
    seeds = seeds if len(counts) == 1 else f"{min(counts)} to {seeds}"
    return table(
        f"{comparison.name}: test rows, mean ± standard deviation over {seeds}, 95 % interval; lost are points of "
        f"plain training's accuracy{_caption(comparison)}",
        header,
        zip(*columns, strict=True),
    )


def differences_table(comparison: Comparison) -> Table:
    """Tabulate every method against the baseline and against the best other method, paired over seeds.

    Beside each p-value is the one corrected by Holm's rule: against the baseline for the number of methods,
    against the best other method for the number of others.
    """
    aim = comparison.aim
    held = {
        measure: {
            method: shift(comparison.chosen[method], comparison.baseline, measure) for method in comparison.others
        }
        for measure in (aim, ACCURACY)
    }
    rows = []
    for method in comparison.chosen:
        row = [Cell(method)]
        for measure, differences in held.items():
            row += _difference(differences, method, measure)
        others = against_others(comparison, method)
        rows.append(row + _difference(others, best(comparison, tuple(others)), aim, named=True))
    header = (
        "method",
        f"{aim.short} against {comparison.against}",
        "p (Holm)",
        f"accuracy against {comparison.against}",
        "p (Holm)",
        f"{aim.short} against the best other",
        "p (Holm)",
    )
    caption = (
        f"{comparison.name}: differences in points, paired over seeds, with 95 % intervals, paired t-tests, and "
        "their p-values corrected for the number of rivals"
    )
    return table(caption, header, rows)


def group_table(comparison: Comparison) -> Table:
    """Return the accuracy of every class and attribute value, and its change against the baseline."""
    sizes = cell_rows(comparison, "test").mean(0)
    header = ["method"] + [
        f"{group_name(label, attribute)} ({several(round(sizes[i, j].item()), 'row')})"
        for i, label in enumerate(comparison.classes)
        for j, attribute in enumerate(comparison.attributes)
    ]
    rows = [
        [Cell(comparison.against), *map(Cell, map(percent, comparison.baseline.group.mean(0).flatten().tolist()))]
    ]
    for method in comparison.others:
        reached = comparison.chosen[method].group.mean(0).flatten().tolist()
        changes = [change.estimate for _, _, change in group_changes(comparison, method)]
        rows.append([Cell(method), *map(_group_cell, reached, changes)])
    return table(
        f"{comparison.name}: accuracy of each group in percent, and the change against {comparison.against} in "
        "points with its 95 % interval",
        header,
        rows,
    )


def chosen_table(comparison: Comparison) -> Table:
    """For every method and seed, the configuration and the step that the rule chose, and the threshold."""
    aim, with_threshold = (
        comparison.aim,
        any(paths.threshold is not None for paths in comparison.methods.values()),
    )
    header = (
        *("method", "seed", "configuration", "step", *(["threshold"] if with_threshold else [])),
        *(f"{aim.short} % (validation)", f"{aim.short} % (test)", "accuracy % (validation)", "accuracy % (test)"),
    )
    rows = [
        [
            method,
            str(seed),
            settings(varying(paths.candidates)[candidate]),
            f"{int(paths.step[point, candidate, number]):,}",
            *([_threshold(paths, (point, candidate, number))] if with_threshold else []),
            percent(aim.of(choice.validation)[number].item()),
            percent(aim.of(choice.test)[number].item()),
            percent(choice.validation.accuracy[number].item()),
            percent(choice.test.accuracy[number].item()),
        ]
        for method, choice in comparison.chosen.items()
        for paths in [comparison.methods[method]]
        for number, (seed, candidate, point) in enumerate(
            zip(choice.seeds, choice.candidate.tolist(), choice.point.tolist(), strict=True)
        )
    ]
    return table(f"{comparison.name}: what the rule chose for every seed", header, rows, words=(2,))


def _threshold(paths: Paths, place: tuple[int, int, int]) -> str:
    """Return the threshold of a point, if it is decided by one."""
    value = math.nan if paths.threshold is None else float(paths.threshold[place])
    return NOTHING if math.isnan(value) else f"{value:.3f}"


def information_table(names: Mapping[str, tuple[str, Mapping[str, Any]]]) -> Table:
    """Return what each method makes fair, and which knowledge of groups it uses.

    `names` holds for each method as the study calls it the name it has here, and the hyperparameters of a run.
    """
    header = ("method", "makes fair", "in training", "on validation rows", "at prediction")
    rows = [[name, *_information(*known)] for name, known in names.items()]
    return table("What each method makes fair, and the knowledge of groups it uses", header, rows, (1, 2, 3, 4))


def weight_table(entry: Mapping[str, Any]) -> Table:
    """Return the weights of each class and attribute value."""
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
    """Return how the tenth of the people with the largest weights differs from all."""
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


def in_paper(comparison: Comparison, method: str, measure: Measure, paper: Paper) -> str:
    """Return what the paper prints for the method and this measure, as mean ± deviation, or nothing."""
    printed = paper.get((comparison.data, comparison.style, method, measure.metric))
    return f"{printed[0]:.1f} ± {printed[1]:.1f}" if printed else ""


def _difference(
    several: Mapping[str, Difference], which: str | None, measure: Measure, named: bool = False
) -> list[Cell]:
    """Return one of several differences and its p-value, that corrected for their number beside it: two cells."""
    if which is None or which not in several:
        return [Cell(NOTHING), Cell(NOTHING)]
    shown = several[which].estimate
    note = "; ".join(filter(None, (interval(shown, signed), f"against {which}" if named else "")))
    many = len(several) > 1
    return [
        Cell(signed(shown.mean), note, tone=_tone(shown, measure)),
        Cell(p_value(several[which].p_value), p_value(corrected(several)[which]) if many else ""),
    ]


def _lost(comparison: Comparison, choice: Choice) -> Cell:
    """What the choice loses of plain training's accuracy on test rows, and in brackets on validation rows."""
    if choice is comparison.start:
        return Cell(NOTHING)
    on_test, on_validation = (two_places(lost(comparison, choice, part).mean) for part in ("test", "validation"))
    return Cell(on_test, on_validation)


def _tone(change: Estimate, measure: Measure) -> Tone:
    """Return whether it is a gain or a loss, where the seeds settle that."""
    if not change.significant:
        return ""
    return "gain" if measure.gain(change.mean) > 0 else "loss"


def _group_cell(reached: float, change: Estimate) -> Cell:
    known = "" if math.isnan(change.mean) else signed(change.mean)
    note = "; ".join(filter(None, (known, interval(change, signed))))
    return Cell(percent(reached), note, tone=_tone(change, ACCURACY))


def _information(name: str, recorded: Mapping[str, Any]) -> list[str]:
    """Return what a method states of itself; of an unknown one, what its runs state."""
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


SIZES = (3, 9, 15)
"""Numbers of configurations that a method might have had."""

LOSSES = (0.005, 0.01, 0.02)
"""Accuracy really lost, at which methods are held side by side."""


def budget_table(comparison: Comparison) -> Table:
    """Tabulate the number of configurations of every method, the values tried, and how its runs ended."""
    rows: list[list[Cell | str]] = []
    for method, paths in comparison.methods.items():
        many = len(distinct(paths.candidates))
        repeated = len(paths.candidates) - many
        tried = settings(paths.candidates[0])
        if len(paths.candidates) > 1:
            values: dict[str, dict[str, None]] = {}  # of each hyperparameter, in the order of the candidates
            for name in (name for candidate in varying(paths.candidates) for name in candidate):
                values[name] = dict.fromkeys(written(each.get(name, NOTHING)) for each in paths.candidates)
            tried = "; ".join(f"{name}: {', '.join(each)}" for name, each in values.items())
        given = Cell(str(many), f"and {repeated} that repeat them" if repeated else "")
        rows.append([method, given, str(len(paths.seeds)), str(paths.diverged), tried])
    header = ("method", "configurations", "seeds", "diverged", "values tried")
    return table(f"{comparison.name}: the budget of every method", header, rows, words=(4,))


def subset_table(comparison: Comparison) -> Table | None:
    """Tabulate what methods would have reached with fewer configurations; None if all had as many, or too few."""
    given = count_configurations(comparison)
    sizes = [size for size in SIZES if size <= max(given.values())]
    rule, aim = comparison.rule, comparison.aim
    if len({*given.values()}) == 1 or not sizes or rule.aim is None:
        return None
    rows: list[list[Cell | str]] = []
    for method, paths in comparison.methods.items():
        reached = (
            percent(expected(paths, rule, aim, size)) if size <= given[method] else NOTHING for size in sizes
        )
        everything = Cell(percent(level(comparison.chosen[method], aim).mean), str(given[method]))
        rows.append([method, *reached, everything])
    return table(
        f"{comparison.name}: {aim.short} in percent with so many configurations to choose from, the mean "
        f"over all subsets of a method's distinct ones{_caption(comparison)}",
        ("method", *(f"{size} configurations" for size in sizes), "all"),
        rows,
    )


def loss_table(comparison: Comparison) -> Table | None:
    """Tabulate the aim where so much accuracy is really lost; None if the rule has no accuracy budget."""
    rule = comparison.rule
    if rule.aim is None or rule.accuracy_drop >= 1:
        return None
    rows: list[list[Cell | str]] = []
    for method, paths in comparison.methods.items():
        curve = spend(paths, rule, comparison.aim)
        most = int(curve.lost.argmax())
        end = Cell(two_places(curve.lost[most].item()), percent(curve.reached[most].item()))
        rows.append([method, *(percent(curve.at(loss)) for loss in LOSSES), end])
    return table(
        f"{comparison.name}: {comparison.aim.short} in percent at so many points of accuracy lost on test rows, "
        f"in the mean over seeds, as the allowance on validation rows grows{_caption(comparison)}",
        ("method", *(f"{100 * loss:g} lost" for loss in LOSSES), "the most that is lost"),
        rows,
    )


def _caption(comparison: Comparison) -> str:
    """Return what captions add about the attribute, if that is known."""
    return f"; {CAPTIONS[comparison.attribute_use]}" if comparison.attribute_use else ""
