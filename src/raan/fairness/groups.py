"""Columns as small integers: the sensitive attribute and the class, whichever library they come from.

Columns of pandas and polars are read through numpy's array protocol, so neither is imported here.
"""

import warnings
from collections import Counter
from collections.abc import Callable, Iterable, Sequence, Sized
from dataclasses import dataclass
from functools import reduce
from itertools import accumulate, combinations
from typing import Any

import numpy as np
from jaxtyping import Float, Int

from raan.errors import DataWarning, InputError, InputTypeError, Message, Option, listed
from raan.text import fold_spelling

UNKNOWN = -1
"""The code of a missing attribute. As an index it is the last slot of an axis, where metrics keep it."""

MOST_NUMBERS = 100
"""A column of more different numbers is a quantity, such as an age in days, and gives no groups as it stands."""

_Bool = bool | np.bool_
_Number = int | float | np.integer | np.floating  # and bool, which is an int to Python
_SORTABLE_KINDS = "biufmM"  # numpy's bools, numbers and dates: np.unique is quick on these


@dataclass(frozen=True, eq=False)  # arrays have no single truth value to compare by
class Codes:
    """A column as small integers: `codes[i]` indexes `names`; UNKNOWN (-1) where the value is missing."""

    codes: Int[np.ndarray, "row"]
    names: tuple[str, ...]


@dataclass(frozen=True, eq=False)
class _Column:
    """The distinct values of a column, and for each row its value's place among them."""

    values: tuple[object, ...]
    place: Int[np.ndarray, "row"]


def encode_attribute(
    sensitive_features: object,
    *,
    argument: str = "sensitive_features",
    allow_unknown: bool = False,
    allow_quantity: bool = False,
) -> Codes:
    """Codes of one attribute, or of the combinations that occur of several (the columns of a 2-D input).

    None, NaN, NaT and pandas.NA are unknown, and a row with any unknown part is unknown; that all rows are is an
    error, unless it is allowed. So is a column of numbers with so many values that it measures rather than groups.
    Names are sorted: numbers by value, text by letters, mixtures as text. Crossed names read "Black × Female".
    """
    table = _as_array(sensitive_features, argument)
    if table.ndim > 2 or 0 in table.shape:
        expected = "at least one row, and one column or several to cross"
        raise InputError(Option(argument), f"has shape {table.shape}", expected)
    columns = [_factorise(column, argument) for column in table.reshape(len(table), -1).T]
    if not allow_quantity:
        for column in columns:
            _check_groups(column, argument)
    crossed = cross_codes([_encode(column) for column in columns])
    if not (crossed.names or allow_unknown):
        raise InputError(
            Option(argument),
            f"is unknown (None or NaN) in all {len(table)} rows",
            "at least one known value",
            "there are no groups to compare",
        )
    return crossed


def cross_codes(columns: Sequence[Codes]) -> Codes:
    """Codes of the combinations of several columns that occur; unknown where any is. Unused names are dropped."""
    used = np.unique(columns[0].codes[columns[0].codes != UNKNOWN])
    first = Codes(_renumber(columns[0].codes, used), tuple(columns[0].names[code] for code in used))
    return reduce(_cross, columns[1:], first)


def encode_label(label: object, *, argument: str = "label") -> Codes:
    """Codes of the classes of one column, each the position among the sorted distinct values."""
    (codes,) = encode_classes(**{argument: label})
    if len(codes.names) < 2:
        raise InputError(Option(argument), f"holds one class only, {codes.names[0]!r}", "at least two")
    return codes


def encode_classes(**columns: object) -> tuple[Codes, ...]:
    """Codes of several columns of classes over the union of their values: equal codes, equal classes."""
    factorised = [_class_column(column, argument) for argument, column in columns.items()]
    joint = _encode(_bools_as_numbers(_stack(factorised)))
    ends = list(accumulate(len(column.place) for column in factorised))
    return tuple(Codes(part, joint.names) for part in np.split(joint.codes, ends[:-1]))


