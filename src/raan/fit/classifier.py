"""A fitted classifier of rows as they stand in the user's files."""

import re
from dataclasses import dataclass
from os import PathLike
from typing import Any

import numpy as np
from jaxtyping import Float, Float32, Shaped

from raan.frontier import FairFrontier
from raan.frontier.decide import decide_rows
from raan.io import find_class, save_model
from raan.tables.media import Media
from raan.tables.preprocess import Preprocessing


@dataclass(frozen=True, eq=False)
class TableClassifier:
    """The preprocessing that was fitted to a table, then the model that was: what `raan fit` saves.

    `raan.load(folder)` gives it back. New rows are a frame of pandas or polars, or the path of a CSV, TSV or
    Parquet file, with the columns of the training rows by name, in any order. `about` says how it was made. Where
    some columns are images, `media` may say in which folder they are.
    """

    preprocessing: Preprocessing
    classifier: Any  # a fitted FairFrontier or network over the features, its classes 0, 1, ...
    class_names: tuple[str, ...]
    about: dict[str, Any]

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns that new rows need."""
        return self.preprocessing.columns

    @property
    def classes_(self) -> Shaped[np.ndarray, "label"]:
        """The classes that `predict` gives: bools or whole numbers where all of them are, otherwise text."""
        if {*self.class_names} == {"False", "True"}:
            return np.array([name == "True" for name in self.class_names])
        whole = all(re.fullmatch(r"-?(0|[1-9]\d{0,17})", name) for name in self.class_names)
        return np.array([int(name) for name in self.class_names] if whole else self.class_names)

    def predict(self, frame: object, *, media: Media = Media()) -> Shaped[np.ndarray, "row"]:
        """Return the class of each row, from `classes_`."""
        return self.predict_features(self.preprocessing.transform(frame, media=media))

    def predict_proba(self, frame: object, *, media: Media = Media()) -> Float[np.ndarray, "row label"]:
        """The probability of each class, in the order of `class_names`.

        A model under FairFrontier weighs classes and groups, so its class need not be the most probable.
        """
        return self.probabilities(self.preprocessing.transform(frame, media=media))

    def predict_features(self, features: Float32[np.ndarray, "row feature"]) -> Shaped[np.ndarray, "row"]:
        """The class of each row of features that the preprocessing made."""
        return np.take(self.classes_, np.asarray(self.classifier.predict(features)).astype(np.int64))

    def probabilities(self, features: Float32[np.ndarray, "row feature"]) -> Float[np.ndarray, "row label"]:
        """The probabilities of rows of features that the preprocessing made."""
        return np.asarray(self.classifier.predict_proba(features))

    def predict_both(
        self, features: Float32[np.ndarray, "row feature"]
    ) -> tuple[Shaped[np.ndarray, "row"], Float[np.ndarray, "row label"]]:
        """The class and the probabilities of rows of features, in one pass through the models where they can."""
        model = self.classifier
        if not isinstance(model, FairFrontier) or model.attribute_at_prediction:
            return self.predict_features(features), self.probabilities(features)
        decided, of_class = decide_rows(model.models_, features, model.weights_)
        return np.take(self.classes_, model.classes_[decided].astype(np.int64)), of_class

    def save(self, folder: str | PathLike[str]) -> None:
        """Write the classifier into a folder, whole or not at all; `raan.load` reads it."""
        save_model(self, folder)

    def _to_state(self) -> dict[str, Any]:
        return {
            "kind": type(self.classifier).__name__,
            "model": self.classifier._to_state(),
            "preprocessing": self.preprocessing.to_dict(),
            "class_names": self.class_names,
            "about": self.about,
        }

    @classmethod
    def _from_state(cls, state: dict[str, Any]) -> "TableClassifier":
        classifier = find_class(state["kind"])._from_state(state["model"])
        preprocessing = Preprocessing.from_dict(state["preprocessing"])
        names = tuple(map(str, state["class_names"]))
        made, taken = len(preprocessing.feature_names), getattr(classifier, "n_features_in_", None)
        if made != taken:
            raise ValueError(f"the preprocessing makes {made} features, the model takes {taken}")
        if classifier.classes_.tolist() != list(range(len(names))):
            raise ValueError(f"the model's classes do not fit the {len(names)} names")
        model = cls(preprocessing, classifier, names, dict(state["about"]))
        row = np.zeros((1, made), np.float32)  # parts that do not fit together are found now, not when it is used
        if not np.isfinite(model.probabilities(row)).all() or len(model.predict_features(row)) != 1:
            raise ValueError("the model gives no probabilities")
        return model
