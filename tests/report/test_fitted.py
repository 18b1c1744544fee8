import re
import warnings

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import raan
from raan.errors import InputError
from raan.fairness import count
from raan.report.fitted import make_outcome


def draw(rows, seed):
    """A table in which one group is hired less often than its score deserves."""
    rng = np.random.default_rng(seed)
    sex = pd.Series(rng.choice(["f", "m"], rows), name="sex")
    X = pd.DataFrame({"score": rng.normal(size=rows), "height": rng.normal(size=rows) + 1.5 * (sex == "m")})
    hired = X["score"] + 0.6 * (sex == "m") + rng.normal(size=rows) > 0.4
    return X, pd.Series(np.where(hired, "yes", "no"), name="hired"), sex


@pytest.fixture(scope="module")
def people():
    return draw(12_000, 0)


@pytest.fixture(scope="module")
def new():
    return draw(1500, 1)


@pytest.fixture(scope="module")
def fair(people):
    X, y, sex = people
    model = raan.FairFrontier(
        make_pipeline(StandardScaler(), LogisticRegression()), aim="demographic_parity", accuracy_drop=0.03
    )
    return model.fit(X, y, sensitive_features=sex)


@pytest.mark.usefixtures("as_users_call")
def test_the_page_and_the_card_are_about_the_predictions_on_test_rows(fair, new, tmp_path):
    X, y, sex = new
    fair.report(tmp_path / "page.html", X, y, sensitive_features=sex, card=tmp_path / "card.md", source="people")
    page, card = (" ".join((tmp_path / name).read_text().split()) for name in ("page.html", "card.md"))
    plain, now = (
        raan.audit(y, each.predict(X), sex).demographic_parity_gap.value for each in (fair.plain(), fair)
    )
    headline = f"the demographic-parity gap from {100 * plain:.1f} to {100 * now:.1f} %"
    for text in (page, card):
        assert headline in text
        for words in ("Intended use", "Owner", "Approved by, on", "Selection-rate ratio", "confidence of 0.9"):
            assert words in text
        assert fair.sketch_.fingerprint in text
        assert "hired" in text
        assert "LogisticRegression under FairFrontier" in text
    assert ": hired in people, by sex</title>" in page
    assert "raan choose" not in page
    assert "raan predict" not in card
    assert "--accuracy-drop" not in page + card


def test_the_points_are_counted_on_the_rows_that_are_given(fair, new):
    X, y, sex = new
    outcome = make_outcome(fair, X, y, sex)
    codes = (y == "yes").to_numpy(int), (sex == "m").to_numpy(int)
    for model, place in ((fair.plain(), 0), (fair, outcome.place)):
        counted = count(*codes, (model.predict(X) == "yes").astype(int), 2, 2)
        assert np.array_equal(outcome.test[place], counted)
    assert outcome.place == fair.choice_.place > 0
    switched = (fair.predict(X) == y) != (fair.plain().predict(X) == y)
    assert outcome.switched[outcome.place].sum() == switched.sum()
    assert outcome.facts.sizes == (12_000, 12_000, 1500)
    assert outcome.facts.classes == ("no", "yes")


@pytest.mark.usefixtures("as_users_call")
def test_the_calls_on_the_page_return_the_points_that_it_shows(fair, new, tmp_path):
    X, y, sex = new
    fair.report(tmp_path / "page.html", X, y, sensitive_features=sex)
    outcome = make_outcome(fair, X, y, sex)
    page = (tmp_path / "page.html").read_text()
    calls = re.findall(r'"command":"(fair\.choose\([^"]*\))"', page.replace('\\"', "'").replace('": "', '":"'))
    assert len(calls) > 10
    with warnings.catch_warnings(action="ignore"):  # some budgets choose the plain model, with a warning
        chosen = {eval(call, {"fair": fair}).choice_.place for call in calls}
    assert chosen == {choice.point for choice in outcome.choices}


def test_arrays_are_evaluated_too_and_columns_without_names_are_numbered(people, new):
    X, y, sex = (np.asarray(each) for each in people)
    model = raan.FairFrontier(LogisticRegression(), aim="demographic_parity", accuracy_drop=0.03)
    model.fit(X, y, sensitive_features=sex)
    outcome = make_outcome(model, *(np.asarray(each) for each in new))
    assert outcome.facts.columns == ("column 0", "column 1")
    assert outcome.facts.attributes == ("group",)
    importance = {name: lost for name, lost, _ in outcome.probe.importance(model.weights_, 2)}
    assert importance["column 0"] > 0.05 > importance["column 1"]


def test_a_model_that_is_given_the_attribute_names_it_among_its_inputs(people, new):
    X, y, sex = people
    model = raan.FairFrontier(
        LogisticRegression(), aim="demographic_parity", accuracy_drop=0.05, attribute_at_prediction=True
    ).fit(X, y, sensitive_features=sex)
    outcome = make_outcome(model, *new)
    assert outcome.facts.sees_attribute
    assert outcome.probe.columns == ()
    decided = model.predict(new[0], sensitive_features=new[2])
    assert outcome.test[outcome.place][:, :, 1].sum() == (decided == "yes").sum()


@pytest.mark.usefixtures("as_users_call")
def test_rows_that_trained_and_classes_that_are_new_are_refused(fair, people, new, tmp_path):
    with pytest.raises(InputError, match="contain rows that trained or chose"):
        fair.report(tmp_path / "page.html", *people[:2], sensitive_features=people[2])
    X, y, sex = new
    with pytest.raises(InputError, match="maybe"):
        fair.report(tmp_path / "page.html", X, y.replace("no", "maybe"), sensitive_features=sex)
    assert not (tmp_path / "page.html").exists()
