"""A download ends in the whole file or in none, whatever happens to it: cut off, killed, raced, no disk."""

import errno
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from io import FileIO
from pathlib import Path
from types import SimpleNamespace

import pytest

from raan.data import DataUnavailable
from raan.data.download import find as module
from raan.data.download.find import fetch, find
from raan.data.download.remote import RemoteFile, Url
from raan.io import files as space
from systems import posix
from web import BODY, SHA256

PART = f"file.bin.{SHA256[:8]}.part"
HALF = len(BODY) // 2

FETCH = """
import sys
from raan.data.download.find import find
from raan.data.download.remote import RemoteFile, Url
from raan.io import files as space
address, sha256, size = sys.argv[1:]
print("ready", flush=True)
sys.stdin.readline()
print(find(RemoteFile("set", "file.bin", sha256, int(size), (Url(address),))))
"""


def described(*addresses: str, timeout: float = 0.5) -> RemoteFile:
    return RemoteFile("set", "file.bin", SHA256, len(BODY), tuple(Url(each, timeout) for each in addresses))


def files_below(folder: Path) -> list[str]:
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file())


def leave_part(cache: Path, body: bytes) -> Path:
    """Leave behind what an earlier attempt has got."""
    part = cache / "set" / PART
    part.parent.mkdir(parents=True)
    part.write_bytes(body)
    return part


# Going on.


def test_a_connection_that_breaks_is_taken_up_where_it_broke(web: SimpleNamespace, cache: Path) -> None:
    assert find(described(f"{web.address}/dropping")).read_bytes() == BODY
    assert web.asked == [("/dropping", 0), ("/dropping", 100_000), ("/dropping", 200_000)]
    assert files_below(cache) == ["set/file.bin"]


def test_a_truncated_body_is_kept_and_completed_the_next_time(web: SimpleNamespace, cache: Path) -> None:
    with pytest.raises(
        DataUnavailable, match=r"/truncated: .*(sent 1,000 of the expected 256,000|IncompleteRead)"
    ):
        find(described(f"{web.address}/truncated"))
    assert files_below(cache) == [f"set/{PART}"]
    assert find(described(f"{web.address}/good")).read_bytes() == BODY
    assert web.asked[-1] == ("/good", 1000)
    assert files_below(cache) == ["set/file.bin"]


def test_a_stalled_connection_is_given_up_and_what_came_is_kept(web: SimpleNamespace, cache: Path) -> None:
    start = time.perf_counter()
    with pytest.raises(DataUnavailable, match=r"/stalled: .*timed out"):
        find(described(f"{web.address}/stalled", timeout=0.2))
    assert time.perf_counter() - start < 5
    assert files_below(cache) == [f"set/{PART}"]


@pytest.mark.parametrize(
    ("page", "bounds", "words"),
    [
        ("trickling", {"patience": 0.5}, "bytes in [01] s; expected 30,000 at least"),
        ("trickling", {"limit": 0.5}, "took more than 0.5 s"),
        ("trickling-headers", {"patience": 0.5}, "did not begin to answer within 0.5 s"),
    ],
)
def test_a_server_that_would_never_come_to_an_end_is_given_up(
    web: SimpleNamespace, cache: Path, page: str, bounds: dict[str, float], words: str
) -> None:
    slow = RemoteFile("set", "file.bin", SHA256, len(BODY), (Url(f"{web.address}/{page}", **bounds),))
    start = time.monotonic()
    with pytest.raises(DataUnavailable, match=words):
        find(slow)
    assert time.monotonic() - start < 10
    assert len(web.asked) == 1  # nor is it asked again
    assert find(described(f"{web.address}/good")).read_bytes() == BODY


def test_an_interrupted_download_is_kept(server: str, cache: Path) -> None:
    def interrupt(done: int, total: int | None) -> None:
        if done > HALF:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        find(described(f"{server}/good"), progress=interrupt)
    assert (cache / "set" / PART).stat().st_size > HALF
    assert not (cache / "set" / "file.bin").exists()


