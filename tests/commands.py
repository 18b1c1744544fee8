"""The command line, within this process or in one of its own, and tables to run it on."""

import csv
import io
import os
import subprocess
import sys
import traceback
import warnings
from contextlib import chdir, redirect_stderr, redirect_stdout
from pathlib import Path
from subprocess import CompletedProcess

import jaxtyping
import numpy as np
import pytest

from raan.cli import main

RAAN = Path(sys.executable).with_name("raan")

SHELL = {"COLUMNS": "100"}
ENVIRONMENT = {**os.environ, **SHELL}


def raan(*arguments, cwd=".", **environment):
    """Run the command to its end within this process, which saves the seconds that a new one takes to import."""
    words = ["raan", *map(str, arguments)]
    out, err = io.StringIO(), io.StringIO()
    with pytest.MonkeyPatch.context() as patch, chdir(cwd), redirect_stdout(out), redirect_stderr(err):
        patch.setattr(sys, "argv", words)
        patch.setattr(jaxtyping.config, "jaxtyping_disable", True)  # as for users
        for name, value in {**SHELL, **environment}.items():
            patch.setenv(name, value)
        with warnings.catch_warnings():
            warnings.simplefilter("default")
            code = _exit_code()
    return CompletedProcess(words, code, out.getvalue(), err.getvalue())


def _exit_code():
    """What the shell is given once `raan` has run."""
    try:
        main()
    except SystemExit as end:
        return end.code or 0
    except Exception:
        traceback.print_exc()
        return 1
    return 0


def installed_raan(*arguments, cwd=None, **environment):
    """Run the installed command as a user does, as a process of its own, its output not a terminal."""
    return subprocess.run(
        [RAAN, *map(str, arguments)],
        capture_output=True,
        text=True,
        timeout=300,
        env={**ENVIRONMENT, **environment},
        check=False,
        cwd=cwd,
    )


def said(result):
    """What went to standard error, on one line."""
    return " ".join(result.stderr.split())


def people(path, rows=1200, seed=0, names=("id", "age", "city", "score", "sex", "hired"), groups=("f", "m")):
    """A table of mixed types in which the groups are not served alike: a CSV with identifiers and gaps in it."""
    rng = np.random.default_rng(seed)
    group = rng.integers(0, 2, rows)
    age, score = rng.integers(18, 80, rows), rng.normal(size=rows)
    hired = score + 0.02 * (age - 50) + 0.8 * group + rng.normal(size=rows) > 0.5
    city = rng.choice(["Leeds", "York", "Hull", ""], rows, p=[0.4, 0.3, 0.28, 0.02])
    with Path(path).open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(names)
        for row in range(rows):
            word = groups[group[row]]
            writer.writerow(
                [f"{row:06d}", age[row], city[row], f"{score[row]:.3f}", word, "yes" if hired[row] else "no"]
            )
    return Path(path)
