"""Kills at random moments: what is finished is kept, the next run ends with the same bytes and leaves nothing."""

import hashlib
import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path
from types import SimpleNamespace

import pytest

from raan.study.execute import carry_out
from raan.study.explain import explain_results
from raan.study.study import read_study
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

MOMENTS = 12

KILLS = [signal.SIGKILL, signal.SIGTERM]


def states(folder):
    """The files in and below the folder with what they hold."""
    return {
        str(file.relative_to(folder)): hashlib.sha256(file.read_bytes()).hexdigest()
        for file in sorted(folder.rglob("*"))
        if file.is_file()
    }


def alive_with(word):
    """The processes that have the word in their environment."""
    found = []
    for entry in Path("/proc").glob("[0-9]*/environ"):
        try:
            if word.encode() in entry.read_bytes():
                found.append(entry.parent.name)
        except OSError:
            continue
    return found


@pytest.mark.exhaustive
@pytest.mark.parametrize("kill", KILLS, ids=lambda each: each.name)
@pytest.mark.parametrize("workers", [1, 2])
def test_a_study_that_is_killed_again_and_again_ends_with_the_same_bytes(workers, kill, tmp_path):
    whole, here, temporary = tmp_path / "whole", tmp_path / "here", tmp_path / "temporary"
    for folder in (whole, here, temporary):
        folder.mkdir()
    for folder in (whole, here):
        (folder / "small.toml").write_text(STUDY)
    study = read_study(whole / "small.toml")
    carry_out(study, whole / "out.jsonl")
    explain_results(study, whole / "out.jsonl")
    environment = {**os.environ, "TMPDIR": str(temporary)}
    command = [
        sys.executable,
        "-m",
        "raan",
        "study",
        here / "small.toml",
        "--results",
        here / "out.jsonl",
        "--quiet",
    ]
    command += ["--workers", str(workers)]
    rng = random.Random(workers)
    for _ in range(MOMENTS):
        child = subprocess.Popen(command, env=environment)
        time.sleep(rng.uniform(0.5, 6))
        child.send_signal(kill)
        child.wait(60)
    deadline = time.monotonic() + 20
    while alive_with(str(temporary)) and time.monotonic() < deadline:
        time.sleep(0.1)
    assert alive_with(str(temporary)) == []
    if kill is signal.SIGTERM:
        assert os.listdir(temporary) == []
    subprocess.run(command, env=environment, check=True)
    assert states(here) == states(whole)
    assert os.listdir(temporary) == []


FETCH = """
import sys
from raan.cli.console import run
from raan.data.download.find import find
from raan.data.download.remote import RemoteFile, Url
address, sha256, size = sys.argv[1:]
run(lambda: find(RemoteFile("set", "file.bin", sha256, int(size), (Url(address),))))
"""


@pytest.mark.exhaustive
@pytest.mark.parametrize("kill", KILLS, ids=lambda each: each.name)
def test_a_download_that_is_killed_again_and_again_ends_with_the_file_alone(
    kill: signal.Signals,
    web: SimpleNamespace,  # noqa: F811
    cache: Path,
    tmp_path: Path,
) -> None:
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    command = [sys.executable, "-c", FETCH, f"{web.address}/slow", SHA256, str(len(BODY))]
    environment, rng = {**os.environ, "TMPDIR": str(temporary)}, random.Random(0)
    for _ in range(MOMENTS):
        child = subprocess.Popen(command, env=environment)
        time.sleep(rng.uniform(0.3, 1.5))
        child.send_signal(kill)
        assert child.wait(20) in (0, -kill, 128 + kill)
    subprocess.run(command, env=environment, check=True)
    assert states(cache) == {"set/file.bin": SHA256}
    assert os.listdir(temporary) == []


def test_a_terminated_download_keeps_what_came_and_ends_with_143(
    web: SimpleNamespace,  # noqa: F811
    cache: Path,
    tmp_path: Path,
) -> None:
    command = [sys.executable, "-c", FETCH, f"{web.address}/slow", SHA256, str(len(BODY))]
    child = subprocess.Popen(command, env={**os.environ, "TMPDIR": str(tmp_path)}, stderr=subprocess.PIPE)
    deadline = time.monotonic() + 30
    while not (parts := [file for file in cache.rglob("*.part") if file.stat().st_size]):
        assert time.monotonic() < deadline
        time.sleep(0.005)
    child.terminate()
    _, words = child.communicate(timeout=20)
    assert child.returncode == 143, words
    assert parts[0].stat().st_size > 0
    assert [path.name for path in tmp_path.iterdir() if path != cache] == []
