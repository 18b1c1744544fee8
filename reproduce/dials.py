"""Where RAAN and RL-RAAN end on Adult after six epochs, by strength, learning rate, balance and temperature.

The figures of docs/decisions/ come from here: `python -m reproduce.dials [FOLDER OF ADULT]`.
"""

import sys
from itertools import product

import torch

from raan.data.split import Split, split, stack
from raan.lab.datasets.adult import SPLIT, adult
from raan.methods import ERM, RAAN, Scope
from raan.methods import stack as pack
from raan.models.model import mlp
from raan.neighbourhood.balance import Balance
from raan.training.evaluate import evaluate
from raan.training.stages import first_stage, second_stage
from raan.training.train import Schedule

SEEDS = (0, 1)
BALANCES: tuple[Balance, ...] = ("group", "sample")
DIALS = list(product((0.1, 0.5, 1.9, float("inf")), (0.25, 1.0)))


def main() -> None:
    """Print the last point's test metrics, means over seeds, and the share of anchors skipped."""
    table = adult(sys.argv[1] if len(sys.argv) > 1 else None)
    rows = stack([split(table.rows, SPLIT, seed) for seed in SEEDS])
    plain = first_stage(mlp(table), table, rows, SEEDS).model
    last = second_stage(ERM(), plain, table, rows, SEEDS).last
    print("                                            accuracy  DP gap  EO gap  worst group  skipped")
    print(f"Vanilla{'':33s}", *_line(evaluate(last, table, rows.test), slice(None)))
    times = len(DIALS)
    many = Split(*(part.repeat(times, 1) for part in rows))
    for scope, balance, rate in product(Scope, BALANCES, (1e-3, 1e-4)):
        method = pack(
            [RAAN(temperature=t, strength=s, balance=balance, scope=scope) for t, s in DIALS for _ in SEEDS]
        )
        schedule = Schedule(epochs=6, learning_rate=rate)
        trained = second_stage(method, plain.repeat(times), table, many, list(SEEDS) * times, schedule)
        metrics = evaluate(trained.last, table, many.test)
        visited, skipped = trained.state.memory.whole.sum(0).tolist()
        for number, (temperature, strength) in enumerate(DIALS):
            runs = slice(number * len(SEEDS), (number + 1) * len(SEEDS))
            name = f"{scope.value:5s} {balance:6s} rate {rate:g} tau {temperature:3g} strength {strength:4g}"
            print(f"{name:40s}", *_line(metrics, runs), f"{skipped / visited:8.1%}", flush=True)


def _line(metrics: object, runs: slice) -> list[str]:
    names = ("accuracy", "demographic_parity_gap", "equalized_odds_gap", "worst_group_accuracy")
    values: list[torch.Tensor] = [getattr(metrics, name)[runs] for name in names]
    return [f"{100 * value.mean().item():9.1f}" for value in values]


if __name__ == "__main__":
    main()
