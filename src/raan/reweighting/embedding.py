"""The embedding in which neighbours are found: the user's own, or the features made comparable."""

from numbers import Real
from typing import Any

import numpy as np
import pandas as pd
from jaxtyping import Float
from scipy.sparse import issparse  # type: ignore[import-untyped]
from sklearn.base import clone

MAX_CATEGORIES = 100
"""Categories of a column with a dimension of their own, the most frequent ones: identifiers have thousands."""

TEXT_DIMENSIONS = 100
"""The number of dimensions to which the words of texts are reduced."""


def embed(X: Any, embedding: Any, rows: int) -> Float[np.ndarray, "row dim"]:
    """Return one vector for each row of X, as `AANReweighting`'s parameter `embedding` specifies."""
    vectors: Any
    if embedding is None:
        vectors = embed_texts(X) if are_texts(X) else standardise(X)
    elif isinstance(embedding, str):
        vectors = _select_columns(X, embedding)
    elif hasattr(embedding, "transform") and hasattr(embedding, "fit") and not isinstance(embedding, type):
        transformer = clone(embedding)
        fit_transform = getattr(transformer, "fit_transform", None)
        vectors = fit_transform(X) if fit_transform else transformer.fit(X).transform(X)
    elif callable(embedding) and not isinstance(embedding, type):
        vectors = embedding(X)
    else:
        raise TypeError(
            f"embedding is a {type(embedding).__name__}; expected None, a transformer, a callable, or the name of "
            "a column or of a block of columns"
        )
    array = np.asarray(vectors.toarray() if issparse(vectors) else vectors)
    if array.ndim != 2 or len(array) != rows or not array.size or array.dtype.kind not in "biuf":
        raise ValueError(
            f"embedding gives an array of shape {array.shape} and type {array.dtype} for {rows} rows; "
            "expected one vector of numbers for each row"
        )
    return array if array.dtype == np.float64 else array.astype(np.float32)


def standardise(X: Any) -> Float[np.ndarray, "row dim"]:
    """Scale numeric columns and dates to mean 0 and variance 1, and encode other columns one-hot.

    Missing numbers are at their column's mean, and a missing category has no column.
    """
    if issparse(X):
        raise ValueError(
            "embedding is None and X is sparse; pass a transformer that makes it dense, such as "
            "sklearn.decomposition.TruncatedSVD(100), or temperature=inf, which needs no embedding"
        )
    frame = _as_frame(X)
    if not frame.shape[1]:
        raise ValueError("X has no columns to embed; pass embedding")
    blocks = []
    for place in range(frame.shape[1]):  # names of columns may repeat
        column = frame.iloc[:, place]
        values, known = column.to_numpy(), column.notna().to_numpy()
        numbers = np.full(len(column), np.nan)
        if values.dtype.kind in "biufmM":
            numbers[known] = values[known].astype(np.int64 if values.dtype.kind in "mM" else np.float64)
        elif all(isinstance(value, Real) for value in values[known].tolist()):
            numbers[known] = values[known]
        else:
            try:
                codes = column.astype(object).astype("category").cat.codes.to_numpy()
            except TypeError as error:
                raise TypeError(f"X holds values that cannot be categories ({error})") from error
            frequent = np.argsort(-np.bincount(codes[codes >= 0]), kind="stable")[:MAX_CATEGORIES]
            blocks.append((codes[:, None] == frequent).astype(np.float32))
            continue
        finite = np.isfinite(numbers)
        centre, spread = (numbers[finite].mean(), numbers[finite].std()) if finite.any() else (0.0, 0.0)
        scaled = np.where(finite, numbers - centre, 0) / (spread if spread > 0 else np.inf)
        blocks.append(scaled[:, None].astype(np.float32))
    return np.concatenate(blocks, axis=1)


def _as_frame(X: Any) -> pd.DataFrame:
    """Return a frame or an array as a frame of pandas."""
    if isinstance(X, pd.DataFrame):
        return X
    if hasattr(X, "to_pandas"):
        return pd.DataFrame(X.to_pandas())
    try:
        array = np.asarray(X)
    except ValueError as error:
        raise ValueError(f"X cannot be read as a table: {error}") from error
    if array.ndim != 2:
        raise ValueError(f"X has shape {array.shape}; expected [samples, features], or one text for each sample")
    return pd.DataFrame(array)


def are_texts(X: Any) -> bool:
    """Return whether X is one text for each row: a list, a series or an array of str."""
    if isinstance(X, list | tuple):
        return bool(X) and all(isinstance(text, str) for text in X)
    return len(getattr(X, "shape", ())) == 1 and all(isinstance(text, str) for text in np.asarray(X, dtype=object))


def embed_texts(X: Any) -> Float[np.ndarray, "row dim"]:
    """Embed texts by TF-IDF, reduced to a few dimensions by a singular value decomposition."""
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


def _select_columns(X: Any, name: str) -> np.ndarray:
    """Return the column of this name, or the columns whose names begin with it."""
    if not hasattr(X, "columns"):
        raise TypeError(f"embedding is {name!r}, the name of columns, and X is a {type(X).__name__} without names")
    names = [str(column) for column in X.columns]
    wanted = [name] if name in names else [column for column in names if column.startswith(name)]
    if not wanted:
        raise ValueError(
            f"embedding is {name!r}, and no column of X is called so or begins so: {', '.join(names)}"
        )
    return np.stack([np.asarray(X[column]) for column in wanted], axis=1)
