import json
import os
import shutil
import subprocess

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from commands import ENVIRONMENT, RAAN, people, raan, said
from raan import load


@pytest.fixture(scope="module")
def fitted(tmp_path_factory):
    folder = tmp_path_factory.mktemp("predict")
    table = people(folder / "people.csv", rows=800)
    result = raan(
        "fit", table, "--label", "hired", "--attribute", "sex", "--ignore", "id", "--out", folder / "out",
        "--minutes", 0.05, "--quiet",
    )  # fmt: skip
    assert result.returncode in (0, 1), result.stderr
    return table, folder / "out"


def test_predictions_are_the_saved_models_row_by_row_with_identifiers_as_they_were(fitted, tmp_path):
    table, out = fitted
    result = raan("predict", out, table, "--out", tmp_path / "p.csv", "--id", "id")
    assert result.returncode == 0, result.stderr
    found = pd.read_csv(tmp_path / "p.csv", dtype={"id": str})
    model = load(out / "model")
    assert found.columns.tolist() == ["id", "prediction", "probability_no", "probability_yes"]
    assert found["id"].tolist() == [f"{row:06d}" for row in range(800)]
    assert found["prediction"].tolist() == model.predict(table).tolist()
    assert np.allclose(found[["probability_no", "probability_yes"]], model.predict_proba(table), atol=1e-6)


def test_columns_in_another_order_and_further_ones_make_no_difference(fitted, tmp_path):
    table, out = fitted
    frame = pd.read_csv(table, dtype=str, keep_default_na=False)
    frame[frame.columns[::-1]].assign(more="x").to_csv(tmp_path / "other.csv", index=False)
    for name, data in (("a", table), ("b", tmp_path / "other.csv")):
        assert raan("predict", out, data, "--out", tmp_path / f"{name}.csv").returncode == 0
    assert (tmp_path / "a.csv").read_text() == (tmp_path / "b.csv").read_text()


def test_parquet_in_and_out_and_all_columns_kept(fitted, tmp_path):
    table, out = fitted
    frame = pd.read_csv(table, dtype={"id": str})
    frame.to_parquet(tmp_path / "people.parquet")
    result = raan("predict", out, tmp_path / "people.parquet", "--out", tmp_path / "p.parquet", "--keep", "all")
    assert result.returncode == 0, result.stderr
    found = pd.read_parquet(tmp_path / "p.parquet")
    assert found.columns.tolist()[:6] == frame.columns.tolist()
    pd.testing.assert_frame_equal(found[frame.columns.tolist()], frame, check_dtype=False)
    assert found["prediction"].tolist() == load(out / "model").predict(table).tolist()


@pytest.mark.parametrize("out", ["p.csv", "p.parquet"])
def test_whole_numbers_of_a_parquet_file_stay_whole_where_some_are_missing(fitted, tmp_path, out):
    """As floats, the identifiers of two people would be one."""
    table, folder = fitted
    identifiers = [None if row % 5 == 0 else 2**53 + row for row in range(800)]
    frame = pa.Table.from_pandas(pd.read_csv(table).drop(columns="id"), preserve_index=False)
    frame = frame.append_column("id", pa.array(identifiers, pa.int64())).replace_schema_metadata(None)
    pq.write_table(frame, tmp_path / "people.parquet")
    options = ("--out", tmp_path / out, "--id", "id", "id")  # an identifier that is named twice is written once
    result = raan("predict", folder, tmp_path / "people.parquet", *options)
    assert result.returncode == 0, result.stderr
    if out == "p.csv":
        found = pd.read_csv(tmp_path / out, dtype={"id": "Int64"})["id"]
    else:
        found = pq.read_table(tmp_path / out)["id"].to_pandas(integer_object_nulls=True)
    assert [None if pd.isna(each) else each for each in found] == identifiers


def test_a_dash_writes_to_standard_output(fitted):
    table, out = fitted
    result = raan("predict", out, table, "--out", "-", "--id", "id")
    lines = result.stdout.splitlines()
    assert lines[0] == "id,prediction,probability_no,probability_yes"
    assert len(lines) == 801


def test_lacking_columns_are_named_with_the_nearest_and_nothing_is_written(fitted, tmp_path):
    table, out = fitted
    pd.read_csv(table).rename(columns={"age": "Age", "score": "points"}).to_csv(tmp_path / "b.csv", index=False)
    result = raan("predict", out, tmp_path / "b.csv", "--out", tmp_path / "p.csv")
    assert result.returncode == 2
    assert "lacks 2 of the 3 columns that the model was fitted to; expected 'age' (it has 'A" in said(result)
    assert "'age' (it has 'Age'), 'score'" in said(result)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["b.csv"]


