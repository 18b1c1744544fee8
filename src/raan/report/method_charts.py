"""The figures of a comparison: trade-offs, groups, the path of training, weights and maps of embeddings."""

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from raan.fairness.measures import ACCURACY, AIMS, Measure
from raan.fairness.rule import BUDGETS, Rule
from raan.lab.results.statistics import estimate, group_changes, level
from raan.lab.results.summary import Choice, Comparison, Paths, choose, varying
from raan.report.charts import INK, Canvas, Chart, Key, Numbers, hue, marker, range_of
from raan.report.tables import Table, group_name, interval, name_cell, settings, signed, spread, table
from raan.report.tables import points as in_points

MOST_POINTS = 1500
"""Of a map: more would hide each other, and swell the page."""


def trade_off_charts(comparison: Comparison, numbers: Numbers) -> list[Chart]:
    """Accuracy against each aim: a line of means over budgets, and every seed's chosen points."""
    return [_trade_off(comparison, aim, measure, numbers) for aim, measure in AIMS.items()]


def _trade_off(comparison: Comparison, aim: str, measure: Measure, numbers: Numbers) -> Chart:
    lines = _within_budgets(comparison, aim)
    seeds = {method: _seed_points(comparison.methods[method], lines[method], measure) for method in lines}
    means = {
        method: [(level(choice, ACCURACY), level(choice, measure)) for choice in choices.values()]
        for method, choices in lines.items()
    }
    every = [(x, y) for each in seeds.values() for x, y, _ in each]
    every += [(100 * across.mean, 100 * up.mean) for each in means.values() for across, up in each]
    x, y = (range_of([point[axis] for point in every]) for axis in (0, 1))
    canvas = Canvas(x, y, ("test accuracy (%)", f"{measure.title} (%)"), height=360)
    for method, points in seeds.items():
        number = numbers[method]
        for across, up, hint in points:
            canvas.mark(
                *(across, up, hue(number)), shape=marker(number), size=3, opacity=0.4, hint=hint, group=number
            )
    for method, choices in lines.items():
        number = numbers[method]
        places = [(100 * right.mean, 100 * aimed.mean) for right, aimed in means[method]]
        canvas.line(places, hue(number), group=number)
        for (allowed, choice), (right, aimed), place in zip(choices.items(), means[method], places, strict=True):
            hint = (
                f"{method}, mean of {len(choice.seeds)} seeds\naccuracy {spread(right)} %, {measure.title} "
                f"{spread(aimed)} %\nup to {in_points(allowed)} of accuracy may be lost"
            )
            canvas.mark(*place, hue(number), shape=marker(number), size=4.5, hint=hint, group=number)
    better = "up and right is better" if measure.more_is_better else "down and right is better"
    title = f"{measure.title[0].upper()}{measure.title[1:]}"
    label = f"{title} against accuracy for {len(lines)} methods, {better}; the table under it holds the numbers."
    sheet = _trade_off_numbers(comparison, measure, lines)
    return Chart(f"{title}: {better}", label, canvas.svg(), sheet, _keys(lines, numbers), buttons=True)


def _within_budgets(comparison: Comparison, aim: str) -> dict[str, dict[float, Choice]]:
    """Return what each method reaches for an aim with each accuracy budget, the rule's own among them."""
    given = comparison.rule
    rule, own = (Rule(), set()) if given.aim is None else (given, {given.accuracy_drop})
    rules = {budget: replace(rule, aim=aim, accuracy_drop=budget) for budget in sorted({*BUDGETS, *own})}
    return {
        method: {budget: choose(paths, each) for budget, each in rules.items()}
        for method, paths in comparison.methods.items()
    }


def _trade_off_numbers(
    comparison: Comparison, measure: Measure, lines: Mapping[str, Mapping[float, Choice]]
) -> Table:
    rows = [
        [method, f"{100 * allowed:g}", spread(level(choice, ACCURACY)), spread(level(choice, measure))]
        for method, choices in lines.items()
        for allowed, choice in choices.items()
    ]
    header = ("method", "may lose (points)", "accuracy %", f"{measure.short} %")
    return table(f"{comparison.name}: {measure.title} within each accuracy budget", header, rows)


