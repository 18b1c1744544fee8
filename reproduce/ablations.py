"""What the paper's appendix prints beside its tables, read off committed runs; what Alg. 3's Adam does at 1e-2.

`python -m reproduce.ablations` writes the tables of docs/ablations.md from results/table-2.jsonl.gz and, where
they are there, results/ablation-gamma.jsonl.gz (RL-RAAN at nine averaging rates) and
results/torch-adam.jsonl.gz.

The ablations are read as the paper has them, "given the accuracy": of all learning rates and points whose accuracy
on validation rows is at least that, the one with the smallest gap there; printed is its gap on test rows.
"""

import json
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from itertools import product
from pathlib import Path
from typing import NamedTuple

import numpy as np

from raan.fairness.metrics import Metrics, metrics
from raan.lab.results.records import Record, read

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs" / "ablations.md"
BEGIN, END = "<!-- {} -->", "<!-- end -->"
ACCURACY = {"adam": 0.853, "sgd": 0.8495}
"""What the paper reads the ablations at, on Adult."""

LEARNERS = ("RAAN", "RL-RAAN")


@cache
def runs_of(name: str) -> list[Record]:
    """The runs of a study; none where there is no file."""
    path = ROOT / "results" / f"{name}.jsonl.gz"
    return read(path) if path.exists() else []


class Reading(NamedTuple):
    """A gap on test rows and the accuracy there, each seed's."""

    gap: np.ndarray
    accuracy: np.ndarray


def given_accuracy(runs: Sequence[Record], least: float, gap: Callable[[Metrics], np.ndarray]) -> Reading:
    """For each seed the smallest gap among points that are accurate enough, both by validation rows."""
    found = []
    for seed in sorted({run.seed for run in runs}):
        own = [run for run in runs if run.seed == seed]
        validation, test = (
            metrics(np.concatenate([run.counts(part) for run in own])) for part in ("validation", "test")
        )
        enough = validation.accuracy >= least
        wish = np.where(enough, gap(validation), np.inf) if enough.any() else -validation.accuracy
        place = int(np.argmin(wish))
        found.append((gap(test)[place], test.accuracy[place]))
    return Reading(*(100 * np.array(each) for each in zip(*found, strict=True)))


def nine_rates() -> list[Record]:
    """The runs of the ablation of gamma: RL-RAAN's own study, and of head-only RAAN what Table 2 has."""
    return [*(run for run in runs_of("table-2") if run.method == "RAAN"), *runs_of("ablation-gamma")]


def ablation(from_runs: Sequence[Record], dial: str, fixed: dict[str, float], style: str) -> Iterator[str]:
    """A table: a row for each value of the dial, gaps of both learners on Adult."""
    runs = [
        run
        for run in from_runs
        if run.data == "adult" and run.style == style and run.method in LEARNERS
        if all(run.hyperparameters[key] == value for key, value in fixed.items())
    ]
    yield f"| {dial.replace('_', ' ')} | " + " | ".join(f"{m}: EO gap | DP gap" for m in LEARNERS) + " |"
    yield "|---" * (1 + 2 * len(LEARNERS)) + "|"
    for value in sorted({run.hyperparameters[dial] for run in runs}):
        cells = [
            _cell([run for run in runs if run.method == method and run.hyperparameters[dial] == value], style, gap)
            for method, gap in product(LEARNERS, GAPS)
        ]
        yield f"| {value:g} | " + " | ".join(cells) + " |"


GAPS: tuple[Callable[[Metrics], np.ndarray], ...] = (
    lambda found: np.asarray(found.equalized_odds_gap),
    lambda found: np.asarray(found.demographic_parity_gap),
)


def _cell(runs: Sequence[Record], style: str, gap: Callable[[Metrics], np.ndarray]) -> str:
    """Mean and standard error of the gap over seeds, and the mean accuracy."""
    if not runs:
        return ""
    reading = given_accuracy(runs, ACCURACY[style], gap)
    error = reading.gap.std(ddof=1) / len(reading.gap) ** 0.5
    return f"{reading.gap.mean():.1f} ± {error:.1f} ({reading.accuracy.mean():.1f})"


