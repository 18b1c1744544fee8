"""Runs as a study writes them, drawn at random around plausible rates; no training."""

import hashlib
import json
from collections.abc import Sequence
from dataclasses import fields
from pathlib import Path
from typing import Any

import numpy as np

from raan.lab.results.records import Record

METHODS = {
    # (no, Female), (no, Male), (yes, Female), (yes, Male): the share predicted right that training moves towards.
    "Vanilla": (0.975, 0.93, 0.42, 0.56),
    "RAAN": (0.968, 0.92, 0.50, 0.58),
    "RL-RAAN": (0.960, 0.915, 0.56, 0.60),
    "GroupDRO": (0.930, 0.89, 0.55, 0.66),
}
START = np.array((0.976, 0.932, 0.38, 0.57))
SIZES = {"validation": (920, 1180, 110, 490), "test": (1840, 2360, 220, 980)}


def line(
    method: str,
    seed: int = 0,
    candidate: int = 0,
    *,
    data: str = "meps",
    style: str = "adam",
    points: int = 21,
    diverged: int | None = None,
    classes: Sequence[str] = ("no", "yes"),
    attributes: Sequence[str] = ("Female", "Male"),
    names: Sequence[str] = ("learning_rate", "temperature", "balance"),
    study: str = "table-2",
) -> dict[str, Any]:
    """One run as its line of a results file holds it."""
    goal = np.array(METHODS.get(method, METHODS["RAAN"]))
    rng = np.random.default_rng([seed, candidate, *map(ord, method + style)])
    shared = np.random.default_rng([seed, *map(ord, style)])  # plain training is the same for all of a seed
    pull = (0.6, 1.0, 1.3)[candidate % 3]
    start = START + shared.normal(0, (0.002, 0.004, 0.03, 0.015))
    wander = rng.normal(0, 0.012, 4).cumsum() * 0.3
    rates = [
        np.clip(start + (goal - START + wander) * pull * (1 - np.exp(-point / 6)), 0.02, 0.995)
        for point in range(points)
    ]
    parts = {
        part: [_counts(shared if point == 0 else rng, rate, sizes) for point, rate in enumerate(rates)]
        for part, sizes in SIZES.items()
    }
    hyperparameters = dict(zip(names, (10.0**-3 / 3**candidate, 0.5, "group"), strict=False))
    configuration = {"split": [5400, 2700, 5400], "epochs": 6}
    identity = json.dumps([study, data, method, style, seed, hyperparameters, configuration])
    return {
        "run": hashlib.sha256(identity.encode()).hexdigest()[:16],
        "study": study,
        "data": data,
        "method": method,
        "style": style,
        "seed": seed,
        "hyperparameters": hyperparameters,
        "configuration": configuration,
        "data_hash": "0123456789abcdef",
        "versions": {"raan": "0.1.0", "torch": "2.9.0", "numpy": "2.3.0", "python": "3.11.2"},
        "classes": list(classes),
        "attributes": list(attributes),
        "diverged": diverged,
        "step": [89 * point for point in range(points)],
        **parts,
    }


def _counts(rng: np.random.Generator, rate: np.ndarray, sizes: Sequence[int]) -> list[int]:
    """The flattened counts [label, attribute or unknown, prediction]."""
    right = rng.binomial(sizes, rate)
    counts = np.zeros((2, 3, 2), dtype=int)
    for group, (hits, size) in enumerate(zip(right, sizes, strict=True)):
        label, attribute = divmod(group, 2)
        counts[label, attribute, label] = hits
        counts[label, attribute, 1 - label] = size - hits
    counts[0, 2] = (30, 2)  # a few people whose attribute is unknown
    return [int(number) for number in counts.flatten()]


def study(
    methods: Sequence[str] = tuple(METHODS),
    styles: Sequence[str] = ("adam", "sgd"),
    seeds: int = 5,
    candidates: int = 3,
    **options: Any,
) -> list[dict[str, Any]]:
    """The lines of a whole study."""
    return [
        line(method, seed, candidate, style=style, **options)
        for style in styles
        for method in methods
        for candidate in range(candidates)
        for seed in range(seeds)
    ]


def as_records(lines: Sequence[dict[str, Any]]) -> list[Record]:
    """The lines as they are read."""
    names = [field.name for field in fields(Record)]
    return [Record(**{name: line[name] for name in names if name in line}) for line in lines]


def write(lines: Sequence[dict[str, Any]], path: Path) -> Path:
    """The lines in a results file."""
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return path


def explanation(
    data: str = "meps",
    classes: Sequence[str] = ("no", "yes"),
    attributes: Sequence[str] = ("Female", "Male"),
    feature: str = "hours-per-week",
    name: str = "plain training",
) -> dict[str, Any]:
    """What stands beside a results file: the weights RAAN gave, and maps of embeddings."""
    rng = np.random.default_rng(0)
    means = (0.7, 0.6, 3.1, 1.6)
    cells = [
        {
            "class": classes[label],
            "attribute": attributes[attribute],
            "rows": SIZES["test"][2 * label + attribute],
            "mean": mean,
            "quantiles": [mean * share for share in (0.2, 0.6, 0.9, 1.3, 2.1)],
        }
        for (label, attribute), mean in zip(((0, 0), (0, 1), (1, 0), (1, 1)), means, strict=True)
    ]
    features = [
        {"feature": name, "all": 40.2 - 3 * rank, "upweighted": 43.1 + rank, "difference": shift}
        for rank, (name, shift) in enumerate(
            zip(
                (feature, "age", "education-num", "capital-gain", "married"),
                (0.62, 0.41, 0.3, -0.22, -0.35),
                strict=True,
            )
        )
    ]

    def embedding(title: str, apart: float, separability: float) -> dict[str, Any]:
        label, attribute = rng.integers(0, 2, 400), rng.integers(0, 2, 400)
        x, y = rng.normal(0, 1, (2, 400)) + np.stack([apart * attribute, 2.4 * label])
        return {
            "data": data,
            "name": title,
            "x": x.round(3).tolist(),
            "y": y.round(3).tolist(),
            "label": label.tolist(),
            "attribute": attribute.tolist(),
            "classes": list(classes),
            "attributes": list(attributes),
            "separability": separability,
        }

    weights = {"data": data, "method": "RAAN", "temperature": 0.5, "balance": "group"}
    return {
        "format": 1,
        "weights": [{**weights, "cells": cells, "features": features}],
        "maps": [embedding(name, 2.2, 0.91), embedding("RL-RAAN", 0.7, 0.68)],
    }
