"""Damage to the files of raan: the same result, or a paragraph that names the file; never a wrong one."""

import gzip
import shutil

import numpy as np
import pytest

from commands import raan, said
from raan.files.claim import MANIFEST, claim, why_foreign
from raan.results.journal import frame, read_journal
from raan.results.records import read
from raan.study.execute import carry_out
from raan.study.explain import explain_results
from raan.study.study import read_study

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
    carry_out(study, folder / "small.jsonl")
    explain_results(study, folder / "small.jsonl")
    (folder / "packed.jsonl.gz").write_bytes(gzip.compress((folder / "small.jsonl").read_bytes(), mtime=0))
    return folder


def damages(content, number, seed=0):
    """The content with a bit flipped, a range overwritten, cut out or doubled, or the end cut off."""
    rng = np.random.default_rng(seed)
    for which in range(number):
        begin, end = sorted(rng.integers(0, len(content), size=2).tolist())
        end = min(end, begin + 50)
        middle = [
            bytes([content[begin] ^ 1 << int(rng.integers(8))]) + content[begin + 1 : end],
            rng.bytes(end - begin),
            b"",
            2 * content[begin:end],
        ]
        yield content[:begin] if which % 5 == 4 else content[:begin] + middle[which % 5] + content[end:]


def check(done, *names):
    """Done, or refused in a paragraph that names one of the files."""
    assert done.returncode in (0, 2), done.stderr
    assert "Traceback" not in done.stderr
    if done.returncode == 2:
        assert any(name in said(done) for name in names), said(done)
    return done.returncode


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
        refused += check(done, name, "runs on 'toy' disagree") == 2  # which is wrong nobody can tell
        if name.endswith(".gz") and not done.returncode:
            assert done.stdout == expected
    assert refused > number / 3


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
