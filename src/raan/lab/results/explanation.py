"""What the weights and the embeddings look like: who is up-weighted, and how far the attribute can be read off."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from jaxtyping import Float, Int
from sklearn.decomposition import KernelPCA
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import StratifiedKFold, cross_val_score
from sklearn.neighbors import NearestNeighbors
from sklearn.preprocessing import StandardScaler

from raan.reweighting.weights import aan_weights
from raan.tables.preprocess import Standardised

if TYPE_CHECKING:
    from raan.data.table import Table
    from raan.neighbourhood.balance import Balance
    from raan.tables.preprocess import Preprocessing

UNKNOWN = -1
"""The code of an unknown attribute."""

MOST_WEIGHED, MOST_MAPPED = 5_000, 1_000
"""Rows that are weighed at most, and drawn at most: the first of those given, which a split has in proportion."""

TEMPERATURE = 0.5
QUANTILES = (0.05, 0.25, 0.5, 0.75, 0.95)
FEATURES = 10
"""The features that differ most, so many of them."""

FOLDS = 5

NEIGHBOURS = 10
"""The nearest rows whose attribute is compared with a row's own."""


class People(NamedTuple):
    """The rows that are explained, as arrays; the engine's tables have the same names."""

    name: str
    features: Float[np.ndarray, "row feature"]
    label: Int[np.ndarray, "row"]
    attribute: Int[np.ndarray, "row"]
    class_names: tuple[str, ...]
    attribute_names: tuple[str, ...]
    feature_names: tuple[str, ...] = ()


def weights_of(
    people: People | Table,
    embedding: Float[np.ndarray, "row dim"],
    rows: Int[np.ndarray, "row"],
    preprocessing: Preprocessing | None = None,
    balance: Balance = "group",
    temperature: float = TEMPERATURE,
    strength: float = 1.0,
    method: str = "RAAN",
) -> dict[str, Any]:
    """The weights that RAAN gives rows in an embedding: by cell, and by what the up-weighted have in common.

    `embedding` has the rows given, in their order, or the first of them. With the preprocessing, features are in
    the user's units.
    """
    rows, embedding = rows[:MOST_WEIGHED], embedding[:MOST_WEIGHED]
    known = np.asarray(people.attribute)[rows] != UNKNOWN
    rows, embedding = rows[known], embedding[known]
    label, attribute = np.asarray(people.label)[rows], np.asarray(people.attribute)[rows]
    weight = aan_weights(embedding, label, attribute, temperature=temperature, balance=balance, strength=strength)
    return {
        "data": people.name,
        "method": method,
        "temperature": temperature,
        "balance": balance,
        "strength": strength,
        "rows": len(rows),
        "cells": list(_cells(people, label, attribute, weight)),
        "features": _features(people, rows, weight, preprocessing),
    }


def map_of(
    name: str, people: People | Table, embedding: Float[np.ndarray, "row dim"], rows: Int[np.ndarray, "row"]
) -> dict[str, Any]:
    """A map of an embedding in two dimensions by kernel PCA, and how well it predicts the attribute.

    `embedding` has the rows given, in their order.
    """
    rows, embedding = rows[:MOST_MAPPED], embedding[:MOST_MAPPED].astype(np.float64)
    points = StandardScaler().fit_transform(embedding)
    place = KernelPCA(2, kernel="rbf", eigen_solver="dense").fit_transform(points)
    place = np.pad(place, ((0, 0), (0, 2 - place.shape[1])))  # rows that are all alike have fewer dimensions
    return {
        "data": people.name,
        "name": name,
        "x": place[:, 0].round(4).tolist(),
        "y": place[:, 1].round(4).tolist(),
        "label": np.asarray(people.label)[rows].tolist(),
        "attribute": np.asarray(people.attribute)[rows].tolist(),
        "classes": list(people.class_names),
        "attributes": list(people.attribute_names),
        "separability": separability(points, np.asarray(people.attribute)[rows]),
    }


def separability(points: Float[np.ndarray, "row dim"], attribute: Int[np.ndarray, "row"]) -> float | None:
    """The cross-validated AUC of predicting the attribute from the points; 0.5 is chance, None undefined.

    Of more than two values, the mean over one against the rest.
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


def mixing(points: Float[np.ndarray, "row dim"], attribute: Int[np.ndarray, "row"]) -> float | None:
    """How many of a row's ten nearest have another attribute value, against chance: 1 is mixed, 0 is apart.

    Chance is that of two different rows drawn from all. None where fewer than two values are known.
    """
    known = attribute != UNKNOWN
    points, attribute = points[known], attribute[known]
    size = np.unique(attribute, return_counts=True)[1]
    rows = len(attribute)
    if len(size) < 2 or rows <= NEIGHBOURS:
        return None
    nearest = NearestNeighbors(n_neighbors=NEIGHBOURS).fit(points).kneighbors(return_distance=False)  # not itself
    other = (attribute[nearest] != attribute[:, None]).mean()
    chance = 1 - (size * (size - 1)).sum() / (rows * (rows - 1))
    return round(float(other / chance), 4)


def _cells(
    people: People | Table,
    label: Int[np.ndarray, "row"],
    attribute: Int[np.ndarray, "row"],
    weight: Float[np.ndarray, "row"],
) -> Iterator[dict[str, Any]]:
    """The weights of each cell that has rows."""
    for c, class_name in enumerate(people.class_names):
        for a, attribute_name in enumerate(people.attribute_names):
            here = weight[(label == c) & (attribute == a)]
            if len(here):
                yield {
                    "class": class_name,
                    "attribute": attribute_name,
                    "rows": len(here),
                    "mean": round(float(here.mean()), 4),
                    "quantiles": np.quantile(here, QUANTILES).round(4).tolist(),
                }


def _features(
    people: People | Table,
    rows: Int[np.ndarray, "row"],
    weight: Float[np.ndarray, "row"],
    preprocessing: Preprocessing | None,
) -> list[dict[str, Any]]:
    """The named features in which the tenth with the largest weights differ most from all."""
    if not people.feature_names:
        return []
    features = np.asarray(people.features)[rows].astype(np.float64)
    heaviest = np.argsort(-weight, kind="stable")[: max(1, len(rows) // 10)]
    mean, deviation = features.mean(0), features.std(0)
    lifted = features[heaviest].mean(0)
    difference = np.divide(lifted - mean, deviation, out=np.zeros_like(mean), where=deviation > 0)
    centre, unit = _units(people, preprocessing)
    return [
        {
            "feature": people.feature_names[place],
            "all": round(float(centre[place] + unit[place] * mean[place]), 4),
            "upweighted": round(float(centre[place] + unit[place] * lifted[place]), 4),
            "difference": round(float(difference[place]), 4),
        }
        for place in np.argsort(-np.abs(difference), kind="stable")[:FEATURES]
    ]


def _units(people: People | Table, preprocessing: Preprocessing | None) -> tuple[np.ndarray, np.ndarray]:
    """For each feature where its zero is and how large its one is, in the user's units."""
    width = people.features.shape[-1]
    if preprocessing is None:
        return np.zeros(width), np.ones(width)
    centre, unit = np.zeros(width), np.ones(width)
    place = 0
    for encoding in preprocessing.encodings:
        if isinstance(encoding, Standardised):
            centre[place], unit[place] = encoding.mean, encoding.scale
        place += len(encoding.feature_names)
    return centre, unit


def explanation(weights: Sequence[Mapping[str, Any]], maps: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """All of it, as it stands beside a results file."""
    return {"format": 1, "weights": list(weights), "maps": list(maps)}
