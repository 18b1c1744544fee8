"""One batch of a small problem with its model, for comparing a method's loss with its literal loop."""

from dataclasses import replace
from typing import NamedTuple

import torch

from raan.data import Split, split, stack
from raan.data.batches import Batch, batches
from raan.data.table import Table
from raan.methods.method import Memory, Method
from raan.models.model import Model, mlp
from training_tables import small_table


class Step(NamedTuple):
    """A method about to take a step."""

    method: Method
    model: Model
    batch: Batch
    memory: Memory  # with the batch's rows only
    table: Table
    rows: Split

    def loss(self):
        """The loss of each run, its gradient, and the memory after it."""
        leaf = self.model.parameters.detach().requires_grad_()
        loss, after = self.method.loss(self.model.at(leaf), self.batch, self.memory)
        return loss.detach(), torch.autograd.grad(loss.sum(), leaf)[0], after

    def logits(self):
        """Each run's logits of its batch, as arrays."""
        with torch.no_grad():
            return self.model(self.batch.features, self.batch.keep).logit.numpy()


def first_step(method, classes=3, attributes=3, size=25, unknown=3, dropout=0.0, runs=2):
    """The method before its first step on a batch in which some attributes are unknown."""
    table, seeds = small_table(classes=classes, attributes=attributes), list(range(runs))
    attribute = table.attribute.clone()
    attribute[torch.randperm(240, generator=torch.Generator().manual_seed(1))[: 10 * unknown]] = -1
    table = replace(table, attribute=attribute, environment=torch.arange(240) // 5 % 3)
    rows = stack([split(table.rows, (180, 30, 30), seed) for seed in seeds])
    model = mlp(table, width=8, dropout=dropout).start(table, rows.train, seeds)
    drawn = batches(table, rows.train, seeds, batch_size=size, epoch=0, units=model.units, dropout=dropout)
    batch = next(iter(drawn))
    memory = method.prepare(model, table, rows.train)
    if memory.rows.shape[1]:
        memory = memory._replace(rows=torch.stack([memory.rows[run, batch.row[run]] for run in range(runs)]))
    return Step(method, model, batch, memory, table, rows)
