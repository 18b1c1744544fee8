import numpy as np
import pytest

from fitted_runs import table_of
from raan import load
from raan.files import CorruptModel, Parts
from raan.fit.classifier import TableClassifier
from raan.fit.stored import from_parts, to_parts


@pytest.mark.parametrize("method", ["RAAN", "RL-RAAN", "AANReweighting"])
def test_a_saved_model_predicts_the_users_rows_as_before(loaded, trained, tmp_path, method):
    run = next(run for run in trained if run.method == method)
    names = loaded.table.class_names
    model = TableClassifier(loaded.preprocessing, run.classifier(1), names, {"attributes": ("sex",)})
    model.save(tmp_path / "model")
    again = load(tmp_path / "model")
    new = table_of(seed=1).drop(columns=["hired", "sex"])
    assert (again.predict(new) == model.predict(new)).all()
    assert np.array_equal(again.predict_proba(new), model.predict_proba(new))
    assert again.about == {"attributes": ("sex",)}
    assert again.columns == ("age", "score", "city")


def test_a_model_whose_parts_do_not_fit_is_refused(loaded, trained):
    run = next(run for run in trained if run.method == "RAAN")
    parts = to_parts(TableClassifier(loaded.preprocessing, run.classifier(1), loaded.table.class_names, {}))
    fewer = {**parts.plain["preprocessing"], "columns": parts.plain["preprocessing"]["columns"][:1]}
    with pytest.raises(CorruptModel, match="the preprocessing makes 1 features, the model takes 4"):
        from_parts(Parts({**parts.plain, "preprocessing": fewer}, parts.tensors, parts.estimators), None)
    with pytest.raises(CorruptModel, match="states the model 'TableClassifier'"):
        from_parts(Parts({**parts.plain, "kind": "TableClassifier"}, parts.tensors), None)
    with pytest.raises(CorruptModel, match="classes do not fit the 3 names"):
        from_parts(Parts({**parts.plain, "class_names": ("a", "b", "c")}, parts.tensors), None)
