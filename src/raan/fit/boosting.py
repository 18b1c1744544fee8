"""Plain gradient boosting on a user's table: the reference for boosting with weights."""

from dataclasses import dataclass
from time import monotonic

from sklearn.ensemble import HistGradientBoostingClassifier

from raan.fit.rows import Rows
from raan.fit.runs import Run
from raan.reweighting.estimator import AANReweighting
from raan.wrap.fitting import fit_weighted


def boosting(seed: int) -> HistGradientBoostingClassifier:
    """The classifier before it is fitted."""
    return HistGradientBoostingClassifier(random_state=seed)


@dataclass(frozen=True, eq=False)
class Plain:
    """Plain gradient boosting, fitted, and the seconds that the fit took."""

    rows: Rows
    model: AANReweighting
    seconds: float

    @classmethod
    def fit(cls, rows: Rows) -> "Plain":
        """Fit the classifier to the training rows."""
        estimator, train = boosting(rows.seed), rows.split.train
        features, label = rows.features(train), rows.label(train)
        # The first fit of a process pays for threads and caches, which later ones find there.
        fit_weighted(boosting(rows.seed).set_params(max_iter=2), features, label, None)
        begun = monotonic()
        fitted = fit_weighted(estimator, features, label, None)
        return cls(rows, AANReweighting.from_fitted(estimator, fitted), monotonic() - begun)

    @property
    def run(self) -> Run:
        """Its only point."""
        validation, test = self.rows.judge(self.model.predict)
        parameters = {"learning_rate": 0.1, "iterations": int(self.model.estimator_.n_iter_)}
        return Run(
            "Boosting", self.rows.seed, parameters, (0,), validation[None], test[None], lambda point: self.model
        )