def test_a_value_that_is_no_number_is_named_by_line_and_column_and_the_old_output_stays(fitted, tmp_path):
    table, out = fitted
    lines = table.read_text().splitlines()
    lines[500] = lines[500].replace(",", ",old", 1)
    (tmp_path / "b.csv").write_text("\n".join(lines) + "\n")
    (tmp_path / "p.csv").write_text("before")
    result = raan("predict", out, tmp_path / "b.csv", "--out", tmp_path / "p.csv")
    assert result.returncode == 2
    assert "line 501: the column 'age' is 'old" in said(result)
    assert "leave it empty if it is not known" in said(result)
    assert (tmp_path / "p.csv").read_text() == "before"


def test_unknown_categories_are_told_and_predicted(fitted, tmp_path):
    table, out = fitted
    pd.read_csv(table).assign(city="Bath").to_csv(tmp_path / "b.csv", index=False)
    result = raan("predict", out, tmp_path / "b.csv", "--out", tmp_path / "p.csv")
    assert result.returncode == 0
    assert (
        "the column 'city' has categories that no training row had in 800 of 800 rows: 'Bath' (800 rows)"
        in said(result)
    )


def test_columns_without_any_value_are_told(fitted, tmp_path):
    table, out = fitted
    pd.read_csv(table).assign(age="", score="").to_csv(tmp_path / "b.csv", index=False)
    result = raan("predict", out, tmp_path / "b.csv", "--out", tmp_path / "p.csv")
    assert result.returncode == 0
    assert "note: the column 'age' is missing in 800 of 800 rows" in said(result)
    assert "note: the column 'score' is missing in 800 of 800 rows" in said(result)
    assert len(pd.read_csv(tmp_path / "p.csv")) == 800


@pytest.mark.parametrize("given", ["csv", "parquet"])
@pytest.mark.parametrize("wanted", ["csv", "parquet"])
def test_of_no_rows_the_header_is_written(fitted, tmp_path, given, wanted):
    table, out = fitted
    none, written = pd.read_csv(table, dtype={"id": str})[:0], tmp_path / f"p.{wanted}"
    none.to_csv(tmp_path / "b.csv", index=False)
    none.to_parquet(tmp_path / "b.parquet")
    result = raan("predict", out, tmp_path / f"b.{given}", "--out", written, "--id", "id")
    assert result.returncode == 0, said(result)
    assert "0 rows predicted" in said(result)
    found = pd.read_csv(written) if wanted == "csv" else pd.read_parquet(written)
    assert found.columns.tolist() == ["id", "prediction", "probability_no", "probability_yes"]
    assert len(found) == 0


@pytest.mark.parametrize("name", ["p.xlsx", "p.csv.gz", "p.json"])
def test_an_output_that_would_be_something_else_than_its_name_says_is_refused(fitted, tmp_path, name):
    table, out = fitted
    result = raan("predict", out, table, "--out", tmp_path / name)
    assert result.returncode == 2
    assert f"--out ends in '.{name.split('.')[-1]}'; expected .csv, .tsv or .parquet" in said(result)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("encoding", ["hex", "rot13", "zip", "klingon"])
def test_an_encoding_that_is_none_of_text_is_refused(fitted, tmp_path, encoding):
    table, out = fitted
    result = raan("predict", out, table, "--out", tmp_path / "p.csv", "--encoding", encoding)
    assert result.returncode == 2
    assert f"--encoding is '{encoding}'; expected a text encoding, such as 'utf-8' or 'latin-1'" in said(result)


def test_the_data_are_not_written_over(fitted, tmp_path):
    table, out = fitted
    (tmp_path / "b.csv").write_bytes(table.read_bytes())
    result = raan("predict", out, tmp_path / "b.csv", "--out", tmp_path / "." / "b.csv")
    assert result.returncode == 2
    assert "is the data themselves" in said(result)
    assert (tmp_path / "b.csv").read_bytes() == table.read_bytes()


def test_a_folder_without_a_model_is_exit_code_2(fitted, tmp_path):
    table, _ = fitted
    result = raan("predict", tmp_path, table, "--out", tmp_path / "p.csv")
    assert result.returncode == 2
    assert "contains no model of raan" in said(result)


def _peak(out, data, written):
    """The largest memory that predicting takes, in MB."""
    process = subprocess.Popen(
        [RAAN, "predict", str(out), str(data), "--out", str(written), "--quiet"], env=ENVIRONMENT
    )
    _, process.returncode, usage = os.wait4(process.pid, 0)
    assert process.returncode == 0
    return usage.ru_maxrss / 1024


