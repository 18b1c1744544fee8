import numpy as np
import pytest

from raan import load
from raan.files import CorruptModel
from raan.fit.conclude import models
from raan.fit.kept import FILE, keep, recall


def test_what_is_kept_beside_a_model_is_the_same_outcome_again(fitted, outcome, tmp_path):
    model, _ = models(fitted, outcome)
    model.save(tmp_path / "model")
    keep(outcome, tmp_path)
    again = recall(tmp_path, load(tmp_path / "model").classifier)
    assert again.facts == outcome.facts
    assert again.place == outcome.place
    assert np.array_equal(again.test, outcome.test)
    assert again.broken == outcome.broken
    assert again.probe.columns == outcome.probe.columns
    weights = outcome.frontier.weights_
    assert again.probe.importance(weights, 2) == outcome.probe.importance(weights, 2)
    for who, several in outcome.scores.items():
        for each, stored in zip(several, again.scores[who], strict=True):
            assert np.allclose(each.roc, stored.roc, atol=1e-5)


def test_a_damaged_file_is_named(outcome, tmp_path):
    (tmp_path / FILE).write_bytes(b"nothing")
    with pytest.raises(CorruptModel, match=FILE):
        recall(tmp_path, outcome.frontier)
