import matplotlib
import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

import raan
from raan.fairness import audit

matplotlib.use("Agg")


def people(classes=2, rows=900, seed=0):
    """True classes, groups, and two models' decisions that mostly agree."""
    rng = np.random.default_rng(seed)
    y, sex = rng.integers(classes, size=rows), rng.choice(["f", "m"], rows)
    first = np.where(rng.random(rows) < 0.75, y, rng.integers(classes, size=rows))
    second = np.where(rng.random(rows) < 0.03, y, first)
    return y, sex, first, second


@pytest.mark.parametrize("classes", [2, 3])
def test_the_figures_are_those_of_the_audits_and_the_differences_are_between_them(classes):
    y, sex, first, second = people(classes)
    found = raan.compare({"first": first, "second": second}, None, y, sensitive_features=sex)
    one, other = (audit(y, each, sex) for each in (first, second))
    assert found.audits == {"first": one, "second": other}
    assert set(found.differences) == {"second"}
    for name, difference in found.differences["second"].items():
        assert difference.value == pytest.approx(other.overall[name].value - one.overall[name].value)


def test_intervals_of_differences_are_paired():
    y, sex, first, second = people()
    found = raan.compare({"first": first, "second": second, "same": first}, None, y, sensitive_features=sex)
    accuracy = found.audits["first"].accuracy
    difference = found.differences["second"]["accuracy"]
    assert difference.high - difference.low < 0.5 * (accuracy.high - accuracy.low)
    # The standard error of a paired difference of shares: rows that only one of the two has right.
    moved = (second == y).astype(float) - (first == y)
    assert difference.high - difference.low == pytest.approx(2 * 1.96 * moved.std() / len(y) ** 0.5, rel=0.15)
    for same in found.differences["same"].values():
        assert (same.value, same.low, same.high) == (0, 0, 0)


def test_small_groups_are_left_out_of_the_differences_as_of_the_audits():
    y, sex, first, second = people()
    sex[:5] = "x"
    found = raan.compare({"first": first, "second": second}, None, y, sensitive_features=sex)
    assert found.audits["first"].left_out == ("x",)
    gaps = [each.worst_group_accuracy.value for each in found.audits.values()]
    assert found.differences["second"]["worst_group_accuracy"].value == pytest.approx(gaps[1] - gaps[0])


def test_fitted_classifiers_predict_and_those_that_need_the_attribute_get_it():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(2000, 3))
    sex = rng.choice(["f", "m"], 2000)
    X[:, 1] += sex == "m"
    y = (X[:, 0] + 0.8 * (sex == "m") + rng.normal(size=2000) > 0).astype(int)
    plain = LogisticRegression().fit(X, y)
    fair = raan.FairFrontier(
        LogisticRegression(),
        aim="demographic_parity",
        attribute_at_prediction=True,
        accuracy_drop=0.1,
        worst_group_drop=None,
    ).fit(X, y, sensitive_features=sex)
    found = raan.compare({"plain": plain, "fair": fair}, X, y, sensitive_features=sex)
    assert found.audits["plain"] == audit(y, plain.predict(X), sex)
    assert found.audits["fair"] == audit(y, fair.predict(X, sensitive_features=sex), sex)


def test_own_measures_are_compared_for_the_positive_class():
    y, sex, first, second = people()
    found = raan.compare(
        {"first": first, "second": second},
        None,
        y,
        sensitive_features=sex,
        measures=["recall", "selection_rate.ratio"],
        pos_label=0,
    )
    recalls = [float((each[y == 0] == 0).mean()) for each in (first, second)]
    assert [each.overall["recall"].value for each in found.audits.values()] == pytest.approx(recalls)
    assert found.differences["second"]["recall"].value == pytest.approx(recalls[1] - recalls[0])
    assert "selection rate ratio" in repr(found)


def test_it_is_text_a_table_a_plot_and_html():
    y, sex, first, second = people()
    found = raan.compare({"plain": first, "<b>fair": second}, None, y, sensitive_features=sex)
    text, html, frame = repr(found), found._repr_html_(), found.to_frame()
    assert "2 models on 900 rows" in text
    assert "minus plain, points" in text
    assert f"{100 * found.differences['<b>fair']['accuracy'].value:+.1f} [" in text
    assert "&lt;b&gt;fair" in html
    assert "<b>" not in html
    assert frame.shape == (10, 8)
    assert frame["difference"].isna().sum() == 5
    axes = found.plot()
    assert [each.get_text() for each in axes.get_yticklabels()] == [m.title for m in found.measures]
    assert [each.get_text() for each in axes.get_legend().get_texts()] == ["plain", "<b>fair"]
    dots = axes.containers[1].lines[0].get_xdata()
    assert dots[0] == pytest.approx(100 * found.audits["<b>fair"].accuracy.value)


@pytest.mark.usefixtures("as_users_call")
@pytest.mark.parametrize(
    ("models", "y", "words"),
    [
        ({}, [0, 1], "a dict of fitted classifiers"),
        ([[0, 1]], [0, 1], "a dict of fitted classifiers"),
        ({"short": [0]}, [0, 1], r"models\['short'\] has 1"),
        ({"one": [0, 0]}, [0, 0], "one class only"),
        ({"shares": [0.2, 0.7]}, [0, 1], "classes"),
    ],
)
def test_what_cannot_be_compared_is_named(models, y, words):
    with pytest.raises((ValueError, TypeError), match=words):
        raan.compare(models, None, y, sensitive_features=["f", "m"])
