"""The part of a study's runs that a report is about."""

from collections.abc import Sequence
from dataclasses import replace

from raan.study.plan import packs
from raan.study.results import Record
from raan.study.study import Study


def planned(records: Sequence[Record], study: Study) -> list[Record]:
    """The records that are the study's as its file is now; those of another grid or schedule stay unread."""
    runs = {run for pack in packs(study) for run in pack.runs}
    return [record for record in records if record.run in runs]


def view(records: Sequence[Record], study: Study) -> list[Record]:
    """The study's records of the data sets, styles and methods that its [report] names, all where it names none.

    With `by`, a method that has this dial stands there once for each of its values: an ablation.
    """
    report = study.report
    wanted = {"data": report.get("data"), "style": report.get("styles"), "method": report.get("methods")}
    kept = [
        record
        for record in planned(records, study)
        if all(names is None or getattr(record, what) in names for what, names in wanted.items())
    ]
    return [_split(record, report["by"]) for record in kept] if "by" in report else kept


def _split(record: Record, dial: str) -> Record:
    """The record as of a method of its own, called by the dial's value."""
    if dial not in record.hyperparameters:
        return record
    return replace(
        record,
        method=f"{record.method}, {dial.replace('_', ' ')} {record.hyperparameters[dial]}",
        configuration={"method": record.method, **record.configuration},
    )
