"""Manifests: JSON that states its own checksum, so that not a letter of it can change unseen."""

import hashlib
import json
from typing import Any


def seal(manifest: dict[str, Any]) -> bytes:
    """The manifest as it is written, with the checksum of the rest of it: one content, one sequence of bytes."""
    return _encode(manifest | {"checksum": digest(_encode(manifest))})


def is_sealed(written: bytes, manifest: dict[str, Any]) -> bool:
    """Whether these bytes are the manifest, which was parsed from them, with the checksum that it should state."""
    return written == seal({key: value for key, value in manifest.items() if key != "checksum"})


def digest(data: bytes) -> str:
    """The SHA-256 of the data in hexadecimal digits."""
    return hashlib.sha256(data).hexdigest()


def _encode(manifest: dict[str, Any]) -> bytes:
    return json.dumps(manifest, allow_nan=False, sort_keys=True, indent=1).encode()
