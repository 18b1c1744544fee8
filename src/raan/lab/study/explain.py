"""Explain a finished study: which rows are up-weighted, and how well an embedding predicts the attribute.

The runs are those that the rule of the study selected for its first seed.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from math import isinf
from pathlib import Path
from typing import Any, NamedTuple, cast

import numpy as np
from jaxtyping import Float, Int
from sklearn.decomposition import KernelPCA
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import StratifiedKFold, cross_val_score
from sklearn.preprocessing import StandardScaler
from torch import Tensor

from raan.data.table import UNKNOWN, Table
from raan.io.files import write_text
from raan.lab.results.records import Record, explanation_of, format_explanation, parse_explanation, read
from raan.lab.results.summary import comparisons
from raan.lab.study.plan import Pack, candidates, keep_planned
from raan.lab.study.study import Data, Study
from raan.lab.study.training import load_problem, one_thread, train_first_stage, walk_pack
from raan.methods import METHODS, RAAN, Scope
from raan.models.model import Model, outputs
from raan.neighbourhood.balance import Balance
from raan.reweighting.weights import aan_weights
from raan.training.stages import complete

MAX_WEIGHTED, MAX_MAPPED = 5_000, 1_000
"""Rows that are weighted and drawn at most: the first of those given, which a split has in proportion."""

TEMPERATURE = 0.5
QUANTILES = (0.05, 0.25, 0.5, 0.75, 0.95)
FEATURES = 10
"""Number of features listed: those that differ most."""

FOLDS = 5


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
            choice = comparison.chosen[entry.name]
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


# Weights and embeddings of a model.


def describe_weights(
    table: Table,
    embedding: Float[np.ndarray, "row dim"],
    rows: Int[np.ndarray, "row"],
    balance: Balance = "group",
    temperature: float = TEMPERATURE,
    strength: float = 1.0,
    method: str = "RAAN",
) -> dict[str, Any]:
    """Describe the weights that RAAN gives rows in an embedding, by cell and by feature.

    Args:
        table: The table.
        embedding: The embedding of the rows given, in their order, or of the first of them.
        rows: Numbers of rows of the table.
        balance: RAAN's balance.
        temperature: RAAN's temperature.
        strength: RAAN's strength.
        method: The name of the method.

    Returns:
        The settings; for each cell the mean weight and quantiles; and the features in which the tenth of the rows
        with the largest weights differs most from all rows.
    """
    rows, embedding = rows[:MAX_WEIGHTED], embedding[:MAX_WEIGHTED]
    known = np.asarray(table.attribute)[rows] != UNKNOWN
    rows, embedding = rows[known], embedding[known]
    label, attribute = np.asarray(table.label)[rows], np.asarray(table.attribute)[rows]
    weight = aan_weights(embedding, label, attribute, temperature=temperature, balance=balance, strength=strength)
    return {
        "data": table.name,
        "method": method,
        "temperature": temperature,
        "balance": balance,
        "strength": strength,
        "rows": len(rows),
        "cells": _describe_cells(table, label, attribute, weight),
        "features": _describe_features(table, rows, weight),
    }


def map_embedding(
    name: str, table: Table, embedding: Float[np.ndarray, "row dim"], rows: Int[np.ndarray, "row"]
) -> dict[str, Any]:
    """Map an embedding of the rows to two dimensions by kernel PCA, and measure how it separates the attribute."""
    rows, embedding = rows[:MAX_MAPPED], embedding[:MAX_MAPPED].astype(np.float64)
    points = StandardScaler().fit_transform(embedding)
    place = KernelPCA(2, kernel="rbf", eigen_solver="dense").fit_transform(points)
    place = np.pad(place, ((0, 0), (0, 2 - place.shape[1])))  # rows that are all alike have fewer dimensions
    return {
        "data": table.name,
        "name": name,
        "x": place[:, 0].round(4).tolist(),
        "y": place[:, 1].round(4).tolist(),
        "label": np.asarray(table.label)[rows].tolist(),
        "attribute": np.asarray(table.attribute)[rows].tolist(),
        "classes": list(table.class_names),
        "attributes": list(table.attribute_names),
        "separability": measure_separability(points, np.asarray(table.attribute)[rows]),
    }


def measure_separability(points: Float[np.ndarray, "row dim"], attribute: Int[np.ndarray, "row"]) -> float | None:
    """Measure the cross-validated AUC of predicting the attribute from the points; 0.5 is chance, None undefined.

    For more than two values it is the mean over one value against the rest.
    """
    known = attribute != UNKNOWN
    values, count = np.unique(attribute[known], return_counts=True)
    values = values[count >= 2 * FOLDS]
    kept = np.isin(attribute, values)
    if len(values) < 2:
        return None
    scoring = "roc_auc" if len(values) == 2 else "roc_auc_ovr"
    folds = StratifiedKFold(FOLDS, shuffle=True, random_state=0)
    scores = cross_val_score(
        LogisticRegression(max_iter=1000), points[kept], attribute[kept], cv=folds, scoring=scoring
    )
    return round(float(scores.mean()), 4)


def _describe_cells(
    table: Table,
    label: Int[np.ndarray, "row"],
    attribute: Int[np.ndarray, "row"],
    weight: Float[np.ndarray, "row"],
) -> list[dict[str, Any]]:
    """Describe the weights of each cell that has rows."""
    cells = []
    for c, class_name in enumerate(table.class_names):
        for a, attribute_name in enumerate(table.attribute_names):
            here = weight[(label == c) & (attribute == a)]
            if len(here):
                cells.append(
                    {
                        "class": class_name,
                        "attribute": attribute_name,
                        "rows": len(here),
                        "mean": round(float(here.mean()), 4),
                        "quantiles": np.quantile(here, QUANTILES).round(4).tolist(),
                    }
                )
    return cells


def _describe_features(
    table: Table,
    rows: Int[np.ndarray, "row"],
    weight: Float[np.ndarray, "row"],
) -> list[dict[str, Any]]:
    """Describe the named features in which the tenth with the largest weights differs most from all."""
    if not table.feature_names:
        return []
    features = np.asarray(table.features)[rows].astype(np.float64)
    heaviest = np.argsort(-weight, kind="stable")[: max(1, len(rows) // 10)]
    mean, deviation = features.mean(0), features.std(0)
    lifted = features[heaviest].mean(0)
    difference = np.divide(lifted - mean, deviation, out=np.zeros_like(mean), where=deviation > 0)
    return [
        {
            "feature": table.feature_names[number],
            "all": round(float(mean[number]), 4),
            "upweighted": round(float(lifted[number]), 4),
            "difference": round(float(difference[number]), 4),
        }
        for number in np.argsort(-np.abs(difference), kind="stable")[:FEATURES]
    ]
