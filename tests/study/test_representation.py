"""How separable the attribute is: on points where the answer is known, and with every method's representation."""

import pytest

from raan.study.faults import StudyError
from raan.study.options import RepresentationOptions
from raan.study.representation import representation_content
from raan.study.study import Data, Entry, Stage, Study

pytestmark = pytest.mark.usefixtures("as_users_call")

TOY = Data("toy", "toy", {"rows": 800, "bias": 0.5})
VANILLA = Entry("CE", "Vanilla", {})
RL_RAAN = Entry("RL-RAAN", "RL-RAAN", {"temperature": (0.5,), "averaging_rate": (0.5,), "balance": ("sample",)})


def content(*methods: Entry, data: Data = TOY, learning_rate: float = 1e-3) -> list[dict]:
    study = Study(
        "figure-2",
        "Figure 2",
        "representation",
        seeds=(0, 1),
        first=Stage(epochs=2),
        second=Stage(epochs=2, learning_rate=(learning_rate,)),
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


def test_a_grid_or_a_method_that_leaves_the_encoder_is_refused():
    grid = Entry("RL-RAAN", "RL-RAAN", {"temperature": (0.5, 0.9)})
    with pytest.raises(StudyError, match="RL-RAAN has 2 settings: a figure takes one value each of temperature"):
        content(grid)
    with pytest.raises(StudyError, match="RAAN leaves the encoder as it is"):
        content(Entry("RAAN", "RAAN", {}))
