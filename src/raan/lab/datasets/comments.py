"""Two data sets of comments, whom they mention or target, and the paper's environments drawn from them.

Civil Comments: is a comment on a news site toxic? Measuring Hate Speech, a substitute that can be had without an
account: is a comment on social media hate speech?
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import torch
from jaxtyping import Float, Int
from numpy.typing import ArrayLike
from pyarrow.parquet import read_schema
from torch import Tensor

from raan.data.download import require
from raan.data.embed import embed_texts
from raan.data.split import Split, stack, stratified_split
from raan.data.table import UNKNOWN, Table
from raan.lab.datasets.dataset import Options, Problem, check_columns, column_names, leave_out, read_csv
from raan.lab.datasets.description import CATALOGUE
from raan.lab.datasets.environments import environments

IDENTITIES = {"black": "Black", "muslim": "Muslim", "lgbtq": "LGBTQ", "neurodiverse": "NeuroDiverse"}

# The columns whose maximum is the share of the raters who saw an identity mentioned (Adragna et al. 2020).
MENTIONED: dict[str, tuple[str, ...]] = {
    "black": ("black",),
    "muslim": ("muslim",),
    "lgbtq": (
        *("homosexual_gay_or_lesbian", "bisexual", "transgender", "other_sexual_orientation", "other_gender"),
    ),
    "neurodiverse": ("psychiatric_or_mental_illness", "intellectual_or_learning_disability"),
}
TEXT = ("comment_text", "text")  # the column's name at Kaggle and WILDS, and at Hugging Face
TOXICITY = ("target", "toxicity")  # the column's name in Kaggle's train.csv, and in all other files

# The columns of which one suffices: half of the annotators or more saw that target.
TARGETED: dict[str, tuple[str, ...]] = {
    "black": ("target_race_black",),
    "muslim": ("target_religion_muslim",),
    "lgbtq": (
        *(f"target_sexuality_{name}" for name in ("gay", "lesbian", "bisexual", "other")),
        *(f"target_gender_transgender_{name}" for name in ("men", "women", "unspecified")),
        "target_gender_non_binary",
    ),
    "neurodiverse": ("target_disability_cognitive", "target_disability_neurological"),
}
UNCLEAR, YES = 1, 2  # answers of an annotator in the original's column hatespeech; 0 is no
EMBEDDING = "measuring_hate_speech_minilm_fp16.npy"

HELD_OUT = 0.1
"""The share of the training environments that are validation rows."""


@dataclass(frozen=True, eq=False)
class Comments:
    """Comments with a label and an attribute each, and their embedding if there is one."""

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
        """Return a table whose features are the embedding given, or the comments' own."""
        features = self.embedding if embedding is None else embedding
        if features is None:
            raise ValueError(f"{self.name} has no embedding; table(embed_texts(comments.texts)) makes one")
        return Table.of(
            features,
            self.label,
            self.attribute,
            class_names=self.class_names,
            attribute_names=self.attribute_names,
            name=self.name,
        )

    def take(self, rows: Int[Tensor, "row"]) -> "Comments":
        """Return the comments of these rows; if there is no embedding, these texts are embedded."""
        texts = tuple(self.texts[row] for row in rows.tolist())
        embedding = embed_texts(texts) if self.embedding is None else self.embedding[rows]
        label, attribute = self.label[rows], self.attribute[rows]
        return replace(self, texts=texts, label=label, attribute=attribute, embedding=embedding)


def civil_comments(
    path: str | Path | None = None,
    *,
    identity: str = "black",
    threshold: float = 0.5,
    keep_unannotated: bool = False,
) -> Comments:
    """Load Civil Comments. A comment is toxic, or mentions the identity, if enough of the raters said so.

    Args:
        path: Kaggle's train.csv or all_data.csv, WILDS's all_data_with_identities.csv (gzipped or not), a parquet
            file in Hugging Face's layout, or a folder of such parquet files.
        identity: "black", "muslim", "lgbtq" or "neurodiverse"; the last two are the maximum of several columns.
        threshold: the share of the raters that suffices.
        keep_unannotated: whether comments that nobody rated for identities are there, with the attribute -1.

    Returns:
        The comments with label and attribute; `Comments.table` makes a table of their embeddings.

    Raises:
        DataUnavailable: The file is not on this machine; the message says where to get it.
        ValueError: The identity or the threshold is unknown, or the file lacks a column.
    """
    columns = _identity_columns(MENTIONED, identity)
    if not 0 < threshold <= 1:
        raise ValueError(f"threshold is {threshold}; expected a share of the raters above 0 and at most 1")
    if path is not None and any(Path(path).expanduser().rglob("*.parquet")):
        where = Path(path).expanduser()
    else:
        where = require(CATALOGUE["civil_comments"].files[0], path)
    found = _column_names(where)
    text, toxicity = (next((name for name in names if name in found), "") for names in (TEXT, TOXICITY))
    for names, name in ((TEXT, text), (TOXICITY, toxicity)):
        if not name:
            raise ValueError(f"{where} has no column {' or '.join(names)}; it has {', '.join(found)}")
    frame = _read(where, text, [toxicity, *columns])
    if frame[toxicity].isna().any():
        raise ValueError(f"{where}: {toxicity} is missing in row {int(frame[toxicity].isna().argmax())}")
    share = frame[columns].max(axis=1)  # nan if every column is
    frame["label"] = frame[toxicity] >= threshold
    frame["attribute"] = (share >= threshold).astype(int).where(share.notna(), UNKNOWN)
    kept = frame if keep_unannotated else frame[share.notna()]
    return _comments(kept, identity, ("not toxic", "toxic"), "civil_comments")


