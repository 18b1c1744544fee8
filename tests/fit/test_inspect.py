import numpy as np
from sklearn.metrics import roc_curve

from raan.fit.inspect import score_groups, shuffle_columns


def test_curves_are_those_of_the_groups_test_rows(boosting, rows):
    probability = boosting.probabilities
    label, group = rows.label(rows.test), rows.group(rows.test)
    scores = score_groups(probability, label, group, rows.groups)
    assert [each.group for each in scores] == ["f", "m"]
    for code, each in enumerate(scores):
        here = group == code
        false, true, _ = roc_curve(label[here], probability[here, 1], drop_intermediate=False)
        exact = set(zip(false.round(9).tolist(), true.round(9).tolist(), strict=True))
        assert len(each.roc) <= 60
        assert {tuple(place) for place in each.roc.round(9).tolist()} <= exact
        assert each.roc[0].tolist() == [0, 0]
        assert each.roc[-1].tolist() == [1, 1]
        bins = np.minimum((probability[here, 1] * 10).astype(int), 9)
        literal = [
            (probability[here, 1][bins == k].mean(), label[here][bins == k].mean())
            for k in range(10)
            if (bins == k).sum() >= 30
        ]
        assert np.allclose(each.calibration, np.reshape(literal, (-1, 2)))
        assert len(literal) < len(np.unique(bins))


def test_a_column_is_shuffled_with_all_of_its_features_and_matters_by_the_accuracy_lost(boosting, rows):
    spans, label, group = rows.loaded.preprocessing.spans, rows.label(rows.test), rows.group(rows.test)
    probe = shuffle_columns(rows.features(rows.test), spans, label, group, boosting.frontier.posterior)
    assert probe.columns == ("age", "score", "height", "city")
    weights = boosting.frontier.weights_
    found = {name: (whole, by_group) for name, whole, by_group in probe.importance(weights, 2)}
    assert found["score"][0] > 0.05 > found["city"][0]
    assert next(iter(found)) == "score"
    group = probe.group
    for whole, by_group in found.values():
        assert np.isclose(whole, np.average(by_group, weights=[(group == code).sum() for code in range(2)]))


def test_the_features_of_a_column_stand_together(rows):
    spans = rows.loaded.preprocessing.spans
    names = rows.loaded.feature_names
    assert [names[span] for span in spans.values()] == [
        ("age",),
        ("score",),
        ("height",),
        ("city=Leeds", "city=York"),
    ]
