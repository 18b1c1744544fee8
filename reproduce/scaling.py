"""What more rows and more processes buy: a trade-off evaluated on tables of any size, here, on Dask and on Ray.

`python -m reproduce.scaling` makes a table (`reproduce.crowd`), learns from part of another one, and evaluates
every point on all rows here, and on some of them in one, two and four workers of local clusters, of which one is
killed on the way. All counts must be the same. Times are of this machine; `--study` measures runs of a study.
"""

import argparse
import logging
import os
import signal
import tempfile
import threading
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path

import numpy as np
import pandas as pd
import psutil  # type: ignore[import-untyped]
from sklearn.compose import make_column_selector, make_column_transformer
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OrdinalEncoder

from raan import FairFrontier
from reproduce.crowd import PART, make_people, write_crowd

COLUMNS = {"label": "income", "sensitive_features": "sex"}
LEARNT, OTHERS = 200_000, 100_000
"""Rows that train the posterior, and others that evaluate it first."""

WORKERS, CLUSTER = (1, 2, 4), 2_000_000
"""Workers of the clusters, and the rows that they count."""


def learn() -> FairFrontier:
    """One posterior, and a trade-off that a small table evaluates."""
    people = make_people(LEARNT + OTHERS, seed=1)
    words = OrdinalEncoder(handle_unknown="use_encoded_value", unknown_value=-1)
    codes = make_column_transformer((words, make_column_selector(dtype_exclude="number")), remainder="passthrough")
    model = make_pipeline(codes, HistGradientBoostingClassifier(random_state=0))
    fair = FairFrontier(model, train_size=LEARNT, aim="equalized_odds", accuracy_drop=0.005)
    return fair.fit(
        people.drop(columns=["income", "sex"]), people["income"], sensitive_features=people["sex"].astype(str)
    )


def read(file: Path) -> pd.DataFrame:
    """A part of the table."""
    return pd.read_parquet(file).astype({"sex": str})


@contextmanager
def dask(files: list[Path], workers: int) -> Iterator[tuple[object, Callable[[], list[int]]]]:
    """The table on a local cluster of Dask, and what gives the processes of its workers."""
    import dask.dataframe as frames
    from distributed import Client, LocalCluster

    with (
        LocalCluster(n_workers=workers, threads_per_worker=1, dashboard_address=None) as cluster,  # type: ignore[no-untyped-call]
        Client(cluster) as client,  # type: ignore[no-untyped-call]
    ):
        table = frames.from_map(read, files)  # type: ignore[no-untyped-call]
        yield table, lambda: list(client.run(os.getpid).values())


@contextmanager
def ray(files: list[Path], workers: int) -> Iterator[tuple[object, Callable[[], list[int]]]]:
    """The table on Ray, started with so many processors, and what gives the processes of its workers."""
    import ray as engine

    engine.init(num_cpus=workers, include_dashboard=False, log_to_driver=False, logging_level=logging.ERROR)
    engine.data.DataContext.get_current().enable_progress_bars = False
    try:
        yield engine.data.read_parquet([str(file) for file in files]), find_ray_workers
    finally:
        engine.shutdown()


def find_ray_workers() -> list[int]:
    """The processes of Ray that compute something now."""
    children = psutil.Process().children(recursive=True)
    return [each.pid for each in children if each.name().startswith(("ray::Map", "ray::Read"))]  # agents stay


def evaluate(
    fair: FairFrontier, rows: object, find: Callable[[], list[int]], kill_after: float | None
) -> tuple[FairFrontier, float, float, int]:
    """Evaluate, and kill a worker on the way: the classifier, seconds, the largest process in MB, and kills."""
    ended, largest = threading.Event(), [0.0]
    killed: list[int] = []
    begun = time.perf_counter()

    def watch() -> None:
        while not ended.wait(0.25):
            own = psutil.Process()
            for each in [own, *own.children(recursive=True)]:
                try:
                    largest[0] = max(largest[0], each.memory_info().rss / 2**20)
                except psutil.Error:
                    continue
            if kill_after and not killed and time.perf_counter() - begun > kill_after:
                for pid in find()[:1]:
                    os.kill(pid, signal.SIGKILL)
                    killed.append(pid)

    watcher = threading.Thread(target=watch, daemon=True)
    watcher.start()
    found = fair.evaluate(rows, **COLUMNS)
    ended.set()
    watcher.join()
    return found, time.perf_counter() - begun, largest[0], len(killed)


