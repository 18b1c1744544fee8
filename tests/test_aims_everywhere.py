"""Every aim is accepted by estimators, studies, reports and commands: a new one needs no other change."""

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

import raan
from commands import raan as run
from crowd import crowd
from raan.fairness import AIMS
from raan.lab.study.study import read_study
from report.records import study as records_of
from report.records import write
from reweighting.people import people

STUDY = """
title = "small"
[select]
aim = "{aim}"
[[data]]
name = "adult"
[methods.Vanilla]
"""


@pytest.mark.filterwarnings("ignore:the classifier is the plain one")  # 500 rows say little
@pytest.mark.parametrize("aim", AIMS)
def test_estimators_take_it_in_either_spelling(aim):
    X, y, a = people(500)
    for spelling in (aim, AIMS[aim].option):
        model = raan.FairFrontier(LogisticRegression(), aim=spelling)
        assert model.fit(X, y, sensitive_features=a).frontier_.rule.aim == aim
    X, y, a = crowd(200)
    network = raan.RAANClassifier((4,), epochs=1, aim=AIMS[aim].option, random_state=0)
    assert network.fit(X, y, sensitive_features=a).frontier_.rule.aim == aim


@pytest.mark.parametrize("aim", AIMS)
def test_studies_reports_and_audits_take_it(aim, tmp_path):
    file = tmp_path / "small.toml"
    file.write_text(STUDY.format(aim=aim))
    assert read_study(file).select.aim == aim
    results = write(records_of(("Vanilla", "RAAN"), ("adam",), seeds=2, candidates=1), tmp_path / "runs.jsonl")
    shown = run("report", results, "--format", "md", "--aim", AIMS[aim].option)
    assert AIMS[aim].title in shown.stdout
    y, a = np.random.default_rng(0).integers(0, 2, (2, 200))
    assert AIMS[aim].metric in raan.audit(y, 1 - y, a).to_dict()
    assert AIMS[aim].title in str(raan.audit(y, 1 - y, a))
    assert callable(getattr(raan.metrics, AIMS[aim].metric))


def test_the_commands_list_the_aims_and_refuse_others():
    for command in ("fit", "report"):
        shown = "".join(run(command, "--help").stdout.replace("│", "").split())
        assert all(aim.option in shown for aim in AIMS.values())
    refused = run("report", "runs.jsonl", "--aim", "fairness")
    assert refused.returncode == 2
    assert "equal-opportunity" in refused.stderr
