"""A small mutation check: a test fails when one of the most important lines of the library is changed."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]

MUTATIONS = {
    "the budget's margin": (
        "fairness/rule.py",
        "accuracy(counts) - self.margin * error >= least",
        "accuracy(counts) >= least",
        "tests/fairness/test_rule.py",
    ),
    "the guard's margin": (
        "fairness/rule.py",
        "group_accuracy(counts) - self.margin * cell_error",
        "group_accuracy(counts)",
        "tests/fairness/test_rule.py",
    ),
    "the guard": (
        "fairness/rule.py",
        "allowed = allowed & (kept | np.isnan(guard))",
        "pass",
        "tests/fairness/test_rule.py",
    ),
    "cross-fitting": (
        "frontier/posterior.py",
        "[(fold != part, fold == part) for",
        "[(fold == fold, fold == part) for",
        "tests/frontier/test_estimator.py -k have_not_seen",
    ),
    "the margin of the tests": (
        "frontier/choice.py",
        "accepted = np.minimum(*_support(points, rule, places)) >= rule.margin",
        "accepted = np.minimum(*_support(points, rule, places)) >= 0",
        "tests/frontier/test_choice.py",
    ),
    "the order of the tests": (
        "frontier/choice.py",
        "np.logical_and.accumulate(accepted[start:])",
        "accepted[start:]",
        "tests/frontier/test_choice.py",
    ),
    "the guard's error between different people": (
        "fairness/evidence.py",
        "+ level * (1 - level) / np.maximum(rows, 1)",
        "",
        "tests/fairness/test_evidence.py",
    ),
    "the noise of a gain": (
        "frontier/choice.py",
        "return found >= rule.margin and found > 0",
        "return True",
        "tests/frontier/test_choice.py",
    ),
    "Eq. (4), group balance": (
        "neighbourhood/balance.py",
        "sizes.sum() / (sizes > 0).sum() / size",
        "sizes.sum() / (sizes > 0).sum()",
        "tests/neighbourhood/test_objective.py",
    ),
    "Eq. (5), anchors": (
        "fairness/counts.py",
        "np.asarray(shared[label] & (attribute >= 0))",
        "np.asarray(shared[label])",
        "tests/neighbourhood",
    ),
    "Eq. (6), the slope": (
        "neighbourhood/estimator.py",
        "loss.unsqueeze(-2) - ratio.unsqueeze(-1)",
        "loss.unsqueeze(-2)",
        "tests/neighbourhood/test_estimator.py",
    ),
    "Eq. (7), the moving average": (
        "neighbourhood/estimator.py",
        "torch.where(first, 0, rate.log())",
        "torch.where(first, 0, 0.0)",
        "tests/neighbourhood/test_estimator.py",
    ),
    "Eq. (8), the scale": (
        "neighbourhood/estimator.py",
        "weight * (log_mean - log_denominator).exp()",
        "weight",
        "tests/neighbourhood/test_estimator.py",
    ),
}


@pytest.mark.exhaustive
@pytest.mark.parametrize("name", MUTATIONS)
def test_a_changed_line_is_noticed(name: str, tmp_path: Path) -> None:
    file, line, changed, tests = MUTATIONS[name]
    shutil.copytree(ROOT / "src" / "raan", tmp_path / "raan")
    text = (tmp_path / "raan" / file).read_text()
    assert text.count(line) == 1, f"{file} has no single {line!r}: name the line as it is now"
    (tmp_path / "raan" / file).write_text(text.replace(line, changed))
    command = [sys.executable, "-m", "pytest", "-q", "-x", "-p", "no:cacheprovider", *tests.split()]
    environment = {**os.environ, "PYTHONPATH": str(tmp_path)}
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=600)
    assert done.returncode == 1, f"no test notices a change of {name}:\n{done.stdout[-2000:]}"
