"""The wheel and the source distribution, built from this tree, and clean environments to install them in."""

import os
import shutil
import subprocess
import sys
import venv
from pathlib import Path

ROOT = Path(__file__).parents[1]
LEFT = shutil.ignore_patterns(".*", "__pycache__", "*.egg-info", "build", "dist", "raan-demo")


def build(folder: Path) -> tuple[Path, Path]:
    """The wheel and the source distribution: those in the folder RAAN_DIST, or else built here.

    They are built from a copy of the tree, because building writes into it.
    """
    if ready := os.environ.get("RAAN_DIST"):
        return _pair(Path(ready).absolute())
    tree = shutil.copytree(ROOT, folder / "tree", ignore=LEFT)
    outside("-m", "build", "--outdir", folder / "dist", tree)
    return _pair(folder / "dist")


def _pair(folder: Path) -> tuple[Path, Path]:
    (wheel,), (source,) = folder.glob("*.whl"), folder.glob("*.tar.gz")
    return wheel, source


def environment(folder: Path) -> Path:
    """The Python of a new environment with pip in it and nothing else."""
    venv.create(folder, with_pip=True, symlinks=os.name != "nt")
    return folder / ("Scripts/python.exe" if os.name == "nt" else "bin/python")


def outside(*arguments, python=sys.executable, cwd=None, codes=(0,), **variables):
    """Run Python as a user's shell would: nothing leads to the source tree or to settings of the tests."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "COV_", "RAAN_"))}
    done = subprocess.run(
        [python, *map(str, arguments)],
        cwd=cwd,
        env={**kept, "COLUMNS": "100", "PYTHONUTF8": "1", **variables},
        capture_output=True,
        text=True,
        encoding="utf-8",
        timeout=900,
        check=False,
    )
    assert done.returncode in codes, f"{arguments}: {done.stdout}\n{done.stderr}"
    return done


def megabytes(folder: Path) -> float:
    """What the folder takes on disk, in units of 2 ** 20 bytes, as `du -m` counts."""
    files = (file.lstat() for file in folder.rglob("*"))
    return sum(512 * file.st_blocks if hasattr(file, "st_blocks") else file.st_size for file in files) / 2**20