def _seed_points(
    paths: Paths, choices: Mapping[float, Choice], measure: Measure
) -> list[tuple[float, float, str]]:
    """Return every seed's chosen points, each once, with the budgets that it was chosen for."""
    places: dict[tuple[int, int, int], list[float]] = {}
    for allowed, choice in choices.items():
        for place in zip(range(len(paths.seeds)), choice.candidate.tolist(), choice.point.tolist(), strict=True):
            places.setdefault(place, []).append(allowed)
    test, found = paths.on_test, []
    for (seed, candidate, point), budgets in places.items():
        x, y = (100 * each[point, candidate, seed].item() for each in (test.accuracy, measure.of(test)))
        within = ", ".join(f"{100 * allowed:g}" for allowed in budgets)
        hint = f"{_hint(paths, seed, candidate, point)}\nchosen where up to {within} points may be lost"
        found.append((x, y, hint))
    return found


def _hint(paths: Paths, seed: int, candidate: int, point: int) -> str:
    """Return a point of a path: method, hyperparameters, seed and step."""
    step = int(paths.step[point, candidate, seed])
    tried = settings(varying(paths.candidates)[candidate])
    return f"{paths.method}, seed {paths.seeds[seed]}, step {step:,}\n{tried}"


def _keys(methods: Iterable[str], numbers: Numbers) -> list[Key]:
    return [(name, hue(numbers[name]), marker(numbers[name]), False) for name in methods]


def group_chart(comparison: Comparison, numbers: Numbers) -> Chart:
    """Return the change of each group's accuracy against the baseline, with its interval."""
    pairs = [name_cell(c, a) for c in comparison.classes for a in comparison.attributes]
    changes = {
        method: [change.estimate for _, _, change in group_changes(comparison, method)]
        for method in comparison.others
    }
    ends = [100 * end for each in changes.values() for c in each for end in (c.mean, c.low, c.high)]
    height = 70 + len(pairs) * (20 + 12 * len(comparison.others))
    titles = (f"change against {comparison.against} (points)", "")
    canvas = Canvas(range_of([*ends, 0]), (-0.5, len(pairs) - 0.5), titles, height=height, names=pairs)
    for place, (method, of_groups) in enumerate(changes.items()):
        shift = 0.8 * ((place + 0.5) / len(changes) - 0.5)
        for row, (pair, change) in enumerate(zip(pairs, of_groups, strict=True)):
            hint = f"{method}\n{' · '.join(pair)}: {signed(change.mean)} points, 95 % {interval(change, signed)}"
            reach = [(100 * end, row + shift) for end in (change.low, change.high)]
            canvas.line(reach, hue(numbers[method]), width=1.5, group=numbers[method])
            canvas.mark(
                *(100 * change.mean, row + shift, hue(numbers[method])),
                shape=marker(numbers[method]),
                hint=hint,
                group=numbers[method],
                size=4,
            )
    label = f"Change of each group's accuracy against {comparison.against}; the table of groups holds the numbers."
    keys = _keys(changes, numbers)
    return Chart("Change of each group's accuracy", label, canvas.svg(), keys=keys, buttons=True)


def path_charts(comparison: Comparison, numbers: Numbers) -> list[Chart]:
    """Accuracy and the aim along training: means over seeds, and the points that were chosen."""
    if any(record.threshold for record in comparison.records):  # they keep some of their points only
        return []
    return [_path(comparison, measure, numbers) for measure in (comparison.aim, ACCURACY)]


