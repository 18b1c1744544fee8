from pathlib import Path

import pytest

from raan.data.download.places import look, require
from raan.data.download.sources import DataUnavailable


def put(path: Path) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("here")
    return path


def test_a_file_given_by_its_path_is_taken_under_any_name(tmp_path: Path) -> None:
    where = put(tmp_path / "renamed")
    assert look("set", ["a.csv"], where) == where


@pytest.mark.parametrize("place", ["a.csv", "set/a.csv"])
def test_a_name_is_found_in_the_folder_given_or_in_the_data_sets_own_below_it(tmp_path: Path, place: str) -> None:
    where = put(tmp_path / place)
    assert look("set", ["a.csv"], tmp_path) == where


def test_the_first_of_the_names_that_is_there_is_taken(tmp_path: Path) -> None:
    put(tmp_path / "c.csv")
    where = put(tmp_path / "b.csv")
    assert look("set", ["a.csv", "b.csv", "c.csv"], tmp_path) == where


def test_without_a_path_the_environments_folder_comes_before_the_cache(
    tmp_path: Path, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cached = put(cache / "set" / "a.csv")
    assert look("set", ["a.csv"]) == cached
    shared = put(tmp_path / "shared" / "set" / "a.csv")
    monkeypatch.setenv("RAAN_DATA", str(tmp_path / "shared"))
    assert look("set", ["a.csv"]) == shared


def test_a_folder_that_is_given_is_the_only_one_looked_in(tmp_path: Path, cache: Path) -> None:
    put(cache / "set" / "a.csv")
    (tmp_path / "empty").mkdir()
    assert look("set", ["a.csv"], tmp_path / "empty") is None


def test_a_path_that_does_not_exist_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match=r"nowhere does not exist: expected a folder with a.csv or b.csv"):
        look("set", ["a.csv", "b.csv"], tmp_path / "nowhere")


def test_what_is_required_and_missing_is_asked_for(tmp_path: Path, cache: Path) -> None:
    with pytest.raises(
        DataUnavailable, match=r"(?s)a.csv of the data set set was not found. .*Ask Ada.*RAAN_DATA"
    ):
        require("set", ["a.csv"], None, "Ask Ada.")
    with pytest.raises(DataUnavailable, match=str(tmp_path / "set")):
        require("set", ["a.csv"], tmp_path, "Ask Ada.")
