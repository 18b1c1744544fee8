"""Evaluation on partitions: the counts of one process, whoever counts, and intervals of the rows counted."""

import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LogisticRegression

from raan import FairFrontier
from raan.errors import InputError
from raan.fairness.counts import effective_weights
from raan.frontier.decide import Evaluation, decide

NAMES = ["first", "second", "third"]


def draw(rows: int, seed: int) -> pd.DataFrame:
    """People of two groups, one of which is harder to classify."""
    rng = np.random.default_rng(seed)
    group = rng.integers(2, size=rows)
    X = rng.standard_normal((rows, 3)) + 0.8 * group[:, None] * [1, 0, 0]
    noise = rng.standard_normal(rows) * (1 + group)
    hired = X @ [1.0, 1.0, 0.5] + noise - 0.6 * group > 0.4
    frame = pd.DataFrame(X, columns=NAMES)
    return frame.assign(
        hired=np.where(hired, "yes", "no"), sex=np.where(group, "F", "M"), counts=rng.integers(1, 4, rows)
    )


PEOPLE, OTHERS = draw(3_000, 0), draw(40_000, 1)


RULE = {"aim": "demographic_parity", "accuracy_drop": 0.03, "worst_group_drop": 0.1}


def fit(**parameters) -> FairFrontier:
    model = FairFrontier(LogisticRegression(), **RULE | parameters)
    return model.fit(PEOPLE[NAMES], PEOPLE["hired"], sensitive_features=PEOPLE["sex"])


@pytest.fixture(scope="module")
def fair() -> FairFrontier:
    return fit()


def evaluate(model: FairFrontier, partitions, **options) -> FairFrontier:
    return model.evaluate(partitions, label="hired", sensitive_features="sex", **options)


def count_by_loop(model: FairFrontier, frame: pd.DataFrame, place: int) -> np.ndarray:
    """The counts of a point, row by row."""
    classes, groups = model.classes_.tolist(), list(model.groups_)
    decided = decide(model.posterior(frame[NAMES]), model.points_.weights[place])
    counts = np.zeros((2, 3, 2))
    for label, group, decision in zip(frame["hired"], frame["sex"], decided, strict=True):
        slot = groups.index(group) if group in groups else 2
        counts[classes.index(label), slot, decision] += 1
    return counts


def test_counts_are_those_of_a_loop_over_all_rows_however_they_are_cut(fair):
    frame = OTHERS.copy()
    frame.loc[::7, "sex"] = None
    several = [frame.iloc[:1], frame.iloc[1:50], frame.iloc[50:50], frame.iloc[50:]]
    once, cut = evaluate(fair, [frame]), evaluate(fair, several)
    assert np.array_equal(once.points_.counts, cut.points_.counts)
    assert np.array_equal(once.points_.switched, cut.points_.switched)
    for place in (0, 3, len(once.points_.path) - 1):
        assert np.array_equal(once.points_.counts[place], count_by_loop(fair, frame, place))
    assert once.choice_ == cut.choice_
    assert np.array_equal(once.sketch_.hashes, cut.sketch_.hashes)
    assert once.sketch_.rows == len(PEOPLE) + len(OTHERS)


def test_tuples_of_arrays_count_as_frames_do(fair):
    half = len(OTHERS) // 2
    parts = [
        (some[NAMES], some["hired"], some["sex"].to_numpy()) for some in (OTHERS.iloc[:half], OTHERS.iloc[half:])
    ]
    found = fair.evaluate(part for part in parts)
    assert np.array_equal(found.points_.counts, evaluate(fair, [OTHERS]).points_.counts)


def test_intervals_are_those_of_the_rows_that_were_counted(fair):
    found = evaluate(fair, [OTHERS])
    gap = "demographic_parity_gap"
    before, after = (each.promise_.metrics[gap] for each in (fair.choose(), found))
    assert after.high - after.low < 0.5 * (before.high - before.low)
    assert found.points_.counts[0].sum() == len(OTHERS)
    assert found.points_.expected[0].sum() == pytest.approx(len(OTHERS))
    assert not hasattr(found, "evaluation_")
    assert hasattr(fair, "evaluation_")
    assert fair.points_.counts[0].sum() == len(PEOPLE)


def test_weights_count_for_their_effective_sample_size(fair):
    found = evaluate(fair, [OTHERS.iloc[:15_000], OTHERS.iloc[15_000:]], sample_weight="counts")
    posterior = fair.posterior(OTHERS[NAMES])
    label, group = (OTHERS["hired"] == "yes").to_numpy(int), (OTHERS["sex"] == "M").to_numpy(int)
    weight = effective_weights(OTHERS["counts"].to_numpy(float), None, label * 3 + group + 1)
    reference = decide(posterior, fair.points_.weights[0])
    counts, switched = Evaluation(posterior, label, group, reference, weight).count(fair.points_.weights)
    assert np.allclose(found.points_.counts, counts)
    assert np.allclose(found.points_.switched, switched)