def keep_large_groups(attribute: Codes, cells: Int[np.ndarray, "label attribute"], least: int) -> Codes:
    """The attribute by the groups that can be evaluated: those with at least so many rows of every class.

    `cells` counts the rows of the evaluation. Rows of the other groups become unknown; those left are renumbered.
    """
    enough = np.asarray((cells >= least).all(0))
    number = np.append(np.where(enough, np.cumsum(enough) - 1, UNKNOWN), UNKNOWN)  # UNKNOWN reads the last entry
    names = tuple(name for name, kept in zip(attribute.names, enough, strict=True) if kept)
    return Codes(number[attribute.codes], names)


def check_lengths(**columns: Sized) -> None:
    """Raise a ValueError that names every column with its length, unless all are equally long."""
    lengths = {argument: len(column) for argument, column in columns.items()}
    if len(set(lengths.values())) > 1:
        first, *others = ((Option(argument), f" has {length}") for argument, length in lengths.items())
        found = Message(*first, *(part for each in others for part in (", ", *each)))
        raise InputError("the numbers of rows", Message("differ: ", found), "one row per sample in each")


def check_order(**columns: Any) -> None:
    """Raise an InputError where two columns of pandas have the same rows in another order, by their indices.

    Rows are matched by position, as scikit-learn does, so that such columns would mix people up.
    """
    indices = {name: each.index for name, each in columns.items() if hasattr(each, "iloc")}
    for (first, index), (name, other) in combinations(indices.items(), 2):
        if len(index) == len(other) and not index.equals(other) and Counter(index) == Counter(other):
            raise InputError(
                Option(name),
                Message("has the rows of ", Option(first), " in another order, by the indices"),
                "the same order",
                "select by .loc[index], or pass .to_numpy() where the rows correspond as they are",
            )


def check_unmasked(values: object, argument: str) -> None:
    """Raise an InputError for a masked array in which something is masked, since numpy would drop the mask."""
    if isinstance(values, np.ma.MaskedArray) and np.ma.is_masked(values):
        came = f"has {int(np.ma.getmaskarray(values).sum()):,} masked values"
        raise InputError(
            Option(argument), came, "values", "fill them, as by values.filled(...), or leave these out"
        )


def _as_array(column: object, argument: str) -> np.ndarray:
    """The column as numpy sees it, with missing values still recognisable as such."""
    if is_tensor(column):
        return _tensor_as_array(column, argument)
    if isinstance(column, np.ma.MaskedArray):
        return np.asarray(column.tolist(), dtype=object)  # masked entries become None
    try:
        array = np.asarray(column)
    except ValueError as error:
        came = f"cannot be read as an array ({error})"
        raise InputError(Option(argument), came, "rows of one length") from error
    if array.ndim == 0:
        raise InputTypeError(
            Option(argument),
            f"is a {type(column).__name__}",
            "a list, a numpy array, a torch tensor, or a Series or DataFrame of pandas or polars",
        )
    if isinstance(column, list | tuple) and array.dtype.kind not in _SORTABLE_KINDS:
        return np.asarray(column, dtype=object)  # numpy alone would turn ["a", nan] into ["a", "nan"]
    return array


def is_tensor(column: object) -> bool:
    """Whether this is a tensor of torch, or of a kind made from it; torch is not imported here to find out."""
    kinds = type(column).__mro__
    return hasattr(column, "detach") and any(kind.__module__.split(".")[0] == "torch" for kind in kinds)


def _tensor_as_array(tensor: Any, argument: str) -> np.ndarray:
    """The tensor's values in numpy; bfloat16, which numpy lacks, is widened."""
    if not tensor.ndim:
        raise InputTypeError(Option(argument), "is a tensor of one number", "one value per row")
    try:
        plain = tensor.detach().cpu()
        return np.asarray((plain.float() if str(plain.dtype) == "torch.bfloat16" else plain).numpy())
    except (TypeError, RuntimeError) as error:  # sparse, or without values
        came = f"is a tensor that cannot be read as an array ({error})"
        raise InputTypeError(Option(argument), came, "a dense tensor") from error


