"""Every data set that a study can name. A new one is a loader, an entry in descriptions.toml and one in DATA."""

from collections.abc import Sequence
from typing import Any

from raan.data.split import Split, stack
from raan.data.table import Table
from raan.lab.datasets import adult, celeba, comments, meps, toy
from raan.lab.datasets.dataset import DataSet, Options, Problem, leave_out, split_at_random
from raan.tables.load import from_frame


def _load_celeba(**options: Any) -> Table:
    """Load the table of a pretrained network's features of the images that are on this machine."""
    faces = celeba.celeba(**options)
    return faces.table(faces.embed())


def _load_table(options: Options, seeds: Sequence[int]) -> Problem:
    """Load a file of one's own in a stratified split; the preprocessing is fitted to the seed's training rows."""
    (seed,) = seeds
    sizes = tuple(options.get("sizes", (0.6, 0.2, 0.2)))
    loaded = from_frame(options["path"], sizes=sizes, seed=seed, **leave_out(options, "sizes", "path"))
    return Problem(loaded.table, stack([Split.of(loaded.split)]), (seed,))


DATA: dict[str, DataSet] = {
    "adult": DataSet(
        split_at_random(adult.adult, adult.SPLIT),
        ("path", "sizes", "attribute", "keep_attribute", "keep_missing"),
    ),
    # The published rows are split anew for each seed: results of a single split would depend on its luck.
    "meps": DataSet(split_at_random(meps.meps, meps.SPLIT), ("path", "sizes", "keep_attribute")),
    "celeba": DataSet(
        split_at_random(_load_celeba, celeba.SPLIT), ("path", "images", "label", "attribute", "sizes")
    ),
    "civil_comments": DataSet(
        comments.draw_environments(comments.civil_comments),
        ("path", "identity", "threshold", "validation"),
        own_tables=True,
    ),
    "measuring_hate_speech": DataSet(
        comments.draw_environments(comments.measuring_hate_speech),
        ("path", "identity", "validation"),
        own_tables=True,
    ),
    "toy": DataSet(split_at_random(toy.toy, (0.6, 0.2, 0.2)), ("sizes", "rows", "seed", "bias")),
    "table": DataSet(
        _load_table,
        ("path", "label", "attribute", "sizes", "ignore", "types", "keep_attribute"),
        own_tables=True,
        required=("path", "label", "attribute"),
    ),
}
"""The data sets by their names in study files."""
