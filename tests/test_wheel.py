"""What users install: the built wheel, complete, and at work in a clean environment without any extra."""

import json
import re
import tarfile
import tomllib
import zipfile
from time import monotonic

import pytest

import raan
from commands import people
from packages import ROOT, build, environment, megabytes, outside

pytestmark = pytest.mark.exhaustive

MOST = 600
"""Megabytes that a light install may take."""


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    """The wheel and the source distribution."""
    return build(tmp_path_factory.mktemp("built"))


def sources():
    """The files of the package, by their paths from its folder."""
    return {
        file.relative_to(ROOT / "src").as_posix()
        for file in (ROOT / "src" / "raan").rglob("*")
        if file.is_file() and "__pycache__" not in file.parts
    }


def test_the_wheel_holds_the_package_whole_and_nothing_else(built):
    with zipfile.ZipFile(built[0]) as wheel:
        names = {name for name in wheel.namelist() if ".dist-info/" not in name}
    assert names == sources()
    assert {"raan/lab/studies/table-2.toml", "raan/report/page.js", "raan/report/base.html.jinja"} < names


def test_the_source_distribution_holds_the_package_its_tests_and_what_they_read(built):
    with tarfile.open(built[1]) as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}
    assert {f"src/{name}" for name in sources()} < names
    for folder in ("tests", "docs", "reproduce", "results"):
        here = {
            file.relative_to(ROOT).as_posix()
            for file in (ROOT / folder).rglob("*")
            if file.is_file() and "__pycache__" not in file.parts
        }
        assert here - names == set()
    assert {"CHANGELOG.md", "CITATION.cff", "LICENSE", "Makefile", "README.md", "pyproject.toml"} < names
    assert not [name for name in names if name.endswith(".pyc")]


def test_the_index_can_show_the_description_and_finds_its_pictures(built):
    outside("-m", "twine", "check", "--strict", *built)
    with zipfile.ZipFile(built[0]) as wheel:
        (metadata,) = (name for name in wheel.namelist() if name.endswith(".dist-info/METADATA"))
        text = wheel.read(metadata).decode()
    assert f"\nVersion: {raan.__version__}\n" in text
    links = re.findall(r"\]\(([^)\s]+)\)", text)
    assert links
    assert [link for link in links if not link.startswith(("https://", "#"))] == []


PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]

SCRIPT = """
import numpy as np, raan
from sklearn.linear_model import LogisticRegression

rng = np.random.default_rng(0)
group = rng.integers(0, 2, 600)
y = (rng.random(600) < np.where(group == 1, 0.7, 0.2)).astype(int)
X = np.c_[y + rng.normal(0, 1.2, 600), group + rng.normal(0, 0.3, 600)]
fair = raan.FairFrontier(LogisticRegression(), aim="equalized_odds", accuracy_drop=0.02)
fair.fit(X, y, sensitive_features=group).save("frontier")
assert (raan.load("frontier").predict(X) == fair.predict(X)).all()
even = raan.AANReweighting(LogisticRegression(), temperature=np.inf).fit(X, y, sensitive_features=group)
print(raan.audit(y, even.predict(X), group).reading)
try:
    raan.RAANLoss
except ImportError as error:
    print(error)
"""


def check_light(python, folder, wheel):
    """Install the wheel as users do: what it brings, how large that is and how long it took."""
    before, begun = megabytes(folder), monotonic()
    outside("-m", "pip", "install", "--quiet", "--disable-pip-version-check", wheel, python=python)
    size, seconds = megabytes(folder) - before, monotonic() - begun
    print(f"\nA light installation: {size:.0f} MB, in {seconds:.0f} s")  # noqa: T201
    assert size < MOST
    listed = json.loads(outside("-m", "pip", "list", "--format", "json", python=python).stdout)
    names = {each["name"].lower().replace("-", "_") for each in listed}
    assert not names & {"torch", "matplotlib", "safetensors", "plotly"}
    assert {re.split(r"[<>=]", need)[0].replace("-", "_") for need in PROJECT["dependencies"]} <= names


def test_an_installation_is_light_and_its_commands_and_estimators_work(built, tmp_path):
    python = environment(tmp_path / "environment")
    check_light(python, tmp_path / "environment", built[0])

    def command(*words, codes=(0,)):
        begun = monotonic()
        done = outside("-m", "raan", *words, python=python, cwd=tmp_path, codes=codes)
        print(f"{monotonic() - begun:5.1f} s  raan {' '.join(map(str, words))}")  # noqa: T201
        return done

    people(tmp_path / "people.csv")
    columns = ("--label", "hired", "--attribute", "sex")
    assert command("--version").stdout == f"raan {raan.__version__}\n"
    command("fit", "people.csv", *columns, "--ignore", "id", "--out", "fair", "--minutes", 0.3, codes=(0, 1))
    command("choose", "fair", "--aim", "worst-group", "--accuracy-drop", 2, "--out", "fairer", codes=(0, 1))
    command("predict", "fairer", "people.csv", "--out", "predicted.csv", "--id", "hired", "sex")
    assert "worst" in command("audit", "predicted.csv", *columns, "--prediction", "prediction").stdout
    command("report", "fair", "--out", "again.html")
    for page in ("fair/report.html", "fairer/report.html", "again.html"):
        assert 'class="drawing"' in (tmp_path / page).read_text(encoding="utf-8")
    said = command("study", "table-2", "--dry-run", codes=(2,)).stderr
    assert said == """error: raan study needs the extra 'torch': pip install "raan[torch]"\n"""
    shown = outside("-c", SCRIPT, python=python, cwd=tmp_path).stdout
    assert shown.endswith("""raan.RAANLoss needs the extra 'torch': pip install "raan[torch]"\n""")


def test_studies_are_in_the_wheel_and_run_anywhere_once_torch_is_there(built, tmp_path, real_data):
    pytest.importorskip("torch")
    with zipfile.ZipFile(built[0]) as wheel:
        wheel.extractall(tmp_path / "unpacked")
    variables = {"PYTHONPATH": str(tmp_path / "unpacked"), "RAAN_DATA": str(real_data)}
    where = outside("-c", "import raan; print(raan.__file__)", cwd=tmp_path, **variables).stdout
    assert where.startswith(str(tmp_path / "unpacked"))
    shown = outside("-m", "raan", "study", "demo", "--dry-run", cwd=tmp_path, **variables).stdout
    assert "RL-RAAN" in shown
    names = "from raan.lab import studies; from raan.lab.study.study import read_study; "
    names += "[read_study(file) for file in studies.FOLDER.glob('*.toml')]"
    outside("-c", names, cwd=tmp_path, **variables)
