"""Counts of the rows of a large table, part by part: tallies add up, so that any engine may count the parts.

A partition's tally is a few small arrays, however many rows it has, and whole numbers add up exactly in any order.
"""

from __future__ import annotations

import io
from collections.abc import Callable, Iterator
from dataclasses import dataclass, fields, replace
from functools import reduce
from operator import add
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from jaxtyping import Bool, Float, Int, UInt64
from sklearn.utils import _safe_indexing

from raan.errors import InputError, InputTypeError, listed
from raan.fairness.counts import find_factor
from raan.fairness.groups import check_lengths, check_order, match_groups, read_weights
from raan.fitting import class_name, count_rows, in_threads, match_classes
from raan.frontier.decide import Counted, Evaluation, decide
from raan.frontier.sketch import Overlap, Sketch, hash_rows
from raan.progress import Progress

if TYPE_CHECKING:
    from raan.frontier.estimator import FairFrontier

BLOCK = 20_000
"""Rows of a partition that are predicted at once; trees are slower over more."""


class Columns(NamedTuple):
    """Which columns of a frame are the class, the attributes and the weight; the model knows its features."""

    label: str
    sensitive_features: list[str]
    sample_weight: str | None = None


@dataclass(frozen=True, eq=False)
class Tally:
    """What the points of a model decide of some rows, counted; `+` counts the rows of both.

    Attributes:
        counts: how many rows of each cell each point gives each class.
        switched: the rows of each cell that are right at one of point and baseline only.
        squares: the sum of the squared weights of each cell's rows.
        rows: the number of rows.
        hashed: the number of those that have fingerprints.
        hashes: the smallest fingerprints of the rows.
        repeats: how often each of these occurs.
        met: which fingerprints of the training rows occur among these rows.
    """

    counts: Float[np.ndarray, "point label slot prediction"]
    switched: Float[np.ndarray, "point label slot"]
    squares: Float[np.ndarray, "label slot"]
    rows: Int[np.ndarray, ""]
    hashed: Int[np.ndarray, ""]
    hashes: UInt64[np.ndarray, "hash"]
    repeats: Int[np.ndarray, "hash"]
    met: Bool[np.ndarray, "trained"]

    def __add__(self, other: Tally) -> Tally:
        both = self.sketch + other.sketch
        return Tally(
            self.counts + other.counts,
            self.switched + other.switched,
            self.squares + other.squares,
            np.asarray(self.rows + other.rows),
            np.array(both.rows),
            both.hashes,
            both.counts,
            self.met | other.met,
        )

    @property
    def sketch(self) -> Sketch:
        """Fingerprints of the rows."""
        return Sketch(self.hashes, self.repeats, int(self.hashed))

    @property
    def effective(self) -> Counted:
        """The counts, scaled so that no cell counts for more than its effective sample size."""
        total = self.counts[0].sum(-1)
        if np.array_equal(total, self.squares):  # all rows count 1
            return Counted(self.counts, self.switched)
        factor = find_factor(total, self.squares)
        return Counted(self.counts * factor, self.switched * factor)

    def overlap(self, trained: Sketch) -> Overlap:
        """Say whether these rows trained the model that has this sketch."""
        return trained.judge(int(self.met.sum()), int(self.hashed))

    def to_bytes(self) -> bytes:
        """Return the tally as bytes, for engines whose blocks are tables."""
        stream = io.BytesIO()
        np.savez(stream, **vars(self))
        return stream.getvalue()

    @classmethod
    def of_bytes(cls, content: bytes) -> Tally:
        """Read what `to_bytes` returned."""
        with np.load(io.BytesIO(content), allow_pickle=False) as found:
            return cls(**{each.name: found[each.name] for each in fields(cls)})


def tally_partitions(model: FairFrontier, partitions: Any, columns: Columns | None, show: Progress) -> Tally:
    """Count the rows of all partitions where they are: in the workers of Dask and Ray, or here.

    A partition that a cluster computes again, as a worker died, has one tally all the same.
    """
    total: Tally | None = None
    several = len(partitions) if isinstance(partitions, list | tuple) else 0
    for done, tally in enumerate(_tally_each(model, partitions, columns), 1):
        show(done, max(done, several))
        if tally is not None:
            total = tally if total is None else total + tally
    if total is None:
        raise InputError("the partitions", "hold no rows", "rows that took no part in the fit")
    return total


