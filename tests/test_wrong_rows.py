"""What once gave other figures without a word: rows in another order, masks, shifted values, columns that move."""

import csv

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LogisticRegression

import raan as library
from commands import raan
from raan import FairFrontier, audit, compare
from raan.errors import InputError, InputTypeError
from raan.tables.read import read

ROWS = 1_500
RNG = np.random.default_rng(0)
SEX = pd.Series(RNG.choice(["f", "m"], ROWS), name="sex")
X = pd.DataFrame({"a": RNG.normal(size=ROWS), "b": RNG.normal(size=ROWS) + (SEX == "m")})
Y = pd.Series(np.where(X.a + X.b + RNG.normal(size=ROWS) > 0.5, "yes", "no"), name="hired")
WEIGHT = pd.Series(RNG.uniform(1, 2, ROWS))
JOB = pd.Series(RNG.choice(["cook", "clerk"], ROWS))


def other_order(column):
    return column.sample(frac=1, random_state=1)


@pytest.fixture(scope="module")
def fair():
    rule = {"aim": "demographic_parity", "accuracy_drop": 0.05, "worst_group_drop": None}
    return FairFrontier(LogisticRegression(), **rule).fit(X, Y, sensitive_features=SEX)


NEW = X + 0.001  # rows that did not train


@pytest.mark.parametrize(
    "use",
    [
        lambda fair: fair.certify(NEW, Y, sensitive_features=other_order(SEX)),
        lambda fair: fair.certify(NEW, other_order(Y), sensitive_features=SEX),
        lambda fair: fair.evaluate([(NEW, Y, other_order(SEX))]),
        lambda fair: fair.evaluate([(NEW, other_order(Y), SEX)]),
        lambda fair: fair.evaluate([(NEW, Y, SEX, other_order(WEIGHT))]),
        lambda fair: audit(Y, fair.predict(X), SEX, sample_weight=other_order(WEIGHT)),
        lambda fair: audit(Y, fair.predict(X), SEX, control_features=other_order(JOB)),
        lambda fair: audit(Y, fair.predict(X), SEX, groups=other_order(JOB)),
        lambda fair: FairFrontier(LogisticRegression()).fit(
            X, Y, sensitive_features=SEX, control_features=other_order(JOB)
        ),
        lambda fair: FairFrontier(LogisticRegression()).fit(X, Y, sensitive_features=SEX, groups=other_order(JOB)),
        lambda fair: compare({"a": Y, "b": other_order(Y)}, None, Y, sensitive_features=SEX),
    ],
)
def test_columns_with_the_same_rows_in_another_order_are_refused(fair, use):
    with pytest.raises(InputError, match="in another order, by the indices"):
        use(fair)


def test_masks_are_not_dropped(fair):
    masked = np.ma.masked_array(Y.to_numpy(), mask=np.arange(ROWS) < 10)
    for models, truth in (({"a": masked}, Y), ({"a": Y.to_numpy()}, masked)):
        with pytest.raises(InputError, match="masked"):
            compare(models, None, truth, sensitive_features=SEX)


def test_classes_that_are_spelt_otherwise_are_named_and_others_refused():
    with pytest.warns(UserWarning, match="Yes"):
        compare({"a": Y.str.capitalize()}, None, Y, sensitive_features=SEX)
    with (
        pytest.warns(UserWarning, match="Predictions have classes that no label has"),
        pytest.raises(InputError, match="write both alike"),
    ):
        compare({"a": (Y == "yes").astype(int)}, None, Y, sensitive_features=SEX)


def test_frames_need_names_that_the_model_knows():
    model = FairFrontier(LogisticRegression(), worst_group_drop=None, accuracy_drop=0.05, confidence=0.5)
    model.fit(X.to_numpy(), Y, sensitive_features=SEX)
    with pytest.raises(InputTypeError, match="fitted to an array"):
        model.evaluate([NEW.assign(sex=SEX, hired=Y)], label="hired", sensitive_features="sex")


def test_one_frame_is_one_partition(fair):
    found = fair.evaluate(NEW.assign(sex=SEX, hired=Y), label="hired", sensitive_features="sex")
    assert found.sizes_ == (ROWS, ROWS)


def test_a_partition_may_weigh_nothing(fair):
    half = ROWS // 2
    parts = [
        (NEW[:half], Y[:half], SEX[:half], np.zeros(half)),
        (NEW[half:], Y[half:], SEX[half:], np.ones(ROWS - half)),
    ]
    assert fair.evaluate(parts).points_.counts[0].sum() == ROWS - half


