"""Images from folders and archives, decoded by several threads."""

import io
import sys
import tarfile
import threading
import zipfile
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from raan.data.images import Member, open_images, read_pixels

COLOURS = ((250, 10, 20), (10, 240, 30), (20, 30, 230), (128, 128, 128), (0, 0, 0))


def encoded(colour: tuple[int, int, int], width: int = 89, height: int = 109, form: str = "JPEG") -> bytes:
    stream = io.BytesIO()
    Image.new("RGB", (width, height), colour).save(stream, form, **({"quality": 95} if form == "JPEG" else {}))
    return stream.getvalue()


BODIES = {f"{number:06}.jpg": encoded(colour) for number, colour in enumerate(COLOURS, start=1)}


def in_folder(tmp_path: Path, bodies: dict[str, bytes] = BODIES) -> Path:
    folder = tmp_path / "faces"
    folder.mkdir()
    for name, body in bodies.items():
        (folder / name).write_bytes(body)
    return folder


def in_zip(tmp_path: Path, bodies: dict[str, bytes] = BODIES) -> Path:
    with zipfile.ZipFile(tmp_path / "faces.zip", "w", zipfile.ZIP_DEFLATED) as archive:
        for name, body in reversed(bodies.items()):
            archive.writestr(f"img_align_celeba/{name}", body)
        archive.writestr("__MACOSX/._000001.jpg", b"of the file system")
        archive.writestr("read me.txt", b"not an image")
    return tmp_path / "faces.zip"


def in_tar(tmp_path: Path, bodies: dict[str, bytes] = BODIES) -> Path:
    with tarfile.open(tmp_path / "faces.tar", "w") as archive:
        for name, body in reversed(bodies.items()):
            member = tarfile.TarInfo(f"small/{name}")
            member.size = len(body)
            archive.addfile(member, io.BytesIO(body))
        link = tarfile.TarInfo("small/000009.jpg")
        link.type, link.linkname = tarfile.SYMTYPE, "/etc/passwd"
        archive.addfile(link)
    return tmp_path / "faces.tar"


HOLDERS = {"folder": in_folder, "zip": in_zip, "tar": in_tar}


@pytest.mark.parametrize("held", HOLDERS.values(), ids=HOLDERS)
def test_a_folder_and_archives_hold_the_same_images(tmp_path: Path, held: Callable[[Path], Path]) -> None:
    images = open_images(held(tmp_path))
    assert {name: image.read_bytes() for name, image in images.items()} == BODIES
    assert list(images) == sorted(BODIES)


@pytest.mark.parametrize("held", HOLDERS.values(), ids=HOLDERS)
@pytest.mark.parametrize("threads", [1, 4, None])
def test_pixels_are_red_green_and_blue_whoever_reads_them(
    tmp_path: Path, held: Callable[[Path], Path], threads: int | None
) -> None:
    images = open_images(held(tmp_path))
    array = read_pixels([*images.values()][::-1], (8, 6), threads=threads)
    assert array.shape == (5, 3, 8, 6)
    expected = np.array(COLOURS[::-1])[:, :, None, None]
    assert np.abs(array.astype(int) - expected).max() <= 3  # of JPEG's own making


def test_an_image_is_scaled_to_cover_the_size_and_cropped_around_its_centre(tmp_path: Path) -> None:
    wide = np.zeros((10, 30, 3), np.uint8)
    wide[:, 10:20] = 255  # the middle third is white
    stream = io.BytesIO()
    Image.fromarray(wide).save(stream, "PNG")
    images = open_images(in_folder(tmp_path, {"wide.png": stream.getvalue()}))
    assert (read_pixels([*images.values()], 10) == 255).all()
    assert read_pixels([*images.values()], (10, 30))[0, 0, 0].tolist() == [0] * 10 + [255] * 10 + [0] * 10


@pytest.mark.parametrize("mode", ["L", "RGBA", "P", "CMYK"])
def test_images_in_other_modes_become_red_green_and_blue(tmp_path: Path, mode: str) -> None:
    stream = io.BytesIO()
    image = Image.new("RGB", (12, 12), (200, 200, 200)).convert(mode)
    image.save(stream, "JPEG" if mode == "CMYK" else "PNG")
    images = open_images(in_folder(tmp_path, {"grey.png": stream.getvalue()}))
    assert read_pixels([*images.values()], 4).mean() == pytest.approx(200, abs=3)


