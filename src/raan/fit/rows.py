"""The user's rows: those that train models and evaluate them while they are held out, and test rows."""

from dataclasses import dataclass, replace

import numpy as np
from jaxtyping import Float, Float32, Int

from raan.data.split import stratified_split
from raan.errors import listed
from raan.fairness.counts import MIN_CHOSEN
from raan.fairness.groups import UNKNOWN, Codes
from raan.tables.load import Loaded, keep_comparable

Places = Int[np.ndarray, "row"]

IN_MEMORY = 1_000_000
"""Rows of a Parquet file that are in memory, a fifth of them test rows; the others are read once, to evaluate."""


@dataclass(frozen=True, eq=False)
class Rows:
    """Training rows, which also evaluate where they are held out, test rows, and the seed of everything."""

    loaded: Loaded
    training: Places
    seed: int = 0

    @classmethod
    def of(cls, loaded: Loaded, seed: int = 0) -> "Rows":
        """Take all rows but the test rows for training."""
        return cls(loaded, np.sort(np.concatenate([loaded.split.train, loaded.split.validation])), seed)

    @property
    def test(self) -> Places:
        """The rows that take no part in training or choice."""
        return self.loaded.split.test

    @property
    def classes(self) -> tuple[str, ...]:
        """The names of the classes."""
        return self.loaded.label.names

    @property
    def groups(self) -> tuple[str, ...]:
        """The names of the groups that are evaluated."""
        return self.loaded.attribute.names

    @property
    def width(self) -> int:
        """The number of features that texts and images became."""
        encodings = self.loaded.preprocessing.encodings
        return sum(len(each.feature_names) for each in encodings if each.kind in ("text", "image"))

    def few(self, size: int) -> "Rows":
        """So many of the training rows, each class and group in proportion; all of them if they are no more."""
        if size >= len(self.training):
            return self
        label, attribute = self.label(self.training), self.group(self.training)
        drawn = stratified_split(label, attribute, (size, 0, 0), self.seed).train
        return replace(self, training=np.sort(self.training[drawn]))

    def features(self, rows: Places) -> Float32[np.ndarray, "row feature"]:
        """The features of some rows."""
        return np.take(self.loaded.features, rows, axis=0)

    def label(self, rows: Places) -> Int[np.ndarray, "row"]:
        """The class of some rows, as codes."""
        return np.take(self.loaded.label.codes, rows)

    def group(self, rows: Places) -> Int[np.ndarray, "row"]:
        """The group of some rows, as codes; -1 where it is unknown, or too small to evaluate."""
        return np.take(self.loaded.attribute.codes, rows)

    def weight(self, rows: Places) -> Float[np.ndarray, "row"] | None:
        """What some rows count; None where all count alike."""
        return None if self.loaded.weight is None else np.take(self.loaded.weight, rows)

    def person(self, rows: Places) -> Int[np.ndarray, "row"] | None:
        """Whose some rows are; None where each is another's."""
        return None if self.loaded.person is None else np.take(self.loaded.person, rows)

    def sensitive_features(self, rows: Places) -> np.ndarray:
        """The attribute of some rows by name, without the stratum; None where the group is unknown."""
        names, strata = np.array([*self.groups, None], dtype=object), self.loaded.strata
        if strata is None:
            return np.asarray(np.take(names, self.group(rows)))
        alone = _names_of(strata[1], rows)
        alone[self.group(rows) == UNKNOWN] = None
        return alone

    def control_features(self, rows: Places) -> np.ndarray | None:
        """The stratum of some rows by name; None where there are no control columns."""
        return None if self.loaded.strata is None else _names_of(self.loaded.strata[0], rows)


def _names_of(codes: Codes, rows: Places) -> np.ndarray:
    return np.asarray(np.take(np.array([*codes.names, None], dtype=object), np.take(codes.codes, rows)))


def drop_small_groups(loaded: Loaded) -> tuple[Loaded, tuple[str, ...]]:
    """The rows, those of groups too small to evaluate as unknown, and a note that names these groups."""
    training = np.concatenate([loaded.split.train, loaded.split.validation])
    evaluated = keep_comparable(loaded.name, loaded.label, loaded.attribute, training, MIN_CHOSEN)
    small = [name for name in loaded.attribute.names if name not in evaluated.names]
    if not small:
        return loaded, ()
    note = (
        f"Groups with fewer than {MIN_CHOSEN} training rows of some class are too small to evaluate: "
        f"{listed(small)}. Their rows train the models, but no gap is measured for them."
    )
    return replace(loaded, attribute=evaluated), (note,)
