"""What the package imports is what it declares."""

import ast
import re
import sys
import tomllib
from collections.abc import Iterator
from importlib.metadata import packages_distributions
from pathlib import Path

import pytest

import raan

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
EXTRAS = {name: needs for name, needs in PROJECT["optional-dependencies"].items() if name != "dev"}
CONTRACTS = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]["contracts"]
FLOOR = tuple(next(each["source_modules"] for each in CONTRACTS if each["type"] == "forbidden"))
"""The rooms that a light install has."""
BEYOND: set[str] = set()
"""Modules in those packages that are imported within functions, once an extra is known to be there."""
OPTIONAL = {"timm", "huggingface_hub", "transformers"}
"""What is used where the user has it, or comes with an extra's own dependencies."""
DEV = next(need for need in PROJECT["optional-dependencies"]["dev"] if need.startswith("raan["))
"""Developers have every extra."""
MODULES = sorted((ROOT / "src" / "raan").rglob("*.py"))


def plain(requirement: str) -> str:
    """The name of a requirement, as package indexes compare names."""
    return re.split(r"[<>=!~;\[ ]", requirement)[0].lower().replace("_", "-")


def imported(module: Path) -> Iterator[tuple[str, bool]]:
    """The top-level packages from elsewhere that a module imports, and whether it does so within a function."""
    tree = ast.parse(module.read_text(encoding="utf-8"))
    inside = {node for each in ast.walk(tree) if _is_later(each) for node in ast.walk(each)}
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


def _is_later(node: ast.AST) -> bool:
    """Whether importing the module does not run the node: a function, or what only type checkers read."""
    return isinstance(node, ast.FunctionDef) or (
        isinstance(node, ast.If) and "TYPE_CHECKING" in ast.dump(node.test)
    )


@pytest.fixture(scope="module")
def distributions() -> dict[str, set[str]]:
    """The distributions that bring each importable package."""
    return {package: {*map(plain, names)} for package, names in packages_distributions().items()}


def is_light(module: Path) -> bool:
    """Whether a light install must be able to import the module."""
    name = ".".join(module.relative_to(ROOT / "src").with_suffix("").parts).removesuffix(".__init__")
    return name not in BEYOND and any(name == room or name.startswith(f"{room}.") for room in (*FLOOR, "raan.cli"))


def test_what_is_imported_is_declared_and_the_light_rooms_need_no_extra_to_be_imported(distributions):
    always = {*map(plain, PROJECT["dependencies"])}
    with_extras = always | {plain(need) for needs in EXTRAS.values() for need in needs}
    undeclared = [
        f"{module.relative_to(ROOT)} imports {package}"
        for module in MODULES
        for package, within in imported(module)
        if not distributions.get(package, {package}) & (always if is_light(module) and not within else with_extras)
        and package not in OPTIONAL
    ]
    assert undeclared == []


def test_what_is_declared_is_imported(distributions):
    used = {
        name for module in MODULES for package, _ in imported(module) for name in distributions.get(package, ())
    }
    assert {*map(plain, PROJECT["dependencies"])} - used == set()


def test_the_version_is_stated_in_one_place_and_the_citation_follows_it():
    assert "version" in PROJECT["dynamic"]
    assert "version" not in PROJECT
    stated = re.search(r"^version: (.+)$", (ROOT / "CITATION.cff").read_text(), flags=re.M)
    assert stated
    assert stated.group(1) == raan.__version__
    assert f"## {raan.__version__}" in (ROOT / "CHANGELOG.md").read_text()


def test_extras_that_need_torch_bring_it_and_a_plain_install_does_not():
    assert "torch" not in {*map(plain, PROJECT["dependencies"])}
    assert "torch" in {*map(plain, EXTRAS["torch"])}
    for name in ("bench", "docs", "image", "ray", "text"):
        assert "raan[torch]" in EXTRAS[name]
    assert set(EXTRAS) == set(re.findall(r"\w+", DEV)) - {"raan"}
