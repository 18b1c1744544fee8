"""Read study files: which data, methods, grids and seeds to run, and the rule that selects among the runs.

A study file is TOML. Pydantic validates its tables against the dataclasses below, and every error becomes a
`StudyError` that names the file, the key, what was expected and, for a misspelt name, the nearest valid one.
"""

import difflib
import math
import re
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import fields, replace
from pathlib import Path
from types import MappingProxyType
from typing import Annotated, Any, Literal, TypeVar

from pydantic import BeforeValidator, ConfigDict, Field, InstanceOf, TypeAdapter, ValidationError, model_validator
from pydantic.dataclasses import dataclass

from raan.fairness.measures import AIMS
from raan.fairness.metrics import NAMES
from raan.fairness.rule import Rule
from raan.lab.datasets.catalogue import DATA
from raan.lab.studies import find, names, read_select
from raan.methods import METHODS, grid
from raan.training.update import Style

Kind = Literal["comparison", "toy", "representation", "convergence"]
"""A comparison, or one of the paper's pictures, which `reproduce.figures` computes from its own [options]."""

MAX_SEEDS, MAX_RUNS = 10_000, 1_000_000
"""Larger studies would neither end nor fit in memory."""

FORBID = ConfigDict(extra="forbid")

PaperFigures = Mapping[tuple[str, str, str, str], tuple[float, float]]
"""Mean and standard deviation by data set, style, method and metric."""


class StudyError(ValueError):
    """A study file that cannot be run."""


# Errors raised while validating begin with " is ..." where they are about the value itself, and with ".KEY is ..."
# where they are about a key below it: the path of the value is put before them.


def _check_keys(table: Any, known: Iterable[str]) -> None:
    """Raise a ValueError unless this is a table whose keys are all known."""
    if not isinstance(table, Mapping):
        raise ValueError(f" is {table!r}; expected a table")
    for key in table:
        if key not in known:
            raise ValueError(f".{key} is not known there{_suggest(key, known)}; known are {', '.join(known)}")


def _check_choice(key: str, value: Any, choices: Iterable[str]) -> None:
    """Raise a ValueError that suggests the nearest choice unless the value is one of them."""
    if value not in tuple(choices):
        raise ValueError(f"{key} is {value!r}; expected one of {', '.join(choices)}{_suggest(value, choices)}")


def _check_number(key: str, value: Any, holds: bool, expected: str) -> None:
    """Raise a ValueError unless the value is a number for which the condition holds."""
    if not isinstance(value, int | float) or isinstance(value, bool) or not holds:
        raise ValueError(f"{key} is {value!r}; expected {expected}")


def _suggest(value: Any, choices: Iterable[str]) -> str:
    """Ask whether the nearest of the choices is meant; empty if none is near."""
    by_lower = {choice.lower(): choice for choice in choices}
    near = difflib.get_close_matches(str(value).lower(), by_lower, n=1, cutoff=0.5)
    return f" (did you mean {by_lower[near[0]]!r}?)" if near else ""


def as_tuple(value: Any) -> Any:
    """Turn a single value into a grid of one."""
    return tuple(value) if isinstance(value, list | tuple) else (value,)


Whole = Annotated[int, Field(strict=True, ge=1)]
WholeOrNone = Annotated[int, Field(strict=True, ge=0)]
Rate = Annotated[float, Field(strict=True, gt=0, allow_inf_nan=False)]
Penalty = Annotated[float, Field(strict=True, ge=0, allow_inf_nan=False)]
Seed = Annotated[int, Field(strict=True, ge=0, lt=2**32)]


@dataclass(frozen=True, config=FORBID)
class Data:
    """A data set by name, the options of its loader, and the architecture that is trained on it."""

    name: str
    title: str
    options: Mapping[str, Any]
    architecture: Literal["mlp", "linear"] = "mlp"


