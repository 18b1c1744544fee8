"""The measures that an aim, a performance or a limit can name."""

from typing import Annotated

import typer
from rich.table import Table

from raan.cli.console import console, write_json
from raan.fairness.measures import AIMS, COMPARISONS, RATES


def measures(as_json: Annotated[bool, typer.Option("--json", help="Print JSON, for programs.")] = False) -> None:
    """List the measures by name, with their formulas: rates, the comparisons that each of them has, and aims.

    A rate such as precision is measured of all people, and precision.gap, .ratio, .min, .max and .mean_gap compare
    the groups. Formulas may take the place of names: "(fn / (tn + fn)).max", "(recall + specificity) / 2",
    "cost(fp=1, fn=5)".
    """
    names = {key: (each.title, each.formula) for key, each in RATES.items()}
    named = {each.option: (each.title, each.formula) for each in AIMS.values()}
    if as_json:
        listed = {"rates": names, "comparisons": COMPARISONS, "aims": named}
        write_json({part: dict(each) if isinstance(each, dict) else list(each) for part, each in listed.items()})
        return
    for title, several in (("Rates: of all people, and by group", names), ("Aims with names of their own", named)):
        table = Table(title=title, title_justify="left")
        table.add_column("name", no_wrap=True)
        table.add_column("what it is")
        table.add_column("formula")
        for name, (what, formula) in several.items():
            table.add_row(name.replace("_", "-"), what, formula)
        console.print(table)
    console.print(f"Every rate has {', '.join(f'.{each}' for each in COMPARISONS)}.", highlight=False)
