"""What the estimators around any scikit-learn classifier share: cells, checks, weighted fits, folds."""

import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from inspect import Parameter, signature
from typing import Any, TypeVar

import numpy as np
from jaxtyping import Float, Int, Shaped
from joblib import cpu_count, parallel_config
from joblib.parallel import get_active_backend
from scipy.sparse import issparse  # type: ignore[import-untyped]
from sklearn import config_context
from sklearn.base import clone
from sklearn.pipeline import Pipeline
from sklearn.utils import assert_all_finite
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.parallel import Parallel, delayed
from sklearn.utils.validation import _num_samples, column_or_1d
from threadpoolctl import ThreadpoolController  # type: ignore[import-untyped]

from raan.errors import InputError, InputTypeError, Option, listed
from raan.fairness.counts import cell_counts
from raan.fairness.groups import (
    UNKNOWN,
    Codes,
    check_unmasked,
    encode_attribute,
    is_tensor,
    keep_large_groups,
    match_names,
    warn_of_values,
)

Item = TypeVar("Item")
Found = TypeVar("Found")


def in_parallel(jobs: Iterable[Any], n_jobs: int | None) -> Iterator[Any]:
    """What the delayed jobs return, in their order; as they end where the backend can, so that progress shows."""
    backend, _ = get_active_backend()
    as_they_end = getattr(backend, "supports_return_generator", False)
    yield from Parallel(n_jobs=n_jobs, return_as="generator" if as_they_end else "list")(jobs)


def in_threads(function: Callable[[Item], Found], items: Iterable[Item]) -> Iterator[Found]:
    """What a function returns of each item, in their order, with a thread for each core.

    Within these, native libraries use one thread: trees wait for each other at every step otherwise, which takes
    ten times as long where another process has one of the cores.
    """
    controller = ThreadpoolController()

    def run(item: Item) -> Found:
        with controller.limit(limits=1):
            return function(item)

    with parallel_config(backend="threading", n_jobs=cpu_count()):
        yield from in_parallel((delayed(run)(item) for item in items), None)


def fit_weighted(estimator: Any, X: Any, y: Any, sample_weight: Float[np.ndarray, "row"] | None) -> Any:
    """A clone of the estimator, fitted; without weights the argument is not passed at all."""
    model = clone(estimator)
    if sample_weight is None:
        return model.fit(X, y)
    classifier, argument = last_step(model)
    if not _takes_weights(classifier):
        raise TypeError(
            f"estimator {type(classifier).__name__} takes no sample_weight; expected one whose fit does"
        )
    if argument == "sample_weight":
        return model.fit(X, y, sample_weight=sample_weight)
    # Routing would offer the weights to the other steps of the pipeline too; they are the classifier's alone.
    with config_context(enable_metadata_routing=False):
        return model.fit(X, y, **{argument: sample_weight})


def counts_classes_from_zero(estimator: Any) -> bool:
    """Whether this is one of XGBoost's estimators, which take no other classes than 0, 1, ..."""
    classifier, _ = last_step(estimator)
    return any(kind.__module__.split(".")[0] == "xgboost" for kind in type(classifier).__mro__)


def score_method(estimator: Any) -> str | None:
    """The method whose values a threshold can cut, if the estimator has one."""
    return next((name for name in ("predict_proba", "decision_function") if hasattr(estimator, name)), None)


def scores(model: Any, X: Any) -> Float[np.ndarray, "row"]:
    """How much a fitted binary classifier inclines to its second class."""
    method = score_method(model)
    values = np.asarray(getattr(model, str(method))(X), dtype=np.float64)
    return values[:, 1] if method == "predict_proba" else values.reshape(len(values))


def stratified_folds(cell: Int[np.ndarray, "row"], folds: int, seed: int | None) -> Int[np.ndarray, "row"]:
    """The fold of each row, at random; each cell's rows are dealt out evenly."""
    fold = np.empty(len(cell), dtype=np.int64)
    # One deal through all cells: a class of two rows or more is then in two folds or more, and never unseen.
    fold[_shuffle_by_cell(cell, seed)] = np.arange(len(cell)) % folds
    return fold


