"""RAAN as a scikit-learn classifier."""

from collections.abc import Sequence
from dataclasses import replace
from numbers import Integral, Real
from os import PathLike
from typing import Any, ClassVar, Literal

import numpy as np
import torch
from jaxtyping import Float, Shaped
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils import Tags
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import check_is_fitted
from torch import nn

from raan.estimators.arguments import PRECISIONS, Missing, new_samples, prepare, read_settings
from raan.estimators.network import (
    detach_model,
    open_checkpoint,
    outputs,
    restore_encoder,
    restore_network,
    start,
    train_in_two_stages,
)
from raan.fairness.frontier import Frontier
from raan.fairness.rule import Rule
from raan.io import estimator_state, restore_input, save_model
from raan.models.model import Output
from raan.progress import progress_bars
from raan.tables.preprocess import Preprocessing
from raan.training.update import Printed


class RAANClassifier(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """Neural network classifier that is debiased by RAAN.

    The network is trained in two stages (Alg. 1). The first is plain training by cross-entropy. In the second, the
    loss of each sample is replaced by the mean loss of its neighbours: samples of the same class and another
    attribute value that are near in the embedding. Along the second stage, the point that is best for `aim` within
    the accuracy budget is kept; it is chosen on validation rows.

    The sensitive attribute is needed by `fit` and never by `predict`. Without `sensitive_features` the second
    stage is left out, with a warning.

    Args:
        hidden_layer_sizes: The widths of the encoder's layers; the last one is the embedding. With () the features
            themselves are the embedding.
        head_layer_sizes: The widths of the hidden layers between the embedding and the logits. With () the head is
            linear.
        encoder: An `nn.Module` that maps samples of any shape to one vector each, in place of the hidden layers.
            It always runs in eval mode: dropout is off and BatchNorm uses its stored statistics. The module itself
            is not changed; `encoder_` is the fitted copy.
        scope: The parameters that RAAN trains. "model": encoder and head. "head": the head only; hidden layers are
            trained in the first stage and then fixed, and an `encoder` is not trained at all. It then embeds each
            sample once, in batches, so that X may be a memory map that is larger than memory.
        temperature: How local neighbourhoods are, from 0 (the nearest neighbour) to inf (balancing only).
        averaging_rate: The share of a sample's moving average that is replaced at each visit, from 0 to 1.
        balance: "group" gives all (class, attribute) cells the same weight, Eq. (4), and raises the accuracy of
            the worst group. "sample" gives all samples the same weight, Eq. (5), and reduces the gap of
            demographic parity.
        strength: The strength of debiasing, from 0 (plain training) to 1 (full RAAN).
        style: The optimiser of Alg. 3: "adam", "amsgrad" or "sgd".
        lr: The learning rate, or a pair with one rate for each stage.
        epochs: The number of epochs of each stage, or a pair. "auto" is 10, or more if these would be fewer than
            300 steps.
        batch_size: The number of samples in a batch.
        dropout: The share of hidden units that are left out at each step, from 0 to below 1.
        aim: The fairness goal for which the best point is kept, one of `raan.fairness.AIMS` such as "worst_group"
            or "equalized_odds". None keeps the last point.
        accuracy_drop: The accuracy budget: how much validation accuracy that point may lose against the end of
            plain training.
        validation_fraction: The share of each (class, attribute) cell that is held out to choose the point.
            Without `sensitive_features` all rows are used for training.
        missing: How rows of unknown attribute (None, NaN) are treated. "ignore": they train with their own loss
            and belong to no group. "group": they are a group of their own. "error": they are refused.
        device: The device for training and for embedding, such as "cpu" or "cuda". "auto" is a GPU if there is one
            and an `encoder` is given.
        precision: "bf16" computes layers in bfloat16 by autocast; parameters, losses and averages stay in float32.
        checkpoint: A file that is written after every epoch and removed at the end. If it exists when `fit`
            starts, training resumes from it and ends with the same parameters as an uninterrupted training. It
            needs a `random_state`.
        random_state: A seed, a generator, or None for a random seed. Global generators are neither used nor
            changed.
        verbose: Whether to show progress bars.

    Attributes:
        classes_: The classes, sorted.
        groups_: The attribute values, those of several columns crossed; () after plain training.
        frontier_: The points of both stages on validation rows, the chosen one and what it traded; it can be
            printed and plotted.
        encoder_: The fitted copy of `encoder`; None with hidden layers.
        preprocessing_: How columns become features if X is a frame with words or missing values; else None.
        model_: The fitted network.
        n_features_in_: The number of features.
        feature_names_in_: The names of the features, if X is a frame.

    Examples:
        >>> import numpy as np
        >>> from raan import RAANClassifier
        >>> rng = np.random.default_rng(0)
        >>> sex = rng.integers(2, size=400)
        >>> X = rng.normal(size=(400, 3)) + sex[:, None]
        >>> y = (X[:, 0] + rng.normal(size=400) > 0.5).astype(int)
        >>> model = RAANClassifier((8,), epochs=2, random_state=0)
        >>> model.fit(X, y, sensitive_features=sex).predict(X).shape
        (400,)
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "hidden_layer_sizes": [Integral, tuple, list, np.ndarray],
        "head_layer_sizes": [Integral, tuple, list, np.ndarray],
        "encoder": [nn.Module, None],
        "scope": [StrOptions({"model", "head"})],
        "temperature": [Interval(Real, 0, None, closed="both")],
        "averaging_rate": [Interval(Real, 0, 1, closed="both")],
        "balance": [StrOptions({"group", "sample"})],
        "strength": [Interval(Real, 0, 1, closed="both")],
        "style": [StrOptions({"adam", "amsgrad", "sgd"})],
        "lr": [Real, tuple, list],
        "epochs": [Integral, StrOptions({"auto"}), tuple, list],
        "batch_size": [Interval(Integral, 1, 2**63 - 1, closed="both")],
        "dropout": [Interval(Real, 0, 1, closed="left")],
        "aim": [str, None],
        "accuracy_drop": [Interval(Real, 0, 1, closed="both")],
        "validation_fraction": [Interval(Real, 0, 1, closed="left")],
        "missing": [StrOptions({"ignore", "group", "error"})],
        "device": "no_validation",
        "precision": [StrOptions({"bf16"}), None],
        "checkpoint": [str, PathLike, None],
        "random_state": ["random_state", np.random.Generator],
        "verbose": ["verbose"],
    }

    def __init__(
        self,
        hidden_layer_sizes: int | Sequence[int] = (50, 50, 50),
        *,
        head_layer_sizes: int | Sequence[int] = (50,),
        encoder: nn.Module | None = None,
        scope: Literal["model", "head"] = "model",
        temperature: float = 0.5,
        averaging_rate: float = 0.5,
        balance: Literal["group", "sample"] = "group",
        strength: float = 0.25,
        style: Printed = "adam",
        lr: float | tuple[float, float] = (1e-3, 3e-4),
        epochs: int | tuple[int, int] | Literal["auto"] = "auto",
        batch_size: int = 64,
        dropout: float = 0.0,
        aim: str | None = "worst_group",
        accuracy_drop: float = 0.005,
        validation_fraction: float = 0.1,
        missing: Missing = "ignore",
        device: str | torch.device = "auto",
        precision: Literal["bf16"] | None = None,
        checkpoint: str | PathLike[str] | None = None,
        random_state: int | np.random.RandomState | np.random.Generator | None = None,
        verbose: bool | int = False,
    ) -> None:
        self.hidden_layer_sizes = hidden_layer_sizes
        self.head_layer_sizes = head_layer_sizes
        self.encoder = encoder
        self.scope = scope
        self.temperature = temperature
        self.averaging_rate = averaging_rate
        self.balance = balance
        self.strength = strength
        self.style = style
        self.lr = lr
        self.epochs = epochs
        self.batch_size = batch_size
        self.dropout = dropout
        self.aim = aim
        self.accuracy_drop = accuracy_drop
        self.validation_fraction = validation_fraction
        self.missing = missing
        self.device = device
        self.precision = precision
        self.checkpoint = checkpoint
        self.random_state = random_state
        self.verbose = verbose

    def fit(
        self,
        X: Any,
        y: Any,
        *,
        sensitive_features: Any = None,
        sample_weight: Any = None,
        validation: tuple[Any, Any, Any] | None = None,
    ) -> "RAANClassifier":
        """Fit the classifier.

        Args:
            X: The samples: numbers [samples, features], or what `encoder` takes, as numpy arrays, frames of pandas
                or polars, torch tensors or lists. A frame may also contain text, categories, bools and missing
                values: its columns become features as in `raan.data.Preprocessing`, and those that look like
                identifiers or free text are left out.
            y: The class of each sample: numbers, text or bools.
            sensitive_features: The attribute of each sample, of any type; several columns are crossed.
            sample_weight: The weight of each sample's loss; a sample of weight 0 is left out. Balance and
                validation count samples, not weights.
            validation: X, y and sensitive_features of the validation rows. All rows of X then train.

        Returns:
            The fitted classifier.

        Raises:
            ValueError: A parameter or an argument cannot be used; the message names it.
        """
        settings = read_settings(self, validated=validation is not None)
        data = prepare(self, X, y, sensitive_features, sample_weight, validation, settings)
        self.classes_, self.groups_, self.encoder_, self.preprocessing_, front, rows = data
        model = start(front, len(self.classes_), rows, settings, float(self.dropout))
        checkpoint = open_checkpoint(self, model, rows, settings)
        with progress_bars(self.verbose) as bar:
            model, self.frontier_ = train_in_two_stages(self, model, rows, settings, checkpoint, bar)
        self.model_ = detach_model(model)
        checkpoint.delete()
        return self

    def decision_function(self, X: Any) -> Float[np.ndarray, "row *label"]:
        """Return the logits of each class; of two classes, the difference of the second's and the first's."""
        logit = self._outputs(X).logit[0].double().numpy()
        return logit[:, 1] - logit[:, 0] if len(self.classes_) == 2 else logit

    def predict_proba(self, X: Any) -> Float[np.ndarray, "row label"]:
        """Return the probability of each class, in the order of `classes_`."""
        return self._outputs(X).logit[0].double().softmax(-1).numpy()

    def predict(self, X: Any) -> Shaped[np.ndarray, "row"]:
        """Return the most probable class of each sample."""
        best: np.ndarray = self.predict_proba(X).argmax(1)
        return self.classes_[best]  # type: ignore[no-any-return]

    def embed(self, X: Any) -> Float[np.ndarray, "row dim"]:
        """Return the embedding of each sample, in which neighbours were found."""
        return self._outputs(X).embedding[0].numpy()

    def save(self, folder: str | PathLike[str]) -> None:
        """Write the fitted classifier into a folder, whole or not at all; `raan.load` reads it."""
        check_is_fitted(self, "model_")
        save_model(self, folder)

    def _to_state(self) -> dict[str, Any]:
        encoder, model, preprocessing, frontier = self.encoder_, self.model_, self.preprocessing_, self.frontier_
        tensors = {"parameters": model.parameters[0]}
        if model.scaling is not None:
            tensors |= {"centre": model.scaling.centre.flatten(), "spread": model.scaling.spread.flatten()}
        # Of an `encoder` the weights are saved, but not its code: its class is named in messages only.
        weights = {} if encoder is None else {name: each.cpu() for name, each in encoder.state_dict().items()}
        return estimator_state(self, without=("encoder", "device", "checkpoint")) | {
            "groups": tuple(self.groups_),
            "widths": (model.encoder.widths, model.head.widths),  # type: ignore[attr-defined]
            "tensors": tensors,
            "encoder": None if encoder is None else (type(encoder).__qualname__, weights),
            "preprocessing": None if preprocessing is None else preprocessing.to_dict(),
            "points": [(what["stage"], what["step"]) for what in frontier.what],
            "counts": np.asarray(frontier.counts),
            "rule": (frontier.rule.aim, float(frontier.rule.accuracy_drop)),
            "reference": frontier.reference,
        }

    @classmethod
    def _from_state(cls, state: dict[str, Any], encoder: nn.Module | None = None) -> "RAANClassifier":
        model = cls(encoder=encoder, **state["parameters"])
        model._validate_params()
        model.classes_, model.groups_ = state["classes_"], tuple(map(str, state["groups"]))
        for name in ("classes_", "feature_names_in_"):
            column = state.get(name, model.classes_)
            if not isinstance(column, np.ndarray) or column.ndim != 1 or not len(column):
                raise ValueError(f"{name} is a {type(column).__name__}; expected an array with one axis")
        restore_input(model, state)
        what = tuple(
            {"stage": "plain" if stage == "plain" else "raan", "step": int(step)}
            for stage, step in state["points"]
        )
        counts, (aim, accuracy_drop) = np.asarray(state["counts"], np.float64), state["rule"]
        if counts.ndim != 4 or len(counts) != len(what):
            raise ValueError(f"there are {len(what)} points with counts of shape {counts.shape}")
        reference = range(len(what))[int(state["reference"])] if what else 0
        model.frontier_ = Frontier(what, counts, Rule(aim, float(accuracy_drop)), reference)
        stored = state["preprocessing"]
        model.preprocessing_ = None if stored is None else Preprocessing.from_dict(stored)
        network = restore_network(state["widths"], state["tensors"], len(model.classes_))
        model.model_ = replace(network, precision=PRECISIONS[model.precision])
        width = state["widths"][0][0]
        made = {width}  # an encoder may take samples of any shape
        if model.preprocessing_ is not None:
            made = {len(model.preprocessing_.feature_names)}
        elif state["encoder"] is None:
            made = {state["n_features_in_"], len(state.get("feature_names_in_", range(width)))}
        if made != {width}:
            raise ValueError(f"the network takes {width} features; the input has {made}")
        model.encoder_ = restore_encoder(state["encoder"], encoder)
        return model

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.three_d_array = self.encoder is not None
        return tags

    def _outputs(self, X: Any) -> Output:
        """Return embedding and logits of all samples."""
        check_is_fitted(self, "model_")
        return outputs(self.model_, self.encoder_, new_samples(self, X, self.encoder_, self.preprocessing_))