@dataclass(frozen=True, config=FORBID)
class Stage:
    """How a stage trains; the tables [first] and [second] of a study file.

    Args:
        epochs: The number of epochs.
        batch_size: The number of rows in a batch.
        points_per_epoch: How often validation and test rows are evaluated in an epoch.
        learning_rate: The learning rates of the grid; a single one is a grid of one.
        style: The optimiser: "sgd", "adam", "amsgrad" or "torch-adam".
        l2: The L2 penalties of the grid; a single one is a grid of one.
        first_epoch_points: The number of evaluations in the first epoch; 0 if it does not differ.
        thresholds: The number of common thresholds that every method may choose from; 0: the likeliest class.
    """

    epochs: Whole = 10
    batch_size: Whole = 64
    points_per_epoch: Whole = 1
    learning_rate: Annotated[tuple[Rate, ...], BeforeValidator(as_tuple)] = (1e-3,)
    style: Style = "adam"
    l2: Annotated[tuple[Penalty, ...], BeforeValidator(as_tuple), Field(min_length=1)] = (0.0,)
    first_epoch_points: WholeOrNone = 0
    thresholds: WholeOrNone = 0


@dataclass(frozen=True, config=FORBID)
class Entry:
    """A method of the study; a table [methods.NAME] of a study file.

    Args:
        name: The name of the method in the study.
        method: The name of the method in `raan.methods.METHODS`.
        grid: The values of each hyperparameter, which are crossed.
        learning_rate: The learning rates, in place of those of the second stage.
        settings: Combinations of hyperparameters, in place of the grid.
    """

    name: str
    method: str
    grid: Mapping[str, tuple[Any, ...]]
    learning_rate: Annotated[tuple[Rate, ...], BeforeValidator(as_tuple)] = ()
    settings: tuple[Mapping[str, Any], ...] = ()


def _read_seeds(value: Any) -> Any:
    """Turn a number of seeds into a list of them."""
    if isinstance(value, int) and not isinstance(value, bool):
        if value > MAX_SEEDS:
            raise ValueError(f" is {value}; expected {MAX_SEEDS:,} at most")
        value = range(value)
    if not isinstance(value, list | tuple | range) or not 0 < len(value) == len({*map(repr, value)}):
        raise ValueError(f" is {value!r}; expected a number of seeds, or a list of different seeds")
    return tuple(value)


def _read_select(value: Any) -> Any:
    """Turn the table [select] into a rule."""
    if isinstance(value, Rule):
        return value
    _check_keys(value, ("aim", "accuracy_drop", "confidence"))
    _check_choice(".aim", value.get("aim", Rule().aim), AIMS)
    drop, confidence = value.get("accuracy_drop", 0.0), value.get("confidence", 0.5)
    _check_number(".accuracy_drop", drop, 0 <= drop <= 1, "a share from 0 to 1, such as 0.01 for one point")
    _check_number(".confidence", confidence, 0.5 <= confidence < 1, "a share from 0.5 (no margin) to below 1")
    return read_select(value)


def _refuse(*elsewhere: str) -> BeforeValidator:
    """Make a validator that refuses those keys of a stage that belong elsewhere."""
    known = [each.name for each in fields(Stage) if each.name not in elsewhere]

    def check(value: Any) -> Any:
        if not isinstance(value, Stage):
            _check_keys(value, known)
        return value

    return BeforeValidator(check)


def _read_data(value: Any) -> Any:
    """Separate the options of the loader from the keys that every data set has."""
    if isinstance(value, Data):
        return value
    own = ("name", "title", "architecture")
    if isinstance(value, Mapping):
        _check_choice(".name", value.get("name"), DATA)
        loader = DATA[value["name"]]
        _check_keys(value, (*own, *loader.options))
        for key in loader.required:
            if key not in value:
                raise ValueError(f".{key} is missing; data of the name {value['name']!r} need it")
        options = {key: each for key, each in value.items() if key not in own}
        return {"title": value["name"], **{key: value[key] for key in own if key in value}, "options": options}
    raise ValueError(f" is {value!r}; expected a table, under [[data]]")