@pytest.mark.parametrize("scale", [1e-200, 1e200])
def test_very_large_and_small_weights_give_the_figures_of_moderate_ones(scale):
    first, second = (audit(Y, Y, SEX, sample_weight=WEIGHT * by).overall["accuracy"] for by in (1, scale))
    assert first.value == second.value


def test_a_row_with_too_many_values_and_one_with_too_few_do_not_make_up_for_each_other(tmp_path):
    lines = X.round(3).to_csv(index=False).split("\n")
    lines[700], lines[1400] = "5," + lines[700], lines[1400].rpartition(",")[0]
    file = tmp_path / "shifted.csv"
    file.write_text("\n".join(lines))
    with pytest.raises(InputError, match=r"line 701.*has 3 values"):
        read(file)


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_quoted_delimiters_and_line_ends_are_no_values(tmp_path, end):
    frame = pd.DataFrame({"a": ['x, "y"', "two\nlines", "", " "] * 30, "b": range(120)})
    file = tmp_path / "quoted.csv"
    file.write_text(frame.to_csv(index=False, lineterminator=end, quoting=csv.QUOTE_NONNUMERIC), newline="")
    assert read(file).frame["b"].tolist() == list(range(120))


def test_a_parquet_file_with_the_index_of_pandas_is_read(tmp_path):
    frame = X.assign(sex=SEX, hired=Y).sample(frac=0.9, random_state=0)
    frame.to_parquet(tmp_path / "filtered.parquet")
    table = read(tmp_path / "filtered.parquet")
    assert table.names == ["a", "b", "sex", "hired"]
    assert np.allclose(table.frame["a"], frame["a"])
    frame.rename_axis("id").to_parquet(tmp_path / "named.parquet")
    assert read(tmp_path / "named.parquet").names == ["a", "b", "sex", "hired", "id"]


def test_columns_that_begin_empty_are_passed_through_to_parquet(tmp_path):
    frame = X.assign(sex=SEX, hired=Y)
    frame.to_csv(tmp_path / "people.csv", index=False)
    options = ["--label", "hired", "--attribute", "sex", "--minutes", "0.1", "--out", tmp_path / "fair"]
    assert raan("fit", tmp_path / "people.csv", *options).returncode in (0, 1)
    new = pd.concat([X] * 8, ignore_index=True)
    late = np.arange(len(new)) > 11_000
    new["flag"] = np.where(late, True, None)
    new["day"] = np.where(late, pd.Timestamp("2024-01-01").date(), None)
    new.to_parquet(tmp_path / "new.parquet")
    command = ["predict", tmp_path / "fair", tmp_path / "new.parquet", "--keep", "all"]
    result = raan(*command, "--out", tmp_path / "out.parquet")
    assert result.returncode == 0, result.stderr
    written = pd.read_parquet(tmp_path / "out.parquet")
    assert written["flag"].equals(new["flag"])
    assert written["day"].equals(new["day"])
    assert library.load(tmp_path / "fair" / "model") is not None


def test_outputs_of_a_folder_do_not_follow_links(tmp_path):
    frame = X.assign(sex=SEX, hired=Y)
    frame.to_csv(tmp_path / "people.csv", index=False)
    options = ["--label", "hired", "--attribute", "sex", "--minutes", "0.1", "--out", tmp_path / "fair"]
    assert raan("fit", tmp_path / "people.csv", *options).returncode in (0, 1)
    (tmp_path / "data").mkdir()
    (tmp_path / "scored").mkdir()
    X.to_csv(tmp_path / "data" / "a.csv", index=False)
    before = (tmp_path / "data" / "a.csv").read_bytes()
    X[:50].to_csv(tmp_path / "data" / "b.csv", index=False)
    command = ["predict", tmp_path / "fair", tmp_path / "data", "--out", tmp_path / "scored"]
    assert raan(*command).returncode == 0
    (tmp_path / "scored" / "b.csv").unlink()
    (tmp_path / "scored" / "b.csv").symlink_to(tmp_path / "data" / "a.csv")
    result = raan(*command)
    assert result.returncode == 2
    assert "is a link" in result.stderr
    assert (tmp_path / "data" / "a.csv").read_bytes() == before
