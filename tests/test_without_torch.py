"""The light install, where no extra can be imported: rooms that work, and doors that say what they need.

Each test is a process of its own. tests/test_wheel.py has the same in an environment that has no extras.
"""

import subprocess
import sys

import numpy as np
import pytest

import raan
from raan.errors import MissingExtra, needing
from report.records import study, write

ROOMS = (
    "raan",
    "raan.errors",
    "raan.fairness",
    "raan.io",
    "raan.metrics",
    "raan.report.content",
    "raan.report.page",
    "raan.report.outline",
    "raan.reweighting",
    "raan.lab.datasets.adult",
    "raan.lab.datasets.description",
    "raan.lab.results.records",
    "raan.lab.results.summary",
    "raan.lab.studies",
    "raan.tables.load",
    "raan.tables.read",
)


BLOCK = """
import sys
class Blocked:
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] in ("torch", "safetensors", "matplotlib", "plotly"):
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)
sys.meta_path.insert(0, Blocked())
"""


def without_torch(script, *arguments, cwd=None):
    """Run the script in a process in which importing torch fails."""
    command = [sys.executable, "-c", BLOCK + script, *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, cwd=cwd, timeout=120)


@pytest.mark.parametrize("room", ROOMS)
def test_a_room_of_the_numpy_floor_imports(room):
    done = without_torch(f"import {room}")
    assert done.returncode == 0, done.stderr


def test_results_are_reported_as_a_page_and_as_tables(tmp_path):
    results = write(study(("Vanilla", "RAAN"), ("adam",), seeds=2, candidates=1), tmp_path / "runs.jsonl")
    command = "from raan.cli import main; sys.argv = ['raan', 'report', *sys.argv[1:]]; main()"
    for options in (("--out", "page.html"), ("--format", "md", "--out", "tables.md")):
        done = without_torch(command, results, *options, cwd=tmp_path)
        assert done.returncode == 0, done.stderr
    assert (tmp_path / "page.html").stat().st_size > 2e4
    assert "torch is not installed" in (tmp_path / "tables.md").read_text()


DOORS = {
    "import raan; raan.RAANLoss": "raan.RAANLoss",
    "from raan import RAANClassifier": "raan.RAANClassifier",
    "import raan; raan.optim": "raan.optim",
    "from raan.nn import RAANLoss": "raan.nn",
    "from raan.optim import SCRAAN": "raan.optim",
    "from raan.estimators import RAANClassifier": "raan.RAANClassifier",
    "from raan.data import adult; adult()": "raan.data.adult",
    "from raan.data import meps": "raan.data.meps",
    "import raan.methods": "raan.methods",
    "from raan.data import from_frame; import pandas as pd; "
    "from_frame(pd.DataFrame({'y': [0, 1] * 9, 'a': [0, 0, 1] * 6, 'x': range(18)}), 'y', 'a').table": "a table",
    "import raan; raan.aan_weights([[1.0]] * 4, [0, 0, 1, 1], sensitive_features=[0, 1, 0, 1])": "a finite",
}


@pytest.mark.parametrize("code", DOORS)
def test_a_door_that_needs_torch_says_in_one_line_what_to_install(code):
    done = without_torch(code)
    said = done.stderr.strip().splitlines()[-1]
    assert DOORS[code] in said
    assert said.endswith("""needs the extra 'torch': pip install "raan[torch]\"""")


COMMAND = "from raan.cli import main; sys.argv = ['raan', *sys.argv[1:]]; main()"


@pytest.mark.parametrize(
    "words",
    [("study", "table-2", "--dry-run"), ("demo",), ("methods",)],
)
def test_a_command_that_needs_torch_says_so_in_one_line(words):
    done = without_torch(COMMAND, *words)
    assert done.returncode == 2
    assert done.stderr == f"""error: raan {words[0]} needs the extra 'torch': pip install "raan[torch]"\n"""


def test_adult_is_loaded_as_a_data_frame_and_a_model_is_fitted(real_data):
    done = without_torch(
        "from raan.data import load_adult; from raan import audit\n"
        "from sklearn.linear_model import LogisticRegression\n"
        "X, y, sex = load_adult(sys.argv[1])\n"
        "model = LogisticRegression(max_iter=10).fit(X[:2000] / X.max(), y[:2000])\n"
        "print(X.shape, y.sum(), sorted(set(sex)), len(audit(y, model.predict(X / X.max()), sex).cells))",
        real_data,
    )
    assert done.stdout == "(45222, 102) 11208 ['Female', 'Male'] 4\n", done.stderr


def test_the_data_sets_are_listed_and_checked(cache):
    done = without_torch(COMMAND, "data")
    assert done.returncode == 0, done.stderr
    assert "raan data fetch adult" in done.stdout
    done = without_torch(COMMAND, "data", "check", "adult")
    assert (done.returncode, done.stdout.count("not here; it can be fetched")) == (1, 2), done.stderr


def test_figures_as_files_need_no_extra(tmp_path):
    results = write(study(("Vanilla", "RAAN"), ("adam",), seeds=2, candidates=1), tmp_path / "runs.jsonl")
    done = without_torch(COMMAND, "report", results, "--figures", "drawn", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert {file.suffix for file in (tmp_path / "drawn").iterdir()} == {".svg"}


def test_a_saved_network_says_what_it_needs_and_is_not_called_damaged(tmp_path):
    rng = np.random.default_rng(0)
    rows, label, group = rng.normal(size=(40, 2)), np.arange(40) % 2, np.arange(40) // 2 % 2
    network = raan.RAANClassifier(hidden_layer_sizes=(2,), random_state=0)
    network.fit(rows, label, sensitive_features=group).save(tmp_path / "network")
    done = without_torch("import raan; raan.load(sys.argv[1])", tmp_path / "network")
    assert done.stderr.strip().endswith("""holds networks, needs the extra 'torch': pip install "raan[torch]\"""")


def test_advice_names_the_outermost_door_and_leaves_other_errors_alone():
    advice = "the door needs the extra 'torch'"
    with pytest.raises(MissingExtra, match=advice), needing("the door"), needing("a room"):
        raise ModuleNotFoundError(name="torch.nn")
    with pytest.raises(ModuleNotFoundError, match="numpy"), needing("the door"):
        raise ModuleNotFoundError("no numpy", name="numpy")
    with pytest.raises(MissingExtra, match="texts needs the extra 'text'"), needing("the door"):
        raise MissingExtra("texts", "text")
