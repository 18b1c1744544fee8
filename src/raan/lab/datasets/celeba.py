"""CelebA: faces of celebrities, 40 attributes each; the paper asks for wavy hair and protects gender."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from jaxtyping import Float, Int, UInt8
from numpy.typing import ArrayLike
from torch import Tensor

from raan.data import images as image_files
from raan.data.download.find import require
from raan.data.download.remote import RemoteFile
from raan.data.embed import embed_images
from raan.data.images import Images, Size, open_images
from raan.data.split import Split
from raan.data.table import Table
from raan.lab.datasets.dataset import About, DataSet, Need, split_at_random
from raan.tables.read import open_text

# Train, validation and test images of the whole set of 202,599. The paper says 194,599 train; what is left
# is 8,000, of which RNF, whose setting it follows, selects on one half and tests on the other.
SPLIT = (194_599, 4_000, 4_000)

PARTITIONS = ("train", "validation", "test")  # 0, 1, 2 in the official file
VALUES = {"-1": 0, "1": 1}
CALLED = {"Male": ("Female", "Male")}  # what the two values are called, where "not X" would not do

ATTRIBUTE_NAMES = ("list_attr_celeba.txt", "list_attr_celeba.txt.gz")
PARTITION_NAMES = ("list_eval_partition.txt", "list_eval_partition.txt.gz")
IMAGE_NAMES = ("img_align_celeba", "img_align_celeba.zip", "img_align_celeba.tar")
ADVICE = (
    "Get it by hand from mmlab.ie.cuhk.edu.hk/projects/CelebA.html, after agreeing to the terms: "
    "non-commercial research only, no copy of any part is passed on."
)

FILES = (
    RemoteFile(
        "celeba",
        "list_attr_celeba.txt",
        "f0e5da289d5ccf75ffe8811132694922b60f2af59256ed362afa03fefba324d0",
        26_721_026,
    ),
    RemoteFile(
        "celeba",
        "list_eval_partition.txt",
        "fc955bcb3ef8fbdf7d5640d9a8693a8431b5f2ee291a5c1449a1549e7e073fe7",
        2_836_386,
    ),
)

ABOUT = About(
    name="celeba",
    title="CelebA, Large-scale CelebFaces Attributes",
    task="whether a person has wavy hair (or any other of the 40 attributes), from an image of the face",
    attribute="gender (Female, Male) or any other of the 40, as annotators saw it: nobody in the images was asked",
    licence="non-commercial research only; no copy of any part may be passed on",
    citation="Z. Liu, P. Luo, X. Wang and X. Tang (2015). Deep Learning Face Attributes in the Wild. ICCV.",
    cautions=(
        "The labels are contested: wavy hair, attractive and young are opinions, and annotators err and disagree.",
        "Gender is binary and guessed from looks.",
        "The same people stand in many images; only the official partition keeps each person in one part.",
        "P(wavy) is 0.447 among women and 0.141 among men.",
    ),
    needs=(
        Need("celeba", ATTRIBUTE_NAMES, FILES[0], advice=ADVICE),
        Need("celeba", PARTITION_NAMES, FILES[1], advice=ADVICE),
        Need("celeba", IMAGE_NAMES, advice=ADVICE),
    ),
)


@dataclass(frozen=True, eq=False)
class Celeba:
    """Images with a label and an attribute each; the images themselves are read when they are asked for."""

    images: Images
    label: Int[Tensor, "image"]
    attribute: Int[Tensor, "image"]
    partition: Int[Tensor, "image"]  # the official one: 0 train, 1 validation, 2 test
    class_names: tuple[str, ...]
    attribute_names: tuple[str, ...]

    @property
    def rows(self) -> int:
        """The number of images."""
        return len(self.label)

    def official_split(self) -> Split:
        """The rows of the official partition, in which nobody is in two parts; a part may be empty."""
        train, validation, test = ((self.partition == part).nonzero()[:, 0] for part in range(3))
        return Split(train, validation, test)

    def pixels(
        self, rows: Sequence[int] | Int[Tensor, "row"], size: int | Size, *, threads: int | None = None
    ) -> UInt8[Tensor, "row 3 height width"]:
        """The images of the rows, scaled to cover the size (height, width) and cropped around their centre."""
        names = self.images.names
        chosen = [names[int(row)] for row in rows]
        return torch.from_numpy(image_files.pixels(self.images, chosen, size, threads=threads))

    def table(self, features: ArrayLike | Float[Tensor, "image feature"]) -> Table:
        """A table of features that somebody made of the images, such as an encoder's output."""
        return Table.of(
            features,
            self.label,
            self.attribute,
            class_names=self.class_names,
            attribute_names=self.attribute_names,
            name="celeba",
        )


