"""Damage to the files of raan: the same result, or a paragraph that names the file; never a wrong one."""

import gzip
import json
import shutil

import pytest

from commands import raan
from damage import attempt, check, damages
from raan.files.claim import MANIFEST, claim, why_foreign
from raan.lab.results.journal import frame, open_results, read_journal
from raan.lab.results.records import format_line, read
from raan.lab.results.stated import from_text, to_text
from raan.lab.study.run import run_study
from raan.lab.study.explain import explain_results
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
@pytest.mark.parametrize("name", ["small.jsonl", "packed.jsonl.gz", "small.explain.json"])
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
@pytest.mark.parametrize("name", ["small.jsonl", "packed.jsonl.gz", "small.explain.json"])
def test_damaged_results_and_explanations_are_read_as_they_were_or_refused(name, number, whole, tmp_path):
    def content(file):
        return from_text(file.read_bytes()) if name.endswith(".json") else read(file)

    expected, file = content(whole / name), tmp_path / name
    for damaged in damages((whole / name).read_bytes(), number):
        file.write_bytes(damaged)
        found, words = attempt(lambda: content(file), ValueError)
        # A file without a whole line holds nothing, which reports refuse and studies train.
        assert words or found == expected or (found == [] and b"\n" not in damaged)


def test_a_line_that_is_gone_comes_twice_or_elsewhere_is_found(whole, tmp_path):
    lines = (whole / "small.jsonl").read_bytes().splitlines(keepends=True)
    file = tmp_path / "some.jsonl"
    for changed in (lines[1:], lines[:-1], [*lines, lines[-1]], lines[::-1], lines[:1]):
        file.write_bytes(b"".join(changed))
        with pytest.raises(ValueError, match=r"some\.jsonl, line \d+, is damaged"):
            read(file)


def test_results_without_checksums_are_read_as_ever_and_have_them_once_they_are_written_again(whole, tmp_path):
    records = read(whole / "small.jsonl")
    old = tmp_path / "old.jsonl"
    old.write_text("".join(map(format_line, records)))
    assert read(old) == records
    with open_results(old) as results:
        results.settle([record.run for record in records])
    assert old.read_bytes() == (whole / "small.jsonl").read_bytes()
    text = (whole / "small.explain.json").read_text()
    content = json.loads(text)
    assert from_text(json.dumps({key: content[key] for key in content if key != "checksum"}).encode())
    assert to_text(from_text(text.encode())) == text


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
def test_a_damaged_journal_keeps_every_sound_run_and_invents_none(number, whole, tmp_path):
    records = read(whole / "small.jsonl")
    lines = [frame(record) for record in records]
    journal = tmp_path / "journal"
    for damaged in damages(b"".join(lines), 5 * number):
        journal.write_bytes(damaged)
        found, wrong = read_journal(journal)
        there = {*damaged.split(b"\n")[:-1]}
        untouched = [record for record, line in zip(records, lines, strict=True) if line.rstrip() in there]
        assert all(record in records for record in found)
        assert all(record in found for record in untouched)
        assert wrong or found == records or damaged in b"".join(lines) or len(found) > len(records)


@pytest.mark.parametrize("number", SHARES)
def test_a_folder_with_a_damaged_manifest_is_not_raans_to_replace(number, tmp_path):
    with claim(tmp_path / "folder", "test") as part:
        (part / "one").write_text("1" * 100)
    for name in (MANIFEST, "one"):
        file = tmp_path / "folder" / name
        before = file.read_bytes()
        for damaged in damages(before, number):
            file.write_bytes(damaged)
            assert damaged == before or why_foreign(tmp_path / "folder")
        file.write_bytes(before)
    assert why_foreign(tmp_path / "folder") == ""
