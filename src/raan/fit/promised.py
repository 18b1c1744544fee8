"""What a folder that `raan fit` wrote promises of its model for new rows, without loading the model."""

import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from raan.fairness.bootstrap import Estimate
from raan.results.records import explanation_of
from raan.results.stated import from_text


class Promised(NamedTuple):
    """The metrics that were promised, and the aim that the model was chosen for."""

    metrics: Mapping[str, Estimate]
    aim: str


def read_promise(folder: Path) -> Promised:
    """The promise of the folder's model; a ValueError that says what is wrong with the folder."""
    file = explanation_of(folder / "results.jsonl")
    if not file.is_file():
        raise ValueError(f"{folder} has no {file.name}; expected a folder that `raan fit` or `raan choose` wrote")
    try:
        stated = from_text(file.read_bytes())
        metrics = {str(name): _estimate(each) for name, each in stated["promise"].items()}
        return Promised(metrics, str(stated["rule"]["aim"]))
    except KeyError as error:
        raise ValueError(
            f"{file} states no {error.args[0]}: it is of an earlier version; `raan choose {folder}` writes it anew"
        ) from error
    except (ValueError, TypeError, AttributeError, RecursionError) as error:
        raise ValueError(f"{file} cannot be read: {error}") from error


def _estimate(bounds: Any) -> Estimate:
    value, low, high = (math.nan if each is None else float(each) for each in bounds)
    return Estimate(value, low, high)
