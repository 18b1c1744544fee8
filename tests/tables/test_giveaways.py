"""Columns that give the label away are named, few at a time; those that merely help are not."""

import time
from pathlib import Path

import numpy as np
import pandas as pd

from raan.fairness.groups import encode_label
from raan.lab.datasets.adult import COLUMNS
from raan.tables.checks import find_giveaways
from raan.tables.read import read


def people(rows: int = 3000) -> tuple[pd.DataFrame, np.ndarray]:
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.normal(size=(rows, 6)), columns=list("abcdef"))
    frame["job"] = rng.choice(["clerk", "cook", "judge"], rows)
    return frame, (frame["a"] + frame["b"] + rng.normal(size=rows) > 0).to_numpy()


def told(frame: pd.DataFrame, label: object) -> list[str]:
    columns = read(frame).check(list(frame.columns), {})
    return list(find_giveaways(columns, encode_label(label), np.arange(len(frame)), 0))


def test_a_column_that_agrees_with_the_label_in_97_of_100_rows_is_told() -> None:
    frame, y = people()
    wrong = np.random.default_rng(1).random(len(y)) < 0.03
    (note,) = told(frame.assign(code=np.where(y ^ wrong, "A1", "R2")), y)
    assert note.startswith("the column 'code' alone gives the label away: a small tree is right in 9")
    assert note.endswith("leave out by ignore=['code']")


def test_two_or_three_columns_that_give_the_label_away_together_are_told_together() -> None:
    frame, _ = people()
    rng = np.random.default_rng(1)
    flags = {name: rng.random(len(frame)) < 0.25 for name in ("late", "default", "lost")}
    (note,) = told(frame.assign(**flags), np.any(list(flags.values()), axis=0))
    assert all(repr(name) in note for name in flags)
    assert "together give the label away" in note
    assert note.count("ignore=[") == 3


def test_several_columns_that_each_give_it_away_are_all_told() -> None:
    frame, y = people()
    notes = told(frame.assign(one=y * 1.0, two=np.where(y, "yes", "no")), y)
    assert [note.split("'")[1] for note in notes] == ["one", "two"]


def test_one_class_of_three_is_not_enough_but_all_three_are() -> None:
    frame, y = people()
    label = np.where(frame["c"] > 0.8, "x", np.where(y, "y", "n"))
    assert not told(frame, label)
    assert len(told(frame.assign(code=np.where(frame["d"] > 2, "other", label)), label)) == 1


def test_what_helps_is_no_giveaway() -> None:
    assert not told(*people())


def test_of_a_rare_class_being_right_in_97_of_100_rows_is_nothing() -> None:
    frame, _ = people()
    rare = (frame["a"] + np.random.default_rng(2).normal(size=len(frame)) > 2.7).to_numpy()
    assert 0.02 < rare.mean() < 0.05
    assert not told(frame, rare)


def test_few_rows_say_nothing() -> None:
    frame, y = people(90)
    assert not told(frame.assign(code=y * 1.0), y)


def test_adult_and_meps_give_nothing_away(real_data: Path) -> None:
    adult = pd.read_csv(real_data / "adult" / "adult.data", names=list(COLUMNS), skipinitialspace=True)
    assert not told(adult.drop(columns="income"), adult["income"])
    path = real_data / "meps" / "rnf_meps_train.csv.gz"
    if path.is_file():
        meps = pd.read_csv(path)
        assert not told(meps.drop(columns="UTILIZATION"), meps["UTILIZATION"].astype(int))


def test_fifty_thousand_rows_of_twenty_columns_take_little_time() -> None:
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.normal(size=(50_000, 20)).round(3)).rename(columns=str)
    y = (frame["0"] > 0).to_numpy()
    begun = time.process_time()
    assert told(frame, y)
    assert time.process_time() - begun < 6  # about 1 s
