"""Under which conditions runs were made that a reader of their numbers must know."""

from collections.abc import Iterator, Sequence

from raan.results.records import Record

KEPT = {"adult", "meps"}
"""Data sets whose attribute is a feature unless a study says otherwise, as in the paper's benchmarks."""


def regime_of(record: Record) -> bool | None:
    """Whether the attribute itself is among the features; None if the record does not say of which data it is."""
    data = record.configuration.get("data")
    if not isinstance(data, dict) or "name" not in data:
        return None
    return bool(data.get("keep_attribute", data["name"] in KEPT))


def conditions(records: Sequence[Record]) -> Iterator[str]:
    """A sentence for each: whether the attribute is among the features, and whether the threshold is a dial."""
    regimes = {regime_of(record) for record in records} - {None}
    if regimes == {True}:
        yield "The attribute is among the features: every model sees it at prediction."
    elif regimes == {False}:
        yield "The attribute is not among the features: no model sees it at prediction."
    if any(record.threshold for record in records):
        yield "The decision threshold, one for all groups, is a dial of every method, chosen on validation rows."
