"""Predictions for a folder of files, many side by side: one output for each, and none is made twice."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing, contextmanager, suppress
from dataclasses import astuple, dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
from joblib import delayed

from raan.engines import end_orphan, parent_of_workers, run_jobs
from raan.errors import InputError, Option, listed
from raan.fit.classifier import TableClassifier
from raan.fit.predictions import find_model, keep_columns, load_model, note_replaced, open_writer, predict_file
from raan.io.files import digest, lock, read_manifest, scratch, write_text
from raan.progress import repeat
from raan.tables.media import Media
from raan.tables.preprocess import Drift
from raan.tables.read import PARQUET, TEXTS, Layout, open_source

MANIFEST = "_predictions.jsonl"
"""The list of finished files in the output folder. Readers of folders of tables pass over names that begin so."""

HEADER = {"format": "raan predictions", "version": 1}

EXPECTED = (ValueError, TypeError, OSError, ImportError, MemoryError)
"""What one file may raise while the others go on."""

Progress = Callable[[int, int, int, int], None]
"""Receives the bytes of the input that are done, all of its bytes, and the files and rows that are done."""

Stamp = tuple[int, int]
"""The size of a file and the nanosecond in which it was last changed."""


@dataclass(frozen=True)
class Job:
    """One file to predict, and with what."""

    model: Path
    made: str  # the fingerprint of the model and of all that follows
    data: Path
    out: Path
    kept: tuple[str, ...] | None  # the columns that are passed through; None for all
    layout: Layout
    media: Media


@dataclass(frozen=True)
class Finished:
    """A file that was predicted: by which model, from what, and how its rows differ from the training rows."""

    made: str
    data: Stamp
    out: Stamp
    drift: Drift
    replaced: int  # cells with control characters

    @property
    def line(self) -> dict[str, Any]:
        """Plain values, as JSON can hold them."""
        return {**vars(self), "drift": self.drift.to_dict()}

    @classmethod
    def of_line(cls, line: Mapping[str, Any]) -> Finished:
        """Make it from its plain values."""
        data, out = ((int(size), int(changed)) for size, changed in (line["data"], line["out"]))
        return cls(str(line["made"]), data, out, Drift.from_dict(line["drift"]), int(line["replaced"]))


@dataclass(frozen=True)
class Scored:
    """What has become of a folder.

    Attributes:
        finished: the outputs that are finished, by name.
        predicted: how many of them were predicted just now; the others were there.
        failed: the error of each input that could not be predicted.
        orphans: the outputs of earlier runs whose input is gone.
        drift: how the rows of all finished files together differ from the training rows.
    """

    finished: dict[str, Finished]
    predicted: int
    failed: dict[str, Exception]
    orphans: tuple[str, ...]
    drift: Drift = field(default_factory=Drift)

    @property
    def notes(self) -> list[str]:
        """Return what to warn of."""
        gone = f"outputs of earlier runs have no input any more: {listed(self.orphans, 5)}"
        replaced = sum(each.replaced for each in self.finished.values())
        return [*self.drift.notes, *note_replaced(replaced), *([gone] if self.orphans else [])]


def predict_folder(
    folder: Path,
    data: Path,
    out: Path,
    *,
    kept: tuple[str, ...] | None = (),
    delimiter: str | None = None,
    encoding: str = "utf-8",
    decimal: str | None = None,
    media: Media = Media(),
    workers: int | None = None,
    progress: Progress = lambda done, total, files, rows: None,
) -> Scored:
    """Predict every file of a folder, on joblib's active backend; files that are finished are passed over.

    A file is finished if its output is as it was written, by the same model with the same options, from an input
    of the same size and time of change. The output folder lists the finished files in `_predictions.jsonl`; each
    output appears there whole or not at all.

    Args:
        folder: what `raan fit` wrote.
        data: a folder of CSV, TSV and Parquet files, also in folders within it.
        out: a folder that is new or empty, or has predictions from earlier runs.
        kept: the columns that are passed through; None for all.
        delimiter: what separates the columns of text files; None guesses.
        encoding: the encoding of text files.
        decimal: what marks decimals in text files; None takes what did in training.
        media: where images are, and which encoders are asked for.
        workers: how many files are predicted side by side; None leaves it to the backend.
        progress: called as rows are done.

    Returns:
        What is finished, and what could not be predicted.

    Raises:
        InputError: There are no files in `data`, or `out` has other files.
        Locked: Another process predicts into the same folder.
        OSError: Workers were killed again and again; what is finished stays.
    """
    model = load_model(folder)
    layout = Layout(delimiter, encoding, model.preprocessing.decimal if decimal is None else decimal)
    made = _fingerprint(folder, kept, layout, media)
    inputs = find_files(data, out)
    out.mkdir(parents=True, exist_ok=True)
    with lock(out / f".{MANIFEST}.lock"), _open_manifest(out) as (earlier, record):
        finished, jobs = {}, {}
        for name, file in inputs.items():
            if (out / name).is_symlink():
                raise InputError(
                    str(out / name), "is a link, and what it leads to would be replaced", "a file, or none"
                )
            before = earlier.get(name)
            if before and (before.made, before.data, before.out) == (made, _stamp(file), _stamp(out / name)):
                finished[name] = before
            else:
                jobs[name] = Job(folder, made, file, out / name, kept, layout, media)
        there, failed = len(finished), dict[str, Exception]()
        for name, result in _run(jobs, workers, finished, inputs, progress):
            if isinstance(result, Finished):
                finished[name] = result
                record(name, result)
            else:
                failed[str(inputs[name])] = result
    ordered = {name: finished[name] for name in inputs if name in finished}
    drift = sum((each.drift for each in ordered.values()), Drift(encodings=model.preprocessing.encodings))
    return Scored(ordered, len(finished) - there, failed, tuple(sorted({*earlier} - {*inputs})), drift)


def find_files(data: Path, out: Path) -> dict[str, Path]:
    """Return the tables in a folder and below it by the names of their outputs; hidden ones are left out."""
    data = data.expanduser()
    if out.resolve().is_relative_to(data.resolve()):
        came = f"is {out}, which is {data} or within it: predictions would be data at the next run"
        raise InputError(Option("out"), came, "another folder")
    found: dict[str, Path] = {}
    for file in sorted(data.rglob("*")):
        place = file.relative_to(data)
        packed = file.suffix.lower() == ".gz"
        name = str(place.with_suffix("") if packed else place)
        if any(part[0] in "._" for part in place.parts) or not file.is_file():
            continue
        if Path(name).suffix.lower() not in (TEXTS if packed else TEXTS | PARQUET):
            continue
        if name in found:
            raise InputError(str(data), f"has {found[name].name} and {file.name}", "one of the two")
        found[name] = file
    if not found:
        raise InputError(str(data), "has no tables", f"files that end in {', '.join(sorted(TEXTS | PARQUET))}")
    return found


def _fingerprint(folder: Path, kept: tuple[str, ...] | None, layout: Layout, media: Media) -> str:
    """Return a hash of the model's files and of the options that decide what an output contains."""
    _, files = read_manifest(find_model(folder))
    asked = (files, kept, astuple(layout), media.text_encoder, media.image_encoder, media.image_folder)
    return digest(json.dumps(asked, sort_keys=True, default=str).encode())


