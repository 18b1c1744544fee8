"""What each balance, temperature and strength of exact weights does to logistic regression, on Adult and MEPS.

`python -m reproduce.balances` fits what results/balances.jsonl does not hold yet, prints the table, and draws
docs/images/which-balance.png. Nothing is tuned: each line is one fit with the weights that it names, at the
estimator's own threshold.
"""

import json
from collections.abc import Iterator, Sequence
from itertools import product
from typing import Any, NamedTuple

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from sklearn.linear_model import LogisticRegression

from raan import aan_weights
from reproduce.reweighting import AIMS, METRICS, ROOT, Rows, Task, load, measure

RESULTS = ROOT / "results" / "balances.jsonl"
FIGURE = ROOT / "docs" / "images" / "which-balance.png"
SEEDS = (0, 1, 2, 3, 4)
DATA = {"adult": "Adult", "meps": "MEPS"}
BALANCES = {"group": "#d97706", "sample": "#059669", "independence": "#2563eb"}
TEMPERATURES = {"inf": "-", "0.5": "--", "0.2": ":"}
STRENGTHS = (0.0, 0.1, 0.25, 0.5, 0.75, 1.0)


class Dials(NamedTuple):
    """What one line of the figure goes by; the temperature is text, since JSON has no word for inf."""

    data: str
    balance: str
    temperature: str


def run() -> None:
    """Fit what is missing, and append a line for each fit."""
    done = {(*_dials(record), record["seed"]) for record in read()}
    for seed, data in product(SEEDS, DATA):
        missing = [dials for dials in _all_dials() if dials.data == data and (*dials, seed) not in done]
        if not missing:
            continue
        train, _, test = load(Task(data, True, "logistic", seed))
        with RESULTS.open("a") as stream:
            for dials in missing:
                stream.writelines(json.dumps(line) + "\n" for line in lines(dials, seed, train, test))


def lines(dials: Dials, seed: int, train: Rows, test: Rows) -> Iterator[dict[str, Any]]:
    """The test metrics at each strength."""
    full = aan_weights(*train, temperature=float(dials.temperature), balance=dials.balance)  # type: ignore[arg-type]
    for strength in STRENGTHS:
        model = LogisticRegression(max_iter=1000)
        model.fit(train.X, train.y, sample_weight=(1 - strength) + strength * full)
        yield dials._asdict() | {"strength": strength, "seed": seed, "test": measure(model.predict, test)}


def read() -> list[dict[str, Any]]:
    """The lines written so far."""
    return [json.loads(line) for line in RESULTS.read_text().splitlines()] if RESULTS.exists() else []


def means(records: Sequence[dict[str, Any]]) -> dict[Dials, np.ndarray]:
    """Per cent, means over the splits: a row for each strength, a column for each metric."""
    return {dials: _curve([r for r in records if _dials(r) == dials]) for dials in _all_dials()}


def table(found: dict[Dials, np.ndarray]) -> None:
    """Print the means."""
    print(f"{'':40s}accuracy  EO (sum)  DP    worst group")
    for dials, curve in found.items():
        for strength, row in zip(STRENGTHS, curve, strict=True):
            name = f"{dials.data} {dials.balance} {dials.temperature} strength {strength:g}"
            print(f"{name:40s}" + "".join(f"{value:8.1f}" for value in row))


def figure(found: dict[Dials, np.ndarray]) -> None:
    """Draw test accuracy against each aim's metric, a curve for each balance and temperature."""
    canvas = Figure(figsize=(12, 7.6), layout="constrained")
    panels = canvas.subplots(len(DATA), len(AIMS))
    for (data, metric), axes in zip(product(DATA, AIMS.values()), panels.flat, strict=True):
        _panel(axes, data, metric, found)
    canvas.suptitle("star: plain; dots: strength 0.1, 0.25, 0.5, 0.75; square: strength 1", fontsize=10)
    canvas.legend(*axes.get_legend_handles_labels(), loc="outside lower center", ncols=3, frameon=False)
    canvas.savefig(FIGURE, dpi=130)


def _panel(axes: Axes, data: str, metric: str, found: dict[Dials, np.ndarray]) -> None:
    for (balance, colour), (temperature, style) in product(BALANCES.items(), TEMPERATURES.items()):
        curve = found[Dials(data, balance, temperature)]
        across, up = curve[:, 0], curve[:, METRICS.index(metric)]
        label = f"{balance}, temperature {temperature}"
        axes.plot(across, up, style, color=colour, marker="o", markersize=3, label=label)
        axes.plot(across[-1], up[-1], "s", color=colour, markersize=6)
    axes.plot(across[0], up[0], "*", color="black", markersize=13, zorder=3)
    axes.set(xlabel="test accuracy (%)", ylabel=f"{metric.replace('_', ' ')} (%)", title=DATA[data])
    axes.spines[["top", "right"]].set_visible(False)
    axes.grid(alpha=0.25)


def _curve(records: Sequence[dict[str, Any]]) -> np.ndarray:
    values = [[[r["test"][m] for m in METRICS] for r in records if r["strength"] == s] for s in STRENGTHS]
    return np.asarray(100 * np.array(values).mean(1))


def _all_dials() -> Iterator[Dials]:
    return (Dials(*each) for each in product(DATA, BALANCES, TEMPERATURES))


def _dials(record: dict[str, Any]) -> Dials:
    return Dials(*(record[name] for name in Dials._fields))


def main() -> None:
    """Run, print and draw."""
    run()
    found = means(read())
    table(found)
    figure(found)


if __name__ == "__main__":
    main()
