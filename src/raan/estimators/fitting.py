"""From rows to a fitted model: who trains and who validates, Alg. 1's two stages, the point that is kept."""

import hashlib
import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor

from raan.data.batches import Batch
from raan.data.split import Split
from raan.data.streams import stream
from raan.data.table import Table
from raan.fairness.frontier import Frontier
from raan.fairness.metrics import undefined
from raan.fairness.rule import LAST, Rule, warn_large_budget
from raan.methods.erm import ERM
from raan.methods.method import Memory, Scope, cross_entropy
from raan.methods.raan import RAAN
from raan.methods.weighted import Weighted
from raan.models.model import Model, Scaling
from raan.training.checkpoint import Checkpoint
from raan.training.decided import Path
from raan.training.evaluate import group_counts
from raan.training.train import Finish, Progress, Schedule, train


@dataclass(frozen=True, eq=False)
class WeightedERM(Weighted):
    """The mean of weight times cross-entropy."""

    sample_weight: Float[Tensor, "row"]  # of every row of the table
    scope: Scope = Scope.MODEL

    def weights(self, model: Model, table: Table, train: Int[Tensor, "run row"]) -> Float[Tensor, "run row"]:
        """The weights given, mean 1 over the training rows of each run."""
        return mean_one(self.sample_weight[train])


@dataclass(frozen=True, eq=False)
class WeightedRAAN(RAAN):
    """RAAN over weighted losses: wherever a sample's loss stands, its weight stands before it.

    How anchors are balanced is a matter of how many rows a (class, attribute) cell has, not of their weights.
    """

    sample_weight: Float[Tensor, "row"] | None = None  # of every row of the table; None: 1

    def prepare(self, model: Model, table: Table, train: Int[Tensor, "run row"]) -> Memory:
        """A row: at the end, its weight."""
        memory = super().prepare(model, table, train)
        if self.sample_weight is None:
            return memory
        weight = mean_one(self.sample_weight[train]).to(memory.rows)
        slot = memory.rows.new_zeros(memory.rows.shape[:2]).scatter(1, train, weight).unsqueeze(-1)
        return memory._replace(rows=torch.cat([memory.rows, slot], dim=-1))

    def sample_loss(
        self, logit: Float[Tensor, "run batch label"], batch: Batch, memory: Memory
    ) -> Float[Tensor, "run batch"]:
        """Each sample's weight times its cross-entropy."""
        loss = cross_entropy(logit, batch.label)
        return loss if self.sample_weight is None else memory.rows[..., -1] * loss


def mean_one(weight: Float[Tensor, "*run row"]) -> Float[Tensor, "*run row"]:
    """The weights divided by their mean: learning rates mean the same with weights and without."""
    return weight / weight.mean(-1, keepdim=True)


LEAST_EPOCHS, LEAST_STEPS = 10, 300
"""What "auto" epochs give: ten, as in the paper, and more where a small table has few batches in an epoch."""

POINTS = 40
"""About how often a stage looks at the validation rows."""


@dataclass(frozen=True)
class Rows:
    """A table, its rows to train on and to validate with, and each row's weight."""

    table: Table
    split: Split
    weight: Float[Tensor, "row"] | None = None

    @property
    def watched(self) -> Split:
        """The split for the training loop, which looks at one row, for nobody, where none are held out."""
        return (
            self.split
            if self.split.validation.numel()
            else self.split._replace(validation=self.split.train[:, :1])
        )


def divide(
    label: Int[np.ndarray, "row"],
    attribute: Int[np.ndarray, "row"],
    rows: Int[np.ndarray, "kept"],
    fraction: float,
    seed: int,
) -> Split:
    """Train and validation rows, every (class, attribute) cell divided alike.

    A cell of two rows or more has some in both; one of a single row trains. With a fraction of 0 every row trains.
    """
    cell = label[rows] * (attribute.max() + 2) + attribute[rows] + 1  # unknown attributes, -1, are cells too
    held = np.zeros(len(rows), dtype=bool)
    rng = stream(seed, "validation")
    _, sizes = np.unique(cell, return_counts=True)
    for members in np.split(np.argsort(cell, kind="stable"), sizes.cumsum()[:-1]) if fraction else ():
        count = min(max(round(fraction * len(members)), 1), len(members) - 1)
        held[rng.choice(members, count, replace=False)] = True
    parts = rows[~held], rows[held], rows[:0]
    return Split(*(torch.from_numpy(part).long().unsqueeze(0) for part in parts))


