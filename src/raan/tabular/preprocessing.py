"""Columns as features: fitted to the training rows, saved with a model, applied to new rows."""

from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, Literal

import numpy as np
from jaxtyping import Float32, Int

from raan.errors import InputError
from raan.tabular.columns import MISSING, Place, Plain, Type
from raan.tabular.encoding import OTHER, Embedded, Encoding, OneHot, Standardised, fit_column
from raan.tabular.lines import Layout, Progress
from raan.tabular.media import Encoder, Media, embed_again
from raan.tabular.reading import read
from raan.tabular.roles import expand
from raan.tabular.sheet import Sheet
from raan.tabular.unfit import describe_unfit, leave_unfit
from raan.tabular.words import listed

VERSION = 1  # of what to_dict gives
ALL = 10
"""So many new rows or more that all lack a value are warned of; of fewer it may be so."""

UNFAMILIAR = 0.1
"""New rows of which a larger share has a category that no training row had are warned of."""


class DataWarning(UserWarning):
    """Something about the data that the user should look at."""


@dataclass(frozen=True)
class Rules:
    """How columns become features, and what is warned of.

    A missing number becomes the median of the training rows, and gets an indicator; a missing category is
    a category; a missing attribute is unknown (-1); a row without a label is dropped, or refused.
    """

    rare: int = 10  # categories with fewer training rows are pooled as "(other)"
    categories: int = 100  # so many of a column are kept at most, the most frequent; the others are pooled
    missing: tuple[str, ...] = MISSING  # the words that stand for a missing value
    missing_label: Literal["drop", "refuse"] = "drop"
    groups: int = 100  # a label or an attribute of more values is refused
    tiny: int = 30  # (class, attribute) cells with fewer rows are warned of
    judged: int = 0  # refused unless two groups have so many rows of every class, test rows aside


