"""A claimed folder: there whole or not at all, and never in the place of what someone else put there."""

import json
import os
import shutil
import signal
import subprocess
import sys
import threading
from functools import partial

import pytest

from raan.errors import InputError, in_shell, spell
from raan.files import claim as module
from raan.files.claim import MANIFEST, Occupied, claim, why_foreign
from systems import linux, posix


def fill(target, text="1", meanwhile=lambda: None, **options):
    """Claim the folder and fill it; something may happen before it is whole."""
    with claim(target, "test", **options) as part:
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


@pytest.fixture(params=["exchanged", "moved aside"])
def however_replaced(request, monkeypatch):
    """Where the system can swap two folders, and where it cannot."""
    if request.param == "moved aside":
        monkeypatch.setattr(module, "exchange", lambda one, other: False)


@pytest.mark.parametrize("empty", [True, False])
def test_a_folder_appears_whole_with_a_manifest_and_nothing_is_left(tmp_path, empty):
    target = tmp_path / "above" / "folder"
    if empty:
        target.mkdir(parents=True, mode=0o700)
    with claim(target, "test") as part:
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
    with pytest.raises(Occupied, match=r"was filled while .* what was made is in .*folder-2"):
        fill(target, meanwhile=partial(leave, target))
    assert os.listdir(target) == ["precious"]
    assert read(tmp_path / "folder-2") == "1"
    assert sorted(os.listdir(tmp_path)) == ["folder", "folder-2"]


def test_a_file_that_comes_there_meanwhile_stays(tmp_path):
    with pytest.raises(Occupied), claim(tmp_path / "folder", "test"):
        (tmp_path / "folder").write_text("mine")
    assert (tmp_path / "folder").read_text() == "mine"


def test_of_two_that_claim_one_place_the_second_is_refused_at_once(tmp_path):
    with claim(tmp_path / "folder", "test") as part:
        (part / "one").write_text("1")
        with pytest.raises(InputError, match="another process is about to write"), claim(tmp_path / "folder", "t"):
            pytest.fail("the block began")
    assert sorted(os.listdir(tmp_path / "folder")) == ["one", MANIFEST]


@pytest.mark.usefixtures("however_replaced")
def test_force_replaces_what_raan_wrote_and_nothing_less_will(tmp_path):
    target = tmp_path / "folder"
    fill(target, "1")
    with pytest.raises(InputError) as refused, claim(target, "test"):
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
        (lambda folder: (folder / MANIFEST).unlink(), "no raan-folder.json says that raan wrote it"),
        (lambda folder: (folder / MANIFEST).write_text("{}"), "no raan-folder.json says"),
        (lambda folder: (folder / MANIFEST).write_text("[" * 100_000), "no raan-folder.json says"),
        (lambda folder: forge(folder / MANIFEST), "no raan-folder.json says"),
        (lambda folder: (folder / "elsewhere").symlink_to("/"), "raan did not write elsewhere"),
    ],
    ids=["a new file", "a changed file", "no manifest", "an empty one", "a deep one", "a changed one", "a link"],
)
def test_what_is_not_as_raan_wrote_it_is_never_replaced(tmp_path, change, words):
    target = tmp_path / "folder"
    fill(target)
    change(target)
    before = sorted(os.walk(target))
    with pytest.raises(InputError, match=words), claim(target, "test", force=True):
        pytest.fail("the block began")
    assert sorted(os.walk(target)) == before


def forge(manifest):
    manifest.write_text(manifest.read_text().replace('"test"', '"tset"'))


def test_names_alone_make_no_folder_of_raan(tmp_path):
    target = tmp_path / "folder"
    (target / "model").mkdir(parents=True)
    for name in ("results.jsonl", "model/raan-model.json", "notes.md"):
        (target / name).write_text("")
    with pytest.raises(InputError, match="not replaced"), claim(target, "test", force=True):
        pytest.fail("the block began")
    assert (target / "notes.md").exists()


@pytest.mark.usefixtures("however_replaced")
def test_what_comes_to_a_folder_of_raan_meanwhile_is_kept_under_force_too(tmp_path):
    target = tmp_path / "folder"
    fill(target, "1")
    with pytest.raises(Occupied, match=r"raan did not write precious .*what was made is in .*folder-2"):
        fill(target, "2", meanwhile=partial(leave, target), force=True)
    assert (target / "precious").read_text() == "mine"
    assert read(target) == "1"
    assert read(tmp_path / "folder-2") == "2"


def test_a_folder_can_be_changed_by_a_whole_copy_of_it(tmp_path):
    target = tmp_path / "folder"
    fill(target, "1")
    with claim(target, "test", force=True) as part:
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
        (tmp_path / "here", "the folder you are in"),
        ("/proc", "where a disk is mounted"),
    ):
        with pytest.raises(InputError, match=words), claim(place, "test", force=True):
            pytest.fail("the block began")
    with pytest.raises(OSError, match="File name too long"), claim(tmp_path / ("n" * 256), "test"):
        pytest.fail("the block began")
    with pytest.raises(OSError, match=r"Not a directory|File exists"), claim(tmp_path / "file" / "in it", "test"):
        pytest.fail("the block began")
    fill(tmp_path / ("n" * 255))
    assert sorted(os.listdir(tmp_path)) == ["file", "here", "n" * 255]


CLAIM = """
import signal, sys, time
from raan.files.claim import claim
with claim(sys.argv[1], "test", force=True) as part:
    (part / "inner").mkdir()
    (part / "inner" / "one").write_text("half")
    print("begun", flush=True)
    time.sleep(60)
"""


@posix
def test_what_a_kill_leaves_is_removed_by_the_next_that_claims_the_place(tmp_path):
    target = tmp_path / "folder"
    fill(target, "old")
    with subprocess.Popen([sys.executable, "-c", CLAIM, target], stdout=subprocess.PIPE) as child:
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
    (tmp_path / "folder").rename(tmp_path / ".folder.01234567.old")
    with pytest.raises(InputError, match="which is not empty"), claim(tmp_path / "folder", "test"):
        pytest.fail("the block began")
    assert read(tmp_path / "folder") == "old"
    assert os.listdir(tmp_path) == ["folder"]


def test_whoever_looks_while_a_folder_is_replaced_sees_one_whole(tmp_path):
    target, over = tmp_path / "folder", threading.Event()
    fill(target, "0")
    seen = set()

    def look():
        while not over.is_set():
            seen.add(read(target))

    watcher = threading.Thread(target=look)
    watcher.start()
    for number in range(30):
        fill(target, str(number), force=True)
    over.set()
    watcher.join()
    assert seen <= set(map(str, range(30)))
    assert len(seen) > 1
