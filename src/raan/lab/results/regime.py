"""Whether a model is told the attribute: what every table of results must say."""

from collections.abc import Iterable, Sequence
from typing import Literal

from raan.lab.datasets.description import DESCRIPTIONS
from raan.lab.results.records import Record

Regime = Literal["input", "unseen"]

KEPT = {name: each.keep_attribute for name, each in DESCRIPTIONS.items()}
"""Whether a data set's features hold the attribute unless its options say otherwise."""

WORDS: dict[Regime | None, str] = {
    "input": "The attribute is one of the features: the models need it as an input.",
    "unseen": "The attribute is not among the features: the models see only what tells of it.",
    None: "",
}
"""The line that a table says it in."""

BRIEFLY: dict[Regime | None, str] = {
    "input": "the attribute is a feature",
    "unseen": "the attribute is not a feature",
    None: "",
}
"""The same, in a caption."""


def regime_of(record: Record) -> Regime | None:
    """`input` where the attribute is a feature of the run's model, `unseen` where it is not; None if not known."""
    data = record.configuration.get("data")
    if not isinstance(data, dict):
        return None
    kept = data.get("keep_attribute", KEPT.get(str(data.get("name"))))
    return None if kept is None else "input" if kept else "unseen"


def regime_of_all(records: Iterable[Record]) -> Regime | None:
    """The regime that all records have in common; None if they have none."""
    found = {regime_of(record) for record in records}
    return found.pop() if len(found) == 1 else None


def dial_of(records: Iterable[Record]) -> str:
    """Whether the threshold was a dial of these runs, in a sentence; nothing where it was not."""
    # What needs the first stage only has decisions of its own in every study.
    if not any(record.threshold for record in records if "learning_rate" in record.hyperparameters):
        return ""
    return "The decision threshold, one for all groups, is a dial of every method, chosen on validation rows."


def conditions(records: Sequence[Record]) -> list[str]:
    """How the runs were made, a sentence each: the regime, and whether the threshold was a dial."""
    return [sentence for sentence in (WORDS[regime_of_all(records)], dial_of(records)) if sentence]
