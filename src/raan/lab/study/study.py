"""A study as a TOML file: which data, which methods with which grids, which seeds, and the rule that selects."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import Any, Literal, TypeGuard, get_args

from raan.fairness.aims import AIMS
from raan.fairness.metrics import NAMES
from raan.fairness.rule import Rule
from raan.lab.datasets.catalogue import DATA
from raan.lab.studies import find, read_select
from raan.lab.study.faults import Source, StudyError, Where, check_keys, check_table
from raan.methods import METHODS, grid
from raan.training.update import Style

Kind = Literal["comparison", "toy", "representation", "convergence"]
"""A comparison, or one of the paper's pictures, which `reproduce.figures` computes by its own [options]."""

MOST_SEEDS, MOST_RUNS = 10_000, 1_000_000
"""A study of more would not end, nor would its plan fit in memory."""

REPORT = ("data", "styles", "methods", "by")
"""What [report] may say."""


@dataclass(frozen=True)
class Data:
    """A data set by name, the options of its loader, and which network is trained on it."""

    name: str
    title: str
    options: Mapping[str, Any]
    architecture: str = "mlp"


@dataclass(frozen=True)
class Stage:
    """How a stage trains."""

    epochs: int = 10
    batch_size: int = 64
    points_per_epoch: int = 1
    learning_rate: tuple[float, ...] = (1e-3,)
    style: str = "adam"
    l2: tuple[float, ...] = (0.0,)
    first_epoch_points: int = 0  # in place of points_per_epoch in the first epoch; 0: the same there
    thresholds: int = 0  # common thresholds that every method may choose from; 0: the likeliest class alone


@dataclass(frozen=True)
class Entry:
    """A method of the study: its name there, the method it is, and the values of its dials."""

    name: str
    method: str
    dials: Mapping[str, tuple[Any, ...]]
    learning_rate: tuple[float, ...] = ()  # in place of the second stage's
    settings: tuple[Mapping[str, Any], ...] = ()  # in place of all values of all dials: these, one by one


@dataclass(frozen=True)
class Study:
    """All that a study file says."""

    name: str
    title: str
    kind: Kind = "comparison"
    seeds: tuple[int, ...] = (0, 1, 2, 3, 4)
    styles: tuple[str, ...] = ("adam",)
    select: Rule = Rule()
    first: Stage = Stage()
    second: Stage = Stage()
    configurations: int = 0  # of each method, drawn from its grid; 0: the whole grid
    data: tuple[Data, ...] = ()
    methods: tuple[Entry, ...] = ()
    report: Mapping[str, Any] = field(default_factory=dict)
    paper: Mapping[tuple[str, str, str, str], tuple[float, float]] = field(default_factory=dict)  # with its metric
    options: Mapping[str, Any] = field(default_factory=dict)
    base: "Study | None" = None  # the study that it extends, whose runs it shows in its own way

    @property
    def carried_out(self) -> "Study":
        """The study whose runs these are: itself, or the one that it extends."""
        return self.base or self

    @property
    def results(self) -> str:
        """The name of the results file."""
        return self.carried_out.name


def read_study(path: str | Path) -> Study:
    """The study in the file; what is wrong with it is an error with line, key and the nearest valid name."""
    return _read(find(path), ())


def _read(path: Path, extending: tuple[Path, ...]) -> Study:
    """The study in the file, which those before it extend one after the other."""
    source = Source.read(path)
    content = source.parsed()
    if "extends" in content:
        named = source.text_at(content, "extends")
        base = path.parent / named if (path.parent / named).exists() else find(named)
        if not base.exists():
            raise source.fault(Where((), "extends"), f"{named}, which is neither beside this file nor packaged")
        if base.resolve() in (path.resolve(), *extending):
            raise source.fault(Where((), "extends"), f"{named}, which extends this one in turn")
        return _extended(_read(base, (*extending, path.resolve())), source, content)
    return _study(source, content)


