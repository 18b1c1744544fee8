"""The data sets that a study may name."""

from raan.data.sets.catalogue import DATA
from raan.data.sets.dataset import Problem, hash_of_table

__all__ = ["DATA", "Problem", "hash_of_table"]
