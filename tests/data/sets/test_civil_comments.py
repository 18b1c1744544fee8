"""Civil Comments in the layouts of Kaggle, WILDS and Hugging Face, by small files written in each of them."""

import gzip
from collections.abc import Callable
from pathlib import Path

import pandas as pd
import pytest
import torch

from raan.data import DataUnavailable, civil_comments
from raan.lab.datasets.comments import IDENTITIES
from raan.lab.datasets.description import CATALOGUE

# Every identity column of the competition's data, in its order.
COLUMNS = (
    *("asian", "atheist", "bisexual", "black", "buddhist", "christian", "female", "heterosexual", "hindu"),
    *("homosexual_gay_or_lesbian", "intellectual_or_learning_disability", "jewish", "latino", "male", "muslim"),
    *("other_disability", "other_gender", "other_race_or_ethnicity", "other_religion"),
    *("other_sexual_orientation", "physical_disability", "psychiatric_or_mental_illness", "transgender", "white"),
)
# text, toxicity, what was mentioned; None where nobody was asked
ROWS: tuple[tuple[str, float, dict[str, float] | None], ...] = (
    ("a civil remark", 0.0, {}),
    ('two lines,\nwith "quotes"', 0.5, {"black": 1.0}),
    ("NA", 0.49999, {"black": 0.5, "muslim": 0.2}),
    ("null", 1.0, None),
    ("", 0.9, {"bisexual": 0.4, "other_gender": 0.6}),
    ("été", 0.1, {"transgender": 0.5}),
    ("six", 0.7, {"intellectual_or_learning_disability": 0.8, "psychiatric_or_mental_illness": 0.1}),
    ("seven", 0.2, {"psychiatric_or_mental_illness": 0.5, "muslim": 0.9}),
    ("eight", 0.3, None),
)


def frame() -> pd.DataFrame:
    """The rows with the columns that all layouts share."""
    shares = [
        {name: None if mentions is None else mentions.get(name, 0.0) for name in COLUMNS}
        for _, _, mentions in ROWS
    ]
    texts = pd.DataFrame({"comment_text": [row[0] for row in ROWS], "toxicity": [row[1] for row in ROWS]})
    return texts.join(pd.DataFrame(shares, dtype=float))


def kaggle_train(folder: Path) -> Path:
    """train.csv: id, target, comment_text, subtypes, identities, then what the site knew."""
    data = frame().rename(columns={"toxicity": "target"})
    data.insert(0, "id", range(59_848, 59_848 + len(data)))
    data = data.assign(severe_toxicity=0.0, created_date="2015-09-29 10:50:41+00", rating="rejected", likes=0)
    data[["id", "target", "comment_text", "severe_toxicity", *COLUMNS, "created_date", "rating", "likes"]].to_csv(
        folder / "train.csv", index=False
    )
    return folder / "train.csv"


def kaggle_all(folder: Path) -> Path:
    """all_data.csv: the comment first, toxicity under its own name."""
    data = frame().assign(id=range(len(ROWS)), split="train", identity_annotator_count=4)
    data[["id", "comment_text", "split", "toxicity", *COLUMNS, "identity_annotator_count"]].to_csv(
        folder / "all_data.csv", index=False
    )
    return folder / "all_data.csv"


def kaggle_gzipped(folder: Path) -> Path:
    path = kaggle_train(folder)
    (folder / "train.csv.gz").write_bytes(gzip.compress(path.read_bytes()))
    path.unlink()
    return folder / "train.csv.gz"


def wilds(folder: Path) -> Path:
    """all_data_with_identities.csv: row numbers without a name first, and columns that WILDS added last."""
    data = frame().assign(id=range(len(ROWS)), split="val", LGBTQ=0.0, identity_any=1.0, num_identities=1)
    data[["id", "comment_text", "split", "toxicity", *COLUMNS, "LGBTQ", "identity_any", "num_identities"]].to_csv(
        folder / "all_data_with_identities.csv"
    )
    return folder / "all_data_with_identities.csv"


def hugging_face(folder: Path) -> Path:
    """A parquet file: text under that name, numbers in single precision."""
    data = (
        frame().rename(columns={"comment_text": "text"}).astype(dict.fromkeys(("toxicity", *COLUMNS), "float32"))
    )
    data.to_parquet(folder / "train-00000-of-00001.parquet", index=False)
    return folder / "train-00000-of-00001.parquet"


def hugging_face_folder(folder: Path) -> Path:
    """Several parquet files in a folder, read in the order of their names."""
    data = frame().rename(columns={"comment_text": "text"})
    (folder / "data").mkdir()
    for number, part in enumerate((data[:4], data[4:])):
        part.to_parquet(folder / "data" / f"train-{number:05}-of-00002.parquet", index=False)
    return folder


