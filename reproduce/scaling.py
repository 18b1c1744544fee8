"""What more processes buy: a small study in one process, in two workers and on Ray, and what the results are.

`python -m reproduce.scaling`. Times are of this machine; ratios are measured in one run.
"""

import tempfile
import time
from contextlib import nullcontext
from pathlib import Path

from raan.lab.study.run import run_study, use_ray
from raan.lab.study.study import read_study

STUDY = """
title = "Scaling"
seeds = 5
[first]
epochs = 2
[second]
epochs = {epochs}
learning_rate = [1e-2, 1e-3, 1e-4]
[[data]]
name = "toy"
rows = 4000
[methods.Vanilla]
[methods.RAAN]
averaging_rate = 0.5
[methods.RL-RAAN]
averaging_rate = 0.5
"""

WAYS = {"one process": 1, "2 worker processes": 2, "Ray, started for it": None}
"""Numbers of workers; None for those of Ray."""


def main(epochs: int = 4) -> None:
    """Time each way, and hold its bytes against those of the first."""
    with tempfile.TemporaryDirectory() as place:
        file = Path(place) / "scaling.toml"
        file.write_text(STUDY.format(epochs=epochs))
        study = read_study(file)
        first: tuple[float, bytes] | None = None
        for name, workers in WAYS.items():
            results = Path(place) / "results.jsonl"
            results.unlink(missing_ok=True)
            begun = time.perf_counter()
            with use_ray() if workers is None else nullcontext():
                outcome = run_study(study, results, workers=workers)
            seconds = time.perf_counter() - begun
            first = first or (seconds, results.read_bytes())
            same = "the same bytes" if results.read_bytes() == first[1] else "OTHER BYTES"
            print(f"{name:22} {outcome.finished} runs  {seconds:6.1f} s  {seconds / first[0]:.2f}  {same}")


if __name__ == "__main__":
    main()