def _stamp(file: Path) -> Stamp | None:
    """Return the size and the time of change of a file; None if there is none."""
    with suppress(FileNotFoundError):
        status = file.stat()
        return status.st_size, status.st_mtime_ns
    return None


@contextmanager
def _open_manifest(out: Path) -> Iterator[tuple[dict[str, Finished], Callable[[str, Finished], None]]]:
    """Give the finished files of earlier runs, and a function that records another one at once.

    A line that was cut off when the process was killed is dropped: its file is predicted again.
    """
    file = out / MANIFEST
    lines = file.read_text(encoding="utf-8").splitlines() if file.is_file() else []
    if lines and lines[0] != json.dumps(HEADER):
        raise InputError(str(file), "is not as this version of raan writes it", "another --out, or a new folder")
    if not lines and any(each.name[0] != "." for each in out.iterdir()):
        came = f"is {out}, which has other files than predictions"
        raise InputError(Option("out"), came, "a folder that is new or empty")
    earlier: dict[str, Finished] = {}
    for line in lines[1:]:
        with suppress(ValueError, KeyError, TypeError, AttributeError):
            found = json.loads(line)
            earlier[str(found["file"])] = Finished.of_line(found)
    whole = [HEADER, *({"file": name, **each.line} for name, each in earlier.items())]
    write_text(file, "".join(f"{json.dumps(each)}\n" for each in whole))
    with file.open("a", encoding="utf-8") as stream:

        def record(name: str, found: Finished) -> None:
            stream.write(f"{json.dumps({'file': name, **found.line})}\n")
            stream.flush()

        yield earlier, record


