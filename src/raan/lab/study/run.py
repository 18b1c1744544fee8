"""Run a study: train its packs through joblib, and save each finished pack before the next is counted."""

import json
import time
import warnings
from collections.abc import Callable, Generator, Sequence
from contextlib import closing, suppress
from dataclasses import dataclass, replace
from itertools import product
from pathlib import Path

import numpy as np
from joblib import delayed

from raan.engines import end_orphan, parent_of_workers, run_jobs
from raan.engines import use_ray as use_ray
from raan.io.files import scratch
from raan.lab.datasets.dataset import Problem
from raan.lab.results.records import Record, Results, open_results
from raan.lab.study.plan import Pack, packs
from raan.lab.study.study import Study
from raan.lab.study.training import (
    ARCHITECTURES,
    count_pack_steps,
    load_problem,
    one_thread,
    schedule_of,
    train_pack,
)
from raan.methods.method import Refit
from raan.progress import repeat
from raan.training.stages import run_pack

Progress = Callable[[int, int, int], None]
"""Called with the steps that are done, their total over all runs, and the number of finished runs."""


@dataclass(frozen=True)
class Completion:
    """How much of a study is finished."""

    path: Path
    finished: int
    planned: int
    diverged: int

    @property
    def complete(self) -> bool:
        """Whether every planned run is finished."""
        return self.finished == self.planned


def run_study(
    study: Study,
    path: str | Path,
    *,
    workers: int | None = None,
    progress: Progress = lambda done, total, runs: None,
) -> Completion:
    """Train the runs that are not in the results yet, and write the results in the order of the plan.

    Every pack trains on one thread, so that the numbers do not depend on the number of workers. An interruption
    writes what is finished before it goes on; a killed study resumes from the packs that it saved. A study that
    extends another has no runs of its own: the other one is run.

    Args:
        study: The study, as `read_study` returns it.
        path: The results file.
        workers: Processes that train side by side. By default one, or those of joblib's `parallel_config`, which
            also chooses another backend, such as dask or Ray.
        progress: Called as steps and runs are finished.

    Returns:
        The number of runs that are finished, planned and diverged.

    Raises:
        StudyRunning: Another process writes to the same results.
        ValueError: The data have changed since the earlier runs.
    """
    study = study.with_runs
    planned = packs(study)
    order = [run for pack in planned for run in pack.runs]
    with open_results(path) as results:
        left = [pack for pack in planned if not all(run in results.done for run in pack.runs)]
        try:
            with closing(_train(left, workers, progress, len(results.done))) as trained:
                for records in trained:
                    _check_data(records, results)
                    results.save(records)
        finally:
            _rename(results, planned)
            results.finish(order)
        mine = [results.done[run] for run in order if run in results.done]
        diverged = sum(record.diverged is not None for record in mine)
        return Completion(Path(path), len(mine), len(order), diverged)


def run_in_memory(
    study: Study, *, workers: int | None = None, progress: Progress = lambda done, total, runs: None
) -> list[Record]:
    """Run a study without writing anything; returns the records in the order of the plan."""
    planned = packs(study.with_runs)
    found = {record.run: record for records in _train(planned, workers, progress) for record in records}
    return [found[run] for pack in planned for run in pack.runs]


def _train(
    left: Sequence[Pack], workers: int | None, progress: Progress, runs: int = 0
) -> Generator[list[Record], None, None]:
    """Yield the records of each pack as it ends; its runs count as finished once they are taken."""
    steps = np.array([count_pack_steps(pack) for pack in left], dtype=np.int64)
    sizes = np.array([len(pack.runs) for pack in left], dtype=np.int64)
    total = int((steps * sizes).sum())
    progress(0, total, runs)
    if not left:
        return
    with scratch() as folder, one_thread():
        done = np.memmap(folder / "steps", dtype=np.int64, mode="w+", shape=(len(left),))

        def show() -> None:
            with suppress(OSError):  # a failing display must not stop the study
                progress(int((np.minimum(done, steps) * sizes).sum()), total, runs)

        with repeat(show):
            for number, records in _train_in_workers(left, workers, done):
                yield records
                done[number] = steps[number]
                runs += len(records)
                show()


