"""Damage to the files of raan: the same result, or a paragraph that names the file; never a wrong one."""

import gzip
import json
import shutil

import pytest

from commands import raan
from damage import attempt, check, damages
from raan.io.files import new_folder, why_foreign
from raan.lab.results.records import format_explanation, parse_explanation, read
from raan.lab.study.explain import explain_results
from raan.lab.study.run import run_study
from raan.lab.study.study import read_study

STUDY = """
title = "A small one"
seeds = 2
[first]
epochs = 1
[second]
epochs = 1
[[data]]
name = "toy"
rows = 300
[methods.Vanilla]
[methods.RAAN]
temperature = 0.5
averaging_rate = 0.5
"""

SHARES = [12, pytest.param(300, marks=pytest.mark.exhaustive)]
"""How many damages: a few that tell of a mistake at once, and many that tell of rare ones."""


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """A finished study: its file, results with and without gzip, and the explanation."""
    folder = tmp_path_factory.mktemp("whole")
    (folder / "small.toml").write_text(STUDY)
    study = read_study(folder / "small.toml")
    run_study(study, folder / "small.jsonl")
    explain_results(study, folder / "small.jsonl")
    (folder / "packed.jsonl.gz").write_bytes(gzip.compress((folder / "small.jsonl").read_bytes(), mtime=0))
    return folder


@pytest.mark.parametrize("number", SHARES)
@pytest.mark.parametrize("name", ["packed.jsonl.gz", "small.explain.json"])
def test_a_report_of_damaged_results_is_the_same_or_refused_with_the_files_name(name, number, whole, tmp_path):
    shutil.copytree(whole, tmp_path / "study")
    file = tmp_path / "study" / name
    results = "packed.jsonl.gz" if name.startswith("packed") else "small.jsonl"
    command = ("report", file.with_name(results), "--format", "md")
    expected = raan(*command).stdout
    refused = 0
    for damaged in damages(file.read_bytes(), number):
        file.write_bytes(damaged)
        done = raan(*command)
        refused += check(done, name) == 2
        assert done.returncode or done.stdout == expected
    assert refused > number / 3


@pytest.mark.parametrize("number", [300, pytest.param(5000, marks=pytest.mark.exhaustive)])
@pytest.mark.parametrize("name", ["packed.jsonl.gz", "small.explain.json"])
def test_damaged_results_and_explanations_are_read_as_they_were_or_refused(name, number, whole, tmp_path):
    def content(file):
        return parse_explanation(file.read_bytes()) if name.endswith(".json") else read(file)

    expected, file = content(whole / name), tmp_path / name
    for damaged in damages((whole / name).read_bytes(), number):
        file.write_bytes(damaged)
        found, words = attempt(lambda: content(file), ValueError)
        # A file without a whole line holds nothing, which reports refuse and studies train.
        assert words or found == expected or (found == [] and b"\n" not in damaged)


def test_lines_with_checksums_are_read_as_older_versions_wrote_them(whole, tmp_path):
    records = read(whole / "small.jsonl")
    lines = (whole / "small.jsonl").read_text().splitlines()
    old = tmp_path / "old.jsonl"
    old.write_text("".join(f'{line[:-1]},"checksum":"0123456789abcdef"}}\n' for line in lines))
    assert read(old) == records


def test_an_explanation_is_written_as_it_was_read_and_refused_without_its_checksum(whole):
    text = (whole / "small.explain.json").read_text()
    assert format_explanation(parse_explanation(text.encode())) == text
    content = {key: value for key, value in json.loads(text).items() if key != "checksum"}
    with pytest.raises(ValueError, match="does not have the checksum that it states"):
        parse_explanation(json.dumps(content).encode())


@pytest.mark.parametrize("number", SHARES)
def test_a_damaged_study_file_is_read_or_refused_with_its_name(number, whole, tmp_path):
    file = tmp_path / "small.toml"
    for damaged in damages((whole / "small.toml").read_bytes(), 5 * number):
        file.write_bytes(damaged)
        try:
            read_study(file)
        except ValueError as error:
            words = str(error)
        else:
            words = str(file)
        assert str(file) in words or "small.toml" in words


@pytest.mark.parametrize("number", SHARES)
def test_a_folder_with_a_damaged_file_is_not_raans_to_replace(number, tmp_path):
    with new_folder(tmp_path / "folder", "test") as part:
        (part / "one").write_text("1" * 100)
    file = tmp_path / "folder" / "one"
    before = file.read_bytes()
    for damaged in damages(before, number):
        file.write_bytes(damaged)
        assert damaged == before or why_foreign(tmp_path / "folder")
    file.write_bytes(before)
    assert why_foreign(tmp_path / "folder") == ""
