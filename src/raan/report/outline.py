"""All that a report says, in the order in which it says it: what the page shows and the tables are taken from."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from raan.lab.results import summary
from raan.lab.results.records import Record
from raan.lab.results.statistics import best
from raan.lab.results.summary import BASELINES, SENTENCES, Comparison, plain_method
from raan.report.charts import Chart
from raan.report.content import Content
from raan.report.method_charts import (
    feature_chart,
    group_chart,
    map_chart,
    path_charts,
    trade_off_charts,
    weight_chart,
)
from raan.report.sheets import (
    budget_table,
    chosen_table,
    differences_table,
    feature_table,
    group_table,
    information_table,
    key_table,
    loss_table,
    subset_table,
    weight_table,
)
from raan.report.tables import Table, escape_markdown, group_name, latex, markdown, rule_in_words, several
from raan.report.words import caveats, headline, significance, who_gains
from raan.text import replace_controls

Part = dict[str, Any]
"""A part of a report by the names that the template uses: sentences, tables and charts."""


@dataclass(frozen=True)
class Outline:
    """A whole report."""

    title: str
    about: str
    notes: Sequence[str]
    numbers: Mapping[str, int]
    sections: Sequence[Part]  # one for each data set and style
    weights: Sequence[Part]  # those that a method gave to the people of one data set
    maps: Mapping[str, Sequence[Chart]]
    information: Table
    facts: Mapping[str, str]
    command: str

    @property
    def figures(self) -> Iterator[tuple[str, Sequence[Chart]]]:
        """All figures of the report as files have them: a name, and the charts that are side by side."""
        for each in self.sections:
            yield f"{each['name']}-trade-off", each["trade_offs"]
            yield f"{each['name']}-path", each["paths"]
            yield f"{each['name']}-groups", each["changes"]
        for each in self.weights:
            yield f"{each['name']}-weights", each["figures"]
        for name, maps in self.maps.items():
            for chart in maps:
                yield f"{name}-{chart.title}-map", [chart]

    @property
    def tables(self) -> list[Table]:
        """All tables of the report but those that stand for a figure."""
        of_sections = ("levels", "losses", "subsets", "differences", "groups", "chosen", "budget")
        found = [each[name] for each in self.sections for name in of_sections]
        found += [each[name] for each in self.weights for name in ("cells", "features")]
        return [*(each for each in found if each), self.information]


def outline(content: Content, *, drawn: bool = True) -> Outline:
    """Return the report of the content, with or without its charts; no runs at all are an error."""
    if not content.records:
        raise ValueError("there are no runs to report; expected at least one")
    comparisons, numbers = comparisons_of(content), numbered(content.records)
    maps: dict[str, list[Chart]] = {}
    for entry in content.explanation.get("maps", ()) if drawn else ():
        maps.setdefault(str(entry["data"]), []).append(map_chart(entry))
    plain = plain_method(content.records)
    ordered = sorted(content.records, key=lambda record: record.method != plain)
    known = {
        record.method: (str(record.configuration.get("method", record.method)), record.hyperparameters)
        for record in ordered
    }
    return Outline(
        content.title,
        _about(content.records),
        content.notes,
        numbers,
        [
            _section(f"part-{place}", each, content) | (_charts(each, numbers) if drawn else {})
            for place, each in enumerate(comparisons, 1)
        ],
        [_weights(entry) for entry in content.explanation.get("weights", ())],
        maps,
        information_table(known),
        _facts(content.records),
        content.command,
    )


def comparisons_of(content: Content) -> list[Comparison]:
    """Return one comparison for each data set and style; runs of which none can be compared yet are an error."""
    found = [each for each in summary.comparisons(content.records, content.rule) if each.methods]
    if not found:
        raise ValueError(
            f"{several(len(content.records), 'run')} and no method with a seed that all of its configurations "
            "were run with; let the study go on, then report"
        )
    return found


def numbered(records: Sequence[Record]) -> dict[str, int]:
    """Return the number of each method, the plain one's first, in the records' order: its colour and marker."""
    names = dict.fromkeys((plain_method(records) or BASELINES[0], *(record.method for record in records)))
    present = {record.method for record in records}
    return {name: number for number, name in enumerate(names) if name in present}


def _section(id: str, comparison: Comparison, content: Content) -> Part:
    pick = best(comparison, comparison.others, "validation")
    return {
        "id": id,
        "name": comparison.name,
        "headline": headline(comparison),
        "sureness": significance(comparison),
        "rule": rule_in_words(comparison.rule),
        "regime": SENTENCES[comparison.attribute_use],
        "caveats": caveats(comparison),
        "gains": [who_gains(comparison, pick)] if pick else [],
        "methods": tuple(comparison.chosen),
        "others": comparison.others,
        "levels": key_table(comparison, content.paper),
        "differences": differences_table(comparison),
        "groups": group_table(comparison),
        "chosen": chosen_table(comparison),
        "budget": budget_table(comparison),
        "subsets": subset_table(comparison),
        "losses": loss_table(comparison),
    }


def _charts(comparison: Comparison, numbers: Mapping[str, int]) -> Part:
    return {
        "trade_offs": trade_off_charts(comparison, numbers),
        "changes": [group_chart(comparison, numbers)] if comparison.others else [],
        "paths": path_charts(comparison, numbers),
    }


def _weights(entry: Mapping[str, Any]) -> Part:
    lifted = max(entry["cells"], key=lambda cell: cell["mean"])
    shown = ", ".join(f"{name} {entry[name]}" for name in ("temperature", "balance", "strength") if name in entry)
    features = bool(entry.get("features"))
    return {
        "name": f"{entry['data']}, {entry['method']}",
        "said": f"Weighed most: {group_name(lifted['class'], lifted['attribute'])}, with {lifted['mean']:.2f} on "
        f"average, where 1 is the average over all people{f' ({shown})' if shown else ''}.",
        "cells": weight_table(entry),
        "features": feature_table(entry) if features else None,
        "figures": [weight_chart(entry), *([feature_chart(entry)] if features else [])],
    }


def _about(records: Sequence[Record]) -> str:
    """Return how much stands behind the report."""
    counts = {
        "run": len({record.run for record in records}),
        "method": len({record.method for record in records}),
        "seed": len({record.seed for record in records}),
        "data set": len({record.data for record in records}),
    }
    return ", ".join(several(count, thing) for thing, count in counts.items())


def _facts(records: Sequence[Record]) -> dict[str, str]:
    """Return what one must have to run it again."""
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


def markdown_report(content: Content) -> str:
    """Headlines and tables in Markdown."""
    whole = outline(content, drawn=False)
    said = "\n".join(f"- {escape_markdown(line)}" for line in _lines(whole))
    tables = "\n".join(map(markdown, whole.tables))
    return f"# {escape_markdown(whole.title)}\n\n{said}\n\n{tables}"


def latex_report(content: Content) -> str:
    """Tables in LaTeX, the headlines as comments above them."""
    whole = outline(content, drawn=False)
    said = "\n".join(f"% {' '.join(replace_controls(line).split())}" for line in (whole.title, *_lines(whole)))
    return f"% Needs the package booktabs.\n{said}\n\n" + "\n".join(map(latex, whole.tables))


def _lines(whole: Outline) -> list[str]:
    """What the report says in words: notes, then for each section its headline and how sure it is."""
    of_sections = []
    for each in whole.sections:
        parts = (f"{each['name']}: {each['headline']}", each["sureness"], each["regime"], *each["caveats"])
        of_sections.append(" ".join(filter(None, parts)))
    rules = dict.fromkeys(f"Reported is the point with {each['rule']}." for each in whole.sections)
    return [*whole.notes, *of_sections, *rules]
