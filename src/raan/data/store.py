"""Vectors by their keys in a SQLite file, whose transactions outlive a process that is killed; each is checked."""

import hashlib
import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from jaxtyping import Float32

KEYS_AT_ONCE = 500  # in one query

TABLES = (
    "create table if not exists embedding (key blob primary key, vector blob not null)",
    # A table of its own: stores of old have none, and their vectors are believed.
    "create table if not exists checksum (key blob primary key, checksum blob not null)",
)


@dataclass(frozen=True)
class Store:
    """The vectors of one model."""

    file: Path
    connection: sqlite3.Connection
    checked: bool  # whether every vector has a checksum; a store of old may hold some that have none

    def known(self, keys: Sequence[bytes]) -> set[bytes]:
        """Those of the keys whose vector is here, and as it was written."""
        width = max((len(vector) for _, vector, _ in self._rows(keys[:KEYS_AT_ONCE])), default=0)
        return {
            key
            for key, vector, checksum in self._rows(keys)
            if (
                not self.checked and len(vector) == width
                if checksum is None
                else checksum == _checksum(key, vector)
            )
        }

    def keep(self, keys: Sequence[bytes], vectors: Float32[np.ndarray, "item feature"]) -> None:
        """Write the batch, all of it that has vectors or nothing, in the place of what was damaged."""
        pairs = zip(keys, vectors, strict=True)
        rows = [(key, vector.tobytes()) for key, vector in pairs if not np.isnan(vector).any()]
        checksums = [(key, _checksum(key, vector)) for key, vector in rows]
        with self.connection:
            self.connection.executemany("insert or replace into embedding values (?, ?)", rows)
            self.connection.executemany("insert or replace into checksum values (?, ?)", checksums)

    def read(self, keys: Sequence[bytes]) -> Float32[np.ndarray, "item feature"]:
        """The vectors of the keys, in their order."""
        row = {key: number for number, key in enumerate(keys)}
        vectors, found = np.empty((0, 0), np.float32), 0
        for key, vector, _ in self._rows(keys):
            if not found:
                vectors = np.empty((len(keys), len(vector) // 4), np.float32)
            vectors[row[key]] = np.frombuffer(vector, np.float32)
            found += 1
        if found != len(keys):
            raise sqlite3.DatabaseError(f"{found} of {len(keys)} vectors are found")
        return vectors

    def _rows(self, keys: Sequence[bytes]) -> Iterator[tuple[bytes, bytes, bytes | None]]:
        for start in range(0, len(keys), KEYS_AT_ONCE):
            some = keys[start : start + KEYS_AT_ONCE]
            marks = ",".join("?" * len(some))
            for row in self.connection.execute(
                "select embedding.key, vector, checksum.checksum from embedding "
                f"left join checksum on checksum.key = embedding.key where embedding.key in ({marks})",
                some,
            ):
                if isinstance(row[1], bytes):  # damage makes numbers of vectors, too
                    yield row


def _checksum(key: bytes, vector: bytes) -> bytes:
    return hashlib.sha256(key + vector).digest()[:16]


@contextmanager
def open_store(file: Path) -> Iterator[Store]:
    """The store in the file, which is made if need be; an error names it."""
    try:
        with closing(sqlite3.connect(file, timeout=60)) as connection:  # seconds that another may be writing
            connection.text_factory = bytes  # what damage has made text of is no text
            if not connection.execute("select count(*) from sqlite_master").fetchone()[0]:
                connection.execute("pragma user_version = 1")  # all of it will be written with checksums
            for table in TABLES:
                connection.execute(table)
            checked = connection.execute("pragma user_version").fetchone()[0] == 1
            yield Store(file, connection, checked)
    except sqlite3.OperationalError as error:
        raise OSError(f"{file} cannot be used: {error}") from error
    except (sqlite3.Error, UnicodeDecodeError) as error:  # the second where damage reaches sqlite's own messages
        raise ValueError(
            f"{file} holds no embeddings that can be read ({error}): delete it, and they are made anew"
        ) from error