def _read_methods(value: Any) -> Any:
    """Turn the tables [methods.NAME] into entries; hyperparameters that are not named keep the method's grid."""
    if isinstance(value, tuple):
        return value
    if not isinstance(value, Mapping):
        raise ValueError(f" is {value!r}; expected a table for each method, such as [methods.RAAN]")
    entries = []
    for label, table in value.items():
        if not isinstance(table, Mapping):
            raise ValueError(f".{label} is {table!r}; expected a table, [methods.{label}]")
        name = table.get("method", label)
        _check_choice(f".{label}", name, METHODS)
        method = METHODS[name]
        known = [each.name for each in fields(method) if each.name != "scope"]  # type: ignore[arg-type]
        entry = {"name": label, "method": name, "grid": {}}
        try:
            if "settings" in table:
                _check_keys(table, ("method", "settings"))
                entry["settings"] = _check_settings(table["settings"], method, known)
            else:
                _check_keys(table, ("method", "learning_rate", "settings", *known))
                given = {key: as_tuple(table[key]) for key in table if key in known}
                for key, each in ((key, each) for key, several in given.items() for each in several):
                    _check_settings([{key: each}], method, known, f".{key}")
                entry["grid"] = {**grid(method), **given}
                entry |= {key: table[key] for key in ("learning_rate",) if key in table}
        except ValueError as error:
            raise ValueError(f".{label}{error}") from error
        entries.append(entry)
    return entries


def _check_settings(listed: Any, method: Any, known: Iterable[str], key: str = ".settings") -> tuple[Any, ...]:
    """Check combinations of hyperparameters by giving them to the method."""
    if not isinstance(listed, list) or not listed or not all(isinstance(each, Mapping) for each in listed):
        raise ValueError(f"{key} is {listed!r}; expected a list such as [{{ learning_rate = 1e-3 }}]")
    for each in listed:
        for name in each:
            _check_choice(key, name, ("learning_rate", *known))
        rate = each.get("learning_rate", 1e-3)
        _check_number(f"{key}.learning_rate", rate, 0 < rate < math.inf, "a number above 0")
        try:
            replace(method, **{name: value for name, value in each.items() if name != "learning_rate"})
        except (ValueError, TypeError) as error:
            raise ValueError(f"{key} is refused: {error}") from error
    return tuple(listed)


def _read_paper(value: Any) -> Any:
    """Turn the tables [[paper]] into the figures that the paper prints."""
    if isinstance(value, Mapping) and all(isinstance(key, tuple) for key in value):
        return value
    if not isinstance(value, list) or not all(isinstance(table, Mapping) for table in value):
        raise ValueError(f" is {value!r}; expected tables, each under [[paper]]")
    found = {}
    for number, table in enumerate(value):
        if "data" not in table:
            raise ValueError(f".{number}.data is missing; expected a data set's title")
        _check_choice(f".{number}.measure", table.get("measure"), NAMES)
        for method, pair in table.items():
            if method not in ("data", "style", "measure"):
                if not isinstance(pair, list) or len(pair) != 2:
                    raise ValueError(f".{number}.{method} is {pair!r}; expected [mean, standard deviation]")
                found[table["data"], table.get("style", "adam"), method, table["measure"]] = tuple(pair)
    return found


