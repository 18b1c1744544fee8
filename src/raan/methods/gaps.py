"""Gaps between groups that have a slope: of mean scores in the place of shares of predictions."""

from typing import Literal

import torch
from jaxtyping import Float, Int
from torch import Tensor

from raan.methods.terms import membership, same

Notion = Literal["DP", "EO"]
"""Demographic parity: alike over all samples; equalized odds: alike within each class."""

NOTIONS = {"DP": "demographic parity", "EO": "equalized odds"}


def score_gap(
    score: Float[Tensor, "run batch label"],
    label: Int[Tensor, "run batch"],
    attribute: Int[Tensor, "run batch"],
    notion: Notion,
) -> Float[Tensor, "run"]:
    """The gap of DP, or the sum of the true and the false positives' gaps of EO; the mean over the classes."""
    of_class = membership(label, score.shape[-1], score)
    if notion == "DP":
        return _mean_gap(score, torch.ones_like(score), attribute).mean(-1)
    return (_mean_gap(score, of_class, attribute) + _mean_gap(score, 1 - of_class, attribute)).mean(-1)


def _mean_gap(
    score: Float[Tensor, "run batch label"],
    among: Float[Tensor, "run batch label"],
    attribute: Int[Tensor, "run batch"],
) -> Float[Tensor, "run label"]:
    """The largest difference of two groups' mean scores among some samples, 0 if the batch has no two groups."""
    group = same(attribute).to(score)
    count = group @ among
    # Each sample carries its group's mean: the extremes over samples are those over groups.
    mean = group @ (among * score) / count.clamp(min=1)
    present = count > 0
    highest = torch.where(present, mean, -torch.inf).amax(-2)
    lowest = torch.where(present, mean, torch.inf).amin(-2)
    return torch.where(present.any(-2), highest - lowest, 0)
