"""What became of each column, as a table of text."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from raan.tabular.preprocessing import Preprocessing
from raan.tabular.sheet import Sheet
from raan.tabular.words import listed


class Described(NamedTuple):
    """What a column holds, and what became of it."""

    column: str
    role: str  # label, attribute, feature, ignored, or left out since it does not vary
    type: str
    values: str
    missing: str
    encoded: str


def describe_columns(
    sheet: Sheet, roles: Mapping[str, str], codes: Mapping[str, Sequence[str]], preprocessing: Preprocessing
) -> tuple[Described, ...]:
    """One line for each column; `roles` are those of columns that are no features, `codes` their names."""
    encodings = {encoding.column: encoding for encoding in preprocessing.encodings}
    lines = []
    for name, column in sheet.columns.items():
        encoding = encodings.get(name)
        role = [roles[name]] if name in roles else []
        encoded = [listed(codes[name], 4)] if name in codes else []
        lines.append(
            Described(
                name,
                ", ".join([*role, *(["feature"] if encoding else [])]) or "left out",
                encoding.kind if encoding else column.type,
                column.range(),
                column.absent(),
                "; ".join([*encoded, *([str(encoding)] if encoding else [])]),
            )
        )
    return tuple(lines)
