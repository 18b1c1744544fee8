"""Columns as features: fitted to training rows, saved with a model, applied to new rows."""

from __future__ import annotations

import warnings
from collections import Counter, defaultdict
from collections.abc import Collection, Iterator, Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, ClassVar, Literal, NamedTuple

import numpy as np
import pandas as pd
from jaxtyping import Float32, Int

from raan.errors import DataWarning, InputError, InputTypeError, Message, Option, listed
from raan.fairness.counts import MIN_CHOSEN
from raan.fairness.groups import UNKNOWN, Codes, merge_spellings, note_spellings
from raan.tables.checks import describe_unfit, find_misread, leave_unfit
from raan.tables.columns import MISSING, Place, Type, known_values
from raan.tables.media import Encoder, Media, Vectors, embed_columns
from raan.tables.read import Layout, Progress, RawTable, check_columns, read
from raan.text import fold_spelling

VERSION = 3
"""Of what `Preprocessing.to_dict` returns; since version 3 the range of training rows is among it."""

OTHER, ABSENT = "(other)", "(missing)"
"""The categories of values that are pooled, and of values that are missing."""

FAR = 1.0
"""A number is far outside the training rows' range by more than this multiple of the width of that range."""

MISSING_MORE, MISSING_ROWS = 0.1, 10
"""The share of missing values is much higher by more than twice the training rows' and this, in so many rows."""

NEW_VALUES = 1000
"""How many different new categories of a column are counted by name."""

Column = pd.Series | Vectors
"""A column: numbers, categories, or texts and images with their embeddings."""


@dataclass(frozen=True)
class Rules:
    """How columns become features, and what is warned of.

    A missing number becomes the median of the training rows, and gets an indicator; a missing category is a
    category.

    Attributes:
        rare: categories with fewer training rows are pooled as "(other)".
        categories: the most frequent ones of a column that are kept; the others are pooled.
        missing: the words that mean a missing value.
        missing_label: whether rows without a label are dropped or refused.
        groups: a label or an attribute with more values is refused.
        tiny: (class, attribute) cells with fewer rows are warned of.
        min_cell_rows: two groups must have so many rows of every class, test rows aside; otherwise the table is
            refused. 0 asks for nothing.
        merge_spellings: whether values that differ only by case or spaces are one; otherwise they are warned of.
    """

    rare: int = 10
    categories: int = 100
    missing: tuple[str, ...] = MISSING
    missing_label: Literal["drop", "refuse"] = "drop"
    groups: int = 100
    tiny: int = MIN_CHOSEN
    min_cell_rows: int = 0
    merge_spellings: bool = False

    def __post_init__(self) -> None:
        if isinstance(self.missing, str) or not all(isinstance(word, str) for word in self.missing):
            raise InputTypeError(Option("missing"), f"is {self.missing!r}", "several words, such as ('NA', '999')")


