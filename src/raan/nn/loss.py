"""RAAN as a loss with a memory: the stochastic objective for anyone's own training loop."""

import warnings
from collections import deque
from collections.abc import Callable
from functools import partial
from numbers import Integral, Real
from typing import Any, Literal, NamedTuple

import torch
from jaxtyping import Bool, Float, Int
from sklearn.utils._param_validation import Interval, StrOptions, validate_parameter_constraints
from torch import Tensor, nn
from torch.nn.functional import binary_cross_entropy_with_logits, cross_entropy

from raan.neighbourhood.balance import Balance, anchor_weights, has_neighbours
from raan.neighbourhood.estimator import InnerEstimate, batch_pairs, stochastic_objective
from raan.neighbourhood.pairs import log_affinity, neighbours
from raan.nn.samplers import GroupBatchSampler
from raan.nn.together import Samples, concatenate, gather, group_of
from raan.nn.training_set import TrainingSet, check_dense


class Diagnostics(NamedTuple):
    """How a batch went; tensors without gradient, on the batch's device."""

    anchors: Int[Tensor, ""]  # samples whose neighbours were in the batch
    skipped: Int[Tensor, ""]  # samples that have neighbours, but none in the batch
    effective_sample_size: Float[Tensor, ""]  # (sum of weights)^2 / sum of squares; all alike: the batch size
    largest_weight: Float[Tensor, ""]  # of a sample's loss in the gradient; 1 in plain training


def diagnose(
    embedding: Float[Tensor, "batch dim"],
    label: Int[Tensor, "batch"],
    attribute: Int[Tensor, "batch"],
    anchor_weight: Float[Tensor, "batch"],
    importance: Float[Tensor, "batch"],
    log_denominator: Float[Tensor, "batch"],
    temperature: Float[Tensor, ""],
    strength: float,
) -> Diagnostics:
    """Count the anchors of a batch, and summarise how much each sample's loss weighs in the gradient."""
    pairs = batch_pairs(log_affinity(embedding, temperature), neighbours(label, attribute))
    met, anchored = pairs.log_mean > -torch.inf, anchor_weight > 0
    # g-hat2 / u2, as in the surrogate of Eq. (8).
    scale = torch.where(met, (pairs.log_mean - log_denominator).exp(), 0)
    robust = (anchor_weight * scale) @ pairs.share + ~anchored
    weight = importance * (1 - strength + strength * robust)
    return Diagnostics(
        anchors=(anchored & met).sum(),
        skipped=(anchored & ~met).sum(),
        effective_sample_size=weight.sum().square() / weight.square().sum(),
        largest_weight=weight.max(),
    )


CONSTRAINTS = {
    "temperature": [Interval(Real, 0, None, closed="both")],
    "averaging_rate": [Interval(Real, 0, 1, closed="both")],
    "balance": [StrOptions({"group", "sample"})],
    "scope": [StrOptions({"head", "model"})],
    "strength": [Interval(Real, 0, 1, closed="both")],
    "sampler": [GroupBatchSampler, None],
    "keep_batches": [Interval(Integral, 0, 10_000, closed="both")],
}
"""The values that the parameters of `RAANLoss` may have."""


