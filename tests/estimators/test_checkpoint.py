"""`RAANClassifier(checkpoint=...)`: a fit whose process is killed goes on in another, to the same bits."""

import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from estimators.killed_fit import classifier, people
from raan.errors import InputError
from systems import posix

FIT = [sys.executable, Path(__file__).with_name("killed_fit.py")]


def run(*arguments):
    done = subprocess.run([*FIT, *arguments], capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def uninterrupted():
    return run()


@posix
@pytest.mark.parametrize("epochs", [3, 9], ids=["in stage one", "in stage two"])
@pytest.mark.usefixtures("as_users_call")
def test_a_fit_that_is_killed_goes_on_to_the_same_bits(tmp_path, epochs, uninterrupted):
    file = tmp_path / "fit.pt"
    child = subprocess.Popen([*FIT, file], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    written, seen = 0, None
    while written < epochs:
        assert child.poll() is None, child.communicate()
        now = file.stat().st_mtime_ns if file.exists() else seen
        written, seen = written + (now != seen), now
        time.sleep(0.001)
    child.send_signal(signal.SIGKILL)
    child.communicate()
    assert child.returncode == -signal.SIGKILL
    left = file.read_bytes()
    X, y, group = people()
    for other, data in (({"strength": 0.5}, X), ({"random_state": 1}, X), ({"precision": "bf16"}, X), ({}, X + 1)):
        with pytest.raises(InputError, match=r"fit\.pt, written by a training with other parameters or data"):
            classifier(checkpoint=file, **other).fit(data, y, sensitive_features=group)
    assert file.read_bytes() == left
    assert run(file) == uninterrupted
    assert not file.exists()  # it is done


@pytest.mark.usefixtures("as_users_call")
def test_a_file_that_is_no_checkpoint_and_a_seed_that_nobody_knows_are_errors(tmp_path):
    X, y, group = people(rows=200)
    (tmp_path / "text").write_text("not a checkpoint")
    with pytest.raises(
        InputError, match="text, which contains no training; expected a file that an interrupted fit"
    ):
        classifier(checkpoint=tmp_path / "text").fit(X, y, sensitive_features=group)
    assert (tmp_path / "text").read_text() == "not a checkpoint"
    with pytest.raises(InputError, match="checkpoint is given without random_state"):
        classifier(random_state=None, checkpoint=tmp_path / "new").fit(X, y, sensitive_features=group)
