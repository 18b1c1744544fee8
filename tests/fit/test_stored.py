# ruff: noqa: SLF001
import warnings
from copy import copy

import numpy as np
import pytest

from fitted_runs import table_of
from raan import load
from raan.fit.classifier import TableClassifier


@pytest.mark.parametrize("name", ["boosting", "logistic"])
@pytest.mark.parametrize("plain", [False, True])
def test_a_saved_model_predicts_the_users_rows_as_before(request, loaded, tmp_path, name, plain):
    family = request.getfixturevalue(name)
    classifier = family.frontier.plain() if plain else family.frontier
    model = TableClassifier(loaded.preprocessing, classifier, loaded.label.names, {"attributes": ("sex",)})
    model.save(tmp_path / "model")
    again = load(tmp_path / "model")
    new = table_of(seed=1).drop(columns=["hired", "sex"])
    assert (again.predict(new) == model.predict(new)).all()
    assert np.array_equal(again.predict_proba(new), model.predict_proba(new))
    assert again.about == {"attributes": ("sex",)}
    assert again.columns == ("age", "score", "height", "city")


def test_a_choice_by_limits_and_an_allowance_is_the_same_after_loading(boosting, loaded, tmp_path):
    limit = boosting.frontier.frontier_.plain.demographic_parity_gap / 2
    frontier = copy(boosting.frontier)
    frontier.confidence = 0.5  # so few rows support no limit with more confidence
    with warnings.catch_warnings(action="ignore"):  # without any loss of accuracy the limit is not kept
        tight, free = (
            frontier.choose(at_most={"demographic_parity": limit}, worst_group_drop=None, **more)
            for more in ({"accuracy_drop": 0.0}, {})
        )
    assert not np.array_equal(tight.weights_, free.weights_)
    for number, chosen in enumerate((tight, free)):
        TableClassifier(loaded.preprocessing, chosen, loaded.label.names, {}).save(tmp_path / str(number))
        again = load(tmp_path / str(number)).classifier
        assert np.array_equal(again.weights_, chosen.weights_)
        assert again.accuracy_drop == chosen.accuracy_drop


def test_a_model_whose_parts_do_not_fit_is_refused(loaded, boosting):
    state = TableClassifier(loaded.preprocessing, boosting.frontier, loaded.label.names, {})._to_state()
    fewer = {**state["preprocessing"], "columns": state["preprocessing"]["columns"][:1]}
    with pytest.raises(ValueError, match="the preprocessing makes 1 features, the model takes 5"):
        TableClassifier._from_state({**state, "preprocessing": fewer})
    with pytest.raises(ValueError, match="the kind of model is 'Other'"):
        TableClassifier._from_state({**state, "kind": "Other"})
    with pytest.raises(ValueError, match="classes do not fit the 3 names"):
        TableClassifier._from_state({**state, "class_names": ("a", "b", "c")})


@pytest.mark.parametrize(
    ("names", "kind"),
    [
        (("0", "1"), "i"),
        (("-1", "1"), "i"),
        (("no", "yes"), "U"),
        (("01", "1"), "U"),
        (("False", "True"), "b"),
        (("False", "true"), "U"),
    ],
)
def test_classes_that_are_whole_numbers_or_bools_are_predicted_as_such(loaded, boosting, names, kind):
    model = TableClassifier(loaded.preprocessing, boosting.frontier, names, {})
    predicted = model.predict_features(loaded.features[:50])
    assert predicted.dtype.kind == kind
    assert {*predicted.astype(str)} <= {*names}