@dataclass(frozen=True)
class Standardised:
    """A number as (x - mean) / scale, the median where it is missing, with an indicator of that if asked for.

    `low` and `high` are the range of the training rows, and `absent` is the share of them without a value.
    """

    takes: ClassVar[Type] = "number"
    kind: ClassVar[str] = "number"
    column: str
    median: float
    mean: float
    scale: float
    indicator: bool
    low: float
    high: float
    absent: float

    @classmethod
    def fit(cls, name: str, column: pd.Series) -> Standardised | None:
        """Fit to training rows; None if all are missing or the same."""
        known = known_values(column)
        if not len(known):
            return None
        low, high, median = float(known.min()), float(known.max()), float(np.median(known))
        absent = 1 - len(known) / len(column)
        if low == high:  # the mean of equal numbers may differ from them by rounding
            return cls(name, median, median, 1.0, True, low, high, absent) if absent else None
        filled = column.fillna(median).to_numpy()
        with np.errstate(over="ignore", invalid="ignore"):
            mean, deviation = float(filled.mean()), float(filled.std())
        if not np.isfinite(deviation):
            raise InputError(
                f"the column {name!r}",
                f"reaches from {low:.3g} to {high:.3g}, too far to be standardised",
                "numbers of similar size",
                "take its logarithm, or its ranks",
            )
        # The squares of very small numbers vanish, their range does not.
        return cls(name, median, mean, deviation or high - low, absent > 0, low, high, absent)

    @property
    def feature_names(self) -> tuple[str, ...]:
        """The names of the features."""
        return (self.column, f"{self.column}={ABSENT}") if self.indicator else (self.column,)

    def write(self, column: pd.Series, features: Float32[np.ndarray, "row feature"], place: Place) -> None:
        """Write the features of each row; an InputError for a number that overflows."""
        values = column.to_numpy()
        absent = np.isnan(values)
        with np.errstate(over="ignore"):
            features[:, 0] = (np.where(absent, self.median, values) - self.mean) / self.scale
        infinite = np.isinf(features[:, 0])
        if infinite.any():
            row = int(infinite.argmax())
            raise InputError(
                f"{place(row)}: the column {self.column!r}",
                f"is {values[row]:.3g}, too far to be used",
                f"a number like the training rows' (mean {self.mean:.3g}, standard deviation {self.scale:.3g})",
            )
        if self.indicator:
            features[:, 1] = absent

    def __str__(self) -> str:
        filled = f"; missing as {self.median:.4g}, with an indicator" if self.indicator else ""
        return f"(x - {self.mean:.4g}) / {self.scale:.4g}{filled}"


@dataclass(frozen=True)
class OneHot:
    """A category as one feature for each category that is kept.

    Another value is "(other)" if there is such a category, and all features are 0 otherwise; likewise a missing
    value and "(missing)".
    """

    takes: ClassVar[Type] = "category"
    kind: ClassVar[str] = "category"
    column: str
    categories: tuple[str, ...]
    pooled: tuple[str, ...] = ()  # the categories of training rows that are pooled as "(other)"
    absent: float = 0.0  # the share of training rows without a value

    @classmethod
    def fit(cls, name: str, column: pd.Series, rules: Rules) -> tuple[OneHot | None, dict[str, int]]:
        """Fit to training rows, None if all are the same; return also the pooled categories with their counts."""
        names, codes = list(column.cat.categories), column.cat.codes.to_numpy()
        count = np.bincount(codes[codes >= 0], minlength=len(names))
        frequent = sorted(np.flatnonzero(count), key=lambda code: (-count[code], code))
        kept = {
            code
            for code in frequent[: rules.categories]
            if count[code] >= rules.rare and names[code] not in (OTHER, ABSENT)
        }
        pooled = {names[code]: int(count[code]) for code in frequent if code not in kept}
        categories = [names[code] for code in sorted(kept)]
        categories += [OTHER] * bool(pooled) + [ABSENT] * bool((codes < 0).any())
        absent = float((codes < 0).mean())
        return (cls(name, tuple(categories), tuple(pooled), absent) if len(categories) > 1 else None), pooled

    @property
    def feature_names(self) -> tuple[str, ...]:
        """The names of the features."""
        return tuple(f"{self.column}={category}" for category in self.categories)

    def write(self, column: pd.Series, features: Float32[np.ndarray, "row feature"], place: Place) -> None:
        """Write the features of each row, over zeros."""
        number = {category: number for number, category in enumerate(self.categories)}
        other, absent = number.get(OTHER, -1), number.get(ABSENT, -1)
        lookup = np.array([*(number.get(name, other) for name in column.cat.categories), absent])
        where = lookup[column.cat.codes.to_numpy()]
        rows = np.flatnonzero(where >= 0)
        features[rows, where[rows]] = 1

    def __str__(self) -> str:
        return f"one-hot: {listed(self.categories, 4)}"


