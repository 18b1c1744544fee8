"""Columns of pandas, and words of arrow, as the kinds of column that there are."""

from decimal import Decimal

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc

from raan.tabular.columns import Column, Numbers, Plain, Strange, encode, name_of

_NUMBERS = (int, float, np.integer, np.floating, Decimal)
_WORDS = (str, bytes, bool, np.bool_, *_NUMBERS)


def column_of(series: pd.Series, missing: frozenset[str]) -> Column:
    """The column that a pandas series holds: numbers by its type, words from text, bools and categories."""
    types = pd.api.types
    if isinstance(series.dtype, pd.CategoricalDtype) or types.is_bool_dtype(series.dtype):
        return _words(series, missing)
    if types.is_numeric_dtype(series.dtype) and not types.is_complex_dtype(series.dtype):
        return Numbers(series.to_numpy(np.float64, na_value=np.nan))
    if series.dtype == object or types.is_string_dtype(series.dtype):
        return _words(series, missing)
    return Strange(str(series.dtype))


def _words(series: pd.Series, missing: frozenset[str]) -> Column:
    """Codes of the distinct values; Numbers where a column of objects holds nothing else."""
    try:
        codes, uniques = pd.factorize(series)
    except TypeError:  # lists and other values that have no hash
        return Strange(f"values of type {type(series.dropna().iloc[0]).__name__}")
    values = list(uniques)
    strange = next((value for value in values if not isinstance(value, _WORDS)), None)
    if strange is not None:
        return Strange(f"values of type {type(strange).__name__}")
    if series.dtype == object and values and all(map(_is_number, values)):
        return Numbers(np.array([*map(float, values), np.nan])[codes])  # code -1 is the last: missing
    return encode(codes, map(name_of, values), missing)


def _is_number(value: object) -> bool:
    return isinstance(value, _NUMBERS) and not isinstance(value, bool)


def column_of_text(words: pa.Array, missing: frozenset[str], *, text: bool, decimal: str = ".") -> Plain:
    """The column that the words of a file spell: numbers where all of them are, unless it is asked for as text."""
    if decimal == "." and not text:
        try:
            pc.cast(words[:10], pa.float64())  # arrow words an error for every value: few are soon refused
            return Numbers(pc.cast(words, pa.float64()).to_numpy(zero_copy_only=False))
        except pa.ArrowInvalid:  # words, or numbers in a spelling such as "1 " or "+1"
            pass
    encoded = words.dictionary_encode()
    codes = encoded.indices.fill_null(-1).to_numpy(zero_copy_only=False)
    column = encode(codes, map(name_of, encoded.dictionary.to_pylist()), missing)
    numbers = None if text else column.as_numbers(decimal)
    return column if numbers is None else numbers