def test_another_source_completes_what_the_first_began(web: SimpleNamespace, cache: Path) -> None:
    file = described(f"{web.address}/stalled", f"{web.address}/good", timeout=0.2)
    assert find(file).read_bytes() == BODY
    assert web.asked[-1][0] == "/good"
    assert web.asked[-1][1] > 0


def test_a_part_that_is_whole_needs_no_server(cache: Path) -> None:
    leave_part(cache, BODY)
    assert find(described("http://127.0.0.1:9/good")).read_bytes() == BODY
    assert files_below(cache) == ["set/file.bin"]


@pytest.mark.parametrize("page", ["from-the-start-only", "nothing-there"])
def test_a_server_that_cannot_go_on_starts_again(web: SimpleNamespace, cache: Path, page: str) -> None:
    leave_part(cache, BODY[:HALF])
    assert find(described(f"{web.address}/{page}")).read_bytes() == BODY
    assert web.asked[0] == (f"/{page}", HALF)
    assert files_below(cache) == ["set/file.bin"]


@pytest.mark.parametrize("part", [b"x" * HALF, b"x" * len(BODY), BODY + b"x"], ids=["half", "whole", "longer"])
def test_a_part_of_something_else_is_thrown_away(web: SimpleNamespace, cache: Path, part: bytes) -> None:
    leave_part(cache, part)
    assert find(described(f"{web.address}/good")).read_bytes() == BODY
    assert web.asked[-1] == ("/good", 0)
    assert files_below(cache) == ["set/file.bin"]


def test_a_server_that_sends_another_part_than_asked_for_is_not_believed(
    web: SimpleNamespace, cache: Path
) -> None:
    leave_part(cache, BODY[:HALF])
    with pytest.raises(DataUnavailable, match="asked for the bytes from 128,000, was sent 'bytes 128001-"):
        find(described(f"{web.address}/misplaced"))
    assert not (cache / "set" / "file.bin").exists()


def test_a_redirection_is_followed_and_resumed(web: SimpleNamespace, cache: Path) -> None:
    leave_part(cache, BODY[:HALF])
    assert find(described(f"{web.address}/moved")).read_bytes() == BODY
    assert web.asked == [("/moved", HALF), ("/good", HALF)]


def test_attempts_at_one_source_come_to_an_end(
    web: SimpleNamespace, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "ATTEMPTS", 2)
    with pytest.raises(DataUnavailable, match="sent 200,000 of the expected 256,000"):
        find(described(f"{web.address}/dropping"))
    assert len(web.asked) == 2


def test_a_file_that_another_process_has_put_there_meanwhile_is_left_alone(
    web: SimpleNamespace, tmp_path: Path
) -> None:
    target = tmp_path / "file.bin"
    target.write_bytes(BODY)
    (tmp_path / PART).write_bytes(BODY[:HALF])
    fetch(described(f"{web.address}/good"), target, tmp_path)
    assert web.asked == []
    assert files_below(tmp_path) == ["file.bin"]


# No room on the disk.


