"""The time and memory of `raan.data.from_frame` on a CSV of two million rows and fifteen columns."""

import resource
import subprocess
import sys
import tempfile
import time
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
from rich.progress import DownloadColumn, Progress, TimeElapsedColumn

ROWS, CHUNK = 2_000_000, 100_000
CATEGORIES = (2, 8, 16, 30, 42)  # values in each of the five categories
NUMBERS = 9


def chunk(rows: int, seed: int) -> pd.DataFrame:
    """Rows of nine numbers, five categories and a label that depends on some of them."""
    generator = np.random.default_rng(seed)
    columns: dict[str, np.ndarray] = {
        f"number {place}": generator.normal(place, place + 1, rows).round(4) for place in range(NUMBERS)
    }
    columns["number 0"][generator.random(rows) < 0.01] = np.nan
    for size in CATEGORIES:
        columns[f"one of {size}"] = np.array([f"value {code}" for code in range(size)])[
            generator.integers(size, size=rows)
        ]
    score = columns["number 1"] + generator.normal(size=rows) * 3
    return pd.DataFrame({**columns, "label": np.where(score > 1, "yes", "no")})


def write(path: Path) -> None:
    """Write the file, so many rows at a time."""
    for seed, start in enumerate(range(0, ROWS, CHUNK)):
        chunk(CHUNK, seed).to_csv(path, mode="a", header=start == 0, index=False)


def measure(path: Path) -> None:
    """Read and prepare the file, and print what it took; for a process of its own."""
    from raan.data import from_frame

    imported = peak()
    start = time.perf_counter()
    with Progress(*Progress.get_default_columns(), DownloadColumn(), TimeElapsedColumn()) as bar:
        task = bar.add_task("read and prepare")
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # rows of the benchmark are not looked at
            loaded = from_frame(
                path,
                "label",
                f"one of {CATEGORIES[0]}",
                progress=lambda done, total: bar.update(task, completed=done, total=total),
            )
    seconds = time.perf_counter() - start
    size = path.stat().st_size / 1e6
    print(loaded)
    print(f"{size:.0f} MB in {seconds:.1f} s; peak {peak():.2f} GB, of which {imported:.2f} GB are imports")


def peak() -> float:
    """The largest memory that this process has held, in GB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 / 1e9


def main() -> None:
    """Write the file to a temporary folder, and measure in a fresh process."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "two_million.csv"
        write(path)
        subprocess.run([sys.executable, "-m", "reproduce.read_csv", str(path)], check=True)


if __name__ == "__main__":
    if len(sys.argv) > 1:
        measure(Path(sys.argv[1]))
    else:
        main()
