"""The data sets that a study may name, each with its split for every seed."""

import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

import torch
from jaxtyping import Int
from torch import Tensor

from raan.data.media.text import embed_texts
from raan.data.sets.adult import SPLIT as ADULT_SIZES
from raan.data.sets.adult import adult
from raan.data.sets.celeba import SPLIT as CELEBA_SIZES
from raan.data.sets.celeba import celeba
from raan.data.sets.civil_comments import civil_comments
from raan.data.sets.comments import Comments
from raan.data.sets.environments import environments
from raan.data.sets.measuring_hate_speech import measuring_hate_speech
from raan.data.sets.meps import SPLIT as MEPS_SIZES
from raan.data.sets.meps import meps
from raan.data.sets.toy import toy
from raan.data.split import Split, split, stack
from raan.data.stratified import stratified_split
from raan.data.table import Table
from raan.study.deep import embed_images
from raan.tabular.frame import from_frame

HELD_OUT = 0.1
"""The share of the training environments that selects."""


def hash_of_table(table: Table) -> str:
    """A short name for all that is learnt from."""
    digest = hashlib.sha256()
    for part in (table.features, table.label, table.attribute):
        digest.update(part.contiguous().numpy(force=True).tobytes())
    return digest.hexdigest()[:16]


@dataclass(frozen=True, eq=False)
class Problem:
    """A table, and each seed's rows that train, select and judge."""

    table: Table
    split: Split  # with a run axis: one for each seed
    seeds: tuple[int, ...]

    @property
    def hash(self) -> str:
        """The hash of all that the table holds."""
        return hash_of_table(self.table)


@dataclass(frozen=True)
class DataSource:
    """How a data set is loaded, and what its loader may be told.

    Where each seed has a table of its own, such as environments drawn anew, seeds cannot share a pack.
    """

    load: Callable[[Mapping[str, Any], Sequence[int]], Problem]
    options: tuple[str, ...]
    own_tables: bool = False
    required: tuple[str, ...] = ()  # of the options


def _adult(options: Mapping[str, Any], seeds: Sequence[int]) -> Problem:
    table = adult(**_without(options, "sizes"))
    return _random(table, options.get("sizes", ADULT_SIZES), seeds)


def _meps(options: Mapping[str, Any], seeds: Sequence[int]) -> Problem:
    """The published rows, split anew for each seed in the published sizes: one split would hide its own luck."""
    table = meps(**_without(options, "sizes"))
    return _random(table, options.get("sizes", MEPS_SIZES), seeds)


def _toy(options: Mapping[str, Any], seeds: Sequence[int]) -> Problem:
    return _random(toy(**_without(options, "sizes")), options.get("sizes", (0.6, 0.2, 0.2)), seeds)


def _table(options: Mapping[str, Any], seeds: Sequence[int]) -> Problem:
    """One's own file, in a stratified split: each seed's preprocessing is fitted to its own training rows."""
    (seed,) = seeds
    sizes = tuple(options.get("sizes", (0.6, 0.2, 0.2)))
    loaded = from_frame(options["path"], sizes=sizes, seed=seed, **_without(options, "sizes", "path"))
    return Problem(loaded.table, stack([Split.of(loaded.split)]), (seed,))


def _hate_speech(options: Mapping[str, Any], seeds: Sequence[int]) -> Problem:
    comments = _read_comments(measuring_hate_speech, **_without(options, "validation"))
    return _environments(comments, seeds, options.get("validation", HELD_OUT))


def _civil_comments(options: Mapping[str, Any], seeds: Sequence[int]) -> Problem:
    comments = _read_comments(civil_comments, **_without(options, "validation"))
    return _environments(comments, seeds, options.get("validation", HELD_OUT))


@lru_cache(maxsize=1)
def _read_comments(load: Callable[..., Comments], **told: Any) -> Comments:
    """The comments, read once for all seeds: each draws its environments from them."""
    return load(**told)


def _environments(comments: Comments, seeds: Sequence[int], held_out: float) -> Problem:
    """The paper's setting: two environments train, a share of them selects, and a shifted third one judges.

    The rows that select hold every (environment, class, attribute) cell in proportion: a random tenth of a small
    environment may lack a cell, and with it the worst group. The third environment is never trained on.
    """
    (seed,) = seeds
    drawn = environments(comments.label, comments.attribute, seed=seed)
    environment = torch.arange(len(drawn.rows)).repeat_interleave(drawn.size)
    table = replace(_taken(comments, drawn.rows.flatten()), environment=environment)
    last = len(drawn.rows) - 1
    training = environment < last
    label, cell = table.label[training], (table.attribute + 2 * environment)[training]
    parts = Split.of(stratified_split(label.numpy(), cell.numpy(), (1 - held_out, held_out, 0.0), seed))
    # The training environments come first: their rows have the same numbers in the whole table.
    rows = Split(parts.train, parts.validation, torch.arange(last * drawn.size, table.rows))
    return Problem(table, stack([rows]), (seed,))


def _taken(comments: Comments, rows: Int[Tensor, "row"]) -> Table:
    """The table of these comments; of texts without an embedding, only theirs are embedded."""
    texts = tuple(comments.texts[row] for row in rows.tolist())
    embedding = embed_texts(texts) if comments.embedding is None else comments.embedding[rows]
    label, attribute = comments.label[rows], comments.attribute[rows]
    return replace(comments, texts=texts, label=label, attribute=attribute, embedding=embedding).table()


def _celeba(options: Mapping[str, Any], seeds: Sequence[int]) -> Problem:
    """A pretrained network's features of the images that are at hand, split anew for each seed."""
    faces = celeba(**_without(options, "sizes"))
    table = faces.table(embed_images(faces.images))
    return _random(table, options.get("sizes", CELEBA_SIZES), seeds)


def _random(table: Table, sizes: Sequence[Any], seeds: Sequence[int]) -> Problem:
    """A random split for each seed."""
    first, second, third = sizes
    return Problem(table, stack([split(table.rows, (first, second, third), seed) for seed in seeds]), tuple(seeds))


def _without(options: Mapping[str, Any], *names: str) -> dict[str, Any]:
    return {key: value for key, value in options.items() if key not in names}


DATA: dict[str, DataSource] = {
    "adult": DataSource(_adult, ("path", "sizes", "attribute", "keep_attribute", "keep_missing")),
    "meps": DataSource(_meps, ("path", "sizes", "layout", "keep_attribute", "statements")),
    "toy": DataSource(_toy, ("sizes", "rows", "seed", "bias")),
    "table": DataSource(
        _table,
        ("path", "label", "attribute", "sizes", "ignore", "types", "keep_attribute"),
        own_tables=True,
        required=("path", "label", "attribute"),
    ),
    "measuring_hate_speech": DataSource(_hate_speech, ("path", "identity", "validation"), own_tables=True),
    "civil_comments": DataSource(
        _civil_comments, ("path", "identity", "threshold", "validation"), own_tables=True
    ),
    "celeba": DataSource(_celeba, ("path", "images", "label", "attribute", "sizes")),
}
"""By the name that a study file gives."""