def _extended(base: Study, source: Source, content: Mapping[str, Any]) -> Study:
    """The other study's runs under a title and with a report of one's own."""
    check_keys(source, (), content, ("extends", "title", "report", "select"))
    values = {each.name: getattr(base, each.name) for each in fields(Study)}
    values |= {"name": source.path.stem, "title": content.get("title", base.title), "base": base.carried_out}
    if "select" in content:
        values["select"] = _select(source, content["select"])
        values["paper"] = {}  # the paper's figures belong to the points that the other rule chooses
    if "report" in content:
        values["report"] = _report(source, content["report"], base)
    return Study(**values)


def _report(source: Source, content: Mapping[str, Any], base: Study) -> Mapping[str, Any]:
    """What the report is about, in names that the study knows."""
    check_keys(source, ("report",), content, REPORT)
    named = {
        "data": [data.title for data in base.data],
        "styles": base.styles,
        "methods": [entry.name for entry in base.methods],
    }
    for key, known in named.items():
        for name in content.get(key, ()):
            source.check_choice(Where(("report",), key), name, tuple(known))
    if "by" in content:
        dials = dict.fromkeys(dial for entry in base.methods for dial in (*entry.dials, "learning_rate"))
        source.check_choice(Where(("report",), "by"), content["by"], tuple(dials))
    return content


TOP = (
    *("title", "kind", "seeds", "styles", "select", "first", "second", "configurations"),
    *("data", "methods", "report", "paper", "options"),
)


def _study(source: Source, content: Mapping[str, Any]) -> Study:
    """The study, each part read and checked by itself."""
    check_keys(source, (), content, ("extends", *TOP))
    kind = content.get("kind", "comparison")
    source.check_choice(Where((), "kind"), kind, get_args(Kind))
    styles = tuple(source.list_of(content, "styles", str, ["adam"]))
    for style in styles:
        source.check_choice(Where((), "styles"), style, get_args(Style))
    name = source.path.stem
    study = Study(
        name=name,
        title=source.text_at(content, "title", name),
        kind=kind,
        seeds=_seeds(source, content),
        styles=styles,
        select=_select(source, content.get("select", {})),
        first=_stage(source, "first", content.get("first", {})),
        second=_stage(source, "second", content.get("second", {})),
        configurations=_configurations(source, content),
        data=_data(source, content.get("data", [])),
        methods=_methods(source, content.get("methods", {})),
        paper=_paper(source, content.get("paper", [])),
        options=content.get("options", {}),
    )
    if kind == "comparison":
        for key in ("data", "methods"):
            if not getattr(study, key):
                raise source.fault(Where((), key), "is missing; a comparison needs one at least")
        if (runs := _count_runs(study)) > MOST_RUNS:
            raise source.fault(Where((), "methods"), f"a grid of {runs:,} runs; expected {MOST_RUNS:,} at most")
        if study.options:
            raise source.fault(Where((), "options"), "stated; a comparison has none")
    return replace(study, report=_report(source, content.get("report", {}), study))


def _seeds(source: Source, content: Mapping[str, Any]) -> tuple[int, ...]:
    """The seeds: a list of them, or how many."""
    seeds = content.get("seeds", 5)
    counted = _is_whole(seeds) and seeds <= MOST_SEEDS
    listed = list(range(seeds)) if counted else seeds
    sound = (
        isinstance(listed, list)
        and all(_is_whole(seed) and 0 <= seed < 2**32 for seed in listed)
        and len({*listed}) == len(listed) > 0
    )
    if _is_whole(seeds) and not counted:
        raise source.fault(Where((), "seeds"), f"{seeds}; expected {MOST_SEEDS:,} at most")
    if not sound:
        raise source.fault(Where((), "seeds"), f"{seeds!r}; expected a number, or a list of different seeds")
    return tuple(listed)


def _select(source: Source, content: Mapping[str, Any]) -> Rule:
    """The rule that selects, on validation rows."""
    check_keys(source, ("select",), content, ("aim", "accuracy_drop", "confidence"))
    aim = content.get("aim", Rule().aim)
    source.check_choice(Where(("select",), "aim"), aim, tuple(AIMS))
    drop = content.get("accuracy_drop", Rule().accuracy_drop)
    if not _is_number(drop) or not 0 <= drop <= 1:
        where = Where(("select",), "accuracy_drop")
        raise source.fault(where, f"{drop!r}; expected a share between 0 and 1, such as 0.01 for one point")
    confidence = content.get("confidence", 0.5)
    if not _is_number(confidence) or not 0.5 <= confidence < 1:
        where = Where(("select",), "confidence")
        raise source.fault(where, f"{confidence!r}; expected a share from 0.5, which is no margin, to below 1")
    return read_select(content)


