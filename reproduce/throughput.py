"""The rows per second of `raan predict` beside those of the plain pipeline that the same estimator is in.

`python -m reproduce.throughput` makes a table of Adult's rows, drawn with replacement, their numbers with noise,
and of random columns, 20 columns in all; as CSV and as Parquet. The plain pipeline is what one would write by
hand: chunks of pandas, a `ColumnTransformer`, `Pipeline.predict` or `predict_proba`, and the output written. Both
have the same gradient boosting, fitted to the same rows. Every measurement is a process of its own on one thread,
so that seconds of the processor can be compared on a busy machine.
"""

import os
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import joblib
import numpy as np
import pandas as pd
import pyarrow as pa
from pyarrow.parquet import ParquetFile, ParquetWriter
from sklearn.compose import make_column_selector, make_column_transformer
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import OneHotEncoder

from raan.data import load_adult
from raan.fit.classifier import TableClassifier
from raan.frontier import FairFrontier
from raan.tables.preprocess import Preprocessing

SIZES = (1_000_000, 5_000_000)
CHUNK = 100_000
NUMBERS = 6  # random columns, so that there are 20 with the label


def people(rows: int, seed: int) -> pd.DataFrame:
    """Adult's rows, drawn with replacement; numbers vary by a hundredth of their standard deviation."""
    X, y, _ = load_adult(one_hot=False, keep_attribute=True)
    rng = np.random.default_rng(seed)
    drawn = rng.integers(0, len(X), rows)
    frame = X.iloc[drawn].reset_index(drop=True)
    for name in frame.select_dtypes("number"):
        frame[name] = (frame[name] + rng.normal(0, 0.01 * X[name].std(), rows)).round(2)
    for name in frame.select_dtypes("category"):
        frame[name] = frame[name].astype(str)
    noise = {f"noise {place}": rng.normal(size=rows).round(4) for place in range(NUMBERS - 1)}
    return frame.assign(**noise, income=y.to_numpy()[drawn])


def write(folder: Path, rows: int) -> None:
    """Write the table as CSV and as Parquet, a chunk at a time."""
    csv, writer = folder / f"{rows}.csv", None
    for seed, start in enumerate(range(0, rows, CHUNK)):
        chunk = people(CHUNK, 1 + seed)
        chunk.to_csv(csv, mode="a", header=start == 0, index=False)
        table = pa.Table.from_pandas(chunk, preserve_index=False)
        writer = writer or ParquetWriter(folder / f"{rows}.parquet", table.schema)
        writer.write_table(table)
    if writer:
        writer.close()


def fit(folder: Path) -> None:
    """Fit both models to the same rows: the fair one as `raan fit` saves it, and the pipeline."""
    frame = people(45_222, 0)
    X, y = frame.drop(columns=["income", "sex"]), frame["income"].to_numpy()
    boosting = HistGradientBoostingClassifier(random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        preprocessing = Preprocessing.fit(X)
        fair = FairFrontier(boosting, aim="equalized_odds", accuracy_drop=0.005, random_state=0)
        fair.fit(preprocessing.transform(X), y, sensitive_features=frame["sex"])
    TableClassifier(preprocessing, fair, ("0", "1"), {}).save(folder / "fair")
    one_hot = OneHotEncoder(handle_unknown="ignore", sparse_output=False)
    columns = make_column_transformer(
        (one_hot, make_column_selector(dtype_exclude="number")), remainder="passthrough"
    )
    joblib.dump(make_pipeline(columns, boosting).fit(X, y), folder / "plain.joblib")


def chunks(file: Path) -> Iterator[pd.DataFrame]:
    """The chunks of a file, as pandas reads them."""
    if file.suffix == ".csv":
        yield from pd.read_csv(file, chunksize=CHUNK)
    else:
        yield from (batch.to_pandas() for batch in ParquetFile(file).iter_batches(CHUNK))


def predict_plainly(method: str, model: Path, file: Path, out: Path) -> None:
    """Write what a method of the plain pipeline returns for a file."""
    pipeline: Pipeline = joblib.load(model)
    writer: Any = None
    for place, chunk in enumerate(chunks(file)):
        found = getattr(pipeline, method)(chunk)
        frame = pd.DataFrame({"prediction": found} if method == "predict" else found, copy=False)
        frame.columns = frame.columns.astype(str)
        if file.suffix == ".csv":
            frame.to_csv(out, mode="a" if place else "w", header=not place, index=False)
        else:
            table = pa.Table.from_pandas(frame, preserve_index=False)
            writer = writer or ParquetWriter(out, table.schema)
            writer.write_table(table)
    if writer:
        writer.close()


class Cost(NamedTuple):
    """What a process took."""

    seconds: float  # of the processor
    elapsed: float
    peak: float  # MB


def measure(*command: object) -> Cost:
    """Run a command on one thread."""
    begun = time.perf_counter()
    process = subprocess.Popen([*map(str, command)], env={**os.environ, "OMP_NUM_THREADS": "1"})
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise SystemExit(process.returncode)
    return Cost(usage.ru_utime + usage.ru_stime, time.perf_counter() - begun, usage.ru_maxrss / 1024)


def main(sizes: tuple[int, ...] = SIZES) -> None:
    """Print a row of a table for each format, size and way."""
    print("| file | rows | | rows per CPU second | of `predict` | peak, MB | seconds elapsed |")
    print("|---|---:|---|---:|---:|---:|---:|")
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        fit(folder)
        for rows in sizes:
            write(folder, rows)
            for file in (folder / f"{rows}.csv", folder / f"{rows}.parquet"):
                out = folder / f"out{file.suffix}"
                plain = (sys.executable, "-m", "reproduce.throughput")
                ways = {
                    "`Pipeline.predict`": (*plain, "predict", folder / "plain.joblib", file, out),
                    "`Pipeline.predict_proba`": (*plain, "predict_proba", folder / "plain.joblib", file, out),
                    "`raan predict`": (
                        *(sys.executable, "-m", "raan", "predict", folder / "fair", file, "--out", out, "--quiet"),
                    ),
                }
                costs = {name: measure(*command) for name, command in ways.items()}
                first = next(iter(costs.values())).seconds
                for name, (seconds, elapsed, peak) in costs.items():
                    print(
                        f"| {file.suffix[1:]} | {rows:,} | {name} | {rows / seconds:,.0f} | {first / seconds:.2f} "
                        f"| {peak:.0f} | {elapsed:.0f} |",
                        flush=True,
                    )
                file.unlink()


if __name__ == "__main__":
    if sys.argv[4:]:
        predict_plainly(sys.argv[1], *map(Path, sys.argv[2:]))
    else:
        main(tuple(map(int, sys.argv[1:])) or SIZES)
