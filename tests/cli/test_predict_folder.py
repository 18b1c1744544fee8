"""`raan predict` of a folder: one output for each file, whatever is killed, and nothing is predicted twice."""

import json
import os
import shutil
import signal
import subprocess
import time
from pathlib import Path

import pandas as pd
import pytest

from commands import ENVIRONMENT, RAAN, installed_raan, people, raan, said
from systems import linux

FILES = ("a.csv", "b.parquet", "deep/c.tsv")


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """A model, and a folder of three files of as many formats, one of them in a folder of its own."""
    folder = tmp_path_factory.mktemp("scoring")
    table = people(folder / "people.csv", rows=800)
    result = raan(
        "fit", table, "--label", "hired", "--attribute", "sex", "--ignore", "id", "--out", folder / "fair",
        "--minutes", 0.05, "--quiet",
    )  # fmt: skip
    assert result.returncode in (0, 1), result.stderr
    data = folder / "data"
    (data / "deep").mkdir(parents=True)
    people(data / "a.csv", rows=300, seed=1)
    pd.read_csv(people(folder / "b.csv", rows=200, seed=2), dtype={"id": str}).to_parquet(data / "b.parquet")
    frame = pd.read_csv(people(folder / "c.csv", rows=100, seed=3), dtype=str, keep_default_na=False)
    frame.to_csv(data / "deep" / "c.tsv", index=False, sep="\t")
    (data / "_SUCCESS").touch()
    (data / "notes.md").touch()
    return folder / "fair", data


@pytest.fixture
def copied(made, tmp_path):
    """The same, to be changed."""
    for name, each in zip(("fair", "data"), made, strict=True):
        shutil.copytree(each, tmp_path / name)
    return tmp_path / "fair", tmp_path / "data"


def score(model, data, out, *options):
    """Predict the folder; what the command says as JSON."""
    result = raan("predict", model, data, "--out", out, "--id", "id", "--workers", 1, "--json", *options)
    assert result.returncode == 0, said(result)
    return json.loads(result.stdout)


def test_each_file_has_the_output_that_it_has_alone_and_the_second_run_does_nothing(made, tmp_path):
    model, data = made
    found = score(model, data, tmp_path / "out")
    assert [found[name] for name in ("files", "predicted", "rows", "failed")] == [3, 3, 600, {}]
    for name in FILES:
        alone = tmp_path / Path(name).name
        assert raan("predict", model, data / name, "--out", alone, "--id", "id").returncode == 0
        assert alone.read_bytes() == (tmp_path / "out" / name).read_bytes()
    before = {name: (tmp_path / "out" / name).stat() for name in FILES}
    again = score(model, data, tmp_path / "out")
    assert [again[name] for name in ("files", "predicted", "rows")] == [3, 0, 600]
    assert before == {name: (tmp_path / "out" / name).stat() for name in FILES}
    assert {*os.listdir(tmp_path / "out")} == {"a.csv", "b.parquet", "deep", "_predictions.jsonl"}


def _change_the_input(model, data, out):
    people(data / "a.csv", rows=300, seed=9)


def _touch_the_input(model, data, out):
    os.utime(data / "a.csv", ns=(0, 1))


def _remove_the_output(model, data, out):
    (out / "a.csv").unlink()


def _cut_the_output(model, data, out):
    (out / "a.csv").write_text("cut")


