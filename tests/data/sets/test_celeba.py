"""CelebA's lists and images belong together: by small files, and by the real images where they are."""

import gzip
import io
from functools import cache
from pathlib import Path

import numpy as np
import pytest
import torch
from PIL import Image
from sklearn.linear_model import RidgeClassifier

from raan.data import Celeba, DataUnavailable, celeba, split
from raan.lab.datasets.celeba import SPLIT, read_list

NAMES = ("Bangs", "Male", "Smiling", "Wavy_Hair")
FACES = {  # the attributes in the order of the names, and the official part
    "000001.jpg": ((1, -1, 1, 1), 0),
    "000002.jpg": ((-1, 1, 1, -1), 0),
    "000003.jpg": ((-1, -1, -1, -1), 1),
    "000004.jpg": ((1, 1, -1, 1), 2),
    "000005.jpg": ((1, 1, 1, -1), 0),
}
ATTRIBUTES = "\r\n".join(
    [
        "5",
        " ".join(NAMES) + " ",
        *(f"{name} " + " ".join(f"{value:2}" for value in values) for name, (values, _) in FACES.items()),
        "",
    ]
)
PARTITION = "".join(f"{name} {part}\n" for name, (_, part) in FACES.items())


def jpeg(grey: int) -> bytes:
    stream = io.BytesIO()
    Image.new("RGB", (89, 109), (grey, grey, grey)).save(stream, "JPEG")
    return stream.getvalue()


def write(
    folder: Path, attributes: str = ATTRIBUTES, partition: str = PARTITION, images: tuple[str, ...] = tuple(FACES)
) -> Path:
    """The two lists, and images whose grey is 40 times their number."""
    folder.mkdir(exist_ok=True)
    (folder / "list_attr_celeba.txt").write_text(attributes, newline="")
    (folder / "list_eval_partition.txt").write_text(partition)
    (folder / "img_align_celeba").mkdir(exist_ok=True)
    for name in images:
        (folder / "img_align_celeba" / name).write_bytes(jpeg(40 * int(name[:6])))
    return folder


def test_labels_attributes_and_parts_are_joined_to_the_images_by_name(tmp_path: Path) -> None:
    data = celeba(write(tmp_path))
    assert data.rows == 5
    assert data.label.tolist() == [1, 0, 0, 1, 0]
    assert data.attribute.tolist() == [0, 1, 0, 1, 1]
    assert data.partition.tolist() == [0, 0, 1, 2, 0]
    assert (data.class_names, data.attribute_names) == (("not Wavy_Hair", "Wavy_Hair"), ("Female", "Male"))


def test_only_the_images_at_hand_are_rows(tmp_path: Path) -> None:
    data = celeba(write(tmp_path, images=("000002.jpg", "000004.jpg")))
    assert data.label.tolist() == [0, 1]
    assert data.partition.tolist() == [0, 2]
    grey = data.pixels([0, 1], 4).float().mean((1, 2, 3))
    assert grey.tolist() == pytest.approx([80, 160], abs=2)


def test_any_attribute_can_be_label_or_attribute(tmp_path: Path) -> None:
    data = celeba(write(tmp_path), label="Smiling", attribute="Bangs")
    assert data.label.tolist() == [1, 1, 0, 0, 1]
    assert data.attribute.tolist() == [1, 0, 0, 1, 1]
    assert data.attribute_names == ("not Bangs", "Bangs")


def test_the_lists_may_be_gzipped_and_the_images_elsewhere(tmp_path: Path) -> None:
    folder = write(tmp_path / "lists")
    for name in ("list_attr_celeba.txt", "list_eval_partition.txt"):
        (folder / f"{name}.gz").write_bytes(gzip.compress((folder / name).read_bytes()))
        (folder / name).unlink()
    (folder / "img_align_celeba").rename(tmp_path / "faces")
    assert celeba(folder, images=tmp_path / "faces").label.tolist() == [1, 0, 0, 1, 0]


def test_images_published_as_png_are_listed_as_jpg(tmp_path: Path) -> None:
    folder = write(tmp_path)
    for path in (folder / "img_align_celeba").iterdir():
        path.rename(path.with_suffix(".png"))
    assert celeba(folder).label.tolist() == [1, 0, 0, 1, 0]


def test_the_official_parts_are_a_split(tmp_path: Path) -> None:
    assert [part.tolist() for part in celeba(write(tmp_path)).official_split()] == [[0, 1, 4], [2], [3]]


def test_rows_of_pixels_are_in_the_order_asked(tmp_path: Path) -> None:
    data = celeba(write(tmp_path))
    rows = torch.tensor([4, 0, 4])
    grey = data.pixels(rows, (6, 5)).float().mean((1, 2, 3))
    assert grey.tolist() == pytest.approx([200, 40, 200], abs=2)


