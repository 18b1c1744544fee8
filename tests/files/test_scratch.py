"""Temporary folders: gone in the end, and those of the killed with the next."""

import os
import subprocess
import sys

import pytest

from raan.files.write import MARK, scratch
from systems import posix

KILLED = """
import time
from raan.files.write import scratch
with scratch() as folder:
    (folder / "file").write_text("half")
    print(folder, flush=True)
    time.sleep(60)
"""


@pytest.fixture(autouse=True)
def place(tmp_path, monkeypatch):
    """Where temporary folders are made."""
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    return tmp_path


def test_a_temporary_folder_is_gone_in_the_end_even_by_an_error(place):
    def interrupted():
        with scratch() as folder:
            (folder / "file").write_text("text")
            assert folder.parent == place
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupted()
    assert os.listdir(place) == []


@posix
def test_what_killed_processes_left_is_removed_and_nothing_else(place):
    children = [subprocess.Popen([sys.executable, "-c", KILLED], stdout=subprocess.PIPE) for _ in range(2)]
    try:
        killed, working = (child.stdout.readline().decode().strip() for child in children)
        children[0].kill()
        children[0].wait(10)
        (place / "raan-mine").mkdir()
        (place / "raan-mine" / "file").write_text("mine")
        (place / "raan-linked").mkdir()
        (place / "raan-linked" / MARK).symlink_to(place / "made")
        with scratch() as folder:
            found = sorted(str(each) for each in place.iterdir())
        expected = [place / "raan-mine", place / "raan-linked", working, folder]
        assert found == sorted(map(str, expected))
        assert killed not in found
        assert not (place / "made").exists()
    finally:
        for child in children:
            child.kill()
            child.communicate()
