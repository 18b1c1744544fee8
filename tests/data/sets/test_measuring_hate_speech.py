"""The substitute for Civil Comments: its real subset, and the original by a small file in its layout."""

from functools import cache
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score

from raan.data import Comments, DataUnavailable, environments, measuring_hate_speech
from raan.lab.datasets.comments import EMBEDDING, TARGETED
from raan.lab.datasets.description import CATALOGUE

CELLS = {  # rows of no hate speech and of hate speech that target the identity
    "black": [1_996, 1_499],
    "muslim": [1_334, 431],
    "lgbtq": [3_213, 1_612],
    "neurodiverse": [243, 248],
}
TARGETS = [name for names in TARGETED.values() for name in names]


def subset(rows: list[tuple[str, int, dict[str, int]]]) -> pd.DataFrame:
    """A row a comment: its text, its label, and what it targets."""
    return pd.DataFrame(
        [
            {"comment_id": number, "text": text, "labels": label} | dict.fromkeys(TARGETS, 0) | targets
            for number, (text, label, targets) in enumerate(rows)
        ]
    )


ROWS = [
    ("one", 0, {"target_gender_transgender_women": 1}),
    ("two", 1, {"target_sexuality_gay": 1, "target_race_black": 1}),
    ("three", 0, {}),
    ("four", 1, {"target_gender_non_binary": 1}),
]


def test_targets_are_combined_into_identities(tmp_path: Path) -> None:
    subset(ROWS).to_csv(tmp_path / "measuring_hate_speech_subset.csv", index=False)
    comments = measuring_hate_speech(tmp_path, identity="lgbtq")
    assert comments.texts == ("one", "two", "three", "four")
    assert comments.label.tolist() == [0, 1, 0, 1]
    assert comments.attribute.tolist() == [1, 1, 0, 1]
    assert comments.embedding is None
    assert measuring_hate_speech(tmp_path, identity="black").attribute.tolist() == [0, 1, 0, 0]


def test_the_embedding_beside_the_comments_makes_a_table(tmp_path: Path) -> None:
    subset(ROWS).to_csv(tmp_path / "measuring_hate_speech_subset.csv.gz", index=False)
    np.save(tmp_path / EMBEDDING, np.arange(8, dtype=np.float16).reshape(4, 2))
    table = measuring_hate_speech(tmp_path).table()
    assert table.features.tolist() == [[0, 1], [2, 3], [4, 5], [6, 7]]
    assert table.name == "measuring_hate_speech"


@pytest.mark.parametrize("shape", [(3, 2), (5, 2), (4,)])
def test_an_embedding_of_other_comments_is_refused(tmp_path: Path, shape: tuple[int, ...]) -> None:
    subset(ROWS).to_csv(tmp_path / "measuring_hate_speech_subset.csv", index=False)
    np.save(tmp_path / EMBEDDING, np.zeros(shape, np.float16))
    with pytest.raises(ValueError, match=r"minilm_fp16.npy has shape .*; expected one row for each of 4 comments"):
        measuring_hate_speech(tmp_path)


def test_the_originals_annotators_are_gathered_by_comment(tmp_path: Path) -> None:
    def said(comment: int, hatespeech: int, black: bool) -> dict[str, object]:
        text = f"comment {comment}"
        return {"comment_id": comment, "annotator_id": 7, "text": text, "hatespeech": hatespeech} | {
            name: black and name == "target_race_black" for name in TARGETS
        }

    answers = [
        *(said(47, 1, True), said(47, 2, True), said(47, 0, False)),  # first unclear, then hate speech
        *(said(11, 0, False), said(11, 2, False), said(11, 2, True)),  # one of three saw the target
        said(30, 1, True),  # nobody was clear
        *(said(5, 0, True), said(5, 0, False)),  # half of them saw it
    ]
    pd.DataFrame(answers).astype({"hatespeech": float}).to_parquet(tmp_path / "measuring-hate-speech.parquet")
    comments = measuring_hate_speech(tmp_path)
    assert comments.texts == ("comment 47", "comment 11", "comment 5")
    assert comments.label.tolist() == [1, 0, 0]
    assert comments.attribute.tolist() == [1, 0, 1]


def test_an_unknown_identity_is_refused_with_the_choices() -> None:
    with pytest.raises(ValueError, match="identity is 'white'; expected one of 'black'"):
        measuring_hate_speech(identity="white")


def test_a_missing_file_is_asked_for(cache: Path) -> None:
    with pytest.raises(DataUnavailable, match=r"(?s)measuring_hate_speech_subset.csv.*ucberkeley-dlab"):
        measuring_hate_speech()


def test_what_is_to_be_known_says_that_it_is_not_civil_comments() -> None:
    assert any("not Civil Comments" in caution for caution in CATALOGUE["measuring_hate_speech"].cautions)


@cache
def real(folder: Path, identity: str = "black") -> Comments:
    if not (folder / "text").is_dir():
        pytest.skip(f"no real comments: {folder / 'text'} is missing")
    return measuring_hate_speech(folder, identity=identity)


@pytest.mark.usefixtures("as_users_call")
@pytest.mark.parametrize("identity", CELLS)
def test_the_real_subset_has_the_known_cells(real_data: Path, identity: str) -> None:
    comments = real(real_data, identity)
    assert comments.rows == len(comments.texts) == 25_424
    assert comments.label.double().mean().item() == pytest.approx(0.2843, abs=1e-4)
    assert [int(comments.attribute[comments.label == y].sum()) for y in (0, 1)] == CELLS[identity]


@pytest.mark.parametrize(
    ("identity", "size"), [("black", 1_666), ("muslim", 478), ("lgbtq", 1_790), ("neurodiverse", 276)]
)
def test_the_papers_environments_can_be_drawn_from_the_real_subset(
    real_data: Path, identity: str, size: int
) -> None:
    comments = real(real_data, identity)
    assert environments(comments.label, comments.attribute).size == size


@pytest.mark.usefixtures("as_users_call")
def test_the_real_embeddings_belong_to_their_comments(real_data: Path) -> None:
    table = real(real_data).table()
    train, test = slice(0, 6_000), slice(20_000, 25_424)

    def area(shift: int) -> float:
        """How well a logistic regression ranks the label of the comment so many on."""
        label = np.roll(table.label.numpy(), shift)
        probe = LogisticRegression(max_iter=200).fit(table.features[train].numpy(), label[train])
        return roc_auc_score(label[test], probe.decision_function(table.features[test].numpy()))

    assert area(shift=0) > 0.78
    assert area(shift=1) < 0.55
