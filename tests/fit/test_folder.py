from pathlib import Path

import pytest

from raan.fit.folder import check


def _folder(path, *files):
    for name in files:
        (path / name).parent.mkdir(parents=True, exist_ok=True)
        (path / name).touch()
    return path


def test_the_folder_one_is_in_and_those_above_it_are_refused_before_training(tmp_path, monkeypatch):
    (tmp_path / "here").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "here")
    monkeypatch.chdir(tmp_path / "here")
    for out in (".", "..", "new/..", tmp_path / "link", tmp_path, "/"):
        with pytest.raises(ValueError, match="is the folder you are in, or holds it"):
            check(Path(out), force=True)
    check(Path("new"), force=False)
    monkeypatch.setattr(Path, "is_mount", lambda path: True)
    with pytest.raises(ValueError, match="is where a disk is mounted"):
        check(Path("new"), force=True)


def test_only_a_folder_that_raan_wrote_is_replaced(tmp_path):
    for force in (False, True):
        for files in (("mine.txt",), ("model/mine.bin",)):
            with pytest.raises(ValueError, match="is not empty, and no folder that `raan fit` wrote"):
                check(_folder(tmp_path / files[0][:2], *files), force)
    for place, name in enumerate(("results.jsonl", "model/raan-model.json")):
        written = _folder(tmp_path / str(place), name, "mine.txt")
        check(written, force=True)
        with pytest.raises(ValueError, match="or replace this one by --force"):
            check(written, force=False)
