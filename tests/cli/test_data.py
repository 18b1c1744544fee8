"""The command `raan data`, within this process and once as a process of its own."""

import json
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from raan.cli.data import data_app
from raan.data.download import DataFile
from raan.lab.datasets import description
from raan.lab.datasets.description import CATALOGUE
from web import BODY, SHA256, server, web

__all__ = ["server", "web"]

pytestmark = pytest.mark.usefixtures("as_users_call")


def run(*arguments: str) -> Result:
    return CliRunner().invoke(data_app, arguments)


@pytest.fixture
def small(server: str, cache: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A catalogue of one data set, whose file can be fetched; where it will be."""
    file = DataFile("set", "file.bin", SHA256, len(BODY), (f"{server}/good",))
    monkeypatch.setattr(
        "raan.lab.datasets.description.CATALOGUE",
        {"set": replace(CATALOGUE["adult"], name="set", files=(file,))},
    )
    return cache / "set" / "file.bin"


def test_every_data_set_is_listed_with_what_must_be_known_of_it(cache: Path) -> None:
    result = run()
    assert result.exit_code == 0
    said = " ".join(result.output.split())
    for about in CATALOGUE.values():
        for text in (about.name, about.title, about.task, about.citation, *about.cautions):
            assert " ".join(text.split()) in said
    assert "raan data fetch adult" in said
    assert f"put it at {cache}/celeba/list_attr_celeba.txt" in said


def test_the_list_as_json_holds_state_files_and_checksums(cache: Path) -> None:
    entries = json.loads(run("--json").output)
    assert [entry["name"] for entry in entries] == list(CATALOGUE)
    adult = entries[0]
    assert adult["state"] == "can be fetched"
    assert adult["licence"] == "CC BY 4.0"
    assert adult["files"][0] == {
        "names": ["adult.data"],
        "here": None,
        "put": str(cache / "adult" / "adult.data"),
        "bytes": 3_974_305,
        "sha256": CATALOGUE["adult"].files[0].sha256,
    }


def test_a_data_set_is_fetched_and_its_files_are_named(small: Path) -> None:
    result = run("fetch", "set")
    assert (result.exit_code, result.stdout) == (0, f"{small}\n")
    assert small.read_bytes() == BODY
    assert json.loads(run("fetch", "set", "--json").stdout) == [str(small)]


def test_a_data_set_that_is_fetched_is_sound(small: Path) -> None:
    run("fetch", "set")
    result = run("check", "set")
    assert (result.exit_code, result.stdout) == (0, f"{small}: here, and as published\n")
    assert "here" in run().stdout


def test_a_data_set_that_is_not_here_or_damaged_fails_its_check(small: Path) -> None:
    result = run("check", "set")
    assert (result.exit_code, result.stdout) == (1, f"{small}: not here; it can be fetched\n")
    small.parent.mkdir(parents=True)
    small.write_bytes(BODY[1:])
    result = run("check", "set", "--json")
    assert result.exit_code == 1
    (finding,) = json.loads(result.stdout)
    assert finding["sound"] is False
    assert "not as published" in finding["said"]


def test_a_data_set_that_has_to_be_got_by_hand_says_how(cache: Path) -> None:
    result = run("fetch", "celeba")
    assert result.exit_code == 1
    assert "after agreeing to the terms" in str(result.exception)


def test_a_file_to_be_got_by_hand_keeps_no_other_from_being_fetched(
    small: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (offered,) = description.CATALOGUE["set"].files
    by_hand = replace(offered, name="terms.bin", urls=(), advice="ask us")
    monkeypatch.setitem(
        description.CATALOGUE, "set", replace(description.CATALOGUE["set"], files=(by_hand, offered))
    )
    result = run("fetch", "set")
    assert result.exit_code == 1
    assert "ask us" in str(result.exception)
    assert small.read_bytes() == BODY


@pytest.mark.parametrize("command", ["fetch", "check"])
def test_an_unknown_name_is_refused_with_those_there_are(command: str) -> None:
    result = run(command, "adlut")
    assert "there is no data set 'adlut'; expected one of adult" in str(result.exception)


def test_the_command_runs_as_a_process_of_its_own(small: Path, cache: Path) -> None:
    code = "from raan.cli.console import run; from raan.cli.data import data_app; run(data_app)"
    done = subprocess.run(
        (sys.executable, "-c", code, "check", "adult"), capture_output=True, text=True, check=False
    )
    assert done.returncode == 1, done.stderr
    assert done.stdout.splitlines() == [
        f"{cache}/adult/{name}: not here; it can be fetched" for name in ("adult.data", "adult.test")
    ]