def _configurations(source: Source, content: Mapping[str, Any]) -> int:
    """How many configurations of each method are drawn; 0 for the whole grid."""
    many = content.get("configurations", 0)
    if not _is_whole(many) or ("configurations" in content and many < 1):
        raise source.fault(Where((), "configurations"), f"{many!r}; expected a whole number from 1")
    return many


def _stage(source: Source, name: str, content: Mapping[str, Any]) -> Stage:
    """A stage's schedule; a single learning rate is a grid of one."""
    elsewhere = ("first_epoch_points", "thresholds") if name == "first" else ("style",)
    known = tuple(each.name for each in fields(Stage) if each.name not in elsewhere)
    check_keys(source, (name,), content, known)
    for key in ("epochs", "batch_size", "points_per_epoch", "first_epoch_points", "thresholds"):
        value = content.get(key, 1)
        if not isinstance(value, int) or isinstance(value, bool) or value < 1:
            raise source.fault(Where((name,), key), f"{value!r}; expected a whole number from 1")
    source.check_choice(Where((name,), "style"), content.get("style", "adam"), get_args(Style))
    grids = {"learning_rate": _rates(source, (name,), content, (1e-3,)), "l2": _penalties(source, name, content)}
    for key, values in grids.items():
        if name == "first" and len(values) > 1:
            raise source.fault(Where((name,), key), f"{values}; expected one: all start there")
    return Stage(**{**content, **grids})


def _rates(
    source: Source, table: tuple[str, ...], content: Mapping[str, Any], default: tuple[float, ...]
) -> tuple[float, ...]:
    """One learning rate or several."""
    given = content.get("learning_rate", default)
    rates = tuple(given) if isinstance(given, list | tuple) else (given,)
    if not all(_is_number(rate) and rate > 0 for rate in rates):
        raise source.fault(Where(table, "learning_rate"), f"{given!r}; expected numbers above 0")
    return tuple(float(rate) for rate in rates)


def _penalties(source: Source, name: str, content: Mapping[str, Any]) -> tuple[float, ...]:
    """One L2 penalty or several; 0 is none."""
    given = content.get("l2", 0.0)
    penalties = tuple(given) if isinstance(given, list) else (given,)
    if not penalties or not all(_is_number(penalty) and penalty >= 0 for penalty in penalties):
        raise source.fault(Where((name,), "l2"), f"{given!r}; expected numbers from 0")
    return tuple(float(penalty) for penalty in penalties)


def _data(source: Source, content: Any) -> tuple[Data, ...]:
    """The data sets, each with what its loader understands."""
    several = []
    for number, each in enumerate(source.tables(content, "data")):
        table = ("data", str(number))
        if "name" not in each:
            raise source.fault(Where(table, "name"), f"is missing; expected one of {', '.join(DATA)}")
        source.check_choice(Where(table, "name"), each["name"], tuple(DATA))
        check_keys(source, table, each, ("name", "title", "architecture", *DATA[each["name"]].options))
        for key in DATA[each["name"]].required:
            if key not in each:
                raise source.fault(Where(table, key), f"is missing; data of the name {each['name']!r} need it")
        source.check_choice(Where(table, "architecture"), each.get("architecture", "mlp"), ("mlp", "linear"))
        options = {key: value for key, value in each.items() if key not in ("name", "title", "architecture")}
        several.append(
            Data(each["name"], each.get("title", each["name"]), options, each.get("architecture", "mlp"))
        )
    titles = [data.title for data in several]
    if len({*titles}) < len(titles):
        raise source.fault(Where(("data", "0"), "title"), f"{titles}; give each data set a title of its own")
    return tuple(several)


def _methods(source: Source, content: Any) -> tuple[Entry, ...]:
    """The methods by the names that the study gives them."""
    check_table(source, ("methods",), content)
    for label, each in content.items():
        check_table(source, ("methods", label), each)
    return tuple(_entry(source, label, each) for label, each in content.items())


