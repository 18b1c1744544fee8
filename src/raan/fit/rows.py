"""The user's rows as every method takes them: arrays, one split, and the groups that can be judged."""

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from jaxtyping import Float32, Int

from raan.data.split import Parts
from raan.errors import InputError
from raan.fairness.cells import cell_counts
from raan.fairness.counts import Counts, count
from raan.fairness.groups import keep_judged
from raan.tabular.frame import Loaded
from raan.tabular.words import listed

LEAST_JUDGED = 10
"""A group with fewer validation rows of some class is too small to judge by."""

MANY_CLASSES = 10
"""A label of more classes may be a number, or another column than was meant."""

Places = Int[np.ndarray, "row"]


@dataclass(frozen=True, eq=False)
class Rows:
    """The rows, their split, and the seed of everything that is drawn."""

    loaded: Loaded
    seed: int = 0

    @property
    def split(self) -> Parts:
        """The rows that train, choose (validation) and judge (test)."""
        return self.loaded.split

    def features(self, rows: Places) -> Float32[np.ndarray, "row feature"]:
        """The features of some rows."""
        return np.take(self.loaded.features, rows, axis=0)

    def label(self, rows: Places) -> Int[np.ndarray, "row"]:
        """The class of some rows, as codes."""
        return np.take(self.loaded.label.codes, rows)

    def groups(self, rows: Places) -> np.ndarray:
        """The attribute value of some rows by name; None where unknown."""
        names = np.array([*self.loaded.attribute.names, None], dtype=object)
        return np.asarray(np.take(names, self.loaded.attribute.codes[rows]))

    def judge(self, predict: Callable[[np.ndarray], np.ndarray]) -> tuple[Counts, Counts]:
        """What a classifier of codes predicts on validation and on test rows, counted."""
        return self._count(predict, self.split.validation), self._count(predict, self.split.test)

    def _count(self, predict: Callable[[np.ndarray], np.ndarray], rows: Places) -> Counts:
        label, attribute = self.loaded.label, self.loaded.attribute
        predicted = np.asarray(predict(self.features(rows))).astype(np.int64)
        return count(label.codes[rows], attribute.codes[rows], predicted, len(label.names), len(attribute.names))


def judge_groups(loaded: Loaded) -> tuple[Loaded, tuple[str, ...]]:
    """The rows, those of groups too small to judge by as unknown, and a note that names these groups."""
    validation = loaded.split.validation
    label, attribute = loaded.label, loaded.attribute
    shape = len(label.names), len(attribute.names)
    cells = cell_counts(label.codes[validation], attribute.codes[validation], shape)
    judged = keep_judged(loaded.attribute, cells, LEAST_JUDGED)
    if len(judged.names) < 2:
        raise _too_small(loaded, cells, len(judged.names))
    small = [name for name in attribute.names if name not in judged.names]
    if not small:
        return loaded, ()
    note = (
        f"Groups with fewer than {LEAST_JUDGED} validation rows of some class are too small to judge by: "
        f"{listed(small)}. Their rows train the models, but no gap is measured for them."
    )
    return replace(loaded, attribute=judged), (note,)


def _too_small(loaded: Loaded, cells: Int[np.ndarray, "label attribute"], judged: int) -> InputError:
    """Where fewer than two groups can be judged: the smallest cell, and what may be at fault."""
    classes, groups = loaded.label.names, loaded.attribute.names
    label, group = divmod(int(cells.argmin()), len(groups))
    remedy = "give more rows, or merge rare classes and small groups"
    if len(classes) > MANY_CLASSES:
        remedy = f"the label has the classes {listed(classes)}; give one with fewer, or more rows"
    return InputError(
        f"{loaded.name}:",
        f"{judged} of {len(groups)} groups have {LEAST_JUDGED} validation rows or more of every class; the fewest "
        f"rows, {int(cells.min())}, have the class {classes[label]!r} and the group {groups[group]!r}",
        f"two groups or more to compare, of {listed(groups)}",
        remedy,
    )
