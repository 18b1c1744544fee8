"""Pictures from study files to JSON and PNG: the same bytes twice, faults with their names."""

import json
from pathlib import Path

import pytest

from drawn import colours
from raan.lab.study.plan import hash_of
from raan.lab.study.study import StudyError, read_study
from reproduce.figures.draw import draw
from reproduce.figures.run import carry_out_picture, definition

FIGURES = Path(__file__).parents[2] / "reproduce" / "figures"

pytestmark = pytest.mark.usefixtures("as_users_call")

STUDIES = {
    "toy": 'kind = "toy"\nseeds = 1\n[options]\nrows = 100\nbias = 0.5\n',
    "representation": (
        'kind = "representation"\nseeds = 1\n[options]\ndrawn = 30\n[first]\nepochs = 1\n[second]\nepochs = 1\n'
        '[[data]]\nname = "toy"\nrows = 200\nbias = 0.5\n[methods.Vanilla]\n[methods.RL-RAAN]\ntemperature = 0.5\n'
        "averaging_rate = 0.5\n"
    ),
    "convergence": (
        'kind = "convergence"\nseeds = 2\nstyles = ["sgd", "amsgrad"]\n'
        "[options]\nrows = [20, 40]\nsteps = [64, 128, 256]\nconstant = 1\nbatch_size = 10\nwidth = 2\n"
        '[[data]]\nname = "toy"\nrows = 100\nbias = 0.2\n'
    ),
}


def carried_out(folder: Path, text: str, name: str = "result.json") -> dict:
    (folder / "picture.toml").write_text(text)
    return carry_out_picture(read_study(folder / "picture.toml"), folder / name)


@pytest.mark.parametrize("kind", STUDIES)
def test_a_picture_is_the_same_bytes_twice_and_is_drawn(tmp_path: Path, kind: str) -> None:
    content = carried_out(tmp_path, STUDIES[kind])
    carried_out(tmp_path, STUDIES[kind], "again.json")
    assert (tmp_path / "again.json").read_bytes() == (tmp_path / "result.json").read_bytes()
    assert json.loads((tmp_path / "result.json").read_text()) == content
    assert {"torch", "raan"} <= set(content["versions"])
    draw(content, tmp_path / "images" / "picture.png")
    assert len(colours(tmp_path / "images" / "picture.png")) >= 4
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        "again.json",
        "images",
        "picture.toml",
        "result.json",
    ]


def test_the_hash_changes_with_what_the_study_says(tmp_path: Path) -> None:
    def hashed(text: str) -> str:
        (tmp_path / "picture.toml").write_text(text)
        return hash_of(definition(read_study(tmp_path / "picture.toml")))

    text = STUDIES["representation"]
    assert hashed(text) == hashed("# a remark\n" + text)
    changed = [text.replace("drawn = 30", "drawn = 31"), text.replace("temperature = 0.5", "temperature = inf")]
    assert len({hashed(text), *map(hashed, changed)}) == 3


def test_the_toys_angles_are_over_the_draws_of_all_seeds(tmp_path: Path) -> None:
    content = carried_out(tmp_path, STUDIES["toy"].replace("seeds = 1", "seeds = 2"))
    assert [panel["title"][:3] for panel in content["panels"]] == ["(a)", "(b)", "(c)", "(d)"]
    assert all(len(panel["angle"]["values"]) == 2 for panel in content["panels"])
    fair, biased = content["panels"][0]["angle"]["mean"], content["panels"][1]["angle"]["mean"]
    assert fair < biased


@pytest.mark.parametrize(
    ("option", "said"),
    [
        ("row = 100", r"options\.row is not known there \(did you mean 'rows'\?\); known are rows, bias"),
        ('bias = "strong"', r"options\.bias is 'strong'; expected a valid number"),
        ("rows = 10.5", r"options\.rows is 10.5; expected a valid integer"),
    ],
)
def test_an_option_that_is_unknown_or_of_the_wrong_type_is_a_fault(tmp_path: Path, option: str, said: str) -> None:
    with pytest.raises(StudyError, match=said):
        carried_out(tmp_path, f'kind = "toy"\n[options]\n{option}\n')
    assert not (tmp_path / "result.json").exists()


@pytest.mark.parametrize("name", ["figure-1", "figure-2", "theorem"])
def test_the_studies_that_come_along_can_be_read(name: str) -> None:
    study = read_study(FIGURES / f"{name}.toml")
    assert study.kind != "comparison"
