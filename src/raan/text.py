"""Text that users wrote, made safe to show."""

import re

_UNSAFE = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ud800-\udfff\ufffe\uffff]")
"""Control characters but tab and line breaks, characters that reverse the reading order, and what UTF-8 lacks."""


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
    return _UNSAFE.sub("\ufffd", text)
