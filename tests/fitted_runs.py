"""A table of the user's own, and runs of methods on it: given by their figures, or trained."""

import math

import numpy as np
import pandas as pd

from raan.data import Split
from raan.fairness.rule import Rule
from raan.fit.boosting import Plain, boosting
from raan.fit.budget import Effort
from raan.fit.clock import Clock
from raan.fit.fit import Fit, Wish
from raan.fit.networks import SETTINGS, Ground, train_pack, train_plainly
from raan.fit.reweighted import Search, fit_given, fit_searched
from raan.fit.rows import Rows
from raan.fit.runs import Run, settle
from raan.methods.method import alike

EFFORT = Effort(seeds=2, epochs=1, batch_size=64, parts=2)


def table_of(rows=900, groups=("f", "m"), seed=0):
    rng = np.random.default_rng(seed)
    group = rng.integers(0, len(groups), rows)
    score, age = rng.normal(size=rows), rng.integers(18, 80, rows)
    hired = score + 0.02 * (age - 50) + 0.8 * group + rng.normal(size=rows) > 0.5
    city = rng.choice(["Leeds", "York"], rows)
    values = {"age": age, "score": score, "city": city, "sex": np.array(groups)[group]}
    return pd.DataFrame({**values, "hired": np.where(hired, "yes", "no")})


def train_all(loaded):
    """The runs of all methods, shortly trained."""
    ground = Ground.of(loaded.table, Split.of(loaded.split), 0, EFFORT.seeds)
    start = train_plainly(ground, EFFORT, Clock(math.inf), 0)
    found = [
        run
        for name, several in SETTINGS.items()
        for pack in alike(several)
        for run in train_pack(name, pack, start, ground, EFFORT, Clock(math.inf), 0)
    ]
    plain = Plain.fit(Rows(loaded))
    search = Search(len(loaded.split.train), boosting(0).set_params(max_iter=5), 0)
    tuned = fit_searched(plain, search, Rule("worst_group", 0.05), Clock(math.inf))
    return [*found, plain.run, tuned, fit_given(plain, Clock(math.inf))]


def run_of(method, *points):
    """A run of points given as (right of 100 in group a, right of 100 in group b), all of class 0 or 1 alike."""
    counts = np.zeros((len(points), 2, 3, 2))
    for place, rights in enumerate(points):
        for group, right in enumerate(rights):
            for label in range(2):
                counts[place, label, group, label] = right
                counts[place, label, group, 1 - label] = 100 - right
    return Run(method, 0, {}, tuple(range(len(points))), counts, counts, lambda point: None)


def settled(loaded, *runs, aim="equalized_odds", drop=0.05):
    """What `fit` makes of runs."""
    wish = Wish(Rule(aim, drop))
    return Fit(loaded, Rows(loaded), wish, None, runs, settle(runs, wish.rule), ())
