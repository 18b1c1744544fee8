"""Environments in which the attribute predicts the label more or less well, and in the last one its opposite."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import torch
from jaxtyping import Int
from torch import Tensor

from raan.data.streams import stream
from raan.data.table import UNKNOWN, Table

SWITCH_PROBABILITIES = (0.1, 0.2, 0.9)  # of the two training environments and of the test environment

Counts = Int[np.ndarray, "2 2"]  # of the rows of each label (first axis) and attribute


@dataclass(frozen=True, eq=False)
class Environments:
    """The rows of each environment, all of one size and without overlap.

    The switch probability is p_e = p(a = z | y = 1 - z) for either z: how often the attribute differs from the
    label.
    """

    rows: Int[Tensor, "environment row"]
    switch_probability: tuple[float, ...]

    @property
    def size(self) -> int:
        """The number of rows of each environment."""
        return self.rows.shape[1]

    def take(self, table: Table) -> Table:
        """Return the table's rows that are in an environment, one environment after the other."""
        rows = self.rows.flatten()
        return replace(
            table,
            features=table.features[..., rows, :],
            label=table.label[rows],
            attribute=table.attribute[rows],
            environment=torch.arange(len(self.rows)).repeat_interleave(self.size),
        )


def environments(
    label: Int[Tensor, "row"],
    attribute: Int[Tensor, "row"],
    switch_probability: Sequence[float] = SWITCH_PROBABILITIES,
    *,
    size: int | None = None,
    seed: int = 0,
) -> Environments:
    """Draw environments of equal size, without overlap, balanced in label and in attribute, by the seed alone.

    In each, half of the rows have label 1 and half have attribute 1. A switch probability is met as nearly as
    whole rows allow: within 1 / size.

    Args:
        label: 0 or 1.
        attribute: 0, 1 or -1; rows of unknown attribute (-1) are in no environment.
        switch_probability: one for each environment.
        size: the number of rows of each environment, which is even; by default the largest possible one.
        seed: determines the rows.

    Returns:
        The rows of each environment.

    Raises:
        ValueError: if a (label, attribute) cell has too few rows; the message states the largest possible size.

    Examples:
        >>> import torch
        >>> from raan.data import environments
        >>> label, attribute = torch.arange(400) % 2, torch.arange(400) // 2 % 2
        >>> environments(label, attribute, size=40).rows.shape
        torch.Size([3, 40])
    """
    _check(label, attribute, switch_probability, size)
    # Each cell's rows, in the seed's order.
    cells = []
    for y, a in ((0, 0), (0, 1), (1, 0), (1, 1)):
        rows = ((label == y) & (attribute == a)).nonzero()[:, 0]
        cells.append(rows[torch.from_numpy(stream(seed, "environments", y, a).permutation(len(rows)))])
    found = np.array([len(rows) for rows in cells]).reshape(2, 2)
    largest = _largest_half(found, switch_probability)
    half = max(1, largest) if size is None else size // 2
    if half > largest:
        needed = _count_all(switch_probability, half)
        short = [
            f"{needed[y, a]:,} rows of label {y} and attribute {a} (there are {found[y, a]:,})"
            for y, a in np.argwhere(needed > found)
        ]
        raise ValueError(
            f"{len(switch_probability)} environments of {2 * half:,} rows need {' and '.join(short)}; "
            f"the largest possible size is {2 * largest:,}"
        )
    drawn, start = [], np.zeros(4, int)
    for number, probability in enumerate(switch_probability):
        end = start + _count(probability, half).ravel()
        rows = torch.cat([cells[cell][start[cell] : end[cell]] for cell in range(4)])
        drawn.append(rows[torch.from_numpy(stream(seed, "environment", number).permutation(len(rows)))])
        start = end
    return Environments(torch.stack(drawn), tuple(switch_probability))


def _count(probability: float, half: int) -> Counts:
    """Count the rows of each cell in an environment of twice half rows."""
    # One rounded number for both labels, so that each of them has half of the rows, and so has each attribute.
    switched = math.floor(probability * half + 0.5)
    return np.array([[half - switched, switched], [switched, half - switched]])


def _count_all(probabilities: Sequence[float], half: int) -> Counts:
    """Count the rows of each cell in all environments together."""
    needed: Counts = np.sum([_count(probability, half) for probability in probabilities], axis=0)
    return needed


def _largest_half(found: Counts, probabilities: Sequence[float]) -> int:
    """Return half of the largest possible size by bisection: the rows needed never decrease as it grows."""
    enough, too_many = 0, int(found.sum()) + 1
    while too_many - enough > 1:
        half = (enough + too_many) // 2
        if (_count_all(probabilities, half) <= found).all():
            enough = half
        else:
            too_many = half
    return enough


def _check(
    label: Int[Tensor, "row"], attribute: Int[Tensor, "row"], probabilities: Sequence[float], size: int | None
) -> None:
    """Raise a ValueError for arguments that cannot make environments."""
    if len(label) != len(attribute):
        raise ValueError(f"label has {len(label):,} rows and attribute {len(attribute):,}; expected as many")
    for what, codes, allowed in (("label", label, (0, 1)), ("attribute", attribute, (UNKNOWN, 0, 1))):
        other = ~torch.isin(codes, torch.tensor(allowed))
        if other.any():
            row = int(other.int().argmax())
            raise ValueError(f"{what} is {int(codes[row])} in row {row}; expected one of {allowed}")
    if not probabilities or not all(0 <= probability <= 1 for probability in probabilities):
        raise ValueError(f"switch_probability is {tuple(probabilities)}; expected probabilities, at least one")
    if size is not None and (size < 2 or size % 2):
        raise ValueError(f"size is {size}; expected an even number of rows, since half have label 1")