def test_features_made_of_the_images_make_a_table(tmp_path: Path) -> None:
    data = celeba(write(tmp_path))
    table = data.table(data.pixels(range(5), 2).flatten(1))
    assert table.features.shape == (5, 12)
    assert table.cells().tolist() == [[1, 2], [1, 1]]
    assert table.name == "celeba"


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        (
            "000002.jpg -1 ",
            "000002.jpg ",
            r"list_attr_celeba.txt, 000002.jpg; expected every value to be one of \(-1, 1\)",
        ),
        (
            "000002.jpg -1  1",
            "000002.jpg -1  2",
            r"list_attr_celeba.txt, 000002.jpg; expected every value to be one of \(-1, 1\)",
        ),
        ("Wavy_Hair", "Curly_Hair", r"has no attribute 'Wavy_Hair'; it has Bangs, Male, Smiling, Curly_Hair"),
        (
            "000003.jpg",
            "000030.jpg",
            r"1 of 5 images are not listed in .*list_attr.*; the first is 000003",
        ),
    ],
)
def test_what_is_wrong_in_the_list_of_attributes_is_named(
    tmp_path: Path, old: str, new: str, message: str
) -> None:
    assert old in ATTRIBUTES
    with pytest.raises(ValueError, match=message):
        celeba(write(tmp_path, attributes=ATTRIBUTES.replace(old, new, 1)))


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        (
            "000003.jpg 1",
            "000003.jpg 3",
            r"list_eval_partition.txt, 000003.jpg; expected every value to be one of \(0, 1, 2\)",
        ),
        (
            "000003.jpg 1",
            "000003.jpg",
            r"list_eval_partition.txt, 000003.jpg; expected every value to be one of \(0, 1, 2\)",
        ),
        (
            "000003.jpg 1\n",
            "",
            r"1 of 5 images .* not listed in .*list_eval_partition.txt.*; the first is 000003",
        ),
    ],
)
def test_what_is_wrong_in_the_list_of_parts_is_named(tmp_path: Path, old: str, new: str, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        celeba(write(tmp_path, partition=PARTITION.replace(old, new, 1)))


def test_missing_lists_are_asked_for_with_the_terms(cache: Path) -> None:
    with pytest.raises(DataUnavailable, match=r"(?s)list_attr_celeba.txt.*non-commercial research only"):
        celeba()


def test_missing_images_are_asked_for(tmp_path: Path) -> None:
    folder = write(tmp_path)
    (folder / "img_align_celeba").rename(tmp_path / "hidden")
    with pytest.raises(FileNotFoundError, match=r"has none of img_align_celeba, .*and no archive; give the path"):
        celeba(folder)


def test_of_several_archives_none_is_guessed(tmp_path: Path) -> None:
    folder = write(tmp_path)
    (folder / "img_align_celeba").rename(tmp_path / "hidden")
    for name in ("a.tar", "b.zip"):
        (folder / name).touch()
    with pytest.raises(FileNotFoundError, match=r"2 archives \(a.tar, b.zip\); give the path of the images"):
        celeba(folder)


def test_the_split_of_the_whole_set_leaves_nobody_out() -> None:
    assert sum(SPLIT) == 202_599


# The real images: read in place, never copied out of the tests' own temporary folders.


@cache
def real(folder: Path) -> Celeba:
    if not (folder / "celeba").is_dir():
        pytest.skip(f"no real CelebA: {folder / 'celeba'} is missing")
    return celeba(folder)


@pytest.mark.usefixtures("as_users_call")
def test_the_real_images_have_the_known_cells_and_parts(real_data: Path) -> None:
    data = real(real_data)
    cells = torch.bincount(2 * data.attribute + data.label).tolist()
    assert cells == [3_202, 2_581, 3_619, 598]
    assert [len(part) for part in data.official_split()] == [10_000, 0, 0]
    assert [len(part) for part in split(data.rows, (8_000, 1_000, 1_000), seed=0)] == [8_000, 1_000, 1_000]


@pytest.mark.usefixtures("as_users_call")
def test_the_real_lists_have_the_known_rates(real_data: Path) -> None:
    real(real_data)
    listed = read_list(real_data / "celeba" / "list_attr_celeba.txt.gz", ("Wavy_Hair", "Male"), (-1, 1))
    values = (listed.to_numpy() == 1).astype(int)
    assert len(values) == 202_599
    assert values.mean(0) == pytest.approx([0.320, 0.417], abs=5e-4)
    wavy, male = values.T
    assert (wavy[male == 0].mean(), wavy[male == 1].mean()) == pytest.approx((0.447, 0.141), abs=5e-4)
    parts = read_list(real_data / "celeba" / "list_eval_partition.txt.gz", ("partition",), (0, 1, 2))
    assert np.bincount(parts["partition"]).tolist() == [162_770, 19_867, 19_962]


@pytest.mark.usefixtures("as_users_call")
def test_the_real_attributes_belong_to_their_images(real_data: Path) -> None:
    data = real(real_data)
    features = data.pixels(range(4_000), (16, 14)).flatten(1).numpy() / 255
    features -= features[:3_000].mean(0)

    def accuracy(shift: int) -> float:
        """How well a linear probe tells the gender of the image so many on."""
        male = torch.roll(data.attribute[:4_000], shift).numpy()
        probe = RidgeClassifier(alpha=30).fit(features[:3_000], male[:3_000])
        return probe.score(features[3_000:], male[3_000:])

    assert accuracy(shift=0) > 0.8
    assert accuracy(shift=1) < 0.62  # 59 % are women
