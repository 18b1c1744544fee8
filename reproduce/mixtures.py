"""Rows in which class and attribute go together, or some cells have few rows: mixtures drawn from real data.

A mixture says how many rows of each (class, attribute) cell train, validate and test; all are drawn without
overlap by the seed alone. Worst-group accuracy is by cell, so what test rows are mixed of does not move it.
"""

from collections.abc import Callable
from functools import cache, partial
from typing import NamedTuple

import numpy as np

from raan.data.streams import stream
from raan.lab.datasets.adult import adult
from raan.lab.datasets.celeba import celeba
from raan.lab.datasets.comments import IDENTITIES, measuring_hate_speech
from raan.lab.datasets.meps import meps
from raan.lab.datasets.toy import toy


class Rows(NamedTuple):
    """Features, label and attribute."""

    X: np.ndarray
    y: np.ndarray
    a: np.ndarray


Parts = tuple[Rows, Rows, Rows]
"""Training, validation and test rows."""


class Mixture(NamedTuple):
    """One setting of the experiment: what it is about, on which data, and how its rows are drawn."""

    kind: str
    data: str
    title: str
    draw: Callable[[int], Parts]


@cache
def text(identity: str) -> Rows:
    """Sentence embeddings of comments: hate speech, and whether they target the identity."""
    comments = measuring_hate_speech(identity=identity)
    assert comments.embedding is not None
    return Rows(*(np.asarray(each) for each in (comments.embedding, comments.label, comments.attribute)))


@cache
def targets() -> Rows:
    """The comments that target none or one of three identities: four groups."""
    several = [text(identity) for identity in IDENTITIES if identity != "neurodiverse"]
    targeted = np.stack([each.a for each in several], 1)
    one = targeted.sum(1) < 2
    return Rows(several[0].X[one], several[0].y[one], ((targeted.argmax(1) + 1) * targeted.any(1))[one])


@cache
def images() -> Rows:
    """EfficientNet's features of ten thousand faces: wavy hair, and gender; women, who have it oftener, are 1."""
    faces = celeba()
    table = faces.table(faces.embed())
    return Rows(np.asarray(table.features), np.asarray(table.label), 1 - np.asarray(table.attribute))


@cache
def income(attribute: str = "gender") -> Rows:
    """Adult without the attribute among its features; race is told as white or not."""
    table = adult(attribute=attribute, keep_attribute=False)
    group = np.asarray(table.attribute)
    if attribute != "gender":
        names = [(name.startswith("White"), name.endswith("Female")) for name in table.attribute_names]
        group = np.array([2 * white + female for white, female in names])[group]
    return Rows(np.asarray(table.features), np.asarray(table.label), group)


@cache
def care() -> Rows:
    """MEPS without RACE among its features."""
    table = meps(keep_attribute=False)
    return Rows(*(np.asarray(each) for each in (table.features, table.label, table.attribute)))


@cache
def plane() -> Rows:
    """The toy, every cell alike."""
    table = toy(rows=20_000, bias=0.0)
    return Rows(*(np.asarray(each) for each in (table.features, table.label, table.attribute)))


def correlated(source: Callable[[], Rows], switched: float, rows: int, seed: int) -> Parts:
    """Class and attribute agree but in a share of the rows, where they differ: half as many rows validate."""
    cells = {(y, a): round(rows / 2 * (1 - switched if y == a else switched)) for y in (0, 1) for a in (0, 1)}
    return _draw(source(), cells, seed)


def few(source: Callable[[], Rows], rare: int, seed: int) -> Parts:
    """Three hundred rows of each cell where class and attribute agree, and so few of each where they differ."""
    return _draw(source(), {(y, a): 300 if y == a else rare for y in (0, 1) for a in (0, 1)}, seed)


def natural(source: Callable[[], Rows], rows: int, seed: int) -> Parts:
    """Rows as they come: half as many validate, all others test."""
    whole = source()
    order = stream(seed, "mixture").permutation(len(whole.y))
    cuts = (rows, rows + rows // 2)
    train, validation, test = (Rows(*(each[part] for each in whole)) for part in np.split(order, cuts))
    return train, validation, test


def _draw(whole: Rows, cells: dict[tuple[int, int], int], seed: int) -> Parts:
    """So many training rows of each cell, half as many for validation, and up to 300 of the rest for tests."""
    parts: list[list[np.ndarray]] = [[], [], []]
    for (y, a), wanted in cells.items():
        rows = np.flatnonzero((whole.y == y) & (whole.a == a))
        order = rows[stream(seed, "mixture", y, a).permutation(len(rows))]
        held = -(-wanted // 2)
        if len(order) < wanted + held + 50:
            raise ValueError(
                f"class {y} with attribute {a} has {len(order)} rows; {wanted + held + 50} are needed"
            )
        drawn = np.split(order, (wanted, wanted + held, wanted + held + 300))[:3]
        for part, chosen in zip(parts, drawn, strict=True):
            part.append(chosen)
    train, validation, test = (Rows(*(each[np.concatenate(part)] for each in whole)) for part in parts)
    return train, validation, test


BLACK, MUSLIM, LGBTQ = (partial(text, identity) for identity in ("black", "muslim", "lgbtq"))

SOURCES: dict[str, tuple[Callable[[], Rows], int]] = {
    "text, Black": (BLACK, 1000),
    "text, LGBTQ": (LGBTQ, 1000),
    "text, Muslim": (MUSLIM, 400),
    "images": (images, 1000),
    "Adult": (income, 1000),
    "MEPS": (care, 600),
    "toy": (plane, 1000),
}
SWITCHED = {"text, Black": (0.05, 0.1, 0.2, 0.3), "text, LGBTQ": (0.05,), "text, Muslim": (0.05,), "toy": (0.05,)}
RARE = {"text, Black": (10, 30, 100), "images": (10, 30), "Adult": (10, 30)}

MIXTURES: tuple[Mixture, ...] = (
    *(
        Mixture(
            "correlated",
            name,
            f"class and attribute differ in {100 * share:.0f} %",
            partial(correlated, of, share, n),
        )
        for name, (of, n) in SOURCES.items()
        for share in SWITCHED.get(name, (0.05, 0.2))
    ),
    *(
        Mixture("few", name, f"{count} rows in the rare cells", partial(few, SOURCES[name][0], count))
        for name, counts in RARE.items()
        for count in counts
    ),
    Mixture("natural", "Adult", "as it comes", partial(natural, income, 4000)),
    Mixture("natural", "MEPS", "as it comes", partial(natural, care, 4000)),
    Mixture("natural", "images", "as it comes", partial(natural, images, 3000)),
    Mixture(
        "groups", "Adult", "race and gender, four groups", partial(natural, partial(income, "race x gender"), 4000)
    ),
    Mixture("groups", "text", "four groups of targets", partial(natural, targets, 3000)),
)
