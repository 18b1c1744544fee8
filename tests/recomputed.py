"""The committed runs read again by other code, with json, gzip and numpy alone: nothing of raan is imported."""

import gzip
import json
from functools import cache
from itertools import pairwise
from pathlib import Path

import numpy as np

RESULTS = Path(__file__).parents[1] / "results"
METRICS = ("accuracy", "worst group", "DP gap", "EO gap", "EOpp gap")


@cache
def runs_of(name):
    """The runs of a results file by (data, style, method, seed), in the order of the file."""
    found = {}
    with gzip.open(RESULTS / f"{name}.jsonl.gz", "rt", encoding="utf-8") as lines:
        for run in map(json.loads, lines):
            key = run["data"], run["style"], run["method"], run["seed"]
            parts = (counted(run, part) for part in ("validation", "test"))
            found.setdefault(key, []).append((run, *(measured(part) for part in parts)))
    return found


def counted(run, part):
    """The counts of each point, [label, attribute or unknown, prediction]; of many thresholds only the second
    class's are in the file, for cells that have rows.
    """
    if "cells" not in run:
        return run[part]
    sizes = np.array(run["cells"][part])
    second = np.zeros((len(run[part]), len(sizes)), dtype=int)
    second[:, sizes > 0] = run[part]
    return np.stack([sizes - second, second], axis=-1).reshape(len(second), -1)


def measured(path):
    """The metrics of each point of a path, in percent, from counts [label, attribute or unknown, prediction]."""
    counts = np.array(path, dtype=float)
    counts = counts.reshape(len(counts), 2, -1, 2)
    known = counts[:, :, :-1]
    right = np.stack([known[:, label, :, label] / known[:, label].sum(-1) for label in (0, 1)])
    positive = known[..., 1] / known.sum(-1)
    selected = known[..., 1].sum(1) / known.sum((1, 3))
    apart = [np.ptp(values, axis=1) for values in (selected, positive[:, 0], positive[:, 1])]
    accuracy = (counts[:, 0, :, 0].sum(1) + counts[:, 1, :, 1].sum(1)) / counts.sum((1, 2, 3))
    return 100 * np.stack([accuracy, right.min((0, 2)), apart[0], apart[1] + apart[2], apart[2]], axis=1)


def methods_of(name, data, style):
    """The methods that were run on one data set in one style."""
    return list(dict.fromkeys(method for d, s, method, _ in runs_of(name) if (d, s) == (data, style)))


def seeds_of(name, data, style, method):
    """The seeds that a method was run with."""
    return sorted(seed for d, s, m, seed in runs_of(name) if (d, s, m) == (data, style, method))


def standard_errors(run, validation):
    """The standard error of each point's accuracy less the start's, in percent, over the same validation rows."""
    rows = np.sum(run["cells"]["validation"])
    moved = np.array([sum(cells) for cells in run["switched"]]) / rows
    gained = (validation[:, 0] - validation[0, 0]) / 100
    return 100 * np.sqrt(np.maximum(moved - gained**2, 0) / rows)


def pick(runs, allowed, margin=None):
    """The run and point with the best worst group on validation rows that loses no more; the start if none does.

    Of equally good ones the earliest point, and of those the first configuration. With a margin, so many standard
    errors of the loss are to spare, and of equally good ones the most accurate is taken first.
    """
    best = None
    for number, (run, validation, _) in enumerate(runs):
        spare = 0 if margin is None else margin * standard_errors(run, validation)
        for point in np.flatnonzero(validation[:, 0] - spare >= validation[0, 0] - allowed - 1e-7):
            right = 0 if margin is None else -round(validation[point, 0], 9)
            rank = (-round(validation[point, 1], 9), right, point, number)
            if best is None or rank < best:
                best = rank
    return (best[3], best[2]) if best else (0, 0)


@cache
def chosen(name, data, style, method, allowed=0.5, margin=None):
    """Test metrics, [seed, metric]: what the rule takes for each seed on validation rows."""
    rows = []
    for seed in seeds_of(name, data, style, method):
        runs = runs_of(name)[data, style, method, seed]
        number, point = pick(runs, allowed, margin)
        rows.append(runs[number][2][point])
    return np.array(rows)


@cache
def plain(name, data, style):
    """Test metrics of plain training, where all methods start, [seed, metric]."""
    method = methods_of(name, data, style)[0]
    return np.array(
        [runs_of(name)[data, style, method, seed][0][2][0] for seed in seeds_of(name, data, style, method)]
    )


def configurations(name, data, style, method):
    """The distinct configurations of a method: at temperature inf the averaging rate does nothing."""
    kept = {}
    for number, (run, _, _) in enumerate(runs_of(name)[data, style, method, 0]):
        dials = dict(run["hyperparameters"])
        if dials.get("temperature") == "inf":
            del dials["averaging_rate"]
        kept.setdefault(json.dumps(dials, sort_keys=True), number)
    return list(kept.values())


def with_subsets(name, data, style, method, size, draws=400, allowed=0.5):
    """The worst group with so many configurations, in the mean over seeds and over subsets drawn at random."""
    rng = np.random.default_rng(0)
    numbers = configurations(name, data, style, method)
    best = {}
    for seed in seeds_of(name, data, style, method):
        runs = runs_of(name)[data, style, method, seed]
        for number in numbers:
            point = pick([runs[number]], allowed)[1]
            best[seed, number] = (-runs[number][1][point, 1], point, number, runs[number][2][point, 1])
    means = []
    for _ in range(draws):
        subset = rng.permutation(numbers)[:size]
        means.append(
            np.mean([min(best[seed, n] for n in subset)[3] for seed in seeds_of(name, data, style, method)])
        )
    return float(np.mean(means))


@cache
def spent(name, data, style, method):
    """Accuracy lost and worst group on test rows, in the mean over seeds, for one allowance after the other."""
    curve = []
    for seed in seeds_of(name, data, style, method):
        runs = runs_of(name)[data, style, method, seed]
        points = [
            (validation[0, 0] - validation[point, 0], (-validation[point, 1], point, number), test[point])
            for number, (_, validation, test) in enumerate(runs)
            for point in range(len(validation))
        ]
        points.sort(key=lambda each: each[0])
        row, best, place = [], None, 0
        for allowed in np.arange(-60, 201) / 20:
            while place < len(points) and points[place][0] <= allowed + 1e-7:
                best = points[place] if best is None or points[place][1] < best[1] else best
                place += 1
            reached = runs[0][2][0] if best is None else best[2]
            row.append((runs[0][2][0][0] - reached[0], reached[1]))
        curve.append(row)
    return np.mean(curve, axis=0)


def at_loss(name, data, style, method, loss):
    """The worst group where so much is lost for the first time; None if that never happens."""
    curve = spent(name, data, style, method)
    for (low, below), (high, above) in pairwise(curve):
        if high >= loss:
            return below + (above - below) * (loss - low) / (high - low)
    return None


def table_in(path, heading):
    """The rows of the Markdown table after a line that begins so: {first cell: {column: cell}}."""
    lines = (Path(__file__).parents[1] / path).read_text(encoding="utf-8").split("\n")
    start = next(number for number, line in enumerate(lines) if line.startswith(heading))
    first = next(number for number in range(start + 1, len(lines)) if lines[number].startswith("|"))
    rows = []
    for line in lines[first:]:
        if not line.startswith("|"):
            break
        rows.append([cell.strip().replace("**", "").replace("−", "-") for cell in line.strip("|").split("|")])
    header = rows[0][1:]
    return {row[0]: dict(zip(header, row[1:], strict=True)) for row in rows[2:]}
