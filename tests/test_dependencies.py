"""What the package imports is what it declares."""

import ast
import re
import sys
import tomllib
from collections.abc import Iterator
from importlib.metadata import packages_distributions
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
EXTRAS = {name: needs for name, needs in PROJECT["optional-dependencies"].items() if name != "dev"}
MODULES = sorted((ROOT / "src" / "raan").rglob("*.py"))


def plain(requirement: str) -> str:
    """The name of a requirement, as package indexes compare names."""
    return re.split(r"[<>=!~;\[ ]", requirement)[0].lower().replace("_", "-")


def imported(module: Path) -> Iterator[tuple[str, bool]]:
    """The top-level packages from elsewhere that a module imports, and whether it does so within a function."""
    tree = ast.parse(module.read_text(encoding="utf-8"))
    inside = {node for each in ast.walk(tree) if isinstance(each, ast.FunctionDef) for node in ast.walk(each)}
    for node in ast.walk(tree):
        names = []
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module:
            names = [node.module]
        for name in names:
            package = name.partition(".")[0]
            if package != "raan" and package not in sys.stdlib_module_names:
                yield package, node in inside


@pytest.fixture(scope="module")
def distributions() -> dict[str, set[str]]:
    """The distributions that bring each importable package."""
    return {package: {*map(plain, names)} for package, names in packages_distributions().items()}


def test_what_is_imported_is_declared_and_at_module_level_it_needs_no_extra(distributions):
    always = {*map(plain, PROJECT["dependencies"])}
    with_extras = always | {plain(need) for needs in EXTRAS.values() for need in needs}
    undeclared = [
        f"{module.relative_to(ROOT)} imports {package}"
        for module in MODULES
        for package, within in imported(module)
        if not distributions.get(package, {package}) & (with_extras if within else always)
    ]
    assert undeclared == []


def test_what_is_declared_is_imported(distributions):
    used = {name for module in MODULES for package, _ in imported(module) for name in distributions[package]}
    assert {*map(plain, PROJECT["dependencies"])} - used == set()