def weighted_scaling(rows: Rows) -> Scaling:
    """Mean and standard deviation of each feature over the training rows, a row of weight two counting as two.

    Constant columns stay as they are, and so do those of 0 and 1.
    """
    train_rows = rows.split.train[0]
    numbers = rows.table.features[train_rows].double()
    weight = numbers.new_ones(len(numbers)) if rows.weight is None else rows.weight[train_rows].double()
    share = weight.div(weight.sum()).unsqueeze(-1)
    centre = (share * numbers).sum(0)
    spread = (share * (numbers - centre).square()).sum(0).sqrt()
    if not spread.isfinite().all():
        column = int((~spread.isfinite()).int().argmax())
        raise ValueError(f"X holds numbers in column {column} that are too large to be squared; rescale them")
    constant = (numbers == numbers[0]).all(0) | (spread == 0)
    stays = ((numbers == 0) | (numbers == 1)).all(0) | constant
    parts = centre.masked_fill(stays, 0), spread.masked_fill(stays, 1)
    return Scaling(*(part.to(rows.table.features).view(1, 1, -1) for part in parts))


def schedule(base: Schedule, rows: Rows, epochs: int | None, learning_rate: float) -> Schedule:
    """A stage's schedule; epochs that are not given are as many as the table needs."""
    per_epoch = -(-rows.split.train.shape[1] // base.batch_size)
    count = max(LEAST_EPOCHS, -(-LEAST_STEPS // per_epoch)) if epochs is None else epochs
    return Schedule(count, base.batch_size, learning_rate, base.update, max(1, POINTS // count))


def train_plainly(
    model: Model, rows: Rows, seed: int, how: Schedule, checkpoint: Checkpoint, progress: Progress
) -> Finish:
    """Stage one: the whole model by cross-entropy."""
    method = ERM() if rows.weight is None else WeightedERM(rows.weight)
    return train(
        method,
        model,
        rows.table,
        rows.watched,
        [seed],
        how,
        resume=checkpoint.stages.get("plain"),
        progress=progress,
        keep=checkpoint.keep("plain"),
    )


def hash_of_training(model: Model, rows: Rows, parameters: Mapping[str, Any]) -> str:
    """A short name for all that a fit depends on: where the model starts, the rows and the parameters."""
    digest = hashlib.sha256(repr(sorted(parameters.items())).encode())
    table = rows.table
    parts = (model.parameters, table.features, table.label, table.attribute, *rows.split, rows.weight)
    for part in parts:
        digest.update(b"" if part is None else part.contiguous().numpy(force=True).tobytes())
    return digest.hexdigest()


def choose_rule(aim: str | None, accuracy_drop: float, model: Model, rows: Rows) -> Rule:
    """The rule for the aim; where the validation rows do not define it, a warning and a rule by accuracy alone."""
    if aim is None:
        return LAST
    rule = Rule(aim, accuracy_drop)
    if aim is not None:
        warn_large_budget(accuracy_drop, stacklevel=4)
    counts = group_counts(model, rows.table, rows.split.validation)[0]
    if np.isfinite(rule.objective(counts, counts)):
        return rule
    reasons = undefined(counts, rows.table.class_names, rows.table.attribute_names)
    warnings.warn(
        f"aim={aim!r} is undefined on the validation rows ({'; '.join(reasons)}), so the last point within "
        f"accuracy_drop={accuracy_drop:g} is kept; fewer groups, or a larger validation_fraction, define it",
        stacklevel=4,
    )
    return Rule(None, accuracy_drop)


def frontier_of(plain: Path, debiased: Path, rule: Rule) -> Frontier:
    """The points at which validation rows were looked at, plain training first; its end is the reference."""
    stages = ("plain", plain), ("raan", debiased)
    what = tuple({"stage": stage, "step": point.step} for stage, path in stages for point in path.points)
    counts = np.concatenate([point.validation_counts for _, path in stages for point in path.points])
    return Frontier(what, counts, rule, reference=len(plain.points))
