"""Tables to learn from: how they are made, found and split. Names are imported on first use; some need torch."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from raan.data.split import Parts, Split, split, stack, stratified_split  # `split` is the function, not its module
from raan.errors import needing

if TYPE_CHECKING:
    from raan.data.download import CorruptData, DataUnavailable
    from raan.data.embed import embed_once, embed_texts
    from raan.data.table import Table
    from raan.errors import DataWarning
    from raan.lab.datasets.adult import Adult, adult, load_adult
    from raan.lab.datasets.celeba import Celeba, celeba
    from raan.lab.datasets.comments import Comments, civil_comments, measuring_hate_speech
    from raan.lab.datasets.environments import Environments, environments
    from raan.lab.datasets.meps import meps, meps_split
    from raan.lab.datasets.toy import toy
    from raan.tables.load import Loaded, from_frame
    from raan.tables.media import Media
    from raan.tables.preprocess import Preprocessing, Rules
    from raan.tables.read import Layout

__all__ = [
    "Adult",
    "Celeba",
    "Comments",
    "CorruptData",
    "DataUnavailable",
    "DataWarning",
    "Environments",
    "Layout",
    "Loaded",
    "Media",
    "Parts",
    "Preprocessing",
    "Rules",
    "Split",
    "Table",
    "adult",
    "celeba",
    "civil_comments",
    "embed_once",
    "embed_texts",
    "environments",
    "from_frame",
    "load_adult",
    "measuring_hate_speech",
    "meps",
    "meps_split",
    "split",
    "stack",
    "stratified_split",
    "toy",
]

_NAMES = {
    "raan.data.download": ("CorruptData", "DataUnavailable"),
    "raan.data.embed": ("embed_once", "embed_texts"),
    "raan.lab.datasets.adult": ("Adult", "adult", "load_adult"),
    "raan.lab.datasets.celeba": ("Celeba", "celeba"),
    "raan.lab.datasets.comments": ("Comments", "civil_comments", "measuring_hate_speech"),
    "raan.lab.datasets.environments": ("Environments", "environments"),
    "raan.lab.datasets.meps": ("meps", "meps_split"),
    "raan.lab.datasets.toy": ("toy",),
    "raan.data.table": ("Table",),
    "raan.tables.load": ("Loaded", "from_frame"),
    "raan.tables.read": ("Layout",),
    "raan.tables.media": ("Media",),
    "raan.errors": ("DataWarning",),
    "raan.tables.preprocess": ("Preprocessing", "Rules"),
}
_HOMES = {name: home for home, names in _NAMES.items() for name in names}


def __getattr__(name: str) -> Any:
    """Import a public name on first use."""
    if name not in _HOMES:
        raise AttributeError(f"module 'raan.data' has no attribute {name!r}; it has {', '.join(__all__)}")
    with needing(f"raan.data.{name}"):
        return getattr(import_module(_HOMES[name]), name)


def __dir__() -> list[str]:
    """List the public names, imported or not."""
    return sorted(__all__)