@dataclass(frozen=True)
class Embedded:
    """A text or an image as the numbers of its embedding, each as (x - mean) / scale."""

    takes: ClassVar[Type] = "category"
    column: str
    encoder: Encoder
    mean: tuple[float, ...]
    scale: tuple[float, ...]

    @classmethod
    def fit(cls, name: str, column: Vectors) -> Embedded | None:
        """Fit to training rows; None if all are the same."""
        rows = column.vectors[column.codes].astype(np.float64)
        scale = rows.std(0)
        if not scale.any():
            return None
        # Near-constant dimensions carry no signal; rescaling them would amplify rounding noise.
        scale = np.where(scale > 1e-6 * scale.max(), scale, scale.max())
        return cls(name, column.encoder, tuple(rows.mean(0).tolist()), tuple(scale.tolist()))

    @property
    def kind(self) -> str:
        """What the column holds: "text" or "image"."""
        return self.encoder.kind

    @property
    def feature_names(self) -> tuple[str, ...]:
        """The names of the features."""
        return tuple(f"{self.column}[{number}]" for number in range(len(self.mean)))

    def write(self, column: Vectors, features: Float32[np.ndarray, "row feature"], place: Place) -> None:
        """Write the features of each row."""
        mean, scale = (np.array(each, np.float32) for each in (self.mean, self.scale))
        features[:] = ((column.vectors - mean) / scale)[column.codes]  # code -1 reads the last: missing

    def __str__(self) -> str:
        return f"embedded by {self.encoder} as {len(self.mean)} numbers"


Encoding = Standardised | OneHot | Embedded


@dataclass(frozen=True)
class Preprocessing:
    """How the columns of a table become features, by the statistics of its training rows.

    New rows need the columns by name, in any order; further columns are ignored. The words for missing values, the
    decimal mark and whether spellings are merged are those of the training rows.
    """

    encodings: tuple[Encoding, ...]
    missing: tuple[str, ...] = MISSING
    decimal: str = "."
    merge_spellings: bool = False

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

        Args:
            frame: a DataFrame of pandas or polars, or the path of a CSV, TSV or Parquet file.
            train_rows: the positions of the training rows.
            ignore: columns to leave out, by name or by a pattern such as "*_id".
            types: "number" or "category" for columns that do not look like what they are.
            rules: how columns become features.
            layout: how a text file is written.
            argument: the name of the frame in messages.
        """
        asked = dict(types or {})
        text = [name for name, kind in asked.items() if kind == "category"]
        table = read(frame, missing=rules.missing, text=text, layout=layout, argument=argument)
        table.check_names(asked, "types")
        ignored = table.match(ignore)
        train = np.arange(len(table.frame)) if train_rows is None else train_rows
        names = [name for name in table.names if name not in ignored]
        columns, unfit = leave_unfit(table, names, asked, train)
        columns, spelt = respell(columns, rules.merge_spellings)
        encodings, notes = fit_columns(columns, train, rules)
        misread = find_misread(columns, table.padded, train)
        warn(*table.notes, *([describe_unfit(unfit)] if unfit else []), *spelt, *misread, *notes)
        return cls(encodings, rules.missing, layout.decimal, rules.merge_spellings)

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns that new rows need."""
        return tuple(encoding.column for encoding in self.encodings)

    @property
    def feature_names(self) -> tuple[str, ...]:
        """The names of the features, such as "age" and "job=Clerk"."""
        return tuple(name for encoding in self.encodings for name in encoding.feature_names)

    @property
    def encoders(self) -> dict[str, Encoder]:
        """The encoders of the columns of texts and images."""
        return {each.column: each.encoder for each in self.encodings if isinstance(each, Embedded)}

    @property
    def text(self) -> tuple[str, ...]:
        """The columns of categories, texts and images."""
        return tuple(encoding.column for encoding in self.encodings if encoding.takes == "category")

    @property
    def spans(self) -> dict[str, slice]:
        """The features of each column."""
        ends = np.cumsum([0, *(len(encoding.feature_names) for encoding in self.encodings)]).tolist()
        return {name: slice(*span) for name, *span in zip(self.columns, ends[:-1], ends[1:], strict=True)}

    def transform(
        self,
        frame: object,
        *,
        layout: Layout | None = None,
        media: Media = Media(),
        progress: Progress | None = None,
    ) -> Float32[np.ndarray, "row feature"]:
        """Return the features of the rows of a frame or file; a DataWarning names what training rows had not."""
        layout = Layout(decimal=self.decimal) if layout is None else layout
        table = read(frame, missing=self.missing, text=self.text, layout=layout, progress=progress)
        drift = Drift()
        features = self.encode(table, media.beside(frame), drift)
        warn(*drift.notes)
        return features

    def encode(
        self, table: RawTable, media: Media = Media(), drift: Drift | None = None
    ) -> Float32[np.ndarray, "row feature"]:
        """Return the features of a table's rows, and count in `drift` what training rows had not."""
        check_columns(table.name, table.names, self.columns)
        types = {encoding.column: encoding.takes for encoding in self.encodings}
        checked = table.check(self.columns, types)
        if self.merge_spellings:
            checked = {each.column: _respell_as(checked[each.column], each) for each in self.encodings}
        columns = embed_columns(checked, self.encoders, media, table.locate)
        if drift is not None:
            drift.add(self.encodings, checked)
        return self.features(columns, table.locate)

    def features(self, columns: Mapping[str, Column], place: Place) -> Float32[np.ndarray, "row feature"]:
        """Return the features of checked columns, written one after the other into one array."""
        rows = len(columns[self.encodings[0].column])
        features = np.zeros((rows, len(self.feature_names)), dtype=np.float32)
        for encoding, span in zip(self.encodings, self.spans.values(), strict=True):
            column: Any = columns[encoding.column]  # of the type that the encoding takes
            encoding.write(column, features[:, span], place)
        return features

    def to_dict(self) -> dict[str, Any]:
        """Return plain values, as JSON can hold them, from which `from_dict` makes the same preprocessing."""
        columns = [{"type": encoding.kind, **asdict(encoding)} for encoding in self.encodings]
        return {
            "version": VERSION,
            "missing": list(self.missing),
            "decimal": self.decimal,
            "merge_spellings": self.merge_spellings,
            "columns": columns,
        }

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Preprocessing:
        """Make the preprocessing of which `to_dict` returned these values; a ValueError for other values."""
        if values.get("version") != VERSION:
            came = f"the preprocessing has version {values.get('version')!r}"
            raise ValueError(f"{came}; expected {VERSION}; fit the model again")
        try:
            encodings = tuple(_read_encoding(dict(column)) for column in values["columns"])
            missing, decimal = tuple(map(str, values["missing"])), str(values["decimal"])
            merge = values["merge_spellings"] is True
        except (KeyError, TypeError, ValueError) as error:
            raise ValueError(f"the preprocessing cannot be read: {type(error).__name__}: {error}") from error
        if not encodings:
            raise ValueError("the preprocessing has no columns; expected at least one")
        return cls(encodings, missing, decimal, merge)


