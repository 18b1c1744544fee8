"""Civil Comments: is a comment on a news site toxic, and whom does it mention."""

from pathlib import Path

from raan.data.download.find import require
from raan.data.table import UNKNOWN
from raan.lab.datasets.comments import (
    Comments,
    columns_of,
    comments,
    draw_environments,
    either,
    header,
    read_columns,
)
from raan.lab.datasets.dataset import About, DataSet, Need, with_packed

# The columns whose maximum says how many of the raters saw an identity mentioned (Adragna et al. 2020).
IDENTITIES: dict[str, tuple[str, ...]] = {
    "black": ("black",),
    "muslim": ("muslim",),
    "lgbtq": (
        "homosexual_gay_or_lesbian",
        "bisexual",
        "transgender",
        "other_sexual_orientation",
        "other_gender",
    ),
    "neurodiverse": ("psychiatric_or_mental_illness", "intellectual_or_learning_disability"),
}
TEXT = ("comment_text", "text")  # as Kaggle and WILDS call it, and as Hugging Face does
TOXICITY = ("target", "toxicity")  # as Kaggle's train.csv calls it, and as all others do

NAMES = with_packed("all_data_with_identities.csv", "train.csv", "all_data.csv")
ADVICE = (
    "Get it by hand: train.csv of Kaggle's jigsaw-unintended-bias-in-toxicity-classification, "
    "all_data_with_identities.csv of WILDS, or a parquet file from Hugging Face that has the identity columns."
)

ABOUT = About(
    name="civil_comments",
    title="Civil Comments, with Jigsaw's identity columns",
    task="whether half of the raters or more called a comment on a news site toxic",
    attribute="whether half of the raters or more saw Black, Muslim, LGBTQ or NeuroDiverse people mentioned",
    licence="CC0",
    citation="D. Borkan, L. Dixon, J. Sorensen, N. Thain and L. Vasserman (2019). Nuanced Metrics for Measuring "
    "Unintended Bias with Real Data for Text Classification. WWW Companion.",
    cautions=(
        "The text is offensive.",
        "The attribute is of the text, not of its author: whom the comment mentions.",
        "Only about 450,000 of two million comments were rated for identities; the others are left out.",
        "Labels are opinions of crowd workers, who call mentions of some groups toxic more readily than others.",
        "google/civil_comments on Hugging Face has no identity columns, and cannot be used.",
    ),
    needs=(Need("civil_comments", NAMES, advice=ADVICE),),
)


def civil_comments(
    path: str | Path | None = None,
    *,
    identity: str = "black",
    threshold: float = 0.5,
    keep_unannotated: bool = False,
) -> Comments:
    """Civil Comments: toxic, and mentioning the identity, where at least that share of the raters said so.

    The path is Kaggle's train.csv or all_data.csv, WILDS's all_data_with_identities.csv (gzipped or not), a
    parquet file in Hugging Face's layout, or a folder of such parquet files. The identity is "black",
    "muslim", "lgbtq" or "neurodiverse"; the last two are the maximum of several columns. Comments that
    nobody rated for identities are left out, or, with `keep_unannotated`, have the attribute -1.
    """
    columns = columns_of(IDENTITIES, identity)
    if not 0 < threshold <= 1:
        raise ValueError(f"threshold is {threshold}, expected a share of the raters above 0 and at most 1")
    where = _place(path)
    found = header(where)
    toxicity = either(where, found, TOXICITY)
    frame = read_columns(where, either(where, found, TEXT), [toxicity, *columns])
    if frame[toxicity].isna().any():
        raise ValueError(f"{where}: {toxicity} is missing in row {int(frame[toxicity].isna().argmax())}")
    share = frame[columns].max(axis=1)  # nan where every column is
    frame["label"] = frame[toxicity] >= threshold
    frame["attribute"] = (share >= threshold).astype(int).where(share.notna(), UNKNOWN)
    kept = frame if keep_unannotated else frame[share.notna()]
    return comments(kept, identity, ("not toxic", "toxic"), "civil_comments")


def _place(path: str | Path | None) -> Path:
    """The file, or the folder if it holds parquet files."""
    if path is not None and any((folder := Path(path).expanduser()).rglob("*.parquet")):
        return folder
    return require("civil_comments", NAMES, path, ADVICE)


DATASET = DataSet(
    "civil_comments",
    draw_environments(civil_comments),
    ("path", "identity", "threshold", "validation"),
    own_tables=True,
    about=ABOUT,
)
