"""CelebA: faces of celebrities with 40 attributes each; the paper predicts wavy hair and protects gender."""

import gzip
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import torch
from jaxtyping import Float, Float32, Int, UInt8
from numpy.typing import ArrayLike
from torch import Tensor

from raan.data.download import Progress, require
from raan.data.encoders import embed_images, find_image_encoder
from raan.data.images import ImageFile, Size, open_images, read_pixels
from raan.data.split import Split
from raan.data.table import Table
from raan.lab.datasets.description import CATALOGUE

ATTRIBUTE_LIST, PARTITION_LIST, IMAGES = CATALOGUE["celeba"].files

# Training, validation and test images of the whole set of 202,599. The paper states 194,599 training images; of
# the remaining 8,000, RNF, whose setting the paper follows, selects on one half and tests on the other.
SPLIT = (194_599, 4_000, 4_000)

CALLED = {"Male": ("Female", "Male")}  # names of the two values of an attribute, other than "not X" and "X"

SIZE: Size = (160, 128)
"""Height and width for the encoder: nearly CelebA's proportions, so that no hair is cut off, and whole strides of
the network."""


@dataclass(frozen=True, eq=False)
class Celeba:
    """Images with a label and an attribute each; the images themselves are read on demand."""

    images: Mapping[str, ImageFile]  # by name, in the order of the rows
    label: Int[Tensor, "image"]
    attribute: Int[Tensor, "image"]
    partition: Int[Tensor, "image"]  # the official one: 0 training, 1 validation, 2 test
    class_names: tuple[str, ...]
    attribute_names: tuple[str, ...]

    @property
    def rows(self) -> int:
        """The number of images."""
        return len(self.label)

    def official_split(self) -> Split:
        """Return the rows of the official partition, in which nobody is in two parts; a part can be empty."""
        train, validation, test = ((self.partition == part).nonzero()[:, 0] for part in range(3))
        return Split(train, validation, test)

    def pixels(
        self, rows: Sequence[int] | Int[Tensor, "row"], size: int | Size, *, threads: int | None = None
    ) -> UInt8[Tensor, "row 3 height width"]:
        """Read the images of the rows, scaled to cover the size (height, width) and cropped around the centre."""
        images = list(self.images.values())
        return torch.from_numpy(read_pixels([images[int(row)] for row in rows], size, threads=threads))

    def embed(self, progress: Progress | None = None) -> Float32[Tensor, "image feature"]:
        """Return the 1,280 numbers before the last layer of EfficientNet-lite0, trained on ImageNet, for each
        image.

        They are computed once and kept in the cache.
        """
        encoder = replace(find_image_encoder(None), size=SIZE)
        vectors, faults = embed_images(list(self.images.values()), encoder, progress)
        if faults:
            row, fault = next(iter(faults.items()))
            raise ValueError(f"{list(self.images.values())[row]} {fault}")
        return torch.from_numpy(vectors)

    def table(self, features: ArrayLike | Float[Tensor, "image feature"]) -> Table:
        """Return a table of features of the images, such as an encoder's output."""
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
    """Load the images of CelebA that are on this machine, with two of the 40 attributes as label and attribute.

    Nothing is downloaded: only the owners of the images offer them, for research.

    Args:
        path: the folder of the official list_attr_celeba.txt and list_eval_partition.txt, gzipped or not.
        images: a folder, a zip or an uncompressed tar archive; by default it is looked for beside the lists.
        label: the attribute to predict.
        attribute: the sensitive attribute.
    """
    listed = require(ATTRIBUTE_LIST, path)
    parts = require(PARTITION_LIST, listed.parent)
    found = open_images(images or _find_images(listed.parent))
    values, partition = read_attributes(listed, (label, attribute)), read_partition(parts)
    # Images are published as .jpg and as .png, and listed as .jpg: they are joined by their names without the
    # ending.
    stems = [Path(name).stem for name in found]
    for place, known in ((listed, values), (parts, partition)):
        missing = [name for name, stem in zip(found, stems, strict=True) if stem not in known]
        if missing:
            raise ValueError(
                f"{len(missing):,} of {len(stems):,} images are not listed in {place}; the first is {missing[0]}"
            )
    both = torch.tensor([values[stem] for stem in stems])
    return Celeba(
        found,
        both[:, 0],
        both[:, 1],
        torch.tensor([partition[stem] for stem in stems]),
        CALLED.get(label, (f"not {label}", label)),
        CALLED.get(attribute, (f"not {attribute}", attribute)),
    )


def _find_images(folder: Path) -> Path:
    """Return where the images are in the folder: under their official name, or else the only archive."""
    official = [folder / name for name in IMAGES.names if (folder / name).exists()]
    archives = sorted(path for path in folder.iterdir() if path.suffix in (".tar", ".zip"))
    if official or len(archives) == 1:
        return (official or archives)[0]
    found = f"{len(archives)} archives ({', '.join(path.name for path in archives)})" if archives else "no archive"
    raise FileNotFoundError(
        f"{folder} has none of {', '.join(IMAGES.names)}, and {found}; give the path of the images. "
        f"{IMAGES.advice}"
    )


def read_attributes(path: Path, chosen: tuple[str, str]) -> dict[str, tuple[int, int]]:
    """Read two of the attributes, 0 or 1 each, by the image's name without its ending."""
    lines = _lines(path)
    (_, count), (_, names) = next(lines, (0, [""])), next(lines, (0, [""]))
    for name in chosen:
        if name not in names:
            raise ValueError(f"{path} has no attribute {name!r}; it has {', '.join(names)}")
    first, second = (names.index(name) + 1 for name in chosen)
    values: dict[str, tuple[int, int]] = {}
    for number, fields in lines:
        if len(fields) != len(names) + 1 or not {fields[first], fields[second]} <= {"-1", "1"}:
            raise ValueError(f"{path}, line {number}: expected a name and {len(names)} values, each -1 or 1")
        values[Path(fields[0]).stem] = int(fields[first] == "1"), int(fields[second] == "1")
    if count != [str(len(values))]:
        raise ValueError(f"{path} lists {len(values):,} images; its first line states {' '.join(count)}")
    return values


def read_partition(path: Path) -> dict[str, int]:
    """Read the official part of each image, by its name without the ending."""
    parts: dict[str, int] = {}
    for number, fields in _lines(path):
        if len(fields) != 2 or fields[1] not in ("0", "1", "2"):
            raise ValueError(f"{path}, line {number}: expected a name and 0, 1 or 2 (training, validation, test)")
        parts[Path(fields[0]).stem] = int(fields[1])
    return parts


def _lines(path: Path) -> Iterator[tuple[int, list[str]]]:
    """Yield the number and the fields of each line that has any."""
    with gzip.open(path, "rt") if path.suffix == ".gz" else path.open() as stream:
        for number, line in enumerate(stream, start=1):
            if fields := line.split():
                yield number, fields
