"""How separable the attribute is: on points where the answer is known, and with every method's representation."""

import numpy as np
import pytest

from raan.lab.study.study import Data, Entry, Stage, Study, StudyError
from reproduce.figures.options import RepresentationOptions
from reproduce.figures.representation import measure_mixing, representation_content

pytestmark = pytest.mark.usefixtures("as_users_call")

TOY = Data("toy", "toy", {"rows": 800, "bias": 0.5})
VANILLA = Entry("CE", "Vanilla", {})
RL_RAAN = Entry("RL-RAAN", "RL-RAAN", {"temperature": (0.5,), "averaging_rate": (0.5,), "balance": ("sample",)})


def content(*methods: Entry, data: Data = TOY, learning_rate: float | tuple[float, ...] = 1e-3) -> list[dict]:
    study = Study(
        "figure-2",
        "Figure 2",
        "representation",
        seeds=(0, 1),
        first=Stage(epochs=2),
        second=Stage(
            epochs=2, learning_rate=learning_rate if isinstance(learning_rate, tuple) else (learning_rate,)
        ),
        data=(data,),
        methods=methods,
    )
    return representation_content(RepresentationOptions(drawn=50), study)["representations"]


def test_every_method_has_a_map_of_the_first_seed_and_a_number_for_each_seed():
    plain, robust = content(VANILLA, RL_RAAN)
    assert (plain["method"], robust["method"]) == ("CE", "RL-RAAN")
    for each in (plain, robust):
        assert {key: len(values) for key, values in each["map"].items()} == dict.fromkeys(
            ("x", "y", "label", "attribute"), 50
        )
        assert len(each["separability"]["values"]) == 2
        assert list(each["separability_within_class"]) == ["circle", "triangle"]
        assert len(each["separability_on_the_map"]["values"]) == len(each["mixing"]["values"]) == 2
    assert plain["map"]["attribute"] == robust["map"]["attribute"]
    assert plain["map"]["x"] != robust["map"]["x"]


def test_a_colour_that_is_a_feature_can_be_told_also_within_a_class():
    (plain,) = content(VANILLA)
    assert plain["separability"]["mean"] > 0.95
    assert all(told["mean"] > 0.9 for told in plain["separability_within_class"].values())


def test_methods_that_do_not_move_share_plain_trainings_representation():
    plain, robust = content(VANILLA, RL_RAAN, learning_rate=1e-12)
    assert plain["separability"] == robust["separability"]
    assert plain["map"] == robust["map"]


def test_colours_that_lie_apart_mix_with_nobody_and_each_learning_rate_has_its_own():
    several = content(VANILLA, RL_RAAN, learning_rate=(1e-3, 1e-4))
    assert [(each["method"], each["learning_rate"]) for each in several] == [
        ("CE", 1e-3),
        ("CE", 1e-4),
        ("RL-RAAN", 1e-3),
        ("RL-RAAN", 1e-4),
    ]
    assert all(each["mixing"]["mean"] < 0.2 for each in several)
    assert all(each["separability_on_the_map"]["mean"] > 0.9 for each in several)


def test_mixing_is_one_by_chance_and_nothing_where_groups_are_apart():
    rng = np.random.default_rng(0)
    points, group = rng.normal(size=(600, 2)), rng.integers(0, 3, 600)
    assert measure_mixing(points, group) == pytest.approx(1, abs=0.05)
    apart = points + 100 * group[:, None]
    assert measure_mixing(apart, group) == 0
    assert measure_mixing(points, np.zeros(600, dtype=int)) is None


def test_mixing_is_the_share_of_others_among_ten_nearest_over_chance():
    rng = np.random.default_rng(1)
    points, group = rng.normal(size=(60, 3)), (rng.random(60) < 0.3).astype(int)
    other = []
    for i in range(60):
        distance = [(float(((points[i] - points[j]) ** 2).sum()), j) for j in range(60) if j != i]
        other += [group[j] != group[i] for _, j in sorted(distance)[:10]]
    pairs = [group[i] != group[j] for i in range(60) for j in range(60) if i != j]
    assert measure_mixing(points, group) == pytest.approx(np.mean(other) / np.mean(pairs), abs=1e-4)


def test_a_grid_or_a_method_that_leaves_the_encoder_is_refused():
    grid = Entry("RL-RAAN", "RL-RAAN", {"temperature": (0.5, 0.9)})
    with pytest.raises(StudyError, match="RL-RAAN has 2 settings: a figure takes one value each of temperature"):
        content(grid)
    with pytest.raises(StudyError, match="RAAN leaves the encoder as it is"):
        content(Entry("RAAN", "RAAN", {}))