@dataclass(frozen=True, config=FORBID)
class Study:
    """The content of a study file.

    Args:
        name: The name of the file without its ending.
        title: The title in reports.
        kind: A comparison of methods, or one of the paper's figures.
        seeds: The seeds of the runs.
        styles: The optimisers of the second stage.
        select: The rule that selects a configuration and a point for each method and seed.
        first: How the first stage trains.
        second: How the second stage trains.
        configurations: The number of configurations of each method that are drawn from its grid; 0: all.
        data: The data sets.
        methods: The methods.
        report: The data, styles and methods that are reported, and a hyperparameter to report by.
        paper: The figures that the paper prints.
        options: The options of a figure.
        base: The study that this one extends, whose runs it shows in its own way.
    """

    name: str
    title: str
    kind: Kind = "comparison"
    seeds: Annotated[tuple[Seed, ...], BeforeValidator(_read_seeds)] = (0, 1, 2, 3, 4)
    styles: Annotated[tuple[Style, ...], Field(min_length=1)] = ("adam",)
    select: Annotated[InstanceOf[Rule], BeforeValidator(_read_select)] = Rule()
    first: Annotated[Stage, _refuse("first_epoch_points", "thresholds")] = Stage()
    second: Annotated[Stage, _refuse("style")] = Stage()
    configurations: WholeOrNone = 0
    data: tuple[Annotated[Data, BeforeValidator(_read_data)], ...] = ()
    methods: Annotated[tuple[Entry, ...], BeforeValidator(_read_methods)] = ()
    report: Mapping[str, Any] = Field(default_factory=dict)
    paper: Annotated[PaperFigures, BeforeValidator(_read_paper)] = Field(default_factory=dict)
    options: Mapping[str, Any] = Field(default_factory=dict)
    base: "Study | None" = None

    @property
    def with_runs(self) -> "Study":
        """The study that the runs belong to: this one, or the one that it extends."""
        return self.base or self

    @property
    def results(self) -> str:
        """The name of the results file."""
        return self.with_runs.name

    @model_validator(mode="after")
    def _check_parts_together(self) -> "Study":
        """Check what no part can check alone."""
        titles = [data.title for data in self.data]
        if len({*titles}) < len(titles):
            raise ValueError(f".data.title is {titles}; expected a different title for each data set")
        for key, values in (("learning_rate", self.first.learning_rate), ("l2", self.first.l2)):
            if len(values) != 1:
                raise ValueError(f".first.{key} is {list(values)}; expected one value, since all runs start there")
        if self.kind == "comparison":
            for key in ("data", "methods"):
                if not getattr(self, key):
                    raise ValueError(f".{key} is missing; a comparison needs at least one")
            runs = 0
            for entry in self.methods:
                crossed = len(entry.settings) or math.prod(map(len, entry.grid.values()))
                rates = len(entry.learning_rate or self.second.learning_rate)
                whole = crossed * rates * len(self.second.l2)
                runs += max(self.configurations, len(entry.settings)) if self.configurations else whole
            runs *= len(self.seeds) * len(self.styles) * len(self.data)
            if not 0 < runs <= MAX_RUNS:
                raise ValueError(f".methods is a grid of {runs:,} runs; expected at least 1, {MAX_RUNS:,} at most")
            if self.options:
                raise ValueError(".options is given; a comparison has none")
        entries = self.methods
        known: dict[str, Iterable[str]] = {
            "data": titles,
            "styles": self.styles,
            "methods": [entry.name for entry in entries],
            "by": [*dict.fromkeys(key for entry in entries for key in (*entry.grid, "learning_rate"))],
        }
        if not {*self.report} <= {*known}:
            raise ValueError(f".report is {self.report}; expected keys among {', '.join(known)}")
        for key, given in self.report.items():
            for name in as_tuple(given):
                _check_choice(f".report.{key}", name, known[key])
        return self


TOP = tuple(each.name for each in fields(Study) if each.name not in ("name", "base"))
"""What a study file may state at its top."""


def read_study(path: str | Path) -> Study:
    """Read a study file, or the packaged study of that name.

    Args:
        path: A TOML file, or a name such as `table-2`; a file comes before a packaged study of its name.

    Returns:
        The study. One that `extends` another has that study as its `base`.

    Raises:
        StudyError: The file is missing or wrong; the message names the key and the nearest valid name.
    """
    return _read(find(path), ())


