"""What is wrong with a study file, and where: line, key, and the nearest name that would have been right."""

import difflib
import re
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from raan.lab.studies import names


class StudyError(ValueError):
    """A study file that cannot be run."""


class Where(NamedTuple):
    """A key of a table of the file, None for the table itself; an array's tables are counted after its name."""

    table: tuple[str, ...]
    key: str | None


@dataclass(frozen=True)
class Source:
    """The text of a study file, for errors that name its lines."""

    path: Path
    text: str

    @classmethod
    def read(cls, path: Path) -> "Source":
        """The file's text."""
        if not path.is_file():
            others = ", ".join(sorted(other.name for other in path.parent.glob("*.toml"))) or "none"
            raise StudyError(
                f"{path} is not there; study files in its folder: {others}; packaged: {', '.join(names())}"
            )
        try:
            return cls(path, path.read_text(encoding="utf-8"))
        except UnicodeDecodeError as error:
            raise StudyError(f"{path} is not TOML, which is text in UTF-8: {error}") from error

    def parsed(self) -> dict[str, Any]:
        """The content; broken TOML is an error with its line."""
        try:
            return tomllib.loads(self.text)
        except (ValueError, RecursionError) as error:  # of which TOML's own are some
            raise StudyError(f"{self.path} is not TOML: {error}") from error

    def fault(self, where: Where, what: str) -> StudyError:
        """The error, with the line on which the key stands."""
        named = ".".join([*where.table, *([where.key] if where.key else [])])
        return StudyError(f"{self.path}, line {self._line(where)}: {named} {_is(what)}{what}")

    def check_choice(self, where: Where, value: object, choices: Sequence[str]) -> None:
        """An error for a value that is none of the choices, with the nearest one."""
        if value not in choices:
            raise self.fault(where, f"{value!r}; expected one of {', '.join(choices)}{nearest(value, choices)}")

    def text_at(self, content: Mapping[str, Any], key: str, default: str = "") -> str:
        """A value that must be text."""
        value = content.get(key, default)
        if not isinstance(value, str):
            raise self.fault(Where((), key), f"{value!r}; expected text in quotes")
        return value

    def list_of(self, content: Mapping[str, Any], key: str, kind: type, default: list[Any]) -> list[Any]:
        """A value that must be a list of one kind of thing, and not empty."""
        value = content.get(key, default)
        if not isinstance(value, list) or not value or not all(isinstance(each, kind) for each in value):
            raise self.fault(Where((), key), f"{value!r}; expected a list such as {default}")
        return value

    def tables(self, content: Any, name: str) -> list[Mapping[str, Any]]:
        """A value that must be an array of tables."""
        if not isinstance(content, list) or not all(isinstance(each, Mapping) for each in content):
            raise self.fault(Where((), name), f"{content!r}; expected tables, each under [[{name}]]")
        return content

    def _line(self, where: Where) -> int:
        """The number of the line that sets the key, or of its table's header, or 1."""
        found, current, counts = 1, tuple[str, ...](), dict[str, int]()
        sets = re.compile(rf"\s*[\"']?{re.escape(where.key or '')}[\"']?\s*=")
        for number, line in enumerate(self.text.splitlines(), 1):
            if header := re.match(r"\s*\[(\[?)([^\]]+)\]", line):
                current = _names(header[2])
                if header[1]:
                    counts[header[2]] = counts.get(header[2], -1) + 1
                    current = (*current, str(counts[header[2]]))
                if current in (where.table, (*where.table, where.key)):
                    found = number
            elif current == where.table and where.key and sets.match(line):
                return number
        return found


def check_keys(source: Source, table: tuple[str, ...], content: Mapping[str, Any], known: Sequence[str]) -> None:
    """An error for a key that means nothing there, with the nearest one that does."""
    check_table(source, table, content)
    for key in content:
        if key not in known:
            listed = ", ".join(known)
            raise source.fault(Where(table, key), f"is not known there{nearest(key, known)}; known are {listed}")


def check_table(source: Source, table: tuple[str, ...], content: object) -> None:
    """An error for what is no table."""
    if not isinstance(content, Mapping):
        raise source.fault(Where(table[:-1], table[-1]), f"{content!r}; expected a table, [{'.'.join(table)}]")


def nearest(value: object, choices: Iterable[str]) -> str:
    """A question that names the likeliest of the choices, if one is near."""
    by_lower = {choice.lower(): choice for choice in choices}
    near = difflib.get_close_matches(str(value).lower(), by_lower, n=1, cutoff=0.5)
    return f" (did you mean {by_lower[near[0]]!r}?)" if near else ""


def _names(header: str) -> tuple[str, ...]:
    """The parts of a table's header: methods."RL-RAAN" is two."""
    return tuple(part.strip().strip("\"'") for part in re.findall(r"\"[^\"]*\"|'[^']*'|[^.]+", header))


def _is(what: str) -> str:
    return "" if what.startswith("is ") else "is "
