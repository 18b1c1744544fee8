"""Bad input at the doors: an error that names the argument, or a result, never the words of others alone."""

import traceback
import warnings

import numpy as np
import pandas as pd
import pytest
import torch
from sklearn.linear_model import LogisticRegression

import raan

ROWS = 60
RNG = np.random.default_rng(0)
LABEL, SEX = np.arange(ROWS) % 2, np.arange(ROWS) // 2 % 2
POINTS = RNG.normal(size=(ROWS, 3)) + LABEL[:, None]


def odd_columns():
    """Things that are no column of values, or an odd one."""
    yield from (None, 3, "text", [], {}, object(), b"bytes", float("nan"), {1, 2}, [[]], np.array(3), range(0))
    yield from (LABEL[:-1], LABEL[::-1], LABEL.astype(complex), LABEL * np.nan, [None] * ROWS, ["é"] * ROWS)
    yield from (np.stack([LABEL, SEX]), np.zeros((ROWS, 0)), np.zeros((ROWS, 2, 2)), np.array([object()] * ROWS))
    yield from (pd.Series(LABEL, dtype="Int64"), pd.Series(LABEL).astype("category"), pd.DataFrame({"a": LABEL}))
    yield from (
        torch.tensor(LABEL),
        torch.tensor(LABEL, dtype=torch.bfloat16),
        torch.ones(ROWS, requires_grad=True),
    )
    yield from (
        [1] * ROWS,
        [2**70] * ROWS,
        ["a", 1] * (ROWS // 2),
        [[1], [1, 2]] * (ROWS // 2),
        (each for each in LABEL),
    )


def odd_tables():
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
    yield from (torch.tensor(POINTS).to_sparse(), torch.empty(ROWS, 3, device="meta"), [[1, 2, 3], [4]])


def call(door, **odd):
    """The door with good arguments, but for one."""
    given = dict(X=LABEL if door == "audit" else POINTS, y=LABEL, sensitive_features=SEX) | odd
    if door == "aan_weights":
        return raan.aan_weights(given["X"], given["y"], given["sensitive_features"])
    if door == "audit":
        return raan.audit(given["y"], given["X"], given["sensitive_features"])
    models = {
        "AANReweighting": lambda: raan.AANReweighting(LogisticRegression()),
        "FairFrontier": lambda: raan.FairFrontier(LogisticRegression(), aim="worst_group", min_count=2),
        "RAANClassifier": lambda: raan.RAANClassifier((3,), epochs=1, random_state=0),
    }
    return models[door]().fit(given["X"], given["y"], sensitive_features=given["sensitive_features"])


def is_of_the_estimator(error):
    """Whether the classifier that the user gave refused what it was given: then its words are the right ones."""
    return any("linear_model" in frame.filename for frame in traceback.extract_tb(error.__traceback__))


NAMES = {
    "aan_weights": {"X": "embedding", "y": "label", "sensitive_features": "sensitive_features"},
    "audit": {"X": "y_pred", "y": "y_true", "sensitive_features": "sensitive_features"},
}


@pytest.mark.usefixtures("as_users_call")
@pytest.mark.parametrize("argument", ["X", "y", "sensitive_features"])
@pytest.mark.parametrize("door", ["aan_weights", "audit", "AANReweighting", "FairFrontier", "RAANClassifier"])
def test_an_odd_argument_gives_a_result_or_an_error_that_names_it(door, argument):
    name = NAMES.get(door, {}).get(argument, argument)
    column = argument != "X" or door == "audit"
    wrong = []
    for number, odd in enumerate(odd_columns() if column else odd_tables()):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                call(door, **{argument: odd})
            except (ValueError, TypeError) as error:
                if name not in str(error) and not is_of_the_estimator(error):
                    wrong.append((number, str(odd)[:60], f"{type(error).__name__}: {str(error)[:150]}"))
            except Exception as error:
                wrong.append((number, str(odd)[:60], f"{type(error).__name__}: {str(error)[:150]}"))
    assert not wrong, "\n".join(map(str, wrong))
