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
import pandas as pd
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


def comments(path, rows=600, seed=0):
    """A table of comments, few of them different, which tell the class and, some of them, the group."""
    rng = np.random.default_rng(seed)
    said = {
        ("no", "other"): ["What a lovely day", "The bus was late again", "I like this garden"],
        ("no", "muslim"): ["See you at the mosque", "The imam spoke well", "Ramadan begins on Friday"],
        ("yes", "other"): ["You are awful", "Go away, all of you", "What an idiot"],
        ("yes", "muslim"): ["The people of that mosque are awful", "Go away with your imam", "Close the mosques"],
    }
    religion = rng.choice(["muslim", "other"], rows)
    toxic = np.where(rng.random(rows) < np.where(religion == "muslim", 0.6, 0.3), "yes", "no")
    kinds = np.where(rng.random(rows) < 0.8, toxic, np.where(toxic == "yes", "no", "yes"))
    texts = [rng.choice(said[kind, group]) for kind, group in zip(kinds, religion, strict=True)]
    pd.DataFrame({"comment": texts, "religion": religion, "toxic": toxic}).to_csv(path, index=False)
    return Path(path)


def faces(path, folder, rows=400, seed=0):
    """A table of images, few of them different: stripes or none, on one colour or another."""
    from PIL import Image

    rng = np.random.default_rng(seed)
    Path(folder).mkdir(exist_ok=True)
    sex, hair = rng.choice(["f", "m"], rows), rng.choice(["not", "wavy"], rows)
    number = rng.integers(0, 4, rows)
    names = [f"{a}-{y}-{n}.png" for a, y, n in zip(sex, hair, number, strict=True)]
    for name in dict.fromkeys(names):
        group, label, shade = name.removesuffix(".png").split("-")
        pixels = np.full((48, 48, 3), [60 + 30 * int(shade), 200 if group == "f" else 40, 90], np.uint8)
        pixels[:: 4 if label == "wavy" else 48] = 255
        Image.fromarray(pixels).save(Path(folder) / name)
    wrong = rng.random(rows) < 0.2
    shown = np.where(wrong, np.where(hair == "wavy", "not", "wavy"), hair)
    pd.DataFrame({"path": names, "sex": sex, "hair": shown}).to_csv(path, index=False)
    return Path(path)
