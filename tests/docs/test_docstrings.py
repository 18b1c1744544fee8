"""The examples in docstrings run, and print what they say."""

import doctest
from importlib import import_module

import pytest

MODULES = (
    "raan.data.embed",
    "raan.data.split",
    "raan.data.table",
    "raan.estimators.classifier",
    "raan.fairness.compare",
    "raan.lab.datasets.adult",
    "raan.lab.datasets.environments",
    "raan.lab.datasets.toy",
    "raan.nn.loss",
    "raan.nn.samplers",
    "raan.optim",
    "raan.reweighting.estimator",
    "raan.reweighting.weights",
)


@pytest.mark.usefixtures("as_users_call")
@pytest.mark.parametrize("name", MODULES)
def test_the_examples_of_a_module_run(name, tmp_path, monkeypatch):
    monkeypatch.setenv("RAAN_CACHE", str(tmp_path))
    found = doctest.testmod(import_module(name), optionflags=doctest.NORMALIZE_WHITESPACE)
    assert found.attempted > 0
    assert found.failed == 0
