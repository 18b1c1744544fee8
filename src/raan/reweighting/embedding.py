"""The embedding in which neighbours are looked for: the user's own, or the features made comparable."""

from collections.abc import Iterator
from numbers import Real
from typing import Any

import numpy as np
from jaxtyping import Float, Int, Shaped
from scipy.sparse import issparse  # type: ignore[import-untyped]
from sklearn.base import clone

from raan.fairness.groups import UNKNOWN, encode_attribute

MOST_CATEGORIES = 100
"""Categories of a column with a dimension of their own, the most frequent ones: identifiers have thousands."""

TEXT_DIMENSIONS = 100
"""What the words of texts are reduced to."""


def embed(X: Any, embedding: Any, rows: int) -> Float[np.ndarray, "row dim"]:
    """One vector for each row of X, as `AANReweighting`'s parameter `embedding` asks for."""
    vectors = np.asarray(_dense(_vectors(X, embedding)))
    if vectors.ndim != 2 or len(vectors) != rows or not vectors.size or vectors.dtype.kind not in "biuf":
        raise ValueError(
            f"embedding gives an array of shape {vectors.shape} and type {vectors.dtype} for {rows} rows; "
            "expected one vector of numbers for each row"
        )
    return vectors if vectors.dtype == np.float64 else vectors.astype(np.float32)


def _vectors(X: Any, embedding: Any) -> Any:
    """What the embedding makes of X, not yet checked."""
    if embedding is None:
        return of_texts(X) if are_texts(X) else standardised(X)
    if isinstance(embedding, str):
        return _block(X, embedding)
    if hasattr(embedding, "transform") and hasattr(embedding, "fit") and not isinstance(embedding, type):
        transformer = clone(embedding)
        return (
            transformer.fit_transform(X)
            if hasattr(transformer, "fit_transform")
            else transformer.fit(X).transform(X)
        )
    if callable(embedding) and not isinstance(embedding, type):
        return embedding(X)
    raise TypeError(
        f"embedding is a {type(embedding).__name__}; expected None, a transformer, a callable, or the name of a "
        "column or of a block of columns"
    )


def standardised(X: Any) -> Float[np.ndarray, "row dim"]:
    """The numeric columns with mean 0 and variance 1, and a 0/1 column for each value of the others.

    Missing numbers stand at their column's mean, and a missing category has no column: neither pulls anywhere.
    """
    if issparse(X):
        raise ValueError(
            "embedding is None and X is sparse; pass a transformer that makes it dense, such as "
            "sklearn.decomposition.TruncatedSVD(100), or temperature=inf, which needs no embedding"
        )
    blocks = [_coordinates(column) for column in _columns(X)]
    if not blocks:
        raise ValueError("X has no columns to embed; pass embedding")
    return np.concatenate(blocks, axis=1)


def are_texts(X: Any) -> bool:
    """Whether X is one text for each row: a list, a series or an array of str."""
    if isinstance(X, list | tuple):
        return bool(X) and all(isinstance(text, str) for text in X)
    return len(getattr(X, "shape", ())) == 1 and all(isinstance(text, str) for text in np.asarray(X, dtype=object))


def of_texts(X: Any) -> Float[np.ndarray, "row dim"]:
    """The words of each text, weighed by how rare they are, reduced to a few dimensions (latent semantics)."""
    from sklearn.decomposition import TruncatedSVD
    from sklearn.feature_extraction.text import TfidfVectorizer

    try:
        words = TfidfVectorizer(sublinear_tf=True).fit_transform(list(X))
    except ValueError as error:
        raise ValueError(f"X: its texts cannot be compared by their words ({error}); pass embedding") from error
    most = min(words.shape) - 1
    if most <= TEXT_DIMENSIONS:
        return np.asarray(words.toarray())
    return np.asarray(TruncatedSVD(TEXT_DIMENSIONS, random_state=0).fit_transform(words))


def _block(X: Any, name: str) -> np.ndarray:
    """The column of this name, or the columns whose names begin with it."""
    if not hasattr(X, "columns"):
        raise TypeError(f"embedding is {name!r}, the name of columns, and X is a {type(X).__name__} without names")
    names = [str(column) for column in X.columns]
    wanted = [name] if name in names else [column for column in names if column.startswith(name)]
    if not wanted:
        raise ValueError(
            f"embedding is {name!r}, and no column of X is called so or begins so: {', '.join(names)}"
        )
    return np.stack([np.asarray(X[column]) for column in wanted], axis=1)


def _columns(X: Any) -> Iterator[Shaped[np.ndarray, "row"]]:
    """The columns of a data frame or an array, each with the type it has by itself."""
    if hasattr(X, "iloc") and X.ndim == 2:  # pandas, where names may repeat
        yield from (np.asarray(X.iloc[:, place]) for place in range(X.shape[1]))
    elif hasattr(X, "columns"):
        yield from (np.asarray(X[name]) for name in X.columns)
    else:
        yield from _array(X).T


def _array(X: Any) -> Shaped[np.ndarray, "row column"]:
    try:
        array = np.asarray(X)
    except ValueError as error:
        raise ValueError(f"X cannot be read as a table: {error}") from error
    if array.ndim != 2:
        raise ValueError(f"X has shape {array.shape}; expected [samples, features], or one text for each sample")
    return array


def _coordinates(column: Shaped[np.ndarray, "row"]) -> Float[np.ndarray, "row dim"]:
    """A column as one standardised dimension if it holds numbers or dates, else as one for each category."""
    if column.dtype.kind in "biuf":
        return _standardise(column.astype(np.float64))
    if column.dtype.kind in "mM":
        return _standardise(np.where(np.isnat(column), np.nan, column.astype(np.int64)))
    codes = _codes(column)
    known = codes != UNKNOWN
    # pandas has integers with missing values as objects.
    if all(isinstance(value, Real) for value in column[known].tolist()):
        numbers = np.full(len(column), np.nan)
        numbers[known] = column[known]
        return _standardise(numbers)
    frequent = np.argsort(-np.bincount(codes[known]), kind="stable")[:MOST_CATEGORIES]
    return np.asarray(codes[:, None] == frequent, dtype=np.float32)


def _codes(column: Shaped[np.ndarray, "row"]) -> Int[np.ndarray, "row"]:
    """The number of each value's category, UNKNOWN where it is missing, which it may be everywhere."""
    column = column.astype(object)
    return encode_attribute(column, argument="X", allow_unknown=True, allow_quantity=True).codes


def _standardise(values: Float[np.ndarray, "row"]) -> Float[np.ndarray, "row 1"]:
    """The values with mean 0 and variance 1; those missing, infinite, or of a constant column are 0."""
    known = np.isfinite(values)
    centre, spread = (values[known].mean(), values[known].std()) if known.any() else (0.0, 0.0)
    scaled = np.where(known, values - centre, 0) / (spread if spread > 0 else np.inf)
    return scaled[:, None].astype(np.float32)


def _dense(vectors: Any) -> Any:
    return vectors.toarray() if issparse(vectors) else vectors