def _read_encoding(values: dict[str, Any]) -> Encoding:
    """Make one column's encoding of plain values."""
    kind, name = values.pop("type"), str(values["column"])
    if kind == "category":
        kept, pooled = (tuple(map(str, values[each])) for each in ("categories", "pooled"))
        return OneHot(name, kept, pooled, float(values["absent"]))
    if kind in ("text", "image"):
        encoder = Encoder(**{key: str(value) for key, value in values["encoder"].items()})  # type: ignore[arg-type]
        mean, scale = (tuple(map(float, values[each])) for each in ("mean", "scale"))
        if not (np.isfinite([mean, scale]).all() and len(mean) and min(scale) > 0):
            raise ValueError(f"the column {name!r} has no finite means and scales above 0")
        return Embedded(name, encoder, mean, scale)
    numbers = {each: float(values[each]) for each in ("median", "mean", "scale", "low", "high", "absent")}
    if not (np.isfinite(list(numbers.values())).all() and numbers["scale"] > 0):
        raise ValueError(f"the column {name!r} has {numbers}; expected finite numbers and a scale above 0")
    return Standardised(name, **numbers, indicator=bool(values["indicator"]))


def warn(*notes: str) -> None:
    """Issue a DataWarning for each note, as from the line that called the function that calls this one."""
    for note in notes:
        warnings.warn(note, DataWarning, stacklevel=3)