def _run(
    jobs: Mapping[str, Job],
    workers: int | None,
    finished: Mapping[str, Finished],
    inputs: Mapping[str, Path],
    progress: Progress,
) -> Iterator[tuple[str, Finished | Exception]]:
    """Yield what becomes of each file as it ends, and show the progress also within files where workers can."""
    sizes = {name: file.stat().st_size for name, file in inputs.items()}
    parent = parent_of_workers()
    advice = (
        "The files that are finished stay: run the command again to go on with the others, with fewer --workers"
    )
    with scratch() as place:
        done = np.memmap(place / "done", dtype=np.int64, mode="w+", shape=(len(inputs), 2))  # bytes, rows
        rows_of = dict(zip(inputs, done, strict=True))

        def show() -> None:
            with suppress(OSError):  # a failing display must not stop the work
                read, rows = done.sum(0).tolist()
                progress(read, sum(sizes.values()), len(finished), rows)

        for name, each in finished.items():
            rows_of[name][:] = sizes[name], each.drift.rows
        shared = {name: rows_of[name] if parent else None for name in jobs}
        delays = {name: delayed(_predict)(job, shared[name], parent) for name, job in jobs.items()}
        with repeat(show), closing(run_jobs(delays, workers, advice)) as ended:
            for name, result in ended:
                yield name, result
                rows = result.drift.rows if isinstance(result, Finished) else 0
                rows_of[name][:] = sizes[name], rows
                show()


def _predict(job: Job, done: np.ndarray | None, parent: int | None) -> Finished | Exception:
    """Predict a file in a worker; return its error if it has one."""
    try:
        model = _load(job.model, job.made, job.kept, job.layout, job.media)
        read = _stamp(job.data)
        source = open_source(job.data, job.layout)

        def report(part: int, rows: int) -> None:
            end_orphan(parent)
            if done is not None and read is not None:
                done[:] = part * read[0] // max(source.total, 1), rows

        with open_writer(job.out, job.data) as write:
            kept = keep_columns(source, job.kept)
            drift = predict_file(model, source, kept, write, report, job.media)
            end_orphan(parent)
        written = _stamp(job.out)
        if read is None or written is None:
            raise FileNotFoundError(f"{job.data} or {job.out} was removed while it was predicted")
        return Finished(job.made, read, written, drift, getattr(write, "replaced", 0))
    except EXPECTED as error:
        return error


@lru_cache(maxsize=1)
def _load(folder: Path, made: str, kept: tuple[str, ...] | None, layout: Layout, media: Media) -> TableClassifier:
    """Load the model, once for all files of a worker; a ValueError if it is not the one that was asked for."""
    if _fingerprint(folder, kept, layout, media) != made:
        raise ValueError(f"{os.fspath(folder)} was replaced while it was used; run the command again")
    return load_model(folder)
