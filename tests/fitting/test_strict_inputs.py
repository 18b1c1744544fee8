"""What estimators around scikit-learn are given is used as it is meant, or refused; nothing is guessed."""

import warnings

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.linear_model import LogisticRegression

from raan import AANReweighting, FairFrontier, RAANClassifier, aan_weights, audit, load, metrics
from raan.data import DataWarning

RNG = np.random.default_rng(0)
GROUP = RNG.integers(0, 2, 600)
X = RNG.normal(size=(600, 3)) + GROUP[:, None]
Y = (X[:, 0] + RNG.normal(size=600) > 0.5).astype(int)
NAMES = np.where(GROUP, "Male", "Female")


def fit(sensitive_features, **settings):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = FairFrontier(LogisticRegression(), attribute_at_prediction=True, min_count=5, folds=2, **settings)
        return model.fit(X, Y, sensitive_features=sensitive_features)


@pytest.fixture(scope="module")
def by_name():
    return fit(NAMES)


class TestAttributeAtPrediction:
    """It is checked as strictly as the features: length, spelling and type."""

    @pytest.mark.parametrize(
        ("given", "words"),
        [
            (np.char.lower(NAMES), "spells 'Female' as 'female' in .* of 600 rows; expected .* Female, Male"),
            (np.char.add(NAMES, " "), "spells 'Female' as 'Female '"),
            (np.where(np.arange(600) == 3, "MALE", NAMES), "spells 'Male' as 'MALE' in 1 of 600 rows"),
            (GROUP, "has none of the groups of fit, but '0' .*; expected Female, Male"),
            (GROUP == 1, "has none of the groups of fit, but 'False'"),
            (["Male"], "X has 600, sensitive_features has 1;"),
            (NAMES[:10], "X has 600, sensitive_features has 10;"),
        ],
        ids=["case", "space", "one row", "codes", "bools", "length 1", "length 10"],
    )
    def test_what_fit_did_not_see_is_refused(self, by_name, given, words):
        for method in ("predict", "decision_function", "posterior"):
            with pytest.raises(ValueError, match=words):
                getattr(by_name, method)(X, sensitive_features=given)

    def test_bools_for_integers_are_refused_and_other_types_of_the_same_numbers_are_not(self):
        model = fit(GROUP)
        expected = model.predict(X, sensitive_features=GROUP)
        for same in (GROUP.astype(float), GROUP.astype(str), pd.Series(GROUP, dtype="Int64")):
            np.testing.assert_array_equal(model.predict(X, sensitive_features=same), expected)
        with pytest.raises(ValueError, match="spells '0' as 'False'"):
            model.predict(X, sensitive_features=GROUP == 1)

    def test_a_new_group_is_warned_of_with_its_rows_and_counts_as_unknown(self, by_name):
        given = np.where(np.arange(600) < 5, "Other", NAMES)
        unknown = np.where(np.arange(600) < 5, None, NAMES)
        with pytest.warns(DataWarning, match=r"no group of the model, and count as unknown: 'Other' \(5 rows\)"):
            found = by_name.predict(X, sensitive_features=given)
        np.testing.assert_array_equal(found, by_name.predict(X, sensitive_features=unknown))


@pytest.mark.parametrize("estimator", [FairFrontier, AANReweighting])
class TestTables:
    """Tables that scikit-learn would refuse with an error of another library's, or read otherwise."""

    @pytest.mark.parametrize(
        ("table", "words"),
        [
            (sparse.coo_matrix(X), r"X is a sparse coo matrix; expected a sparse csr matrix; pass X.tocsr\(\)"),
            (X.astype(complex), "X holds complex numbers; expected real numbers"),
            (pd.DataFrame(X, columns=list("aab")), "X has 2 columns called 'a'; expected one; rename all but one"),
            (np.ma.masked_array(X, X > 2), r"X has \d+ masked values"),
        ],
        ids=["coo", "complex", "twice", "masked"],
    )
    def test_are_refused_by_name(self, estimator, table, words):
        with pytest.raises(ValueError, match=words):
            estimator(LogisticRegression()).fit(table, Y, sensitive_features=GROUP)

    def test_masks_of_labels_and_weights_are_not_dropped(self, estimator):
        model = estimator(LogisticRegression())
        with pytest.raises(ValueError, match="y has 1 masked values"):
            model.fit(X, np.ma.masked_array(Y, np.arange(600) == 3), sensitive_features=GROUP)
        weight = np.ma.masked_array(np.ones(600), np.arange(600) == 3)
        with pytest.raises(ValueError, match="sample_weight has 1 masked values"):
            model.fit(X, Y, sensitive_features=GROUP, sample_weight=weight)

    @pytest.mark.filterwarnings("ignore::UserWarning")
    def test_spellings_of_groups_and_classes_are_named(self, estimator):
        label = np.where(Y, np.where(np.arange(600) % 2, "yes", "YES"), "no")
        groups = np.where(np.arange(600) % 3, NAMES, np.char.lower(NAMES))
        with pytest.warns(DataWarning) as caught:
            estimator(LogisticRegression(), **({"min_count": 2} if estimator is FairFrontier else {})).fit(
                X, label, sensitive_features=groups
            )
        words = [str(each.message) for each in caught if each.category is DataWarning]
        assert [word.split(" has values that differ only by case")[0] for word in words] == [
            "y",
            "sensitive_features",
        ]


def test_the_mask_of_an_embedding_is_not_dropped():
    with pytest.raises(ValueError, match=r"embedding has \d+ masked values"):
        aan_weights(np.ma.masked_array(X, X > 2), Y, GROUP)


