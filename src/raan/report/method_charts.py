"""The interactive figures of a comparison: trade-offs, groups, and the path of training."""

from collections.abc import Mapping
from typing import Any

from raan.fairness.aims import ACCURACY, Measure
from raan.report.charts import Chart, Numbers, bars, categories, category, layout_of, plain, points
from raan.report.measures import interval, name_cell, settings, signed, spread
from raan.report.measures import points as in_points
from raan.report.reading import Reading, aims, course, has_courses, level, trade_off
from raan.report.tables import Table, table
from raan.report.words import group_changes
from raan.results.statistics import estimate
from raan.results.summary import Choice, Paths, varying


def trade_off_charts(reading: Reading, numbers: Numbers) -> list[Chart]:
    """Accuracy against each aim: a line of means over allowances, and every seed's chosen points."""
    return [_trade_off(reading, aim, measure, numbers) for aim, measure in aims()]


def group_chart(reading: Reading, numbers: Numbers) -> Chart:
    """The change of each group's accuracy against the baseline, with its interval."""
    pairs = [name_cell(c, a) for c in reading.comparison.classes for a in reading.comparison.attributes]
    groups = [" · ".join(pair) for pair in pairs]
    data = []
    for method in reading.rivals:
        changes = [change.estimate for _, _, change in group_changes(reading, method)]
        said = [
            f"<b>{plain(method)}</b><br>{plain(group)}<br>{signed(change.mean)} points against "
            f"{plain(reading.against)}<br>95 % interval {interval(change, signed)}"
            for group, change in zip(groups, changes, strict=True)
        ]
        reach = [100 * (change.high - change.mean) for change in changes]
        data.append(
            points(method, [100 * change.mean for change in changes], list(map(category, pairs)), said, numbers)
            | {"error_x": bars(reach, numbers[method]), "orientation": "h", "offsetgroup": plain(method)}
        )
    height = 90 + len(groups) * (26 + 15 * len(reading.rivals))
    layout = layout_of(f"change against {plain(reading.against)} (points)", "", height)
    layout["yaxis"] |= categories(pairs)
    layout["xaxis"] |= {"zeroline": True}
    label = f"Change of each group's accuracy against {reading.against}; the table of groups holds the numbers."
    return Chart("Change of each group's accuracy", label, data, {**layout, "scattermode": "group"})


def path_charts(reading: Reading, numbers: Numbers) -> list[Chart]:
    """Accuracy and the aim along training: means over seeds, and the points that were chosen."""
    if not has_courses(reading):
        return []
    return [_path(reading, measure, numbers) for measure in (reading.aim, ACCURACY)]


def _trade_off(reading: Reading, aim: str, measure: Measure, numbers: Numbers) -> Chart:
    lines = trade_off(reading, aim)
    data: list[dict[str, Any]] = []
    for method, choices in lines.items():
        data.append(_chosen_points(reading.comparison.methods[method], choices, measure, numbers))
    for method, choices in lines.items():
        means = [(level(choice, ACCURACY), level(choice, measure)) for choice in choices.values()]
        said = [
            f"<b>{plain(method)}</b>, mean of {len(choices[allowed].seeds)} seeds<br>"
            f"accuracy {spread(across)} %, {measure.title} {spread(up)} %<br>"
            f"up to {in_points(allowed)} of accuracy may be lost"
            for allowed, (across, up) in zip(choices, means, strict=True)
        ]
        x, y = ([100 * pair[part].mean for pair in means] for part in (0, 1))
        data.append(points(method, x, y, said, numbers) | {"mode": "lines+markers"})
    better = "up and right is better" if measure.more_is_better else "down and right is better"
    title = f"{measure.title[0].upper()}{measure.title[1:]}"
    layout = layout_of("test accuracy (%)", f"{measure.title} (%)", 360)
    label = f"{title} against accuracy for {len(lines)} methods, {better}; the table under it holds the numbers."
    return Chart(f"{title}: {better}", label, data, layout, _trade_off_numbers(reading, measure, lines))