def test_rows_that_trained_are_refused_and_those_that_evaluated_are_not_certified(fair):
    with pytest.raises(InputError, match="contain rows that trained or chose the model"):
        evaluate(fair, [OTHERS.iloc[:5_000], PEOPLE])
    found = evaluate(fair, [OTHERS])
    with pytest.raises(InputError, match="contain rows that trained or chose the model"):
        found.certify(OTHERS[NAMES], OTHERS["hired"], sensitive_features=OTHERS["sex"])
    later = draw(5_000, 2)
    assert found.certify(later[NAMES], later["hired"], sensitive_features=later["sex"]).rows == 5_000


def test_a_model_that_was_evaluated_is_saved_with_its_counts(fair, tmp_path):
    import raan

    found = evaluate(fair, [OTHERS])
    found.save(tmp_path / "model")
    loaded = raan.load(tmp_path / "model")
    assert np.array_equal(loaded.points_.counts, found.points_.counts)
    assert np.array_equal(loaded.weights_, found.weights_)
    again = evaluate(loaded, [draw(2_000, 3)])
    assert again.points_.counts[0].sum() == 2_000


@pytest.mark.parametrize(
    ("partitions", "options", "words"),
    [
        ([], {"label": "hired", "sensitive_features": "sex"}, "hold no rows"),
        ([OTHERS], {}, "a partition"),
        ([OTHERS], {"label": "hired"}, "sensitive_features"),
        ([OTHERS], {"label": "job", "sensitive_features": "sex"}, "lacks the column 'job'"),
        ([OTHERS.assign(hired="maybe")], {"label": "hired", "sensitive_features": "sex"}, "'maybe'|maybe"),
    ],
)
def test_errors_say_what_came(fair, partitions, options, words):
    with pytest.raises((InputError, TypeError), match=words):
        fair.evaluate(partitions, **options)


def test_dask_counts_the_same(fair):
    dask = pytest.importorskip("dask.dataframe")
    found = evaluate(fair, dask.from_pandas(OTHERS, npartitions=5))
    assert np.array_equal(found.points_.counts, evaluate(fair, [OTHERS]).points_.counts)


def test_one_posterior_is_fitted_to_a_part_of_the_rows_and_all_others_evaluate_it():
    model = FairFrontier(LogisticRegression(), train_size=5_000, **RULE)
    model.fit(OTHERS[NAMES], OTHERS["hired"], sensitive_features=OTHERS["sex"])
    assert len(model.models_) == 1
    assert model.evaluation_.rows == 35_000
    assert model.points_.counts[0].sum() == 35_000
    shares = [(OTHERS["sex"] == "F").mean(), (model.evaluation_.group == 0).mean()]
    assert shares[0] == pytest.approx(shares[1], abs=1e-3)
    assert model.choice_.place
    decided = model.predict(OTHERS[NAMES])
    counted = (decided == OTHERS["hired"]).mean()
    promised = model.promise_.metrics["accuracy"]
    assert counted == pytest.approx(promised.value, abs=0.01)


def test_all_rows_of_a_person_are_learnt_from_or_none():
    person = np.repeat(np.arange(10_000), 4)
    model = FairFrontier(LogisticRegression(), train_size=0.25, **RULE)
    model.fit(OTHERS[NAMES], OTHERS["hired"], sensitive_features=OTHERS["sex"], groups=person)
    held = model.evaluation_.rows
    assert held % 4 == 0
    assert held == pytest.approx(30_000, abs=8)


@pytest.mark.parametrize("size", [0, 1.5, 1, -3, "half", 40_000])
def test_sizes_that_cannot_be_are_named(size):
    model = FairFrontier(LogisticRegression(), train_size=size)
    with pytest.raises((InputError, TypeError), match="train_size"):
        model.fit(OTHERS[NAMES], OTHERS["hired"], sensitive_features=OTHERS["sex"])


def test_ray_counts_the_same():
    """In a process of its own, which ends with Ray's."""
    pytest.importorskip("ray")
    lines = """
import logging, sys
import numpy as np
import ray
sys.path.insert(0, sys.argv[1])
from test_evaluate import OTHERS, evaluate, fit
ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False, logging_level=logging.ERROR)
fair = fit()
found = evaluate(fair, ray.data.from_pandas([OTHERS.iloc[start::5] for start in range(5)]))
assert np.array_equal(found.points_.counts, evaluate(fair, [OTHERS]).points_.counts)
assert found.sketch_.rows == len(OTHERS) + 3_000
ray.shutdown()
"""
    command = [sys.executable, "-c", lines, str(Path(__file__).parent)]
    subprocess.run(command, check=True, timeout=300, capture_output=True)