def _factorise(column: np.ndarray, argument: str) -> _Column:
    """Find the distinct values: by sorting where numpy is quick at it, by hashing for text and objects."""
    if column.dtype.kind in _SORTABLE_KINDS:
        values, place = np.unique(column, return_inverse=True)
        return _Column(tuple(values), place.astype(np.int64))
    rows = column.tolist()
    try:
        places = {value: place for place, value in enumerate(dict.fromkeys(rows))}
    except TypeError as error:
        came = f"holds values that cannot be grouped ({error})"
        raise InputTypeError(Option(argument), came, "text or numbers") from error
    return _Column(tuple(places), np.fromiter(map(places.__getitem__, rows), np.int64, len(rows)))


def _encode(column: _Column) -> Codes:
    """Number the known values in their natural order; values of one name (1 and "1") share a code."""
    known = [value for value in column.values if not _is_missing(value)]
    names = tuple(dict.fromkeys(map(_name, _naturally_sorted(known))))
    code_of = {name: code for code, name in enumerate(names)}
    codes = [UNKNOWN if _is_missing(value) else code_of[_name(value)] for value in column.values]
    return Codes(np.array(codes, dtype=np.int64)[column.place], names)


def _check_groups(column: _Column, argument: str) -> None:
    """Raise a ValueError for a quantity: numbers of so many values that each would be a group of few rows."""
    known = [value for value in column.values if not _is_missing(value)]
    if len(known) > MOST_NUMBERS and all(isinstance(value, _Number) for value in known):
        raise InputError(
            Option(argument),
            f"holds {len(known):,} different numbers in {len(column.place):,} rows",
            f"groups, by {MOST_NUMBERS} numbers at most",
            "bin them first, e.g. by pandas.cut or numpy.digitize; if they are codes, write them as text",
        )


def _renumber(codes: Int[np.ndarray, "row"], used: Int[np.ndarray, "used"]) -> Int[np.ndarray, "row"]:
    """The codes as places among those used; UNKNOWN stays."""
    return np.where(codes == UNKNOWN, UNKNOWN, np.searchsorted(used, codes)).astype(np.int64)


def _cross(left: Codes, right: Codes) -> Codes:
    """Codes of the pairs (left, right) that occur; unknown where either is."""
    known = (left.codes != UNKNOWN) & (right.codes != UNKNOWN)
    pair = left.codes * len(right.names) + right.codes
    occurring, place = np.unique(pair[known], return_inverse=True)
    codes = np.full(len(pair), UNKNOWN, dtype=np.int64)
    codes[known] = place
    parts = (divmod(int(value), len(right.names)) for value in occurring)
    return Codes(codes, tuple(f"{left.names[first]} × {right.names[second]}" for first, second in parts))


def _stack(columns: Iterable[_Column]) -> _Column:
    """One column below the other. A value may then stand twice among the distinct; `_encode` merges it."""
    values: tuple[object, ...] = ()
    places = []
    for column in columns:
        places.append(column.place + len(values))
        values += column.values
    return _Column(values, np.concatenate(places))


def _bools_as_numbers(column: _Column) -> _Column:
    """False and True as 0 and 1 where numbers stand beside them: `scores > 0.5` then meets labels 0 and 1."""
    if not any(isinstance(value, _Number) and not isinstance(value, bool) for value in column.values):
        return column
    values = tuple(int(value) if isinstance(value, _Bool) else value for value in column.values)
    return _Column(values, column.place)


def _class_column(column: object, argument: str) -> _Column:
    """The distinct classes of a column that has one legal class in every row, and at least one row."""
    array = _as_array(column, argument)
    if array.ndim != 1:
        raise InputError(
            Option(argument),
            f"has shape {array.shape}",
            "one dimension, one class per row",
            "pass a single column, or the argmax(axis=1) of scores",
        )
    if not len(array):
        raise InputError(Option(argument), "is empty", "at least one row")
    factorised = _factorise(array, argument)
    _check_classes(factorised, argument)
    return factorised


