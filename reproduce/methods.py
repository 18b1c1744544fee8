"""Every method at its default dials on Adult, five seeds, ten epochs a stage.

`python -m reproduce.methods [FOLDER OF ADULT]`

Nothing is tuned or selected here: it is a first look at what each method does, not a comparison.
"""

import sys
import time

from raan.data.split import split, stack
from raan.fairness.metrics import Metrics
from raan.lab.datasets.adult import SPLIT, adult
from raan.methods import IRM, METHODS
from raan.models.model import mlp
from raan.training.evaluate import evaluate
from raan.training.stages import first_stage, second_stage
from raan.training.train import Schedule

SEEDS = range(5)


def main() -> None:
    """Print the last point's test metrics of each method, mean and standard deviation over seeds."""
    table = adult(sys.argv[1] if len(sys.argv) > 1 else None)
    rows = stack([split(table.rows, SPLIT, seed) for seed in SEEDS])
    schedule = Schedule(points_per_epoch=1)
    plain = first_stage(mlp(table), table, rows, SEEDS, schedule).model
    print(f"{'':24s}    accuracy      DP gap      EO gap  worst group")
    _show("stage one", evaluate(plain, table, rows.test), 0.0)
    for name, method in METHODS.items():
        if isinstance(method, IRM):  # Adult has no environments
            continue
        start = time.perf_counter()
        model = plain
        if (split_one := method.first_split(rows)) is not rows:  # what the method holds out is not trained on
            model = first_stage(mlp(table), table, split_one, SEEDS, schedule).model
        last = second_stage(method, model, table, rows, SEEDS, schedule).last
        _show(name, evaluate(last, table, rows.test), time.perf_counter() - start)


def _show(name: str, metrics: Metrics, seconds: float) -> None:
    parts = (
        metrics.accuracy,
        metrics.demographic_parity_gap,
        metrics.equalized_odds_gap,
        metrics.worst_group_accuracy,
    )
    shown = "  ".join(f"{100 * part.mean().item():5.1f} ± {100 * part.std(ddof=1).item():3.1f}" for part in parts)
    print(f"{name:24s}  {shown}  {seconds:5.0f} s", flush=True)


if __name__ == "__main__":
    main()