LAYOUTS = (kaggle_train, kaggle_all, kaggle_gzipped, wilds, hugging_face, hugging_face_folder)
EXPECTED = {  # in the rows that were rated for identities: 0, 1, 2, 4, 5, 6, 7
    "black": [0, 1, 1, 0, 0, 0, 0],
    "muslim": [0, 0, 0, 0, 0, 0, 1],
    "lgbtq": [0, 0, 0, 1, 1, 0, 0],
    "neurodiverse": [0, 0, 0, 0, 0, 1, 1],
}


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("identity", EXPECTED)
def test_every_layout_gives_the_same_comments(
    tmp_path: Path, layout: Callable[[Path], Path], identity: str
) -> None:
    comments = civil_comments(layout(tmp_path), identity=identity)
    assert comments.texts == tuple(text for text, _, mentions in ROWS if mentions is not None)
    assert comments.label.tolist() == [0, 1, 0, 1, 0, 1, 0]
    assert comments.attribute.tolist() == EXPECTED[identity]
    assert comments.class_names == ("not toxic", "toxic")


def test_the_attribute_goes_by_the_identitys_name(tmp_path: Path) -> None:
    path = kaggle_train(tmp_path)
    names = [civil_comments(path, identity=identity).attribute_names for identity in IDENTITIES]
    assert names == [
        ("not Black", "Black"),
        ("not Muslim", "Muslim"),
        ("not LGBTQ", "LGBTQ"),
        ("not NeuroDiverse", "NeuroDiverse"),
    ]


def test_comments_that_nobody_rated_for_identities_can_be_kept_as_unknown(tmp_path: Path) -> None:
    comments = civil_comments(kaggle_train(tmp_path), keep_unannotated=True)
    assert comments.texts == tuple(text for text, _, _ in ROWS)
    assert comments.attribute.tolist() == [0, 1, 1, -1, 0, 0, 0, 0, -1]


def test_the_threshold_is_of_label_and_attribute_alike(tmp_path: Path) -> None:
    comments = civil_comments(kaggle_train(tmp_path), threshold=0.6)
    assert comments.label.tolist() == [0, 0, 0, 1, 0, 1, 0]
    assert comments.attribute.tolist() == [0, 1, 0, 0, 0, 0, 0]


def test_a_file_is_found_by_its_usual_names(tmp_path: Path, cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "civil_comments").mkdir()
    wilds(tmp_path / "civil_comments")
    monkeypatch.setenv("RAAN_DATA", str(tmp_path))
    assert civil_comments().rows == 7


def test_an_embedding_makes_a_table(tmp_path: Path) -> None:
    comments = civil_comments(kaggle_train(tmp_path))
    table = comments.table(torch.randn(7, 3, generator=torch.Generator().manual_seed(0)))
    assert table.features.shape == (7, 3)
    assert table.cells().tolist() == [[3, 1], [2, 1]]
    assert table.name == "civil_comments"


def test_without_an_embedding_there_is_no_table(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"has no embedding; table\(embed_texts\(comments.texts\)\)"):
        civil_comments(kaggle_train(tmp_path)).table()


def test_an_unknown_identity_is_refused_with_the_choices() -> None:
    with pytest.raises(
        ValueError, match="identity is 'white'; expected one of 'black', 'muslim', 'lgbtq', 'neuro"
    ):
        civil_comments(identity="white")


@pytest.mark.parametrize("threshold", [0.0, 1.5, float("nan")])
def test_a_threshold_that_is_no_share_is_refused(threshold: float) -> None:
    with pytest.raises(ValueError, match=f"threshold is {threshold}; expected a share"):
        civil_comments(threshold=threshold)


def test_a_missing_file_is_asked_for_with_its_sources(cache: Path) -> None:
    with pytest.raises(DataUnavailable, match=r"(?s)all_data_with_identities.csv or .*Kaggle's jigsaw"):
        civil_comments()


def test_hugging_faces_file_without_identities_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "train.parquet"
    pd.DataFrame({"text": ["a"], "toxicity": [0.1], "insult": [0.0]}).to_parquet(path)
    with pytest.raises(
        ValueError,
        match=r"train.parquet lacks 1 of 3 columns \(black\); it has 3 \(text, toxicity, ",
    ):
        civil_comments(path)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("comment_text", "remark", "train.csv has no column comment_text or text; it has id, target, remark"),
        ("target", "rating_of", "train.csv has no column target or toxicity; it has id, rating_of"),
        (",black,", ",blue,", r"train.csv lacks 1 of 3 columns \(black\)"),
        (",0.5,", ",half,", "train.csv cannot be read: In CSV column #1: .* invalid value 'half'"),
        (",0.5,", ",,", "train.csv: target is missing in row 1"),
        (
            '"two lines',
            '"two" lines, and more, and more"',
            r"train.csv cannot be read: .*Row #3: Expected 31 columns, got 6",
        ),
    ],
)
def test_what_is_wrong_in_a_file_is_named(tmp_path: Path, old: str, new: str, message: str) -> None:
    path = kaggle_train(tmp_path)
    assert old in path.read_text()
    path.write_text(path.read_text().replace(old, new, 1))
    with pytest.raises(ValueError, match=message):
        civil_comments(path)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "has no column comment_text or text; it has $"),
        ("id,target,comment_text,black\n", "has columns and no rows"),
    ],
)
def test_an_empty_file_is_refused(tmp_path: Path, text: str, message: str) -> None:
    (tmp_path / "train.csv").write_text(text)
    with pytest.raises(ValueError, match=message):
        civil_comments(tmp_path / "train.csv")


def test_what_is_to_be_known_of_civil_comments_says_that_it_offends() -> None:
    assert "offensive" in CATALOGUE["civil_comments"].cautions[0]