def measuring_hate_speech(path: str | Path | None = None, *, identity: str = "black") -> Comments:
    """Load Measuring Hate Speech, with a MiniLM embedding if its file is beside the comments.

    Args:
        path: the subset (one row for each comment: labels, and 0 or 1 for each target) or the original (one row
            for each annotator: hatespeech 0, 1 or 2, where 1 is unclear and left out, and the first clear answer
            is the label), as CSV or parquet, or the folder of either.
        identity: "black", "muslim", "lgbtq" or "neurodiverse".

    Returns:
        The comments with label, attribute and, if there is one, embedding.

    Raises:
        DataUnavailable: The file is not on this machine; the message says where to get it.
        ValueError: The identity is unknown, or the file lacks a column.
    """
    columns = _identity_columns(TARGETED, identity)
    where = require(CATALOGUE["measuring_hate_speech"].files[0], path)
    if "hatespeech" in _column_names(where):
        answers = _read(where, "text", ["comment_id", "hatespeech", *columns])
        clear = answers[answers["hatespeech"] != UNCLEAR].groupby("comment_id", sort=False)
        first = clear[["text", "hatespeech"]].first()
        frame = first.join(answers.groupby("comment_id")[columns].mean()).assign(labels=first["hatespeech"] == YES)
        embedding = None
    else:
        frame = _read(where, "text", ["labels", *columns])
        file = where.parent / EMBEDDING
        embedding = torch.from_numpy(np.load(file)).float() if file.is_file() else None
        if embedding is not None and (embedding.ndim != 2 or len(embedding) != len(frame)):
            shape = tuple(embedding.shape)
            raise ValueError(f"{file} has shape {shape}; expected one row for each of {len(frame):,} comments")
    frame["label"] = frame["labels"] == 1
    frame["attribute"] = frame[columns].max(axis=1) >= 0.5
    return _comments(frame, identity, ("no hate speech", "hate speech"), "measuring_hate_speech", embedding)


def _identity_columns(identities: dict[str, tuple[str, ...]], identity: str) -> list[str]:
    if identity not in identities:
        raise ValueError(f"identity is {identity!r}; expected one of {', '.join(map(repr, identities))}")
    return list(identities[identity])


def _comments(
    frame: pd.DataFrame,
    identity: str,
    class_names: tuple[str, str],
    name: str,
    embedding: Float[Tensor, "comment feature"] | None = None,
) -> Comments:
    """Return the columns text, label and attribute of the frame as comments."""
    label, attribute = (torch.tensor(frame[column].to_numpy("int64")) for column in ("label", "attribute"))
    attribute_names = (f"not {IDENTITIES[identity]}", IDENTITIES[identity])
    return Comments(tuple(frame["text"].tolist()), label, attribute, class_names, attribute_names, name, embedding)


def _files(path: Path) -> list[Path]:
    """Return the file, or the parquet files of the folder, sorted by name."""
    files = sorted(path.rglob("*.parquet")) if path.is_dir() else [path]
    if not files:
        raise ValueError(f"the folder {path} has no .parquet file; give the path of a CSV file itself")
    return files


def _column_names(path: Path) -> list[str]:
    """Return the names of the columns in a CSV or parquet file, or in the first parquet file of a folder."""
    first = _files(path)[0]
    if first.suffix == ".parquet":
        return list(read_schema(first).names)
    return column_names(first)


def _read(path: Path, text: str, numbers: Sequence[str]) -> pd.DataFrame:
    """Read the column of texts, called "text", and columns of numbers, where nan is a missing value."""
    parts = []
    for file in _files(path):
        if file.suffix == ".parquet":
            check_columns(file, read_schema(file).names, [text, *numbers])
            part = pd.read_parquet(file, columns=[text, *numbers])
            parts.append(part.astype(dict.fromkeys(numbers, "float64")).fillna({text: ""}))
        else:
            parts.append(read_csv(file, numbers, text, missing=("", "nan", "NaN")))
    frame = pd.concat(parts, ignore_index=True)
    if frame.empty:
        raise ValueError(f"{path} has columns and no rows")
    return frame.rename(columns={text: "text"})


def draw_environments(load: Callable[..., Comments]) -> Callable[[Options, Sequence[int]], Problem]:
    """Return a loader of the paper's setting: two environments train and validate, a shifted third one tests.

    The validation rows contain every (environment, class, attribute) cell in proportion: a random tenth of a small
    environment could lack a cell, and with it the worst group.
    """

    @lru_cache(maxsize=1)
    def load_once(**options: Any) -> Comments:
        return load(**options)

    def load_problem(options: Options, seeds: Sequence[int]) -> Problem:
        (seed,) = seeds
        held_out = options.get("validation", HELD_OUT)
        comments = load_once(**leave_out(options, "validation"))
        drawn = environments(comments.label, comments.attribute, seed=seed)
        environment = torch.arange(len(drawn.rows)).repeat_interleave(drawn.size)
        table = replace(comments.take(drawn.rows.flatten()).table(), environment=environment)
        last = len(drawn.rows) - 1
        training = environment < last
        label, cell = table.label[training], (table.attribute + 2 * environment)[training]
        parts = Split.of(stratified_split(label.numpy(), cell.numpy(), (1 - held_out, held_out, 0.0), seed))
        # The training environments come first: their rows have the same numbers in the whole table.
        rows = Split(parts.train, parts.validation, torch.arange(last * drawn.size, table.rows))
        return Problem(table, stack([rows]), (seed,))

    return load_problem