def _train_in_workers(
    left: Sequence[Pack], workers: int | None, done: np.memmap
) -> Generator[tuple[int, list[Record]], None, None]:
    """Yield each pack's number and records as it ends, in whatever order and place."""
    parent = parent_of_workers()
    jobs = {number: delayed(_train_numbered)(number, pack, done, parent) for number, pack in enumerate(left)}
    advice = "Finished packs are saved: start the study again to resume it, with fewer --workers"
    yield from run_jobs(jobs, workers, advice)


def _train_numbered(number: int, pack: Pack, done: np.ndarray, parent: int | None) -> list[Record]:
    """Train a pack in a worker; on the same machine, `done` shares the number of its steps."""

    def count(step: int, total: int) -> None:
        end_orphan(parent)
        done[number] = step

    with one_thread(), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return train_pack(pack, count)


def _check_data(records: Sequence[Record], results: Results) -> None:
    """Raise a ValueError if the records were made from other data than those that are there already."""

    def asked_for(record: Record) -> str:
        return json.dumps([record.data, record.seed, record.configuration.get("data")])

    seen = {asked_for(record): record.data_hash for record in results.done.values()}
    for record in records:
        before = seen.get(asked_for(record), record.data_hash)
        if before != record.data_hash:
            raise ValueError(
                f"{record.data} has changed since the runs in {results.path} were made (hash {before}, now "
                f"{record.data_hash}): give other results by --results, or put the old data back"
            )


def _rename(results: Results, planned: Sequence[Pack]) -> None:
    """Give every record the names of the study as it is now: they may have been others when the run was made."""
    for pack in planned:
        for run, (candidate, _) in zip(pack.runs, product(pack.candidates, pack.seeds), strict=True):
            if run in results.done:
                results.done[run] = replace(
                    results.done[run],
                    study=pack.study,
                    data=pack.data.title,
                    method=candidate.entry.name,
                    configuration={"method": candidate.entry.method, **pack.configuration},
                )


# How long a study will take.

SHORT, LONG = 10, 40
"""Steps that are timed: their difference is the time of steps alone, without evaluation."""


@dataclass(frozen=True)
class Share:
    """The packs of one method on one data set in one style, and the time that they will take."""

    data: str
    style: str
    method: str
    runs: int
    seconds: float  # of one processor


def estimate_shares(left: Sequence[Pack]) -> list[Share]:
    """Estimate for each method the seconds of one processor that its packs will take, from a few timed steps."""
    groups: dict[tuple[str, str, str], list[Pack]] = {}
    for pack in left:
        groups.setdefault((pack.data.title, pack.style, pack.candidates[0].entry.name), []).append(pack)
    shares = []
    for names, several in groups.items():
        runs = sum(len(pack.runs) for pack in several)
        shares.append(Share(*names, runs, _estimate_seconds(several[0]) / len(several[0].runs) * runs))
    return shares


def _estimate_seconds(pack: Pack) -> float:
    """Estimate the seconds that a pack will take from an untrained model's first steps."""
    problem = load_problem(pack)
    if isinstance(pack.candidates[0].method, Refit):
        return _time_epoch(pack, problem, problem.split.train.shape[1])
    short, long = (_time_epoch(pack, problem, steps * pack.second.batch_size) for steps in (SHORT, LONG))
    step = max(long - short, 0.0) / (LONG - SHORT)
    evaluation = max(short - SHORT * step, 0.0) / 2  # before the first step and after the last
    schedule = schedule_of(pack.second, pack.style)
    points = 1 + sum(map(schedule.points_in, range(schedule.epochs)))
    return step * count_pack_steps(pack, problem) + evaluation * points


def _time_epoch(pack: Pack, problem: Problem, rows: int) -> float:
    """Time one epoch over some of the training rows."""
    architecture = ARCHITECTURES[pack.data.architecture](problem.table)
    model = architecture.start(problem.table, problem.split.train, pack.seeds)
    split = problem.split._replace(train=problem.split.train[:, :rows])
    schedule = replace(schedule_of(pack.second, pack.style), epochs=1, points_per_epoch=1, first_epoch_points=1)
    began = time.perf_counter()
    for _ in run_pack(pack.candidates, model, problem.table, split, pack.seeds, schedule):
        pass
    return time.perf_counter() - began
