"""Files appear whole or not at all, and locks exclude other processes."""

import errno
import os
import signal
import socket
import stat
import subprocess
import sys
import threading
import time

import pytest

from raan.io.files import STALE, Locked, lock, scratch, write_bytes, write_text, write_whole
from systems import posix


def begin_and_stop(path):
    path.write_text("new, but not all of it")
    raise KeyboardInterrupt


def test_a_file_and_the_folders_above_it_are_made_and_nothing_else_is_left(tmp_path):
    write_text(tmp_path / "a" / "b.txt", "één")
    assert (tmp_path / "a" / "b.txt").read_bytes() == "één".encode()
    write_bytes(str(tmp_path / "a" / "b.txt"), b"\x00")
    assert (tmp_path / "a" / "b.txt").read_bytes() == b"\x00"
    assert os.listdir(tmp_path / "a") == ["b.txt"]


def test_an_error_while_writing_leaves_what_was_there(tmp_path):
    write_text(tmp_path / "file", "old")
    with pytest.raises(KeyboardInterrupt), write_whole(tmp_path / "file") as part:
        begin_and_stop(part)
    assert (tmp_path / "file").read_text() == "old"
    assert os.listdir(tmp_path) == ["file"]


def test_a_file_that_cannot_be_put_there_is_not_left_beside(tmp_path):
    (tmp_path / "folder" / "inner").mkdir(parents=True)
    with pytest.raises(OSError, match="folder"):
        write_text(tmp_path / "folder", "text")
    assert os.listdir(tmp_path) == ["folder"]


def test_new_files_have_the_permissions_that_others_have(tmp_path):
    (tmp_path / "plain").write_text("")
    write_text(tmp_path / "whole", "")
    assert (tmp_path / "whole").stat().st_mode == (tmp_path / "plain").stat().st_mode


def test_threads_that_write_one_file_at_once_leave_one_of_their_contents(tmp_path):
    contents = [bytes([number]) * 300_000 for number in range(8)]
    threads = [threading.Thread(target=write_bytes, args=(tmp_path / "file", content)) for content in contents]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert (tmp_path / "file").read_bytes() in contents
    assert os.listdir(tmp_path) == ["file"]


@posix
def test_a_process_that_is_killed_leaves_a_whole_file(tmp_path):
    code = """
        import sys
        from raan.io.files import write_bytes
        while True:
            for letter in (b"a", b"b"):
                write_bytes(sys.argv[1], letter * 1_000_000)
    """
    code = "\n".join(line.removeprefix("        ") for line in code.splitlines())
    child = subprocess.Popen([sys.executable, "-c", code, tmp_path / "file"])
    deadline = time.monotonic() + 60
    while not (tmp_path / "file").exists() and time.monotonic() < deadline:
        time.sleep(0.01)
    for _ in range(50):
        content = (tmp_path / "file").read_bytes()
        assert len(content) == 1_000_000
        assert len({*content}) == 1
    child.send_signal(signal.SIGKILL)
    child.wait(10)
    assert len({*(tmp_path / "file").read_bytes()}) == 1


@posix
def test_a_link_is_followed_and_stays_a_link(tmp_path):
    (tmp_path / "elsewhere").mkdir()
    for name in ("there", "not yet there"):
        (tmp_path / name).symlink_to(tmp_path / "elsewhere" / name)
    (tmp_path / "elsewhere" / "there").write_text("old")
    for name in ("there", "not yet there"):
        write_text(tmp_path / name, "new")
        assert (tmp_path / name).is_symlink()
        assert (tmp_path / "elsewhere" / name).read_text() == "new"
    assert sorted(os.listdir(tmp_path / "elsewhere")) == ["not yet there", "there"]


@posix
def test_a_pipe_is_written_to_and_stays_a_pipe(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    with subprocess.Popen(["cat", tmp_path / "pipe"], stdout=subprocess.PIPE) as reader:
        write_text(tmp_path / "pipe", "through it")
        assert reader.stdout.read() == b"through it"
    assert (tmp_path / "pipe").is_fifo()
    assert os.listdir(tmp_path) == ["pipe"]


def test_a_device_is_written_to_and_stays_a_device(tmp_path):
    device = tmp_path / "null"
    try:
        os.mknod(device, stat.S_IFCHR | 0o666, os.makedev(1, 3))
        device.write_text("")
    except OSError as error:
        pytest.skip(f"a device cannot be made here: {error}")
    write_text(device, "gone")
    assert device.is_char_device()
    with pytest.raises(KeyboardInterrupt), write_whole(device) as part:
        begin_and_stop(part)


@posix
def test_standard_output_can_be_named_as_a_file():
    code = "import sys; from raan.io.files import write_text; write_text('/dev/stdout', 'said')"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, check=True).stdout == b"said"


