"""Columns of texts and of images as numbers: each different one is embedded once, by a model that stays fixed.

This is the one place where such a column becomes numbers, for training rows and for new ones. The models run on
torch, which is imported when a column is embedded, and not before.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from os import PathLike
from pathlib import Path
from typing import Literal

import numpy as np
import pandas as pd
from jaxtyping import Float32, Int

from raan.errors import InputError, Message, MissingExtra, Option, is_installed
from raan.tables.columns import Place, Type, as_categories

Kind = Literal["text", "image"]
Source = Literal["package", "hub", "folder", "timm"]

SHOWN = 5
"""Maximum number of unusable images listed in an error."""


@dataclass(frozen=True)
class Encoder:
    """The model that embedded a column, as it is remembered: numbers of another one would mean something else.

    `source` says where it comes from: a package, the Hugging Face hub, a folder, or timm. `revision` is the hub's;
    `fingerprint` a hash of the model's bytes, or of name and revision where it is the hub's.
    """

    kind: Kind
    name: str
    source: Source
    fingerprint: str
    revision: str = ""

    def __str__(self) -> str:
        return f"{self.name}{f' at revision {self.revision[:12]}' if self.revision else ''}"


@dataclass(frozen=True)
class Media:
    """Which columns are texts or images, and how they are embedded.

    For new rows the columns and encoders are the fitted model's; an encoder is then named only where it was a
    folder. Images are files, named relative to `image_folder`; None is the folder of the table's file.
    `progress` receives the column, how many of its different values are done, and how many there are.
    """

    text: tuple[str, ...] = ()
    image: tuple[str, ...] = ()
    text_encoder: str | PathLike[str] | None = None  # a sentence-transformers model; None is the packaged MiniLM
    image_encoder: str | None = None  # a timm model; None is the packaged EfficientNet-lite0
    image_folder: str | PathLike[str] | None = None
    progress: Callable[[str, int, int], None] | None = None

    @property
    def kinds(self) -> dict[str, Kind]:
        """The columns that are to be embedded."""
        return {**dict.fromkeys(self.text, "text"), **dict.fromkeys(self.image, "image")}

    @property
    def types(self) -> dict[str, Type]:
        """As what these columns are read: words, each standing for a text or a file."""
        words: Type = "category"
        return dict.fromkeys(self.kinds, words)

    def beside(self, frame: object) -> Media:
        """The same, images being looked for beside the file unless a folder is named."""
        if self.image_folder is not None:
            return self
        return replace(self, image_folder=Path(frame).parent if isinstance(frame, str | PathLike) else Path())

    def encoder(self, kind: Kind) -> str | None:
        """The name of the encoder that is asked for, if one is."""
        name = self.text_encoder if kind == "text" else self.image_encoder
        return None if name is None else str(name)


@dataclass(frozen=True, eq=False)
class Vectors:
    """A column of texts or images as categories, with the embedding of each; the last is of a missing one."""

    words: pd.Series
    encoder: Encoder
    vectors: Float32[np.ndarray, "category_or_missing feature"]

    def __len__(self) -> int:
        return len(self.words)

    @property
    def codes(self) -> Int[np.ndarray, "row"]:
        """Each row's category, -1 where it is missing."""
        return self.words.cat.codes.to_numpy()

    def take(self, rows: Int[np.ndarray, "kept"]) -> Vectors:
        """Return the column with these rows only."""
        return replace(self, words=self.words.take(rows))


def embed_columns(
    columns: Mapping[str, pd.Series], encoders: Mapping[str, Kind | Encoder], media: Media, place: Place
) -> dict[str, pd.Series | Vectors]:
    """Return the columns, those of texts and images embedded.

    Args:
        columns: the columns as numbers and categories.
        encoders: the columns to embed. Training rows have the kind of each, and are embedded by the encoder that
            `media` asks for; new rows have the encoder of the training rows.
        media: where images are, and which encoders are asked for.
        place: the name of a row for messages.
    """
    return {
        name: _embed(name, column, encoders[name], media, place) if name in encoders else column
        for name, column in columns.items()
    }


def _embed(name: str, column: pd.Series, encoder: Kind | Encoder, media: Media, place: Place) -> Vectors:
    """Embed a column; a missing text is an empty one, a missing image an error."""
    fitted = encoder if isinstance(encoder, Encoder) else None
    kind = encoder.kind if isinstance(encoder, Encoder) else encoder
    if not is_installed("torch"):
        raise MissingExtra(f"embedding the column {name!r}", kind)
    from raan.data import encoders

    words = as_categories(column)
    names = list(words.cat.categories)
    show = media.progress
    progress = None if show is None else lambda done, total: show(name, done, total or 0)
    if kind == "text":
        found = encoders.find_text_encoder(media.encoder("text"), fitted)
        return Vectors(words, found.about, encoders.embed_texts([*names, ""], found, progress))
    folder = Path(media.image_folder or ".").expanduser()
    files = [folder / path for path in names]
    faults = {code: f"is not in {folder}" for code, file in enumerate(files) if not file.is_file()}
    if words.isna().any() or faults:
        raise _describe_unusable(name, words, faults, place)
    network = encoders.find_image_encoder(media.encoder("image"), fitted)
    vectors, faults = encoders.embed_images(files, network, progress)
    if faults:
        raise _describe_unusable(name, words, faults, place)
    nothing = np.zeros((1, vectors.shape[1]), np.float32)  # no row of an image is missing
    return Vectors(words, network.about, np.concatenate([vectors, nothing]))


def _describe_unusable(column: str, words: pd.Series, faults: Mapping[int, str], place: Place) -> InputError:
    """Return an error that names the rows whose images are missing or cannot be read."""
    codes = words.cat.codes.to_numpy()
    bad = np.flatnonzero((codes < 0) | np.isin(codes, list(faults)))
    said = []
    for row in bad[:SHOWN].tolist():
        code = codes[row]
        what = "it is missing" if code < 0 else f"{words.cat.categories[code]!r} {faults[code]}"
        said.append(f"{place(row)}: {what}")
    more = f"; and {len(bad) - SHOWN:,} more" if len(bad) > SHOWN else ""
    return InputError(
        f"the column {column!r}",
        f"has no usable image in {len(bad):,} of {len(words):,} rows: {'; '.join(said)}{more}",
        "the path of an image file in every row",
        Message("correct the paths (they are relative to ", Option("image_folder"), ") or leave these rows out"),
    )


def check_media(media: Media, roles: Sequence[str]) -> None:
    """Raise an InputError for a column that is text and image, or has another role; or encoders of no column."""
    named = [*media.text, *media.image]
    twice = next((name for name in named if name in roles or named.count(name) > 1), None)
    if twice is not None:
        options = Message(Option("text"), " or ", Option("image"))
        raise InputError(f"the column {twice!r}", Message("is named as ", options, " and otherwise"), "one role")
    asked = {"text_encoder": "text", "image_encoder": "image", "image_folder": "image"}
    for option, kind in asked.items():
        if getattr(media, option) is not None and not getattr(media, kind):
            raise InputError(Option(option), "is given", Message("a column to use it for, by ", Option(kind)))
