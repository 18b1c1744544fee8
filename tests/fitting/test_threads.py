"""The number of threads changes neither the choice nor the predictions."""

import os
import subprocess
import sys

SCRIPT = """
import hashlib, warnings
import numpy as np
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.linear_model import LogisticRegression
import raan

warnings.simplefilter("ignore")

def digest(*arrays):
    return hashlib.sha256(b"".join(np.ascontiguousarray(each).tobytes() for each in arrays)).hexdigest()

def people(rows, width):
    rng = np.random.default_rng(0)
    group = rng.integers(0, 3, rows)
    X = rng.normal(size=(rows, width)) + 0.8 * group[:, None]
    return X, (X[:, 0] + 0.5 * group + rng.normal(size=rows) > 1.5).astype(int), group

# With so many numbers the threads of BLAS change the last bits of the posterior of logistic regression.
rule = dict(accuracy_drop=0.03, worst_group_drop=None, confidence=0.6, folds=2)
for estimator, *size in ((HistGradientBoostingClassifier(max_iter=10), 800, 6), (LogisticRegression(), 8000, 60)):
    X, y, group = people(*size)
    model = raan.FairFrontier(estimator, **rule).fit(X, y, sensitive_features=group)
    print(model.choice_.place, len(model.points_.weights), digest(model.points_.counts, model.predict(X)))
X, y, group = people(800, 40)
reweighted = raan.AANReweighting(LogisticRegression(), temperature=0.5).fit(X, y, sensitive_features=group)
network = raan.RAANClassifier((8,), epochs=2, random_state=0).fit(X, y, sensitive_features=group)
print(digest(reweighted.predict(X)), digest(network.predict(X)))
"""


def outcome(threads):
    names = ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS")
    environment = {**os.environ, **dict.fromkeys(names, str(threads)), "OMP_WAIT_POLICY": "passive"}
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT], capture_output=True, text=True, timeout=300, env=environment
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


def test_one_thread_and_two_choose_and_predict_the_same():
    one, two = outcome(1), outcome(2)
    assert one == two
    assert any(line.split()[0] != "0" for line in one[:2])  # the plain classifier would prove little