def _read(path: Path, extending: tuple[Path, ...]) -> Study:
    """Read a study that those given extend, one after the other."""
    if not path.is_file():
        others = ", ".join(sorted(other.name for other in path.parent.glob("*.toml"))) or "none"
        raise StudyError(
            f"{path} is not there; study files in its folder: {others}; packaged: {', '.join(names())}"
        )
    try:
        content = tomllib.loads(path.read_text(encoding="utf-8"))
    except (ValueError, RecursionError) as error:  # among them TOML's own, and those of text that is not UTF-8
        raise StudyError(f"{path} is not TOML: {error}") from error
    if "extends" not in content:
        return validate(Study, {"title": path.stem, **content}, path, TOP, {"name": path.stem})
    named = str(content.pop("extends"))
    base = path.parent / named if (path.parent / named).exists() else find(named)
    if not base.exists():
        raise StudyError(f"{path}: extends is {named}, which is neither beside this file nor packaged")
    if base.resolve() in (path.resolve(), *extending):
        raise StudyError(f"{path}: extends is {named}, which extends this one in turn")
    study = _read(base, (*extending, path.resolve()))
    inherited = {each.name: getattr(study, each.name) for each in fields(Study) if each.name not in content}
    inherited |= {"name": path.stem, "base": study.with_runs}
    if "select" in content:
        inherited["paper"] = {}  # the paper's figures belong to the points that the other rule chooses
    return validate(Study, content, path, ("title", "report", "select"), inherited)


T = TypeVar("T")


def validate(
    kind: type[T],
    content: Mapping[str, Any],
    path: Path,
    known: Iterable[str] | None = None,
    more: Mapping[str, Any] = MappingProxyType({}),
    table: str = "",
) -> T:
    """Make a dataclass from a table of a study file.

    Args:
        kind: A dataclass of pydantic.
        content: The table.
        path: The file, for errors.
        known: The keys that the table may have; by default the fields of the dataclass.
        more: Values of fields that are not in the table.
        table: The name of the table, for errors.

    Raises:
        StudyError: A key is unknown or a value is wrong.
    """
    try:
        _check_keys(content, [each.name for each in fields(kind)] if known is None else known)  # type: ignore[arg-type]
        return TypeAdapter(kind).validate_python({**content, **more})
    except ValidationError as error:
        message = _describe(error, content)
    except (ValueError, TypeError) as error:
        message = str(error)
    message = f"{table}{'.' * bool(table)}{message.lstrip('. ')}"
    key = [part for part in message.split(" is ")[0].split(".") if not part.isdigit()][-1]
    wanted = re.compile(rf"\s*(\[+[^\]]*\b)?[\"']?{re.escape(key)}[\"']?\s*[=\]]")
    text = "" if " is missing" in message or not path.is_file() else path.read_text(encoding="utf-8")
    lines = [number for number, line in enumerate(text.splitlines(), 1) if wanted.match(line)]
    raise StudyError(f"{path}{f', line {lines[0]}' if len(lines) == 1 else ''}: {message}")


EXPECTED = {
    **dict.fromkeys(("tuple_type", "list_type"), "a list"),
    **dict.fromkeys(("dataclass_type", "mapping_type", "dict_type"), "a table"),
    "string_type": "text in quotes",
    "too_short": "at least one value",
}
"""What pydantic expected, in the words of TOML."""


def _describe(invalid: ValidationError, content: Mapping[str, Any]) -> str:
    """Describe the first error by its dotted place, the value, and what was expected."""
    error = invalid.errors()[0]
    place = [str(part) for part in error["loc"]]
    if place[:1] == ["methods"] and len(place) > 1:  # entries are numbered where the file has names
        place[1] = list(content["methods"])[int(place[1])]
    where, value, context = ".".join(place), error["input"], error.get("ctx", {})
    if error["type"] == "value_error":
        return f"{where}{context['error']}"
    if error["type"] == "literal_error":
        choices = re.findall("'([^']*)'", context["expected"])
        return f"{where} is {value!r}; expected one of {', '.join(choices)}{_suggest(value, choices)}"
    expected = EXPECTED.get(error["type"], error["msg"].removeprefix("Input should be "))
    expected = re.sub("^(greater|less)", r"a number \1", expected)
    hint = f", each under [[{where}]]" if where in ("data", "paper") else ""
    return f"{where} is {value!r}; expected {expected}{hint}"
