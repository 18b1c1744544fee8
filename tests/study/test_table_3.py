"""The study of Table 3 on a file in Civil Comments' layout, with a real sentence encoder."""

import numpy as np
import pandas as pd
import pytest

from raan.lab.datasets.comments import MENTIONED
from raan.lab.studies import find
from raan.lab.study.run import run_study
from raan.lab.study.study import read_study
from raan.report.content import load
from raan.report.outline import comparisons_of

STUDY = find("table-3-civil-comments")


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """Two hundred comments, half of them rude, half of them of each identity, where the loader looks for them."""
    rng = np.random.default_rng(0)
    toxic = rng.permutation(np.arange(200) % 2)
    columns = {name: rng.permutation(np.arange(200) % 2) for names in MENTIONED.values() for name in names[:1]}
    rest = {name: 0 for names in MENTIONED.values() for name in names[1:]}
    words = [f"{'what a fool' if rude else 'how kind'}, number {row}" for row, rude in enumerate(toxic)]
    (tmp_path / "civil_comments").mkdir()
    frame = pd.DataFrame({"comment_text": words, "target": toxic, **columns, **rest})
    frame.to_csv(tmp_path / "civil_comments" / "train.csv", index=False)
    monkeypatch.setenv("RAAN_DATA", str(tmp_path))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return tmp_path


def test_it_runs_on_civil_comments_once_its_file_is_there(folder):
    shorter = {"seeds = 5": "seeds = 1", "epochs = 10": "epochs = 1", "l2 = [0, 0.01, 0.1]": "l2 = [0, 0.1]"}
    text = STUDY.read_text()
    for old, new in shorter.items():
        assert old in text
        text = text.replace(old, new)
    (folder / STUDY.name).write_text(text)
    study = read_study(folder / STUDY.name)
    outcome = run_study(study, folder / f"{study.name}.jsonl.gz")
    assert outcome.complete
    content = load([folder / STUDY.name], folder)
    comparisons = comparisons_of(content)
    assert [comparison.data for comparison in comparisons] == ["Black", "Muslim", "NeuroDiv", "LGBTQ"]
    for comparison in comparisons:
        assert {"ERM", "IRM", "GroupDRO", "SCRAAN"} <= {*comparison.chosen}
        for metric in ("accuracy", "worst_group_accuracy", "equalized_odds_gap"):
            assert (comparison.data, "adam", "SCRAAN", metric) in content.paper
