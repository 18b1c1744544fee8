"""Files are found, downloaded and verified, with a real web server on this machine."""

import hashlib
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest

from raan.data import CorruptData, DataUnavailable
from raan.data import download as module
from raan.data.download import DataFile, cache_folder, find, find_all, locate, require
from raan.lab.datasets.adult import FILES
from systems import posix
from web import BODY, SHA256


def described(*urls: str, name: str = "file.bin") -> DataFile:
    return DataFile("set", name, SHA256, len(BODY), urls)


def put(path: Path, body: bytes = BODY) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(body)
    return path


def files_below(folder: Path) -> list[str]:
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file())


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "TIMEOUT", 0.3)


# Looking on this machine.


@pytest.mark.parametrize("place", ["file.bin", "set/file.bin"])
def test_a_file_is_found_in_the_folder_given(tmp_path: Path, cache: Path, place: str) -> None:
    where = put(tmp_path / "given" / place)
    assert find(described(), tmp_path / "given") == where


def test_a_file_is_taken_under_any_name_where_its_path_is_given(tmp_path: Path, cache: Path) -> None:
    where = put(tmp_path / "renamed.txt")
    assert find(described(), str(where)) == locate(described(), where) == where


@pytest.mark.parametrize("look", [find, locate, require])
def test_the_path_comes_before_the_environment_and_that_before_the_cache(
    tmp_path: Path, cache: Path, monkeypatch: pytest.MonkeyPatch, look: Callable[..., Path]
) -> None:
    cached = put(cache / "set" / "file.bin")
    assert look(described()) == cached
    shared = put(tmp_path / "shared" / "file.bin")
    monkeypatch.setenv("RAAN_DATA", str(tmp_path / "shared"))
    assert look(described()) == shared
    own = put(tmp_path / "shared" / "set" / "file.bin")
    assert look(described()) == own
    given = put(tmp_path / "given" / "file.bin")
    assert look(described(), tmp_path / "given") == given


