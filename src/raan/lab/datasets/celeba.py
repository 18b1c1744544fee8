"""CelebA: faces of celebrities with 40 attributes each; the paper predicts wavy hair and protects gender."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pandas as pd
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

    Returns:
        The images with label and attribute; `Celeba.embed` and `Celeba.table` make a table of them.

    Raises:
        DataUnavailable: The lists are not on this machine; the message says where to get them.
        ValueError: An image is not in the lists, or a list has an unexpected value.
    """
    listed = require(ATTRIBUTE_LIST, path)
    parts = require(PARTITION_LIST, listed.parent)
    found = open_images(images or _find_images(listed.parent))
    values = read_list(listed, (label, attribute), (-1, 1))
    partition = read_list(parts, ("partition",), (0, 1, 2))
    # Images are published as .jpg and as .png, and listed as .jpg: names are compared without their endings.
    names = pd.Index([Path(name).stem for name in found])
    for place, known in ((listed, values), (parts, partition)):
        missing = names.difference(known.index)
        if len(missing):
            raise ValueError(
                f"{len(missing):,} of {len(names):,} images are not listed in {place}; the first is {missing[0]}"
            )
    both = torch.tensor((values.loc[names] == 1).to_numpy(np.int64))
    return Celeba(
        found,
        both[:, 0],
        both[:, 1],
        torch.tensor(partition.loc[names, "partition"].to_numpy(np.int64)),
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


def read_list(path: Path, columns: tuple[str, ...], allowed: tuple[int, ...]) -> pd.DataFrame:
    """Read columns of one of the official lists, by the images' names without their endings.

    The list of attributes begins with their number and their names; that of the partition has neither.
    """
    if columns == ("partition",):
        frame = pd.read_csv(path, sep=r"\s+", names=list(columns), index_col=0)
    else:
        frame = pd.read_csv(
            path, sep=r"\s+", skiprows=1
        )  # the names of the images have no heading: they are the index
    for name in columns:
        if name not in frame:
            raise ValueError(f"{path} has no attribute {name!r}; it has {', '.join(map(str, frame.columns))}")
    wrong = ~frame.isin(allowed).all(axis=1)
    if wrong.any():
        raise ValueError(f"{path}, {frame.index[wrong][0]}; expected every value to be one of {allowed}")
    frame.index = frame.index.str.replace(r"\.\w+$", "", regex=True)
    return frame[list(columns)]
