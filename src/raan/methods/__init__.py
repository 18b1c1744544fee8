"""What a method is, and the paper's own; the others are in `raan.lab.methods`, and can be had by name here too."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from raan.errors import needing

with needing("raan.methods"):
    from raan.methods.method import Method, Refit

if TYPE_CHECKING:
    from raan.lab.methods import *  # noqa: F403

__all__ = ["Method", "Refit"]


def __getattr__(name: str) -> Any:
    """Import a method, or METHODS, when it is first asked for."""
    lab = import_module("raan.lab.methods")
    if name.startswith("_") or name not in lab.__all__:
        raise AttributeError(f"module 'raan.methods' has no attribute {name!r}; it has {', '.join(lab.__all__)}")
    return getattr(lab, name)
