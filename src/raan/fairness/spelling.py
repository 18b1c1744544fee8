"""Classes that two columns spell differently: 0 and 1 against True and False, yes against Yes."""

from collections.abc import Iterable

import numpy as np

from raan.errors import InputError, Message, Option
from raan.fairness.groups import Codes, encode_classes

MOST_CLASSES = 200
"""Counts are quadratic in the number of classes, and nobody reads a table of so many."""

MOST_COUNTS = 1 << 24
"""Numbers that counts may hold: classes x groups x classes."""

_BOOLS = {"true": "1", "false": "0"}


def match_classes(y_true: object, y_pred: object) -> tuple[Codes, Codes, tuple[str, ...]]:
    """Labels and predictions as codes over one set of names, and a note where their spellings had to be matched.

    A predicted class that no label is called by is the label's that differs in case, in space around it, as 1.0
    from 1 or as True from 1, where there is one.
    """
    label, prediction = encode_classes(y_true=y_true, y_pred=y_pred)
    names = label.names
    alike = _alike(names, set(np.unique(label.codes).tolist()), set(np.unique(prediction.codes).tolist()))
    if not alike:
        return label, prediction, ()
    kept = [code for code in range(len(names)) if code not in alike]
    number = {code: place for place, code in enumerate(kept)}
    moved = np.array([number[alike.get(code, code)] for code in range(len(names))])
    known = tuple(names[code] for code in kept)
    said = ", ".join(f"{names[code]!r} as {names[like]!r}" for code, like in list(alike.items())[:5])
    note = f"Predictions spell classes otherwise than labels do; they were matched: {said}."
    return Codes(moved[label.codes], known), Codes(moved[prediction.codes], known), (note,)


def check_common(label: Codes, prediction: Codes) -> None:
    """Raise a ValueError where labels and predictions have no class in common, though there are many of them."""
    true, predicted = (sorted(set(np.unique(codes.codes).tolist())) for codes in (label, prediction))
    # Of two classes, all labels may be the one and all predictions the other.
    if len(true) + len(predicted) > 2 and not set(true) & set(predicted):
        raise InputError(
            Option("y_pred"),
            f"has the classes {_listed(label.names[code] for code in predicted)}",
            Message("some of those of ", Option("y_true"), f", {_listed(label.names[code] for code in true)}"),
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


def _alike(names: tuple[str, ...], true: set[int], predicted: set[int]) -> dict[int, int]:
    """For each class that is predicted and never true, the true one that is spelt like it, if any."""
    folded = {_fold(names[code]): code for code in true}
    if len(folded) < len(true):  # the labels themselves tell such spellings apart
        return {}
    found = {code: folded.get(_fold(names[code])) for code in sorted(predicted - true)}
    return {code: like for code, like in found.items() if like is not None}


def _fold(name: str) -> str:
    """What is left of a name without its spelling."""
    text = name.strip().casefold()
    try:
        number = float(text)
    except ValueError:
        return _BOOLS.get(text, text)
    return str(int(number)) if number.is_integer() else text


def _listed(names: Iterable[str], most: int = 5) -> str:
    quoted = [repr(name) for name in names]
    return ", ".join(quoted[:most]) + (f", ... ({len(quoted):,} in all)" if len(quoted) > most else "")
