"""Explain weights and embeddings: which rows are up-weighted, and how well an embedding predicts the attribute."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
from jaxtyping import Float, Int
from sklearn.decomposition import KernelPCA
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import StratifiedKFold, cross_val_score
from sklearn.neighbors import NearestNeighbors
from sklearn.preprocessing import StandardScaler

from raan.io.files import digest
from raan.lab.results.records import check_shape
from raan.reweighting.weights import aan_weights

if TYPE_CHECKING:
    from raan.data.table import Table
    from raan.neighbourhood.balance import Balance

UNKNOWN = -1
"""The code of an unknown attribute."""

MAX_WEIGHTED, MAX_MAPPED = 5_000, 1_000
"""Rows that are weighted and drawn at most: the first of those given, which a split has in proportion."""

TEMPERATURE = 0.5
QUANTILES = (0.05, 0.25, 0.5, 0.75, 0.95)
FEATURES = 10
"""Number of features listed: those that differ most."""

FOLDS = 5

NEIGHBOURS = 10
"""Number of nearest rows whose attribute is compared with a row's own."""


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


def measure_mixing(points: Float[np.ndarray, "row dim"], attribute: Int[np.ndarray, "row"]) -> float | None:
    """Measure how many of a row's ten nearest rows have another attribute value, relative to chance.

    1 is mixed and 0 is separate. Chance is that of two different rows drawn from all. The result is None where
    fewer than two values are known.
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


# The file beside a results file.

SHAPE: dict[str, Any] = {
    "weights": [
        {
            **dict.fromkeys(("data", "method"), str),
            "cells": [
                {"class": str, "attribute": str, **dict.fromkeys(("rows", "mean"), float), "quantiles": [float]}
            ],
            "features": [{"feature": str, **dict.fromkeys(("all", "upweighted", "difference"), float)}],
        }
    ],
    "maps": [
        {
            **dict.fromkeys(("data", "name"), str),
            **{key: [float] for key in ("x", "y")},
            **{key: [int] for key in ("label", "attribute")},
            **{key: [str] for key in ("classes", "attributes")},
            "separability": (float, None),
        }
    ],
}
"""The shape of an explanation, for `check_shape`."""


def format_explanation(content: Mapping[str, Any]) -> str:
    """Format an explanation as JSON that states its format and its own checksum."""
    whole = {"format": 1, **content}
    return _dump({**whole, "checksum": digest(_dump(whole).encode())})


def parse_explanation(text: bytes) -> dict[str, Any]:
    """Parse an explanation; one without a checksum, which older versions wrote, is accepted.

    Raises:
        ValueError: The text is no explanation, or is damaged.
    """
    found = json.loads(text.decode())
    if not isinstance(found, dict) or found.get("format") != 1:
        raise ValueError("its format is unknown; expected 1")
    content: dict[str, Any] = {key: value for key, value in found.items() if key != "checksum"}
    check_shape({"weights": [], "maps": [], **content}, SHAPE, "the explanation")
    for entry in content.get("weights", []):
        if not entry["cells"] or any(len(cell["quantiles"]) != len(QUANTILES) for cell in entry["cells"]):
            raise ValueError(f"cells are incomplete; expected {len(QUANTILES)} quantiles of each")
    for entry in content.get("maps", []):
        if len({len(entry[key]) for key in ("x", "y", "label", "attribute")}) > 1:
            raise ValueError("x, y, label and attribute in maps differ in length")
    if "checksum" in found and found["checksum"] != digest(_dump(content).encode()):
        raise ValueError("it is damaged: its content does not have the checksum that it states")
    return content


def _dump(content: Mapping[str, Any]) -> str:
    return json.dumps(content, ensure_ascii=False, allow_nan=False)
