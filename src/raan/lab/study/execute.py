"""Carry out a study: packs in worker processes, each finished one on disk before the next is counted."""

import json
from collections.abc import Callable, Generator, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from itertools import product
from pathlib import Path

from raan.lab.results.journal import Results, open_results
from raan.lab.results.records import Record
from raan.lab.study.executor import Executor, in_turn
from raan.lab.study.plan import Pack, packs
from raan.lab.study.study import Study
from raan.lab.study.training import one_thread, steps_of

Progress = Callable[[int, int, int], None]
"""Called with how many steps are done and of how many, all runs counted, and how many runs are finished."""


@dataclass(frozen=True)
class Outcome:
    """What a study has come to."""

    path: Path
    finished: int
    planned: int
    diverged: int

    @property
    def complete(self) -> bool:
        """Whether every planned run is finished."""
        return self.finished == self.planned


def carry_out(
    study: Study,
    path: str | Path,
    *,
    executor: Executor = in_turn,
    progress: Progress = lambda done, total, runs: None,
) -> Outcome:
    """Train what is not in the results yet, and settle them in the order of the plan.

    Every pack trains on one thread, in whatever process, so the numbers do not depend on how many work side by
    side. Interrupted, it settles what is finished before the interruption goes on. A study that
    extends another has no runs of its own: the other is carried out.
    """
    study = study.carried_out
    planned = packs(study)
    order = [run for pack in planned for run in pack.runs]
    with open_results(path) as results:
        left = [pack for pack in planned if not all(run in results.done for run in pack.runs)]
        try:
            with closing(_train(left, executor, _Meter(left, len(results.done), progress))) as trained:
                for records in trained:
                    results.append(_check_data(records, results))
        finally:
            _rename(results, planned)
            results.settle(order)
        mine = [results.done[run] for run in order if run in results.done]
        return Outcome(Path(path), len(mine), len(order), sum(record.diverged is not None for record in mine))


def run_in_memory(
    study: Study, *, executor: Executor = in_turn, progress: Progress = lambda done, total, runs: None
) -> list[Record]:
    """The records of the study in the order of the plan, none written."""
    planned = packs(study.carried_out)
    place = {run: number for number, run in enumerate(run for pack in planned for run in pack.runs)}
    trained = [record for records in _train(planned, executor, _Meter(planned, 0, progress)) for record in records]
    return sorted(trained, key=lambda record: place[record.run])


def _train(left: Sequence[Pack], executor: Executor, meter: "_Meter") -> Generator[list[Record], None, None]:
    """The records of each pack as it ends; a pack counts once they are taken."""
    with one_thread(), closing(executor(left, meter.at)) as ended:
        for number, records in ended:
            yield records
            meter.finished(number)


class _Meter:
    """How far all packs are, in steps of runs."""

    def __init__(self, left: Sequence[Pack], runs: int, progress: Progress) -> None:
        self.steps = [steps_of(pack) * len(pack.runs) for pack in left]
        self.sizes = [len(pack.runs) for pack in left]
        self.done = [0] * len(left)
        self.runs, self.progress = runs, progress
        self.show()

    def at(self, number: int, step: int) -> None:
        """A pack has taken so many steps."""
        self.done[number] = min(step * self.sizes[number], self.steps[number])
        self.show()

    def finished(self, number: int) -> None:
        """A pack is done and saved."""
        self.done[number] = self.steps[number]
        self.runs += self.sizes[number]
        self.show()

    def show(self) -> None:
        """Show how far all is."""
        self.progress(sum(self.done), sum(self.steps), self.runs)


def _check_data(records: list[Record], results: Results) -> list[Record]:
    """The records, if they saw the same data as those that are there already."""
    seen = {_data_asked_for(record): record.data_hash for record in results.done.values()}
    for record in records:
        before = seen.get(_data_asked_for(record), record.data_hash)
        if before != record.data_hash:
            raise ValueError(
                f"{record.data} has changed since the runs in {results.path} were made (hash {before}, now "
                f"{record.data_hash}): give other results by --results, or put the old data back"
            )
    return records


def _data_asked_for(record: Record) -> str:
    """What a record's data were asked for by; the same must give the same."""
    return json.dumps([record.data, record.seed, record.configuration.get("data")])


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
                    configuration={"method": candidate.entry.method, **pack.configuration()},
                )
