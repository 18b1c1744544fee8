from fitted_runs import EFFORT
from raan.fit.networks import SETTINGS


def test_all_settings_of_a_seed_start_from_the_same_plain_model_and_then_part(trained):
    networks = [run for run in trained if run.method in SETTINGS]
    assert len(networks) == 3 * 4 * EFFORT.seeds
    assert all(len(run.step) == EFFORT.epochs * EFFORT.parts + 1 for run in networks)
    for seed in range(EFFORT.seeds):
        starts = {tuple(run.test[0].flatten().tolist()) for run in networks if run.seed == seed}
        assert len(starts) == 1
    logits = {
        tuple(run.classifier(EFFORT.parts).model_.parameters[0, -3:].tolist()) for run in networks if not run.seed
    }
    assert len(logits) == 12
