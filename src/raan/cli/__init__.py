"""The command line. Each command has a file of its own, and imports what is heavy when it runs."""

import os
from typing import Annotated

import typer

from raan.cli.audit import audit
from raan.cli.choose import choose
from raan.cli.console import SeveralValues, run
from raan.cli.data import data_app
from raan.cli.demo import demo
from raan.cli.fit import fit
from raan.cli.methods import methods
from raan.cli.predict import predict
from raan.cli.report import report
from raan.cli.study import OptionalAddress, study

app = typer.Typer(
    name="raan",
    help="Make classifiers fair: Robust Adversarial Attribute Neighbourhood learning.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
)
app.command(cls=SeveralValues)(fit)
app.command(cls=SeveralValues)(choose)
app.command(cls=SeveralValues)(predict)
app.command(cls=SeveralValues)(audit)
app.command(cls=OptionalAddress)(study)
app.command()(report)
app.command()(methods)
app.command()(demo)
app.add_typer(data_app, name="data")


def _version(asked: bool) -> None:
    if asked:
        from raan import __version__

        typer.echo(f"raan {__version__}")
        raise typer.Exit


@app.callback()
def _options(
    debug: Annotated[bool, typer.Option("--debug", help="Show the whole traceback of an error.")] = False,
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Show the version and exit.")
    ] = False,
) -> None:
    """Options of every command."""


def main() -> None:
    """What the `raan` command runs."""
    # Threads that wait for one another would else spin, and on a busy machine take longer than one alone. It is
    # read when the first library that has such threads is imported.
    os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")
    run(app)
