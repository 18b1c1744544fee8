"""A user's own file as a data set of studies."""

from collections.abc import Sequence

from raan.data.split import Split, stack
from raan.lab.datasets.dataset import DataSet, Options, Problem, leave_out
from raan.tables.load import from_frame


def _load(options: Options, seeds: Sequence[int]) -> Problem:
    """The file in a stratified split; each seed's preprocessing is fitted to its own training rows."""
    (seed,) = seeds
    sizes = tuple(options.get("sizes", (0.6, 0.2, 0.2)))
    loaded = from_frame(options["path"], sizes=sizes, seed=seed, **leave_out(options, "sizes", "path"))
    return Problem(loaded.table, stack([Split.of(loaded.split)]), (seed,))


DATASET = DataSet(
    "table",
    _load,
    ("path", "label", "attribute", "sizes", "ignore", "types", "keep_attribute"),
    own_tables=True,
    required=("path", "label", "attribute"),
)