def fit_columns(
    columns: Mapping[str, Column], train: Int[np.ndarray, "train"], rules: Rules
) -> tuple[tuple[Encoding, ...], list[str]]:
    """Fit the encoding of each column that varies in the training rows; return also what to warn of."""
    encodings: list[Encoding] = []
    notes, rare = [], []
    for name, column in columns.items():
        encoding: Encoding | None
        pooled: dict[str, int] = {}
        rows: Any = column.take(train)
        if isinstance(column, Vectors):
            encoding = Embedded.fit(name, rows)
        elif isinstance(column.dtype, pd.CategoricalDtype):
            encoding, pooled = OneHot.fit(name, rows, rules)
        else:
            encoding = Standardised.fit(name, rows)
        if encoding:
            encodings.append(encoding)
        else:
            notes.append(f"the column {name!r} is the same in all {len(train):,} training rows, and is left out")
        if pooled:
            counts = [f"{category!r} {count:,}" for category, count in pooled.items()]
            rare.append(f"{len(pooled):,} of {name!r} ({listed(counts)})")
    if not encodings:
        raise InputError(
            "no column",
            f"is left to learn from{f', of {listed(list(columns))}' if columns else ''}",
            "one that varies in the training rows",
        )
    if rare:
        notes.append(
            f"categories with fewer than {rules.rare} training rows, or beyond the {rules.categories} most "
            f"frequent of their column, are pooled as {OTHER!r}: {listed(rare)}"
        )
    return tuple(encodings), notes


def respell(columns: Mapping[str, pd.Series], merge: bool) -> tuple[dict[str, pd.Series], list[str]]:
    """Merge the values of each column that differ only by case or spaces, or else return a note on each column."""
    found, notes = dict(columns), list[str]()
    for name, column in columns.items():
        if not isinstance(column.dtype, pd.CategoricalDtype):
            continue
        codes = Codes(column.cat.codes.to_numpy(), tuple(column.cat.categories))
        if merge:
            found[name] = _as_column(merge_spellings(codes), column)
        elif note := note_spellings(f"the column {name!r}", codes, MERGE):
            notes.append(note)
    return found, notes


MERGE = Message("to merge them, pass ", Option("merge_spellings", python="Rules(merge_spellings=True)"))
"""What to do about values that differ only by case or spaces."""


def _respell_as(column: pd.Series, encoding: Encoding) -> pd.Series:
    """Return new rows' categories, those that differ from a training row's only by case or spaces as these."""
    if not isinstance(encoding, OneHot):
        return column
    known = {fold_spelling(name): name for name in (*encoding.pooled, *encoding.categories)}
    names = [known.get(fold_spelling(name), name) for name in column.cat.categories]
    place = {name: code for code, name in enumerate(dict.fromkeys(names))}
    lookup = np.array([*(place[name] for name in names), UNKNOWN])
    return _as_column(Codes(lookup[column.cat.codes.to_numpy()], tuple(place)), column)


def _as_column(codes: Codes, like: pd.Series) -> pd.Series:
    names = pd.Index(codes.names, dtype=object)
    return pd.Series(pd.Categorical.from_codes(codes.codes, names), like.index)


class DriftNote(NamedTuple):
    """One thing in which new rows differ from the training rows, with the number of rows that do."""

    column: str
    kind: Literal["new category", "out of range", "missing"]
    affected: int
    rows: int
    text: str