def test_a_disk_without_room_is_told_before_anything_is_asked_for(
    web: SimpleNamespace, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(space.shutil, "disk_usage", lambda place: SimpleNamespace(total=10**6, free=1000))
    with pytest.raises(DataUnavailable, match="256,000 bytes are needed, the disk has 1,000 free"):
        find(described(f"{web.address}/good"))
    assert web.asked == []
    assert files_below(cache) == []


def test_a_write_that_fails_for_want_of_room_is_told_and_leaves_nothing(
    web: SimpleNamespace, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def write(copy: FileIO, chunk: bytes) -> None:
        if os.fstat(copy.fileno()).st_size >= 2 * module.CHUNK:
            raise OSError(errno.ENOSPC, "No space left on device")
        copy.write(chunk)

    monkeypatch.setattr(module, "write_all", write)
    with pytest.raises(DataUnavailable, match="No space left on device"):
        find(described(f"{web.address}/good", f"{web.address}/slow"))
    assert web.asked == [("/good", 0)]  # to ask another would not help
    assert files_below(cache) == []


@pytest.fixture
def small_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A cache on a disk of 128 KB."""
    disk = tmp_path / "disk"
    disk.mkdir()
    mount = ("mount", "-t", "tmpfs", "-o", "size=128k", "tmpfs", str(disk))
    try:
        subprocess.run(mount, check=True, capture_output=True)
    except (OSError, subprocess.CalledProcessError) as error:
        pytest.skip(f"a small disk cannot be mounted: {error}")
    monkeypatch.setenv("RAAN_CACHE", str(disk))
    monkeypatch.delenv("RAAN_DATA", raising=False)
    yield disk
    subprocess.run(("umount", str(disk)), check=True)


@pytest.mark.parametrize("said", [True, False], ids=["it says so", "it claims to have room"])
def test_a_disk_that_is_full_leaves_no_half_file(
    web: SimpleNamespace, small_disk: Path, monkeypatch: pytest.MonkeyPatch, said: bool
) -> None:
    if not said:
        monkeypatch.setattr(space.shutil, "disk_usage", lambda place: SimpleNamespace(total=10**9, free=10**9))
    with pytest.raises(DataUnavailable, match="the disk has" if said else "No space left on device"):
        find(described(f"{web.address}/good"))
    assert files_below(small_disk) == []


# Several processes.


@pytest.fixture
def process(cache: Path, tmp_path: Path) -> Iterator[Callable[[str], subprocess.Popen[str]]]:
    """Start a process that fetches the file once it is told to."""
    started = []

    def start(address: str) -> subprocess.Popen[str]:
        command = (sys.executable, "-c", FETCH, address, SHA256, str(len(BODY)))
        pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
        environment = {**os.environ, "TMPDIR": str(tmp_path)}  # what is killed leaves its scratch folder
        started.append(subprocess.Popen(command, text=True, env=environment, **pipes))
        return started[-1]

    yield start
    for each in started:
        each.kill()
        each.communicate()


def go(*processes: subprocess.Popen[str]) -> None:
    """Tell the processes to fetch, when all of them are ready."""
    for each in processes:
        assert each.stdout.readline() == "ready\n"
    for each in processes:
        each.stdin.write("\n")
        each.stdin.flush()


def test_two_processes_that_fetch_at_once_share_one_download(
    web: SimpleNamespace, cache: Path, process: Callable[[str], subprocess.Popen[str]]
) -> None:
    both = [process(f"{web.address}/slow") for _ in range(2)]
    go(*both)
    for each in both:
        said, wrong = each.communicate(timeout=30)
        assert (said.strip(), each.returncode) == (str(cache / "set" / "file.bin"), 0), wrong
    assert (cache / "set" / "file.bin").read_bytes() == BODY
    assert web.asked == [("/slow", 0)]
    assert files_below(cache) == ["set/file.bin"]


@posix
def test_a_process_that_is_killed_leaves_a_part_and_the_next_goes_on_from_there(
    web: SimpleNamespace, cache: Path, process: Callable[[str], subprocess.Popen[str]]
) -> None:
    victim = process(f"{web.address}/slow")
    go(victim)
    part = cache / "set" / PART
    deadline = time.monotonic() + 20
    while not (part.exists() and part.stat().st_size > 60_000):
        assert time.monotonic() < deadline
        time.sleep(0.005)
    victim.send_signal(signal.SIGKILL)
    victim.wait(10)
    had = part.stat().st_size
    assert 0 < had < len(BODY)
    assert f"set/{PART}" in files_below(cache)
    assert find(described(f"{web.address}/good")).read_bytes() == BODY
    assert web.asked[-1] == ("/good", had)
    assert files_below(cache) == ["set/file.bin"]
