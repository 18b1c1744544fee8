import csv
import json
import os
import re
import signal
import subprocess
from contextlib import suppress

import numpy as np
import pandas as pd
import pytest

from commands import ENVIRONMENT, RAAN, people, raan, said
from fitted_runs import table_of, write_table
from raan import load
from raan.fit.outcome import Outcome
from raan.fit.words import title
from raan.io.files import MANIFEST, new_folder
from raan.lab.datasets.adult import COLUMNS
from raan.tables.load import from_frame
from systems import posix

pytestmark = pytest.mark.filterwarnings("ignore::raan.errors.DataWarning")  # the height gives the sex away

FIT = ("--label", "hired", "--attribute", "sex")
SHORT = 0.05  # minutes: the least there is


FOUND = ("--aim", "demographic-parity", "--accuracy-drop", 3)  # what can be found on this table


@pytest.fixture(scope="module")
def fitted(tmp_path_factory):
    """A table, the folder that was fitted to it, and what the command printed."""
    folder = tmp_path_factory.mktemp("fit")
    table = write_table(folder / "people.csv", rows=1500)
    result = raan("fit", table, *FIT, *FOUND, "--out", folder / "out", "--minutes", 0.5)
    assert result.returncode == 0, result.stderr
    return table, folder / "out", result


def test_the_folder_holds_model_baseline_report_outcome_and_card(fitted):
    _, out, _ = fitted
    names = {path.name for path in out.iterdir()}
    files = {"report.html", "outcome.npz", "model-card.md", MANIFEST}
    assert names == {"model", "plain", *files}
    assert not [path for path in out.parent.iterdir() if path.name.startswith(".")]  # nothing left half-written


def test_a_report_of_the_folder_is_the_page_that_the_fit_wrote(fitted, tmp_path):
    _, out, _ = fitted
    result = raan("report", out, "--out", tmp_path / "again.html")
    assert result.returncode == 0, result.stderr
    assert (tmp_path / "again.html").read_text() == (out / "report.html").read_text()
    card = raan("report", out, "--format", "md").stdout
    assert card == (out / "model-card.md").read_text()
    other = raan("report", out, "--aim", "worst-group")
    assert other.returncode == 2
    assert "`raan choose` takes another --aim" in said(other)


def test_the_outcome_has_all_families_in_cross_validation_and_on_test_rows(fitted):
    _, out, _ = fitted
    outcome = Outcome.load(out)
    assert outcome.facts.trained == ("gradient boosting", "logistic regression")
    assert (outcome.held_out.sum((1, 2, 3)) == 1200).all()
    assert (outcome.test.sum((1, 2, 3)) == 300).all()


def test_the_table_the_sentences_the_regime_and_the_files_are_shown_without_colours(fitted):
    _, out, result = fitted
    assert re.search(r"accuracy\W+\d+\.\d\W+\d+\.\d", result.stdout)
    shown = " ".join(result.stdout.split())
    for word in (
        "demographic-parity gap",
        "accuracy of f",
        "Held-out rows had a demographic-parity gap of",
        "This model does not see sex: new rows need not state it.",
        "with a threshold for each group, the demographic-parity gap expected on held-out rows would be",
        f"raan choose {out} --out NEW --aim",
    ):
        assert word in shown, word
    for name in ("model", "plain", "report.html", "model-card.md"):
        assert str(out / name) in result.stdout
    assert "\x1b" not in result.stdout + result.stderr


def test_the_verdict_comes_first_then_who_gains_and_loses_then_the_table_and_the_files(fitted):
    _, out, result = fitted
    outcome, shown = Outcome.load(out), " ".join(result.stdout.split())
    parts = (title(outcome).partition(":")[0], "Right decisions per 1,000 people", "test rows (%)", "report:")
    places = [shown.index(part) for part in parts]
    assert places == sorted(places)
    assert places[0] == 0


def test_the_model_and_its_plain_twin_load_and_predict_files_and_frames_alike(fitted):
    table, out, _ = fitted
    frame = pd.read_csv(table)
    for name in ("model", "plain"):
        model = load(out / name)
        assert set(model.predict(table)) <= {"no", "yes"}
        assert (model.predict(table) == model.predict(frame[::-1])[::-1]).all()
        assert np.allclose(model.predict_proba(table).sum(1), 1)
        assert model.about["label"] == "hired"
        assert model.columns == ("age", "score", "height", "city")  # neither label nor attribute
    assert (load(out / "model").predict(table) != load(out / "plain").predict(table)).any()
    predicted = raan("predict", out / "plain", table, "--out", out.parent / "p.csv")
    assert predicted.returncode == 0, predicted.stderr


