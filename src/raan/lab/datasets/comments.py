"""Comments with labels and attributes, and how they are read from CSV and parquet."""

from array import array
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from math import nan
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import torch
from jaxtyping import Float, Int
from numpy.typing import ArrayLike
from pyarrow.parquet import read_schema
from torch import Tensor

from raan.data.embed import embed_texts
from raan.data.split import Split, stack
from raan.data.stratified import stratified_split
from raan.data.table import Table
from raan.lab.datasets.dataset import LoadProblem, Options, Problem, leave_out
from raan.lab.datasets.environments import environments
from raan.tables.numbers import check_header, csv_lines, number

HELD_OUT = 0.1
"""The share of the training environments that selects."""

CALLED = {"black": "Black", "muslim": "Muslim", "lgbtq": "LGBTQ", "neurodiverse": "NeuroDiverse"}


@dataclass(frozen=True, eq=False)
class Comments:
    """Comments with a label and an attribute each, and their embedding where it is at hand."""

    texts: tuple[str, ...]
    label: Int[Tensor, "comment"]
    attribute: Int[Tensor, "comment"]  # -1 where nobody was asked
    class_names: tuple[str, ...]
    attribute_names: tuple[str, ...]
    name: str
    embedding: Float[Tensor, "comment feature"] | None = None

    @property
    def rows(self) -> int:
        """The number of comments."""
        return len(self.label)

    def table(self, embedding: ArrayLike | Float[Tensor, "comment feature"] | None = None) -> Table:
        """A table whose features are the embedding given, or the one at hand."""
        features = self.embedding if embedding is None else embedding
        if features is None:
            raise ValueError(f"{self.name} has no embedding at hand: table(embed_texts(comments.texts)) makes one")
        return Table.of(
            features,
            self.label,
            self.attribute,
            class_names=self.class_names,
            attribute_names=self.attribute_names,
            name=self.name,
        )


def comments(
    frame: pd.DataFrame,
    identity: str,
    class_names: tuple[str, str],
    name: str,
    embedding: Float[Tensor, "comment feature"] | None = None,
) -> Comments:
    """The columns text, label and attribute of the frame under the names that their values go by."""
    return Comments(
        tuple(frame["text"].tolist()),
        torch.tensor(frame["label"].to_numpy("int64")),
        torch.tensor(frame["attribute"].to_numpy("int64")),
        class_names,
        (f"not {CALLED[identity]}", CALLED[identity]),
        name,
        embedding,
    )


def columns_of(identities: Mapping[str, Sequence[str]], identity: str) -> list[str]:
    """The columns that state the identity."""
    if identity not in identities:
        raise ValueError(f"identity is {identity!r}, expected one of {', '.join(map(repr, identities))}")
    return list(identities[identity])


def header(path: Path) -> list[str]:
    """The names of the columns in a CSV or parquet file, or in the first of a folder's parquet files."""
    first = _files(path)[0]
    if first.suffix == ".parquet":
        return list(read_schema(first).names)
    return next(csv_lines(first))[1]


def either(path: Path, found: Sequence[str], names: Sequence[str]) -> str:
    """Which of the names a column goes by here."""
    for name in names:
        if name in found:
            return name
    raise ValueError(f"{path} has no column {' or '.join(names)}; it has {', '.join(found)}")


def read_columns(path: Path, text: str, numbers: Sequence[str]) -> pd.DataFrame:
    """The column of texts, called "text", and the columns of numbers, where nan is a value that is missing."""
    frame = pd.concat([_read(file, text, numbers) for file in _files(path)], ignore_index=True)
    if frame.empty:
        raise ValueError(f"{path} has columns and no rows")
    return frame.rename(columns={text: "text"})


def _files(path: Path) -> list[Path]:
    """The file, or the parquet files of the folder, sorted by name."""
    files = sorted(path.rglob("*.parquet")) if path.is_dir() else [path]
    if not files:
        raise ValueError(f"the folder {path} holds no .parquet file: give the path of a CSV file itself")
    return files


def _read(path: Path, text: str, numbers: Sequence[str]) -> pd.DataFrame:
    """The columns of one file; a text that is missing is empty."""
    check_header(path, header(path), [text, *numbers])
    if path.suffix == ".parquet":
        frame = pd.read_parquet(path, columns=[text, *numbers])
        return frame.astype(dict.fromkeys(numbers, "float64")).fillna({text: ""})
    return _read_csv(path, text, numbers)


def _read_csv(path: Path, text: str, numbers: Sequence[str]) -> pd.DataFrame:
    """The columns of a CSV file, line by line: only so is a line with too many values noticed."""
    lines = csv_lines(path, strict=False)
    _, names = next(lines)
    texts, columns = [], {name: array("d") for name in numbers}
    place, places = names.index(text), [names.index(name) for name in numbers]
    for line, values in lines:
        texts.append(values[place])
        for name, where in zip(numbers, places, strict=True):
            # Nothing at all, or nan, stands where nobody was asked.
            value = values[where]
            columns[name].append(nan if value.lower() in ("", "nan") else number(path, line, name, value))
    return pd.DataFrame({text: texts} | {name: np.array(column) for name, column in columns.items()})


# Comments as a study's data.


def draw_environments(load: Callable[..., Comments]) -> LoadProblem:
    """A loader of the paper's setting: two environments train and select, a shifted third one judges."""

    def load_problem(options: Options, seeds: Sequence[int]) -> Problem:
        (seed,) = seeds
        read = _read_once(load, **leave_out(options, "validation"))
        return _environments(read, seed, options.get("validation", HELD_OUT))

    return load_problem


@lru_cache(maxsize=1)
def _read_once(load: Callable[..., Comments], **options: Any) -> Comments:
    """The comments, read once for all seeds: each draws its environments from them."""
    return load(**options)


def _environments(read: Comments, seed: int, held_out: float) -> Problem:
    """Two environments, of which a share selects, and a third one, which is never trained on.

    The rows that select hold every (environment, class, attribute) cell in proportion: a random tenth of a small
    environment may lack a cell, and with it the worst group.
    """
    drawn = environments(read.label, read.attribute, seed=seed)
    environment = torch.arange(len(drawn.rows)).repeat_interleave(drawn.size)
    table = replace(_take(read, drawn.rows.flatten()), environment=environment)
    last = len(drawn.rows) - 1
    training = environment < last
    label, cell = table.label[training], (table.attribute + 2 * environment)[training]
    parts = Split.of(stratified_split(label.numpy(), cell.numpy(), (1 - held_out, held_out, 0.0), seed))
    # The training environments come first: their rows have the same numbers in the whole table.
    rows = Split(parts.train, parts.validation, torch.arange(last * drawn.size, table.rows))
    return Problem(table, stack([rows]), (seed,))


def _take(read: Comments, rows: Int[Tensor, "row"]) -> Table:
    """The table of these comments; of texts without an embedding, only theirs are embedded."""
    texts = tuple(read.texts[row] for row in rows.tolist())
    embedding = embed_texts(texts) if read.embedding is None else read.embedding[rows]
    label, attribute = read.label[rows], read.attribute[rows]
    return replace(read, texts=texts, label=label, attribute=attribute, embedding=embedding).table()
