"""The installed command as a user runs it, and tables to run it on."""

import csv
import os
import subprocess
import sys
from pathlib import Path

import numpy as np

RAAN = Path(sys.executable).with_name("raan")

ENVIRONMENT = {**os.environ, "COLUMNS": "100", "OMP_NUM_THREADS": "1"}


def raan(*arguments, **options):
    """Run the command to its end, its output not a terminal."""
    return subprocess.run(
        [RAAN, *map(str, arguments)],
        capture_output=True,
        text=True,
        timeout=300,
        env=ENVIRONMENT,
        check=False,
        **options,
    )


def said(result):
    """What went to standard error, on one line."""
    return " ".join(result.stderr.split())


def people(path, rows=1200, seed=0, names=("id", "age", "city", "score", "sex", "hired"), groups=("f", "m")):
    """A table of mixed types in which the groups are not served alike: a CSV with identifiers and gaps in it."""
    rng = np.random.default_rng(seed)
    group = rng.integers(0, 2, rows)
    age, score = rng.integers(18, 80, rows), rng.normal(size=rows)
    hired = score + 0.02 * (age - 50) + 0.8 * group + rng.normal(size=rows) > 0.5
    city = rng.choice(["Leeds", "York", "Hull", ""], rows, p=[0.4, 0.3, 0.28, 0.02])
    with Path(path).open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(names)
        for row in range(rows):
            word = groups[group[row]]
            writer.writerow(
                [f"{row:06d}", age[row], city[row], f"{score[row]:.3f}", word, "yes" if hired[row] else "no"]
            )
    return Path(path)