def test_without_a_setting_the_cache_is_the_systems(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv("RAAN_CACHE", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert cache_folder().name == "raan"
    if sys.platform == "linux":
        assert cache_folder() == tmp_path / "raan"


@pytest.mark.parametrize("body", [BODY[:1000], b"", BODY[:-1] + b"!"], ids=["truncated", "empty", "changed"])
@pytest.mark.parametrize("place", ["given", "shared", "cached"])
def test_a_corrupt_file_is_named_with_what_was_expected_and_what_to_do(
    tmp_path: Path, cache: Path, monkeypatch: pytest.MonkeyPatch, body: bytes, place: str
) -> None:
    folder = cache / "set" if place == "cached" else tmp_path / place
    where = put(folder / "file.bin", body)
    if place == "shared":
        monkeypatch.setenv("RAAN_DATA", str(folder))
    with pytest.raises(CorruptData) as caught:
        find(described(), folder if place == "given" else None)
    assert str(caught.value) == (
        f"{where} is not the expected file.bin: it has {len(body):,} bytes and sha256 "
        f"{hashlib.sha256(body).hexdigest()}; expected 256,000 bytes and sha256 {SHA256}. "
        "Delete it to have it downloaded again, or give the path of another copy."
    )


def test_a_file_is_located_by_its_first_name_that_is_there(tmp_path: Path, cache: Path) -> None:
    file = replace(described(), aliases=("b.bin",), substitutes=("c.bin",))
    assert locate(file, tmp_path) is None
    for name in ("c.bin", "b.bin", "file.bin"):
        where = put(tmp_path / name)
        assert locate(file, tmp_path) == where


def test_of_files_that_cannot_be_downloaded_only_the_folder_given_is_searched(tmp_path: Path, cache: Path) -> None:
    put(cache / "set" / "file.bin")
    (tmp_path / "empty").mkdir()
    assert locate(described(), tmp_path / "empty") is None


def test_a_path_that_does_not_exist_is_an_error(tmp_path: Path) -> None:
    file = replace(described(), aliases=("b.bin",))
    with pytest.raises(
        FileNotFoundError, match=r"nowhere does not exist; expected a folder with file.bin or b.bin"
    ):
        locate(file, tmp_path / "nowhere")


def test_what_is_required_and_missing_is_asked_for(tmp_path: Path, cache: Path) -> None:
    file = DataFile("set", "a.csv", advice="Ask Ada.")
    with pytest.raises(
        DataUnavailable, match=r"(?s)a.csv of the data set set was not found in.*Ask Ada.*RAAN_DATA"
    ):
        require(file)
    with pytest.raises(DataUnavailable, match=str(tmp_path / "set")):
        require(file, tmp_path)


# Downloading.


def test_a_file_is_downloaded_once_and_then_found_in_the_cache(web: SimpleNamespace, cache: Path) -> None:
    where = find(described(f"{web.address}/good"))
    assert where == cache / "set" / "file.bin"
    assert where.read_bytes() == BODY
    assert files_below(cache) == ["set/file.bin"]
    assert find(described(f"{web.address}/good")) == where
    assert web.asked == ["/good"]


def test_a_path_that_lacks_the_file_does_not_prevent_the_download(
    server: str, cache: Path, tmp_path: Path
) -> None:
    assert find(described(f"{server}/good"), tmp_path / "nowhere") == cache / "set" / "file.bin"


def test_progress_is_reported_up_to_the_whole(server: str, cache: Path) -> None:
    reported: list[tuple[int, int | None]] = []
    find(described(f"{server}/good"), progress=lambda done, total: reported.append((done, total)))
    assert reported == sorted(reported)
    assert reported[-1] == (256_000, 256_000)
    assert len(set(reported)) > 2


@pytest.mark.usefixtures("impatient")
@pytest.mark.parametrize(
    ("page", "answer"),
    [
        ("missing", "HTTPError: 404 Client Error: Not Found"),
        ("other", f"expected sha256:{SHA256} but got {hashlib.sha256(BODY[::-1]).hexdigest()}"),
        ("long", f"expected sha256:{SHA256} but got"),
        ("truncated", "IncompleteRead"),
        ("stalled", "Read timed out"),
        ("to-a-file", "No connection adapters were found for 'file:///etc/hostname'"),
        ("loop", "TooManyRedirects"),
    ],
)
def test_an_address_that_fails_leaves_nothing_behind_and_its_answer_is_in_the_error(
    server: str, cache: Path, page: str, answer: str
) -> None:
    with pytest.raises(DataUnavailable, match=f"{server}/{page}: .*{answer}"):
        find(described(f"{server}/{page}"))
    assert files_below(cache) == []


def test_a_redirection_is_followed(server: str, cache: Path) -> None:
    assert find(described(f"{server}/moved")).read_bytes() == BODY


@pytest.mark.usefixtures("impatient")
def test_the_addresses_are_tried_in_turn(server: str, cache: Path) -> None:
    pages = ("missing", "truncated", "stalled", "other", "good")
    assert find(described(*(f"{server}/{page}" for page in pages))).read_bytes() == BODY
    assert files_below(cache) == ["set/file.bin"]


def test_offline_the_error_names_the_places_the_answers_and_where_to_put_the_file(
    cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RAAN_DATA", str(tmp_path / "shared"))
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    with pytest.raises(FileNotFoundError) as caught:
        find(described("http://127.0.0.1:9/good"), tmp_path / "given")
    lines = str(caught.value).splitlines()
    assert "Connection refused" in lines.pop(8)
    assert lines == [
        "file.bin of the data set set was not found at",
        f"  {tmp_path}/given/set/file.bin",
        f"  {tmp_path}/given/file.bin",
        f"  {tmp_path}/shared/set/file.bin",
        f"  {tmp_path}/shared/file.bin",
        f"  {cache}/set/file.bin",
        f"  {cache}/file.bin",
        "and could not be downloaded from",
        f"Obtain it by hand (256,000 bytes, sha256 {SHA256}) and put it at",
        f"  {cache}/set/file.bin",
        "or in a folder that RAAN_DATA or the path names.",
    ]


def test_a_file_without_addresses_says_so(cache: Path) -> None:
    with pytest.raises(DataUnavailable, match="could not be downloaded from\n  any address: none is known"):
        find(described())


def test_a_cache_that_cannot_be_made_is_an_error_that_names_it(
    server: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("RAAN_DATA", raising=False)
    monkeypatch.setenv("RAAN_CACHE", str(put(tmp_path / "file") / "cache"))
    with pytest.raises(DataUnavailable, match=r"Not a directory: .*file/cache"):
        find(described(f"{server}/good"))


def test_a_file_is_taken_out_of_an_archive(server: str, cache: Path) -> None:
    assert find(described(f"{server}/missing", f"{server}/archive#inside/file.bin")).read_bytes() == BODY
    assert files_below(cache) == ["set/file.bin"]


@pytest.mark.parametrize(
    ("page", "answer"),
    [("archive#inside/none.bin", "no item named 'inside/none.bin'"), ("good#inside/file.bin", "BadZipFile")],
)
def test_an_archive_that_lacks_the_file_is_an_error(server: str, cache: Path, page: str, answer: str) -> None:
    with pytest.raises(DataUnavailable, match=f"{server}/{page}: .*{answer}"):
        find(described(f"{server}/{page}"))
    assert files_below(cache) == []


def test_adult_comes_byte_for_byte_out_of_its_mirror(cache: Path) -> None:
    try:
        paths = find_all([replace(file, urls=file.urls[1:]) for file in FILES])
    except DataUnavailable as error:
        pytest.skip(f"the mirror cannot be reached: {error}")
    assert files_below(cache) == ["adult/adult.data", "adult/adult.test"]
    for path, file in zip(paths, FILES, strict=True):
        body = path.read_bytes()
        assert (len(body), hashlib.sha256(body).hexdigest()) == (file.size, file.sha256)


def test_adult_at_hand_is_verified_and_nothing_is_downloaded(real_data: Path, cache: Path) -> None:
    assert find_all(FILES, real_data) == tuple(real_data / "adult" / file.name for file in FILES)
    assert not cache.exists()


# Interruptions, and several processes.


def test_an_interrupted_download_leaves_nothing(server: str, cache: Path) -> None:
    def interrupt(done: int, total: int | None) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        find(described(f"{server}/good"), progress=interrupt)
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


def test_a_full_disk_leaves_no_half_file(server: str, small_disk: Path) -> None:
    with pytest.raises(DataUnavailable, match="No space left on device"):
        find(described(f"{server}/good"))
    assert files_below(small_disk) == []


FETCH = """
import sys
from raan.data.download import DataFile, find
address, sha256, size = sys.argv[1:]
print("ready", flush=True)
sys.stdin.readline()
print(find(DataFile("set", "file.bin", sha256, int(size), (address,))))
"""


@pytest.fixture
def process(cache: Path) -> Iterator[Callable[[str], subprocess.Popen[str]]]:
    """Start a process that downloads the file once it gets a line."""
    started = []

    def start(address: str) -> subprocess.Popen[str]:
        command = (sys.executable, "-c", FETCH, address, SHA256, str(len(BODY)))
        pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
        started.append(subprocess.Popen(command, text=True, env=dict(os.environ), **pipes))
        return started[-1]

    yield start
    for each in started:
        each.kill()
        each.communicate()


def go(*processes: subprocess.Popen[str]) -> None:
    """Let the processes download, when all of them are ready."""
    for each in processes:
        assert each.stdout.readline() == "ready\n"
    for each in processes:
        each.stdin.write("\n")
        each.stdin.flush()


@posix
def test_of_two_processes_one_downloads_and_the_other_waits(
    web: SimpleNamespace, cache: Path, process: Callable[[str], subprocess.Popen[str]]
) -> None:
    both = [process(f"{web.address}/slow") for _ in range(2)]
    go(*both)
    for each in both:
        output, wrong = each.communicate(timeout=30)
        assert (output.strip(), each.returncode) == (str(cache / "set" / "file.bin"), 0), wrong
    assert (cache / "set" / "file.bin").read_bytes() == BODY
    assert web.asked == ["/slow"]
    assert files_below(cache) == ["set/file.bin"]


@posix
def test_a_process_that_is_killed_leaves_no_file_but_a_hidden_part(
    web: SimpleNamespace, cache: Path, process: Callable[[str], subprocess.Popen[str]]
) -> None:
    victim = process(f"{web.address}/slow")
    go(victim)
    deadline = time.monotonic() + 20
    while not any(path.stat().st_size > 60_000 for path in cache.rglob("*") if path.is_file()):
        assert time.monotonic() < deadline
        time.sleep(0.005)
    victim.send_signal(signal.SIGKILL)
    victim.wait(10)
    assert not (cache / "set" / "file.bin").exists()
    assert find(described(f"{web.address}/good")).read_bytes() == BODY
    assert [name for name in files_below(cache) if not name.endswith(".part")] == ["set/file.bin"]
