"""Environments in which the attribute foretells the label, more or less, and finally the wrong way round."""

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
    """The rows of each environment, all of one size and none shared.

    The switch probability is p_e = p(a = z | y = 1 - z) for either z: how often the attribute differs from
    the label.
    """

    rows: Int[Tensor, "environment row"]
    switch_probability: tuple[float, ...]

    @property
    def size(self) -> int:
        """The number of rows of each environment."""
        return self.rows.shape[1]

    def code(self, rows: int) -> Int[Tensor, "row"]:
        """The environment's number of each row of a table of so many rows, -1 for rows in none."""
        code = torch.full((rows,), UNKNOWN)
        for number, chosen in enumerate(self.rows):
            code[chosen] = number
        return code

    def take(self, table: Table) -> Table:
        """The table's rows that are in an environment, one environment after the other, with its number."""
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

    In each, half of the rows have label 1 and half have attribute 1. The size is an even number of rows, or
    the largest that the (label, attribute) cells allow. A switch probability is met as nearly as whole rows
    allow: within 1 / size. Rows of unknown attribute (-1) are in no environment.
    """
    _check_arguments(label, attribute, switch_probability, size)
    cells = [[_shuffle(label, attribute, y, a, seed) for a in (0, 1)] for y in (0, 1)]
    found = np.array([[len(rows) for rows in row] for row in cells])
    half = _largest_half(found, switch_probability) if size is None else size // 2
    _check_enough(found, switch_probability, max(half, 1))
    drawn = _draw(cells, [_count_needed(p, half) for p in switch_probability], seed)
    _check_achieved(label[drawn], attribute[drawn], switch_probability)
    return Environments(drawn, tuple(switch_probability))


def _count_needed(probability: float, half: int) -> Counts:
    """The rows of each cell in an environment of twice half rows."""
    # Rounded, and one number for both labels, so that each of them has half of the rows, and so each attribute.
    switched = math.floor(probability * half + 0.5)
    return np.array([[half - switched, switched], [switched, half - switched]])


def _largest_half(found: Counts, probabilities: Sequence[float]) -> int:
    """Half of the largest size for which the cells hold enough rows: what is needed never falls as it grows."""
    enough, too_many = 0, int(found.sum()) + 1
    while too_many - enough > 1:
        half = (enough + too_many) // 2
        if (_count_all_needed(probabilities, half) <= found).all():
            enough = half
        else:
            too_many = half
    return enough


def _count_all_needed(probabilities: Sequence[float], half: int) -> Counts:
    """The rows of each cell in all environments together."""
    needed: Counts = np.sum([_count_needed(p, half) for p in probabilities], axis=0)
    return needed


def _shuffle(
    label: Int[Tensor, "row"], attribute: Int[Tensor, "row"], y: int, a: int, seed: int
) -> Int[Tensor, "cell"]:
    """The rows of one cell in the seed's order."""
    rows = ((label == y) & (attribute == a)).nonzero()[:, 0]
    return rows[torch.from_numpy(stream(seed, "environments", y, a).permutation(len(rows)))]


def _draw(
    cells: list[list[Int[Tensor, "_"]]], needed: Sequence[Counts], seed: int
) -> Int[Tensor, "environment row"]:
    """The next rows of each cell for one environment after the other, each environment's shuffled."""
    starts = np.cumsum([np.zeros((2, 2), int), *needed[:-1]], axis=0)
    drawn = []
    for number, (start, count) in enumerate(zip(starts, needed, strict=True)):
        parts = [cells[y][a][start[y, a] : start[y, a] + count[y, a]] for y in (0, 1) for a in (0, 1)]
        rows = torch.cat(parts)
        drawn.append(rows[torch.from_numpy(stream(seed, "environment", number).permutation(len(rows)))])
    return torch.stack(drawn)


def _check_arguments(
    label: Int[Tensor, "row"],
    attribute: Int[Tensor, "row"],
    probabilities: Sequence[float],
    size: int | None,
) -> None:
    if len(label) != len(attribute):
        raise ValueError(f"label has {len(label):,} rows and attribute {len(attribute):,}, expected as many")
    for what, codes, allowed in (("label", label, (0, 1)), ("attribute", attribute, (UNKNOWN, 0, 1))):
        strange = ~torch.isin(codes, torch.tensor(allowed))
        if strange.any():
            row = int(strange.int().argmax())
            raise ValueError(
                f"{what} is {int(codes[row])} in row {row}, expected one of {allowed}: both are binary"
            )
    if not probabilities or not all(0 <= p <= 1 for p in probabilities):
        raise ValueError(f"switch_probability is {tuple(probabilities)}, expected probabilities, at least one")
    if size is not None and (size < 2 or size % 2):
        raise ValueError(f"size is {size}, expected an even number of rows: half have label 1")


def _check_enough(found: Counts, probabilities: Sequence[float], half: int) -> None:
    """Refuse cells that are too small, by name and number."""
    needed = _count_all_needed(probabilities, half)
    short = [
        f"{needed[y, a]:,} rows of label {y} and attribute {a} (there are {found[y, a]:,})"
        for y in (0, 1)
        for a in (0, 1)
        if needed[y, a] > found[y, a]
    ]
    if short:
        raise ValueError(
            f"{len(probabilities)} environments of {2 * half:,} rows need {' and '.join(short)}: "
            f"the largest possible size is {2 * _largest_half(found, probabilities):,}"
        )


def _check_achieved(
    label: Int[Tensor, "environment row"],
    attribute: Int[Tensor, "environment row"],
    probabilities: Sequence[float],
) -> None:
    """Make sure of the drawn rows, whatever happened above: balanced, and switched as often as was asked."""
    size = label.shape[1]
    assert (2 * label.sum(1) == size).all()
    assert (2 * attribute.sum(1) == size).all()
    for z in (0, 1):
        switched = ((label == 1 - z) & (attribute == z)).sum(1) / (label == 1 - z).sum(1)
        assert ((switched - torch.tensor(probabilities)).abs() <= 1 / size + 1e-6).all()
