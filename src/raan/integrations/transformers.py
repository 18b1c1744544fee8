"""transformers' Trainer with RAAN's loss: each batch knows its rows, and checkpoints keep the running averages."""

import warnings
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any, Literal

import numpy as np
import torch
from jaxtyping import Float
from safetensors.torch import load_file, save_file
from torch import Tensor
from torch.utils.data import Dataset, IterableDataset

from raan.errors import InputError, InputTypeError, MissingExtra, Option
from raan.neighbourhood.balance import Balance
from raan.nn.loss import RAANLoss

try:
    from transformers import Trainer, TrainerCallback
except ImportError as error:
    raise MissingExtra("RAANTrainer", "text") from error

__all__ = ["RAANTrainer", "mean_of_tokens"]

INDEX = "raan_index"
"""The key under which a batch holds the rows' places in the training set."""

Embed = Callable[[Any, Mapping[str, Any]], Float[Tensor, "row dim"]]


def mean_of_tokens(outputs: Any, inputs: Mapping[str, Any]) -> Float[Tensor, "row dim"]:
    """Return the last hidden states, averaged over the tokens that are no padding."""
    hidden: Tensor = outputs.hidden_states[-1]
    if hidden.ndim != 3:  # of images: channels, then places
        return hidden.flatten(2).mean(2)
    mask = inputs.get("attention_mask")
    if mask is None or mask.shape != hidden.shape[:2]:
        return hidden.mean(1)
    weight: Tensor = mask.unsqueeze(-1).to(hidden.dtype)
    return (hidden * weight).sum(1) / weight.sum(1).clamp(min=1)


class RAANTrainer(Trainer):
    """transformers' `Trainer` with `raan.RAANLoss` in place of the model's own loss.

    Each batch contains the positions of its rows in the training set, by which the loss looks up label and
    attribute: the model never gets the attribute. Checkpoints contain the loss's running averages, and
    `train(resume_from_checkpoint=...)` continues with them. Evaluation reports the model's own loss.

    Args:
        model: A model that returns hidden states, such as those for sequence and image classification.
        args: The arguments of `Trainer`.
        train_dataset: The training rows: a data set with a length whose rows are dicts.
        sensitive_features: The attribute of each training row: the values in their order, or the name of a column.
        label: The class of each training row, likewise; by default the column "labels" or "label".
        temperature: The temperature of the neighbourhoods; see `RAANLoss`.
        averaging_rate: The share of a row's running average that is replaced at each visit.
        balance: "group" or "sample"; see `RAANLoss`.
        scope: "model": the weights have gradients with respect to the embedding. "head": they are constants.
        strength: From 0 (plain training) to 1 (full RAAN).
        embedding: A function that makes one vector of each row from the model's outputs and inputs; by default the
            last hidden states, averaged over tokens.
        **others: Other arguments of `Trainer`.

    Raises:
        InputTypeError: The training rows have no length or no numbers.
        InputError: A column does not exist, or has another number of rows.

    Examples:
        >>> trainer = RAANTrainer(model, args, train_dataset=rows, sensitive_features="gender")  # doctest: +SKIP
        >>> trainer.train()  # doctest: +SKIP
    """

    def __init__(
        self,
        model: Any = None,
        args: Any = None,
        *,
        train_dataset: Any,
        sensitive_features: Any,
        label: Any = None,
        temperature: float = 0.5,
        averaging_rate: float = 0.5,
        balance: Balance = "group",
        scope: Literal["head", "model"] = "model",
        strength: float = 0.5,
        embedding: Embed = mean_of_tokens,
        **others: Any,
    ) -> None:
        _check_rows(train_dataset)
        self.embedding = embedding
        self.criterion = RAANLoss(
            _column(train_dataset, ("labels", "label") if label is None else label, "label"),
            _column(train_dataset, sensitive_features, "sensitive_features"),
            temperature=temperature,
            averaging_rate=averaging_rate,
            balance=balance,
            scope=scope,
            strength=strength,
        )
        if len(self.criterion.visits) != len(train_dataset):
            came = f"and label have {len(self.criterion.visits)} rows"
            expected = f"one for each of the {len(train_dataset)} rows of train_dataset"
            raise InputError(Option("sensitive_features"), came, expected)
        super().__init__(model, args, train_dataset=Indexed(train_dataset), **others)
        # The loss is the mean of a batch: the Trainer divides it by the batches that it accumulates.
        self.model_accepts_loss_kwargs = self.loss_is_scaled_for_ga = False
        self.add_callback(KeepAverages(self.criterion))

    def compute_loss(
        self, model: Any, inputs: dict[str, Any], return_outputs: bool = False, num_items_in_batch: Any = None
    ) -> Any:
        """Compute RAAN's loss of a training batch, and the model's own loss of other batches."""
        if INDEX not in inputs:
            return super().compute_loss(model, inputs, return_outputs, num_items_in_batch)
        given = {name: value for name, value in inputs.items() if name not in (INDEX, "labels")}
        outputs = model(**given, output_hidden_states=True)
        self.criterion.to(outputs.logits.device)
        loss = self.criterion(outputs.logits, self.embedding(outputs, given), index=inputs[INDEX])
        return (loss, outputs) if return_outputs else loss

    def _set_signature_columns_if_needed(self) -> None:
        """The columns that reach a batch: the model's, and the rows' places."""
        super()._set_signature_columns_if_needed()
        columns: Any = self._signature_columns
        if INDEX not in columns:
            columns.append(INDEX)

    def _load_from_checkpoint(self, resume_from_checkpoint: str, model: Any = None) -> None:
        """The weights, and the loss's running averages."""
        super()._load_from_checkpoint(resume_from_checkpoint, model)
        file = averages_file(Path(resume_from_checkpoint), self.args.process_index)
        if file.is_file():
            self.criterion.load_state_dict(load_file(file))
        else:
            warnings.warn(
                f"{file} does not exist: the running averages of the loss start afresh. Was the checkpoint "
                "written by another Trainer?",
                stacklevel=2,
            )


