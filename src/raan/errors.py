"""Errors and notes that know their parts, so that Python and the command line phrase them in their own ways.

Python says `ignore=['id']` where the command line says `--ignore id`: a message keeps such an `Option` as it is,
and whoever shows the message decides how options are spelt.
"""

import shlex
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from difflib import get_close_matches
from importlib.util import find_spec
from numbers import Integral, Real
from typing import Any


@dataclass(frozen=True)
class Option:
    """A public parameter, by the name that the command line also has; with a value, the advice to pass it.

    `python` is how Python spells it, where that is not `name=value`.
    """

    name: str
    value: str | None = None
    python: str | None = None


Spelling = Callable[[Option], str]


def in_python(option: Option) -> str:
    """The option as a keyword argument."""
    if option.python is not None:
        return option.python
    return option.name if option.value is None else f"{option.name}={option.value!r}"


def in_shell(renamed: Mapping[str, str] | None = None) -> Spelling:
    """Spell options as the command line does; `renamed` gives those that a command calls otherwise."""

    def spell(option: Option) -> str:
        name = f"--{(renamed or {}).get(option.name, option.name).replace('_', '-')}"
        return name if option.value is None else f"{name} {shlex.quote(option.value)}"

    return spell


class Message(str):
    """Text in Python's spelling that still knows the options in it."""

    parts: tuple["str | Option", ...]

    def __new__(cls, *parts: "str | Option") -> "Message":
        """The parts one after the other; a part may be a message again."""
        flat = [piece for part in parts for piece in (part.parts if isinstance(part, Message) else (part,))]
        text = super().__new__(
            cls, "".join(in_python(part) if isinstance(part, Option) else part for part in flat)
        )
        text.parts = tuple(flat)
        return text

    def spell(self, spelling: Spelling) -> str:
        """The text with its options spelt so."""
        return "".join(spelling(part) if isinstance(part, Option) else part for part in self.parts)

    def __reduce__(self) -> tuple[Any, ...]:
        return Message, self.parts


class DataWarning(UserWarning):
    """Something about the data that the user should look at, such as new rows unlike the training rows.

    `warnings.simplefilter("error", DataWarning)` makes all of these errors, as `--strict` does.
    """


class InputError(ValueError):
    """An argument that cannot be used: which one, what came, what was expected, and what to do about it."""

    def __init__(
        self, argument: str | Option, came: str | Message, expected: str | Message, remedy: str | Message = ""
    ) -> None:
        self.argument, self.came, self.expected, self.remedy = argument, came, expected, remedy
        tail = ("; ", remedy) if remedy else ()
        self.message = Message(argument, " ", came, "; expected ", expected, *tail)
        super().__init__(str(self.message))

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.argument, self.came, self.expected, self.remedy)


class InputTypeError(InputError, TypeError):
    """An argument of a type that cannot be used."""


class MissingExtra(ModuleNotFoundError):
    """Something that is not installed: what needs it, and the extra that brings it."""

    def __init__(self, what: str, extra: str) -> None:
        self.what, self.extra = what, extra
        super().__init__(f'{what} needs the extra {extra!r}: pip install "raan[{extra}]"')

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.what, self.extra)


BROUGHT_BY = {"torch": "torch", "safetensors": "torch", "matplotlib": "figures"}
"""The extra that brings a package which whole subpackages import."""


@contextmanager
def needing(what: str) -> Iterator[None]:
    """Turn an import that fails within into the advice to install the extra that `what` needs.

    Nested calls report the outermost feature, which is the one that the user asked for.
    """
    try:
        yield
    except ImportError as error:
        package = (error.name or "").partition(".")[0]
        extra = error.extra if isinstance(error, MissingExtra) else BROUGHT_BY.get(package)
        if extra not in BROUGHT_BY.values():
            raise
        raise MissingExtra(what, str(extra)) from None


def is_number(value: object) -> bool:
    """Whether this is one real number, of Python's or numpy's."""
    return isinstance(value, Real)


def is_whole(value: object) -> bool:
    """Whether this is a whole number, of Python's or numpy's, and no bool."""
    return isinstance(value, Integral) and not isinstance(value, bool)


def is_installed(package: str) -> bool:
    """Whether a package that is not needed by everybody can be imported."""
    try:
        return find_spec(package) is not None
    except ImportError:
        return False


def spell(text: object, spelling: Spelling) -> str:
    """A message or an error in the spelling of Python or of the command line; other text stays as it is."""
    message = getattr(text, "message", text)
    return message.spell(spelling) if isinstance(message, Message) else str(text)


def listed(names: Sequence[str], most: int = 8) -> str:
    """Return the names separated by commas; of many, the first few and their number."""
    return ", ".join(names[:most]) + (f", ... ({len(names):,} in all)" if len(names) > most else "")


def nearest(name: str, names: Sequence[str]) -> str | None:
    """Return the name that is most like this one, whatever the case of its letters."""
    folded = {candidate.casefold(): candidate for candidate in names}
    near = get_close_matches(name.strip().casefold(), list(folded), n=1)
    return folded[near[0]] if near else None
