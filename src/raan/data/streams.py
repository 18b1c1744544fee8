"""Random streams, each for one purpose; no global generator is used."""

import zlib

import numpy as np


def stream(seed: int, purpose: str, *counters: int) -> np.random.Generator:
    """Return the generator of one purpose ("shuffle", "dropout", ...) of one seed at a point such as an epoch.

    It depends on its arguments alone, so a run draws the same numbers alone or in a pack, and a run that
    is resumed at an epoch needs no saved generator.
    """
    key = np.random.SeedSequence([seed, zlib.crc32(purpose.encode()), *counters])
    return np.random.Generator(np.random.SFC64(key))