@dataclass
class Drift:
    """How new rows differ from training rows, counted by column: categories, ranges and missing values."""

    rows: int = 0
    encodings: tuple[Encoding, ...] = ()
    absent: Counter[str] = field(default_factory=Counter)
    new: dict[str, Counter[str]] = field(default_factory=lambda: defaultdict(Counter))
    far: dict[str, tuple[int, float]] = field(default_factory=dict)  # the count, and the first number

    def add(self, encodings: tuple[Encoding, ...], columns: Mapping[str, pd.Series]) -> None:
        """Count some more rows."""
        self.encodings = encodings
        self.rows += len(columns[encodings[0].column])
        for encoding in encodings:
            name, column = encoding.column, columns[encoding.column]
            self.absent[name] += int(column.isna().sum())
            if isinstance(encoding, OneHot):
                known = {*encoding.categories, *encoding.pooled}
                categories, codes = column.cat.categories, column.cat.codes.to_numpy()
                unseen = [code for code, category in enumerate(categories) if category not in known]
                if unseen:
                    counts = np.bincount(codes[codes >= 0], minlength=len(categories))
                    self._add_new(name, {categories[code]: int(counts[code]) for code in unseen})
            elif isinstance(encoding, Standardised):
                values, width = column.to_numpy(), FAR * (encoding.high - encoding.low)
                far = (values < encoding.low - width) | (values > encoding.high + width)
                if far.any():
                    count, first = self.far.get(name, (0, float(values[far.argmax()])))
                    self.far[name] = count + int(far.sum()), first

    def _add_new(self, column: str, counts: Mapping[str, int]) -> None:
        """Count new categories of a column, by name as far as there are not too many."""
        known = self.new[column]
        for name, count in counts.items():
            full = len(known) >= NEW_VALUES and name not in known
            known["" if full else name] += count

    def __add__(self, other: Drift) -> Drift:
        """Count the rows of both, those of `other` after these."""
        both = Drift(self.rows + other.rows, self.encodings or other.encodings, Counter(self.absent))
        both.absent.update(other.absent)
        for each in (self, other):
            for name, counts in each.new.items():
                both._add_new(name, counts)
            for name, (count, first) in each.far.items():
                before, shown = both.far.get(name, (0, first))
                both.far[name] = before + count, shown
        return both

    def to_dict(self) -> dict[str, Any]:
        """Return the counts as plain values, as JSON can hold them."""
        new = {name: dict(counts) for name, counts in self.new.items()}
        return {"rows": self.rows, "absent": dict(self.absent), "new": new, "far": dict(self.far)}

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Drift:
        """Make counts of which `to_dict` returned these values; the encodings are another drift's to add."""
        drift = cls(int(values["rows"]), absent=Counter(values["absent"]))
        drift.new.update({name: Counter(counts) for name, counts in values["new"].items()})
        drift.far = {name: (int(count), float(first)) for name, (count, first) in values["far"].items()}
        return drift

    @property
    def found(self) -> Iterator[DriftNote]:
        """Return what to warn of, column by column."""
        for encoding in self.encodings:
            name = encoding.column
            what, of_rows = f"the column {name!r}", f"of {self.rows:,} rows"
            if isinstance(encoding, OneHot) and (count := self.new[name].total()):
                known = {fold_spelling(each): each for each in (*encoding.pooled, *encoding.categories)}
                shown = []
                for value, rows in self.new[name].most_common(5):
                    like = known.get(fold_spelling(value))
                    spelt = f", which differs from {like!r} only by case or spaces" if like else ""
                    shown.append(f"{value!r} ({rows:,} rows{spelt})")
                more = f", ... ({len(self.new[name]):,} in all)" if len(self.new[name]) > 5 else ""
                text = f"{what} has categories that no training row had in {count:,} {of_rows}: {', '.join(shown)}"
                yield DriftNote(name, "new category", count, self.rows, f"{text}{more}")
            if isinstance(encoding, Standardised) and name in self.far:
                count, first = self.far[name]
                trained = f"the training rows' range ({encoding.low:.6g} to {encoding.high:.6g})"
                text = f"{what} is far outside {trained} in {count:,} {of_rows}, such as {first:.6g}"
                yield DriftNote(name, "out of range", count, self.rows, text)
            count, before = self.absent[name], getattr(encoding, "absent", 1.0)
            if self.rows >= MISSING_ROWS and count > (2 * before + MISSING_MORE) * self.rows:
                text = f"{what} is missing in {count:,} {of_rows}, and was in {before:.1%} of the training rows"
                yield DriftNote(name, "missing", count, self.rows, text)

    @property
    def notes(self) -> list[str]:
        """Return what to warn of as lines of text."""
        return [note.text for note in self.found]
