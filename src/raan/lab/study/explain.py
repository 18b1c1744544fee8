"""Explain a finished study: the weights and embeddings of its first style and seed, as its rule chose them."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import islice
from math import isinf
from pathlib import Path
from typing import Any, NamedTuple, cast

import numpy as np
from jaxtyping import Float, Int
from torch import Tensor

from raan.data.table import Table
from raan.io.files import scratch, write_text
from raan.lab.datasets.dataset import Problem
from raan.lab.results.explanation import MOST_WEIGHED, explanation, map_of, weights_of
from raan.lab.results.records import Record, explanation_of, read
from raan.lab.results.stated import from_text, to_text
from raan.lab.results.summary import choose, comparisons
from raan.lab.study.plan import Pack, candidates, keep_planned
from raan.lab.study.study import Data, Study
from raan.lab.study.training import one_thread, problem_of, start_of, states
from raan.methods import METHODS, RAAN, Scope
from raan.models.model import Model, outputs
from raan.training.stages import complete


class _Run(NamedTuple):
    """A run of a method that weighs by neighbourhoods, alone in a pack."""

    pack: Pack
    name: str
    method: RAAN
    step: int  # at which the rule took it


def explain_results(study: Study, path: str | Path) -> Path | None:
    """Write the explanation beside a finished study's results, unless it is there; None if no method weighs.

    Runs do not keep their models: those that are explained are trained once more.
    """
    study, file, records = study.carried_out, explanation_of(Path(path)), keep_planned(read(path), study)
    runs = {data.title: list(_weighing(study, data, records)) for data in study.data}
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
    with scratch() as store, one_thread():
        for title, several in runs.items():
            for part, found in zip((weights, maps), _explained(title, several, store), strict=True):
                part.extend(found)
    write_text(file, to_text({**explanation(weights, maps), **made_of}))
    return file


def _is_made_of(file: Path, parts: Mapping[str, Any]) -> bool:
    """Whether the file explains these runs; a damaged one explains nothing, and is written anew."""
    try:
        found = from_text(file.read_bytes())
    except (OSError, ValueError, RecursionError):
        return False
    return bool(parts.items() <= found.items())


def _weighing(study: Study, data: Data, records: Sequence[Record]) -> Iterator[_Run]:
    """For every method that weighs by neighbourhoods the run that the rule chose."""
    style, seed = study.styles[0], study.seeds[0]
    here = [record for record in records if (record.data, record.style) == (data.title, style)]
    (comparison,) = comparisons(here, study.select)
    for entry in study.methods:
        if isinstance(METHODS[entry.method], RAAN):
            paths = comparison.methods[entry.name]
            choice = choose(paths, study.select)
            place = choice.seeds.index(seed)
            number, point = choice.candidate[place], choice.point[place]
            dials, step = paths.candidates[number], int(paths.step[point, number, place])
            (candidate,) = (each for each in candidates(entry, study) if each.hyperparameters == dials)
            method = cast(RAAN, candidate.method)
            if not isinf(method.temperature):  # without neighbourhoods all of a cell weigh the same
                pack = Pack(study.results, data, style, study.first, study.second, (candidate,), (seed,))
                yield _Run(pack, entry.name, method, step)


def _explained(title: str, runs: Sequence[_Run], store: Path) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """The weights that each method gives the training rows, and maps of test rows in each embedding."""
    weights: list[dict[str, Any]] = []
    maps: list[dict[str, Any]] = []
    for pack, name, method, step in runs:
        problem = problem_of(pack)
        table = replace(problem.table, name=title)
        train_rows, test = problem.split.train[0], problem.split.test[0]
        model = start_of(pack, problem, store)
        if not maps:
            maps.append(map_of("plain training", table, _embedded(model, table, test), test.numpy()))
        if method.scope is Scope.MODEL:
            model = _model_at(step, pack, problem, model)
            maps.append(map_of(name, table, _embedded(model, table, test), test.numpy()))
        embedding, temperature = _embedded(model, table, train_rows), float(method.temperature)
        weights.append(
            weights_of(
                table,
                embedding,
                train_rows.numpy(),
                balance=method.balance,
                temperature=temperature,
                strength=float(method.strength),
                method=name,
            )
        )
    return weights, maps


def _model_at(step: int, pack: Pack, problem: Problem, start: Model) -> Model:
    """The model after so many steps of the pack's only run."""
    (state,) = islice((state for state in states(pack, problem, start) if state.step == step), 1)
    return complete(start, state.parameters)


def _embedded(model: Model, table: Table, rows: Int[Tensor, "row"]) -> Float[np.ndarray, "row dim"]:
    """The rows as the model embeds them; no more of them than are looked at."""
    embedding: np.ndarray = outputs(model, table, rows[None, :MOST_WEIGHED]).embedding[0].double().numpy()
    return embedding
