"""`raan.load`, and which room puts together which kind of model. A new kind of model is one line in LOADERS."""

from __future__ import annotations

from collections.abc import Sequence
from os import PathLike
from typing import TYPE_CHECKING, Any

from raan import files

if TYPE_CHECKING:
    from torch import nn


def load(folder: str | PathLike[str], *, encoder: nn.Module | None = None, trusted: Sequence[str] = ()) -> Any:
    """The model that its `save` wrote. Nothing in the folder can run code, whoever made it.

    Args:
        folder: where the model was saved.
        encoder: for a model with an `encoder` of your own, a module of that architecture: its code is not in the
            folder, its weights are.
        trusted: types in scikit-learn parts that you vouch for, beyond those that skops knows to be harmless; the
            error that asks for them names them.
    """
    if not isinstance(folder, str | PathLike):
        raise TypeError(f"folder is a {type(folder).__name__}; expected the path of a folder")
    if isinstance(trusted, str | bytes) or not isinstance(trusted, Sequence) or not all(map(_is_text, trusted)):
        raise TypeError(f"trusted is {trusted!r}; expected the names of types")
    return files.load(folder, LOADERS, encoder=encoder, trusted=trusted)


def _is_text(value: object) -> bool:
    return isinstance(value, str)


# Each room is imported when a folder asks for it: a model over trees needs no torch.


def _load_classifier(parts: files.Parts, encoder: nn.Module | None) -> Any:
    from raan.estimators.stored import from_parts

    return from_parts(parts, encoder)


def _load_reweighting(parts: files.Parts, encoder: nn.Module | None) -> Any:
    from raan.reweighting.stored import from_parts

    return from_parts(parts, encoder)


def _load_table_classifier(parts: files.Parts, encoder: nn.Module | None) -> Any:
    from raan.fit.stored import from_parts

    return from_parts(parts, encoder)


def _load_frontier(parts: files.Parts, encoder: nn.Module | None) -> Any:
    from raan.frontier.stored import from_parts

    return from_parts(parts, encoder)


LOADERS: dict[str, files.Loader] = {
    "RAANClassifier": _load_classifier,
    "AANReweighting": _load_reweighting,
    "FairFrontier": _load_frontier,
    "TableClassifier": _load_table_classifier,
}
"""By the kind that a folder states: the name of the class."""
