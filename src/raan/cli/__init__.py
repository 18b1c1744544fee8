"""The command line. Each command has a file of its own, and imports what is heavy when it runs."""

import inspect
import os
from collections.abc import Callable
from typing import Annotated

import typer

from raan.cli.audit import audit
from raan.cli.certify import certify
from raan.cli.choose import choose
from raan.cli.console import SeveralValues, run
from raan.cli.data import data_app
from raan.cli.demo import demo
from raan.cli.fit import fit
from raan.cli.measures import measures
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


def _help(command: Callable[..., None]) -> str:
    """The command's docstring with each paragraph on one line: it is the terminal's to break, at its own width."""
    paragraphs = (inspect.getdoc(command) or "").split("\n\n")
    return "\n\n".join(" ".join(paragraph.split()) for paragraph in paragraphs)


app.command(cls=SeveralValues, help=_help(fit))(fit)
app.command(cls=SeveralValues, help=_help(choose))(choose)
app.command(cls=SeveralValues, help=_help(predict))(predict)
app.command(cls=SeveralValues, help=_help(audit))(audit)
app.command(cls=SeveralValues, help=_help(certify))(certify)
app.command(cls=OptionalAddress, help=_help(study))(study)
app.command(help=_help(report))(report)
app.command(help=_help(measures))(measures)
app.command(help=_help(methods))(methods)
app.command(help=_help(demo))(demo)
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