def one_class(runs: Sequence[Record]) -> float:
    """The share of runs whose last point gives every test row the same class."""
    return float(np.mean([(run.counts()[-1].sum((0, 1)) > 0).sum() == 1 for run in runs]))


def collapsed() -> Iterator[str]:
    """A table: how many runs end at one class, by learning rate, Adam-style."""
    runs = [run for run in runs_of("table-2") if run.style == "adam" and "learning_rate" in run.hyperparameters]
    rates = sorted({run.hyperparameters["learning_rate"] for run in runs}, reverse=True)
    columns = list(product(("meps", "adult"), rates))
    yield "| | " + " | ".join(f"{data}, {rate:g}" for data, rate in columns) + " |"
    yield "|---" * (1 + len(columns)) + "|"
    for method in dict.fromkeys(run.method for run in runs):
        cells = [
            one_class(
                [r for r in runs if (r.method, r.data, r.hyperparameters["learning_rate"]) == (method, data, rate)]
            )
            for data, rate in columns
        ]
        yield f"| {method} | " + " | ".join(f"{100 * cell:.0f} %" for cell in cells) + " |"


def corrected() -> Iterator[str]:
    """A table: the same settings with Alg. 3's Adam and with torch's, on MEPS."""
    own = runs_of("torch-adam")
    if not own:
        return
    yield "| MEPS | one class at 1e-2: Alg. 3 | torch | worst group (accuracy): Alg. 3 | torch |"
    yield "|---|---|---|---|---|"
    keys = {(run.method, json.dumps(run.hyperparameters, sort_keys=True)) for run in own}
    same = [
        run
        for run in runs_of("table-2")
        if run.data == "meps"
        and run.style == "adam"
        and (run.method, json.dumps(run.hyperparameters, sort_keys=True)) in keys
    ]
    for method in dict.fromkeys(run.method for run in own):
        both = [[run for run in runs if run.method == method] for runs in (same, own)]
        lost = [one_class([run for run in runs if run.hyperparameters["learning_rate"] == 0.01]) for runs in both]
        chosen = [_chosen(runs) for runs in both]
        yield f"| {method} | {100 * lost[0]:.0f} % | {100 * lost[1]:.0f} % | {chosen[0]} | {chosen[1]} |"


def _chosen(runs: Sequence[Record]) -> str:
    """The best worst group within half a point of plain training's accuracy, by validation rows."""
    found = []
    for seed in sorted({run.seed for run in runs}):
        own = [run for run in runs if run.seed == seed]
        validation = metrics(np.concatenate([run.counts("validation") for run in own]))
        test = metrics(np.concatenate([run.counts() for run in own]))
        allowed = validation.accuracy >= metrics(own[0].counts("validation")[0]).accuracy - 0.005 - 1e-9
        place = int(np.argmax(np.where(allowed, validation.worst_group_accuracy, -1)))
        found.append((test.worst_group_accuracy[place], test.accuracy[place]))
    worst, accuracy = 100 * np.array(found).T
    return f"{worst.mean():.1f} ± {worst.std(ddof=1) / len(worst) ** 0.5:.1f} ({accuracy.mean():.1f})"


TABLES: dict[str, Callable[[], Iterator[str]]] = {
    "gamma, adam": lambda: ablation(nine_rates(), "averaging_rate", {"temperature": 0.9}, "adam"),
    "gamma, sgd": lambda: ablation(nine_rates(), "averaging_rate", {"temperature": 0.9}, "sgd"),
    "tau, adam": lambda: ablation(runs_of("table-2"), "temperature", {"averaging_rate": 0.5}, "adam"),
    "one class": collapsed,
    "torch's Adam": corrected,
}


def written() -> str:
    """The page with its tables filled in."""
    text = PAGE.read_text(encoding="utf-8")
    for name, table in TABLES.items():
        before, begin, rest = text.partition(BEGIN.format(name) + "\n")
        if begin:
            text = f"{before}{begin}\n" + "\n".join(table()) + f"\n\n{END}{rest.partition(END)[2]}"
    return text


if __name__ == "__main__":
    PAGE.write_text(written(), encoding="utf-8")
