"""Archives are unpacked whole and below their folder, or not at all."""

import io
import os
import stat
import tarfile
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from raan.data.download.unpack import UnsafeArchive, unpack

Files = dict[str, bytes]


def zipped(path: Path, files: Files) -> Path:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, body in files.items():
            archive.writestr(name, body)
    return path


def tarred(path: Path, files: Files) -> Path:
    with tarfile.open(path, "w:gz") as archive:
        for name, body in files.items():
            info = tarfile.TarInfo(name)
            info.size = len(body)
            archive.addfile(info, io.BytesIO(body))
    return path


both = pytest.mark.parametrize("pack", [zipped, tarred])
Pack = Callable[[Path, Files], Path]


def everything_below(folder: Path) -> list[str]:
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*"))


@both
def test_files_are_unpacked_with_their_folders(tmp_path: Path, pack: Pack) -> None:
    archive = pack(tmp_path / "archive", {"a.txt": b"one", "deep/er/b.txt": b"two", "empty": b""})
    folder = unpack(archive, tmp_path / "new" / "folder")
    assert folder == tmp_path / "new" / "folder"
    assert everything_below(folder) == ["a.txt", "deep", "deep/er", "deep/er/b.txt", "empty"]
    assert (folder / "deep/er/b.txt").read_bytes() == b"two"
    assert everything_below(tmp_path / "new") == [
        "folder",
        *(f"folder/{name}" for name in everything_below(folder)),
    ]


@both
@pytest.mark.parametrize(
    "name", ["../out", "a/../../out", "/out", "..", "..\\out", "\\out", "C:\\out", "C:out", "//host/share/out"]
)
def test_a_path_that_leads_out_of_the_folder_is_refused(tmp_path: Path, pack: Pack, name: str) -> None:
    archive = pack(tmp_path / "archive", {"fine": b"1", name: b"2"})
    with pytest.raises(UnsafeArchive, match=r"archive: .* leads out of the folder"):
        unpack(archive, tmp_path / "folder")
    assert everything_below(tmp_path) == ["archive"]


@pytest.mark.parametrize(
    ("kind", "called"),
    [
        (tarfile.SYMTYPE, "link"),
        (tarfile.LNKTYPE, "link"),
        (tarfile.CHRTYPE, "device"),
        (tarfile.BLKTYPE, "device"),
        (tarfile.FIFOTYPE, "device"),
    ],
)
def test_links_and_devices_in_a_tar_are_refused(tmp_path: Path, kind: bytes, called: str) -> None:
    with tarfile.open(tmp_path / "archive.tar", "w") as archive:
        info = tarfile.TarInfo("strange")
        info.type, info.linkname = kind, "/etc/passwd"
        archive.addfile(info)
    with pytest.raises(UnsafeArchive, match=f"'strange' is a {called}, expected files and folders only"):
        unpack(tmp_path / "archive.tar", tmp_path / "folder")
    assert everything_below(tmp_path) == ["archive.tar"]


@pytest.mark.parametrize(("mode", "called"), [(stat.S_IFLNK, "link"), (stat.S_IFCHR, "device")])
def test_links_and_devices_in_a_zip_are_refused(tmp_path: Path, mode: int, called: str) -> None:
    with zipfile.ZipFile(tmp_path / "archive.zip", "w") as archive:
        info = zipfile.ZipInfo("strange")
        info.external_attr = (mode | 0o777) << 16
        archive.writestr(info, "/etc/passwd")
    with pytest.raises(UnsafeArchive, match=f"'strange' is a {called}"):
        unpack(tmp_path / "archive.zip", tmp_path / "folder")
    assert everything_below(tmp_path) == ["archive.zip"]


def test_a_file_below_a_link_of_the_same_archive_is_not_written_through_it(tmp_path: Path) -> None:
    with tarfile.open(tmp_path / "archive.tar", "w") as archive:
        link = tarfile.TarInfo("door")
        link.type, link.linkname = tarfile.SYMTYPE, str(tmp_path / "outside")
        archive.addfile(link)
        archive.addfile(tarfile.TarInfo("door/file"), io.BytesIO())
    (tmp_path / "outside").mkdir()
    with pytest.raises(UnsafeArchive, match="link"):
        unpack(tmp_path / "archive.tar", tmp_path / "folder")
    assert everything_below(tmp_path / "outside") == []