def test_the_claim_can_be_checked_with_the_two_models_and_the_test_rows(fitted):
    table, out, _ = fitted
    test = from_frame(table, "hired", "sex").split.test
    rows = pd.read_csv(table).iloc[test]
    stated = Outcome.load(out).to_dict()
    for name, who in (("plain", "plain"), ("model", "chosen")):
        predicted = load(out / name).predict(rows)
        assert stated[who]["test"]["accuracy"] == pytest.approx((predicted == rows["hired"]).mean(), abs=1e-6)


def test_the_card_says_how_the_model_was_chosen_and_how_it_serves_each_group(fitted):
    _, out, _ = fitted
    card = (out / "model-card.md").read_text()
    for words in ("1,200 rows were used to train", "within 0.5 minutes:", "at most 3 points", "accuracy of f"):
        assert words in card, words
    assert "raan predict" in card
    assert re.search(r"\d+\.\d% \[ *\d+\.\d, +\d+\.\d\]", card)


def test_the_rule_is_kept_out_of_fold_and_json_says_so(tmp_path):
    table = write_table(tmp_path / "a.csv", rows=1000)
    wish = (*FOUND, "--keep-attribute", "--minutes", SHORT, "--json")
    result = raan("fit", table, *FIT, *wish, "--out", tmp_path / "o")
    found = json.loads(result.stdout)
    assert result.returncode == (1 if found["verdict"]["status"] == "contradicted" else 0)
    plain, chosen = found["plain"]["validation"], found["chosen"]["validation"]
    assert chosen["accuracy"] >= plain["accuracy"] - 0.03 - 1e-6
    assert chosen["worst_group_accuracy"] >= plain["worst_group_accuracy"]
    assert chosen["demographic_parity_gap"] < plain["demographic_parity_gap"]
    assert found["improved"] is True
    assert found["inputs"][0].startswith("sex is an input of this model")
    assert len(found["promise"]["accuracy_loss"]) == 3


def test_where_nothing_is_allowed_the_plain_model_is_saved_and_that_is_no_error(tmp_path):
    result = raan(
        "fit", people(tmp_path / "a.csv", rows=800), *FIT, "--ignore", "id", "--out", tmp_path / "o", "--minutes",
        SHORT, "--accuracy-drop", 0, "--confidence", 0.999, "--json",
    )  # fmt: skip
    assert result.returncode == 0, result.stderr
    found = json.loads(result.stdout)
    assert found["improved"] is False
    assert found["title"].startswith("Baseline kept: ")
    assert found["reading"].startswith("Baseline kept: the plain model is saved (")
    table = tmp_path / "a.csv"
    assert (load(tmp_path / "o" / "model").predict(table) == load(tmp_path / "o" / "plain").predict(table)).all()


def test_test_rows_that_contradict_the_promise_are_exit_code_1_and_everything_says_so(tmp_path):
    """In test rows women have higher scores, so that a model which favours men treats the two alike."""
    frame = table_of(rows=1500)
    test = from_frame(frame, "hired", "sex").split.test
    frame.loc[test, "score"] += np.where(frame.loc[test, "sex"] == "f", 0.8, 0.0)
    frame.round(3).to_csv(tmp_path / "a.csv", index=False)
    result = raan("fit", tmp_path / "a.csv", *FIT, *FOUND, "--out", tmp_path / "o", "--minutes", SHORT)
    assert result.returncode == 1, result.stderr
    assert "Contradicted: on 300 test rows" in " ".join(result.stdout.split())
    assert "**Contradicted: on 300 test rows" in (tmp_path / "o" / "model-card.md").read_text()
    assert "<title>Contradicted: " in (tmp_path / "o" / "report.html").read_text()


def test_test_rows_of_their_own_judge_and_all_other_rows_train(tmp_path):
    table, later = write_table(tmp_path / "a.csv", rows=700), write_table(tmp_path / "b.csv", rows=300, seed=1)
    wish = (*FOUND, "--test", later, "--ignore", "ci*", "--minutes", SHORT, "--json")
    result = raan("fit", table, *FIT, *wish, "--out", tmp_path / "o")
    assert result.returncode in (0, 1), result.stderr
    stated = json.loads(result.stdout)
    model, rows = load(tmp_path / "o" / "model"), pd.read_csv(later)
    assert model.columns == ("age", "score", "height")
    right = (model.predict(rows) == rows["hired"]).mean()
    assert stated["chosen"]["test"]["accuracy"] == pytest.approx(right, abs=1e-6)
    assert Outcome.load(tmp_path / "o").facts.sizes == (700, 700, 300)


