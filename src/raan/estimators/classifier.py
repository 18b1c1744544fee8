"""RAAN as a scikit-learn classifier."""

from collections.abc import Sequence
from dataclasses import replace
from os import PathLike
from typing import Any, Literal

import numpy as np
import torch
from jaxtyping import Float, Shaped
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted
from torch import nn

from raan.errors import InputError, Option
from raan.estimators import inputs
from raan.estimators.fitting import (
    Rows,
    WeightedRAAN,
    choose_rule,
    frontier_of,
    hash_of_training,
    schedule,
    train_plainly,
)
from raan.estimators.network import detach_model, outputs, restore_encoder, restore_network, start
from raan.estimators.prepare import Arguments, new_samples, prepare
from raan.estimators.settings import PRECISIONS, Settings, read_settings
from raan.fairness.frontier import Frontier
from raan.fairness.rule import Rule
from raan.io import estimator_state, restore_input, save_model
from raan.methods.method import Scope
from raan.models.model import Model, Output
from raan.progress import Bars, progress_bars
from raan.tables.preprocess import Preprocessing
from raan.training.checkpoint import Checkpoint
from raan.training.stages import second_stage
from raan.training.train import Schedule
from raan.training.update import Printed, Update


class RAANClassifier(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """A neural classifier debiased by RAAN: trained plainly, then towards equal treatment of like people.

    In the second stage each sample's loss is the loss of its neighbours: same class, near in the embedding, but of
    another attribute value. The attribute is needed to fit, never to predict.

    Without `sensitive_features` there is nothing to debias: the classifier is the plain one, and warns.

    Args:
        hidden_layer_sizes: widths of the encoder's layers; the last is the embedding. () takes the features
            themselves as the embedding.
        head_layer_sizes: widths of the hidden layers between embedding and logits. () is a linear head.
        encoder: any `nn.Module` from samples, of any shape, to one vector each; instead of hidden layers. It runs
            in eval mode, in training too: its dropout is off, BatchNorm keeps the statistics that it came with.
            The module given is left as it is; `encoder_` is the fitted copy.
        scope: what RAAN trains. "model": encoder and head. "head": the head; hidden layers are trained plainly
            before and then held, an `encoder` stays as it came. It embeds each sample once, in batches, so X may
            be a memory map larger than memory.
        temperature: how local neighbourhoods are, from 0 (the nearest neighbour) to inf (balancing only).
        averaging_rate: how much of a sample's moving average each visit replaces; 1 forgets.
        balance: "group" gives all (class, attribute) cells the same weight, Eq. (4), and lifts the worst group;
            "sample" each sample, Eq. (5), and lowers demographic parity's gap.
        strength: from 0 (plain training) to 1 (full RAAN).
        style: the optimiser, Alg. 3's "adam", "amsgrad" or "sgd".
        lr: the learning rate, or a pair, one for each stage.
        epochs: a number for both stages, or a pair; "auto" is 10, more where that makes fewer than 300 steps.
        batch_size: samples in a batch.
        dropout: the share of hidden units silenced at each step.
        aim: for what the point that is kept is the best one on validation rows, one of `raan.fairness.AIMS`:
            "worst_group", "equalized_odds", ... None keeps the last point.
        accuracy_drop: how much accuracy, against the end of plain training, that point may cost.
        validation_fraction: the share of each (class, attribute) cell that is held out to choose the point.
            Without sensitive_features nothing is chosen, and every row trains.
        missing: rows of unknown attribute (None, NaN) "ignore": count with their own loss; "group": are a group of
            their own; "error": are refused.
        device: where it is trained and samples are embedded: "cpu", "cuda", ... "auto" is a GPU where there is one
            and an `encoder` to run on it.
        precision: "bf16" computes layers in bfloat16, by autocast; parameters, losses and averages stay float32.
        checkpoint: a file that is written at the end of every epoch and removed in the end. Where it is there when
            `fit` begins, as after a crash, training goes on from it, to the same bits as without the crash.
        random_state: a number, a generator, or None for a fresh draw. No global state is read or changed.
        verbose: whether to show progress bars.

    Attributes:
        classes_: the classes, sorted.
        groups_: the attribute values, several columns crossed; () if trained plainly.
        frontier_: the path on validation rows, the point chosen and what it traded (`print(model.frontier_)`).
        encoder_: the fitted `encoder`; None with hidden layers.
        preprocessing_: how columns become features, where X is a frame with words or missing values; else None.
        model_: the fitted network.
        n_features_in_, feature_names_in_: as everywhere in scikit-learn.
    """

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
        missing: inputs.Missing = "ignore",
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
        """Train on samples X of classes y.

        Args:
            X: numpy, pandas, polars, torch or lists: numbers [samples, features], or what an `encoder` takes. A
                frame may also hold text, categories, bools and missing values: its columns become features as in
                `raan.data.Preprocessing`, and those that look like identifiers or free text are left out.
            y: the class of each sample: numbers, text or bools.
            sensitive_features: the attribute of each sample, of any type; several columns are crossed.
            sample_weight: multiplies each sample's loss; a sample of weight 0 is left out. Balance and validation
                count samples, not weights.
            validation: X, y and sensitive_features of rows that choose the point, in place of a share of the
                training rows (`validation_fraction`), all of which then train.
        """
        settings = read_settings(self.get_params(deep=False), validated=validation is not None)
        given = Arguments(X, y, sensitive_features, sample_weight, validation)
        self.classes_, self.groups_, self.encoder_, self.preprocessing_, front, rows = prepare(
            self, given, settings
        )
        model = start(front, len(self.classes_), rows, settings, float(self.dropout))
        so_far = self._checkpoint(model, rows, settings)
        with progress_bars(self.verbose) as bar:
            model, self.frontier_ = self._train(rows, model, settings, so_far, bar)
        self.model_ = detach_model(model)
        so_far.delete()
        return self

    def decision_function(self, X: Any) -> Float[np.ndarray, "row *label"]:
        """The logits; of two classes, how far the second's is above the first's."""
        logit = self._outputs(X).logit[0].double().numpy()
        return logit[:, 1] - logit[:, 0] if len(self.classes_) == 2 else logit

    def predict_proba(self, X: Any) -> Float[np.ndarray, "row label"]:
        """The probability of each class."""
        return self._outputs(X).logit[0].double().softmax(-1).numpy()

    def predict(self, X: Any) -> Shaped[np.ndarray, "row"]:
        """The most probable class."""
        best: np.ndarray = self.predict_proba(X).argmax(1)
        return self.classes_[best]  # type: ignore[no-any-return]

    def embed(self, X: Any) -> Float[np.ndarray, "row dim"]:
        """The representation: the space in which neighbours were sought."""
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
        read_settings({**model.get_params(deep=False), "encoder": None})
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

    def _checkpoint(self, model: Model, rows: Rows, settings: Settings) -> Checkpoint:
        """What there is of this training; that of another is an error."""
        if self.checkpoint is not None and self.random_state is None:
            came = "is given without random_state, so that no two trainings are alike"
            raise InputError(Option("checkpoint"), came, "random_state=0 or another number beside it")
        # The encoder is in the model or in the rows' features.
        left_out = "encoder", "random_state", "verbose", "checkpoint", "device"
        parameters = {key: value for key, value in self.get_params(deep=False).items() if key not in left_out}
        named = {**parameters, "seed": settings.seed}
        key = "" if self.checkpoint is None else hash_of_training(model, rows, named)
        return Checkpoint(self.checkpoint, key, settings.device)

    def _train(
        self, rows: Rows, model: Model, settings: Settings, so_far: Checkpoint, bar: Bars
    ) -> tuple[Model, Frontier]:
        """Alg. 1: stage one for everyone, stage two where there are groups."""
        base = Schedule(batch_size=int(self.batch_size), update=Update(self.style))
        first, second = (
            schedule(base, rows, *stage) for stage in zip(settings.epochs, settings.learning_rates, strict=True)
        )
        plain = train_plainly(model, rows, settings.seed, first, so_far, bar("plain training"))
        model = model.at(plain.state.parameters)
        if not self.groups_:
            return model, Frontier.empty()
        rule = choose_rule(self.aim, self.accuracy_drop, model, rows)
        debiased = second_stage(
            self._method(rows),
            model,
            rows.table,
            rows.watched,
            [settings.seed],
            second,
            rule,
            resume=so_far.stages.get("raan"),
            progress=bar("RAAN"),
            keep=so_far.keep("raan"),
        )
        evaluated = rows.split.validation.numel()
        return debiased.model, frontier_of(plain.path, debiased.path, rule) if evaluated else Frontier.empty()

    def _method(self, rows: Rows) -> WeightedRAAN:
        return WeightedRAAN(
            temperature=float(self.temperature),
            averaging_rate=float(self.averaging_rate),
            strength=float(self.strength),
            balance=self.balance,
            scope=Scope(self.scope),
            sample_weight=rows.weight,
        )

    def _outputs(self, X: Any) -> Output:
        """Embedding and logits of all samples."""
        check_is_fitted(self, "model_")
        return outputs(self.model_, self.encoder_, new_samples(self, X, self.encoder_, self.preprocessing_))
