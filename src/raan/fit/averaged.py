"""The networks of several folds as one classifier: their mean probability."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Float, Int
from safetensors.numpy import load as unpack
from safetensors.numpy import save as pack

from raan.files.folder import MANIFEST, CorruptModel, Parts, blame


@dataclass(frozen=True, eq=False)
class AveragedNetworks:
    """Fitted networks of the same classes, averaged."""

    members: tuple[Any, ...]  # each a fitted RAANClassifier

    @property
    def classes_(self) -> Int[np.ndarray, "label"]:
        """The codes of the classes."""
        return np.asarray(self.members[0].classes_)

    @property
    def n_features_in_(self) -> int:
        """How many features the networks take."""
        return int(self.members[0].n_features_in_)

    def predict_proba(self, X: Any) -> Float[np.ndarray, "row label"]:
        """The mean probability of each class."""
        return np.asarray(np.mean([member.predict_proba(X) for member in self.members], axis=0))

    def predict(self, X: Any) -> Int[np.ndarray, "row"]:
        """The class with the largest mean probability."""
        return np.asarray(self.classes_[self.predict_proba(X).argmax(1)])


def to_parts(model: AveragedNetworks) -> Parts:
    """Every network's parts, their tensors under its number."""
    from raan.estimators.stored import to_parts as network_parts

    several = [network_parts(member) for member in model.members]
    tensors = {
        f"{number}.{name}": value
        for number, each in enumerate(several)
        for name, value in unpack(each.tensors).items()
    }
    return Parts({"members": [each.plain for each in several]}, pack(tensors))


def from_parts(parts: Parts, encoder: Any) -> AveragedNetworks:
    """The networks, if they fit together."""
    from raan.estimators.stored import from_parts as network

    with blame(MANIFEST):
        tensors = unpack(parts.tensors)
        members = []
        for number, plain in enumerate(parts.plain["members"]):
            own = {
                name.removeprefix(f"{number}."): value
                for name, value in tensors.items()
                if name.startswith(f"{number}.")
            }
            members.append(network(Parts(plain, pack(own)), encoder))
        if not members or len({(len(each.classes_), each.n_features_in_) for each in members}) != 1:
            raise CorruptModel(f"{MANIFEST}: {len(members)} networks that do not fit together")
    return AveragedNetworks(tuple(members))