@dataclass(frozen=True)
class Preprocessing:
    """The features of a table's columns, by the statistics of its training rows.

    New rows need the columns by name, in any order; further columns are ignored. A category that no
    training row had is "(other)", or all zeros where nothing was pooled; a missing one is "(missing)", or
    all zeros where no training row lacked it; a missing number is the median.
    """

    encodings: tuple[Encoding, ...]
    missing: tuple[str, ...] = MISSING

    @classmethod
    def fit(
        cls,
        frame: object,
        train_rows: Int[np.ndarray, "train"] | None = None,
        *,
        ignore: Collection[str] = (),
        types: Mapping[str, Type] | None = None,
        rules: Rules = Rules(),
        layout: Layout = Layout(),
        argument: str = "frame",
    ) -> Preprocessing:
        """Fit the columns of a frame or file to its training rows, or to all rows if none are given.

        Columns that look like identifiers, dates, names or free text are left out, unless `types` names them.
        Errors call the frame by the name of the `argument` that it was.
        """
        asked = dict(types or {})
        text = [name for name, kind in asked.items() if kind == "category"]
        sheet = read(frame, missing=rules.missing, text=text, layout=layout, argument=argument)
        sheet.check_names(asked, "types")
        ignored = expand(sheet, ignore)
        train = np.arange(sheet.rows) if train_rows is None else train_rows
        names = [name for name in sheet.columns if name not in ignored]
        columns, unfit = leave_unfit(sheet, names, asked, train)
        encodings, notes = fit_columns(columns, train, rules)
        warn(*sheet.notes, *([describe_unfit(unfit)] if unfit else []), *notes)
        return cls(encodings, rules.missing)

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns that new rows need."""
        return tuple(encoding.column for encoding in self.encodings)

    @property
    def feature_names(self) -> tuple[str, ...]:
        """What the features are called, such as "age" and "job=Clerk"."""
        return tuple(name for encoding in self.encodings for name in encoding.feature_names)

    @property
    def encoders(self) -> dict[str, Encoder]:
        """What embeds the columns of texts and images."""
        return {each.column: each.encoder for each in self.encodings if isinstance(each, Embedded)}

    def transform(
        self,
        frame: object,
        *,
        layout: Layout = Layout(),
        media: Media = Media(),
        progress: Progress | None = None,
    ) -> Float32[np.ndarray, "row feature"]:
        """The features of the rows of a frame or file."""
        sheet = read(frame, missing=self.missing, text=self.text, layout=layout, progress=progress)
        columns = self.settle(sheet, media.beside(frame))
        strange = Unfamiliar()
        strange.add(self.encodings, columns)
        warn(*strange.notes())
        return self.features(columns, sheet.place)

    @property
    def text(self) -> tuple[str, ...]:
        """The columns of words."""
        return tuple(encoding.column for encoding in self.encodings if encoding.takes == "category")

    def settle(self, sheet: Sheet, media: Media = Media()) -> dict[str, Plain]:
        """The columns that are needed, of the types that they were fitted with; texts and images embedded."""
        sheet.check_columns(self.columns)
        types = {encoding.column: encoding.takes for encoding in self.encodings}
        return embed_again(sheet.settle(self.columns, types), self.encoders, media, sheet.place)

    def features(self, columns: Mapping[str, Plain], place: Place) -> Float32[np.ndarray, "row feature"]:
        """The features of settled columns, written one after the other into one array."""
        rows = len(columns[self.encodings[0].column])
        features = np.zeros((rows, len(self.feature_names)), dtype=np.float32)
        end = 0
        for encoding in self.encodings:
            start, end = end, end + len(encoding.feature_names)
            column: Any = columns[encoding.column]  # of the type that the encoding takes
            encoding.write(column, features[:, start:end], place)
        return features

    def to_dict(self) -> dict[str, Any]:
        """Plain values, as JSON can hold them, from which `from_dict` makes the same preprocessing."""
        columns = [{"type": encoding.kind, **asdict(encoding)} for encoding in self.encodings]
        return {"version": VERSION, "missing": list(self.missing), "columns": columns}

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Preprocessing:
        """The preprocessing that `to_dict` gave, in whole or as JSON gave it back."""
        if values.get("version") != VERSION:
            raise ValueError(f"the preprocessing has version {values.get('version')!r}, expected {VERSION}")
        try:
            encodings = tuple(_encoding(dict(column)) for column in values["columns"])
            missing = tuple(map(str, values["missing"]))
        except (KeyError, TypeError, ValueError) as error:
            raise ValueError(f"the preprocessing cannot be read: {type(error).__name__}: {error}") from error
        if not encodings:
            raise ValueError("the preprocessing has no columns, expected at least one")
        return cls(encodings, missing)


def warn(*notes: str) -> None:
    """Warn of each note, as from the line that called the function that calls this one."""
    for note in notes:
        warnings.warn(note, DataWarning, stacklevel=3)


def fit_columns(
    columns: Mapping[str, Plain], train: Int[np.ndarray, "train"], rules: Rules
) -> tuple[tuple[Encoding, ...], list[str]]:
    """The encoding of each column that varies in the training rows, and what to warn of."""
    encodings: list[Encoding] = []
    notes, rare = [], {}
    for name, column in columns.items():
        encoding, pooled = fit_column(name, column.take(train), rare=rules.rare, most=rules.categories)
        if encoding:
            encodings.append(encoding)
        else:
            notes.append(f"the column {name!r} is the same in all {len(train):,} training rows, and is left out")
        if pooled:
            rare[name] = pooled
    if not encodings:
        raise InputError(
            "no column",
            f"is left to learn from{f', of {listed(list(columns))}' if columns else ''}",
            "one that varies in the training rows",
        )
    return tuple(encodings), [*notes, *([_pooling(rare, rules)] if rare else [])]


def _pooling(rare: Mapping[str, Mapping[str, int]], rules: Rules) -> str:
    """One note of all columns of which categories were pooled: there may be many such columns."""
    of_each = []
    for name, pooled in rare.items():
        counts = [f"{category!r} {count:,}" for category, count in pooled.items()]
        of_each.append(f"{len(pooled):,} of {name!r} ({listed(counts)})")
    return (
        f"categories with fewer than {rules.rare} training rows, or beyond the {rules.categories} most frequent "
        f"of their column, are pooled as {OTHER!r}: {listed(of_each)}"
    )


@dataclass
class Unfamiliar:
    """What new rows have and training rows had not, by column: values that are all missing, and categories.

    Of categories that no training row had it is counted how many rows have one, with an example.
    """

    rows: int = 0
    absent: Counter[str] = field(default_factory=Counter)
    counts: Counter[str] = field(default_factory=Counter)
    examples: dict[str, str] = field(default_factory=dict)

    def add(self, encodings: Sequence[Encoding], columns: Mapping[str, Plain]) -> None:
        """Count those of some more rows."""
        self.rows += len(columns[encodings[0].column])
        for encoding in encodings:
            column: Any = columns[encoding.column]
            self.absent[encoding.column] += int(column.missing.sum())
            count, example = encoding.unfamiliar(column)
            if count:
                self.counts[encoding.column] += count
                self.examples.setdefault(encoding.column, example)

    def notes(self) -> Iterator[str]:
        """What to warn of: columns without a value, and categories where many rows have one."""
        empty = [repr(name) for name, count in self.absent.items() if count == self.rows >= ALL]
        if empty:
            one = len(empty) == 1
            yield (
                f"the column{'' if one else 's'} {listed(empty)} {'is' if one else 'are'} missing in all "
                f"{self.rows:,} rows: a number is then the median of the training rows, and the model sees nothing"
            )
        for name, count in self.counts.items():
            if count > UNFAMILIAR * self.rows:
                yield (
                    f"the column {name!r} has a category that no training row had in {count:,} of {self.rows:,} "
                    f"rows, such as {self.examples[name]!r}: the model knows nothing of it there"
                )


def _encoding(values: dict[str, Any]) -> Encoding:
    """One column's encoding, from what JSON gives back."""
    kind = values.pop("type")
    if kind == "category":
        return OneHot(str(values["column"]), tuple(map(str, values["categories"])))
    if kind in ("text", "image"):
        return _embedded(values)
    numbers = {name: float(values.pop(name)) for name in ("median", "mean", "scale")}
    if not (np.isfinite(list(numbers.values())).all() and numbers["scale"] > 0):
        raise ValueError(
            f"the column {values['column']!r} has {numbers}, expected finite numbers and a scale above 0"
        )
    return Standardised(str(values["column"]), **numbers, indicator=bool(values["indicator"]))


def _embedded(values: dict[str, Any]) -> Embedded:
    encoder = Encoder(**{name: str(value) for name, value in values["encoder"].items()})  # type: ignore[arg-type]
    mean, scale = (tuple(map(float, values[name])) for name in ("mean", "scale"))
    if not (np.isfinite([mean, scale]).all() and len(mean) and min(scale) > 0):
        raise ValueError(f"the column {values['column']!r} has no finite means and scales above 0")
    return Embedded(str(values["column"]), encoder, mean, scale)
