"""What a report is made from."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from raan.fairness.rule import Rule
from raan.lab.results.records import Record

Paper: TypeAlias = Mapping[tuple[str, str, str, str], tuple[float, float]]
"""Means and standard deviations that the paper prints, in percent, by data set, style, method and metric."""


@dataclass(frozen=True)
class Content:
    """The runs and everything stated about them.

    `rule` chooses the points that are shown; `explanation` is what an `.explain.json` holds:
    the weights RAAN gave and maps of embeddings. `notes` are sentences for the reader, such as what
    is missing; `command` is what makes the same report again.
    """

    title: str
    records: Sequence[Record]
    explanation: Mapping[str, Any] | None = None
    paper: Paper | None = None
    rule: Rule = Rule()
    notes: Sequence[str] = ()
    command: str = ""
