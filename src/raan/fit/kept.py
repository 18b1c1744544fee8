"""What `raan choose` needs beside the model: how every point fares on test rows, and the facts. No row is in it
but for some test rows' probabilities, and reading it runs no code.
"""

import json
from collections.abc import Sequence
from dataclasses import asdict, fields
from pathlib import Path
from typing import Any

import numpy as np

from raan.files.archive import check_archive
from raan.files.folder import CorruptModel, blame
from raan.fit.inspect import GroupScores, Probe
from raan.fit.outcome import Facts, Outcome
from raan.frontier.estimator import FairFrontier

FILE = "trade-off.npz"


def keep(outcome: Outcome, folder: Path) -> None:
    """Write the file into a folder."""
    probe = outcome.probe
    words = {
        "facts": asdict(outcome.facts),
        "scores": {who: [_curves(each) for each in several] for who, several in outcome.scores.items()},
        "columns": probe.columns,
    }
    np.savez_compressed(
        folder / FILE,
        words=np.array(json.dumps(words, ensure_ascii=False)),
        test=outcome.test.astype(np.int64),
        switched=outcome.switched.astype(np.int64),
        label=probe.label,
        group=probe.group,
        posterior=probe.posterior,
    )


def _curves(scores: GroupScores) -> list[Any]:
    return [scores.group, scores.roc.round(5).tolist(), scores.calibration.round(5).tolist()]


def recall(folder: Path, frontier: FairFrontier) -> Outcome:
    """The outcome that was kept, of the trade-off that was saved with the model."""
    file = folder / FILE
    with blame(file):
        check_archive(file)
    with blame(file), np.load(file, allow_pickle=False) as stored:
        words = json.loads(str(stored["words"]))
        test, switched = (stored[name].astype(np.float64) for name in ("test", "switched"))
        probe = Probe(tuple(map(str, words["columns"])), stored["label"], stored["group"], stored["posterior"])
        scores = {who: _scores(several) for who, several in words["scores"].items()}
        facts = _facts(words["facts"])
        expected = frontier.frontier_.counts.shape
        if test.shape != expected or switched.shape != expected[:-1]:
            raise CorruptModel(f"{file} has {test.shape} counts where the model has {expected}")
    return Outcome(facts, frontier, test, switched, scores, probe)


def _facts(stored: dict[str, Any]) -> Facts:
    """The facts, lists as tuples again."""
    values: dict[str, Any] = {field.name: stored[field.name] for field in fields(Facts)}
    values["cells"] = tuple(tuple(row) for row in values["cells"])
    again: dict[str, Any] = {
        name: tuple(each) if isinstance(each, list) else each for name, each in values.items()
    }
    return Facts(**again)


def _scores(several: Sequence[Any]) -> tuple[GroupScores, ...]:
    return tuple(
        GroupScores(str(group), np.asarray(roc, float).reshape(-1, 2), np.asarray(bins, float).reshape(-1, 2))
        for group, roc, bins in several
    )
