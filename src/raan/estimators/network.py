"""The network of a classifier: the rows that it trains on, how it starts, its two stages and its outputs."""

import hashlib
import warnings
from collections.abc import Iterator, Mapping
from copy import deepcopy
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import torch
from jaxtyping import Float, Int, Shaped
from torch import Tensor, nn

from raan.data.batches import Batch
from raan.data.split import Split
from raan.data.streams import stream
from raan.data.table import Table
from raan.errors import InputError, Option
from raan.fairness.frontier import Frontier
from raan.fairness.metrics import undefined
from raan.fairness.rule import LAST, Rule, warn_large_budget
from raan.io import WrongEncoder
from raan.methods.erm import ERM, Weighted
from raan.methods.method import Memory, Scope, cross_entropy
from raan.methods.raan import RAAN
from raan.models.model import Encoder, Model, Output, Scaling, Stack
from raan.models.modules import SLICE, ModuleEncoder, embed, flatten
from raan.progress import Bars
from raan.training.checkpoint import Checkpoint
from raan.training.evaluate import group_counts
from raan.training.stages import second_stage
from raan.training.train import Schedule, train
from raan.training.update import Update

if TYPE_CHECKING:
    from raan.estimators.arguments import Settings

MIN_EPOCHS, MIN_STEPS = 10, 300
"""What "auto" epochs give: ten, as in the paper, and more where a small table has few batches in an epoch."""

POINTS = 40
"""About how often a stage evaluates the validation rows."""

CHUNK = 8192
"""Rows that a fitted network takes at a time."""


@dataclass(frozen=True)
class TrainingRows:
    """A table, its rows to train on and to validate with, and each row's weight."""

    table: Table
    split: Split
    weight: Float[Tensor, "row"] | None = None

    @property
    def watched(self) -> Split:
        """The split for the training loop, which evaluates one arbitrary row where none are held out."""
        held_out = self.split.validation.numel() > 0
        return self.split if held_out else self.split._replace(validation=self.split.train[:, :1])


def divide(
    label: Int[np.ndarray, "row"],
    attribute: Int[np.ndarray, "row"],
    rows: Int[np.ndarray, "kept"],
    fraction: float,
    seed: int,
) -> Split:
    """Divide rows into training and validation rows, every (class, attribute) cell alike.

    A cell of two rows or more has some in both; one of a single row trains. With a fraction of 0 every row trains.
    """
    cell = label[rows] * (attribute.max() + 2) + attribute[rows] + 1  # unknown attributes, -1, are cells too
    held = np.zeros(len(rows), dtype=bool)
    rng = stream(seed, "validation")
    _, sizes = np.unique(cell, return_counts=True)
    for members in np.split(np.argsort(cell, kind="stable"), sizes.cumsum()[:-1]) if fraction else ():
        count = min(max(round(fraction * len(members)), 1), len(members) - 1)
        held[rng.choice(members, count, replace=False)] = True
    parts = rows[~held], rows[held], rows[:0]
    return Split(*(torch.from_numpy(part).long().unsqueeze(0) for part in parts))


# The network before training.


class Front(NamedTuple):
    """The part before the head in training: the table's features, and the encoder that embeds them."""

    features: Float[Tensor, "row feature"]
    encoder: Encoder
    width: int  # of the embedding


def front_of(
    samples: Shaped[np.ndarray, "row ..."],
    module: nn.Module | None,
    scope: str,
    hidden: tuple[int, ...],
    precision: torch.dtype | None,
) -> Front:
    """Return the features and the encoder of samples.

    Without a module, hidden layers encode the samples. A module that is trained gets the samples from the table,
    where they are flat and in memory. A module that is not trained embeds each sample once, in batches.
    """
    encoder: Encoder
    if module is None:
        encoder = Stack((samples.shape[1], *hidden))
        features, width = _tensor(samples), encoder.widths[-1]
    elif scope == "model":
        encoder = ModuleEncoder(module, samples.shape[1:], whole=samples.dtype.kind != "f")
        features, width = flatten(samples, module), embed(module, samples[:1], precision).shape[1]
    else:
        features = torch.cat([embed(module, part, precision) for part in _slices(samples, SLICE)])
        width = features.shape[1]
        encoder = Stack((width,))
    # Autocast leaves doubles as they are.
    return Front(features if precision is None else features.float(), encoder, width)


