import numpy as np
import pytest

from fitted_runs import table_of
from raan import load
from raan.files import CorruptModel, Parts
from raan.fit.classifier import TableClassifier
from raan.fit.stored import from_parts, to_parts


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
    tight, free = (
        boosting.frontier.choose(at_most={"demographic_parity": limit}, worst_group_drop=None, **more)
        for more in ({"accuracy_drop": 0.0}, {})
    )
    assert not np.array_equal(tight.weights_, free.weights_)
    for number, chosen in enumerate((tight, free)):
        TableClassifier(loaded.preprocessing, chosen, loaded.label.names, {}).save(tmp_path / str(number))
        again = load(tmp_path / str(number)).classifier
        assert np.array_equal(again.weights_, chosen.weights_)
        assert again.accuracy_drop == chosen.accuracy_drop


def test_a_model_whose_parts_do_not_fit_is_refused(loaded, boosting):
    parts = to_parts(TableClassifier(loaded.preprocessing, boosting.frontier, loaded.label.names, {}))
    fewer = {**parts.plain["preprocessing"], "columns": parts.plain["preprocessing"]["columns"][:1]}
    with pytest.raises(CorruptModel, match="the preprocessing makes 1 features, the model takes 5"):
        from_parts(Parts({**parts.plain, "preprocessing": fewer}, parts.tensors, parts.estimators), None)
    with pytest.raises(CorruptModel, match="states the model 'TableClassifier'"):
        from_parts(Parts({**parts.plain, "kind": "TableClassifier"}, parts.tensors), None)
    with pytest.raises(CorruptModel, match="classes do not fit the 3 names"):
        from_parts(Parts({**parts.plain, "class_names": ("a", "b", "c")}, parts.tensors, parts.estimators), None)
