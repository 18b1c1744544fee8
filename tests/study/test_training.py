"""The first stage of a study's packs."""

import pytest
import torch

from raan.lab.study.plan import packs
from raan.lab.study.study import read_study
from raan.lab.study.training import load_problem, schedule_of, train_first_stage
from raan.methods import DFR
from raan.models.model import mlp
from raan.training.stages import first_stage

STUDY = """
seeds = [3, 5]
[first]
epochs = 1
[[data]]
name = "toy"
rows = 400
[methods.Vanilla]
[methods.DFR]
"""


@pytest.fixture
def several(tmp_path):
    (tmp_path / "small.toml").write_text(STUDY)
    return {pack.candidates[0].entry.name: pack for pack in packs(read_study(tmp_path / "small.toml"))}


def test_the_rows_that_dfr_holds_out_are_not_in_its_first_stage(several):
    for name, rows in {"Vanilla": 240, "DFR": 192}.items():
        pack, problem = several[name], load_problem(several[name])
        split = DFR().first_split(problem.split) if name == "DFR" else problem.split
        assert split.train.shape == (2, rows)
        schedule = schedule_of(pack.first, pack.first.style)
        alone = first_stage(mlp(problem.table), problem.table, split, pack.seeds, schedule).last
        start = train_first_stage(pack, problem)
        torch.testing.assert_close(start.parameters, alone.parameters)
        assert torch.equal(start.scaling.centre, alone.scaling.centre)
        assert train_first_stage(pack, problem) is start  # which packs that begin alike share