def test_memory_does_not_grow_with_the_rows(fitted, tmp_path):
    _, out = fitted
    small, large = people(tmp_path / "small.csv", rows=20_000), people(tmp_path / "large.csv", rows=200_000)
    # Held in memory at once, the large file's words alone would take some 100 MB.
    assert _peak(out, large, tmp_path / "l.csv") < _peak(out, small, tmp_path / "s.csv") + 50
    assert (tmp_path / "l.csv").read_text().count("\n") == 200_001


def test_quiet_prints_nothing_and_json_counts_the_rows(fitted, tmp_path):
    table, out = fitted
    quiet = raan("predict", out, table, "--out", tmp_path / "p.csv", "--quiet")
    assert (quiet.returncode, quiet.stdout, quiet.stderr) == (0, "", "")
    told = raan("predict", out, table, "--out", tmp_path / "p.csv", "--json")
    assert json.loads(told.stdout) == {"out": str(tmp_path / "p.csv"), "rows": 800, "notes": [], "drift": []}


class TestHarmlessText:
    """A spreadsheet or a terminal executes nothing in the output, and raan reads it back as it was."""

    WORDS = (
        "=1+1",
        "+44 20",
        "-x",
        "@SUM(A1)",
        "'=already",
        "\t=tab",
        "＝wide",
        "-5",
        "+3.5",
        "plain",
        "it's",
        "a\rb",
        "a\nb",
    )

    @pytest.mark.parametrize("suffix", ["csv", "tsv"])
    def test_formulas_and_line_ends_in_identifiers(self, fitted, tmp_path, suffix):
        table, out = fitted
        frame = pd.read_csv(table, dtype={"id": str})[: len(self.WORDS)].assign(id=self.WORDS)
        frame = frame.rename(columns={"id": "=id"})
        frame.to_parquet(tmp_path / "new.parquet")
        options = ("--id", "=id", "--out")
        assert raan("predict", out, tmp_path / "new.parquet", *options, tmp_path / f"p.{suffix}").returncode == 0
        raw = pd.read_csv(tmp_path / f"p.{suffix}", dtype=str, sep="\t" if suffix == "tsv" else ",")
        assert raw.columns[0] == "'=id"
        assert len(raw) == len(self.WORDS)
        for before, cell in zip(self.WORDS, raw["'=id"], strict=True):
            assert cell == (f"'{before}" if before in self.WORDS[:7] else before)
        # What was written is passed through once more, and comes out as it was.
        both = pd.concat([frame.drop(columns="=id"), raw[["'=id"]]], axis=1)
        both.to_csv(tmp_path / "again.csv", index=False, quoting=1)
        result = raan("predict", out, tmp_path / "again.csv", *options, tmp_path / "again.parquet")
        assert result.returncode == 0, said(result)
        assert pd.read_parquet(tmp_path / "again.parquet")["=id"].tolist() == list(self.WORDS)

    def test_control_characters_are_replaced_in_text_and_kept_in_parquet(self, fitted, tmp_path):
        table, out = fitted
        words = ["\x1b[31mred", "\x9b2J", "\u202eabc", "plain"]
        pd.read_csv(table, dtype={"id": str})[:4].assign(id=words).to_parquet(tmp_path / "new.parquet")
        command = ("predict", out, tmp_path / "new.parquet", "--id", "id", "--out")
        result = raan(*command, tmp_path / "p.csv")
        assert "note: 3 cells have control characters, which are written as U+FFFD" in said(result)
        assert not set("\x1b\x9b\u202e") & set((tmp_path / "p.csv").read_text())
        assert raan(*command, tmp_path / "p.parquet").returncode == 0
        assert pd.read_parquet(tmp_path / "p.parquet")["id"].tolist() == words


@pytest.mark.parametrize("name", ["model", "plain", "outcome.npz"])
def test_links_out_of_a_folder_are_not_followed(fitted, tmp_path, name):
    table, out = fitted
    shutil.copytree(out, tmp_path / "fair")
    (tmp_path / "fair" / name).rename(tmp_path / "elsewhere")
    (tmp_path / "fair" / name).symlink_to(tmp_path / "elsewhere")
    commands = [("choose", tmp_path / "fair", "--out", tmp_path / "chosen", "--aim", "worst-group")]
    commands += [("predict", tmp_path / "fair", table, "--out", tmp_path / "p.csv")] if name == "model" else []
    for command in commands:
        result = raan(*command)
        assert result.returncode == 2
        assert f"{tmp_path / 'fair' / name} is a link; expected a file or a folder" in said(result)
        assert not (tmp_path / "chosen").exists()
