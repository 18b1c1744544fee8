"""What a loss refuses, in words that name the argument, and what it warns of."""

import warnings
from numbers import Real

from jaxtyping import Int
from torch import Tensor

from raan.errors import is_whole
from raan.neighbourhood.balance import has_neighbours
from raan.nn.training_set import Column, check_dense

MOST_KEPT = 10_000
"""Batches that may be kept beside the current one."""


def check_dials(temperature: float, averaging_rate: float, balance: str, scope: str, strength: float) -> None:
    """An error for a setting that means nothing."""
    for name, setting, largest, meaning in (
        ("temperature", temperature, float("inf"), "0 (nearest neighbour) up to inf (uniform)"),
        ("averaging_rate", averaging_rate, 1, "0 to 1, which forgets at every visit"),
        ("strength", strength, 1, "0 (plain training) to 1 (full RAAN)"),
    ):
        if not isinstance(setting, Real) or not 0 <= setting <= largest:
            raise ValueError(f"{name} is {setting!r}; expected {meaning}")
    if not isinstance(balance, str) or balance not in ("group", "sample"):
        raise ValueError(f'balance is {balance!r}; expected "group", Eq. (4), or "sample", Eq. (5)')
    if not isinstance(scope, str) or scope not in ("head", "model"):
        raise ValueError(f'scope is {scope!r}; expected "head" or "model"')


def check_kept(keep_batches: int) -> None:
    """An error for anything but a number of batches."""
    if not is_whole(keep_batches) or not 0 <= keep_batches <= MOST_KEPT:
        raise ValueError(f"keep_batches is {keep_batches!r}; expected a whole number from 0 to {MOST_KEPT:,}")


def check_embedding(embedding: Tensor, state: Tensor) -> None:
    """An error for an embedding that is not one vector a sample, or not where the loss is."""
    _check_tensor("embedding", embedding, state)
    if embedding.ndim != 2 or not len(embedding) or not embedding.is_floating_point():
        raise ValueError(f"embedding is {_described(embedding)}; expected floats [batch, dimensions], not empty")


def check_sample_loss(sample_loss: Tensor, size: int) -> None:
    """An error for anything but one loss a sample."""
    _check_tensor("sample_loss", sample_loss)
    if sample_loss.shape != (size,) or not sample_loss.is_floating_point():
        raise ValueError(
            f"sample_loss is {_described(sample_loss)}; expected floats [{size}], one for each row of embedding"
        )


def check_logit(logit: Tensor | None, size: int, label: Column) -> None:
    """An error for logits that do not fit the batch or the classes."""
    if logit is None:
        raise ValueError("logit is None; expected logits, or the loss of each sample as sample_loss")
    _check_tensor("logit", logit)
    classes = len(label.names)
    legal = [(size, classes), (size,), (size, 1)] if classes == 2 else [(size, classes)]
    by_value = label.whole and logit.ndim == 2 and len(logit) == size and logit.shape[1] > max(label.values)
    if not logit.is_floating_point() or not (tuple(logit.shape) in legal or by_value):
        shapes = " or ".join(str(list(shape)) for shape in legal)
        raise ValueError(
            f"logit is {_described(logit)}; expected floats {shapes}, "
            f"for {classes} classes and {size} rows of embedding"
        )


def warn_alone(label: Int[Tensor, "row"], attribute: Int[Tensor, "row"]) -> None:
    """One warning that counts the training rows without any possible neighbour, by reason."""
    alone = int((~has_neighbours(label, attribute)).sum())
    if alone:
        unknown = int((attribute < 0).sum())
        warnings.warn(
            f"{alone} of {len(label)} training samples count with their own loss: {unknown} of unknown attribute, "
            f"{alone - unknown} of a class that is seen with one attribute value only",
            stacklevel=3,
        )


def _check_tensor(argument: str, value: object, state: Tensor | None = None) -> None:
    """An error for anything but a tensor, from which no gradient could flow, and for one that is elsewhere."""
    if not isinstance(value, Tensor):
        raise TypeError(f"{argument} is a {type(value).__name__}; expected a torch tensor")
    if state is not None and value.device != state.device:
        raise ValueError(
            f"{argument} is on {value.device}, the loss on {state.device}; move the loss with .to(...)"
        )
    check_dense(argument, value)


def _described(tensor: Tensor) -> str:
    return f"{str(tensor.dtype).removeprefix('torch.')} {list(tensor.shape)}"
