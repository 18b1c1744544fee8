import numpy as np
import pytest
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.linear_model import LogisticRegression

import raan


def data(seed=0, rows=400):
    rng = np.random.default_rng(seed)
    sex = rng.integers(0, 2, rows)
    y = np.where(rng.random(rows) < np.where(sex == 1, 0.7, 0.3), "yes", "no")
    X = np.c_[(y == "yes") + rng.normal(0, 1, rows), sex + rng.normal(0, 0.5, rows)]
    return X, y, np.array(["f", "m"])[sex]


@pytest.mark.parametrize("estimator", [LogisticRegression(), HistGradientBoostingClassifier(max_iter=10)])
def test_a_saved_model_predicts_the_same_to_the_last_bit(estimator, tmp_path):
    X, y, sex = data()
    model = raan.AANReweighting(
        estimator, balance={("no", "f"): 1.0, ("no", "m"): 1.0, ("yes", "f"): 1.0, ("yes", "m"): 1.0}
    )
    model.fit(X, y, sensitive_features=sex).save(tmp_path / "model")
    loaded = raan.load(tmp_path / "model")
    np.testing.assert_array_equal(loaded.predict(X), model.predict(X))
    np.testing.assert_array_equal(loaded.predict_proba(X), model.predict_proba(X))
    assert loaded.get_params(deep=False)["balance"] == model.balance


class Stranger(LogisticRegression):
    """An estimator that skops has never heard of."""


def test_an_estimator_of_unknown_type_is_loaded_only_if_vouched_for(tmp_path):
    X, y, sex = data()
    model = raan.AANReweighting(Stranger()).fit(X, y, sensitive_features=sex)
    with pytest.warns(UserWarning, match=r"types that skops does not know to be harmless.*Stranger"):
        model.save(tmp_path / "model")
    with pytest.raises(ValueError, match=r"types that skops does not know to be harmless.*Stranger"):
        raan.load(tmp_path / "model")
    loaded = raan.load(tmp_path / "model", trusted=[f"{Stranger.__module__}.Stranger"])
    np.testing.assert_array_equal(loaded.predict(X), model.predict(X))


def test_an_unfitted_model_cannot_be_saved(tmp_path):
    with pytest.raises(ValueError, match="not fitted"):
        raan.AANReweighting(LogisticRegression()).save(tmp_path / "model")


def test_an_encoder_makes_no_sense_for_it(tmp_path):
    import torch

    X, y, sex = data()
    raan.AANReweighting(LogisticRegression()).fit(X, y, sensitive_features=sex).save(tmp_path / "model")
    with pytest.raises(ValueError, match="encoder is given, but the saved AANReweighting has none"):
        raan.load(tmp_path / "model", encoder=torch.nn.Identity())
