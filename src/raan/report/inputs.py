"""Where a report's content comes from: results files and study files."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from raan.fairness.rule import Rule
from raan.lab.results.explanation import parse_explanation
from raan.lab.results.records import Record, explanation_of, read, shards_of
from raan.lab.studies import find, read_rule
from raan.report.content import Content
from raan.report.measures import rule_in_words

_EXPLAINED = ("weights", "maps")


def load(sources: Sequence[str | Path], results: str | Path = "results") -> Content:
    """What several sources hold together; a run that several have counts once. A study's runs are in `results`."""
    parts = [_source(Path(source), Path(results)) for source in sources]
    runs = {
        (record.data, record.style, record.method, record.run): record for part in parts for record in part.records
    }
    explanations = [part.explanation for part in parts if part.explanation]
    return Content(
        title=", ".join(dict.fromkeys(part.title for part in parts)),
        records=list(runs.values()),
        explanation={key: [each for found in explanations for each in found.get(key, ())] for key in _EXPLAINED},
        paper={key: number for part in parts for key, number in (part.paper or {}).items()},
        rule=parts[0].rule,
        notes=[*(note for part in parts for note in part.notes), *_other_rules(parts)],
        command="\n".join(filter(None, (part.command for part in parts))),
    )


def _source(path: Path, folder: Path) -> Content:
    """The content of a study file, a packaged study, a folder or a results file."""
    if find(path).suffix == ".toml":
        # The one bridge to the engine: which runs are the study's is known by its methods.
        from raan.lab.study.plan import view
        from raan.lab.study.study import read_study

        study = read_study(path)
        results = _file(folder / f"{study.results}.jsonl.gz")
        return replace(
            results,
            title=study.title,
            records=view(results.records, study),
            # The explanation is of what the rule of the study itself chose.
            explanation=None if study.base else results.explanation,
            paper=study.paper,
            rule=study.select,
            command=f"raan study {path}",
        )
    return _file(path)


def _file(path: Path) -> Content:
    """The runs of a results file, and the explanation beside it."""
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
        rule=_rule(explanation or {}, records),
        notes=[going_on] if shards.is_dir() else [],
    )


def _rule(stated: Mapping[str, Any], records: Sequence[Record]) -> Rule:
    """The rule that is stated beside the runs, or that of the packaged study they are of, or the default."""
    if "rule" in stated:
        return Rule(**stated["rule"])
    return read_rule(records[0].study) or Rule()


def _other_rules(parts: Sequence[Content]) -> Iterator[str]:
    """A note where the sources were chosen by different rules."""
    if any(part.rule != parts[0].rule for part in parts):
        yield (
            f"The sources have different rules. Here all are read by that of {parts[0].title}: "
            f"{rule_in_words(parts[0].rule)}."
        )


def _explanation(path: Path) -> Mapping[str, Any] | None:
    """What stands in the explanation beside the results; None if there is none."""
    file = explanation_of(path)
    if not file.is_file():
        return None
    try:
        found = parse_explanation(file.read_bytes())
        Rule(**found.get("rule", {}))
    except (KeyError, TypeError, ValueError, RecursionError) as error:
        raise ValueError(
            f"{file} is no explanation of results ({error}); delete it to report without it"
        ) from error
    return found
