"""Odd values for the arguments of doors: other types and shapes, absurd numbers, mixtures of all these."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import torch

ROWS = 60
RNG = np.random.default_rng(0)
LABEL, SEX = np.arange(ROWS) % 2, np.arange(ROWS) // 2 % 2
POINTS = RNG.normal(size=(ROWS, 3)) + LABEL[:, None]


def odd_columns() -> Iterator[Any]:
    """Things that are no column of values, or an odd one."""
    yield from (None, 3, "text", [], {}, object(), b"bytes", float("nan"), {1, 2}, [[]], np.array(3), range(0))
    yield from (LABEL[:-1], LABEL[::-1], LABEL.astype(complex), LABEL * np.nan, [None] * ROWS, ["é"] * ROWS)
    yield from (np.stack([LABEL, SEX]), np.zeros((ROWS, 0)), np.zeros((ROWS, 2, 2)), np.array([object()] * ROWS))
    yield from (pd.Series(LABEL, dtype="Int64"), pd.Series(LABEL).astype("category"), pd.DataFrame({"a": LABEL}))
    yield from (torch.tensor(LABEL), torch.tensor(LABEL).bfloat16(), torch.ones(ROWS, requires_grad=True))
    yield from ([1] * ROWS, [2**70] * ROWS, ["a", 1] * (ROWS // 2), [[1], [1, 2]] * (ROWS // 2), iter(LABEL))
    yield from (torch.tensor(LABEL).to_sparse(), torch.empty(ROWS, device="meta"), int, np.ma.masked_all(ROWS))
    yield from (pd.Series(pd.to_datetime(LABEL)), pd.Series([pd.NA, 1] * (ROWS // 2)), LABEL.astype("m8[s]"))


def odd_tables() -> Iterator[Any]:
    """Things that are no table of numbers, or an odd one."""
    yield from (None, 3, "text", [], {}, object(), [[]], POINTS[0], POINTS[:-1], POINTS[:, :0], POINTS[None])
    yield from (POINTS[::-1], POINTS[:, ::-1], np.asfortranarray(POINTS), POINTS * 1e-30, POINTS * 1e300)
    yield from (
        POINTS * np.nan,
        POINTS * np.inf,
        POINTS.astype(complex),
        POINTS.astype(str),
        POINTS.astype(object),
    )
    yield from (POINTS > 0, POINTS.astype(np.float16), POINTS.tolist(), pd.DataFrame(POINTS), pd.DataFrame())
    yield from (torch.tensor(POINTS), torch.tensor(POINTS).bfloat16(), torch.tensor(POINTS).requires_grad_())
    yield from (torch.tensor(POINTS).to_sparse(), torch.empty(ROWS, 3, device="meta"), [[1, 2, 3], [4]], int)


def odd_settings() -> Iterator[Any]:
    """Things that are no setting, or an odd one: numbers, words, paths, lists and what is none of them."""
    yield from (None, True, -1, 0, 1, 2, 3.7, 1e-300, 1e300, 10**30, float("nan"), float("inf"), -float("inf"))
    yield from (
        "",
        "text",
        "é[/x]\0",
        "1",
        b"bytes",
        Path("nowhere"),
        "x" * 300,
        [],
        {},
        (),
        [1],
        (0.9, 2),
        object(),
    )
    yield from (np.float32(0.5), np.array([1, 2]), torch.tensor(0.5), {"a": 1}, {1: None}, int, 1j, object())


def mixtures(number: int, seed: int) -> Iterator[Any]:
    """Columns and tables of mixed and damaged values, drawn at random."""
    rng = np.random.default_rng(seed)
    pieces = [0, 1, -1, 2.5, None, float("nan"), float("inf"), "a", "", "1", True, b"x", 1e308, 2**64, 1j, pd.NaT]
    pieces += [np.float16(3), (), [], {}, "é", "\0", "x" * 1000]
    for _ in range(number):
        few = [pieces[place] for place in rng.integers(len(pieces), size=rng.integers(1, 4))]
        rows = int(rng.choice([ROWS, ROWS, ROWS, ROWS - 1, 1, 0]))
        column = [few[place] for place in rng.integers(len(few), size=rows)]
        kind = rng.integers(5)
        if kind == 0:
            yield column
        elif kind == 1:
            yield np.array([*column, None], dtype=object)[:-1]
        elif kind == 2:
            yield pd.Series(column, dtype=object)
        elif kind == 3:
            yield [[each] * int(rng.integers(1, 4)) for each in column]
        else:
            values = rng.choice([0.0, 1.0, np.nan, np.inf, 1e300, -1e-300], size=(rows, int(rng.integers(1, 4))))
            with np.errstate(over="ignore"):
                cast = values.astype(rng.choice(["f8", "f4", "O", "c16"]))
            yield cast if rng.random() < 0.8 else pd.DataFrame(values)
