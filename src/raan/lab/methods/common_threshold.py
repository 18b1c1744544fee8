"""Plain training with one threshold for all: what any method has to better."""

from collections.abc import Sequence
from dataclasses import dataclass

from raan.data.split import Split
from raan.data.table import Table
from raan.methods.method import GroupUse, Part, Refit, Scope
from raan.models.model import Model

THRESHOLDS = 199
"""How many there are to choose from, where the study does not say."""


@dataclass(frozen=True)
class CommonThreshold(Refit):
    """The first stage's model as it is: the threshold is all there is to choose."""

    @property
    def thresholds(self) -> int:
        """A setting of this method in every study."""
        return THRESHOLDS

    @property
    def scope(self) -> Scope:
        """The decision alone."""
        return Scope.HEAD

    @property
    def debiases(self) -> tuple[Part, ...]:
        """Nothing by itself."""
        return ()

    @property
    def group_use(self) -> GroupUse:
        """None: who selects the threshold may use the groups of validation rows, as for every method."""
        return GroupUse()

    def refit(self, model: Model, table: Table, split: Split, seeds: Sequence[int]) -> Model:
        """The model itself."""
        return model