def _check_classes(column: _Column, argument: str) -> None:
    """Raise a ValueError at the first row whose value is missing or cannot be a class."""
    missing = _rows_where(column, _is_missing)
    if len(missing):
        raise InputError(
            Option(argument),
            f"is missing in {len(missing)} of {len(column.place)} rows, first at row {missing[0]}",
            "a class for every sample",
            "drop those rows",
        )
    strange = _rows_where(column, lambda value: not _is_class(value))
    if len(strange):
        value = column.values[column.place[strange[0]]]
        raise InputError(
            Option(argument),
            f"holds {value} at row {strange[0]}",
            "classes: numbers from 0 up or strings",
            f"e.g. {_class_advice(value)}",
        )


def _rows_where(column: _Column, test: Callable[[object], bool]) -> Int[np.ndarray, "found"]:
    """The rows whose value passes the test, which sees each distinct value once."""
    return np.flatnonzero(np.array([test(value) for value in column.values], dtype=bool)[column.place])


def _is_missing(value: object) -> bool:
    """Whether this is None or does not plainly equal itself, as NaN, NaT and pandas.NA do not."""
    if value is None:
        return True
    equal = value == value
    return not (isinstance(equal, _Bool) and bool(equal))


def _is_class(value: object) -> bool:
    """Whether this can be a class: text, a bool, or a whole number from 0 up."""
    if isinstance(value, str | bytes | _Bool):
        return True
    if not isinstance(value, _Number) or isinstance(value, np.timedelta64):  # which numpy counts among numbers
        return False
    return bool(value >= 0) and float(value).is_integer()


def _class_advice(value: object) -> str:
    """What to do about a value that cannot be a class: a sign is mapped, a score becomes a decision."""
    if not isinstance(value, _Number) or isinstance(value, np.timedelta64):
        return "write them as strings"
    return "map {-1, 1} to {0, 1}" if float(value).is_integer() else "take scores > 0.5"


def _name(value: object) -> str:
    """The value as text; 1.0 is "1", since missing values turn columns of integers into floats."""
    if isinstance(value, float | np.floating) and value.is_integer():
        return str(int(value))
    return value.decode(errors="replace") if isinstance(value, bytes) else str(value)


def _naturally_sorted(values: list[object]) -> list[object]:
    """Sort in the values' own order, or as text where they are of kinds that do not compare."""
    try:
        return sorted(values)  # type: ignore[type-var]
    except TypeError:
        return sorted(values, key=str)


MOST_CLASSES = 200
"""Counts are quadratic in the number of classes, and nobody reads a table of so many."""

MOST_COUNTS = 1 << 24
"""Numbers that counts may hold: classes x groups x classes."""

_BOOLS = {"true": "1", "false": "0"}


def match_classes(y_true: object, y_pred: object) -> tuple[Codes, Codes, tuple[str, ...]]:
    """Encode labels and predictions over one set of names, and note where their spellings differ.

    A predicted class that no label has is counted as the label's class that differs from it only by case, by
    spaces, as 1.0 from 1 or as True from 1. If the labels themselves differ only so, nothing is matched.
    """
    label, prediction = encode_classes(y_true=y_true, y_pred=y_pred)
    names, rows = label.names, np.bincount(prediction.codes, minlength=len(label.names)).tolist()
    true = np.unique(label.codes).tolist()
    known = {_fold(names[code]): code for code in true}
    unseen = [code for code in np.unique(prediction.codes).tolist() if code not in set(true)]
    alike = {code: known[_fold(names[code])] for code in unseen if _fold(names[code]) in known}
    alike = alike if len(known) == len(true) else {}
    notes = []
    if alike:
        said = [f"{names[code]!r} ({rows[code]:,} rows) as {names[like]!r}" for code, like in alike.items()]
        notes.append(f"Predictions spell classes otherwise than labels do; they were matched: {listed(said, 5)}.")
    if others := [f"{names[code]!r} ({rows[code]:,} rows)" for code in unseen if code not in alike]:
        notes.append(f"Predictions have classes that no label has: {listed(others, 5)}.")
    kept = [code for code in range(len(names)) if code not in alike]
    number = {code: place for place, code in enumerate(kept)}
    moved = np.array([number[alike.get(code, code)] for code in range(len(names))])
    classes = tuple(names[code] for code in kept)
    return Codes(moved[label.codes], classes), Codes(moved[prediction.codes], classes), tuple(notes)