def _cut_the_record(model, data, out):
    lines = (out / "_predictions.jsonl").read_text().splitlines()
    ours = next(line for line in lines if '"a.csv"' in line)
    others = [line for line in lines if line != ours]
    (out / "_predictions.jsonl").write_text("\n".join([*others, ours[: len(ours) // 2]]))


@pytest.mark.parametrize(
    "change", [_change_the_input, _touch_the_input, _remove_the_output, _cut_the_output, _cut_the_record]
)
def test_what_is_not_as_it_was_recorded_is_predicted_again(copied, tmp_path, change):
    model, data = copied
    score(model, data, tmp_path / "out")
    change(model, data, tmp_path / "out")
    found = score(model, data, tmp_path / "out")
    assert [found["files"], found["predicted"]] == [3, 1]
    alone = tmp_path / "alone.csv"
    assert raan("predict", model, data / "a.csv", "--out", alone, "--id", "id").returncode == 0
    assert alone.read_bytes() == (tmp_path / "out" / "a.csv").read_bytes()
    assert score(model, data, tmp_path / "out")["predicted"] == 0


def test_another_model_or_other_options_predict_everything_again(made, tmp_path):
    model, data = made
    score(model, data, tmp_path / "out")
    assert score(model, data, tmp_path / "out", "--keep", "all")["predicted"] == 3
    assert score(model / "plain", data, tmp_path / "out", "--keep", "all")["predicted"] == 3
    assert score(model / "plain", data, tmp_path / "out", "--keep", "all")["predicted"] == 0


def test_differences_from_the_training_rows_are_those_of_all_files_also_of_the_finished(copied, tmp_path):
    model, data = copied
    for name in ("a.csv", "more.csv"):
        people(data / name, rows=300, seed=1)
        pd.read_csv(data / name).assign(city="Bath").to_csv(data / name, index=False)
    note = "the column 'city' has categories that no training row had in 600 of 900 rows: 'Bath' (600 rows)"
    for predicted in (4, 0):
        found = score(model, data, tmp_path / "out")
        assert found["predicted"] == predicted
        assert found["notes"] == [note]
        assert found["drift"] == [{"column": "city", "kind": "new category", "affected": 600, "rows": 900}]
    strict = raan("predict", model, data, "--out", tmp_path / "out", "--id", "id", "--workers", 1, "--strict")
    assert strict.returncode == 2
    assert "differs from the training rows: the column 'city'" in said(strict)
    (data / "more.csv").unlink()
    gone = score(model, data, tmp_path / "out")["notes"][-1]
    assert gone == "outputs of earlier runs have no input any more: more.csv"


def test_a_file_that_cannot_be_predicted_is_named_and_the_others_are_finished(copied, tmp_path):
    model, data = copied
    whole = (data / "a.csv").read_text()
    (data / "a.csv").write_text(whole.replace("\n000007,", "\n000007,old"))
    command = ("predict", model, data, "--out", tmp_path / "out", "--id", "id", "--workers", 1)
    result = raan(*command)
    assert result.returncode == 2
    assert "1 of 3 files could not be predicted; the others are finished. The first:" in said(result)
    assert "a.csv, line" in said(result)
    assert not (tmp_path / "out" / "a.csv").exists()
    (data / "a.csv").write_text(whole)
    result = raan(*command)
    assert result.returncode == 0
    assert "600 rows in 3 files predicted (2 of them were finished before)" in said(result)


def test_folders_that_are_not_for_predictions_are_refused(made, tmp_path):
    model, data = made
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "a.csv").write_text("mine")
    (tmp_path / "empty").mkdir()
    refused = {
        (
            data,
            tmp_path / "mine",
        ): "which has other files than predictions; expected a folder that is new or empty",
        (data, data / "out"): "predictions would be data at the next run; expected another folder",
        (data, "-"): "expected a folder for its predictions",
        (tmp_path / "empty", tmp_path / "out"): "has no tables; expected files that end in",
    }
    for (given, out), words in refused.items():
        result = raan("predict", model, given, "--out", out)
        assert result.returncode == 2
        assert words in said(result)
    assert (tmp_path / "mine" / "a.csv").read_text() == "mine"
    (tmp_path / "two").mkdir()
    for name in ("a.csv", "a.csv.gz"):
        (tmp_path / "two" / name).touch()
    result = raan("predict", model, tmp_path / "two", "--out", tmp_path / "out")
    assert "has a.csv and a.csv.gz; expected one of the two" in said(result)


def test_options_of_folders_are_refused_with_a_file_and_loky_has_no_address(made, tmp_path):
    model, data = made
    result = raan("predict", model, data / "a.csv", "--out", tmp_path / "p.csv", "--workers", 2)
    assert "are for a folder of files" in said(result)
    result = raan("predict", model, data, "--out", tmp_path / "out", "--address", "tcp://127.0.0.1:1")
    assert "--address is 'tcp://127.0.0.1:1'; expected an engine with addresses; dask or ray" in said(result)


def without_torch(folder):
    """An environment in which no process can import torch."""
    folder.mkdir()
    (folder / "torch.py").write_text("raise ModuleNotFoundError('torch is blocked', name='torch')")
    paths = [str(folder), os.environ.get("PYTHONPATH", "")]
    return ENVIRONMENT | {"PYTHONPATH": os.pathsep.join(paths), "RAY_ENABLE_UV_RUN_RUNTIME_ENV": "0"}


@pytest.mark.parametrize(
    "engine", ["loky", *(pytest.param(name, marks=pytest.mark.exhaustive) for name in ("dask", "ray"))]
)
def test_an_engine_writes_the_bytes_of_one_process_without_torch(made, tmp_path, engine):
    pytest.importorskip({"dask": "distributed"}.get(engine, "joblib" if engine == "loky" else "ray"))
    model, data = made
    score(model, data, tmp_path / "one")
    command = [RAAN, "predict", model, data, "--out", tmp_path / "two", "--id", "id", "--engine", engine]
    done = subprocess.run(
        [*map(str, command), "--workers", "2"],
        env=without_torch(tmp_path / "blocked"), capture_output=True, text=True, timeout=600,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    for name in FILES:
        assert (tmp_path / "one" / name).read_bytes() == (tmp_path / "two" / name).read_bytes()


@pytest.mark.parametrize("engine", [pytest.param("dask", marks=pytest.mark.exhaustive), "ray"])
def test_an_address_where_no_cluster_answers_is_an_error_in_words(made, tmp_path, engine):
    pytest.importorskip({"dask": "distributed", "ray": "ray"}[engine])
    model, data = made
    address = ("--engine", engine, "--address", "127.0.0.1:1")
    result = installed_raan("predict", model, data, "--out", tmp_path / "out", *address)
    assert result.returncode == 2
    assert f"no {engine.title()} " in said(result)
    assert "answers at 127.0.0.1:1" in said(result)


@linux
class TestKilled:
    """A worker, or the command itself, is killed in the middle of the work."""

    ROWS, NUMBER = 20_000, 8  # so many that no worker is out of work when the first file is finished

    @pytest.fixture
    def many(self, made, tmp_path):
        (tmp_path / "many").mkdir()
        for number in range(self.NUMBER):
            people(tmp_path / "many" / f"{number}.csv", rows=self.ROWS, seed=number)
        return made[0], tmp_path / "many"

    def begin(self, model, data, out):
        command = [RAAN, "predict", model, data, "--out", out, "--id", "id", "--workers", "2", "--json"]
        process = subprocess.Popen(
            [*map(str, command)], env=ENVIRONMENT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )
        deadline = time.monotonic() + 120
        while process.poll() is None and len(self.parts(out)) < 2:  # both workers write
            assert time.monotonic() < deadline
            time.sleep(0.01)
        return process, self.workers(process.pid)

    def parts(self, out):
        return [*out.glob(".*.part")] if out.is_dir() else []

    def workers(self, process):
        listed = Path(f"/proc/{process}/task/{process}/children").read_text().split()
        return [int(each) for each in listed if b"popen_loky" in self.command(each)]

    def command(self, process):
        try:
            return Path(f"/proc/{process}/cmdline").read_bytes()
        except OSError:
            return b""

    def assert_whole(self, model, data, out, tmp_path):
        for name in ("0.csv", f"{self.NUMBER - 1}.csv"):
            alone = tmp_path / "alone.csv"
            assert raan("predict", model, data / name, "--out", alone, "--id", "id").returncode == 0
            assert alone.read_bytes() == (out / name).read_bytes()

    def test_the_file_of_a_worker_that_is_killed_is_predicted_by_another(self, many, tmp_path):
        process, workers = self.begin(*many, tmp_path / "out")
        os.kill(workers[0], signal.SIGKILL)
        shown, words = process.communicate(timeout=300)
        assert process.returncode == 0, words
        found = json.loads(shown)
        assert [found["files"], found["rows"]] == [self.NUMBER, self.NUMBER * self.ROWS]
        self.assert_whole(*many, tmp_path / "out", tmp_path)

    def test_the_command_that_is_killed_loses_nothing_finished_and_leaves_no_worker(self, many, tmp_path):
        process, workers = self.begin(*many, tmp_path / "out")
        deadline = time.monotonic() + 120
        while '"file"' not in (tmp_path / "out" / "_predictions.jsonl").read_text():
            assert time.monotonic() < deadline
            time.sleep(0.005)
        process.send_signal(signal.SIGKILL)
        process.wait()
        while any(b"popen_loky" in self.command(each) for each in workers):
            assert time.monotonic() < deadline
            time.sleep(0.05)
        process.communicate()
        recorded = (tmp_path / "out" / "_predictions.jsonl").read_text().count('"file"')
        assert recorded >= 1
        found = score(*many, tmp_path / "out")
        assert [found["files"], found["predicted"]] == [self.NUMBER, self.NUMBER - recorded]
        self.assert_whole(*many, tmp_path / "out", tmp_path)