def start(front: Front, classes: int, rows: TrainingRows, settings: "Settings", dropout: float) -> Model:
    """Return the model before training, at the seed's own values; a module's samples are not scaled."""
    head = Stack((front.width, *settings.head, classes))
    rng = stream(settings.seed, "start")
    drawn = np.concatenate([front.encoder.draw(rng), head.draw(rng)])
    parameters = torch.from_numpy(drawn).to(rows.table.features).unsqueeze(0)
    scaling = None if isinstance(front.encoder, ModuleEncoder) else weighted_scaling(rows)
    return Model(front.encoder, head, parameters, scaling, dropout, settings.precision)


def weighted_scaling(rows: TrainingRows) -> Scaling:
    """Return mean and standard deviation of each feature over the training rows, weights being frequencies.

    Constant columns stay as they are, and so do those of 0 and 1.
    """
    train_rows = rows.split.train[0]
    numbers = rows.table.features[train_rows].double()
    weight = numbers.new_ones(len(numbers)) if rows.weight is None else rows.weight[train_rows].double()
    share = weight.div(weight.sum()).unsqueeze(-1)
    centre = (share * numbers).sum(0)
    spread = (share * (numbers - centre).square()).sum(0).sqrt()
    if not spread.isfinite().all():
        column = int((~spread.isfinite()).int().argmax())
        raise ValueError(f"X holds numbers in column {column} that are too large to be squared; rescale them")
    constant = (numbers == numbers[0]).all(0) | (spread == 0)
    stays = ((numbers == 0) | (numbers == 1)).all(0) | constant
    parts = centre.masked_fill(stays, 0), spread.masked_fill(stays, 1)
    return Scaling(*(part.to(rows.table.features).view(1, 1, -1) for part in parts))


# Training.


@dataclass(frozen=True, eq=False)
class WeightedERM(Weighted):
    """The mean of weight times cross-entropy."""

    sample_weight: Float[Tensor, "row"]  # of every row of the table
    scope: Scope = Scope.MODEL

    def weights(self, model: Model, table: Table, train: Int[Tensor, "run row"]) -> Float[Tensor, "run row"]:
        """Return the weights given, with mean 1 over the training rows of each run."""
        return mean_one(self.sample_weight[train])


@dataclass(frozen=True, eq=False)
class WeightedRAAN(RAAN):
    """RAAN over losses that are multiplied by sample weights.

    Anchors are balanced by the number of rows of each (class, attribute) cell, not by their weights.
    """

    sample_weight: Float[Tensor, "row"] | None = None  # of every row of the table; None: 1

    def prepare(self, model: Model, table: Table, train: Int[Tensor, "run row"]) -> Memory:
        """Return RAAN's memory, with the weight of each row as its last number."""
        memory = super().prepare(model, table, train)
        if self.sample_weight is None:
            return memory
        weight = mean_one(self.sample_weight[train]).to(memory.rows)
        slot = memory.rows.new_zeros(memory.rows.shape[:2]).scatter(1, train, weight).unsqueeze(-1)
        return memory._replace(rows=torch.cat([memory.rows, slot], dim=-1))

    def sample_loss(
        self, logit: Float[Tensor, "run batch label"], batch: Batch, memory: Memory
    ) -> Float[Tensor, "run batch"]:
        """Return each sample's weight times its cross-entropy."""
        loss = cross_entropy(logit, batch.label)
        return loss if self.sample_weight is None else memory.rows[..., -1] * loss


def mean_one(weight: Float[Tensor, "*run row"]) -> Float[Tensor, "*run row"]:
    """Divide weights by their mean, so that learning rates mean the same with weights and without."""
    return weight / weight.mean(-1, keepdim=True)


