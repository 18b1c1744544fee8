"""The catalogue knows what each data set needs, where that is, and whether it is sound."""

import gzip
import hashlib
from dataclasses import replace
from pathlib import Path

import pytest

from raan.data import DataUnavailable
from raan.data.download import DataFile, locate
from raan.lab.datasets.catalogue import DATA
from raan.lab.datasets.description import CATALOGUE, DESCRIPTIONS, Description, check, fetch, look_up, state
from web import BODY, SHA256


def described(*urls: str, name: str = "file.csv") -> DataFile:
    return DataFile("set", name, SHA256, len(BODY), urls)


def about(*files: DataFile) -> Description:
    return replace(CATALOGUE["adult"], name="set", files=files)


def put(path: Path, body: bytes = BODY) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(body)
    return path


def test_the_papers_data_sets_are_there_under_their_names() -> None:
    assert list(CATALOGUE) == ["adult", "meps", "celeba", "civil_comments", "measuring_hate_speech"]
    assert all(name == each.name for name, each in CATALOGUE.items())


@pytest.mark.parametrize("each", CATALOGUE.values(), ids=lambda each: each.name)
def test_every_data_set_says_what_must_be_known_of_it(each: Description, cache: Path) -> None:
    assert all((each.title, each.task, each.attribute, each.licence, each.citation, each.cautions))
    assert all(file.urls or file.advice for file in each.files)
    assert state(each) in ("can be fetched", "put it there")


def test_a_name_that_nothing_has_is_refused_with_those_there_are() -> None:
    with pytest.raises(ValueError, match="there is no data set 'adlut'; expected one of adult, meps"):
        look_up("adlut")


def test_the_state_is_that_of_all_files_together(cache: Path) -> None:
    offered = [described("http://127.0.0.1:9/good", name=name) for name in ("a", "b")]
    assert state(about(*offered)) == "can be fetched"
    assert state(about(*offered, described(name="c"))) == "put it there"
    put(cache / "set" / "a")
    assert state(about(*offered)) == "can be fetched"
    put(cache / "set" / "b")
    assert state(about(*offered)) == "here"


def test_files_are_found_in_the_folder_of_the_environment(
    tmp_path: Path, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    where = put(tmp_path / "shared" / "set" / "file.csv")
    monkeypatch.setenv("RAAN_DATA", str(tmp_path / "shared"))
    assert locate(described()) == where
    assert described().target == cache / "set" / "file.csv"


def test_a_file_is_fetched_once(server: str, cache: Path) -> None:
    told: list[int] = []
    file = described(f"{server}/good")
    assert fetch(file, lambda done, total: told.append(done)) == cache / "set" / "file.csv"
    assert told[-1] == len(BODY)
    told.clear()
    assert fetch(file, lambda done, total: told.append(done)) == cache / "set" / "file.csv"
    assert told == []


def test_what_nobody_offers_is_said_how_to_get(cache: Path) -> None:
    with pytest.raises(DataUnavailable, match=r"(?s)one or two or three of the data set set .*Ask for it\."):
        fetch(DataFile("set", "one", aliases=("two",), substitutes=("three",), advice="Ask for it."))


@pytest.mark.parametrize(
    ("name", "body", "sound", "said"),
    [
        ("file.csv", BODY, True, "here, and as published"),
        ("other.csv.gz", gzip.compress(BODY), True, "here, and as published"),
        ("file.csv", b"x", False, f"not as published: its sha256 is {hashlib.sha256(b'x').hexdigest()}; expected"),
        ("other.csv.gz", gzip.compress(BODY)[:100], False, "cannot be read: "),
        (
            "other.csv.gz",
            gzip.compress(BODY)[:10] + b"\xff" * 99,
            False,
            "cannot be read: ",
        ),
        ("instead.csv", b"x", None, "here; its checksum is not known"),
    ],
)
def test_a_file_is_compared_with_the_published_one(
    cache: Path, name: str, body: bytes, sound: bool | None, said: str
) -> None:
    where = put(cache / "set" / name, body)
    finding = check(replace(described(), aliases=("other.csv.gz",), substitutes=("instead.csv",)))
    assert (finding.path, finding.sound) == (where, sound)
    assert finding.note.startswith(said)


def test_a_file_that_is_not_here_is_not_sound(cache: Path) -> None:
    assert check(DataFile("set", "a")) == (cache / "set" / "a", False, "not here")
    assert check(described("http://127.0.0.1:9/good")).note == "not here; it can be fetched"


def test_a_file_of_unknown_bytes_is_neither_sound_nor_not(cache: Path) -> None:
    assert check(DataFile("set", put(cache / "set" / "a").name)).sound is None


def test_the_real_files_are_here_and_sound(real_data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RAAN_DATA", str(real_data))
    for name in ("adult", "meps", "measuring_hate_speech"):
        files = CATALOGUE[name].files
        if all(locate(file) for file in files):
            assert state(CATALOGUE[name]) == "here"
            assert [check(file).note for file in files] == ["here, and as published" for _ in files]


def test_a_study_may_name_every_published_data_set_and_two_more() -> None:
    assert [*DATA] == [*DESCRIPTIONS] == [*CATALOGUE, "toy", "table"]
    assert all({*each.required} <= {*each.options} for each in DATA.values())