class Indexed(Dataset[dict[str, Any]]):
    """The rows of a data set, each with its place among them."""

    def __init__(self, rows: Any) -> None:
        self.rows = rows

    def __len__(self) -> int:
        return len(self.rows)

    def __getitem__(self, place: int) -> dict[str, Any]:
        return {**self.rows[place], INDEX: place}


class KeepAverages(TrainerCallback):
    """Writes the loss's running averages into every checkpoint; each process has its own."""

    def __init__(self, criterion: RAANLoss) -> None:
        self.criterion = criterion

    def on_save(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        """Write them beside the weights."""
        folder = Path(args.output_dir) / f"checkpoint-{state.global_step}"
        file = averages_file(folder, args.process_index)
        if folder.is_dir():  # in a search for hyperparameters it is elsewhere
            save_file({name: value.contiguous() for name, value in self.criterion.state_dict().items()}, file)


def averages_file(folder: Path, process: int) -> Path:
    """Return the file in a checkpoint's folder that holds one process's running averages."""
    return folder / f"raan_loss_{process}.safetensors"


def _check_rows(dataset: Any) -> None:
    numbered = hasattr(dataset, "__len__") and hasattr(dataset, "__getitem__")
    if isinstance(dataset, IterableDataset) or not numbered:
        came = f"is a {type(dataset).__name__}, whose rows have no number"
        raise InputTypeError(Option("train_dataset"), came, "a data set with a length, whose rows are dicts")


def _column(dataset: Any, values: Any, argument: str) -> Any:
    """The values of a column by name (the first of several names that there is), or the values themselves."""
    names = (values,) if isinstance(values, str) else values
    if not (isinstance(names, tuple) and all(isinstance(name, str) for name in names)):
        return values
    there = getattr(dataset, "column_names", None) or list(dataset[0])
    name = next((name for name in names if name in there), None)
    if name is None:
        came = f"names the column {' or '.join(map(repr, names))}, which train_dataset does not have"
        raise InputError(Option(argument), came, f"one of {', '.join(there)}, or the values themselves")
    column: Iterable[Any] = dataset[name] if hasattr(dataset, "column_names") else (row[name] for row in dataset)
    return np.array([value.item() if isinstance(value, torch.Tensor) else value for value in column])
