"""The data sets that a study may name: whose rows train, select and judge."""

import hashlib
import io
import sqlite3
from contextlib import closing
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import torch
from PIL import Image

from raan.data import encoders
from raan.lab.datasets.catalogue import DATA
from raan.lab.datasets.comments import EMBEDDING
from raan.lab.datasets.dataset import Problem
from raan.lab.study.plan import Pack
from raan.lab.study.study import Data, Stage
from raan.lab.study.training import load_problem

CELL = 250


@pytest.fixture
def comments(tmp_path: Path) -> Path:
    """As many comments of each (label, target) cell, each embedded as its own number."""
    cells = [(label, target) for label in (0, 1) for target in (0, 1) for _ in range(CELL)]
    frame = pd.DataFrame(cells, columns=["labels", "target_race_black"])
    frame.insert(0, "text", [f"comment {row}" for row in range(len(frame))])
    frame.to_csv(tmp_path / "measuring_hate_speech_subset.csv", index=False)
    np.save(tmp_path / EMBEDDING, np.arange(2 * len(frame), dtype=np.float16).reshape(-1, 2))
    return tmp_path


def problem(folder: Path, seed: int = 0, validation: float = 0.1) -> Problem:
    options = {"path": str(folder), "identity": "black", "validation": validation}
    return DATA["measuring_hate_speech"].load(options, (seed,))


def cells(of: Problem, rows: torch.Tensor) -> torch.Tensor:
    """How many of the rows each (environment, label, attribute) cell has."""
    assert of.table.environment is not None
    code = of.table.environment[rows] * 4 + of.table.label[rows] * 2 + of.table.attribute[rows]
    return code.bincount(minlength=12).view(3, 2, 2)


def test_two_environments_train_and_select_and_the_third_alone_judges(comments: Path) -> None:
    here = problem(comments)
    train, validation, test = (part[0] for part in here.split)
    size = here.table.rows // 3
    assert torch.equal(test, torch.arange(2 * size, 3 * size))
    assert sorted([*train.tolist(), *validation.tolist()]) == list(range(2 * size))
    assert not cells(here, train)[2].any()
    assert not cells(here, validation)[2].any()
    assert len(validation) == round(0.1 * 2 * size)


def test_the_identity_foretells_the_label_in_training_and_its_opposite_in_the_test(comments: Path) -> None:
    here = problem(comments)
    every = cells(here, torch.arange(here.table.rows))
    switched = (every[:, 0, 1] + every[:, 1, 0]) / every.sum((1, 2))
    torch.testing.assert_close(switched, torch.tensor([0.1, 0.2, 0.9]), atol=0.02, rtol=0)


@pytest.mark.parametrize("seed", range(5))
def test_no_cell_of_the_training_environments_is_missing_among_the_rows_that_select(
    comments: Path, seed: int
) -> None:
    here = problem(comments, seed, validation=0.2)
    whole = cells(here, torch.arange(here.table.rows))[:2]
    selects = cells(here, here.split.validation[0])[:2]
    assert (selects > 0).all()
    assert ((selects - 0.2 * whole).abs() <= 1.5).all()


def test_each_row_keeps_its_own_embedding(comments: Path) -> None:
    here = problem(comments)
    number = here.table.features[:, 0] / 2
    assert torch.equal(here.table.label, (number >= 2 * CELL).long())
    assert torch.equal(here.table.attribute, (number % (2 * CELL) >= CELL).long())


def test_every_seed_draws_its_own_environments_and_the_same_seed_the_same(comments: Path) -> None:
    assert problem(comments, 0).hash == problem(comments, 0).hash
    assert problem(comments, 0).hash != problem(comments, 1).hash


