"""RAAN for anyone's own PyTorch loop: the loss, and how batches carry what it needs."""

from raan.errors import needing

with needing("raan.nn"):
    from raan.nn.loss import Diagnostics, RAANLoss
    from raan.nn.samplers import GroupBatchSampler, IndexedDataset

__all__ = ["Diagnostics", "GroupBatchSampler", "IndexedDataset", "RAANLoss"]