def _trade_off_numbers(reading: Reading, measure: Measure, lines: Mapping[str, Mapping[float, Choice]]) -> Table:
    rows = [
        [method, f"{100 * allowed:g}", spread(level(choice, ACCURACY)), spread(level(choice, measure))]
        for method, choices in lines.items()
        for allowed, choice in choices.items()
    ]
    header = ("method", "may lose (points)", "accuracy %", f"{measure.short} %")
    return table(f"{reading.name}: {measure.title} that each allowance of accuracy buys", header, rows)


def _chosen_points(
    paths: Paths, choices: Mapping[float, Choice], measure: Measure, numbers: Numbers
) -> dict[str, Any]:
    """Every seed's chosen points, each once, with the allowances that it was chosen for."""
    places: dict[tuple[int, int, int], list[float]] = {}
    for allowed, choice in choices.items():
        for place in zip(range(len(paths.seeds)), choice.candidate.tolist(), choice.point.tolist(), strict=True):
            places.setdefault(place, []).append(allowed)
    test = paths.on_test
    x = [100 * test.accuracy[point, candidate, seed].item() for seed, candidate, point in places]
    y = [100 * measure.of(test)[point, candidate, seed].item() for seed, candidate, point in places]
    said = [
        f"{_hover(paths, seed, candidate, point)}<br>accuracy {across:.1f} %, {measure.title} {up:.1f} %"
        f"<br>chosen where up to {', '.join(f'{100 * allowed:g}' for allowed in allowances)} points may be lost"
        for ((seed, candidate, point), allowances), across, up in zip(places.items(), x, y, strict=True)
    ]
    trace = points(paths.method, x, y, said, numbers)
    return trace | {"marker": {**trace["marker"], "size": 5, "opacity": 0.4}}


def _hover(paths: Paths, seed: int, candidate: int, point: int) -> str:
    """A point of a path: method, hyperparameters, seed and step."""
    dials = "<br>".join(
        plain(settings({name: value})) for name, value in varying(paths.candidates)[candidate].items()
    )
    step = int(paths.step[point, candidate, seed])
    return f"<b>{plain(paths.method)}</b>, seed {paths.seeds[seed]}, step {step:,}<br>{dials}"


def _path(reading: Reading, measure: Measure, numbers: Numbers) -> Chart:
    data, rows = [], []
    for method in reading.chosen:
        paths = reading.comparison.methods[method]
        along = course(reading, method, (measure,))
        means = [estimate(values) for values in along.values[measure]]
        said = [
            f"<b>{plain(method)}</b>, mean of {mean.seeds} seeds, step {step:,}<br>"
            f"{measure.title} {spread(mean)} %"
            for step, mean in zip(along.step, means, strict=True)
        ]
        line = points(method, along.step, [100 * mean.mean for mean in means], said, numbers)
        data += [line | {"mode": "lines"}, _chosen_on_path(paths, reading.chosen[method], measure, numbers)]
        shown = range(0, len(means), max(1, len(means) // 5))
        rows += [[method, f"{along.step[point]:,}", spread(means[point])] for point in shown]
    title = f"{measure.title[0].upper()}{measure.title[1:]}"
    label = f"{title} on test rows along training; the table under it holds some of its points."
    header = ("method", "step", f"{measure.short} %")
    numbers_shown = table(f"{reading.name}: {measure.title} along training, test rows", header, rows)
    layout = layout_of("step of the second stage", f"{measure.title} (%)", 340)
    return Chart(title, label, data, layout, numbers_shown)


def _chosen_on_path(paths: Paths, choice: Choice, measure: Measure, numbers: Numbers) -> dict[str, Any]:
    """The chosen point of each seed."""
    places = list(zip(range(len(paths.seeds)), choice.candidate.tolist(), choice.point.tolist(), strict=True))
    x = [int(paths.step[point, candidate, seed]) for seed, candidate, point in places]
    y = [100 * value for value in measure.of(choice.test).tolist()]
    said = [
        f"{_hover(paths, *place)}<br>chosen: {measure.title} {up:.1f} %"
        for place, up in zip(places, y, strict=True)
    ]
    return points(paths.method, x, y, said, numbers)
