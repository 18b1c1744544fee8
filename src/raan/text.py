"""Text that users wrote: made safe to show, and compared whatever its spelling."""

import re
import unicodedata
from collections.abc import Sequence
from html import escape

_UNSAFE = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ud800-\udfff\ufffe\uffff]")
"""Control characters but tab and line breaks, characters that reverse the reading order, and what UTF-8 lacks."""

_FORMULA = re.compile("'*[=+\\-@\t\r＝＋－＠]")
"""The beginning of a cell that a spreadsheet would take for a formula, apostrophes before it aside."""


def replace_controls(text: str) -> str:
    """Replace each control character by the replacement character, so that it neither acts nor disappears.

    Names of groups, classes and columns come from files that anyone may have written. A terminal obeys the escape
    sequences in them, SVG files must not contain them, and characters that reverse the reading order make a name
    look like another. Tabs and line breaks stay.

    Args:
        text: Text of any origin.

    Returns:
        The text with U+FFFD in the place of each such character.

    Examples:
        >>> replace_controls("Fe\\x1b[31mmale")
        'Fe\ufffd[31mmale'
    """
    return text if text.isascii() and text.isprintable() else _UNSAFE.sub("\ufffd", text)


def escape_controls(json: str) -> str:
    """Escape the control characters that JSON may contain unescaped, so that the JSON means the same."""
    return _UNSAFE.sub(lambda found: f"\\u{ord(found[0]):04x}", json)


def fold_spelling(text: str) -> str:
    """Return the text without what only spelling decides: case, spaces, and composed or wide characters.

    Examples:
        >>> fold_spelling(" New  York") == fold_spelling("NEW YORK")
        True
    """
    plain = text if text.isascii() else unicodedata.normalize("NFKC", text)
    return " ".join(plain.split()).casefold()


def guard_cell(text: str) -> str:
    """Return the cell of a text file with an apostrophe before what a spreadsheet would execute as a formula.

    Numbers stay as they are. `unguard_cell`, by which raan reads text, gives the cell back as it was.

    Examples:
        >>> guard_cell("=1+1"), guard_cell("-5"), unguard_cell("'=1+1")
        ("'=1+1", '-5', '=1+1')
    """
    if not _FORMULA.match(text):
        return text
    try:
        float(text)
    except ValueError:
        return f"'{text}"
    return text


def unguard_cell(text: str) -> str:
    """Return the cell that `guard_cell` was given."""
    return text[1:] if text.startswith("'") and _FORMULA.match(text) else text


def html_table(rows: Sequence[Sequence[str]], title: str = "") -> str:
    """Return a table for notebooks; the first row is the header, and all text is escaped.

    Examples:
        >>> html_table([["group", "count"], ["<50", "3"]])
        '<table><tr><th>group</th><th>count</th></tr><tr><td>&lt;50</td><td>3</td></tr></table>'
    """
    lines = [f"<caption>{escape(title)}</caption>"] if title else []
    for place, row in enumerate(rows):
        tag = "td" if place else "th"
        cells = "".join(f"<{tag}>{escape(replace_controls(cell.strip()))}</{tag}>" for cell in row)
        lines.append(f"<tr>{cells}</tr>")
    return f"<table>{''.join(lines)}</table>"
