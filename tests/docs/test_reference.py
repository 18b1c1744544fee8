"""The API reference: every public name has a place in docs/api."""

import re
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path

import pytest

API = Path(__file__).parents[2] / "docs" / "api"
SHOWN = set(re.findall(r"^::: (\S+)$", "".join(page.read_text() for page in API.glob("*.md")), flags=re.M))
"""What the pages ask mkdocstrings to show: modules with the names that they export, or single names."""

PUBLIC = (
    "raan",
    "raan.data",
    "raan.fairness",
    "raan.integrations.transformers",
    "raan.measures",
    "raan.methods",
    "raan.metrics",
    "raan.nn",
    "raan.optim",
)


def is_shown(module, name):
    """Whether a page shows the name, by itself or with its module.

    A name that is a submodule's too, such as `raan.fairness.metrics`, is shown only where it is asked for: with
    its module mkdocstrings would take it for the submodule, and leave it out.
    """
    itself = getattr(import_module(module), name)
    home = getattr(itself, "__module__", module)
    if {f"{module}.{name}", f"{home}.{name}", f"raan.{name}"} & SHOWN:
        return True
    package = hasattr(import_module(module), "__path__")
    return module in SHOWN and not (package and find_spec(f"{module}.{name}"))


@pytest.mark.parametrize("module", PUBLIC)
def test_the_reference_shows_every_public_name(module):
    names = [name for name in import_module(module).__all__ if not name.startswith("_")]
    assert names
    assert [name for name in names if not is_shown(module, name)] == []


@pytest.mark.parametrize("path", sorted(SHOWN))
def test_what_the_reference_shows_exists(path):
    home, _, name = path.rpartition(".")
    if home:
        assert hasattr(import_module(home), name) or find_spec(path)
