"""Workers: none outlives the parent, the death of one costs one pack, and a terminated study settles."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

from raan.engines import TRIES
from raan.lab.results.records import read
from raan.lab.study.explain import explain_results
from raan.lab.study.run import run_study
from raan.lab.study.study import read_study

if sys.platform != "linux":
    pytest.skip("reads /proc, to see which processes are left", allow_module_level=True)

STUDY = """
title = "Long [/x] one"
seeds = 2
[first]
epochs = 1
[second]
epochs = 20
learning_rate = 1e-2
[[data]]
name = "toy"
title = "the [bold] toy"
rows = 400
[methods.Vanilla]
[methods.RAAN]
temperature = 0.5
averaging_rate = 0.5
[methods.RL-RAAN]
temperature = [0.1, 0.5]
averaging_rate = 0.5
"""

ENDINGS = [signal.SIGKILL, signal.SIGTERM, pytest.param(signal.SIGHUP, marks=pytest.mark.exhaustive)]

RAAN_STUDY = [sys.executable, "-m", "raan", "study"]


@pytest.fixture
def study_file(tmp_path):
    file = tmp_path / "long.toml"
    file.write_text(STUDY)
    return file


@pytest.fixture
def temporary(tmp_path, monkeypatch):
    """Where the processes of the test make their temporary folders."""
    folder = tmp_path / "temporary"
    folder.mkdir()
    monkeypatch.setenv("TMPDIR", str(folder))
    return folder


def children_of(process):
    """The processes whose parent this is, by number, without the one that only keeps track of resources."""
    listed = Path(f"/proc/{process}/task/{process}/children")
    if not listed.exists():
        pytest.skip("this system does not tell whose children processes are")
    return [int(each) for each in listed.read_text().split() if "popen_loky" in command_of(int(each))]


def command_of(process):
    try:
        return Path(f"/proc/{process}/cmdline").read_text().replace("\0", " ")
    except OSError:
        return ""


def until(holds, seconds=60):
    deadline = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < deadline, "it did not come to that"
        time.sleep(0.02)


def begin(study_file, path, number=2, **options):
    command = [*RAAN_STUDY, study_file, "--results", path, "--workers", str(number)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, preexec_fn=heed)


def heed():
    """Heed the signals that whoever runs the tests may have told them to ignore, as nohup does."""
    for ending in (signal.SIGINT, signal.SIGHUP):
        signal.signal(ending, signal.SIG_DFL)


@pytest.mark.parametrize("ending", ENDINGS, ids=lambda each: each.name)
def test_workers_end_with_their_parent(ending, study_file, tmp_path, temporary):
    study_file.write_text(STUDY.replace("epochs = 20", "epochs = 2000"))
    parent = begin(study_file, tmp_path / "out.jsonl")
    until(lambda: [np.count_nonzero(np.fromfile(file, np.int64)) for file in temporary.glob("*/steps")] == [2])
    crew = children_of(parent.pid)
    assert len(crew) == 2
    parent.send_signal(ending)
    _, words = parent.communicate(timeout=60)
    until(lambda: not any(command_of(each) for each in crew), seconds=20)
    if ending is not signal.SIGKILL:
        assert parent.returncode == 128 + ending
        assert "Traceback" not in words
        assert os.listdir(temporary) == []
        assert sorted(os.listdir(tmp_path)) == ["long.toml", "temporary"]


def test_a_worker_that_is_killed_has_its_pack_trained_by_another(study_file, tmp_path, temporary):
    study = read_study(study_file)
    run_study(study, tmp_path / "one.jsonl")
    parent = begin(study_file, tmp_path / "two.jsonl")
    until(lambda: len(children_of(parent.pid)) == 2)
    os.kill(children_of(parent.pid)[0], signal.SIGKILL)
    _, words = parent.communicate(timeout=120)
    assert parent.returncode == 0, words
    assert (tmp_path / "two.jsonl").read_bytes() == (tmp_path / "one.jsonl").read_bytes()
    assert os.listdir(temporary) == []


def test_workers_that_are_killed_again_and_again_end_the_study_in_words(study_file, tmp_path, temporary):
    study_file.write_text(STUDY.replace("epochs = 20", "epochs = 2000"))
    parent = begin(study_file, tmp_path / "out.jsonl")
    while parent.poll() is None:
        for each in children_of(parent.pid):
            os.kill(each, signal.SIGKILL)
        time.sleep(0.2)
    _, words = parent.communicate()
    assert parent.returncode == 2, words
    told = " ".join(words.split())
    assert f"worker processes were killed {TRIES} times" in told
    assert "start the study again to resume it, with fewer --workers" in told
    assert os.listdir(temporary) == []


def test_an_error_in_a_worker_is_the_studys_own(study_file, tmp_path):
    table = tmp_path / "people.csv"
    rows = [f"{x % 7},{x % 2},{'fm'[x % 3 > 0]}" for x in range(200)]
    table.write_text("\n".join(["x,y,a", *rows]) + "\n")
    text = STUDY.replace('name = "toy"', f'name = "table"\npath = "{table}"\nlabel = "y"\nattribute = "a"')
    study_file.write_text(text.replace("rows = 400\n", "").replace("epochs = 20", "epochs = 1"))
    table.unlink()
    with pytest.raises(OSError, match=r"people\.csv"):
        run_study(read_study(study_file), tmp_path / "out.jsonl", workers=2)


@pytest.mark.parametrize("number", [2, pytest.param(1, marks=pytest.mark.exhaustive)])
def test_terminated_it_settles_what_is_finished_and_goes_on_to_the_same_bytes(
    number, study_file, tmp_path, temporary
):
    run_study(read_study(study_file), tmp_path / "whole.jsonl")
    path, shards = tmp_path / "out.jsonl", tmp_path / "out.jsonl.parts"
    child = begin(study_file, path, number)
    until(lambda: child.poll() is not None or [*shards.glob("*.jsonl")])
    child.send_signal(signal.SIGTERM)
    _, words = child.communicate(timeout=60)
    assert child.returncode == 143, words
    assert "Traceback" not in words
    assert read(path)
    assert not shards.exists()
    child = begin(study_file, path, number)
    shown, words = child.communicate(timeout=120)
    assert child.returncode == 0, words
    assert path.read_bytes() == (tmp_path / "whole.jsonl").read_bytes()
    assert "Long [/x] one: 8 of 8 runs" in " ".join(shown.split())
    assert "the [bold] toy, adam" in shown
    left = {"long.toml", "temporary", "whole.jsonl", "out.jsonl", "out.explain.json"}
    assert {*os.listdir(tmp_path)} == left
    assert os.listdir(temporary) == []


def test_the_plan_of_a_study_with_brackets_in_its_names_is_shown_as_it_is(study_file, tmp_path):
    command = [*RAAN_STUDY, study_file, "--results", tmp_path / "out.jsonl", "--dry-run"]
    done = subprocess.run(
        command, capture_output=True, text=True, check=True, env={**os.environ, "COLUMNS": "120"}
    )
    assert "Long [/x] one" in done.stdout
    assert "the [bold] toy" in done.stdout


def test_a_damaged_explanation_is_written_anew(study_file, tmp_path):
    study_file.write_text(STUDY.replace("epochs = 20", "epochs = 1"))
    study, path = read_study(study_file), tmp_path / "out.jsonl"
    run_study(study, path)
    explain_results(study, path)
    whole = (tmp_path / "out.explain.json").read_text()
    for damaged in (whole[:1000], "[]", whole.replace('"mean":', '"mean":"x","was":')):
        (tmp_path / "out.explain.json").write_text(damaged)
        explain_results(study, path)
        assert json.loads((tmp_path / "out.explain.json").read_text()) == json.loads(whole)
