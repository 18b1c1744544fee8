"""What is wrong with a column, in words."""

from raan.errors import InputError, InputTypeError, Message, Option
from raan.tabular.words import ignoring


def strange(table: str, column: str, type_: str) -> InputTypeError:
    """The column holds neither numbers nor words."""
    return InputTypeError(
        f"{table}: the column {column!r}",
        f"holds {type_}",
        "numbers or words",
        Message("derive a number or a category from it, or leave it out by ", ignoring(column)),
    )


def infinite(place: str, column: str, value: float) -> InputError:
    """A number is infinite."""
    return InputError(f"{place}: the column {column!r}", f"is {value}", "a number")


def no_number(place: str, column: str, word: str, share: float, demanded: bool) -> InputError:
    """A word stands where so large a share are numbers, or where numbers are demanded."""
    # Where numbers are demanded, as by a fitted preprocessing, there are no rules left to change.
    otherwise = Message(
        "count it among the missing values by ",
        Option("missing", word, python="Rules(missing=...)"),
        ", or take the column for a category by ",
        Option("category", column, python=f"types={{{column!r}: 'category'}}"),
    )
    return InputError(
        f"{place}: the column {column!r}",
        f"is {word!r}",
        f"a number, as are {share:.1%} of its values",
        Message("correct it, or ", "leave it empty if it is not known" if demanded else otherwise),
    )


def comma(place: str, column: str, word: str) -> InputError:
    """A number has a comma."""
    return InputError(
        f"{place}: the column {column!r}",
        f"is {word!r}",
        "a number without a comma",
        Message(
            "if it marks decimals, pass ",
            Option("decimal", ",", python="Layout(decimal=',')"),
            "; if thousands, write the number without it",
        ),
    )


def too_wide(column: str, low: float, high: float) -> InputError:
    """Numbers are too far apart for their deviation to be computed."""
    return InputError(
        f"the column {column!r}",
        f"reaches from {low:.3g} to {high:.3g}, too far to be standardised",
        "numbers of like size",
        "take its logarithm, or its ranks",
    )


def too_far(place: str, column: str, value: float, mean: float, scale: float) -> InputError:
    """A number is so far from those of the training rows that its feature overflows."""
    return InputError(
        f"{place}: the column {column!r}",
        f"is {value:.3g}, too far to be used",
        f"a number like the training rows' (mean {mean:.3g}, standard deviation {scale:.3g})",
    )
