"""Bad input at the commands: done, or one paragraph and exit code 2, in bounded time and memory; nothing is left.

All of it runs in processes that the system gives no more memory than a bound.
"""

import json
import os
import resource
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from damage import damages
from fitted_runs import write_table

MEMORY = 3 * 2**30
"""Bytes of address space that a command may take, libraries included: of torch alone there is more than one."""

SECONDS = 600

FIT = ("--label", "hired", "--attribute", "sex", "--minutes", "0.05")

RUN = """
import json, sys, traceback
from pathlib import Path
from commands import raan
for line in sys.stdin:
    words = json.loads(line)
    done = raan(*words)
    print(json.dumps([done.returncode, done.stdout[-2000:], done.stderr[-4000:]]), flush=True)
"""


def bounded() -> None:
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))


def run_all(commands, cwd):
    """Each command's exit code and what it said, all in one process of bounded memory."""
    lines = "".join(json.dumps([str(word) for word in words]) + "\n" for words in commands)
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", RUN],
        input=lines,
        capture_output=True,
        text=True,
        timeout=SECONDS,
        cwd=cwd,
        preexec_fn=bounded,
        env={**os.environ, "PYTHONPATH": os.pathsep.join([*sys.path]), "TMPDIR": str(cwd)},
        check=False,
    )
    found = [json.loads(line) for line in done.stdout.splitlines()]
    assert len(found) == len(commands), done.stderr[-3000:]
    return found


def check_all(commands, cwd):
    """Each is done, or refused in a paragraph; nothing hidden or half-written stays. How many were refused."""
    before = {file.name for file in Path(cwd).iterdir()}
    refused = 0
    for words, (code, _, said) in zip(commands, run_all(commands, cwd), strict=True):
        shown = f"{' '.join(map(str, words))}: {code}: {said}"
        assert code in (0, 1, 2), shown
        assert "Traceback" not in said, shown
        assert "MemoryError" not in said, shown
        assert code != 2 or len(said.split()) > 4, shown
        refused += code == 2
    left = {file.name for file in Path(cwd).iterdir()} - before
    assert not [name for name in left if name.startswith((".", "raan-")) or name.endswith((".part", ".lock"))], (
        left
    )
    return refused


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    """A table and what `raan fit` made of it, a study and its results."""
    folder = tmp_path_factory.mktemp("place")
    write_table(folder / "people.csv", rows=300)
    (folder / "small.toml").write_text(STUDY)
    commands = [
        ("fit", "people.csv", *FIT, "--out", "fair", "--quiet"),
        ("study", "small.toml", "--results", "small.jsonl", "--workers", 1, "--quiet"),
    ]
    assert [code for code, *_ in run_all(commands, folder)] in ([0, 0], [1, 0])
    return folder


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


def bad_tables(folder, number):
    """Files that are no table, or a damaged one."""
    whole = (folder / "people.csv").read_bytes()
    header, first, *_ = whole.splitlines(keepends=True)
    contents = {
        "empty.csv": b"",
        "header.csv": header,
        "one.csv": header + first,
        "nul.csv": header + bytes(100),
        "noise.csv": np.random.default_rng(0).bytes(5000),
        "noise.parquet": np.random.default_rng(1).bytes(5000),
        "cut.parquet": b"PAR1" + bytes(20),
        "noise.csv.gz": b"\x1f\x8b" + bytes(100),
        "open.csv": header + b'"' + first * 50,
        "ragged.csv": header + (first + b"1,2\n") * 40,
        "wide.csv": b",".join(b"c%d" % place for place in range(20_000)) + b"\n" + b"1," * 19_999 + b"1\n",
        "long.csv": header + b"x" * 3_000_000,
        "table.xlsx": b"PK\x03\x04" + bytes(50),
        "utf16.csv": whole.decode().encode("utf-16"),
        "same.csv": b"hired,hired,sex\n" + b"yes,no,f\n" * 60,
        "numbers.csv": b"age,score,height,city,sex,hired\n" + b"1e999,nan,-inf,,f,yes\n0x1,1_0,,x,m,no\n" * 60,
    }
    contents |= {f"damaged-{which}.csv": damaged for which, damaged in enumerate(damages(whole, number))}
    for name, content in contents.items():
        (folder / name).write_bytes(content)
    return [*contents, "nowhere.csv", "fair", "."]