def stratified_sample(cell: Int[np.ndarray, "row"], size: int, seed: int | None) -> Int[np.ndarray, "drawn"]:
    """So many rows at random, in their order; of each cell its share, to within a row."""
    even = np.arange(size) * len(cell) // size
    return np.asarray(np.sort(_shuffle_by_cell(cell, seed)[even]))


def _shuffle_by_cell(cell: Int[np.ndarray, "row"], seed: int | None) -> Int[np.ndarray, "row"]:
    """All rows, cell by cell, those of a cell in random order."""
    shuffled = np.random.default_rng(seed).permutation(len(cell))
    return np.asarray(shuffled[np.argsort(cell[shuffled], kind="stable")])


def last_step(estimator: Any) -> tuple[Any, str]:
    """The classifier itself, and the name by which `fit` takes its weights: pipelines may stand around it."""
    if not isinstance(estimator, Pipeline):
        return estimator, "sample_weight"
    name, step = estimator.steps[-1]
    classifier, argument = last_step(step)
    return classifier, f"{name}__{argument}"


def _takes_weights(estimator: Any) -> bool:
    """Whether `fit` takes sample_weight, by name or among any keywords."""
    parameters = signature(estimator.fit).parameters.values()
    return any(p.name == "sample_weight" or p.kind is Parameter.VAR_KEYWORD for p in parameters)


@dataclass(frozen=True, eq=False)
class Cells:
    """The class and the attribute of each row, as codes."""

    classes: Shaped[np.ndarray, "class"]
    label: Int[np.ndarray, "row"]
    attribute: Codes

    @classmethod
    def of(cls, y: Any, sensitive_features: Any) -> "Cells":
        """The cells of the columns that a user passes; an error names the column that is at fault."""
        classes, label = read_classes(y)
        if len(classes) < 2:
            raise ValueError(f"y holds one class only, {classes.tolist()[0]!r}; expected at least two")
        cells = cls(classes, label, encode_attribute(sensitive_features))
        names = tuple(class_name(value) for value in classes.tolist())
        for what, codes in (("y", Codes(label, names)), ("sensitive_features", cells.attribute)):
            warn_of_values(what, codes, stacklevel=3)
        return cells

    @cached_property
    def text(self) -> Shaped[np.ndarray, "row"]:
        """The class of each row as text, so that errors and mappings speak of the user's classes."""
        return np.take([class_name(value) for value in self.classes.tolist()], self.label)

    @cached_property
    def count(self) -> Int[np.ndarray, "label group"]:
        """How many rows each cell holds."""
        return cell_counts(*self.codes)

    @property
    def codes(self) -> tuple[Int[np.ndarray, "row"], Int[np.ndarray, "row"]]:
        """Class and attribute of each row."""
        return self.label, self.attribute.codes


def read_classes(y: Any) -> tuple[Shaped[np.ndarray, "class"], Int[np.ndarray, "row"]]:
    """The classes, sorted, and the number of each row's."""
    check_unmasked(y, "y")
    plain = getattr(getattr(y, "dtype", None), "numpy_dtype", np.dtype(object))  # of nullable and arrow types
    if plain.kind in "biu" and not y.isna().any():
        y = y.to_numpy(plain)  # scikit-learn would make floats of them
    try:
        column = column_or_1d(y, warn=True)
        assert_all_finite(column, input_name="y")
        if len(column) and column.dtype.kind == "O":
            _check_known(column)
        check_classification_targets(column)
        classes, label = np.unique(column, return_inverse=True)
    except (TypeError, ValueError, RuntimeError) as error:  # torch's are RuntimeErrors
        kind = ValueError if isinstance(error, ValueError) else TypeError
        raise kind(f"y cannot be read as classes: {error}") from error
    if not len(classes):
        raise ValueError("y is empty; expected one class for each row of X")
    return classes, label.astype(np.int64)


