"""Measuring Hate Speech: is a comment hate speech, and whom does it target; in the place of Civil Comments."""

from pathlib import Path

import numpy as np
import pandas as pd
import torch
from jaxtyping import Float
from torch import Tensor

from raan.data.download.find import require
from raan.data.download.remote import RemoteFile
from raan.lab.datasets.comments import Comments, columns_of, comments, draw_environments, header, read_columns
from raan.lab.datasets.dataset import About, DataSet, Need

# The columns of which one suffices: half of the annotators or more saw that target.
IDENTITIES: dict[str, tuple[str, ...]] = {
    "black": ("target_race_black",),
    "muslim": ("target_religion_muslim",),
    "lgbtq": (
        *(f"target_sexuality_{name}" for name in ("gay", "lesbian", "bisexual", "other")),
        *(f"target_gender_transgender_{name}" for name in ("men", "women", "unspecified")),
        "target_gender_non_binary",
    ),
    "neurodiverse": ("target_disability_cognitive", "target_disability_neurological"),
}
NO, UNCLEAR, YES = 0, 1, 2  # an annotator's answers in the original's column hatespeech

NAMES = (
    "measuring_hate_speech_subset.csv",
    "measuring_hate_speech_subset.csv.gz",
    "measuring-hate-speech.parquet",
)
EMBEDDING = "measuring_hate_speech_minilm_fp16.npy"
ADVICE = "Get the original by hand: ucberkeley-dlab/measuring-hate-speech on Hugging Face, as parquet."

SUBSET = RemoteFile(
    "text",
    "measuring_hate_speech_subset.csv.gz",
    "70e37df8cf8bd792884e7ced09a279fccf9e8a8a79982956d36f1574a7b30dd0",
    1_887_602,
)

ABOUT = About(
    name="measuring_hate_speech",
    title="Measuring Hate Speech, in the place of Civil Comments",
    task="whether an annotator called a comment on social media hate speech",
    attribute="whether half of the annotators or more saw it target Black, Muslim, LGBTQ or NeuroDiverse people",
    licence="CC BY 4.0",
    citation="C. Kennedy, G. Bacon, A. Sahn and C. von Vacano (2020). Constructing interval variables via faceted "
    "Rasch measurement and multitask deep learning: a hate speech application. arXiv:2009.10277.",
    cautions=(
        "The text is offensive.",
        "It is not Civil Comments: what is found on it stands under its own name.",
        "The attribute is of the text, not of its author: whom the comment targets.",
        "The subset has 25,424 of 39,565 comments, and one annotator's answer as the label of each.",
        "Only 491 comments of the subset target NeuroDiverse people: their environments are small.",
    ),
    needs=(Need("text", (SUBSET.name,), SUBSET, instead=NAMES, advice=ADVICE),),
)


def measuring_hate_speech(path: str | Path | None = None, *, identity: str = "black") -> Comments:
    """Comments of Measuring Hate Speech, with a MiniLM embedding where its file lies beside them.

    The path is the subset (a row a comment: labels, and 0 or 1 for each target) or the original (a row an
    annotator: hatespeech 0, 1 or 2, where 1 is unclear and left out; the first clear answer is the label),
    as CSV or parquet, or the folder of either. The identities are those of `civil_comments`.
    """
    columns = columns_of(IDENTITIES, identity)
    where = require("text", NAMES, path, ADVICE)
    by_annotator = "hatespeech" in header(where)
    frame = read_columns(
        where, "text", [*(("comment_id", "hatespeech") if by_annotator else ("labels",)), *columns]
    )
    if by_annotator:
        frame = _by_comment(frame, columns)
    frame["label"] = frame["labels"] == 1
    frame["attribute"] = frame[columns].max(axis=1) >= 0.5
    embedding = None if by_annotator else _embedding(where.parent / EMBEDDING, len(frame))
    return comments(frame, identity, ("no hate speech", "hate speech"), "measuring_hate_speech", embedding)


def _by_comment(frame: pd.DataFrame, columns: list[str]) -> pd.DataFrame:
    """One row a comment of the annotators' rows: the first clear answer, and the share that saw each target."""
    by_comment = frame[frame["hatespeech"] != UNCLEAR].groupby("comment_id", sort=False)
    first = by_comment[["text", "hatespeech"]].first()
    shares = frame.groupby("comment_id")[columns].mean()
    return first.join(shares).assign(labels=first["hatespeech"] == YES)


def _embedding(path: Path, rows: int) -> Float[Tensor, "comment feature"] | None:
    """The embedding in the file, if there is one; it has a row for each comment, in their order."""
    if not path.is_file():
        return None
    array = np.load(path)
    if array.ndim != 2 or len(array) != rows:
        raise ValueError(f"{path} has shape {array.shape}, expected one row for each of {rows:,} comments")
    return torch.from_numpy(array).float()


DATASET = DataSet(
    "measuring_hate_speech",
    draw_environments(measuring_hate_speech),
    ("path", "identity", "validation"),
    own_tables=True,
    about=ABOUT,
)
