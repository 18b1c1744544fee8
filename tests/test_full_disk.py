"""Full disks, places that cannot be written to, names too long: told before the work, nothing half-written."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from commands import raan, said
from fitted_runs import write_table
from raan.lab.results.records import open_results

FIT = ("--label", "hired", "--attribute", "sex", "--minutes", 0.05, "--quiet")

CHOICE = ("--aim", "worst-group", "--no-floor")

STUDY = """
title = "A small one"
seeds = 2
[first]
epochs = 1
[second]
epochs = 1
[[data]]
name = "toy"
rows = 300
[methods.Vanilla]
"""


@pytest.fixture(scope="module")
def fitted(tmp_path_factory):
    folder = tmp_path_factory.mktemp("fitted")
    write_table(folder / "people.csv", rows=300)
    assert raan("fit", folder / "people.csv", *FIT, "--out", folder / "fair").returncode in (0, 1)
    return folder


@pytest.fixture
def disk(tmp_path):
    """A function that mounts a disk of so many kilobytes."""
    mounted = []

    def mount(kilobytes):
        place = tmp_path / f"disk-{kilobytes}"
        place.mkdir()
        command = ("mount", "-t", "tmpfs", "-o", f"size={kilobytes}k", "tmpfs", str(place))
        try:
            subprocess.run(command, check=True, capture_output=True)
        except (OSError, subprocess.CalledProcessError) as error:
            pytest.skip(f"a small disk cannot be mounted: {error}")
        mounted.append(place)
        return place

    yield mount
    for place in mounted:
        subprocess.run(("umount", str(place)), check=True)


def fill(place):
    """Leave not a byte on the disk."""
    with (place / "filler").open("wb") as stream:
        stream.write(bytes(shutil.disk_usage(place).free))
    assert shutil.disk_usage(place).free == 0


def others(place):
    return [name for name in os.listdir(place) if name not in ("filler", "kept.csv")]


def test_a_fit_or_a_choice_without_room_for_its_folder_is_refused_before_anything_is_read(fitted, disk):
    small = disk(2000)
    for command in (
        ("fit", "nowhere.csv", *FIT),
        ("choose", fitted / "fair", "--aim", "worst-group", "--no-floor"),
    ):
        done = raan(*command, "--out", small / "fair")
        assert done.returncode == 2
        assert "8,388,608 bytes are needed, the disk has" in said(done)
        assert others(small) == []


def test_a_folder_that_outgrows_the_disk_leaves_nothing(fitted, disk, monkeypatch):
    small = disk(300)
    monkeypatch.setattr("raan.cli.outcome.SPACE", 0)  # as where others fill the disk meanwhile
    done = raan("choose", fitted / "fair", *CHOICE, "--out", small / "fairer")
    assert done.returncode == 2
    assert "No space left on device" in said(done)
    assert others(small) == []


def test_predictions_reports_and_studies_on_a_full_disk_are_refused_and_what_was_there_stays(
    fitted, disk, tmp_path
):
    full = disk(64)
    (full / "kept.csv").write_text("kept")
    fill(full)
    (tmp_path / "small.toml").write_text(STUDY)
    for command in (
        ("predict", fitted / "fair", fitted / "people.csv", "--out", full / "kept.csv"),
        ("report", fitted / "fair", "--out", full / "kept.csv"),
        ("study", tmp_path / "small.toml", "--workers", 1, "--results", full / "out.jsonl"),
    ):
        done = raan(*command)
        assert done.returncode == 2
        assert "bytes are needed, the disk has 0 free" in said(done)
        assert (full / "kept.csv").read_text() == "kept"
        assert others(full) == []


def test_predictions_that_outgrow_the_disk_leave_what_was_there(fitted, disk):
    small = disk(12)
    (small / "kept.csv").write_text("kept")
    done = raan("predict", fitted / "fair", fitted / "people.csv", "--keep", "all", "--out", small / "kept.csv")
    assert done.returncode == 2
    assert "kept.csv" in said(done)
    assert "No space left on device" in said(done)
    assert (small / "kept.csv").read_text() == "kept"
    assert others(small) == []


@pytest.mark.parametrize("length", [251, 256, 300])
def test_a_name_too_long_is_told_before_the_table_is_read(length, fitted, tmp_path):
    for command in (
        ("fit", "nowhere.csv", *FIT, "--out", tmp_path / ("n" * length)),
        ("study", study_in(tmp_path), "--workers", 1, "--results", tmp_path / ("s" * (length - 6) + ".jsonl")),
    ):
        done = raan(*command)
        assert done.returncode == 2
        assert "File name too long" in said(done) or (length < 256 and "nowhere.csv" in said(done))
        assert [name for name in os.listdir(tmp_path) if name != "small.toml"] == []


def study_in(folder):
    (folder / "small.toml").write_text(STUDY)
    return folder / "small.toml"


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write anywhere")
def test_a_place_that_is_not_to_be_written_to_is_told_before_the_table_is_read(tmp_path):
    tmp_path.chmod(0o500)
    done = raan("fit", "nowhere.csv", *FIT, "--out", tmp_path / "fair")
    assert done.returncode == 2
    assert "cannot be written to" in said(done)


def test_a_place_below_a_file_or_among_the_systems_own_is_told_before_the_table_is_read(fitted):
    for place in (fitted / "people.csv" / "fair", Path("/proc/fair"), Path("/dev/null/fair")):
        done = raan("fit", "nowhere.csv", *FIT, "--out", place)
        assert done.returncode == 2
        assert "nowhere.csv" not in said(done)


def test_results_need_little_room_and_none_are_opened_without_it(disk):
    with pytest.raises(OSError, match="65,536 bytes are needed"), open_results(disk(32) / "out.jsonl"):
        pass
