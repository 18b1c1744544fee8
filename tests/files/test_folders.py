"""Folders appear whole or not at all, and never in the place of what someone else wrote."""

import json
import os
import shutil
import signal
import subprocess
import sys
from functools import partial

import pytest

from raan.errors import InputError, in_shell, spell
from raan.io.files import MANIFEST, Occupied, _beside, new_folder, why_foreign  # noqa: PLC2701
from systems import linux, posix


def fill(target, text="1", meanwhile=lambda: None, **options):
    """Reserve the folder and fill it; something may happen before it is whole."""
    with new_folder(target, "test", **options) as part:
        (part / "inner").mkdir()
        (part / "inner" / "one").write_text(text)
        meanwhile()


def leave(target, name="precious"):
    """What someone else puts in a folder."""
    target.mkdir(exist_ok=True)
    (target / name).write_text("mine")


def stop(error):
    raise error


def read(target):
    return (target / "inner" / "one").read_text()


@pytest.mark.parametrize("empty", [True, False])
def test_a_folder_appears_whole_with_a_manifest_and_nothing_is_left(tmp_path, empty):
    target = tmp_path / "above" / "folder"
    if empty:
        target.mkdir(parents=True, mode=0o700)
    with new_folder(target, "test") as part:
        (part / "one").write_text("1")
        assert not empty or os.listdir(target) == []
        assert empty or not target.exists()
    assert sorted(os.listdir(target)) == ["one", MANIFEST]
    assert os.listdir(target.parent) == ["folder"]
    assert (target.stat().st_mode & 0o777) == (
        0o700 if empty else tmp_path.joinpath("above").stat().st_mode & 0o777
    )
    stated = json.loads((target / MANIFEST).read_text())
    assert stated["kind"] == "test"
    assert stated["files"]["one"]["bytes"] == 1
    assert why_foreign(target) == ""


def test_an_error_or_an_interruption_leaves_nothing(tmp_path):
    for end in (ZeroDivisionError, KeyboardInterrupt):
        with pytest.raises(end):
            fill(tmp_path / "folder", meanwhile=partial(stop, end))
    assert os.listdir(tmp_path) == []


def test_what_is_put_there_meanwhile_stays_and_what_was_made_is_kept_beside_it(tmp_path):
    target = tmp_path / "folder"
    with pytest.raises(Occupied, match=r"was filled while .* the new folder is .*folder-2"):
        fill(target, meanwhile=partial(leave, target))
    assert os.listdir(target) == ["precious"]
    assert read(tmp_path / "folder-2") == "1"
    assert sorted(os.listdir(tmp_path)) == ["folder", "folder-2"]


def test_a_file_that_comes_there_meanwhile_stays(tmp_path):
    with pytest.raises(Occupied), new_folder(tmp_path / "folder", "test"):
        (tmp_path / "folder").write_text("mine")
    assert (tmp_path / "folder").read_text() == "mine"


def test_of_two_that_fill_one_place_the_second_is_refused_at_once(tmp_path):
    with new_folder(tmp_path / "folder", "test") as part:
        (part / "one").write_text("1")
        with (
            pytest.raises(InputError, match="another process is about to write"),
            new_folder(tmp_path / "folder", "t"),
        ):
            pytest.fail("the block began")
    assert sorted(os.listdir(tmp_path / "folder")) == ["one", MANIFEST]


def test_force_replaces_what_raan_wrote_and_nothing_less_will(tmp_path):
    target = tmp_path / "folder"
    fill(target, "1")
    with pytest.raises(InputError) as refused, new_folder(target, "test"):
        pytest.fail("the block began")
    words = spell(refused.value, in_shell())
    assert "--out is " in words
    assert "which is not empty" in words
    assert "replace this one by --force" in words
    (target / "inner" / "one").unlink()  # who removed it does not miss it
    fill(target, "2", force=True)
    assert read(target) == "2"
    assert os.listdir(tmp_path) == ["folder"]


@posix
@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda folder: (folder / "notes.md").write_text("mine"), "raan did not write notes.md in it"),
        (lambda folder: (folder / "inner" / "one").write_text("mine"), "inner/one in it has changed"),
        (lambda folder: (folder / MANIFEST).unlink(), "no raan-manifest.json shows that raan wrote it"),
        (lambda folder: (folder / MANIFEST).write_text("{}"), "no raan-manifest.json shows"),
        (lambda folder: (folder / MANIFEST).write_text("[" * 100_000), "no raan-manifest.json shows"),
        (lambda folder: (folder / "elsewhere").symlink_to("/"), "raan did not write elsewhere"),
    ],
    ids=["a new file", "a changed file", "no manifest", "an empty one", "a deep one", "a link"],
)
def test_what_is_not_as_raan_wrote_it_is_never_replaced(tmp_path, change, words):
    target = tmp_path / "folder"
    fill(target)
    change(target)
    before = sorted(os.walk(target))
    with pytest.raises(InputError, match=words), new_folder(target, "test", force=True):
        pytest.fail("the block began")
    assert sorted(os.walk(target)) == before


