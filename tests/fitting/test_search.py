"""A search over FairFrontier in worker processes keeps as many threads busy as there are cores, and no more."""

import json
import os
import subprocess
import sys

import joblib
import pytest

SCRIPT = """
import json, os, sys, time, warnings
from pathlib import Path
import numpy as np
import sklearn
from joblib import parallel_config
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.model_selection import GridSearchCV
from sklearn.utils._openmp_helpers import _openmp_effective_n_threads
from threadpoolctl import threadpool_info
from raan import FairFrontier

class Watched(HistGradientBoostingClassifier):
    def fit(self, X, y, sample_weight=None):
        begun = time.time()
        super().fit(X, y, sample_weight)
        threads = max(_openmp_effective_n_threads(), *(pool["num_threads"] for pool in threadpool_info()))
        seen = Path(sys.argv[0]).with_name("seen") / f"{os.getpid()}-{begun}"
        seen.write_text(json.dumps([os.getpid(), threads, begun, time.time()]))
        return self

if __name__ == "__main__":
    warnings.simplefilter("ignore")
    sklearn.set_config(enable_metadata_routing=True)
    if sys.argv[1] == "dask":
        from distributed import Client
        client = Client(n_workers=2, threads_per_worker=1, dashboard_address=None)
    rng = np.random.default_rng(0)
    sex = rng.integers(0, 2, 2000)
    y = (rng.random(2000) < np.where(sex == 1, 0.6, 0.3)).astype(int)
    X = np.c_[y + rng.normal(0, 1.2, 2000), sex + rng.normal(0, 0.5, 2000)]
    fair = FairFrontier(Watched(max_iter=10), accuracy_drop=0.02).set_fit_request(sensitive_features=True)
    search = GridSearchCV(fair, {"accuracy_drop": [0.01, 0.02]}, cv=2, n_jobs=2, refit=False)
    with parallel_config(backend=sys.argv[1]):
        search.fit(X, y, sensitive_features=sex)
    print(json.dumps(os.getpid()))
"""


@pytest.mark.parametrize("backend", ["loky", pytest.param("dask", marks=pytest.mark.exhaustive)])
def test_the_threads_of_two_workers_are_no_more_than_the_cores(backend, tmp_path):
    pytest.importorskip({"dask": "distributed"}.get(backend, "joblib"))
    (tmp_path / "search.py").write_text(SCRIPT)
    (tmp_path / "seen").mkdir()
    names = ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS")  # as for users, who set none
    done = subprocess.run(
        [sys.executable, tmp_path / "search.py", backend],
        env={name: value for name, value in os.environ.items() if name not in names},
        capture_output=True, text=True, timeout=300,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    fits = [json.loads(file.read_text()) for file in (tmp_path / "seen").iterdir()]
    # Two settings of two parts each; of each, three folds with a model of the class and one or two of the groups.
    assert len(fits) >= 2 * 2 * 3 * 2
    assert json.loads(done.stdout) not in {process for process, *_ in fits}  # all of them in workers
    changes = sorted([(begun, threads) for _, threads, begun, _ in fits] + [(end, -n) for _, n, _, end in fits])
    busy, most = 0, 0
    for _, change in changes:
        busy += change
        most = max(most, busy)
    assert most <= max(joblib.cpu_count(), 2)
