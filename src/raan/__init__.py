"""Fair classification by Robust Adversarial Attribute Neighbourhood learning."""

from importlib import import_module
from importlib.metadata import version
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from raan.fairness.audit import audit
    from raan.neighbourhood.weights import aan_weights

__version__ = version("raan")
__all__ = ["__version__", "aan_weights", "audit"]

_HOMES = {
    "aan_weights": "raan.neighbourhood.weights",
    "audit": "raan.fairness.audit",
}


def __getattr__(name: str) -> Any:
    """Import a public name when it is first asked for: `import raan` stays quick."""
    if name not in _HOMES:
        raise AttributeError(f"module 'raan' has no attribute {name!r}; it has {', '.join(__all__)}")
    return getattr(import_module(_HOMES[name]), name)


def __dir__() -> list[str]:
    """The public names, imported or not."""
    return __all__
