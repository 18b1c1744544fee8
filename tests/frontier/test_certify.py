"""Rows that trained a model are recognised, however they are held; those of other people are not."""

import numpy as np
import pandas as pd
import pytest
from scipy.sparse import csr_matrix
from sklearn.linear_model import LogisticRegression

import raan
from raan.errors import InputError
from raan.frontier.sketch import MOST, Sketch, hash_rows
from reproduce.coverage import simulate

X, Y, A = simulate("two groups", 4000, 1)
TRAIN, FRESH = slice(0, 1500), slice(1500, 4000)


@pytest.fixture(scope="module")
def fair():
    model = raan.FairFrontier(LogisticRegression(), accuracy_drop=0.03, aim="demographic_parity")
    return model.fit(X[TRAIN], Y[TRAIN], sensitive_features=A[TRAIN])


def certify(model, rows, **changed):
    given = {"X": X[rows], "y": Y[rows], "sensitive_features": A[rows]} | changed
    return model.certify(given.pop("X"), given.pop("y"), **given)


def test_a_certificate_counts_as_predict_decides(fair):
    found = certify(fair, FRESH)
    decided, plain = fair.predict(X[FRESH]), fair.plain().predict(X[FRESH])
    assert found.loss.seen == pytest.approx(np.mean(plain == Y[FRESH]) - np.mean(decided == Y[FRESH]))
    for each in found.recalls:
        cell = (Y[FRESH].astype(str) == each.label) & (A[FRESH].astype(str) == each.group)
        assert each.seen == pytest.approx(np.mean(decided[cell] == Y[FRESH][cell]))
        assert each.rows == cell.sum()
    assert found.notes == ()


def test_rows_that_trained_are_refused_even_a_few_of_them(fair, tmp_path):
    fair.save(tmp_path / "fair")
    for model in (fair, raan.load(tmp_path / "fair")):
        certify(model, FRESH)
        for rows in (TRAIN, slice(1480, 2500)):
            with pytest.raises(InputError, match="trained or chose"):
                certify(model, rows)
    assert certify(raan.load(tmp_path / "fair"), FRESH) == certify(fair, FRESH)


def test_a_choice_is_another_model_on_the_same_rows(fair):
    other = fair.choose(aim="equalized_odds", accuracy_drop=0.04)
    first, second = certify(fair, FRESH), certify(other, FRESH)
    assert first.data == second.data != certify(fair, slice(2000, 4000)).data
    assert (first.model == second.model) == np.array_equal(fair.weights_, other.weights_)
    with pytest.raises(InputError, match="trained or chose"):
        certify(other, TRAIN)


def test_a_model_without_fingerprints_says_so(fair):
    older = fair.choose()
    del older.sketch_
    assert "could not be checked" in certify(older, TRAIN).notes[0]


def test_equal_values_have_equal_hashes_whatever_holds_them():
    rows = np.array([[1.0, 0.0, 2.5], [0.0, 3.0, np.nan], [-0.0, 3.0, np.nan]])
    label = np.array([0, 1, 1])
    expected = hash_rows(rows, label)
    assert expected[1] == expected[2] != expected[0]
    frame = pd.DataFrame(rows, columns=list("abc"))
    others = [rows.tolist(), frame, frame.astype({"a": "Float64"}), frame.astype(object), csr_matrix(rows)]
    for held in others:
        np.testing.assert_array_equal(hash_rows(held, label), expected)
    words = pd.DataFrame({"city": ["Bern", None, "Genf"], "age": [1, 2, 3]})
    np.testing.assert_array_equal(
        hash_rows(words, label), hash_rows(words.astype({"city": "category", "age": "int8"}), label)
    )
    assert len(np.unique(hash_rows(words, label))) == 3
    assert hash_rows(rows, 1 - label)[0] != expected[0]
    assert hash_rows(rows[:, ::-1], label)[0] != expected[0]


@pytest.mark.parametrize(("values", "visible"), [(4, False), (300, True), (100_000, True)])
def test_tables_in_which_people_share_rows_are_not_refused(values, visible):
    refused = 0
    for seed in range(20):
        rng = np.random.default_rng(seed)
        rows = np.floor(values * rng.beta(1, 3, (9000, 2)))
        label = rng.integers(0, 2, 9000)
        sketch = Sketch.of(rows[:5000], label[:5000])
        found = sketch.find(hash_rows(rows[5000:], label[5000:]))
        assert found.visible == visible
        refused += found.trained
        same = sketch.find(hash_rows(rows[:4000], label[:4000]))
        assert same.trained == visible
    assert refused == 0


def test_the_sketch_of_a_large_table_is_small_and_still_finds_a_part():
    rng = np.random.default_rng(0)
    rows, label = rng.normal(size=(60_000, 2)), rng.integers(0, 2, 60_000)
    sketch = Sketch.of(rows[:50_000], label[:50_000])
    assert len(sketch.hashes) == MOST
    hashes = hash_rows(rows, label)
    assert not sketch.find(hashes[50_000:]).trained
    part = sketch.find(np.r_[hashes[50_000:], hashes[:300]])
    assert part.trained
    assert sketch.find(hashes[:10_000]).share == pytest.approx(1, abs=0.1)


def test_classes_and_groups_that_the_model_does_not_have_are_named(fair):
    with pytest.raises(InputError, match="classes that the model does not have, 2"):
        certify(fair, FRESH, y=np.where(Y[FRESH] == 1, 2, 0))
    with pytest.raises(InputError, match="none of the groups of fit"):
        certify(fair, FRESH, sensitive_features=A[FRESH] + 5)
    plain = fair.plain()
    with pytest.raises(InputError, match="fewer than two groups"):
        certify(plain, FRESH)


@pytest.mark.filterwarnings("ignore:the classifier is the plain one")
def test_three_classes_and_an_attribute_at_prediction():
    X3, y, a = simulate("three classes", 3000, 2)
    model = raan.FairFrontier(
        LogisticRegression(), accuracy_drop=0.05, worst_group_drop=None, attribute_at_prediction=True
    )
    model.fit(X3[:1500], y[:1500], sensitive_features=a[:1500])
    found = model.certify(X3[1500:], y[1500:], sensitive_features=a[1500:])
    assert len(found.recalls) == 6
    decided = model.predict(X3[1500:], sensitive_features=a[1500:])
    lost = np.mean(model.predict_proba(X3[1500:]).argmax(1) == y[1500:]) - np.mean(decided == y[1500:])
    assert found.loss.seen == pytest.approx(lost)
