"""The catalogue knows what each data set needs, where that is, and whether it is sound."""

import gzip
import hashlib
from dataclasses import replace
from pathlib import Path

import pytest

from raan.data import DataUnavailable
from raan.data.download.remote import RemoteFile, Url
from raan.lab.datasets.catalogue import CATALOGUE, DATA, check, fetch, look_up, state
from raan.lab.datasets.dataset import About, Need
from web import BODY, SHA256


def described(*sources: Url, name: str = "file.csv") -> RemoteFile:
    return RemoteFile("set", name, SHA256, len(BODY), sources)


def about(*files: RemoteFile) -> About:
    return replace(CATALOGUE["adult"], name="set", needs=tuple(map(Need.of, files)))


def put(path: Path, body: bytes = BODY) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(body)
    return path


def test_the_papers_data_sets_are_there_under_their_names() -> None:
    assert list(CATALOGUE) == ["adult", "meps", "celeba", "civil_comments", "measuring_hate_speech"]
    assert all(name == each.name for name, each in CATALOGUE.items())


@pytest.mark.parametrize("each", CATALOGUE.values(), ids=lambda each: each.name)
def test_every_data_set_says_what_must_be_known_of_it(each: About, cache: Path) -> None:
    assert all((each.title, each.task, each.attribute, each.licence, each.citation, each.cautions))
    assert each.needs
    assert all(need.can_be_fetched or need.advice for need in each.needs)
    assert state(each) in ("can be fetched", "put it there")


def test_a_name_that_nothing_has_is_refused_with_those_there_are() -> None:
    with pytest.raises(ValueError, match="there is no data set 'adlut': expected one of adult, meps"):
        look_up("adlut")


def test_the_state_is_that_of_all_files_together(cache: Path) -> None:
    offered = [described(Url("http://127.0.0.1:9/good"), name=name) for name in ("a", "b")]
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
    (need,) = about(described()).needs
    assert need.here == where
    assert need.put == cache / "set" / "file.csv"


def test_a_file_is_fetched_once(server: str, cache: Path) -> None:
    told: list[int] = []
    (need,) = about(described(Url(f"{server}/good"))).needs
    assert fetch(need, lambda done, total: told.append(done)) == cache / "set" / "file.csv"
    assert told[-1] == len(BODY)
    told.clear()
    assert fetch(need, lambda done, total: told.append(done)) == cache / "set" / "file.csv"
    assert told == []


def test_what_nobody_offers_is_said_how_to_get(cache: Path) -> None:
    with pytest.raises(DataUnavailable, match=r"(?s)one or two or three of the data set set .*Ask for it\."):
        fetch(Need("set", ("one", "two"), instead=("three",), advice="Ask for it."))


@pytest.mark.parametrize(
    ("name", "body", "sound", "said"),
    [
        ("file.csv", BODY, True, "here, and as published"),
        ("other.csv.gz", gzip.compress(BODY), True, "here, and as published"),
        ("file.csv", b"x", False, f"not as published: its sha256 is {hashlib.sha256(b'x').hexdigest()}, expected"),
        ("other.csv.gz", gzip.compress(BODY)[:100], False, "cannot be read: "),
        (
            "other.csv.gz",
            gzip.compress(BODY)[:10] + b"\xff" * 99,
            False,
            "cannot be read: ",
        ),
        ("instead.csv", b"x", None, "here; what its bytes should be is not known"),
    ],
)
def test_a_file_is_compared_with_the_published_one(
    cache: Path, name: str, body: bytes, sound: bool | None, said: str
) -> None:
    where = put(cache / "set" / name, body)
    need = Need("set", ("file.csv", "other.csv.gz"), described(), instead=("instead.csv",))
    finding = check(need)
    assert (finding.path, finding.sound) == (where, sound)
    assert finding.note.startswith(said)


def test_a_file_that_is_not_here_is_not_sound(cache: Path) -> None:
    assert check(Need("set", ("a",))) == (cache / "set" / "a", False, "not here")
    offered = Need("set", ("a",), described(Url("http://127.0.0.1:9/good")))
    assert check(offered).note == "not here; it can be fetched"


def test_a_file_of_unknown_bytes_is_neither_sound_nor_not(cache: Path) -> None:
    assert check(Need("set", (put(cache / "set" / "a").name,))).sound is None


def test_the_real_files_are_here_and_sound(real_data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RAAN_DATA", str(real_data))
    for name in ("adult", "meps", "measuring_hate_speech"):
        if all(need.here for need in CATALOGUE[name].needs):
            assert state(CATALOGUE[name]) == "here"
            assert [check(need).note for need in CATALOGUE[name].needs] == [
                "here, and as published" for _ in CATALOGUE[name].needs
            ]


def test_a_study_may_name_every_published_data_set_and_two_more() -> None:
    assert [*DATA] == [*CATALOGUE, "toy", "table"]
    assert all(name == each.name for name, each in DATA.items())
    assert all({*each.required} <= {*each.options} for each in DATA.values())
