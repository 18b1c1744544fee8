"""How classes and groups are called: the user's own words, and the column's name where a value alone says nothing."""

import re

_BARE = re.compile(r"[-+]?\d+(\.\d+)?|true|false|yes|no|[ynft]", re.IGNORECASE)


def is_bare(name: object) -> bool:
    """Whether a value says nothing without its column: a number, a yes or a no."""
    return _BARE.fullmatch(str(name).strip()) is not None


def call(name: object, column: str, kind: str) -> str:
    """`Female`, but `sex = 1`; `group 1` where the column's name is not known."""
    if not is_bare(name):
        return str(name)
    return f"{column} = {name}" if column else f"{kind} {name}"
