"""Other backends of joblib in place of worker processes: the same bytes."""

import os
import signal
import subprocess
import sys
import time

import pytest

from raan.lab.study.run import run_study
from raan.lab.study.study import read_study

pytest.importorskip("ray")

STUDY = """
title = "A small one"
seeds = 2
[first]
epochs = 1
[second]
epochs = 4
learning_rate = 1e-2
[[data]]
name = "toy"
rows = 400
[methods.Vanilla]
[methods.DFR]
[methods.RAAN]
temperature = 0.5
averaging_rate = 0.5
[methods.RL-RAAN]
temperature = [0.1, 0.5]
averaging_rate = 0.5
"""


@pytest.fixture
def study_file(tmp_path):
    file = tmp_path / "small.toml"
    file.write_text(STUDY)
    return file


@pytest.fixture
def expected(study_file, tmp_path):
    """The bytes of the results without Ray."""
    run_study(read_study(study_file), tmp_path / "plain.jsonl")
    return (tmp_path / "plain.jsonl").read_bytes()


def run(arguments, **options):
    environment = os.environ | {"RAY_ENABLE_UV_RUN_RUNTIME_ENV": "0"}
    return subprocess.Popen([sys.executable, *map(str, arguments)], env=environment, text=True, **options)


@pytest.mark.exhaustive
def test_a_killed_driver_is_started_again_and_ends_with_the_same_bytes(study_file, expected, tmp_path):
    out = tmp_path / "out.jsonl"
    command = ["-m", "raan", "study", study_file, "--results", out, "--quiet", "--ray"]
    process = run(command)
    deadline = time.monotonic() + 120
    while not [*tmp_path.glob("out.jsonl.parts/*.jsonl")]:  # until packs have ended
        assert process.poll() is None or out.exists()
        assert time.monotonic() < deadline
        time.sleep(0.05)
        if out.exists():
            break
    process.send_signal(signal.SIGKILL)
    process.wait()
    again = run(command, stderr=subprocess.PIPE)
    _, words = again.communicate(timeout=300)
    assert again.returncode == 0, words
    assert out.read_bytes() == expected


def test_an_address_where_no_cluster_answers_is_an_error_in_words(study_file, tmp_path):
    process = run(
        ["-m", "raan", "study", study_file, "--results", tmp_path / "out.jsonl", "--ray", "127.0.0.1:1"],
        stderr=subprocess.PIPE,
    )
    _, words = process.communicate(timeout=200)
    assert process.returncode == 2, words
    assert "no Ray cluster answers at 127.0.0.1:1" in " ".join(words.split())


DASK = """
import sys
from distributed import Client
from joblib import parallel_config
from raan.lab.study.run import run_study
from raan.lab.study.study import read_study

if __name__ == "__main__":
    with Client(n_workers=2, threads_per_worker=1, dashboard_address=None), parallel_config(backend="dask"):
        assert run_study(read_study(sys.argv[1]), sys.argv[2], workers=2).complete
"""


@pytest.mark.exhaustive
def test_dask_gives_the_same_bytes(study_file, expected, tmp_path):
    pytest.importorskip("distributed")
    (tmp_path / "run.py").write_text(DASK)
    process = run([tmp_path / "run.py", study_file, tmp_path / "out.jsonl"], stderr=subprocess.PIPE)
    _, words = process.communicate(timeout=300)
    assert process.returncode == 0, words
    assert (tmp_path / "out.jsonl").read_bytes() == expected