TABLES = [4, pytest.param(60, marks=pytest.mark.exhaustive)]


@pytest.mark.parametrize("number", TABLES)
def test_bad_tables_at_predict_and_audit(number, place):
    names = bad_tables(place, number)
    commands = [("predict", "fair", name, "--out", "out.csv") for name in names]
    commands += [
        ("audit", name, "--label", "hired", "--prediction", "hired", "--attribute", "sex") for name in names
    ]
    assert check_all(commands, place) > 20


@pytest.mark.parametrize("number", [2, pytest.param(30, marks=pytest.mark.exhaustive)])
def test_bad_tables_at_fit(number, place):
    names = bad_tables(place, number)
    commands = [("fit", name, *FIT, "--out", f"new-{which}", "--quiet") for which, name in enumerate(names)]
    assert check_all(commands, place) > 10


@pytest.mark.parametrize("number", [3, pytest.param(40, marks=pytest.mark.exhaustive)])
def test_bad_folders_studies_and_results(number, place):
    commands = []
    for name in ("small.toml", "small.jsonl"):
        for which, damaged in enumerate(damages((place / name).read_bytes(), number, seed=1)):
            other = place / f"bad-{which}-{name}"
            other.write_bytes(damaged)
            commands.append(("report", other.name, "--out", "report.html"))
            if name.endswith(".toml"):
                commands.append(("study", other.name, "--dry-run", "--results", f"dry-{which}.jsonl"))
    for folder in ("nowhere", ".", "people.csv", "fair/plain"):
        commands.append(("predict", folder, "people.csv", "--out", "out.csv"))
        commands.append(("choose", folder, "--out", "chosen", "--aim", "worst-group"))
        commands.append(("report", folder, "--out", "report.html"))
        commands.append(("study", folder, "--dry-run"))
        commands.append(("demo", "--data", folder, "--out", "people.csv/x", "--epochs", 1))
    assert check_all(commands, place) > 12


ODD = [
    "",
    "nan",
    "-1",
    "inf",
    "1e400",
    "é[/x]",
    "\U0001f600",
    "x" * 300,
    "--",
    "0",
    "people.csv",
    "hex",
    "/dev/full",
]

OPTIONS = {
    ("fit", "people.csv", *FIT, "--out", "odd", "--quiet"): (
        *("--label", "--attribute", "--aim", "--accuracy-drop", "--worst-group-drop", "--confidence", "--test"),
        *("--minutes", "--seed", "--ignore", "--category", "--missing", "--delimiter", "--encoding", "--decimal"),
    ),
    ("choose", "fair", "--out", "odd", "--force", "--quiet"): (
        *("--aim", "--accuracy-drop", "--worst-group-drop", "--at-most"),
    ),
    ("predict", "fair", "people.csv", "--out", "odd.csv", "--quiet"): (
        *("--out", "--id", "--keep", "--delimiter", "--encoding", "--decimal"),
    ),
    ("audit", "people.csv", "--label", "hired", "--prediction", "hired", "--attribute", "sex", "--quiet"): (
        *("--label", "--prediction", "--attribute", "--fail-above", "--metric", "--min-count", "--missing"),
        *("--delimiter", "--encoding", "--decimal"),
    ),
    ("report", "small.jsonl", "--out", "odd.html"): ("--out", "--format", "--figures", "--aim", "--accuracy-drop"),
    ("study", "small.toml", "--dry-run", "--results", "odd.jsonl"): ("--results", "--workers"),
    ("demo", "--toy", "--out", "people.csv/x"): ("--seeds", "--epochs", "--data"),
    ("methods",): ("--json", "--nothing"),
    ("data",): ("fetch", "check", "--json"),
}


@pytest.mark.parametrize("share", [8, pytest.param(1, marks=pytest.mark.exhaustive)])
@pytest.mark.parametrize("begin", OPTIONS, ids=lambda begin: begin[0])
def test_odd_options(begin, share, place):
    commands = [(*begin, option, odd) for option in OPTIONS[begin] for odd in ODD]
    slow = {"fit": 4, "choose": 2, "demo": 2}.get(begin[0], 1)
    some = commands[:: share * slow]
    assert check_all([words for words in some if words[-2] not in ("--epochs", "--seeds")], place) >= 0
