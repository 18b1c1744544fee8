"""RAAN by MOAP (Wang et al. 2022): moving averages of all samples at every step, and one of the gradient."""

from dataclasses import dataclass

import torch
from jaxtyping import Float, Int
from torch import Tensor

from raan.data.batches import Batch
from raan.data.table import Table
from raan.methods.method import Memory
from raan.methods.sox import SOX
from raan.methods.terms import dial
from raan.models.model import Model
from raan.neighbourhood.pairs import neighbours


@dataclass(frozen=True)
class MOAP(SOX):
    """RAAN with u = (1 - gamma) u + gamma (n / B) g-hat for the batch, and (1 - gamma) u for everyone else.

    gamma is averaging_rate * B / n, so that the dial weighs an estimate as it does in SCRAAN. Rows are not
    touched while they wait: what they lose meanwhile is made up for when their turn comes.
    """

    def prepare(self, model: Model, table: Table, train: Int[Tensor, "run row"]) -> Memory:
        """A row: at the end, the log of what u had lost when it was last written; a run: that log now, and n."""
        rows, whole = super().prepare(model, table, train)
        clock = torch.tensor([0.0, train.shape[1]]).to(whole).expand(len(whole), -1)
        return Memory(
            torch.cat([rows, torch.zeros_like(rows[..., :1])], dim=-1),
            torch.cat([whole[:, :2], clock, whole[:, 2:]], dim=1),
        )

    def loss(self, model: Model, batch: Batch, memory: Memory) -> tuple[Float[Tensor, "run"], Memory]:
        """The estimate of the objective from each run's batch; its gradient is the moving average of G(w)."""
        loss, after = super().loss(model, batch, memory)
        lost = self._log_lost(batch, memory).unsqueeze(-1)
        written = neighbours(batch.label, batch.attribute).any(-1)
        stamp = torch.where(written, lost, memory.rows[..., 3])
        return loss, Memory(
            torch.cat([after.rows[..., :3], stamp.unsqueeze(-1)], dim=-1),
            torch.cat([after.whole[:, :2], lost, after.whole[:, 3:]], dim=1),
        )

    def log_kept(self, batch: Batch, memory: Memory) -> Float[Tensor, "run batch"]:
        """The log of (1 - gamma) for every step since the row was last written."""
        return self._log_lost(batch, memory).unsqueeze(-1) - memory.rows[..., 3]

    def _log_lost(self, batch: Batch, memory: Memory) -> Float[Tensor, "run"]:
        """The sum of log(1 - gamma) over the steps up to this one."""
        lost, rows = memory.whole[:, 2], memory.whole[:, 3]
        gamma = dial(self.averaging_rate, rows) * batch.row.shape[1] / rows
        # A gamma of one would lose all, and what is lost could not be recovered.
        return lost + (-gamma.clamp(max=1 - 1e-6)).log1p()
