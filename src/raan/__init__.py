"""Fair classification by Robust Adversarial Attribute Neighbourhood learning."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from raan._version import __version__
from raan.errors import needing

if TYPE_CHECKING:
    from raan.estimators import RAANClassifier
    from raan.fairness.audit import audit
    from raan.fairness.compare import compare
    from raan.frontier import FairFrontier
    from raan.io import load
    from raan.nn import GroupBatchSampler, IndexedDataset, RAANLoss
    from raan.reweighting import AANReweighting
    from raan.reweighting.weights import aan_weights

__all__ = [
    "AANReweighting",
    "FairFrontier",
    "GroupBatchSampler",
    "IndexedDataset",
    "RAANClassifier",
    "RAANLoss",
    "__version__",
    "aan_weights",
    "audit",
    "compare",
    "load",
]

_HOMES = {
    "AANReweighting": "raan.reweighting",
    "FairFrontier": "raan.frontier",
    "GroupBatchSampler": "raan.nn",
    "IndexedDataset": "raan.nn",
    "RAANClassifier": "raan.estimators",
    "RAANLoss": "raan.nn",
    "aan_weights": "raan.reweighting.weights",
    "audit": "raan.fairness.audit",
    "compare": "raan.fairness.compare",
    "load": "raan.io",
}

_MODULES = {"data", "datasets", "fairness", "measures", "metrics", "nn", "optim"}


def __getattr__(name: str) -> Any:
    """Import a public name when it is first asked for: `import raan` stays quick."""
    if name not in _HOMES and name not in _MODULES:
        raise AttributeError(f"module 'raan' has no attribute {name!r}; it has {', '.join(__all__)}")
    with needing(f"raan.{name}"):
        if name in _MODULES:
            return import_module("raan.data" if name == "datasets" else f"raan.{name}")
        return getattr(import_module(_HOMES[name]), name)


def __dir__() -> list[str]:
    """The public names, imported or not."""
    return sorted([*__all__, *_MODULES])