def _entry(source: Source, label: str, content: Mapping[str, Any]) -> Entry:
    """A method with the dials that the file turns; the others keep the method's own grid, or its value."""
    table = ("methods", label)
    name = content.get("method", label)
    source.check_choice(Where(table, "method" if "method" in content else None), name, tuple(METHODS))
    method = METHODS[name]
    known = tuple(each.name for each in fields(method) if each.name != "scope")  # type: ignore[arg-type]
    if "settings" in content:
        return Entry(label, name, {}, settings=_settings(source, label, content, method, known))
    check_keys(source, table, content, ("method", "learning_rate", "settings", *known))
    own = {dial: tuple(values) for dial, values in grid(method).items()}
    turned = {
        key: tuple(value) if isinstance(value, list) else (value,)
        for key, value in content.items()
        if key not in ("method", "learning_rate")
    }
    for dial, values in turned.items():
        for value in values:
            _check_dials(source, Where(table, dial), method, {dial: value})
    rates = _rates(source, table, content, ()) if "learning_rate" in content else ()
    return Entry(label, name, own | turned, rates)


def _settings(
    source: Source, label: str, content: Mapping[str, Any], method: Any, known: tuple[str, ...]
) -> tuple[Mapping[str, Any], ...]:
    """Settings that the file lists one by one; a dial that one leaves out has the method's own value."""
    where = Where(("methods", label), "settings")
    check_keys(source, where.table, content, ("method", "settings"))
    listed = content["settings"]
    if not isinstance(listed, list) or not listed or not all(isinstance(each, Mapping) for each in listed):
        raise source.fault(where, f"{listed!r}; expected a list such as [{{ learning_rate = 1e-3 }}]")
    for each in listed:
        for key in each:
            source.check_choice(where, key, ("learning_rate", *known))
        _rates(source, where.table, each, (1e-3,))
        _check_dials(source, where, method, {key: each[key] for key in each if key != "learning_rate"})
    return tuple(listed)


def _check_dials(source: Source, where: Where, method: Any, dials: Mapping[str, Any]) -> None:
    """A fault of the file for a value that the method does not take."""
    try:
        type(method)(**{**_values(method), **dials})
    except (ValueError, TypeError) as error:
        raise source.fault(where, str(error)) from error


def _values(method: Any) -> dict[str, Any]:
    return {each.name: getattr(method, each.name) for each in fields(method)}


def _paper(source: Source, content: Any) -> dict[tuple[str, str, str, str], tuple[float, float]]:
    """The figures that the paper prints, each with the measure that it prints them for."""
    found = {}
    for number, each in enumerate(source.tables(content, "paper")):
        table = ("paper", str(number))
        if "data" not in each:
            raise source.fault(Where(table, "data"), "is missing; expected a data set's title")
        source.check_choice(Where(table, "measure"), each.get("measure"), NAMES)
        for method, pair in each.items():
            if method in ("data", "style", "measure"):
                continue
            if not (isinstance(pair, list) and len(pair) == 2 and all(map(_is_number, pair))):
                raise source.fault(Where(table, method), f"{pair!r}; expected [mean, standard deviation]")
            key = (each["data"], each.get("style", "adam"), method, each["measure"])
            found[key] = (float(pair[0]), float(pair[1]))
    return found


def _count_runs(study: Study) -> int:
    """How many runs the study has, without listing them."""
    settings = 0
    for entry in study.methods:
        crossed = math.prod(len(values) for values in entry.dials.values())
        rates = len(entry.learning_rate or study.second.learning_rate)
        whole = (len(entry.settings) or crossed) * rates * len(study.second.l2)
        settings += max(study.configurations, len(entry.settings)) if study.configurations else whole
    return settings * len(study.seeds) * len(study.styles) * len(study.data)


def _is_whole(value: object) -> TypeGuard[int]:
    return isinstance(value, int) and not isinstance(value, bool)


def _is_number(value: object) -> TypeGuard[float]:
    return isinstance(value, int | float) and not isinstance(value, bool) and abs(value) < 1e300


__all__ = ["Data", "Entry", "Stage", "Study", "StudyError", "read_study"]
