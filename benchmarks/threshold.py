"""The row that Table 2's grids lack: plain training with one threshold for all, on the same splits.

`python -m benchmarks.threshold` trains stage one of `raan study table-2` again and writes a run for each data set
and seed to results/table-2-threshold.jsonl.gz, in the format of a study: the first point is plain training, the
others are thresholds on its probability. So `raan report table-2 results/table-2-threshold.jsonl.gz` chooses among
them by the rule of all other methods. The study's two styles share stage one, and so these runs.

On another processor stage one comes out slightly different from that of the committed runs, whose models were not
kept: what is lost is then counted from theirs, what is allowed on validation rows from its own.
"""

import gzip
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import torch
from torch import Tensor

from raan.data.sets.dataset import Problem
from raan.fairness.counts import Counts, count
from raan.files.write import write_whole
from raan.models.model import Model
from raan.models.outputs import outputs
from raan.results.records import Record, flatten, hash_of, line_of, versions
from raan.study.plan import Pack, packs
from raan.study.study import read_study
from raan.study.training import one_thread, problem_of, start_of

RESULTS = Path(__file__).parents[1] / "results" / "table-2-threshold.jsonl.gz"
METHOD = "Plain + threshold"
THRESHOLDS = np.arange(1, 200) / 200


def main() -> None:
    """Train, count, write."""
    study = read_study("table-2")
    first = {pack.data.title: pack for pack in reversed(packs(study)) if pack.style == study.first.style}
    with one_thread(), TemporaryDirectory() as store, write_whole(RESULTS) as part:
        lines: list[str] = []
        for title in (data.title for data in study.data):
            problem = problem_of(first[title])
            model = start_of(first[title], problem, Path(store))
            for style in study.styles:
                lines += map(line_of, records(first[title], problem, model, style))
        part.write_bytes(gzip.compress("".join(lines).encode(), mtime=0))


def records(pack: Pack, problem: Problem, model: Model, style: str) -> list[Record]:
    """A run for each seed: plain training, then its thresholds."""
    validation, test = (decided(problem, model, rows) for rows in (problem.split.validation, problem.split.test))
    configuration: dict[str, Any] = {**pack.configuration(), "method": METHOD}
    del configuration["second"]
    dials = {"thresholds": len(THRESHOLDS)}
    return [
        Record(
            run=hash_of({**configuration, **dials, "style": style, "seed": seed}),
            study=pack.study,
            data=pack.data.title,
            method=METHOD,
            style=style,
            seed=seed,
            hyperparameters=dials,
            configuration=configuration,
            data_hash=problem.hash,
            versions=versions(),
            classes=problem.table.class_names,
            attributes=problem.table.attribute_names,
            diverged=None,
            step=list(range(1 + len(THRESHOLDS))),
            validation=flatten(validation[:, place]),
            test=flatten(test[:, place]),
        )
        for place, seed in enumerate(pack.seeds)
    ]


def decided(problem: Problem, model: Model, rows: Tensor) -> Counts:
    """The counts of the rows, [point, seed, label, attribute, prediction]: plain training, then each threshold."""
    table = problem.table
    score = torch.softmax(outputs(model, table, rows).logit, dim=-1)[..., 1].numpy()
    predicted = [score > 0.5, *(score > threshold for threshold in THRESHOLDS)]
    label, attribute = table.label[rows].numpy(), table.attribute[rows].numpy()
    return np.stack([count(label, attribute, each.astype(np.int64), 2, table.attributes) for each in predicted])


if __name__ == "__main__":
    main()