def celeba(
    path: str | Path | None = None,
    *,
    images: str | Path | None = None,
    label: str = "Wavy_Hair",
    attribute: str = "Male",
) -> Celeba:
    """CelebA's images that are at hand, with any two of the 40 attributes as label and attribute.

    The path is the folder of the official list_attr_celeba.txt and list_eval_partition.txt, gzipped or not.
    The images are a folder, a zip or an uncompressed tar; without a path to them they are looked for beside
    the lists. Nothing is fetched: the images are to be had for research, from their owners only.
    """
    lists = require("celeba", ATTRIBUTE_NAMES, path, ADVICE)
    files = open_images(images or _beside(lists.parent))
    values = read_attributes(lists, (label, attribute))
    partition = read_partition(require("celeba", PARTITION_NAMES, lists.parent, ADVICE))
    stems = [_stem(name) for name in files.names]
    _check_listed(files, stems, values, lists)
    _check_listed(files, stems, partition, lists.parent / PARTITION_NAMES[0])
    both = np.array([values[stem] for stem in stems])
    return Celeba(
        files,
        torch.from_numpy(both[:, 0]),
        torch.from_numpy(both[:, 1]),
        torch.tensor([partition[stem] for stem in stems]),
        CALLED.get(label, (f"not {label}", label)),
        CALLED.get(attribute, (f"not {attribute}", attribute)),
    )


def _beside(folder: Path) -> Path:
    """Where the images are in the folder: under their official name, or else the only archive."""
    official = [folder / name for name in IMAGE_NAMES if (folder / name).exists()]
    archives = sorted(path for path in folder.iterdir() if path.suffix in (".tar", ".zip"))
    if official or len(archives) == 1:
        return (official or archives)[0]
    found = f"{len(archives)} archives ({', '.join(path.name for path in archives)})" if archives else "no archive"
    raise FileNotFoundError(
        f"{folder} holds none of {', '.join(IMAGE_NAMES)}, and {found}: give the path of the images. {ADVICE}"
    )


def read_attributes(path: Path, chosen: tuple[str, str]) -> dict[str, tuple[int, int]]:
    """The two attributes chosen, 0 or 1 each, by the image's name without its ending."""
    lines = _lines(path)
    (_, count), (_, names) = next(lines, (0, [""])), next(lines, (0, [""]))
    for name in chosen:
        if name not in names:
            raise ValueError(f"{path} has no attribute {name!r}, it has {', '.join(names)}")
    first, second = (names.index(name) + 1 for name in chosen)
    values: dict[str, tuple[int, int]] = {}
    for number, fields in lines:
        if len(fields) != len(names) + 1 or not VALUES.keys() >= {fields[first], fields[second]}:
            raise ValueError(f"{path}, line {number}: expected a name and {len(names)} values, each -1 or 1")
        values[_stem(fields[0])] = VALUES[fields[first]], VALUES[fields[second]]
    if count != [str(len(values))]:
        raise ValueError(f"{path} lists {len(values):,} images, its first line says {' '.join(count)}")
    return values


def read_partition(path: Path) -> dict[str, int]:
    """The official part of each image, by its name without the ending."""
    parts: dict[str, int] = {}
    for number, fields in _lines(path):
        if len(fields) != 2 or fields[1] not in ("0", "1", "2"):
            raise ValueError(f"{path}, line {number}: expected a name and 0, 1 or 2 ({', '.join(PARTITIONS)})")
        parts[_stem(fields[0])] = int(fields[1])
    return parts


def _lines(path: Path) -> Iterator[tuple[int, list[str]]]:
    """The fields of each line that has any, with its number."""
    with open_text(path) as (stream, _):
        for number, line in enumerate(stream, start=1):
            if fields := line.split():
                yield number, fields


def _stem(name: str) -> str:
    """The name without its ending: images are published as .jpg and as .png, and listed as .jpg."""
    return name.rpartition(".")[0] or name


def _check_listed(files: Images, stems: Sequence[str], listed: Mapping[str, object], path: Path) -> None:
    missing = [name for name, stem in zip(files.names, stems, strict=True) if stem not in listed]
    if missing:
        raise ValueError(
            f"{len(missing):,} of {len(stems):,} images in {files.where} are not listed in {path}, "
            f"the first is {missing[0]}"
        )


def _embed(**options: Any) -> Table:
    """The table of a pretrained network's features of the images that are at hand."""
    faces = celeba(**options)
    return faces.table(embed_images(faces.images))


DATASET = DataSet(
    "celeba",
    split_at_random(_embed, SPLIT),
    ("path", "images", "label", "attribute", "sizes"),
    about=ABOUT,
)