def test_names_alone_make_no_folder_of_raan(tmp_path):
    target = tmp_path / "folder"
    (target / "model").mkdir(parents=True)
    for name in ("results.jsonl", "model/raan-model.json", "notes.md"):
        (target / name).write_text("")
    with pytest.raises(InputError, match="not replaced"), new_folder(target, "test", force=True):
        pytest.fail("the block began")
    assert (target / "notes.md").exists()


def test_what_comes_to_a_folder_of_raan_meanwhile_is_kept_under_force_too(tmp_path):
    target = tmp_path / "folder"
    fill(target, "1")
    with pytest.raises(Occupied, match=r"raan did not write precious .*the new folder is .*folder-2"):
        fill(target, "2", meanwhile=partial(leave, target), force=True)
    assert (target / "precious").read_text() == "mine"
    assert read(target) == "1"
    assert read(tmp_path / "folder-2") == "2"


def test_a_folder_can_be_changed_by_a_whole_copy_of_it(tmp_path):
    target = tmp_path / "folder"
    fill(target, "1")
    with new_folder(target, "test", force=True) as part:
        shutil.copytree(target, part, dirs_exist_ok=True)
        (part / "two").write_text("2")
        assert why_foreign(target) == ""
    assert why_foreign(target) == ""
    assert read(target) == "1"
    assert (target / "two").read_text() == "2"


@posix
def test_a_link_to_a_folder_is_followed(tmp_path):
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to("real")
    fill(tmp_path / "link")
    fill(tmp_path / "link", "2", force=True)
    assert (tmp_path / "link").is_symlink()
    assert read(tmp_path / "real") == "2"
    assert sorted(os.listdir(tmp_path)) == ["link", "real"]


@linux
def test_places_that_can_hold_no_folder_are_refused_at_once(tmp_path, monkeypatch):
    (tmp_path / "file").write_text("mine")
    (tmp_path / "here" / "below").mkdir(parents=True)
    monkeypatch.chdir(tmp_path / "here" / "below")
    for place, words in (
        (tmp_path / "file", "a file"),
        (tmp_path / "here", "the current folder"),
    ):
        with pytest.raises(InputError, match=words), new_folder(place, "test", force=True):
            pytest.fail("the block began")
    with pytest.raises(OSError, match="File name too long"), new_folder(tmp_path / ("n" * 256), "test"):
        pytest.fail("the block began")
    with (
        pytest.raises(OSError, match=r"is a file; expected a folder"),
        new_folder(tmp_path / "file" / "in it", "test"),
    ):
        pytest.fail("the block began")
    fill(tmp_path / ("n" * 255))
    assert sorted(os.listdir(tmp_path)) == ["file", "here", "n" * 255]


FILL = """
import signal, sys, time
from raan.io.files import new_folder
with new_folder(sys.argv[1], "test", force=True) as part:
    (part / "inner").mkdir()
    (part / "inner" / "one").write_text("half")
    print("begun", flush=True)
    time.sleep(60)
"""


@posix
def test_what_a_kill_leaves_is_removed_by_the_next_that_fills_the_place(tmp_path):
    target = tmp_path / "folder"
    fill(target, "old")
    with subprocess.Popen([sys.executable, "-c", FILL, target], stdout=subprocess.PIPE) as child:
        child.stdout.readline()
        with pytest.raises(InputError, match="another process"):
            fill(target, "2", force=True)
        child.send_signal(signal.SIGKILL)
    assert read(target) == "old"
    assert len(os.listdir(tmp_path)) == 3
    fill(target, "new", force=True)
    assert read(target) == "new"
    assert os.listdir(tmp_path) == ["folder"]


def test_an_old_folder_that_a_kill_left_aside_goes_back_to_its_place(tmp_path):
    fill(tmp_path / "folder", "old")
    (tmp_path / "folder").rename(tmp_path / _beside(tmp_path / "folder", "old").name)
    with pytest.raises(InputError, match="which is not empty"), new_folder(tmp_path / "folder", "test"):
        pytest.fail("the block began")
    assert read(tmp_path / "folder") == "old"
    assert os.listdir(tmp_path) == ["folder"]