def describe(name: str, fair: FairFrontier) -> str:
    """A row of what a number of rows promises: the aim before and after, what it costs, and how sure that is."""
    promise, aim = fair.promise_, fair.frontier_.rule.goal
    before, after, lost = promise.plain[aim.metric], promise.metrics[aim.metric], promise.accuracy_loss
    rows = int(fair.points_.counts[0].sum())
    return (
        f"| {name} | {rows:,} | {100 * before.value:.2f} | {100 * after.value:.2f} "
        f"({100 * after.low:.2f} to {100 * after.high:.2f}) | {100 * lost.value:.2f} "
        f"({100 * lost.low:.2f} to {100 * lost.high:.2f}) |"
    )


def main(rows: int, folder: Path) -> None:
    """Evaluate all rows here, and some of them here and on both clusters; print the tables."""
    files = write_crowd(folder, rows)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        fair = learn()
        whole, seconds, memory, _ = evaluate(fair, map(read, files), list, None)
        few = fair.evaluate([read(files[0]).iloc[:100_000]], **COLUMNS)
        print("| evaluated on | rows | equalized-odds gap, plain | chosen, 95 % | accuracy lost, 95 % |")
        print("|---|---:|---:|---:|---:|")
        for name, model in (("held-out rows of the fit", fair), ("100,000 rows", few), ("all rows", whole)):
            print(describe(name, model))
        print(f"\nall rows here: {seconds:.0f} seconds, largest process {memory:,.0f} MB\n", flush=True)
        files = files[: max(CLUSTER // PART, 1)]
        here, seconds, memory, _ = evaluate(fair, map(read, files), list, None)
        print(f"| {len(files) * PART:,} rows | seconds | of one process | largest process | counts |")
        print("|---|---:|---:|---:|---|")
        print(f"| here, a thread for each core | {seconds:.0f} | 1.00 | {memory:,.0f} MB | |", flush=True)
        for engine in (dask, ray):
            for workers in WORKERS:
                for killing in (False, True) if workers == 2 else (False,):
                    with engine(files, workers) as (table, find):
                        kill_after = seconds / 2 if killing else None
                        found, took, memory, killed = evaluate(fair, table, find, kill_after)
                    same = np.array_equal(found.points_.counts, here.points_.counts)
                    name = f"{engine.__name__}, {workers} workers" + (f", {killed} killed" if killing else "")
                    said = "the same" if same else "OTHER COUNTS"
                    shown = (f"{took:.0f}", f"{took / seconds:.2f}", f"{memory:,.0f} MB", said)
                    print(f"| {name} | {' | '.join(shown)} |", flush=True)


STUDY = """
title = "Scaling"
seeds = 5
[first]
epochs = 2
[second]
epochs = {epochs}
learning_rate = [1e-2, 1e-3, 1e-4]
[[data]]
name = "toy"
rows = 4000
[methods.Vanilla]
[methods.RAAN]
averaging_rate = 0.5
[methods.RL-RAAN]
averaging_rate = 0.5
"""

WAYS = {"one process": 1, "2 worker processes": 2, "Ray, started for it": None}
"""Numbers of workers; None for those of Ray."""


def run_studies(epochs: int = 4) -> None:
    """Time each way of running a small study, and hold its bytes against those of the first."""
    from raan.lab.study.run import run_study, use_ray
    from raan.lab.study.study import read_study

    with tempfile.TemporaryDirectory() as place:
        file = Path(place) / "scaling.toml"
        file.write_text(STUDY.format(epochs=epochs))
        study = read_study(file)
        first: tuple[float, bytes] | None = None
        for name, workers in WAYS.items():
            results = Path(place) / "results.jsonl"
            results.unlink(missing_ok=True)
            begun = time.perf_counter()
            with use_ray() if workers is None else nullcontext():
                outcome = run_study(study, results, workers=workers)
            seconds = time.perf_counter() - begun
            first = first or (seconds, results.read_bytes())
            same = "the same bytes" if results.read_bytes() == first[1] else "OTHER BYTES"
            print(f"{name:22} {outcome.finished} runs  {seconds:6.1f} s  {seconds / first[0]:.2f}  {same}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--study", action="store_true", help="runs of a study instead")
    parser.add_argument("--rows", type=int, default=10_000_000)
    parser.add_argument("--folder", type=Path, help="where the table is written, or was; a temporary folder")
    asked = parser.parse_args()
    if asked.study:
        run_studies()
    else:
        with tempfile.TemporaryDirectory() as scratch:
            main(asked.rows, asked.folder or Path(scratch))
