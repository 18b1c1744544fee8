"""The methods that a study can compare: what each makes fair, what it must know for that, and its settings."""

from __future__ import annotations

import json
from dataclasses import asdict, fields
from typing import TYPE_CHECKING, Annotated, Any, cast

import typer

from raan.cli.console import console, waiting
from raan.errors import needing

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from rich.table import Table

    from raan.methods import Method, Refit


def methods(as_json: Annotated[bool, typer.Option("--json", help="Print JSON, for programs.")] = False) -> None:
    """List the methods: what each debiases, which group information it uses where, its settings and grids."""
    with waiting("looking up"), needing("raan methods"):
        from raan.methods import METHODS

    entries = [_entry(name, method) for name, method in METHODS.items()]
    if as_json:
        console.print_json(json.dumps(entries))
        return
    console.print(_table(entries))
    console.print(
        "Uses of groups are the method's own: whoever selects by fairness uses the attribute of validation rows, "
        "whatever the method. A hyperparameter is shown with the grid that it is tuned over. Thresholds per "
        "group, which need the attribute at prediction, are raan.FairFrontier(attribute_at_prediction=True), in "
        "Python."
    )


def _entry(name: str, method: Method | Refit) -> dict[str, Any]:
    """Return a method in dicts, lists, strings and numbers."""
    from raan.lab.study.plan import to_plain
    from raan.methods import grid

    grids = grid(method)
    return {
        "name": name,
        "class": type(method).__name__,
        "debiases": list(method.debiases),
        "group_information": asdict(method.group_use),
        "hyperparameters": {
            field.name: {
                "value": to_plain(getattr(method, field.name)),
                "default": to_plain(field.default),
                "grid": list(grids.get(field.name, ())),
            }
            for field in fields(cast(Any, method))
        },
    }


def _table(entries: Sequence[Mapping[str, Any]]) -> Table:
    """Return the methods as a table, one setting a line; those neither tuned nor changed are left out."""
    from rich.table import Table

    table = Table("method", "debiases", "uses of groups", "settings")
    for entry in entries:
        uses = [f"{what} in {when}" for when, what in entry["group_information"].items() if what]
        settings = "\n".join(
            _setting(name, setting["value"], setting["grid"])
            for name, setting in entry["hyperparameters"].items()
            if setting["grid"] or setting["value"] != setting["default"]
        )
        table.add_row(entry["name"], ", ".join(entry["debiases"]), "\n".join(uses), settings, end_section=True)
    return table


def _setting(name: str, value: Any, grid: Sequence[Any]) -> str:
    """`name = value`, and the grid if there is one: in full, or its ends if it is long."""
    if not grid:
        return f"{name} = {value}"
    shown = [f"{step:g}" for step in grid]
    if len(shown) > 5:
        shown[2:-1] = ["..."]
    return f"{name} = {value:g} ({', '.join(shown)})"
