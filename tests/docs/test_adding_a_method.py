"""The page on adding a method, done to the letter: its code is taken from it and run."""

import importlib.util
import inspect
import json
import re
import sys
from pathlib import Path

import pytest

from commands import raan
from methods import test_contract
from raan.methods import METHODS

PAGE = (Path(__file__).parents[2] / "docs" / "adding-a-method.md").read_text()
CODE = dict(re.findall(r"```py\n# (\S+)\n(.*?)```", PAGE, flags=re.DOTALL))

CONTRACTS = [
    name
    for name, test in vars(test_contract).items()
    if name.startswith("test_") and "name" in inspect.signature(test).parameters
]
OPTIONS = {
    "classes": [2, 3],
    "attributes": [2, 4],
    "case": ["one class", "one attribute", "one sample", "nobody known"],
}


@pytest.fixture
def added(tmp_path, monkeypatch):
    """The project with the page's method: its file written, its line run, and all gone afterwards."""
    file = tmp_path / "vrex.py"
    file.write_text(CODE["src/raan/methods/vrex.py"])
    spec = importlib.util.spec_from_file_location("raan.methods.vrex", file)
    module = importlib.util.module_from_spec(spec)
    monkeypatch.setitem(sys.modules, "raan.methods.vrex", module)
    spec.loader.exec_module(module)
    monkeypatch.setitem(METHODS, "V-REx", None)  # so that the entry goes when the test does
    exec(CODE["src/raan/methods/__init__.py"], {"METHODS": METHODS})
    return METHODS["V-REx"]


def test_the_page_has_a_file_a_line_and_a_test():
    assert list(CODE) == ["src/raan/methods/vrex.py", "src/raan/methods/__init__.py", "tests/methods/test_vrex.py"]


def test_the_literal_loop_agrees(added):
    names = {}
    exec(CODE["tests/methods/test_vrex.py"], names)
    names["test_vrex"]()


@pytest.mark.parametrize("contract", CONTRACTS)
def test_the_contracts_hold_without_a_word(contract, added, tmp_path):
    test = getattr(test_contract, contract)
    wanted = set(inspect.signature(test).parameters) - {"name", "tmp_path"}
    fixed = {"tmp_path": tmp_path} if "tmp_path" in inspect.signature(test).parameters else {}
    for number in range(max((len(OPTIONS[option]) for option in wanted), default=1)):
        test(name="V-REx", **fixed, **{option: OPTIONS[option][number] for option in wanted})


def test_the_command_line_lists_it(added):
    entries = {entry["name"]: entry for entry in json.loads(raan("methods", "--json").stdout)}
    entry = entries["V-REx"]
    assert entry["class"] == "VREx"
    assert entry["debiases"] == ["encoder", "head"]
    assert entry["hyperparameters"]["weight"] == {"value": 1.0, "default": 1.0, "grid": [0.1, 1.0, 10.0]}


def test_what_the_page_says_of_the_code_is_there():
    root = Path(__file__).parents[2]
    for path in re.findall(r"`((?:tests|src|docs)/[\w/.-]+)`", PAGE):
        assert (root / path).exists(), path
    for dotted in re.findall(r"`(raan(?:\.\w+)+)`", PAGE):
        module, _, name = dotted.rpartition(".")
        assert (
            importlib.util.find_spec(dotted) if name == "dfr" else hasattr(importlib.import_module(module), name)
        )
