"""The part of a study's runs that a report is about."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from raan.study.results import Record

KEYS = ("data", "styles", "methods", "by")
"""What a study's [report] may say."""


def view(records: Sequence[Record], report: Mapping[str, Any]) -> list[Record]:
    """The records of the data sets, styles and methods named, all where none are.

    With `by`, a method that has this dial stands there once for each of its values: an ablation.
    """
    wanted = {"data": report.get("data"), "style": report.get("styles"), "method": report.get("methods")}
    kept = [
        record
        for record in records
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