class RAANLoss(nn.Module):
    """Loss that estimates the RAAN objective from a batch; its gradient is G(w), Eq. (8).

    The loss of each sample is replaced by the mean loss of its neighbours: samples of the same class and another
    attribute value that are near in the embedding. The constructor takes the labels and attributes of the whole
    training set. A call takes those of a batch, and `index`, their rows in the training set.

    With an index, a running average of each row's neighbourhood makes up for the few neighbours that a batch
    contains. The averages are part of `state_dict()`, move with `.to()`, stay in float32 under any precision, and
    do not change in `eval()`. Without an index, for example on validation data, only the batch itself is used.

    In distributed training (DistributedDataParallel, FSDP, Lightning, Accelerate), neighbours are found among the
    samples of all processes, the averages are the same in all of them, and the gradient that the wrapper averages
    is that of one process with the whole batch.

    Args:
        label: The class of each training sample: numbers from 0, or strings.
        sensitive_features: The attribute of each training sample; several columns are crossed; None and NaN are
            unknown.
        temperature: How local neighbourhoods are, from 0 (the nearest neighbour) to inf (the whole other group).
        averaging_rate: The share of a row's running average that is replaced at each visit; 1 keeps nothing
            (BSGD).
        balance: "group" gives all (class, attribute) cells the same weight, Eq. (4), and raises the accuracy of
            the worst group. "sample" gives all samples the same weight, Eq. (5), and reduces the gap of
            demographic parity.
        scope: "head": the weights are constants, and only losses have gradients (RAAN; freeze the encoder
            yourself). "model": the weights also have gradients with respect to the embedding (RL-RAAN).
        strength: From 0 (plain training) to 1 (full RAAN).
        sampler: The `GroupBatchSampler` of the batches: samples that it draws more often get a smaller weight.
        keep_batches: The number of earlier batches whose samples are also used as anchors and neighbours, without
            gradients. With gradient accumulation, the number of micro-batches less one. They are not saved.
        process_group: The processes whose batches are used together. None: all of the default group, if there is
            one. False: each process by itself.

    Examples:
        >>> import torch
        >>> from raan import RAANLoss
        >>> label, sex = torch.tensor([0, 1, 0, 1]), ["f", "f", "m", "m"]
        >>> criterion = RAANLoss(label, sex)
        >>> embedding = torch.tensor([[0.0, 1.0], [1.0, 0.0], [0.1, 1.0], [1.0, 0.2]], requires_grad=True)
        >>> loss = criterion(embedding, embedding, index=torch.arange(4))
        >>> loss.backward()
        >>> embedding.grad.shape
        torch.Size([4, 2])
    """

    anchor_weight: Float[Tensor, "label attribute_or_unknown"]  # how much a sample of each cell counts as anchor
    importance: Float[Tensor, "label attribute_or_unknown"]  # 1, or less for what the sampler draws more often
    log_denominator: Float[Tensor, "row"]  # log u2; -inf before the first visit
    neighbourhood_loss: Float[Tensor, "row"]  # u1 / u2
    visits: Int[Tensor, "row"]  # how often the row met neighbours

    def __init__(
        self,
        label: object,
        sensitive_features: object,
        *,
        temperature: float = 0.5,
        averaging_rate: float = 0.5,
        balance: Balance = "group",
        scope: Literal["head", "model"] = "head",
        strength: float = 1.0,
        sampler: GroupBatchSampler | None = None,
        keep_batches: int = 0,
        process_group: "torch.distributed.ProcessGroup | Literal[False] | None" = None,
    ) -> None:
        super().__init__()
        parameters = {
            "temperature": temperature,
            "averaging_rate": averaging_rate,
            "balance": balance,
            "scope": scope,
            "strength": strength,
            "sampler": sampler,
            "keep_batches": keep_batches,
        }
        validate_parameter_constraints(CONSTRAINTS, parameters, caller_name="RAANLoss")
        self.temperature, self.averaging_rate, self.strength = temperature, averaging_rate, strength
        self.balance, self.scope = balance, scope
        self.process_group = process_group
        self.training_set = TrainingSet(label, sensitive_features)
        self._register_buffers(sampler)
        self._kept: deque[Samples] = deque(maxlen=keep_batches)
        self._diagnose: Callable[[], Diagnostics] | None = None

    @property
    def classes(self) -> tuple[str, ...]:
        """The classes of the training set, in the order of the logits' columns."""
        return self.training_set.label.names

    @property
    def groups(self) -> tuple[str, ...]:
        """The attribute values of the training set."""
        return self.training_set.attribute.names

    def forward(
        self,
        logit: Float[Tensor, "batch"] | Float[Tensor, "batch label"] | None,
        embedding: Float[Tensor, "batch dim"],
        label: object = None,
        sensitive_features: object = None,
        index: object = None,
        sample_loss: Float[Tensor, "batch"] | None = None,
    ) -> Float[Tensor, ""]:
        """Return the estimate of the objective; its gradient is G(w).

        Args:
            logit: one column for each class, or a single one for the second of two classes. Integer classes with
                gaps have the columns of their values, as in torch, where there are more columns than classes.
            embedding: what makes samples near to each other; only directions count.
            label: of the batch, values that the training set has; integers are positions in `classes` where the
                training set's values are not integers. None with an index: the training set's.
            sensitive_features: as the label, with `groups`; values that the training set lacks are unknown.
            index: the rows in the training set.
            sample_loss: any loss of each sample, instead of the cross-entropy; `logit` may then be None.
        """
        self._check(logit, embedding, sample_loss)
        batch = self.training_set.read(label, sensitive_features, index, len(embedding))
        # Under autocast the products of the affinities would be taken in half precision.
        with torch.autocast(embedding.device.type, enabled=False):
            if sample_loss is None:
                sample_loss = self._cross_entropy(logit, batch.label)
            precision = torch.promote_types(torch.float32, torch.promote_types(embedding.dtype, sample_loss.dtype))
            points = embedding.detach() if self.scope == "head" else embedding
            return self._objective(Samples(points.to(precision), sample_loss.to(precision), *batch))

    @property
    def diagnostics(self) -> Diagnostics | None:
        """How the last batch went; None before the first. Worked out when read, so that not reading it is free."""
        return None if self._diagnose is None else self._diagnose()

    def extra_repr(self) -> str:
        """Return the settings, and what the training set holds."""
        settings = ("temperature", "averaging_rate", "balance", "scope", "strength")
        sizes = f"rows={len(self.visits)}, classes={len(self.classes)}, groups={len(self.groups)}"
        return ", ".join([*(f"{setting}={getattr(self, setting)!r}" for setting in settings), sizes])

    def _objective(self, own: Samples) -> Float[Tensor, ""]:
        """Return the mean of the samples' terms; in training, what was learnt of their rows is kept."""
        group = group_of(self.process_group) if self.training else None
        current = gather(own, group) if group else own
        samples = concatenate([current, *self._beside(current)])
        embedding, loss, label, attribute, row = samples
        before = self._average(row, loss)
        # An unknown attribute (-1) reads the last slot.
        anchor_weight = self.anchor_weight[label, attribute].to(loss.dtype)
        importance = self.importance[label, attribute].to(loss.dtype)
        # Numbers made on the device: a copy from the host would wait for it.
        temperature, rate, floor = (
            loss.new_full((), setting) for setting in (self.temperature, self.averaging_rate, 0.0)
        )
        found = stochastic_objective(
            embedding, label, attribute, loss, before, anchor_weight, temperature, rate, floor, row
        )
        if self.training and row is not None:
            self._keep(current, before, found.average, (anchor_weight > 0) & ~found.skipped)
        self._diagnose = partial(
            diagnose,
            embedding.detach(),
            label,
            attribute,
            anchor_weight,
            importance,
            found.average.log_denominator,
            temperature,
            self.strength,
        )
        value = (importance * loss.lerp(found.term, self.strength)).mean()
        # Only the own samples have a gradient. Wrappers average it over the processes, where it should be added
        # up; and of what stands beside, no one's is added ever, so the current samples speak for all.
        factor = (group.size() if group else 1) * len(label) / len(current.label)
        return value if factor == 1 else value.detach() + factor * (value - value.detach())

    def _beside(self, current: Samples) -> list[Samples]:
        """The earlier batches that stay beside this one; none where rows are not named, or change no state."""
        if not self.training or current.row is None:
            return []
        embedding, loss = current.embedding, current.loss
        return [
            each._replace(embedding=each.embedding.to(embedding), loss=each.loss.to(loss))
            for each in self._kept
            if each.embedding.shape[1] == embedding.shape[1]
        ]

    def _average(self, row: Int[Tensor, "batch"] | None, like: Float[Tensor, "batch"]) -> InnerEstimate:
        """Return what is believed of the rows so far; nothing where they are not named."""
        if row is None:
            return InnerEstimate(torch.full_like(like, -torch.inf), torch.zeros_like(like))
        return InnerEstimate(self.log_denominator[row].to(like.dtype), self.neighbourhood_loss[row].to(like.dtype))

    @torch.no_grad()
    def _keep(
        self, current: Samples, before: InnerEstimate, after: InnerEstimate, met: Bool[Tensor, "sample"]
    ) -> None:
        """Write the averages of the batch's rows, and keep the batch itself if that is asked for.

        The estimates have the batch's samples first; what stands beside it was written when it was the batch.
        """
        row = current.row
        assert row is not None
        # float16 overflows now and then, and its GradScaler leaves out that step: so do the averages.
        sound = after.neighbourhood_loss.isfinite() & (after.log_denominator < torch.inf)
        for buffer, old, new in zip((self.log_denominator, self.neighbourhood_loss), before, after, strict=True):
            buffer.index_copy_(0, row, torch.where(sound, new, old)[: len(row)].to(buffer.dtype))
        # Copies of a row in a batch are one visit.
        self.visits.index_copy_(0, row, self.visits[row] + (met & sound)[: len(row)])
        self._kept.append(current.constant())

    def _cross_entropy(
        self, logit: Float[Tensor, "batch *label"] | None, label: Int[Tensor, "batch"]
    ) -> Float[Tensor, "batch"]:
        """Minus the log probability of each sample's class."""
        assert logit is not None  # checked with words before
        logit = logit.to(torch.promote_types(torch.float32, logit.dtype))
        if logit.ndim == 1 or logit.shape[1] == 1:
            return binary_cross_entropy_with_logits(logit.flatten(), label.to(logit.dtype), reduction="none")
        column = label if logit.shape[1] == len(self.classes) else self.training_set.label.value[label]
        return cross_entropy(logit, column, reduction="none")

    def _check(self, logit: Tensor | None, embedding: Tensor, sample_loss: Tensor | None) -> None:
        """Raise an error that names the tensor which has the wrong type, device or shape."""
        if logit is None and sample_loss is None:
            raise ValueError("logit is None; expected logits, or the loss of each sample as sample_loss")
        given: dict[str, Any] = {"embedding": embedding}
        given |= {"logit": logit} if sample_loss is None else {"sample_loss": sample_loss}
        for name, tensor in given.items():
            if not isinstance(tensor, Tensor):
                raise TypeError(f"{name} is a {type(tensor).__name__}; expected a torch tensor")
            if name == "embedding" and tensor.device != self.visits.device:
                place = f"{tensor.device}, the loss on {self.visits.device}"
                raise ValueError(f"embedding is on {place}; move the loss with .to(...)")
            check_dense(name, tensor)
        size, known = len(embedding) if embedding.ndim else 0, self.training_set.label
        classes = len(known.names)
        legal = [(size, classes), (size,), (size, 1)] if classes == 2 else [(size, classes)]
        shapes = " or ".join(str(list(shape)) for shape in legal)
        expected = {
            "embedding": "[batch, dimensions], not empty",
            "sample_loss": f"[{size}], one for each row of embedding",
            "logit": f"{shapes}, for {classes} classes and {size} rows of embedding",
        }
        for name, tensor in given.items():
            shape = tuple(tensor.shape)
            by_value = known.whole and len(shape) == 2 and shape[0] == size and shape[1] > max(known.values)
            fits = {
                "embedding": len(shape) == 2 and size > 0,
                "sample_loss": shape == (size,),
                "logit": shape in legal or by_value,
            }
            if not fits[name] or not tensor.is_floating_point():
                found = f"{str(tensor.dtype).removeprefix('torch.')} {list(shape)}"
                raise ValueError(f"{name} is {found}; expected floats {expected[name]}")

    def _register_buffers(self, sampler: GroupBatchSampler | None) -> None:
        """Register the weights of each cell, by the balance and the sampler, and the averages of each row."""
        known = self.training_set
        label, attribute = known.label.codes, known.attribute.codes
        alone = int((~has_neighbours(label, attribute)).sum())
        if alone:
            unknown = int((attribute < 0).sum())
            warnings.warn(
                f"{alone} of {len(label)} training samples count with their own loss: {unknown} of unknown "
                f"attribute, {alone - unknown} of a class that is seen with one attribute value only",
                stacklevel=3,
            )
        rate = torch.ones(len(known)) if sampler is None else torch.from_numpy(sampler.rate)
        if len(rate) != len(known):
            raise ValueError(f"sampler has {len(rate)} rows, label {len(known)}; expected the same training set")
        weight = anchor_weights(label, attribute, self.balance)
        self.register_buffer("anchor_weight", known.by_cell(weight, elsewhere=0.0))
        self.register_buffer("importance", known.by_cell(1 / rate, elsewhere=1.0))
        average = InnerEstimate.unknown(len(known))
        self.register_buffer("log_denominator", average.log_denominator)
        self.register_buffer("neighbourhood_loss", average.neighbourhood_loss)
        self.register_buffer("visits", torch.zeros(len(known), dtype=torch.int32))

    def _apply(self, fn: Callable[[Tensor], Tensor], recurse: bool = True) -> "RAANLoss":
        """Move with `.to()` and its kin, but stay in float32: in half precision an average stops moving."""

        def in_own_precision(tensor: Tensor) -> Tensor:
            moved = fn(tensor)
            return moved if moved.dtype == tensor.dtype else tensor.to(moved.device)

        super()._apply(in_own_precision, recurse)  # type: ignore[no-untyped-call]
        return self
