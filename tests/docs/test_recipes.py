"""The recipes that score a Dask DataFrame, a Ray Dataset and a Spark DataFrame: run as they are printed."""

import importlib
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from textwrap import dedent

import pandas as pd
import pytest

from commands import people, raan
from raan import load

GUIDE = Path(__file__).parents[2] / "docs" / "guides" / "deploying.md"
BLOCKS = [dedent(code) for _, code in re.findall(r"^( *)```py\n(.*?)^\1```", GUIDE.read_text(), flags=re.M | re.S)]
SCORE = next(code for code in BLOCKS if "def score" in code)
ENGINES = {"dask": "dask.dataframe", "ray": "ray", "spark": "pyspark"}


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    folder = tmp_path_factory.mktemp("recipes")
    table = people(folder / "people.csv", rows=800)
    command = (
        "fit",
        table,
        "--label",
        "hired",
        "--attribute",
        "sex",
        "--ignore",
        "id",
        "--minutes",
        0.05,
        "--quiet",
    )
    assert raan(*command, "--out", folder / "fair").returncode in (0, 1)
    frame = pd.read_csv(table, dtype={"id": str})
    (folder / "data").mkdir()
    for part in range(4):
        frame[200 * part : 200 * (part + 1)].to_parquet(folder / "data" / f"{part}.parquet", index=False)
    return folder, frame


@pytest.mark.exhaustive
@pytest.mark.parametrize("engine", ENGINES)
def test_a_recipe_gives_the_predictions_of_the_model(made, engine):
    folder, frame = made
    try:
        importlib.import_module(ENGINES[engine])
    except ImportError:
        pytest.skip(f"{engine} is not installed")
    if engine == "spark" and not shutil.which("java"):
        pytest.skip("Spark needs Java")
    code = next(code for code in BLOCKS if f"scored-{engine}" in code)
    (folder / f"score_{engine}.py").write_text(
        f"{SCORE}\nif __name__ == '__main__':\n" + re.sub("(?m)^", "    ", code)
    )
    environment = os.environ | {"RAY_ENABLE_UV_RUN_RUNTIME_ENV": "0", "PYSPARK_PYTHON": sys.executable}
    done = subprocess.run(
        [sys.executable, f"score_{engine}.py"],
        cwd=folder, env=environment, capture_output=True, text=True, timeout=600,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    found = pd.read_parquet(folder / f"scored-{engine}").sort_values("id")
    model = load(folder / "fair" / "model")
    assert found["id"].tolist() == frame["id"].tolist()
    assert found["prediction"].tolist() == model.predict(frame).tolist()
    assert found["probability"].tolist() == model.predict_proba(frame)[:, 1].tolist()
