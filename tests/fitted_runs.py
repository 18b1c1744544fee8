"""A table of the user's own in which groups can be served more alike, and what is fitted to it."""

import numpy as np
import pandas as pd

from raan.tables.load import from_frame


def table_of(rows=900, groups=("f", "m"), seed=0):
    """Rows whose height tells the group, so that a model that does not see the group can still serve it."""
    rng = np.random.default_rng(seed)
    group = rng.integers(0, len(groups), rows)
    score, age = rng.normal(size=rows), rng.integers(18, 80, rows)
    hired = score + 0.02 * (age - 50) + 1.2 * group + rng.normal(size=rows) > 0.5
    city = rng.choice(["Leeds", "York"], rows)
    height = 165 + 12 * group + rng.normal(0, 3, rows)
    values = {"age": age, "score": score, "height": height, "city": city, "sex": np.array(groups)[group]}
    return pd.DataFrame({**values, "hired": np.where(hired, "yes", "no")})


def write_table(path, **options):
    """The same as a CSV."""
    table_of(**options).round(3).to_csv(path, index=False)
    return path


def load_table(**options):
    return from_frame(table_of(**options), "hired", "sex")
