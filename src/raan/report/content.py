"""What a report is made from: results files, study files, and what they state."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, TypeAlias

from raan.fairness.rule import Rule
from raan.lab.results.records import Record, explanation_of, parse_explanation, read, shards_of
from raan.lab.studies import find, read_rule
from raan.report.tables import rule_in_words

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
    explanation: Mapping[str, Any] = field(default_factory=dict)
    paper: Paper = field(default_factory=dict)
    rule: Rule = Rule()
    notes: Sequence[str] = ()
    command: str = ""


def load(sources: Sequence[str | Path], results: str | Path = "results") -> Content:
    """Read several sources together; a run that several have counts once. A study's runs are in `results`."""
    parts = [_read_source(Path(source), Path(results)) for source in sources]
    runs = {
        (record.data, record.style, record.method, record.run): record for part in parts for record in part.records
    }
    notes = [note for part in parts for note in part.notes]
    if any(part.rule != parts[0].rule for part in parts):
        rule = f"that of {parts[0].title}: {rule_in_words(parts[0].rule)}"
        notes.append(f"The sources have different rules. Here all are read by {rule}.")
    return Content(
        title=", ".join(dict.fromkeys(part.title for part in parts)),
        records=list(runs.values()),
        explanation={
            key: [each for part in parts for each in part.explanation.get(key, ())] for key in ("weights", "maps")
        },
        paper={key: number for part in parts for key, number in part.paper.items()},
        rule=parts[0].rule,
        notes=notes,
        command="\n".join(filter(None, (part.command for part in parts))),
    )


def _read_source(path: Path, folder: Path) -> Content:
    """Return the content of a study file, a packaged study, a folder or a results file."""
    if find(path).suffix == ".toml":
        # The one bridge to the engine: which runs are the study's is known by its methods.
        from raan.lab.study.plan import view
        from raan.lab.study.study import read_study

        study = read_study(path)
        results = _read_results(folder / f"{study.results}.jsonl.gz")
        return replace(
            results,
            title=study.title,
            records=view(results.records, study),
            # The explanation is of what the rule of the study itself chose.
            explanation={} if study.base else results.explanation,
            paper=study.paper,
            rule=study.select,
            command=f"raan study {path}",
        )
    return _read_results(path)


def _read_results(path: Path) -> Content:
    """Return the runs of a results file, and the explanation beside it."""
    shards = shards_of(path)
    if not path.is_file():
        hint = f"; the packs finished so far are in {shards}" if shards.is_dir() else ""
        raise ValueError(f"{path} is not there{hint}; expected a results file, which `raan study` writes")
    records = read(path)
    if not records:
        raise ValueError(f"{path} holds no runs; expected one line of JSON for each run")
    going_on = f"More runs are finished in {shards.name}: they count once the study has been started again."
    explanation = _explanation(path)
    return Content(
        title=", ".join(dict.fromkeys(record.study for record in records)),
        records=records,
        explanation=explanation,
        # The rule that is stated beside the runs, or that of the packaged study, or the default.
        rule=Rule(**explanation["rule"]) if "rule" in explanation else read_rule(records[0].study) or Rule(),
        notes=[going_on] if shards.is_dir() else [],
    )


def _explanation(path: Path) -> Mapping[str, Any]:
    """Read the explanation beside the results; empty if there is none."""
    file = explanation_of(path)
    if not file.is_file():
        return {}
    try:
        found = parse_explanation(file.read_bytes())
        Rule(**found.get("rule", {}))
    except (KeyError, TypeError, ValueError, RecursionError) as error:
        raise ValueError(
            f"{file} is no explanation of results ({error}); delete it to report without it"
        ) from error
    return found
