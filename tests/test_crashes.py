"""Kills at random moments: files, folders and models are whole, and an interrupted study resumes."""

import os
import subprocess
import sys
import time
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

import raan
from commands import raan as raan_here
from crowd import crowd
from fitted_runs import write_table
from kills import KILLS, moments, nursery, states
from raan.io.files import why_foreign
from raan.lab.study.explain import explain_results
from raan.lab.study.run import run_study
from raan.lab.study.study import read_study
from web import BODY, SHA256, web  # noqa: F401

STUDY = """
title = "A small one"
seeds = 2
[first]
epochs = 1
[second]
epochs = 10
learning_rate = [1e-2, 1e-3]
[[data]]
name = "toy"
rows = 400
[methods.Vanilla]
[methods.RAAN]
temperature = 0.5
averaging_rate = 0.5
[methods.RL-RAAN]
temperature = 0.5
averaging_rate = 0.5
"""

if sys.platform != "linux":
    pytest.skip("reads /proc, to see which processes are left", allow_module_level=True)

MOMENTS = int(os.environ.get("RAAN_KILLS", 20))
"""How often each command is killed by each signal: one moment in each such part of the time that it takes."""

IN_A_ROW = 10
"""Kills in one place before a run there goes on to its end."""

FIT = ("--label", "hired", "--attribute", "sex", "--minutes", 0.05, "--quiet")

MODULES = (
    *("raan.fit.fit", "raan.fit.predictions", "raan.frontier", "raan.report.model_page"),
    *("raan.tables.load", "skops.io", "sklearn.ensemble"),
)
"""What fits, choices and predictions import."""

by_signal = pytest.mark.parametrize("kill", KILLS, ids=lambda each: each.name)


@pytest.fixture(scope="module")
def fitted(tmp_path_factory):
    """A table, and a folder that `raan fit` wrote of it."""
    folder = tmp_path_factory.mktemp("fitted")
    write_table(folder / "people.csv", rows=300)
    done = raan_here("fit", folder / "people.csv", *FIT, "--out", folder / "fair")
    assert done.returncode in (0, 1), done.stderr
    return folder


def rows_of_moments(seconds, seed):
    """The moments, so many in a row as one place is killed at."""
    every = moments(seconds, MOMENTS, seed)
    return [every[start : start + IN_A_ROW] for start in range(0, MOMENTS, IN_A_ROW)]


@pytest.mark.exhaustive
@pytest.mark.parametrize(("workers", "kills"), [(1, KILLS[:1]), (1, KILLS[1:]), (2, KILLS)], ids=str)
def test_a_study_that_is_killed_again_and_again_ends_with_the_same_bytes(workers, kills, tmp_path):
    whole = tmp_path / "whole"
    whole.mkdir()
    (whole / "small.toml").write_text(STUDY)
    study = read_study(whole / "small.toml")
    run_study(study, whole / "out.jsonl")
    explain_results(study, whole / "out.jsonl")
    options = ("--workers", workers, "--quiet")
    with nursery(
        tmp_path / "nursery", "raan.lab.study.run", "raan.lab.study.explain", "raan.report.outline"
    ) as run:
        for number, row in enumerate(rows_of_moments(study_seconds(run, tmp_path / "timed", options), workers)):
            here = tmp_path / str(number)
            here.mkdir()
            (here / "small.toml").write_text(STUDY)
            command = ("study", here / "small.toml", "--results", here / "out.jsonl", *options)
            for place, moment in enumerate(row):
                run.kill(moment, kills[place % len(kills)], *command)
            run.run(*command)
            assert states(here) == states(whole)


def study_seconds(run, folder, options):
    """How long the study takes that nobody kills."""
    folder.mkdir()
    (folder / "small.toml").write_text(STUDY)
    return run.run("study", folder / "small.toml", "--results", folder / "out.jsonl", *options)


@pytest.mark.exhaustive
@by_signal
def test_a_fit_that_is_killed_leaves_the_old_folder_or_the_new_and_the_next_leaves_nothing_else(
    kill, fitted, tmp_path
):
    with nursery(tmp_path / "nursery", *MODULES) as run:
        seconds = run.run("fit", fitted / "people.csv", *FIT, "--out", tmp_path / "timed", codes=(0, 1))
        whole = len(states(tmp_path / "timed"))
        for number, row in enumerate(rows_of_moments(seconds, 3)):
            here = tmp_path / str(number)
            here.mkdir()
            command = ("fit", fitted / "people.csv", *FIT, "--out", here / "fair", "--force")
            for moment in row:
                before = states(here / "fair")
                run.kill(moment, kill, *command, codes=(0, 1))
                if before and not (here / "fair").exists():  # between the two renames that replace a folder
                    assert list(here.glob(".fair-*.old"))
                    continue
                assert why_foreign(here / "fair") == "" if (here / "fair").exists() else not before
                after = states(here / "fair")
                assert after == before or len(after) == whole  # the old one, or all of a new one
            run.run(*command, codes=(0, 1))
            assert os.listdir(here) == ["fair"]
            assert why_foreign(here / "fair") == ""


