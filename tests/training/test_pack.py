"""Packs: candidates times seeds, trained at once, each as it is alone."""

import numpy as np
import pytest
import torch

from raan.data import adult, split, stack
from raan.fairness.rule import Rule
from raan.lab.datasets.adult import SPLIT
from raan.methods import DFR, ERM, RAAN, Scope
from raan.models.model import mlp
from raan.training.evaluate import evaluate
from raan.training.stages import Candidate, complete, first_stage, run_pack, second_stage
from raan.training.train import Schedule
from training_tables import small_table

SHORT = Schedule(epochs=2, batch_size=32, points_per_epoch=2, watch_test=True)


def started(seeds=(0, 1)):
    table = small_table()
    rows = stack([split(table.rows, (160, 40, 40), seed) for seed in seeds])
    return table, rows, first_stage(mlp(table, width=10), table, rows, seeds, SHORT).last


@pytest.mark.parametrize("scope", Scope)
def test_every_candidate_and_seed_is_what_it_trains_to_alone(scope):
    table, rows, plain = started()
    dials = [(0.5, 1e-2, 0.0), (1.0, 1e-3, 0.1), (0.25, 1e-2, 0.0)]
    pack = [Candidate(RAAN(strength=strength, scope=scope), rate, l2) for strength, rate, l2 in dials]
    states = list(run_pack(pack, plain, table, rows, [0, 1], SHORT))
    assert [state.step for state in states] == [0, 2, 5, 7, 10]
    assert states[0].point.validation_counts.shape[0] == states[0].point.test_counts.shape[0] == 6
    together = complete(plain.repeat(3), states[-1].parameters)
    for place, (strength, rate, l2) in enumerate(dials):
        schedule = Schedule(epochs=2, batch_size=32, learning_rate=rate, l2=l2)
        alone = second_stage(RAAN(strength=strength, scope=scope), plain, table, rows, [0, 1], schedule).last
        here = slice(2 * place, 2 * place + 2)
        torch.testing.assert_close(together.parameters[here], alone.parameters, rtol=1e-6, atol=1e-6)


def test_whoever_takes_no_more_states_ends_the_training():
    table, rows, plain = started()
    states = run_pack([Candidate(ERM(), 1e-2)], plain, table, rows, [0, 1], SHORT)
    assert [next(states).step, next(states).step] == [0, 2]
    states.close()


def test_a_refit_has_two_states():
    table, rows, plain = started()
    first, second = run_pack([Candidate(DFR(), 1e-2)], plain, table, rows, [0, 1], SHORT)
    assert (first.step, second.step) == (0, 1)
    assert torch.equal(first.parameters, plain.parameters)
    assert np.isfinite(second.point.validation_counts).all()


@pytest.mark.usefixtures("as_users_call")
def test_on_adult_rl_raan_lifts_the_worst_group_by_five_points_at_vanillas_accuracy(real_data):
    """Five seeds; the point is chosen on validation rows among those within half a point of plain training."""
    table, seeds = adult(real_data), list(range(5))
    rows = stack([split(table.rows, SPLIT, seed) for seed in seeds])
    schedule = Schedule(epochs=5)
    plain = first_stage(mlp(table), table, rows, seeds, schedule).model
    rule = Rule("worst_group", 0.005)
    vanilla = evaluate(second_stage(ERM(), plain, table, rows, seeds, schedule).last, table, rows.test)
    method = RAAN(strength=0.25, scope=Scope.MODEL)
    robust = evaluate(second_stage(method, plain, table, rows, seeds, schedule, rule).model, table, rows.test)
    assert robust.accuracy.mean() > vanilla.accuracy.mean() - 0.01
    assert robust.worst_group_accuracy.mean() > vanilla.worst_group_accuracy.mean() + 0.05
