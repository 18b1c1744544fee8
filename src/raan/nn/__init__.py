"""RAAN for PyTorch training loops: the loss, and the samplers and data sets of its batches."""

from raan.errors import needing

with needing("raan.nn"):
    from raan.nn.loss import Diagnostics, RAANLoss
    from raan.nn.samplers import GroupBatchSampler, IndexedDataset

__all__ = ["Diagnostics", "GroupBatchSampler", "IndexedDataset", "RAANLoss"]
