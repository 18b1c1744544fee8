"""How classes and groups are called: the user's own words, and the column's where a value says nothing."""

import re

_NUMBER = re.compile(r"[-+]?\d+(\.\d+)?|true|false|[a-z]", re.IGNORECASE)
_ANSWER = re.compile(r"yes|no", re.IGNORECASE)


def call(name: object, column: str, kind: str) -> str:
    """`Female`, but `sex = 1`, and `hired = yes`; where the column's name is not known, `group 1`, and `yes`."""
    text = str(name)
    number, answer = (pattern.fullmatch(text.strip()) is not None for pattern in (_NUMBER, _ANSWER))
    if column and (number or answer):
        return f"{column} = {text}"
    return f"{kind} {text}" if number else text