def match_groups(
    sensitive_features: object, groups: Sequence[str], rows: int, *, allow_unknown: bool = False
) -> Int[np.ndarray, "row"]:
    """Encode the attribute of new rows by the groups of a fitted model; UNKNOWN where a value is missing.

    Args:
        sensitive_features: the attribute of each row.
        groups: the names of the groups that the model evaluated.
        rows: how many rows there are to predict.
        allow_unknown: whether it is no error that no row has one of the groups.

    Raises:
        InputError: for another number of rows, for values that spell a group otherwise (by case or spaces, or
            True for 1), and where no row has one of the groups.

    Warns:
        DataWarning: names other values, whose rows count as unknown.
    """
    found = encode_attribute(sensitive_features, allow_unknown=allow_unknown)
    check_lengths(X=range(rows), sensitive_features=found.codes)
    number = np.array([*(groups.index(name) if name in groups else UNKNOWN for name in found.names), UNKNOWN])
    if (number[:-1] != UNKNOWN).all():
        return np.asarray(number[found.codes])
    counts = np.bincount(found.codes[found.codes != UNKNOWN], minlength=len(found.names))
    known = {_fold(name): name for name in groups}
    others = [code for code in range(len(found.names)) if number[code] == UNKNOWN]
    for code in others:
        if like := known.get(_fold(found.names[code])):
            came = f"spells {like!r} as {found.names[code]!r} in {counts[code]:,} of {rows:,} rows"
            expected = f"the groups as they were in fit, {listed(groups)}"
            raise InputError(Option("sensitive_features"), came, expected, "write them as in fit")
    said = listed([f"{found.names[code]!r} ({counts[code]:,} rows)" for code in others], 5)
    if len(others) == len(found.names) and not allow_unknown:
        came = f"has none of the groups of fit, but {said}"
        raise InputError(Option("sensitive_features"), came, listed(groups), "write them as in fit")
    text = f"sensitive_features has values that are no group of the model, and count as unknown: {said}"
    warnings.warn(text, DataWarning, stacklevel=4)
    return np.asarray(number[found.codes])


def match_names(found: Sequence[str], names: Sequence[str]) -> list[int]:
    """Return the place of each found name among the others, whatever its spelling; UNKNOWN if it is not there."""
    folded = [_fold(name) for name in names]
    places = {name: place for place, name in enumerate(folded) if folded.count(name) == 1}
    places |= {name: place for place, name in enumerate(names)}
    return [places.get(name, places.get(_fold(name), UNKNOWN)) for name in found]


def merge_spellings(codes: Codes) -> Codes:
    """Merge values that differ only by case or spaces under the spelling that most rows have."""
    alike = _find_spellings(codes)
    if not alike:
        return codes
    first = {code: several[0] for several in alike for code in several}
    kept = [code for code in range(len(codes.names)) if first.get(code, code) == code]
    number = {code: place for place, code in enumerate(kept)}
    moved = np.array([*(number[first.get(code, code)] for code in range(len(codes.names))), UNKNOWN])
    return Codes(moved[codes.codes], tuple(codes.names[code] for code in kept))


def note_spellings(what: str | Option, codes: Codes, remedy: str | Message) -> Message | None:
    """Return a note on values that differ only by case or spaces, or None if there are none."""
    alike = _find_spellings(codes)
    if not alike:
        return None
    counts = np.bincount(codes.codes[codes.codes != UNKNOWN], minlength=len(codes.names))
    said = [" and ".join(f"{codes.names[code]!r} ({counts[code]:,} rows)" for code in each) for each in alike]
    differ = f" has values that differ only by case or spaces, and count as different: {listed(said, 5)}; "
    return Message(what, differ, remedy)


