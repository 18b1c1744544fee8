"""What is written is there whole or not at all."""

import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from raan.files.write import write_bytes, write_folder, write_text, write_whole


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


def test_new_files_and_folders_have_the_permissions_that_others_have(tmp_path):
    (tmp_path / "plain").write_text("")
    write_text(tmp_path / "whole", "")
    assert (tmp_path / "whole").stat().st_mode == (tmp_path / "plain").stat().st_mode
    (tmp_path / "folder").mkdir()
    with write_folder(tmp_path / "whole folder"):
        pass
    assert (tmp_path / "whole folder").stat().st_mode == (tmp_path / "folder").stat().st_mode


def test_threads_that_write_one_file_at_once_leave_one_of_their_contents(tmp_path):
    contents = [bytes([number]) * 300_000 for number in range(8)]
    threads = [threading.Thread(target=write_bytes, args=(tmp_path / "file", content)) for content in contents]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert (tmp_path / "file").read_bytes() in contents
    assert os.listdir(tmp_path) == ["file"]


def test_a_process_that_is_killed_leaves_a_whole_file(tmp_path):
    code = """
        import sys
        from raan.files.write import write_bytes
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


def test_a_folder_takes_the_place_of_the_old_one_when_it_is_whole(tmp_path):
    target = tmp_path / "folder"
    with write_folder(target) as part:
        (part / "one").write_text("1")
        assert not target.exists()
    with write_folder(target) as part:
        (part / "two").write_text("2")
        assert os.listdir(target) == ["one"]
    assert os.listdir(target) == ["two"]
    with pytest.raises(KeyboardInterrupt), write_folder(target) as part:
        begin_and_stop(part / "three")
    assert os.listdir(target) == ["two"]
    assert os.listdir(tmp_path) == ["folder"]


def test_a_folder_named_from_the_current_one(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with write_folder("folder") as part:
        (part / "one").write_text("1")
    write_text(Path("file"), "text")
    assert sorted(os.listdir(tmp_path)) == ["file", "folder"]
