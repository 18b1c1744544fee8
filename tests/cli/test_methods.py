import json

import pytest
import typer
from typer.testing import CliRunner

from raan.cli.methods import methods
from raan.methods import METHODS, grid

pytestmark = pytest.mark.usefixtures("as_users_call")


def run(*arguments):
    app = typer.Typer()
    app.command()(methods)
    return CliRunner().invoke(app, arguments, env={"COLUMNS": "120"})


@pytest.fixture
def entries():
    return {entry["name"]: entry for entry in json.loads(run("--json").output)}


def test_every_method_is_listed_in_the_papers_order(entries):
    assert list(entries) == [*METHODS]
    assert list(entries)[:3] == ["Vanilla", "RNF", "Adversarial (DP)"]
    table = " ".join(run().output.split())
    assert "Adversarial (EO)" in table
    assert "raan.FairFrontier(attribute_at_prediction=True), in Python" in table


def test_what_is_debiased_is_the_papers_table_1(entries):
    expected = {
        "Vanilla": [],
        "Adversarial (DP)": ["encoder"],
        "EOR": ["head"],
        "RL-EOR": ["encoder", "head"],
        "RNF": ["head"],
        "RAAN": ["head"],
        "RL-RAAN": ["encoder", "head"],
    }
    assert {name: entries[name]["debiases"] for name in expected} == expected


def test_group_information_is_said_honestly(entries):
    uses = {name: entry["group_information"] for name, entry in entries.items()}
    none = dict(training="", validation="", prediction="")
    assert uses["Vanilla"] == uses["Plain + threshold"] == none
    assert uses["FairFrontier"] == none | dict(training="attribute", validation="attribute")
    assert uses["IRM"] == none | dict(training="environment")
    assert uses["ERM (balanced batches)"] == none | dict(training="attribute")
    assert all(
        uses[name] == none | dict(training="attribute")
        for name in METHODS
        if name not in ("Vanilla", "Plain + threshold", "FairFrontier", "IRM")
    )


def test_grids_are_the_papers():
    assert grid(METHODS["RAAN"]) == {
        "temperature": (0.1, 0.3, 0.5, 0.7, 0.9, 1.1, 1.3, 1.5, 1.7, 1.9),
        "averaging_rate": (0.1, 0.5, 0.9),
    }
    assert grid(METHODS["RNF"]) == {"smoothness": (0.0, 1e-4, 2e-4, 3e-4, 4e-4)}
    assert grid(METHODS["EOR"]) == {"weight": (0.01, 0.03, 0.05, 0.07, 0.09)}
    assert grid(METHODS["Adversarial (EO)"]) == {
        "weight": (0.01, 0.03, 0.05, 0.07, 0.09),
        "adversary_rate": (1e-2, 1e-3, 1e-4),
    }
    assert grid(METHODS["GroupDRO"]) == {"step": (1.0, 1.2, 1.4, 1.6, 1.8, 2.0)}


def test_what_makes_a_method_itself_is_not_tuned(entries):
    assert "temperature" not in grid(METHODS["Balancing only"])
    assert entries["Balancing only"]["hyperparameters"]["temperature"]["value"] == "inf"
