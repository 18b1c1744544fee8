"""The backends of joblib that people have: identical results, in real processes."""

import os
import subprocess
import sys

import pytest

SCRIPT = """
import sys
import warnings
import numpy as np
from joblib import parallel_config
from sklearn.linear_model import LogisticRegression
from raan import FairFrontier

warnings.simplefilter("ignore")

def fitted():
    rng = np.random.default_rng(0)
    sex = rng.integers(0, 2, 600)
    y = (rng.random(600) < np.where(sex == 1, 0.6, 0.3)).astype(int)
    X = np.c_[y + rng.normal(0, 1.2, 600), sex + rng.normal(0, 0.5, 600)]
    frontier = FairFrontier(LogisticRegression(), accuracy_drop=0.02, random_state=0)
    frontier.fit(X, y, sensitive_features=sex)
    return [(frontier.frontier_.counts, frontier.predict_proba(X))]

def backend(name):
    if name == "dask":
        from distributed import Client
        return Client(n_workers=2, threads_per_worker=1, dashboard_address=None)
    if name == "ray":
        import ray
        from ray.util.joblib import register_ray
        ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False)
        register_ray()

if __name__ == "__main__":
    expected = fitted()
    held = backend(sys.argv[1])
    with parallel_config(backend=sys.argv[1], n_jobs=2):
        found = fitted()
    for ours, theirs in zip(found, expected, strict=True):
        for one, other in zip(ours, theirs, strict=True):
            assert np.array_equal(one, other)
    print("identical")
"""


@pytest.mark.parametrize(
    "backend",
    ["loky", *(pytest.param(name, marks=pytest.mark.exhaustive) for name in ("threading", "dask", "ray"))],
)
def test_a_backend_gives_the_numbers_of_one_process(backend, tmp_path):
    pytest.importorskip({"dask": "distributed"}.get(backend, "joblib" if backend != "ray" else "ray"))
    script = tmp_path / "fit.py"
    script.write_text(SCRIPT)
    environment = os.environ | {"RAY_ENABLE_UV_RUN_RUNTIME_ENV": "0"}
    done = subprocess.run(
        [sys.executable, script, backend],
        capture_output=True,
        text=True,
        # Ray takes half a minute to start on two busy cores, and so does each of three rounds of fits: joblib
        # makes a new pool on it for every one, whose fresh workers import raan.
        timeout=900 if backend == "ray" else 300,
        cwd=tmp_path,
        env=environment,
    )
    assert "identical" in done.stdout, done.stderr