def _tally_each(model: FairFrontier, partitions: Any, columns: Columns | None) -> Iterator[Tally | None]:
    if hasattr(partitions, "to_delayed"):  # a DataFrame of Dask
        from dask.delayed import delayed

        shared, tally = delayed(model, pure=False), delayed(tally_partition, pure=False)
        yield from delayed([tally(shared, part, columns) for part in partitions.to_delayed()]).compute()
    elif hasattr(partitions, "map_batches"):  # a Dataset of Ray
        import ray

        shared = ray.put(model)

        def run(frame: Any) -> dict[str, list[bytes]]:
            tally = tally_partition(ray.get(shared), frame, columns)
            return {"tally": [] if tally is None else [tally.to_bytes()]}

        for row in partitions.map_batches(run, batch_format="pandas", batch_size=None).iter_rows():
            yield Tally.of_bytes(row["tally"])
    else:
        for part in [partitions] if hasattr(partitions, "columns") else partitions:
            yield tally_partition(model, part, columns, in_threads)


def tally_partition(
    model: FairFrontier, part: Any, columns: Columns | None = None, run: Callable[..., Iterator[Tally]] = map
) -> Tally | None:
    """Count what the points of a fitted model decide of the rows of a partition.

    Args:
        model: the fitted classifier.
        part: a tuple of X, y, sensitive features and, if rows count differently, weights; or a frame.
        columns: which columns of a frame are what.
        run: applies a function to blocks of rows; one after the other by default, as a cluster's workers should.

    Returns:
        The tally; None of a partition without rows.
    """
    X, y, sensitive_features, sample_weight = _read_partition(model, part, columns)
    rows = count_rows(X)
    if not rows:
        return None
    label = match_classes(y, [class_name(value) for value in model.classes_.tolist()])
    check_lengths(X=range(rows), y=label)
    group = match_groups(sensitive_features, model.groups_, rows, allow_unknown=True)
    weight = read_weights(sample_weight, rows, allow_zeros=True)
    check_order(X=X, y=y, sensitive_features=sensitive_features, sample_weight=sample_weight)

    def tally(block: Int[np.ndarray, "row"]) -> Tally:
        some = _safe_indexing(X, block)
        given = _safe_indexing(sensitive_features, block) if model.attribute_at_prediction else None
        posterior = model.posterior(some, sensitive_features=given)
        own = None if weight is None else weight[block]
        reference = decide(posterior, model.points_.weights[0])
        evaluation = Evaluation(posterior, label[block], group[block], reference, own)
        return tally_rows(model, evaluation, hash_rows(some, label[block]))

    return reduce(add, run(tally, np.split(np.arange(rows), np.arange(BLOCK, rows, BLOCK))))


def tally_rows(model: FairFrontier, evaluation: Evaluation, row: UInt64[np.ndarray, "row"] | None) -> Tally:
    """Count what the points of a fitted model decide of some rows; `row` are their hashes, if they have any."""
    counts, switched = evaluation.count(model.points_.weights)
    squared = None if evaluation.weight is None else evaluation.weight**2
    squares = replace(evaluation, weight=squared).count(model.points_.weights[:1]).counts[0].sum(-1)
    sketch = Sketch.of_hashes(row, 0 if row is None else len(row))
    once = model.sketch_.once if hasattr(model, "sketch_") else np.zeros(0, np.uint64)
    met = np.zeros(len(once), bool) if row is None else np.isin(once, row)
    rows, hashed = np.array(evaluation.rows), np.array(sketch.rows)
    return Tally(counts, switched, squares, rows, hashed, sketch.hashes, sketch.counts, met)


def _read_partition(model: FairFrontier, part: Any, columns: Columns | None) -> tuple[Any, Any, Any, Any]:
    """Return features, classes, groups and weights of a partition, whichever form it has."""
    if columns is None:
        if not isinstance(part, tuple) or len(part) not in (3, 4):
            raise InputTypeError(
                "a partition",
                f"is a {type(part).__name__}",
                "a tuple of X, y, sensitive_features and, if rows count differently, sample_weight",
                "of frames, name the columns: label= and sensitive_features=",
            )
        return part if len(part) == 4 else (*part, None)
    others = [
        columns.label,
        *columns.sensitive_features,
        *([columns.sample_weight] if columns.sample_weight else []),
    ]
    known = getattr(model, "feature_names_in_", None)
    if known is None:
        came = "is a frame, and the model was fitted to an array, whose columns have no names"
        raise InputTypeError("a partition", came, "a tuple of X, y and sensitive_features, X an array")
    names = list(known)
    lacking = [name for name in (*others, *names) if name not in part.columns]
    if lacking:
        raise InputError(
            "a partition", f"lacks the column {lacking[0]!r}", listed(list(map(str, part.columns)), 20)
        )
    weight = part[columns.sample_weight] if columns.sample_weight else None
    return part[names], part[columns.label], part[columns.sensitive_features], weight