def test_quiet_prints_nothing(tmp_path):
    table = write_table(tmp_path / "a.csv", rows=600)
    result = raan("fit", table, *FIT, "--accuracy-drop", 0, "--out", tmp_path / "o", "--minutes", SHORT, "--quiet")
    assert (result.stdout, result.stderr) == ("", "")
    assert result.returncode in (0, 1)


def test_several_attributes_are_crossed_and_a_missing_one_is_unknown(tmp_path):
    frame = pd.read_csv(people(tmp_path / "a.csv", rows=2000), dtype=str)
    frame["old"] = np.where(frame.pop("age").astype(int) > 50, "old", "young")
    frame.loc[::50, "sex"] = None
    frame.to_csv(tmp_path / "b.csv", index=False)
    result = raan(
        "fit", tmp_path / "b.csv", "--label", "hired", "--attribute", "sex", "old", "--ignore", "id", "--out",
        tmp_path / "o", "--minutes", SHORT,
    )  # fmt: skip
    assert result.returncode in (0, 1), result.stderr
    assert "the attribute is unknown in 40 of 2,000 rows" in said(result)
    assert Outcome.load(tmp_path / "o").facts.groups == ("f × old", "f × young", "m × old", "m × young")


def test_names_and_values_of_the_user_are_never_markup(tmp_path):
    names = ("id", "<script>alert(1)</script>", "[bold]x|y[/]", "a*b_c", "s`e`x", "# hired")
    table = people(tmp_path / "a.csv", rows=800, names=names, groups=("<b>f</b>", "[red]m|m"))
    result = raan(
        "fit", table, "--label", "# hired", "--attribute", "s`e`x", "--ignore", "id", "--out", tmp_path / "o",
        "--minutes", SHORT,
    )  # fmt: skip
    assert result.returncode in (0, 1), result.stderr
    assert "accuracy of [red]m|m" in result.stdout
    card = (tmp_path / "o" / "model-card.md").read_text()
    assert "<script>" not in card
    assert "<b>" not in card
    assert r"\[red\]m\|m" in card
    assert "<script>alert(1)</script>" not in (tmp_path / "o" / "report.html").read_text()


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (
            ("--label", "hird", "--attribute", "sex"),
            "--label names the column 'hird', which people.csv does not have; expected one of",
        ),
        (
            ("--label", "hired", "--attribute", "Sex"),
            "expected one of id, age, city, score, sex, hired; is it 'sex'?",
        ),
        (("--label", "hired", "--attribute", "hired"), "is named twice"),
    ],
)
def test_a_wrong_column_is_one_paragraph_with_what_to_do_and_exit_code_2(tmp_path, arguments, words):
    frame = pd.read_csv(people(tmp_path / "people.csv"), dtype=str)
    frame["id"] = "x" + frame["id"]  # words that never repeat
    frame.to_csv(tmp_path / "people.csv", index=False)
    result = raan("fit", tmp_path / "people.csv", *arguments, "--out", tmp_path / "o")
    assert result.returncode == 2
    assert words in said(result)
    assert "Traceback" not in result.stderr
    assert not (tmp_path / "o").exists()


def test_a_column_of_identifiers_is_left_out_with_a_note(tmp_path):
    frame = pd.read_csv(people(tmp_path / "a.csv", rows=600), dtype=str)
    frame["id"] = "x" + frame["id"]  # words that never repeat
    frame.to_csv(tmp_path / "a.csv", index=False)
    result = raan("fit", tmp_path / "a.csv", *FIT, "--out", tmp_path / "o", "--minutes", SHORT)
    assert result.returncode in (0, 1), result.stderr
    assert "identifiers: id" in said(result)
    assert "id" not in load(tmp_path / "o" / "model").columns


def test_groups_too_small_to_compare_are_an_error_that_names_them(tmp_path):
    frame = pd.read_csv(people(tmp_path / "a.csv"), dtype=str)
    frame["sex"] = np.where(np.arange(len(frame)) < 5, "x", "m")
    frame.to_csv(tmp_path / "a.csv", index=False)
    result = raan("fit", tmp_path / "a.csv", *FIT, "--ignore", "id", "--out", tmp_path / "o")
    assert result.returncode == 2
    assert "1 of 2 groups have 30 training rows or more" in said(result)


def test_a_folder_that_fit_wrote_is_replaced_with_force_alone_and_any_other_never(tmp_path):
    table = write_table(tmp_path / "a.csv", rows=600)
    command = ("fit", table, *FIT, "--accuracy-drop", 0, "--minutes", SHORT, "--out")
    (tmp_path / "o").mkdir()
    (tmp_path / "o" / "mine.txt").write_text("mine")
    for force in ((), ("--force",)):
        refused = raan(*command, tmp_path / "o", *force)
        assert refused.returncode == 2
        assert f"is not empty and not replaced (no {MANIFEST} shows that raan wrote it)" in said(refused)
    assert (tmp_path / "o" / "mine.txt").exists()
    first = raan(*command, tmp_path / "new")
    assert first.returncode in (0, 1), first.stderr
    refused = raan(*command, tmp_path / "new")
    assert refused.returncode == 2
    assert "name another folder by --out, or replace this one by --force" in said(refused)
    (tmp_path / "new" / "report.html").unlink()
    forced = raan(*command, tmp_path / "new", "--force")
    assert forced.returncode in (0, 1), forced.stderr
    assert (tmp_path / "new" / "report.html").exists()


