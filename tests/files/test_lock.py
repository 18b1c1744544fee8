"""One process at a time holds a lock, and the dead hold none."""

import signal
import subprocess
import sys
import time

import pytest

from raan.files.lock import Locked, lock
from systems import posix

HOLD = """
import sys, time
from raan.files.lock import lock
with lock(sys.argv[1]):
    print("held", flush=True)
    time.sleep(float(sys.argv[2]))
"""


def hold(path, seconds):
    """A process that holds the lock for some seconds."""
    child = subprocess.Popen([sys.executable, "-c", HOLD, path, str(seconds)], stdout=subprocess.PIPE, text=True)
    assert child.stdout.readline() == "held\n"
    return child


@posix
def test_a_lock_is_refused_while_another_process_holds_it_and_free_when_that_is_killed(tmp_path):
    child = hold(tmp_path / "lock", 60)
    with pytest.raises(Locked, match="lock is in use by another process"), lock(tmp_path / "lock"):
        pass
    child.send_signal(signal.SIGKILL)
    child.wait(10)
    child.stdout.close()
    with lock(tmp_path / "lock"):
        pass


def test_with_wait_a_lock_is_taken_once_it_is_free(tmp_path):
    child, start = hold(tmp_path / "lock", 0.5), time.monotonic()
    with lock(tmp_path / "lock", wait=True):
        assert time.monotonic() - start > 0.3
    child.wait(10)
    child.stdout.close()


def test_a_lock_is_released_at_the_end_of_its_block_even_by_an_error(tmp_path):
    for _ in range(2):
        with pytest.raises(ZeroDivisionError), lock(tmp_path / "a" / "lock"):
            raise ZeroDivisionError


def test_the_locked_file_can_be_read_and_appended_to(tmp_path):
    (tmp_path / "file").write_bytes(b"old")
    with lock(tmp_path / "file") as stream:
        stream.write(b", new")
        stream.seek(0)
        assert stream.read() == b"old, new"


def test_whoever_waited_for_a_file_that_is_gone_locks_the_new_one(tmp_path):
    with lock(tmp_path / "file"):
        (tmp_path / "file").rename(tmp_path / "old")
        with lock(tmp_path / "file") as stream:
            stream.write(b"mine")
    assert (tmp_path / "old").read_bytes() == b""
    assert (tmp_path / "file").read_bytes() == b"mine"


def test_a_lock_that_is_not_kept_leaves_no_file_and_lets_nobody_else_in(tmp_path):
    with lock(tmp_path / "lock", keep=False):
        with pytest.raises(Locked), lock(tmp_path / "lock", keep=False):
            pass
        assert (tmp_path / "lock").exists()
    assert not (tmp_path / "lock").exists()