@pytest.mark.exhaustive
@by_signal
def test_predictions_that_are_killed_end_with_the_same_bytes(kill, fitted, tmp_path):
    header, *lines = (fitted / "people.csv").read_text().splitlines()
    data, place, out = tmp_path / "many.csv", tmp_path / "place", "out.csv"
    data.write_text("\n".join([header, *(100 * lines)]) + "\n")
    command = ("predict", fitted / "fair", data, "--out", place / out, "--keep", "all", "--quiet")
    with nursery(tmp_path / "nursery", *MODULES) as run:
        seconds = run.run(*command)
        whole = states(place)
        for row in rows_of_moments(seconds, 5):
            (place / out).unlink()
            for moment in row:
                before = states(place).get(out)
                run.kill(moment, kill, *command)
                assert states(place).get(out) in (before, whole[out])
            run.run(*command)
            assert states(place)[out] == whole[out]


SAVE = """
import sys
import raan
from raan.cli.console import run
old, new, place = sys.argv[1:]
model, other = raan.load(old), raan.load(new)
def save():
    for _ in range(5):
        model.save(place)
        other.save(place)
run(save)
"""


@pytest.mark.exhaustive
@by_signal
@pytest.mark.usefixtures("as_users_call")
def test_a_model_whose_saving_is_killed_is_the_old_one_or_the_new_one(kill, tmp_path):
    X, y, a = crowd(rows=120)
    kinds = {}
    for name, strength in (("old", 0.2), ("new", 0.9)):
        model = raan.AANReweighting(LogisticRegression(), strength=strength).fit(X, y, sensitive_features=a)
        model.save(tmp_path / name)
        kinds[name] = states(tmp_path / name)
    expected = raan.load(tmp_path / "new").predict_proba(X)
    place = tmp_path / "place"
    command = ("-c", SAVE, tmp_path / "old", tmp_path / "new", place)
    with nursery(tmp_path / "nursery", "raan.reweighting", "skops.io") as run:
        for row in rows_of_moments(run.run(*command), 6):
            for moment in row:
                run.kill(moment, kill, *command)
                found = raan.load(place)
                assert found.strength in (0.2, 0.9)
            run.run(*command)
            # skops does not write the same bytes twice, and files are named by what they hold.
            assert len([name for name in states(place) if name[0] != "."]) == len(kinds["new"])
            assert np.array_equal(raan.load(place).predict_proba(X), expected)


FETCH = """
import sys
from raan.cli.console import run
from raan.data.download import DataFile, find
address, sha256, size = sys.argv[1:]
run(lambda: find(DataFile("set", "file.bin", sha256, int(size), (address,))))
"""


def test_a_terminated_download_leaves_nothing_and_ends_with_143(
    web: SimpleNamespace,  # noqa: F811
    cache: Path,
    tmp_path: Path,
) -> None:
    command = [sys.executable, "-c", FETCH, f"{web.address}/slow", SHA256, str(len(BODY))]
    child = subprocess.Popen(command, env={**os.environ, "TMPDIR": str(tmp_path)}, stderr=subprocess.PIPE)
    deadline = time.monotonic() + 30
    while not any(file.stat().st_size for file in cache.rglob("*") if file.is_file()):
        assert time.monotonic() < deadline
        time.sleep(0.005)
    child.terminate()
    _, words = child.communicate(timeout=20)
    assert child.returncode == 143, words
    assert states(cache) == {}
    assert [path.name for path in tmp_path.iterdir() if path != cache] == []


def test_an_interruption_among_the_rows_lets_go_of_the_file(fitted):
    """A reader that outlives an interrupted command keeps the file open."""
    from raan.fit.predictions import predict_file
    from raan.tables.read import open_source

    source = open_source(fitted / "people.csv")

    def interrupt(frame):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt) as kept:
        predict_file(raan.load(fitted / "fair" / "model"), source, [], interrupt)
    assert kept.value.__traceback__  # as where the interpreter ends by it
    opened = [os.readlink(entry) for entry in Path("/proc/self/fd").iterdir() if entry.is_symlink()]
    assert str(fitted / "people.csv") not in opened