def test_networks_drop_no_mask_and_name_spellings():
    model = RAANClassifier((3,), epochs=1, random_state=0)
    with pytest.raises(ValueError, match=r"X has \d+ masked values"):
        model.fit(np.ma.masked_array(X, X > 2), Y, sensitive_features=GROUP)
    with pytest.raises(ValueError, match="y has 1 masked values"):
        model.fit(X, np.ma.masked_array(Y, np.arange(600) == 3), sensitive_features=GROUP)
    groups = np.where(np.arange(600) % 3, NAMES, np.char.lower(NAMES))
    with pytest.warns(DataWarning, match="sensitive_features has values that differ only by case or spaces"):
        model.fit(X, Y, sensitive_features=groups)


ESTIMATORS = {
    "FairFrontier": lambda: FairFrontier(LogisticRegression(), min_count=5, folds=2),
    "AANReweighting": lambda: AANReweighting(LogisticRegression(), temperature=np.inf),
    "RAANClassifier": lambda: RAANClassifier((3,), epochs=1, random_state=0),
}


@pytest.mark.parametrize("make", ESTIMATORS.values(), ids=ESTIMATORS)
@pytest.mark.filterwarnings("ignore:the classifier is the plain one")
class TestEveryEstimator:
    """What holds of the arguments of all three estimators."""

    def test_rows_in_another_order_are_refused_by_their_indices(self, make):
        frame, group, label = pd.DataFrame(X, columns=list("abc")), pd.Series(NAMES), pd.Series(Y)
        weight = pd.Series(np.ones(600))
        given = {"y": label, "sensitive_features": group, "sample_weight": weight}
        for name, column in given.items():
            for turned in (column[::-1], column[::-1].to_frame()):
                with pytest.raises(ValueError, match=rf"{name} has the rows of X in another order, by the ind"):
                    make().fit(frame, **{**given, name: turned})
        expected = make().fit(X, Y, sensitive_features=NAMES).predict(X)
        moved = {name: column.set_axis(range(7, 607)) for name, column in given.items()}
        np.testing.assert_array_equal(make().fit(frame, **moved).predict(frame), expected)  # by position
        turned = {name: column[::-1] for name, column in given.items()}
        make().fit(frame[::-1], **turned)

    def test_masks_of_new_rows_are_not_dropped(self, make):
        model = make().fit(X, Y, sensitive_features=NAMES)
        for method in ("predict", "predict_proba", "decision_function", "predict_log_proba"):
            if hasattr(model, method):
                with pytest.raises(ValueError, match=r"X has \d+ masked values"):
                    getattr(model, method)(np.ma.masked_array(X, X > 2))

    @pytest.mark.parametrize("word", ["", "nan", " ", "<NA>"])
    def test_groups_that_look_missing_are_named(self, make, word):
        groups = np.where(np.arange(600) % 3, NAMES, word)
        with pytest.warns(DataWarning, match=rf"look missing, and count as values of their own: '{word}' \(200 r"):
            make().fit(X, Y, sensitive_features=groups)

    @pytest.mark.parametrize(
        "label",
        [
            Y,
            Y.astype(np.int8),
            Y.astype(float),
            Y == 1,
            np.where(Y, "yes", "no"),
            np.where(Y, "yes", "no").astype(object),
            2**53 + Y,
            pd.Series(Y, dtype="Int64"),
            pd.Series(Y == 1, dtype="boolean"),
            pd.Series(Y, dtype="int32[pyarrow]"),
            pd.Series(Y == 1, dtype="bool[pyarrow]"),
            pd.Series(np.where(Y, "yes", "no"), dtype="string"),
            pd.Series(np.where(Y, "yes", "no"), dtype="category"),
            pd.Series(Y, dtype="category"),
        ],
        ids=lambda label: f"{type(label).__name__} {label.dtype}",
    )
    def test_predictions_are_of_the_labels_type_also_when_loaded(self, make, label, tmp_path):
        model = make().fit(X[:150], label[:150], sensitive_features=NAMES[:150])
        model.save(tmp_path)
        again = load(tmp_path).predict(X[:150])
        plain = np.asarray(label[:150])
        kinds = {type(value) for value in np.asarray(plain.tolist(), dtype=object)}
        assert {type(value) for value in again.tolist()} <= kinds
        assert {*again.tolist()} <= {*plain.tolist()}
        np.testing.assert_array_equal(again, model.predict(X[:150]))
        assert again.dtype == model.predict(X[:150]).dtype


def test_audits_refuse_rows_in_another_order_and_name_groups_that_look_missing():
    label, group = pd.Series(Y), pd.Series(NAMES)
    with pytest.raises(ValueError, match="y_pred has the rows of y_true in another order"):
        audit(label, label[::-1], group)
    with pytest.raises(ValueError, match="sensitive_features has the rows of y_true in another order"):
        metrics.equalized_odds_gap(label, label, sensitive_features=group[::-1])
    with pytest.raises(ValueError, match="y_pred has the rows of y_true in another order"):
        metrics.accuracy(label, label[::-1])
    found = audit(label, label, group.where(group.index > 9, "nan"))
    assert found.notes == (
        "The attribute has values that look missing, and count as values of their own: 'nan' (10 rows); write "
        "None where a value is not known.",
    )
    with pytest.raises(ValueError, match="sensitive_features has the rows of label in another order"):
        aan_weights(X, label, group[::-1])
    model = fit(NAMES)
    with pytest.raises(ValueError, match="sensitive_features has the rows of X in another order"):
        model.predict(pd.DataFrame(X), sensitive_features=group[::-1])
