"""Plain gradient boosting on a user's table: the reference for boosting with weights."""

from dataclasses import dataclass
from time import monotonic
from typing import Any

import numpy as np
import torch
from jaxtyping import Float, Int
from sklearn.ensemble import HistGradientBoostingClassifier

from raan.data.split import Split
from raan.data.table import Table
from raan.fairness.counts import Counts, count
from raan.fit.points import Walk
from raan.reweighting.estimator import AANReweighting
from raan.reweighting.fitting import fit_weighted


@dataclass(frozen=True, eq=False)
class Rows:
    """The table as scikit-learn takes it, and the rows of each part."""

    table: Table
    split: Split
    seed: int

    @property
    def estimator(self) -> HistGradientBoostingClassifier:
        """The plain classifier."""
        return HistGradientBoostingClassifier(random_state=self.seed)

    def features(self, rows: Int[torch.Tensor, "row"]) -> Float[np.ndarray, "row feature"]:
        """The features of some rows."""
        return self.table.features[rows].numpy()

    def label(self, rows: Int[torch.Tensor, "row"]) -> Int[np.ndarray, "row"]:
        """The class of some rows, as codes."""
        return self.table.label[rows].numpy()

    def groups(self, rows: Int[torch.Tensor, "row"]) -> np.ndarray:
        """The attribute value of some rows by name; None where unknown."""
        return np.take(np.array([*self.table.attribute_names, None], dtype=object), self.table.attribute[rows])

    def judge(self, model: AANReweighting) -> tuple[Counts, Counts]:
        """What the model predicts on validation and on test rows, counted."""
        validation, test = (self._counts(model, rows) for rows in self.split[1:])
        return validation, test

    def _counts(self, model: AANReweighting, rows: Int[torch.Tensor, "row"]) -> Counts:
        predicted = np.asarray(model.predict(self.features(rows))).astype(np.int64)
        table = self.table
        return count(self.label(rows), table.attribute[rows].numpy(), predicted, table.classes, table.attributes)


@dataclass(frozen=True, eq=False)
class Plain:
    """Plain gradient boosting, fitted, and the seconds that the fit took."""

    rows: Rows
    model: AANReweighting
    seconds: float

    @classmethod
    def fit(cls, rows: Rows) -> "Plain":
        """Fit the classifier to the training rows."""
        train = rows.split.train
        features, label = rows.features(train), rows.label(train)
        # The first fit of a process pays for threads and caches, which later ones find there.
        fit_weighted(rows.estimator.set_params(max_iter=2), features, label, None)
        begun = monotonic()
        fitted = fit_weighted(rows.estimator, features, label, None)
        return cls(rows, as_fitted(rows.estimator, fitted, None), monotonic() - begun)

    @property
    def walk(self) -> Walk:
        """Its only point."""
        validation, test = self.rows.judge(self.model)
        parameters = {"learning_rate": 0.1, "iterations": int(self.model.estimator_.n_iter_)}
        return Walk(
            "Boosting", self.rows.seed, parameters, (0,), validation[None], test[None], lambda point: self.model
        )


def as_fitted(estimator: Any, fitted: Any, threshold: float | None) -> AANReweighting:
    """A fitted classifier and a threshold as the AANReweighting that would have made them."""
    model = AANReweighting(estimator, strength=0.0 if threshold is None else 1.0)
    model.estimator_, model.classes_, model.threshold_ = fitted, fitted.classes_, threshold
    model.sample_weight_, model.n_features_in_ = None, fitted.n_features_in_
    return model
