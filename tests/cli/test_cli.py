import math
import re
import subprocess
import sys

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

from commands import installed_raan, raan, said
from raan import AANReweighting, __version__


def test_the_version_is_the_packages():
    assert installed_raan("--version").stdout == f"raan {__version__}\n"


def test_help_names_the_commands_in_their_order_each_with_what_it_does():
    shown = dict(re.findall(r"^│ (\w+) +(\w.*\w)[. ]", raan("--help").stdout, flags=re.M))
    models, papers = ["fit", "choose", "predict", "audit", "certify"], ["study", "report", "measures", "methods"]
    assert list(shown) == [*models, *papers, "demo", "data"]
    assert len(set(shown.values())) == len(shown)


def demo_rows(shown):
    """The means of each row of the demo's table; nan where there is none."""
    rows = (re.split(r"[│┃]", line)[1:-1] for line in shown.splitlines() if "±" in line and "│" in line)
    first = {name.strip(): [re.match(r"\s*([−\d.]+)", cell) for cell in cells] for name, *cells in rows}
    return {
        name: [float(each[1].replace("−", "-")) if each else math.nan for each in cells]
        for name, cells in first.items()
    }


def test_the_demo_on_the_toy_prints_the_table_and_draws_the_trade_off(tmp_path):
    result = installed_raan("demo", "--toy", "--seeds", 2, "--epochs", 1, "--out", tmp_path / "out", COLUMNS="160")
    assert result.returncode == 0, result.stderr
    rows = demo_rows(result.stdout)
    assert [*rows] == ["plain training", "Vanilla", "Plain + threshold", "FairFrontier", "RAAN", "RL-RAAN"]
    assert all(len(numbers) == 6 for numbers in rows.values())  # accuracy, what of it is lost, and four aims
    for words in ("mean ± standard deviation", "points against Vanilla, 95 % interval", "2 paired seeds"):
        assert words in " ".join(result.stdout.split())
    assert "The attribute is not among the features" in " ".join(result.stdout.split())
    drawn = (tmp_path / "out" / "trade-off.svg").read_text()
    assert all(f">{name}<" in drawn for name in ("Vanilla", "RAAN", "RL-RAAN"))
    assert "\x1b" not in result.stdout  # no colours where no one sees them


@pytest.mark.exhaustive
def test_on_adult_every_method_of_the_demo_lifts_the_worst_group_for_little_accuracy(real_data, tmp_path):
    """Signs, not digits: floating point differs between processors."""
    result = raan("demo", "--data", real_data / "adult", "--seeds", 3, "--out", tmp_path, COLUMNS="160")
    assert result.returncode == 0, result.stderr
    rows = demo_rows(result.stdout)
    plain = rows.pop("plain training")
    for name, (accuracy, _, worst, *_) in rows.items():
        assert worst > plain[2], name
        assert accuracy > plain[0] - 1.5, name
    assert "The attribute is one of the features" in " ".join(result.stdout.split())


def test_without_any_data_the_demo_says_so_plainly_and_runs_on_the_toy(tmp_path):
    nowhere = {"PIP_NO_INDEX": "1", "PIP_FIND_LINKS": "", "https_proxy": "http://127.0.0.1:9", "RAAN_DATA": ""}
    result = raan(
        "demo",
        "--seeds",
        2,
        "--epochs",
        1,
        "--out",
        tmp_path / "out",
        RAAN_CACHE=str(tmp_path / "cache"),
        **nowhere,
    )
    assert result.returncode == 0, result.stderr
    assert "Adult is not available here, so this runs on toy data instead." in result.stderr
    assert "adult.data of the data set adult was not found" in result.stderr
    assert "toy, adam: test rows" in result.stdout


def test_a_corrupt_data_file_is_one_paragraph_that_names_it_and_exit_code_2(tmp_path):
    (tmp_path / "adult.data").write_text("39, State-gov\n")
    (tmp_path / "adult.test").write_text("")
    result = raan("demo", "--data", tmp_path)
    assert result.returncode == 2
    assert "adult.data is not the expected adult.data" in said(result)
    assert "5b00264637dbfec36bdeaab5676b0b309ff9eb788d63554ca0a249491c86603d" in said(result)
    assert "Delete it to have it downloaded again" in said(result)
    assert "Traceback" not in said(result)
    assert "Traceback" in raan("--debug", "demo", "--data", tmp_path).stderr


HEAVY = ("matplotlib", "numpy", "pandas", "plotly", "pyarrow", "scipy", "sklearn", "skops", "torch")


def imported_by(code, *arguments):
    """The heavy packages that Python has imported when the code is done."""
    tail = f"\nimport sys; sys.stderr.write(' '.join(name for name in {HEAVY} if name in sys.modules))"
    command = [sys.executable, "-c", code + tail, *map(str, arguments)]
    return set(subprocess.run(command, capture_output=True, text=True, check=True).stderr.split())


def test_import_raan_is_quick_because_it_imports_nothing_heavy():
    assert imported_by("import raan") == set()


@pytest.mark.parametrize("command", ["", "fit", "choose", "predict", "audit", "study", "report", "demo"])
def test_help_is_quick_because_it_imports_nothing_heavy_but_numpy(command):
    code = f"""
import sys
from raan.cli import main
sys.argv = ["raan", *{command.split()}, "--help"]
try:
    main()
except SystemExit:
    pass"""
    assert imported_by(code) <= {"numpy"}


def test_a_saved_model_without_networks_is_read_without_importing_torch_which_can_be_imported_after(tmp_path):
    rng = np.random.default_rng(0)
    group, label = np.arange(200) % 2, np.arange(200) // 2 % 2
    rows = label[:, None] + rng.normal(size=(200, 1))
    weighted = AANReweighting(LogisticRegression(), temperature=np.inf)
    weighted.fit(rows, label, sensitive_features=group).save(tmp_path / "model")
    code = "import sys, raan; raan.load(sys.argv[1]).predict([[0.0]])"
    found = imported_by(code, tmp_path / "model")
    assert "skops" in found
    assert "torch" not in found
    assert "torch" in imported_by(f"{code}; import torch, sklearn.utils; torch.ones(1)", tmp_path / "model")


def test_an_unknown_public_name_lists_the_known_ones():
    package = sys.modules["raan"]
    with pytest.raises(AttributeError, match=r"module 'raan' has no attribute 'weights'; it has .*aan_weights"):
        package.weights  # noqa: B018
