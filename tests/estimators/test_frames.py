"""Frames with words, categories, bools and missing values: the preprocessing is the classifier's own."""

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.model_selection import cross_val_score

from raan import RAANClassifier, load
from raan.errors import DataWarning, InputError, InputTypeError
from raan.tables.preprocess import Preprocessing


def people(rows=600, seed=0):
    """A frame, what it tells of, and whose rows they are."""
    rng = np.random.default_rng(seed)
    sex, job = rng.choice(["f", "m"], rows), rng.choice(["clerk", "smith", "baker"], rows).astype(object)
    age = rng.normal(40, 9, rows)
    wealthy = (age > 40) ^ (rng.random(rows) < np.where(sex == "m", 0.1, 0.3))
    age[rng.random(rows) < 0.1], job[rng.random(rows) < 0.1] = np.nan, None
    frame = pd.DataFrame({"job": job, "age": age, "night": rng.random(rows) < 0.3})
    return frame, np.where(wealthy, "yes", "no"), sex


def quick(**parameters):
    defaults = {"hidden_layer_sizes": (8,), "head_layer_sizes": (), "epochs": 6, "random_state": 0}
    return RAANClassifier(**defaults | parameters)


def test_a_frame_with_words_and_missing_values_is_fitted_and_predicted():
    frame, y, sex = people()
    model = quick().fit(frame, y, sensitive_features=sex)
    assert model.preprocessing_.feature_names == (
        *(
            "job=baker",
            "job=clerk",
            "job=smith",
            "job=(missing)",
            "age",
            "age=(missing)",
            "night=False",
            "night=True",
        ),
    )
    assert model.n_features_in_ == 3
    assert model.feature_names_in_.tolist() == ["job", "age", "night"]
    new, truth, _ = people(seed=1)
    assert model.score(new, truth) > 0.7
    shuffled = new[["night", "age", "job"]].assign(more=1)
    np.testing.assert_array_equal(model.predict_proba(shuffled), model.predict_proba(new))
    assert model.embed(new).shape == (600, 8)


@pytest.mark.filterwarnings("ignore:the column .age. is far outside:raan.data.DataWarning")
def test_the_preprocessing_is_fitted_to_the_rows_that_train():
    frame, y, sex = people(200)
    weight = np.ones(200)
    weight[:20], frame.loc[:19, "age"] = 0, 1000.0  # rows that weigh nothing
    found = quick().fit(frame, y, sensitive_features=sex, sample_weight=weight).preprocessing_
    age = found.encodings[1]
    assert age.mean < 50
    held = (frame[:50].assign(age=1e6), y[:50], sex[:50])
    model = quick(epochs=1).fit(frame, y, sensitive_features=sex, sample_weight=weight, validation=held)
    rest = frame[20:].reset_index(drop=True)
    assert model.preprocessing_ == Preprocessing.fit(rest)  # all rows that weigh, and none of the validation rows


def test_a_saved_classifier_knows_its_preprocessing(tmp_path):
    frame, y, sex = people()
    model = quick(epochs=1).fit(frame, y, sensitive_features=sex)
    model.save(tmp_path / "model")
    again = load(tmp_path / "model")
    assert again.preprocessing_ == model.preprocessing_
    np.testing.assert_array_equal(again.predict_proba(frame), model.predict_proba(frame))
    assert again.feature_names_in_.tolist() == ["job", "age", "night"]


def test_numbers_alone_are_taken_as_they_are():
    frame, y, sex = people()
    numbers = pd.DataFrame({"age": frame["age"].fillna(0), "night": frame["night"], "one": np.arange(600) % 7})
    model = quick(epochs=1).fit(numbers, y, sensitive_features=sex)
    assert model.preprocessing_ is None
    array = quick(epochs=1).fit(numbers.to_numpy(dtype=float), y, sensitive_features=sex)
    np.testing.assert_array_equal(model.predict_proba(numbers), array.predict_proba(numbers.to_numpy(dtype=float)))


def test_a_refit_to_numbers_forgets_the_preprocessing():
    frame, y, sex = people()
    model = quick(epochs=1).fit(frame, y, sensitive_features=sex)
    X = np.random.default_rng(0).normal(size=(600, 2))
    assert model.fit(X, y, sensitive_features=sex).preprocessing_ is None
    assert model.predict(X).shape == (600,)


def test_polars_categories_and_cross_validation_work():
    polars = pytest.importorskip("polars")
    frame, y, sex = people()
    model = quick(epochs=1).fit(frame, y, sensitive_features=sex)
    other = polars.DataFrame({name: frame[name].tolist() for name in frame}, strict=False)
    found = quick(epochs=1).fit(other, y, sensitive_features=sex)
    assert found.preprocessing_.feature_names == model.preprocessing_.feature_names
    np.testing.assert_array_equal(found.predict(other), model.predict(frame))
    category = frame.assign(job=frame["job"].astype("category"))
    np.testing.assert_array_equal(
        quick(epochs=1).fit(category, y, sensitive_features=sex).predict(category), model.predict(frame)
    )
    params = {"sensitive_features": sex}
    assert len(cross_val_score(clone(model), frame, y, cv=3, params=params)) == 3


def test_what_cannot_be_read_is_said():
    frame, y, sex = people()
    model = quick(epochs=1).fit(frame, y, sensitive_features=sex)
    with pytest.raises(
        InputTypeError, match="fitted to a frame with words or missing values; expected a DataFrame"
    ):
        model.predict(np.zeros((3, 3)))
    with pytest.raises(InputError, match="age"):
        model.predict(frame[["job", "night"]])
    with pytest.warns(DataWarning, match="identifiers: who"):
        left = quick(epochs=1).fit(
            frame.assign(who=[f"p{row}@x.org" for row in range(600)]), y, sensitive_features=sex
        )
    assert left.preprocessing_.columns == ("job", "age", "night")
