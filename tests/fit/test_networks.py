import numpy as np

from fitted_runs import load_table
from raan import load
from raan.fairness.counts import count
from raan.fit.classifier import TableClassifier
from raan.fit.clock import Clock
from raan.fit.fit import Wish
from raan.fit.networks import FOLDS, SETTINGS, fit_networks
from raan.fit.rows import Rows


def test_every_setting_of_every_method_gives_points_after_the_plain_one(networks):
    methods = [method for method, _, _ in networks.steps]
    assert methods[0] == "Vanilla"
    assert set(methods[1:]) == {"RAAN", "RL-RAAN"}
    for name in ("RAAN", "RL-RAAN"):
        dials = {str(sorted(dials.items())) for method, dials, _ in networks.steps if method == name}
        assert len(dials) == len(SETTINGS[name])


def test_each_training_row_is_decided_by_the_fold_that_left_it_out(networks, rows):
    point = len(networks.steps) - 1
    features = rows.features(rows.training)
    members = networks.at(point).members
    assert len(members) == FOLDS
    said = np.stack([member.predict(features) for member in members])
    decided = networks.held_out.decided[point]
    assert (said == decided).any(0).all()
    assert (decided == networks.held_out.label).mean() > 0.6
    assert (said[0] == decided).mean() < 1  # not the same network for all rows


def test_the_saved_mean_of_the_folds_decides_test_rows_as_they_were_counted(networks, rows, loaded, tmp_path):
    label, group = rows.label(rows.test), rows.group(rows.test)
    for point in (0, len(networks.steps) - 1):
        classifier = networks.at(point)
        predicted = classifier.predict(rows.features(rows.test))
        counts = networks.test.against(label).counts
        assert np.array_equal(count(label, group, predicted, 2, 2), counts[point, 0])
        TableClassifier(loaded.preprocessing, classifier, rows.classes, {}).save(tmp_path / str(point))
        again = load(tmp_path / str(point)).classifier
        assert np.array_equal(again.predict_proba(rows.features(rows.test)), networks.probabilities(point))


def test_without_time_there_is_no_network_and_that_is_noted():
    families, notes = fit_networks(Rows.of(load_table(rows=400)), Wish().rule, Clock(0))
    assert families == []
    assert notes[0] == "Vanilla was not trained: the time was over."