def test_a_folder_or_a_socket_is_refused_with_words(tmp_path):
    with pytest.raises(IsADirectoryError, match="is a folder; expected the name of a file"):
        write_text(tmp_path, "text")
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(str(tmp_path / "socket"))
        with pytest.raises(OSError, match="is neither a file, nor a pipe, nor a terminal"):
            write_text(tmp_path / "socket", "text")
    assert os.listdir(tmp_path) == ["socket"]


@pytest.mark.parametrize("length", [200, 255])
def test_the_longest_name_that_the_system_takes_can_be_written(tmp_path, length):
    write_text(tmp_path / ("n" * length), "text")
    assert os.listdir(tmp_path) == ["n" * length]


def test_a_name_too_long_is_told_before_anything_is_written(tmp_path):
    with pytest.raises(OSError, match="File name too long"), write_whole(tmp_path / ("n" * 256)):
        pytest.fail("the block began")
    assert os.listdir(tmp_path) == []


@posix
def test_what_was_there_keeps_its_permissions(tmp_path):
    write_text(tmp_path / "secret", "old")
    (tmp_path / "secret").chmod(0o600)
    write_text(tmp_path / "secret", "new")
    assert stat.S_IMODE((tmp_path / "secret").stat().st_mode) == 0o600


@posix
def test_a_full_disk_is_told_by_the_name_of_the_target_and_nothing_is_left(tmp_path):
    """A limit on the size of files stands for the disk: as there, the system takes a part of what is written."""
    code = """
import resource, sys
from raan.io.files import write_bytes
resource.setrlimit(resource.RLIMIT_FSIZE, (10_000, 10_000))
write_bytes(sys.argv[1], bytes(5_000))
write_bytes(sys.argv[1], bytes(100_000))
"""
    done = subprocess.run([sys.executable, "-c", code, tmp_path / "file"], capture_output=True, text=True)
    assert f"File too large: '{tmp_path / 'file'}'" in done.stderr
    assert (tmp_path / "file").read_bytes() == bytes(5_000)
    assert os.listdir(tmp_path) == ["file"]


@posix
def test_the_unfinished_file_of_a_killed_process_is_removed_after_a_day_by_the_next_writer(tmp_path):
    code = """
import os, signal, sys
from raan.io.files import write_whole
with write_whole(sys.argv[1]) as part:
    part.write_text("half")
    os.kill(os.getpid(), signal.SIGKILL)
"""
    subprocess.run([sys.executable, "-c", code, tmp_path / "a [1]"], timeout=60)
    (left,) = tmp_path.iterdir()
    write_text(tmp_path / "a [1]", "whole")
    assert left.exists()  # it could be of a process that is still writing
    os.utime(left, (0, time.time() - STALE - 1))
    write_text(tmp_path / "a [1]", "whole again")
    assert os.listdir(tmp_path) == ["a [1]"]


HOLD = """
import sys, time
from raan.io.files import lock
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
    assert os.listdir(tmp_path) == []


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


def test_a_temporary_folder_is_gone_in_the_end_even_by_an_error(tmp_path, monkeypatch):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    with pytest.raises(KeyboardInterrupt), scratch() as folder:
        begin_and_stop(folder / "file")
    assert os.listdir(tmp_path) == []


@pytest.mark.parametrize("number", [errno.EFBIG, errno.ENOSPC])
def test_a_disk_that_is_full_is_named_by_the_target_alone(tmp_path, number):
    with (
        pytest.raises(OSError, match=f"{os.strerror(number)}: '{tmp_path / 'file'}'$"),
        write_whole(tmp_path / "file"),
    ):
        raise OSError(number, os.strerror(number))
    (tmp_path / "in").touch()
    with pytest.raises(NotADirectoryError, match=r"in is a file; expected a folder for file$"):
        write_text(tmp_path / "in" / "file", "x")