def test_the_folder_one_is_in_is_refused_before_training(tmp_path):
    write_table(tmp_path / "a.csv", rows=600)
    refused = raan("fit", "a.csv", *FIT, "--out", ".", "--force", cwd=tmp_path)
    assert refused.returncode == 2
    assert "the current folder, or one that contains it" in said(refused)
    assert [path.name for path in tmp_path.iterdir()] == ["a.csv"]


def _begun(tmp_path, **options):
    table = write_table(tmp_path / "a.csv", rows=6_000)
    command = [RAAN, "fit", table, *FIT, "--out", tmp_path / "o", "--minutes", "5"]
    return subprocess.Popen(list(map(str, command)), env={**ENVIRONMENT, "TERM": "xterm"}, **options)


def _until(terminal, word):
    """Read what a terminal shows until it shows the word."""
    shown = b""
    while word not in shown:
        shown += os.read(terminal, 4096)


def _rest(terminal):
    """Read what a terminal shows until the process that writes to it has ended."""
    shown = b""
    with suppress(OSError):  # so a terminal ends
        while part := os.read(terminal, 4096):
            shown += part
    return shown.decode()


@pytest.fixture
def terminal():
    """The two ends of a terminal: the one to read from, and the one to write to."""
    reader, writer = os.openpty()
    yield reader, writer
    os.close(reader)


@posix
def test_a_kill_in_the_middle_leaves_no_folder(tmp_path, terminal):
    reader, writer = terminal
    with _begun(tmp_path, stdout=writer, stderr=writer) as process:
        os.close(writer)
        _until(reader, b"gradient boosting")
        process.kill()
        _rest(reader)
    assert process.returncode == -signal.SIGKILL
    assert not (tmp_path / "o").exists()
    left = [path for path in tmp_path.iterdir() if path.name != "a.csv"]
    with new_folder(tmp_path / "o", "raan fit"):  # the next run clears away what the kill left
        assert not [path for path in left if path.suffix != ".lock" and any(path.iterdir())]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.csv", "o"]


@posix
def test_an_interruption_uses_what_is_finished(tmp_path, terminal):
    reader, writer = terminal
    with _begun(tmp_path, stdout=writer, stderr=writer) as process:
        os.close(writer)
        _until(reader, b"logistic regression")
        process.send_signal(signal.SIGINT)
        shown = _rest(reader)
    assert process.returncode in (0, 1), shown
    assert "Training was interrupted" in " ".join(shown.split())
    assert (tmp_path / "o" / "model" / MANIFEST).exists()


@posix
def test_an_interruption_before_there_is_a_model_is_exit_code_130(tmp_path, terminal):
    reader, writer = terminal
    with _begun(tmp_path, stdout=writer, stderr=writer) as process:
        os.close(writer)
        _until(reader, b"reading")
        process.send_signal(signal.SIGINT)
        shown = _rest(reader)
    assert process.returncode == 130, shown
    assert "Traceback" not in shown
    assert not (tmp_path / "o").exists()


def test_real_rows_keep_the_budget_in_cross_validation_and_raise_the_worst_group(real_data, tmp_path):
    lines = (real_data / "adult" / "adult.data").read_text().splitlines()[:8000]
    with (tmp_path / "adult.csv").open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(COLUMNS)
        writer.writerows([part.strip() for part in line.split(",")] for line in lines if line)
    result = raan(
        "fit", tmp_path / "adult.csv", "--label", "income", "--attribute", "sex", "--out", tmp_path / "o",
        "--minutes", 1, "--aim", "worst-group", "--accuracy-drop", 1, "--json",
    )  # fmt: skip
    assert result.returncode == 0, result.stderr
    found = json.loads(result.stdout)
    plain, chosen = (found[who]["validation"] for who in ("plain", "chosen"))
    assert plain["accuracy"] > 0.84
    assert chosen["accuracy"] >= plain["accuracy"] - 0.01 - 1e-6
    assert chosen["worst_group_accuracy"] > plain["worst_group_accuracy"] + 0.03
    assert found["chosen"]["test"]["worst_group_accuracy"] > found["plain"]["test"]["worst_group_accuracy"]
