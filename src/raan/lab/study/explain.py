"""Explain a finished study: weights and embeddings of the runs that its rule selected for one seed."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from math import isinf
from pathlib import Path
from typing import Any, NamedTuple, cast

import numpy as np
from jaxtyping import Float, Int
from torch import Tensor

from raan.data.table import Table
from raan.io.files import write_text
from raan.lab.results.explanation import (
    MAX_WEIGHTED,
    describe_weights,
    format_explanation,
    map_embedding,
    parse_explanation,
)
from raan.lab.results.records import Record, explanation_of, read
from raan.lab.results.summary import choose, comparisons
from raan.lab.study.plan import Pack, candidates, keep_planned
from raan.lab.study.study import Data, Study
from raan.lab.study.training import load_problem, one_thread, train_first_stage, walk_pack
from raan.methods import METHODS, RAAN, Scope
from raan.models.model import Model, outputs
from raan.training.stages import complete


class _Run(NamedTuple):
    """A run of a method that weights by neighbourhoods, alone in a pack."""

    pack: Pack
    name: str
    method: RAAN
    step: int  # that the rule selected


def explain_results(study: Study, path: str | Path) -> Path | None:
    """Write the explanation of a finished study beside its results, unless it is there already.

    Runs do not keep their models, so that those that are explained are trained once more.

    Returns:
        The file that holds the explanation; None if no method of the study weights by neighbourhoods.
    """
    study, file, records = study.with_runs, explanation_of(Path(path)), keep_planned(read(path), study)
    runs = {data.title: list(_select_runs(study, data, records)) for data in study.data}
    margin = {"margin": study.select.margin, "tie": study.select.tie} if study.select.margin else {}
    made_of = {
        "rule": {"aim": study.select.aim, "accuracy_drop": study.select.accuracy_drop, **margin},
        "runs": [run.pack.runs[0] for several in runs.values() for run in several],
    }
    if not made_of["runs"]:
        return None
    if _is_made_of(file, made_of):
        return file
    weights: list[dict[str, Any]] = []
    maps: list[dict[str, Any]] = []
    with one_thread():
        for title, several in runs.items():
            _explain(title, several, weights, maps)
    write_text(file, format_explanation({"weights": weights, "maps": maps, **made_of}))
    return file


def _is_made_of(file: Path, parts: Mapping[str, Any]) -> bool:
    """Return whether the file explains these runs; a damaged file is written anew."""
    try:
        found = parse_explanation(file.read_bytes())
    except (OSError, ValueError, RecursionError):
        return False
    return bool(parts.items() <= found.items())


def _select_runs(study: Study, data: Data, records: Sequence[Record]) -> Iterator[_Run]:
    """Find the run that the rule selects for every method that weights by neighbourhoods."""
    style, seed = study.styles[0], study.seeds[0]
    here = [record for record in records if (record.data, record.style) == (data.title, style)]
    (comparison,) = comparisons(here, study.select)
    for entry in study.methods:
        if isinstance(METHODS[entry.method], RAAN):
            paths = comparison.methods[entry.name]
            choice = choose(paths, study.select)
            place = choice.seeds.index(seed)
            number, point = choice.candidate[place], choice.point[place]
            chosen, step = paths.candidates[number], int(paths.step[point, number, place])
            (candidate,) = (each for each in candidates(entry, study) if each.hyperparameters == chosen)
            method = cast(RAAN, candidate.method)
            if not isinf(method.temperature):  # without neighbourhoods all rows of a cell weigh the same
                pack = Pack(study.results, data, style, study.first, study.second, (candidate,), (seed,))
                yield _Run(pack, entry.name, method, step)


def _explain(title: str, runs: Sequence[_Run], weights: list[dict[str, Any]], maps: list[dict[str, Any]]) -> None:
    """Add the weights that each method gives the training rows, and maps of test rows in each embedding."""
    mapped = False
    for pack, name, method, step in runs:
        problem = load_problem(pack)
        table = replace(problem.table, name=title)
        train, test = problem.split.train[0], problem.split.test[0]
        model = start = train_first_stage(pack, problem)
        if not mapped:
            maps.append(map_embedding("plain training", table, _embed(model, table, test), test.numpy()))
            mapped = True
        if method.scope is Scope.MODEL:
            state = next(state for state in walk_pack(pack, problem, start) if state.step == step)
            model = complete(start, state.parameters)
            maps.append(map_embedding(name, table, _embed(model, table, test), test.numpy()))
        weights.append(
            describe_weights(
                table,
                _embed(model, table, train),
                train.numpy(),
                balance=method.balance,
                temperature=float(method.temperature),
                strength=float(method.strength),
                method=name,
            )
        )


def _embed(model: Model, table: Table, rows: Int[Tensor, "row"]) -> Float[np.ndarray, "row dim"]:
    """Embed the rows, and no more of them than are explained."""
    embedding: np.ndarray = outputs(model, table, rows[None, :MAX_WEIGHTED]).embedding[0].double().numpy()
    return embedding