def _path(comparison: Comparison, measure: Measure, numbers: Numbers) -> Chart:
    lines, chosen, rows = {}, {}, []
    for method in comparison.chosen:
        # For each seed the path of the candidate that was chosen for it, as far as all seeds went.
        paths, candidate = comparison.methods[method], comparison.chosen[method].candidate
        seed = np.arange(len(paths.seeds))
        length = int(paths.length[candidate, seed].min())
        steps = paths.step[:length, candidate[0], 0].tolist()
        means = [estimate(values) for values in measure.of(paths.on_test)[:length, candidate, seed]]
        lines[method] = [(float(step), 100 * mean.mean) for step, mean in zip(steps, means, strict=True)]
        chosen[method] = _chosen_on_path(paths, comparison.chosen[method], measure)
        shown = range(0, len(means), max(1, len(means) // 5))
        rows += [[method, f"{steps[point]:,}", spread(means[point])] for point in shown]
    every = [place for each in lines.values() for place in each]
    every += [(x, y) for each in chosen.values() for x, y, _ in each]
    x, y = (range_of([place[axis] for place in every]) for axis in (0, 1))
    canvas = Canvas(x, y, ("step of the second stage", f"{measure.title} (%)"))
    for method, line in lines.items():
        canvas.line(line, hue(numbers[method]), group=numbers[method])
    for method, points in chosen.items():
        for across, up, hint in points:
            canvas.mark(
                *(across, up, hue(numbers[method])),
                shape=marker(numbers[method]),
                hint=hint,
                group=numbers[method],
            )
    title = f"{measure.title[0].upper()}{measure.title[1:]}"
    label = f"{title} on test rows along training; the table under it holds some of its points."
    sheet = table(
        f"{comparison.name}: {measure.title} along training, test rows",
        ("method", "step", f"{measure.short} %"),
        rows,
    )
    return Chart(title, label, canvas.svg(), sheet, _keys(lines, numbers), buttons=True)


def _chosen_on_path(paths: Paths, choice: Choice, measure: Measure) -> list[tuple[float, float, str]]:
    """Return the chosen point of each seed."""
    places = zip(range(len(paths.seeds)), choice.candidate.tolist(), choice.point.tolist(), strict=True)
    return [
        (float(paths.step[point, candidate, seed]), 100 * up, f"{_hint(paths, seed, candidate, point)}\nchosen")
        for (seed, candidate, point), up in zip(places, measure.of(choice.test).tolist(), strict=True)
    ]


def weight_chart(entry: Mapping[str, Any]) -> Chart:
    """Return the weights of each class and attribute value, as boxes between their quantiles."""
    cells = entry["cells"]
    names = [name_cell(cell["class"], cell["attribute"]) for cell in cells]
    ends = range_of([*(value for cell in cells for value in (*cell["quantiles"], cell["mean"])), 0])
    titles = ("weight (1 is the average person's)", "")
    canvas = Canvas(ends, (-0.5, len(cells) - 0.5), titles, height=70 + 44 * len(cells), names=names)
    for row, cell in enumerate(cells):
        low, first, median, third, high = cell["quantiles"]
        canvas.line([(low, row), (high, row)], hue(1), width=1.5)
        canvas.bar((first, third), row, hue(1), thick=18, hint=f"median {median:.2f}, mean {cell['mean']:.2f}")
        canvas.mark(cell["mean"], row, INK, shape=2, size=4)
    label = (
        "Weights of each group: boxes from the 25 % to the 75 % quantile, lines to 5 % and 95 %, diamonds: means."
    )
    return Chart("Weights of each group", label, canvas.svg())


def feature_chart(entry: Mapping[str, Any]) -> Chart:
    """Return how the most up-weighted people differ from all, feature by feature."""
    features = entry["features"]
    shifts = [feature["difference"] for feature in features]
    canvas = Canvas(
        range_of([*shifts, 0]),
        (-0.5, len(features) - 0.5),
        ("difference in standard deviations", ""),
        height=70 + 26 * len(features),
        names=[(str(feature["feature"]),) for feature in features],
    )
    for row, (feature, shift) in enumerate(zip(features, shifts, strict=True)):
        hint = f"all people {feature['all']:.4g}\nmost up-weighted tenth {feature['upweighted']:.4g}"
        canvas.bar((0, shift), row, hue(2) if shift > 0 else hue(1), thick=14, hint=hint)
    label = (
        "How the tenth of people with the largest weights differs from all people; the table holds the numbers."
    )
    return Chart("Who the most up-weighted people are", label, canvas.svg())


def map_chart(entry: Mapping[str, Any]) -> Chart:
    """Return the embedding in the plane: colours are the attribute, shapes the class."""
    every = max(1, -(-len(entry["x"]) // MOST_POINTS))
    canvas = Canvas(range_of(entry["x"]), range_of(entry["y"]), height=380, ticked=False)
    keys = []
    for i, of_class in enumerate(entry["classes"]):
        for j, of_attribute in enumerate(entry["attributes"]):
            shape, hollow = (0, 3, 1, 2)[i % 4], i == 0
            keys.append((group_name(of_class, of_attribute), hue(j + 1), shape, hollow))
            for row in range(0, len(entry["x"]), every):
                if (entry["label"][row], entry["attribute"][row]) == (i, j):
                    canvas.mark(
                        *(entry["x"][row], entry["y"][row], hue(j + 1)),
                        shape=shape,
                        size=2.5,
                        opacity=0.65,
                        hollow=hollow,
                    )
    return Chart(entry["name"], separability_in_words(entry), canvas.svg(), keys=keys)


def separability_in_words(entry: Mapping[str, Any]) -> str:
    """Return how well an embedding predicts the attribute."""
    reached = entry["separability"]
    shown = "undefined" if reached is None else f"{reached:.2f}"
    return f"{entry['name']}: the AUC of telling the attribute from the embedding is {shown}."
