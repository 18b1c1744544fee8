"""Is the forecast of rows right? "About 9,000 rows would be enough", and what happens with that many.

`python -m reproduce.forecast` takes samples of 3,000 rows in which FairFrontier keeps the plain classifier, and
the median of its forecasts. Then it draws samples of a third, two thirds, one, four thirds and two times as many
rows, and counts how many of them have most of the gain. The forecast is within a third if fewer than half of the
samples have it at two thirds of the forecast, and at least half at four thirds. results/forecast.json.
"""

import argparse
import json
import warnings
from itertools import product
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from raan import FairFrontier
from raan.frontier.choice import ENOUGH
from raan.frontier.posterior import Recipe, Rows, cross_fit, soften
from reproduce.coverage import Draw, sample

RESULTS = Path(__file__).parents[1] / "results" / "forecast.json"
TABLES = ("two groups", "four groups", "adult")
AIMS, BUDGETS = ("equalized_odds", "demographic_parity", "worst_group"), (0.005, 0.01)
FIRST, DRAWS, AGAIN = 3_000, 12, 10
TIMES = (1 / 3, 2 / 3, 1.0, 4 / 3, 2.0)
MOST = 28_000
"""Rows that a table must have for a forecast to be checked."""


def fit(table: str, rows: int, seed: int) -> FairFrontier:
    """The trade-off of a sample."""
    (X, y, a), _ = sample(Draw(table, rows, "logistic", "unseen", seed))
    model = make_pipeline(StandardScaler(), LogisticRegression(max_iter=300))
    groups = int(a.max()) + 1
    recipe = Recipe(model, soften(model))
    _, q = cross_fit(
        recipe, Rows(X, y, y, a, groups), folds=3, repeats=1, seed=seed, n_jobs=None, show=lambda *_: None
    )
    return FairFrontier.from_posterior(q, y, a)


def gain_of(choice: FairFrontier) -> float:
    """What the choice gains in cross-validation."""
    frontier = choice.frontier_
    goal = frontier.rule.goal
    return float(goal.loss_of(frontier.plain.counts) - goal.loss_of(frontier.chosen.counts))


def check(table: str) -> list[dict[str, Any]]:
    """Check the forecasts of a table."""
    small = [fit(table, FIRST, seed) for seed in range(DRAWS)]
    asked = {}
    for aim, budget in product(AIMS, BUDGETS):
        choices = [model.choose(aim=aim, accuracy_drop=budget) for model in small]
        forecasts = [each.choice_.rows_needed for each in choices if each.choice_.rows_needed]
        if len(forecasts) >= DRAWS / 2 and median(forecasts) * TIMES[-2] <= MOST:
            asked[aim, budget] = median(forecasts)
    found = []
    for (aim, budget), rows in asked.items():
        shares = {}
        for times in TIMES:
            size = int(times * rows)
            if size > MOST:
                continue
            models = [fit(table, size, 100 + seed) for seed in range(AGAIN)]
            free = [each.choose(aim=aim, accuracy_drop=budget) for each in models]
            # The gain that is in sight: what the path offers within the budget, whatever the rows support.
            possible = []
            for each in models:
                each.confidence = 0.5
                possible.append(gain_of(each.choose(aim=aim, accuracy_drop=budget)))
            whole = float(np.mean(possible))
            shares[f"{times:.2f}"] = float(np.mean([gain_of(each) >= ENOUGH**2 * whole > 0 for each in free]))
        found.append({"table": table, "aim": aim, "budget": budget, "forecast": int(rows), "shares": shares})
        print(found[-1], flush=True)
    return found


def is_within_a_third(record: dict[str, Any]) -> bool:
    """Whether the rows at which half of the samples have most of the gain are within a third of the forecast."""
    return bool(record["shares"]["0.67"] < 0.5 <= record["shares"].get("1.33", 1.0))


def main() -> None:
    """Check all tables and write what was found."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tables", nargs="+", default=TABLES)
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    found = [record for table in options.tables for record in check(table)]
    RESULTS.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
    within = sum(map(is_within_a_third, found))
    print(f"{within} of {len(found)} forecasts are within a third")


if __name__ == "__main__":
    main()
