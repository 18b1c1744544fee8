"""Parquet files of more rows than memory holds: a sample is read, and rows predicted, some at a time."""

import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from pyarrow.parquet import ParquetFile

import raan.tables.read as reading
from memory import grown_by
from raan.tables.load import from_frame
from raan.tables.read import read

ROWS = 750_000

LINUX = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="memory is read from /proc")


def numbered(path: Path, rows: int = 5000) -> Path:
    """A file whose first column says which row it is."""
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"n": np.arange(rows), "x": rng.normal(size=rows), "sex": rng.choice(["f", "m"], rows)})
    frame["y"] = np.where(frame.x + rng.normal(size=rows) > 0, "yes", "no")
    frame.to_parquet(path, row_group_size=700)
    return path


@pytest.mark.parametrize("chunk", [64, 20_000])
def test_so_many_rows_are_drawn_in_their_order_and_called_what_they_are_called_in_the_file(
    tmp_path, monkeypatch, chunk
):
    monkeypatch.setattr(reading, "CHUNK", chunk)
    table = read(numbered(tmp_path / "a.parquet"), max_rows=300, seed=1)
    drawn = table.frame["n"].to_numpy().astype(int)
    assert len(table.frame) == len(set(drawn)) == 300
    assert (np.diff(drawn) > 0).all()
    assert table.locate(7) == f"a.parquet, row {drawn[7]}"
    assert table.notes == (
        "a.parquet has 5,000 rows; 300 of them, drawn at random by the seed, are read into memory",
    )
    whole = read(tmp_path / "a.parquet")
    np.testing.assert_array_equal(table.frame["x"], whole.frame["x"].to_numpy()[drawn])
    assert not whole.notes


def test_every_row_is_as_likely_as_any_other(tmp_path, monkeypatch):
    monkeypatch.setattr(reading, "CHUNK", 7)
    file = numbered(tmp_path / "a.parquet", 40)
    seen = np.zeros(40)
    for seed in range(400):
        seen[read(file, max_rows=10, seed=seed).frame["n"].to_numpy().astype(int)] += 1
    assert (np.abs(seen / 400 - 0.25) < 5 * (0.25 * 0.75 / 400) ** 0.5).all()


@pytest.mark.parametrize("kind", ["csv", "parquet", "frame"])
def test_the_seed_decides_which_rows_of_a_file_or_frame_are_drawn(tmp_path, kind):
    numbered(tmp_path / "a.parquet")
    frame = pd.read_parquet(tmp_path / "a.parquet")
    frame.to_csv(tmp_path / "a.csv", index=False)
    given = frame if kind == "frame" else tmp_path / f"a.{kind}"
    first, again, other = (read(given, max_rows=50, seed=seed).frame["n"].to_numpy() for seed in (0, 0, 1))
    np.testing.assert_array_equal(first, again)
    assert len(first) == len(other) == 50
    assert (first != other).any()
    assert len(read(given, max_rows=5000).frame) == 5000
    assert not read(given, max_rows=5000).notes


def test_of_rows_that_do_not_fit_into_memory_as_many_as_do_are_used_and_it_is_said(tmp_path, monkeypatch):
    monkeypatch.setattr(reading, "count_rows_in_memory", lambda columns: 100 * columns)
    with pytest.warns(UserWarning, match="a.parquet has 5,000 rows; 400 of them, drawn at random"):
        loaded = from_frame(numbered(tmp_path / "a.parquet"), "y", "sex", ignore="n")
    assert loaded.rows == 400
    assert any("400 of them" in text for text in loaded.warnings)


def test_half_of_the_memory_is_for_the_table():
    pages = reading.os.sysconf("SC_PHYS_PAGES") * reading.os.sysconf("SC_PAGE_SIZE")
    assert reading.count_rows_in_memory(10) == pages // 2 // 400


@pytest.fixture(scope="module")
def large(tmp_path_factory) -> Path:
    """290 MB that do not compress, in one group of rows."""
    path = tmp_path_factory.mktemp("large") / "large.parquet"
    rng = np.random.default_rng(0)
    columns = {f"x{place}": rng.random(ROWS) for place in range(50)}
    columns["sex"], columns["y"] = rng.choice(["f", "m"], ROWS), np.where(columns["x0"] > 0.5, "yes", "no")
    pd.DataFrame(columns).to_parquet(path, row_group_size=ROWS, compression=None, use_dictionary=False)
    assert path.stat().st_size > 280 * 2**20
    return path


@LINUX
def test_a_sample_is_read_within_a_quarter_of_the_files_size(large):
    script = """
import sys
from raan.tables.read import read
read(sys.argv[2], max_rows=100)
with Peak():
    table = read(sys.argv[1], max_rows=10_000)
assert len(table.frame) == 10_000
"""
    few = numbered(large.parent / "few.parquet")
    assert grown_by(script, large, few) < large.stat().st_size / 2**20 / 4


@LINUX
@pytest.mark.exhaustive
def test_a_model_is_fitted_by_a_sample_and_predicts_all_rows_within_a_quarter_of_the_files_size(large, tmp_path):
    few = tmp_path / "few.parquet"
    next(ParquetFile(large, memory_map=True).iter_batches(2000)).to_pandas().to_parquet(few)
    script = """
import sys
from raan.cli import main
large, few, out = sys.argv[1:4]
def run(*arguments):
    sys.argv = ["raan", *arguments]
    try:
        main()
    except SystemExit as end:
        assert end.code in (0, 1, None), end.code
options = ["--label", "y", "--attribute", "sex", "--minutes", "0.05", "--quiet"]
run("fit", few, *options, "--out", out + "/warm")
run("predict", out + "/warm", few, "--out", out + "/few.csv", "--quiet")
with Peak():
    run("fit", large, *options, "--max-rows", "2000", "--out", out + "/fair")
    run("predict", out + "/fair", large, "--out", out + "/all.parquet", "--quiet")
"""
    assert grown_by(script, large, few, tmp_path, timeout=500) < large.stat().st_size / 2**20 / 4
    assert ParquetFile(tmp_path / "all.parquet").metadata.num_rows == ROWS
    assert "drawn at random by the seed" in (tmp_path / "fair" / "model-card.md").read_text()
