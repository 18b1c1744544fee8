"""A file of more rows than are in memory: some train, all others evaluate, each of them once."""

import numpy as np
import pandas as pd
import pytest

import raan.fit.rows as fit_rows
from commands import raan
from raan.fit.clock import Clock
from raan.fit.fit import FitOptions, Source, fit
from raan.fit.outcome import Outcome
from raan.frontier.decide import Evaluation, decide
from raan.tables.load import from_frame

ROWS, DRAWN = 30_000, 8_000


@pytest.fixture(scope="module")
def file(tmp_path_factory):
    rng = np.random.default_rng(0)
    group = rng.integers(3, size=ROWS)
    x, z = rng.standard_normal((2, ROWS))
    hired = x + z + 0.8 * (group == 1) + rng.standard_normal(ROWS) * (1 + (group == 1)) > 0.5
    frame = pd.DataFrame(
        {
            "x": x,
            "job": rng.choice(["clerk", "cook"], ROWS),
            "z": z,
            "sex": np.array(["f", "m", None], object)[group],
            "counts": rng.integers(1, 4, ROWS),
            "hired": np.where(hired, "yes", "no"),
        }
    ).astype({"hired": object})
    frame.loc[::500, "hired"] = None
    frame.loc[::300, "job"] = "carpenter"
    path = tmp_path_factory.mktemp("rest") / "people.parquet"
    frame.to_parquet(path, row_group_size=4_000)
    return path


def load(file, **options):
    return from_frame(file, "hired", "sex", max_rows=DRAWN, seed=3, **options)


@pytest.mark.filterwarnings("ignore")
def test_the_rest_are_the_rows_that_were_not_drawn_as_the_model_sees_them(file):
    loaded, whole = load(file, ignore="counts"), pd.read_parquet(file)
    blocks = list(loaded.rest.blocks(loaded.label.names, loaded.attribute.names))
    left = whole[~loaded.rest.drawn & whole["hired"].notna()]
    assert loaded.rest.rows == ROWS - DRAWN
    features, label, group = (np.concatenate([block[place] for block in blocks]) for place in range(3))
    assert np.array_equal(features, loaded.preprocessing.transform(left))
    assert np.array_equal(label, (left["hired"] == "yes").to_numpy(int))
    assert np.array_equal(group, left["sex"].map({"f": 0, "m": 1}).fillna(-1).to_numpy(int))
    parts = [
        np.concatenate([block.features for block in loaded.rest.blocks(*names, part, seed=1)])
        for names in [(loaded.label.names, loaded.attribute.names)]
        for part in [(0.0, 0.25), (0.25, 1.0)]
    ]
    assert len(parts[0]) == pytest.approx(0.25 * len(left), rel=0.05)
    assert len(parts[0]) + len(parts[1]) == len(left)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("weight", [None, "counts"])
def test_every_row_that_does_not_train_evaluates_the_points_once(file, weight):
    loaded = load(file, **({"weight": weight} if weight else {"ignore": "counts"}))
    options = FitOptions(accuracy_drop=0.02, worst_group_drop=None)
    found = fit(loaded, options, Clock(60), Source("people.parquet", "hired", ("sex",)))
    learnt, judged, test = found.outcome.facts.sizes
    known = int(pd.read_parquet(file)["hired"].notna().sum())
    assert learnt + judged + test == known
    assert any("rows trained the models, and" in note for note in found.outcome.facts.notes)
    counts = found.outcome.held_out
    if weight is None:
        assert (counts.sum((1, 2, 3)) == judged).all()
        rest = list(loaded.rest.blocks(loaded.label.names, loaded.attribute.names))
        features, label, group = (np.concatenate([block[place] for block in rest]) for place in range(3))
        posterior = found.model.classifier.posterior(features)
        decided = decide(posterior, found.outcome.points.weights[0])
        own = Evaluation(posterior, label, group, decided).count(found.outcome.points.weights).counts
        assert (own <= counts).all()  # the others are the rows in memory that did not train
        assert (counts - own).sum((1, 2, 3)).tolist() == [judged - len(label)] * len(counts)
    else:  # scaled by their effective sample size
        assert np.ptp(counts.sum((1, 2, 3))) < 1e-6
        assert 0.5 * judged < counts[0].sum() < judged


@pytest.mark.filterwarnings("ignore")
def test_where_time_is_short_rows_are_left_out_at_random_with_a_note(file, monkeypatch):
    loaded = load(file, ignore="counts")
    clock = Clock(60)
    monkeypatch.setattr(type(clock), "left", 0.0)
    found = fit(loaded, FitOptions(), clock, Source("people.parquet", "hired", ("sex",)))
    assert any("left out to keep within the time" in note for note in found.outcome.facts.notes)


def test_one_command_does_so_for_a_large_file(file, tmp_path, monkeypatch):
    monkeypatch.setattr(fit_rows, "IN_MEMORY", DRAWN)
    options = ["--label", "hired", "--attribute", "sex", "--ignore", "counts", "--minutes", "1"]
    result = raan("fit", file, *options, "--out", tmp_path / "fair")
    assert result.returncode in (0, 1), result.stderr
    outcome = Outcome.load(tmp_path / "fair")
    known = int(pd.read_parquet(file)["hired"].notna().sum())
    assert sum(outcome.facts.sizes) == known
    few = raan("fit", file, *options, "--max-rows", "2000", "--out", tmp_path / "few")
    assert few.returncode in (0, 1), few.stderr
    assert max(Outcome.load(tmp_path / "few").facts.sizes) < 2_000


@pytest.mark.filterwarnings("ignore")
def test_what_the_rest_has_and_the_rows_in_memory_lack_is_named(file, tmp_path):
    frame = pd.read_parquet(file)
    drawn = load(file, ignore="counts").rest.drawn
    places = np.flatnonzero(~drawn)
    frame.loc[places[:70], "hired"] = "maybe"
    frame.loc[places[70:120], "sex"] = "x"
    frame.loc[places[120:130], "hired"] = "YES"  # another spelling is another class
    frame.to_parquet(tmp_path / "strange.parquet")
    loaded = load(tmp_path / "strange.parquet", ignore="counts")
    found = fit(loaded, FitOptions(), Clock(60), Source("strange.parquet", "hired", ("sex",)))
    notes = " ".join(found.outcome.facts.notes)
    for said in ("70 have the class 'maybe'", "50 have the group 'x'", "10 have the class 'YES'", "have no class"):
        assert said in notes
    assert "left out to keep within the time" not in notes


@pytest.mark.filterwarnings("ignore")
def test_a_fault_in_the_rest_does_not_lose_what_was_trained(file, tmp_path):
    frame = pd.read_parquet(file)
    place = int(np.flatnonzero(~load(file, weight="counts").rest.drawn)[5])
    frame.loc[place, "counts"] = -1
    frame.to_parquet(tmp_path / "wrong.parquet", row_group_size=4_000)
    loaded = load(tmp_path / "wrong.parquet", weight="counts")
    found = fit(loaded, FitOptions(), Clock(60), Source("wrong.parquet", "hired", ("sex",)))
    assert any("were not counted" in note and "-1" in note for note in found.outcome.facts.notes)
    frame.loc[place, "counts"] = 1
    frame.loc[:15_000, "counts"] = 0  # whole blocks count nothing
    frame.to_parquet(tmp_path / "zeros.parquet", row_group_size=4_000)
    loaded = load(tmp_path / "zeros.parquet", weight="counts")
    found = fit(loaded, FitOptions(), Clock(60), Source("zeros.parquet", "hired", ("sex",)))
    assert not any("were not counted" in note for note in found.outcome.facts.notes)
