"""The studies that come with the package: the tables of the paper, equal budgets, ablations, and the demo."""

import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from raan.fairness.rule import Rule, margin_of

FOLDER = Path(__file__).parent


def names() -> list[str]:
    """List the packaged studies."""
    return sorted(file.stem for file in FOLDER.glob("*.toml"))


def find(name: str | Path) -> Path:
    """Return the study file at a path; where there is none, the packaged one of that name, such as `table-2`."""
    path = Path(name)
    packaged = FOLDER / f"{path.name.removesuffix('.toml')}.toml"
    return packaged if not path.exists() and path.parent == Path() and packaged.is_file() else path


def read_rule(name: str) -> Rule | None:
    """Read the rule by which a packaged study selects; None if there is no study of that name."""
    if name not in names():
        return None
    content = tomllib.loads((FOLDER / f"{name}.toml").read_text(encoding="utf-8"))
    return read_select(content.get("select", {}))


def read_select(content: Mapping[str, Any]) -> Rule:
    """Turn a study's [select] into a rule.

    With a `confidence` the accuracy budget is kept with a margin, and of equally good points the most accurate is
    selected.
    """
    if "confidence" not in content:
        return Rule(**content)
    stated = {key: value for key, value in content.items() if key != "confidence"}
    return Rule(**stated, margin=margin_of(content["confidence"]), tie=0.0)