@both
def test_an_archive_that_holds_more_than_it_should_is_stopped(tmp_path: Path, pack: Pack) -> None:
    archive = pack(tmp_path / "archive", {"bomb": bytes(10_000_000)})
    assert archive.stat().st_size < 20_000
    with pytest.raises(UnsafeArchive, match="more than the bytes allowed: stopped within 'bomb'"):
        unpack(archive, tmp_path / "folder", most_bytes=5_000_000)
    assert everything_below(tmp_path) == ["archive"]


@both
def test_the_bound_is_on_all_files_together(tmp_path: Path, pack: Pack) -> None:
    archive = pack(tmp_path / "archive", {name: bytes(600) for name in "abc"})
    with pytest.raises(UnsafeArchive, match="stopped within 'b'"):
        unpack(archive, tmp_path / "folder", most_bytes=1000)
    assert unpack(archive, tmp_path / "folder", most_bytes=1800).is_dir()


@both
def test_an_archive_of_too_many_files_is_stopped(tmp_path: Path, pack: Pack) -> None:
    archive = pack(tmp_path / "archive", {str(name): b"" for name in range(11)})
    with pytest.raises(UnsafeArchive, match="more than 10 files"):
        unpack(archive, tmp_path / "folder", most_files=10)


def test_a_zip_that_lies_about_its_size_is_damaged(tmp_path: Path) -> None:
    path = zipped(tmp_path / "archive.zip", {"file": bytes(100_000)})
    lying = path.read_bytes().replace((100_000).to_bytes(4, "little"), (10).to_bytes(4, "little"))
    path.write_bytes(lying)
    with pytest.raises(ValueError, match=r"archive.zip cannot be unpacked: BadZipFile: Bad CRC"):
        unpack(path, tmp_path / "folder")
    assert everything_below(tmp_path) == ["archive.zip"]


def test_a_file_that_comes_twice_is_refused(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "archive.zip", "w") as archive:
        archive.writestr("file", b"1")
        with pytest.warns(UserWarning, match="Duplicate"):
            archive.writestr("file", b"2")
    with pytest.raises(UnsafeArchive, match="'file' comes twice"):
        unpack(tmp_path / "archive.zip", tmp_path / "folder")


@both
def test_a_file_that_is_also_a_folder_is_an_error(tmp_path: Path, pack: Pack) -> None:
    with pytest.raises(ValueError, match="archive cannot be unpacked"):
        unpack(pack(tmp_path / "archive", {"a": b"1", "a/b": b"2"}), tmp_path / "folder")
    assert everything_below(tmp_path) == ["archive"]


@both
def test_a_truncated_archive_leaves_nothing_behind(tmp_path: Path, pack: Pack) -> None:
    path = pack(tmp_path / "archive", {"file": os.urandom(100_000)})
    path.write_bytes(path.read_bytes()[:50_000])
    with pytest.raises(ValueError, match=r"archive (cannot be unpacked|is neither a zip nor a tar)"):
        unpack(path, tmp_path / "folder")
    assert everything_below(tmp_path) == ["archive"]


def test_what_is_no_archive_is_refused(tmp_path: Path) -> None:
    (tmp_path / "archive").write_bytes(b"not an archive")
    with pytest.raises(ValueError, match="archive is neither a zip nor a tar archive"):
        unpack(tmp_path / "archive", tmp_path / "folder")


@both
def test_a_folder_that_holds_something_is_not_written_into(tmp_path: Path, pack: Pack) -> None:
    archive = pack(tmp_path / "archive", {"a.txt": b"one"})
    (tmp_path / "folder").mkdir()
    assert unpack(archive, tmp_path / "folder").is_dir()
    with pytest.raises(FileExistsError, match="expected a folder that is new or empty"):
        unpack(archive, tmp_path / "folder")


@settings(max_examples=30, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(names=st.lists(st.text(alphabet="./\\aC:", min_size=1, max_size=8), min_size=1, max_size=4, unique=True))
def test_nothing_is_ever_written_outside_of_the_folder(
    tmp_path_factory: pytest.TempPathFactory, names: list[str]
) -> None:
    outside = tmp_path_factory.mktemp("outside")
    archive = tarred(outside / "archive", dict.fromkeys(names, b"body"))
    try:
        unpack(archive, outside / "folder" / "inner")
    except ValueError:
        assert everything_below(outside) in (["archive"], ["archive", "folder"])
    else:
        assert {path.parts[0] for path in map(Path, everything_below(outside))} == {"archive", "folder"}
