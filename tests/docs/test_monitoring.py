"""What the guide says of certificates and monitoring holds in the committed simulation."""

import json
from pathlib import Path

import pytest

from reproduce import monitoring

GUIDE = " ".join((Path(__file__).parents[2] / "docs" / "guides" / "deploying.md").read_text().split())


@pytest.fixture(scope="module")
def found():
    return json.loads(monitoring.RESULTS.read_text())


def test_the_guide_states_the_simulation(found):
    for sentence in monitoring.describe(found):
        assert sentence in GUIDE


def test_certificates_are_valid_and_narrow(found):
    for each in found["certificates"]:
        assert each["draws"] == 1000
        assert each["failed"]["any"] <= 0.05 * each["draws"]
        assert max(each["width"].values()) <= 1.3


def test_alarms_are_rare_and_falls_are_found(found):
    for each in found["false alarms"]:
        assert (each["histories"], each["months"]) == (200, 24)
        assert each["alarms"] <= 0.05 * each["histories"]
    for each in found["falls"]:
        assert each["mean ratio"] <= 1.5