def test_no_image_named_makes_an_empty_array() -> None:
    assert read_pixels((), 4).shape == (0, 3, 4, 4)


@pytest.mark.parametrize("body", [b"", b"not an image", BODIES["000001.jpg"][:300]])
def test_an_image_that_cannot_be_read_is_named(tmp_path: Path, body: bytes) -> None:
    images = open_images(in_folder(tmp_path, BODIES | {"000003.jpg": body}))
    with pytest.raises(ValueError, match=r"faces.*000003.jpg cannot be read as an image"):
        read_pixels([*images.values()], 4)


def test_a_place_without_images_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"faces has no image: no file ends in .jpg, .jpeg, .png"):
        open_images(in_folder(tmp_path, {"read me.txt": b""}))


def test_a_place_that_does_not_exist_is_refused(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match=r"nowhere does not exist; expected a folder of images, or"):
        open_images(tmp_path / "nowhere")


def test_a_name_that_occurs_twice_is_refused(tmp_path: Path) -> None:
    folder = in_folder(tmp_path)
    (folder / "more").mkdir()
    (folder / "more" / "000002.jpg").write_bytes(b"")
    with pytest.raises(ValueError, match=r"faces has 000002.jpg more than once"):
        open_images(folder)


@pytest.mark.parametrize("body", [b"hello", b""])
def test_a_file_that_is_no_archive_is_refused(tmp_path: Path, body: bytes) -> None:
    (tmp_path / "faces.tar").write_bytes(body)
    with pytest.raises(ValueError, match=r"faces.tar (cannot be read|has no image)"):
        open_images(tmp_path / "faces.tar")


def test_a_compressed_tar_is_refused_with_advice(tmp_path: Path) -> None:
    with tarfile.open(tmp_path / "faces.tar.gz", "w:gz") as archive:
        archive.add(in_folder(tmp_path))
    with pytest.raises(ValueError, match=r"expected a folder, a zip archive or an uncompressed tar archive"):
        open_images(tmp_path / "faces.tar.gz")


@pytest.mark.parametrize("size", [0, (4, 0), (-1, 4)])
def test_a_size_without_pixels_is_refused(tmp_path: Path, size: int | tuple[int, int]) -> None:
    images = open_images(in_folder(tmp_path))
    with pytest.raises(ValueError, match="expected a height and a width of at least one pixel"):
        read_pixels([*images.values()], size)


def test_without_pillow_the_error_says_what_to_install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    images = open_images(in_folder(tmp_path))
    monkeypatch.setitem(sys.modules, "PIL", None)
    with pytest.raises(ImportError, match=r"pip install .raan\[image\]."):
        read_pixels([*images.values()], 4)


def test_threads_really_read_side_by_side(tmp_path: Path) -> None:
    together = threading.Barrier(4, timeout=20)

    def read() -> bytes:
        together.wait()
        return BODIES["000001.jpg"]

    read_pixels([Member(str(number), tmp_path, read) for number in range(4)], 4, threads=4)


@pytest.mark.parametrize("held", [in_zip, in_tar])
def test_a_damaged_archive_is_an_error_that_names_it_or_gives_the_images(
    tmp_path: Path, held: Callable[[Path], Path]
) -> None:
    where = held(tmp_path)
    whole, rng = where.read_bytes(), np.random.default_rng(0)
    expected = read_pixels([*open_images(where).values()], 8)
    said = 0
    for place in rng.integers(len(whole), size=120):
        broken = bytearray(whole)
        broken[place] ^= 1 << int(place % 8)
        where.write_bytes(broken if place % 3 else broken[:place])
        try:
            found = open_images(where)
            outcome = str(read_pixels([*found.values()], 8).shape[1:])
        except ValueError as error:
            outcome = str(error)
            said += 1
        assert outcome == str(expected.shape[1:]) or str(where) in outcome
    assert said > 20


def test_an_image_of_absurdly_many_pixels_is_not_unpacked(tmp_path: Path) -> None:
    drawn = io.BytesIO()
    Image.new("1", (9_000, 9_000)).save(drawn, "PNG")
    images = open_images(in_folder(tmp_path, {"wide.png": drawn.getvalue()}))
    with pytest.raises(ValueError, match=r"wide.png .*it has 9,000 times 9,000 pixels"):
        read_pixels([*images.values()], 8)
