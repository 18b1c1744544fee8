"""All that a report says, in the order in which it says it: what the page shows and the tables are taken from."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from raan.lab.results.records import Record
from raan.lab.results.summary import BASELINES, SENTENCES, comparisons, plain_method
from raan.report.budgets import budget_table, loss_table, subset_table
from raan.report.charts import Chart
from raan.report.content import Content
from raan.report.measures import group_name, rule_in_words, several
from raan.report.method_charts import (
    feature_chart,
    group_chart,
    map_chart,
    path_charts,
    trade_off_charts,
    weight_chart,
)
from raan.report.reading import Reading, read
from raan.report.sheets import (
    chosen_table,
    differences_table,
    feature_table,
    group_table,
    information_table,
    key_table,
    weight_table,
)
from raan.report.tables import Table
from raan.report.words import caveats, headline, sureness, who_gains


@dataclass(frozen=True)
class Section:
    """One data set in one style."""

    id: str
    name: str
    headline: str
    sureness: str
    rule: str
    regime: str
    caveats: Sequence[str]
    gains: Sequence[str]
    methods: Sequence[str]
    rivals: Sequence[str]
    levels: Table
    differences: Table
    groups: Table
    chosen: Table
    budget: Table
    subsets: Table | None
    losses: Table | None
    trade_offs: Sequence[Chart]
    changes: Sequence[Chart]
    paths: Sequence[Chart]

    @property
    def optional(self) -> list[Table]:
        """The tables that some sections have."""
        return [each for each in (self.losses, self.subsets) if each]


@dataclass(frozen=True)
class Weights:
    """The weights that a method gave to the people of one data set."""

    id: str
    name: str
    said: str
    cells: Table
    features: Table | None
    figures: Sequence[Chart]


@dataclass(frozen=True)
class Outline:
    """A whole report."""

    title: str
    about: str
    notes: Sequence[str]
    numbers: Mapping[str, int]
    sections: Sequence[Section]
    weights: Sequence[Weights]
    maps: Mapping[str, Sequence[Chart]]
    information: Table
    facts: Mapping[str, str]
    command: str

    @property
    def figures(self) -> Iterator[tuple[str, Sequence[Chart]]]:
        """All figures of the report as files have them: a name, and the charts that are side by side."""
        for each in self.sections:
            yield f"{each.name}-trade-off", each.trade_offs
            yield f"{each.name}-path", each.paths
            yield f"{each.name}-groups", each.changes
        for weights in self.weights:
            yield f"{weights.name}-weights", weights.figures
        for name, maps in self.maps.items():
            for chart in maps:
                yield f"{name}-{chart.title}-map", [chart]

    @property
    def tables(self) -> list[Table]:
        """All tables of the report but those that stand for a figure."""
        of_sections = [
            [each.levels, *each.optional, each.differences, each.groups, each.chosen, each.budget]
            for each in self.sections
        ]
        of_weights = [[each.cells, *([each.features] if each.features else [])] for each in self.weights]
        return [table for part in (*of_sections, *of_weights, [self.information]) for table in part]


def outline(content: Content) -> Outline:
    """The report of the content; no runs at all are an error."""
    if not content.records:
        raise ValueError("there are no runs to report; expected at least one")
    readings = readings_of(content)
    numbers = numbered(content.records)
    explanation = content.explanation or {}
    return Outline(
        content.title,
        _about(content.records),
        content.notes,
        numbers,
        [_section(f"part-{place}", reading, content, numbers) for place, reading in enumerate(readings, 1)],
        [_weights(f"weights-{place}", entry) for place, entry in enumerate(explanation.get("weights", ()), 1)],
        _maps(explanation.get("maps", ())),
        information_table(_known(content.records)),
        _facts(content.records),
        content.command,
    )


def readings_of(content: Content) -> list[Reading]:
    """One reading for each data set and style; runs of which none can be compared yet are an error."""
    read_all = (read(each) for each in comparisons(content.records, content.rule))
    readings = list(filter(None, read_all))
    if not readings:
        raise ValueError(
            f"{several(len(content.records), 'run')} and no method with a seed that all of its configurations "
            "were run with; let the study go on, then report"
        )
    return readings


def numbered(records: Sequence[Record]) -> dict[str, int]:
    """The number of each method, the plain one's first, in the records' order: its colour and marker."""
    names = dict.fromkeys((plain_method(records) or BASELINES[0], *(record.method for record in records)))
    present = {record.method for record in records}
    return {name: number for number, name in enumerate(names) if name in present}


def _section(id: str, reading: Reading, content: Content, numbers: Mapping[str, int]) -> Section:
    pick = reading.headlined
    return Section(
        id=id,
        name=reading.name,
        headline=headline(reading),
        sureness=sureness(reading),
        rule=rule_in_words(reading.comparison.rule),
        regime=SENTENCES[reading.regime],
        caveats=caveats(reading),
        gains=[who_gains(reading, pick)] if pick else [],
        methods=tuple(reading.chosen),
        rivals=reading.rivals,
        levels=key_table(reading, content.paper),
        differences=differences_table(reading),
        groups=group_table(reading),
        chosen=chosen_table(reading),
        budget=budget_table(reading),
        subsets=subset_table(reading),
        losses=loss_table(reading),
        trade_offs=trade_off_charts(reading, numbers),
        changes=[group_chart(reading, numbers)] if reading.rivals else [],
        paths=path_charts(reading, numbers),
    )


def _weights(id: str, entry: Mapping[str, Any]) -> Weights:
    lifted = max(entry["cells"], key=lambda cell: cell["mean"])
    dials = ", ".join(f"{dial} {entry[dial]}" for dial in ("temperature", "balance", "strength") if dial in entry)
    return Weights(
        id,
        f"{entry['data']}, {entry['method']}",
        f"Weighed most: {group_name(lifted['class'], lifted['attribute'])}, with {lifted['mean']:.2f} on average, "
        f"where 1 is the average over all people{f' ({dials})' if dials else ''}.",
        weight_table(entry),
        feature_table(entry) if entry.get("features") else None,
        [weight_chart(entry), *([feature_chart(entry)] if entry.get("features") else [])],
    )


def _maps(entries: Sequence[Mapping[str, Any]]) -> dict[str, list[Chart]]:
    """The maps of each data set."""
    names = dict.fromkeys(str(entry["data"]) for entry in entries)
    return {name: [map_chart(entry) for entry in entries if entry["data"] == name] for name in names}


def _about(records: Sequence[Record]) -> str:
    """How much stands behind the report."""
    counts = {
        "run": len({record.run for record in records}),
        "method": len({record.method for record in records}),
        "seed": len({record.seed for record in records}),
        "data set": len({record.data for record in records}),
    }
    return ", ".join(several(count, thing) for thing, count in counts.items())


def _known(records: Sequence[Record]) -> dict[str, tuple[str, Mapping[str, Any]]]:
    """For each method as the study calls it, the name it has here and the hyperparameters of a run."""
    plain = plain_method(records)
    ordered = sorted(records, key=lambda record: record.method != plain)
    return {
        record.method: (str(record.configuration.get("method", record.method)), record.hyperparameters)
        for record in ordered
    }


def _facts(records: Sequence[Record]) -> dict[str, str]:
    """What one must have to run it again."""
    versions = (f"{name} {version}" for record in records for name, version in record.versions.items())
    hashes = (f"{record.data} {record.data_hash}" for record in records)
    diverged = sum(record.diverged is not None for record in records)
    return {
        "Study": _listed(record.study for record in records),
        "Runs": f"{len(records):,}" + (f", of which {diverged:,} diverged" if diverged else ""),
        "Seeds": _listed(str(seed) for seed in sorted({record.seed for record in records})),
        "Versions": _listed(versions),
        "Hash of the data": _listed(hashes),
    }


def _listed(values: Iterable[str]) -> str:
    return ", ".join(dict.fromkeys(values))
