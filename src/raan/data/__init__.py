"""Tables to learn from: how they are made, found and split."""

from raan.data.adult import adult
from raan.data.sources import CorruptData, DataUnavailable
from raan.data.split import Split, split, stack
from raan.data.table import Table
from raan.data.toy import toy

__all__ = ["CorruptData", "DataUnavailable", "Split", "Table", "adult", "split", "stack", "toy"]