def test_only_the_texts_that_are_drawn_are_embedded(
    comments: Path, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (comments / EMBEDDING).unlink()
    embedded: list[str] = []

    def encode(batch: list[str]) -> np.ndarray:
        embedded.extend(batch)
        return np.array([[float(each.split()[1]), 0.0] for each in batch], dtype=np.float32)

    monkeypatch.setattr(encoders, "load_encoder", lambda model: encode)
    here = problem(comments, seed=3)
    assert len(embedded) == here.table.rows < 4 * CELL
    assert torch.equal(here.table.label, (here.table.features[:, 0] >= 2 * CELL).long())


def test_on_the_real_comments_the_rarest_identity_has_every_cell(real_data: Path) -> None:
    options = {"path": str(real_data), "identity": "neurodiverse", "validation": 0.2}
    here = DATA["measuring_hate_speech"].load(options, (0,))
    assert (cells(here, here.split.validation[0])[:2] > 0).all()
    assert here.table.features.shape[1] == 384


@pytest.fixture
def faces(tmp_path: Path) -> Path:
    """Twelve images whose grey tells them apart, and CelebA's two lists of them."""
    folder = tmp_path / "celeba"
    (folder / "img_align_celeba").mkdir(parents=True)
    names = [f"{number:06}.jpg" for number in range(1, 13)]
    lines = [f"{name} {1 if n % 2 else -1} {1 if n % 3 else -1}" for n, name in enumerate(names)]
    (folder / "list_attr_celeba.txt").write_text("\n".join(["12", "Wavy_Hair Male", *lines, ""]))
    (folder / "list_eval_partition.txt").write_text("".join(f"{name} 0\n" for name in names))
    for number, name in enumerate(names):
        stream = io.BytesIO()
        Image.new("RGB", (89, 109), (20 * number,) * 3).save(stream, "JPEG")
        (folder / "img_align_celeba" / name).write_bytes(stream.getvalue())
    return folder


def test_celeba_is_a_table_of_a_pretrained_networks_features(faces: Path, cache: Path) -> None:
    here = DATA["celeba"].load({"path": str(faces), "sizes": [6, 2, 4]}, (0, 1))
    assert here.table.features.shape == (12, 1280)
    assert [part.shape for part in here.split] == [(2, 6), (2, 2), (2, 4)]
    assert here.table.attribute_names == ("Female", "Male")
    assert len(torch.unique(here.table.features, dim=0)) == 12


def test_images_are_embedded_once_and_a_killed_process_goes_on(
    faces: Path, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(encoders, "IMAGES_AT_ONCE", 5)
    load, options = DATA["celeba"].load, {"path": str(faces), "sizes": [6, 2, 4]}
    whole = load(options, (0,)).table.features
    (store,) = (cache / "embeddings").glob("*.sqlite")
    images = sorted((faces / "img_align_celeba").iterdir())
    with closing(sqlite3.connect(store)) as connection, connection:
        assert connection.execute("select count(*) from embedding").fetchone() == (12,)
        for image in images[5:10]:  # as if a process had been killed before it came to these
            content = hashlib.sha256(image.read_bytes()).hexdigest()
            key = hashlib.sha256(content.encode()).digest()
            assert connection.execute("delete from embedding where key = ?", (key,)).rowcount == 1
    decode, seen = encoders.decode, []
    monkeypatch.setattr(encoders, "decode", lambda file, size: seen.append(file) or decode(file, size))
    assert torch.equal(load(options, (0,)).table.features, whole)
    assert seen == images[5:10]
    # With all of it on disk the network is not even loaded.
    monkeypatch.setattr(torch, "load", lambda *arguments, **options: pytest.fail("loaded"))
    assert torch.equal(load(options, (0,)).table.features, whole)


def test_ones_own_table_is_preprocessed_by_each_seeds_training_rows(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(
        {"wage": rng.normal(size=200), "sex": rng.choice(["f", "m"], 200), "code": rng.integers(0, 3, 200)}
    )
    frame.assign(y=rng.integers(0, 2, 200)).to_csv(tmp_path / "own.csv", index=False)
    options = {
        "path": str(tmp_path / "own.csv"), "label": "y", "attribute": "sex", "types": {"code": "category"},
    }  # fmt: skip
    for seed in (0, 1):
        here = DATA["table"].load(options, (seed,))
        wage = here.table.features[here.split.train[0], here.table.feature_names.index("wage")]
        torch.testing.assert_close(wage.double().mean(), torch.tensor(0.0).double(), atol=1e-6, rtol=0)
        assert sum(name.startswith("code") for name in here.table.feature_names) == 3
    study = {"name": "table", "title": "own", "options": options}
    assert load_problem(Pack("s", Data(**study), "adam", Stage(), Stage(), (), (0,))).table.rows == 200