def match_classes(y: Any, names: Sequence[str]) -> Int[np.ndarray, "row"]:
    """The number of each row's class among those of a model; an InputError names classes that it does not have."""
    found, label = read_classes(y)
    number = match_names([class_name(value) for value in found.tolist()], names)
    others = [str(value) for value, place in zip(found.tolist(), number, strict=True) if place == UNKNOWN]
    if others:
        raise InputError(
            Option("y"), f"holds classes that the model does not have, {listed(others, 5)}", listed(names)
        )
    return np.asarray(np.take(number, label))


def _check_known(column: Shaped[np.ndarray, "row"]) -> None:
    """An error if some row has no class; scikit-learn's own check of objects knows NaN only."""
    codes = encode_attribute(column, argument="y", allow_unknown=True, allow_quantity=True).codes
    unknown = int((codes == UNKNOWN).sum())
    if unknown:
        raise ValueError(f"{unknown} of {len(column)} rows have none")


def class_name(value: object) -> str:
    """A class as text; 1.0 is "1"."""
    return str(int(value)) if isinstance(value, float) and value.is_integer() else str(value)


def encode_large_groups(cells: Cells, aim: str, min_count: int) -> Int[np.ndarray, "row"]:
    """The attribute values that the aim is evaluated by, numbered; UNKNOWN for the others'."""
    names = cells.attribute.names
    evaluated = keep_large_groups(cells.attribute, cells.count, min_count)
    if len(evaluated.names) < 2:
        raise ValueError(
            f"sensitive_features: aim {aim!r} compares groups, and {len(evaluated.names)} of {len(names)} "
            f"attribute values have {min_count} rows or more of every class; expected two or more. A "
            "smaller min_count would include rarer ones"
        )
    rare = [name for name in names if name not in evaluated.names]
    if rare:
        warnings.warn(
            f"sensitive_features: {', '.join(rare)} are too rare to evaluate the aim by, with fewer "
            f"than {min_count} rows of some class; they are weighted like all others",
            stacklevel=4,
        )
    return evaluated.codes


def count_rows(X: Any) -> int:
    """Return how many rows X has; an error if it is not a table, or one that scikit-learn cannot use.

    Raises:
        InputTypeError: for a sparse matrix without rows to select, complex numbers, or a tensor that is no array.
        InputError: for masked values, whose mask scikit-learn would drop, and for two columns of one name.
    """
    if is_tensor(X):
        _check_tensor(X)
    check_unmasked(X, "X")
    if issparse(X) and X.format not in ("csr", "csc", "lil", "dok"):
        raise InputTypeError(
            Option("X"), f"is a sparse {X.format} matrix", "a sparse csr matrix", "pass X.tocsr()"
        )
    if getattr(getattr(X, "dtype", None), "kind", "") == "c":
        raise InputTypeError(Option("X"), "holds complex numbers", "real numbers", "pass X.real, or its parts")
    columns = list(map(str, getattr(X, "columns", ())))
    twice = (
        next((name for name in columns if columns.count(name) > 1), None)
        if len({*columns}) < len(columns)
        else None
    )
    if twice is not None:
        raise InputError(
            Option("X"), f"has {columns.count(twice)} columns called {twice!r}", "one", "rename all but one"
        )
    try:
        return int(_num_samples(X))
    except TypeError as error:
        raise TypeError(f"X is not a table: {error}") from error


def _check_tensor(X: Any) -> None:
    """An error for a tensor that estimators of scikit-learn could not read."""
    try:
        np.asarray(X)
    except (RuntimeError, TypeError, ValueError) as error:
        came = f"is a tensor of {str(X.dtype).removeprefix('torch.')} that cannot be read as an array ({error})"
        raise InputTypeError(Option("X"), came, "numbers", "pass X.detach().cpu().float().numpy()") from error
