"""The doors around any classifier take texts, where a pipeline begins with what reads them."""

import functools

import numpy as np
import pandas as pd
import polars
import pytest
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline

import raan
from raan.reweighting.embedding import embed

ROWS = 1000
KINDS = {
    "list": list,
    "series": lambda texts: pd.Series(texts, index=range(7, 7 + len(texts))),
    "objects": lambda texts: np.array(texts, dtype=object),
    "polars": polars.Series,
}


def comments():
    """Comments of which the words tell the class, and some of them the group."""
    rng = np.random.default_rng(0)
    group = rng.integers(0, 2, ROWS)
    label = (rng.random(ROWS) < np.where(group == 1, 0.7, 0.3)).astype(int)
    texts = []
    for y, a in zip(label, group, strict=True):
        words = list(rng.choice(["bus", "tree", "river", "house"], 5))
        words += ["awful"] * (rng.random() < (0.7 if y else 0.1)) + ["mosque"] * (
            rng.random() < (0.8 if a else 0.1)
        )
        texts.append(" ".join(words))
    return texts, label, group


def reader():
    return make_pipeline(TfidfVectorizer(), LogisticRegression())


DOORS = {
    "frontier": lambda: raan.FairFrontier(
        reader(), aim="demographic_parity", accuracy_drop=0.1, worst_group_drop=0.1, confidence=0.5
    ),
    "weights": lambda: raan.AANReweighting(reader(), strength=1.0),
}


@functools.cache
def of_a_list(door):
    texts, label, group = comments()
    return DOORS[door]().fit(texts, label, sensitive_features=group)


@pytest.mark.filterwarnings("ignore::UserWarning")  # how the choice fares is not asked here
@pytest.mark.parametrize(
    ("door", "kind"),
    [*(("weights", kind) for kind in KINDS), ("frontier", "series")],
)
def test_texts_of_any_kind_are_fitted_and_predicted_alike(door, kind):
    texts, label, group = comments()
    fitted = DOORS[door]().fit(KINDS[kind](texts), label, sensitive_features=group)
    expected = of_a_list(door).predict_proba(texts)
    assert fitted.predict(KINDS[kind](texts[:50])).shape == (50,)
    np.testing.assert_allclose(fitted.predict_proba(KINDS[kind](texts)), expected)
    assert (fitted.predict(texts) == label).mean() > 0.7


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize("door", DOORS)
def test_a_pipeline_over_texts_is_saved_and_loaded(door, tmp_path):
    texts, _, _ = comments()
    fitted = of_a_list(door)
    fitted.save(tmp_path / "model")
    assert (raan.load(tmp_path / "model").predict(texts) == fitted.predict(texts)).all()


@pytest.mark.filterwarnings("ignore::UserWarning")
def test_the_frontier_over_texts_narrows_the_gap_out_of_fold():
    promise = of_a_list("frontier").promise_
    gap = "demographic_parity_gap"
    assert promise.metrics[gap].value < 0.8 * promise.plain[gap].value


def test_neighbours_of_a_text_share_its_words():
    subjects = ("train bus tram ship", "apple pear plum fig")
    rng = np.random.default_rng(0)
    texts = [f"the {' '.join(rng.choice(words.split(), 3))}" for words in subjects for _ in range(30)]
    vectors = embed(texts, None, len(texts))
    unit = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
    near = unit @ unit.T
    assert near[:30, :30].mean() > near[:30, 30:].mean() + 0.3


def test_many_different_words_are_reduced():
    rng = np.random.default_rng(0)
    texts = [" ".join(f"word{n}" for n in rng.integers(0, 2000, 20)) for _ in range(300)]
    assert embed(texts, None, 300).shape == (300, 100)


def test_texts_without_words_are_refused_in_words():
    with pytest.raises(ValueError, match=r"X: its texts cannot be compared by their words .* pass embedding"):
        embed(["", "-"], None, 2)


@pytest.mark.parametrize("X", [np.zeros(5), pd.Series(np.zeros(5)), [1.0] * 5, ["a", None, "b", "c", "d"]])
def test_one_number_for_each_row_is_no_table(X):
    with pytest.raises(ValueError, match=r"X has shape \(5,\); expected \[samples, features\], or one text"):
        embed(X, None, 5)