def schedule(base: Schedule, rows: TrainingRows, epochs: int | None, learning_rate: float) -> Schedule:
    """Return a stage's schedule; without `epochs`, as many as a table of this size needs."""
    per_epoch = -(-rows.split.train.shape[1] // base.batch_size)
    count = max(MIN_EPOCHS, -(-MIN_STEPS // per_epoch)) if epochs is None else epochs
    return Schedule(count, base.batch_size, learning_rate, base.update, max(1, POINTS // count))


def open_checkpoint(estimator: Any, model: Model, rows: TrainingRows, settings: "Settings") -> Checkpoint:
    """Open the checkpoint of a fit, which is identified by the starting values, the rows and the parameters."""
    if estimator.checkpoint is None:
        return Checkpoint(None, "", settings.device)
    if estimator.random_state is None:
        came = "is given without random_state, so that no two trainings are alike"
        raise InputError(Option("checkpoint"), came, "random_state=0 or another number beside it")
    if "\0" in str(estimator.checkpoint):
        raise InputError(Option("checkpoint"), f"is {estimator.checkpoint!r}", "the path of a file")
    # The encoder is in the model or in the rows' features.
    left_out = "encoder", "random_state", "verbose", "checkpoint", "device"
    parameters = {key: value for key, value in estimator.get_params(deep=False).items() if key not in left_out}
    digest = hashlib.sha256(repr(sorted({**parameters, "seed": settings.seed}.items())).encode())
    table = rows.table
    for part in (model.parameters, table.features, table.label, table.attribute, *rows.split, rows.weight):
        digest.update(b"" if part is None else part.contiguous().numpy(force=True).tobytes())
    return Checkpoint(estimator.checkpoint, digest.hexdigest(), settings.device)


def train_in_two_stages(
    estimator: Any, model: Model, rows: TrainingRows, settings: "Settings", checkpoint: Checkpoint, bar: Bars
) -> tuple[Model, Frontier]:
    """Train the model plainly, then by RAAN if there are groups (Alg. 1).

    Returns:
        The model at the point that the rule chooses, and all points at which validation rows were evaluated.
    """
    base = Schedule(batch_size=int(estimator.batch_size), update=Update(estimator.style))
    first, second = (
        schedule(base, rows, *stage) for stage in zip(settings.epochs, settings.learning_rates, strict=True)
    )
    plain = train(
        ERM() if rows.weight is None else WeightedERM(rows.weight),
        model,
        rows.table,
        rows.watched,
        [settings.seed],
        first,
        resume=checkpoint.stages.get("plain"),
        progress=bar("plain training"),
        keep=checkpoint.keep("plain"),
    )
    model = model.at(plain.state.parameters)
    if not estimator.groups_:
        return model, Frontier.empty()
    rule = _choose_rule(estimator.aim, estimator.accuracy_drop, model, rows)
    method = WeightedRAAN(
        temperature=float(estimator.temperature),
        averaging_rate=float(estimator.averaging_rate),
        strength=float(estimator.strength),
        balance=estimator.balance,
        scope=Scope(estimator.scope),
        sample_weight=rows.weight,
    )
    debiased = second_stage(
        method,
        model,
        rows.table,
        rows.watched,
        [settings.seed],
        second,
        rule,
        resume=checkpoint.stages.get("raan"),
        progress=bar("RAAN"),
        keep=checkpoint.keep("raan"),
    )
    if not rows.split.validation.numel():
        return debiased.model, Frontier.empty()
    stages = ("plain", plain.path), ("raan", debiased.path)
    what = tuple({"stage": stage, "step": point.step} for stage, path in stages for point in path.points)
    counts = np.concatenate([point.validation_counts for _, path in stages for point in path.points])
    return debiased.model, Frontier(what, counts, rule, reference=len(plain.path.points))


def _choose_rule(aim: str | None, accuracy_drop: float, model: Model, rows: TrainingRows) -> Rule:
    """Return the rule for the aim; if validation rows do not define it, warn and select by accuracy alone."""
    if aim is None:
        return LAST
    rule = Rule(aim, accuracy_drop)
    warn_large_budget(accuracy_drop, stacklevel=4)
    counts = group_counts(model, rows.table, rows.split.validation)[0]
    if np.isfinite(rule.objective(counts, counts)):
        return rule
    reasons = undefined(counts, rows.table.class_names, rows.table.attribute_names)
    warnings.warn(
        f"aim={aim!r} is undefined on the validation rows ({'; '.join(reasons)}), so the last point within "
        f"accuracy_drop={accuracy_drop:g} is kept; fewer groups, or a larger validation_fraction, define it",
        stacklevel=4,
    )
    return Rule(None, accuracy_drop)


def detach_model(model: Model) -> Model:
    """Return the fitted model on the CPU; a module of the user's receives its parameters and is separate again."""
    if isinstance(model.encoder, ModuleEncoder):
        model.encoder.take_over(model.parameters[0])
        model = model.without_encoder()
    scaling = None if model.scaling is None else Scaling(*(part.cpu() for part in model.scaling))
    return replace(model, parameters=model.parameters.cpu(), scaling=scaling)


# The fitted network.


@torch.no_grad()
def outputs(model: Model, module: nn.Module | None, samples: Shaped[np.ndarray, "row ..."]) -> Output:
    """Return embedding and logits of samples, a chunk at a time: no more of a memory map is read at once."""
    width, parts = model.head.widths[0], []
    for chunk in _slices(samples, CHUNK if module is None else SLICE):
        features = _tensor(chunk) if module is None else embed(module, chunk, model.precision)
        if module is not None and features.shape[1] != width:
            raise ValueError(
                f"X has samples of shape {chunk.shape[1:]}: the encoder makes {features.shape[1]} numbers of "
                f"each, and made {width} of those it was fitted with"
            )
        parts.append(model(features.to(model.parameters.dtype).unsqueeze(0)))
    output = Output(*(torch.cat(part, dim=1) for part in zip(*parts, strict=True)))
    finite = output.logit[0].isfinite().all(-1)
    if not finite.all():
        raise ValueError(f"X holds numbers in row {int(finite.int().argmin())} that are too large for this model")
    return output


def _tensor(table: Float[np.ndarray, "row feature"]) -> Float[Tensor, "row feature"]:
    return torch.from_numpy(table.copy())  # torch takes no negative strides, and the tensor owns its memory


def _slices(samples: Shaped[np.ndarray, "row ..."], size: int) -> Iterator[Shaped[np.ndarray, "part ..."]]:
    for first in range(0, len(samples), size):
        yield samples[first : first + size]


def restore_network(widths: Any, tensors: Mapping[str, Tensor], classes: int) -> Model:
    """Make a saved network from its layers' widths and its numbers; raise a ValueError if they do not fit."""
    encoder, head = (Stack(tuple(each)) for each in widths)
    if any(type(width) is not int or width < 1 for width in (*encoder.widths, *head.widths)):
        raise ValueError(f"the layers have widths {widths}; expected whole numbers from 1")
    if encoder.widths[-1] != head.widths[0] or head.widths[-1] != classes or len(head.widths) < 2:
        raise ValueError(f"the layers {encoder.widths} and {head.widths} do not fit {classes} classes")
    sizes = {"parameters": sum(encoder.sizes + head.sizes)}
    if "centre" in tensors:
        sizes |= dict.fromkeys(("centre", "spread"), encoder.widths[0])
    for name, size in sizes.items():
        each = tensors.get(name, torch.empty(0))
        floats = each.dtype in (torch.float32, torch.float64) and each.shape == (size,)
        if not floats or not each.isfinite().all():
            raise ValueError(f"{name} is {each.dtype} {list(each.shape)}; expected {size} finite floats")
    parameters = tensors["parameters"]
    parts = [tensors[name].to(parameters).view(1, 1, -1) for name in ("centre", "spread") if name in sizes]
    return Model(encoder, head, parameters.unsqueeze(0), Scaling(*parts) if parts else None)


def restore_encoder(saved: tuple[str, dict[str, Tensor]] | None, given: nn.Module | None) -> nn.Module | None:
    """Return a copy of the module given, with the saved weights: its code is the caller's, never the folder's."""
    if saved is None:
        if given is not None:
            raise WrongEncoder("encoder is given, but the saved model has none")
        return None
    name, weights = saved
    if given is None:
        raise WrongEncoder(f"encoder is None; expected a {name} as in the saved model: load(..., encoder=)")
    module = deepcopy(given).eval()
    expected = {key: (value.dtype, value.shape) for key, value in module.state_dict().items()}
    found = {key: (value.dtype, value.shape) for key, value in weights.items()}
    if expected != found:
        differing = sorted(key for key in expected.keys() | found.keys() if expected.get(key) != found.get(key))
        raise WrongEncoder(f"encoder does not fit the saved {name}; they differ in {differing[:5]}")
    module.load_state_dict(weights)
    return module