def note_missing(what: str, codes: Codes) -> str | None:
    """Return a note on values that are how numpy or pandas spell a missing one, or None."""
    rows = np.bincount(codes.codes[codes.codes != UNKNOWN], minlength=len(codes.names))
    found = [
        f"{name!r} ({rows[code]:,} rows)"
        for code, name in enumerate(codes.names)
        if {"", "nan", "NaN", "<NA>", "NaT"} & {part.strip() for part in name.split("×")}
    ]
    said = f"{what} has values that look missing, and count as values of their own: {listed(found, 5)}; "
    return f"{said}write None where a value is not known" if found else None


def warn_of_values(what: str, codes: Codes, stacklevel: int) -> None:
    """Warn of values that differ only by case or spaces, and of values that look missing."""
    for note in (note_spellings(what, codes, "write each in one way"), note_missing(what, codes)):
        if note:
            warnings.warn(note, DataWarning, stacklevel=stacklevel + 1)


def _find_spellings(codes: Codes) -> list[list[int]]:
    """Return the codes of values that differ only by case or spaces, together; the most frequent one first."""
    spelt: dict[str, list[int]] = {}
    for code, name in enumerate(codes.names):
        spelt.setdefault(fold_spelling(name), []).append(code)
    alike = [several for several in spelt.values() if len(several) > 1]
    if alike:
        counts = np.bincount(codes.codes[codes.codes != UNKNOWN], minlength=len(codes.names))
        alike = [sorted((code for code in each if counts[code]), key=lambda code: -counts[code]) for each in alike]
    return [several for several in alike if len(several) > 1]


def check_common(label: Codes, prediction: Codes) -> None:
    """Raise a ValueError where labels and predictions have no class in common, though there are many of them."""
    true, predicted = (sorted(set(np.unique(codes.codes).tolist())) for codes in (label, prediction))
    # Of two classes, all labels may be the one and all predictions the other.
    if len(true) + len(predicted) > 2 and not set(true) & set(predicted):
        raise InputError(
            Option("y_pred"),
            f"has the classes {listed([repr(label.names[code]) for code in predicted], 5)}",
            Message(
                "some of those of ", Option("y_true"), f", {listed([repr(label.names[code]) for code in true], 5)}"
            ),
            "write both alike",
        )


def check_size(classes: int, groups: int) -> None:
    """Raise a ValueError for more classes than can be counted against one another in little memory."""
    if classes > MOST_CLASSES or classes * classes * (groups + 1) > MOST_COUNTS:
        raise InputError(
            Message(Option("y_true"), " and ", Option("y_pred")),
            f"hold {classes:,} classes, and there are {groups:,} groups",
            f"{MOST_CLASSES} classes at most, and {MOST_COUNTS:,} cells of class, group and predicted class",
            "is it a number? Cut it into classes; else merge rare ones",
        )


def _fold(name: str) -> str:
    """Return a name without its spelling; 1.0, 1 and True are one."""
    text = fold_spelling(name)
    try:
        number = float(text)
    except ValueError:
        return _BOOLS.get(text, text)
    return str(int(number)) if number.is_integer() else text


def read_weights(sample_weight: Any, rows: int, *, allow_zeros: bool = False) -> Float[np.ndarray, "row"] | None:
    """The user's weights as floats, one for each row; all of them 0 is allowed of a part of a table only."""
    if sample_weight is None:
        return None
    check_unmasked(sample_weight, "sample_weight")
    try:
        weight = np.array(sample_weight, dtype=np.float64)
    except (TypeError, ValueError, RuntimeError) as error:  # the last of tensors
        raise TypeError(f"sample_weight cannot be read as numbers: {error}") from error
    if weight.shape != (rows,):
        raise ValueError(
            f"sample_weight has shape {weight.shape}; expected ({rows},), one weight for each row of X"
        )
    if not np.isfinite(weight).all() or (weight < 0).any() or not (allow_zeros or weight.any()):
        raise ValueError("sample_weight holds values that are negative, nan or infinite, or nothing but zeros")
    return weight
