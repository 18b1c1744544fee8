"""Studies that are no comparison: the paper's pictures, computed as plain data and kept as one JSON file."""

import json
from pathlib import Path
from typing import Any

from raan._version import versions
from raan.io.files import write_text
from raan.lab.results.records import hash_of
from raan.lab.study.plan import describe_stage, to_plain
from raan.lab.study.study import Entry, Study
from raan.lab.study.training import one_thread
from reproduce.figures.convergence import convergence_content
from reproduce.figures.options import ConvergenceOptions, RepresentationOptions, ToyOptions, read_options
from reproduce.figures.representation import representation_content
from reproduce.figures.toy import toy_content


def carry_out_picture(study: Study, path: str | Path) -> dict[str, Any]:
    """What the picture shows, written to the path whole or not at all; the same study gives the same bytes."""
    options = read_options(study)
    with one_thread():
        match options:
            case ToyOptions():
                content = toy_content(options, study.seeds)
            case RepresentationOptions():
                content = representation_content(options, study)
            case ConvergenceOptions():
                content = convergence_content(options, study)
            case _:
                raise ValueError(f"{study.name} is a {study.kind}; carry_out is for those")
    defined = definition(study)
    whole = {"format": 1, "study": study.name, "title": study.title, **defined, "hash": hash_of(defined)}
    whole |= {"versions": versions(), **content}
    text = json.dumps(whole, separators=(",", ":"), ensure_ascii=False) + "\n"
    write_text(path, text)
    return dict(json.loads(text))  # as a reader of the file has it


def definition(study: Study) -> dict[str, Any]:
    """All that the picture depends on, but the data themselves."""
    return {
        "kind": study.kind,
        "options": dict(study.options),
        "seeds": list(study.seeds),
        "styles": list(study.styles),
        "first": describe_stage(study.first),
        "second": describe_stage(study.second),
        "data": [{"name": data.name, "architecture": data.architecture, **data.options} for data in study.data],
        "methods": [_entry(entry) for entry in study.methods],
    }


def _entry(entry: Entry) -> dict[str, Any]:
    """A method of the study and its dials."""
    dials = {dial: [to_plain(value) for value in values] for dial, values in entry.grid.items()}
    listed = {"settings": list(entry.settings)} if entry.settings else {}
    return {
        "name": entry.name,
        "method": entry.method,
        "learning_rate": list(entry.learning_rate),
        **dials,
        **listed,
    }
