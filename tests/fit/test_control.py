"""Groups that are compared within the values of a column, from the command to the page and certificates."""

import json

import numpy as np
import pandas as pd
import pytest

import raan as library
from commands import raan
from raan.fit.outcome import Outcome


def draw(rows: int, seed: int) -> pd.DataFrame:
    """Two jobs that select at different rates, with different shares of women, and a gap within each."""
    rng = np.random.default_rng(seed)
    job, woman = rng.integers(2, size=rows), rng.random(rows)
    woman = woman < np.where(job == 1, 0.7, 0.3)
    skill, gap = rng.normal(0.7 * job, 1), rng.normal(0.8 * woman, 1)
    hired = skill - gap + 0.4 * woman + rng.normal(0, 0.8, rows) > 0
    return pd.DataFrame(
        {
            "job": np.where(job, "nurse", "driver"),
            "sex": np.where(woman, "f", "m"),
            "skill": skill,
            "gap": gap,
            "hired": np.where(hired, "yes", "no"),
        }
    )


@pytest.fixture(scope="module")
def fitted(tmp_path_factory):
    place = tmp_path_factory.mktemp("control")
    draw(6_000, 0).to_csv(place / "people.csv", index=False)
    draw(4_000, 1).to_csv(place / "later.csv", index=False)
    options = ["--label", "hired", "--attribute", "sex", "--control", "job", "--aim", "demographic-parity"]
    options += ["--accuracy-drop", "4", "--worst-group-drop", "10", "--minutes", "0.3"]
    result = raan("fit", "people.csv", *options, "--out", "fair", cwd=place)
    assert result.returncode in (0, 1), result.stderr
    return place, result


def test_the_rule_compares_within_strata_and_the_choice_is_fairer_there(fitted):
    place, result = fitted
    outcome = Outcome.load(place / "fair")
    assert outcome.facts.groups == ("driver × f", "driver × m", "nurse × f", "nurse × m")
    assert outcome.rule.strata == ((0, 1), (2, 3))
    assert outcome.improved
    before, after = outcome.test[0], outcome.test[outcome.place]

    def widest(counts):
        rates = counts[:, :4, 1].sum(0) / counts[:, :4].sum((0, 2))
        return max(abs(rates[0] - rates[1]), abs(rates[2] - rates[3]))

    assert outcome.rule.goal(before) == pytest.approx(widest(before))
    assert widest(after) < 0.7 * widest(before)
    assert "Groups of sex are compared within each value of job only." in " ".join(result.stdout.split())


def test_the_column_is_a_feature_all_the_same(fitted):
    place, _ = fitted
    assert "job" in library.load(place / "fair" / "model").columns
    assert "sex" not in library.load(place / "fair" / "model").columns


def test_another_choice_report_and_certificate_keep_the_strata(fitted):
    place, _ = fitted
    chosen = raan("choose", "fair", "--out", "other", "--accuracy-drop", "2", cwd=place)
    assert chosen.returncode in (0, 1), chosen.stderr
    assert Outcome.load(place / "other").rule.strata == ((0, 1), (2, 3))
    assert raan("report", "fair", "--out", "page.html", cwd=place).returncode == 0
    assert "compared within each value of job" in (place / "fair" / "model-card.md").read_text()
    found = raan("certify", "fair", "later.csv", "--json", cwd=place)
    assert found.returncode in (0, 1), found.stderr
    assert "driver × f" in json.dumps(json.loads(found.stdout), ensure_ascii=False)


def test_a_control_column_is_checked_by_name(fitted):
    place, _ = fitted
    options = ["--label", "hired", "--attribute", "sex", "--out", "none"]
    wrong = raan("fit", "people.csv", *options, "--control", "jbo", cwd=place)
    assert wrong.returncode == 2
    assert "is it 'job'?" in wrong.stderr
    same = raan("fit", "people.csv", *options, "--control", "sex", cwd=place)
    assert same.returncode == 2
    assert "--control" in same.stderr
