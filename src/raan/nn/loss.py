"""RAAN as a loss with a memory: the stochastic objective for anyone's own training loop."""

from collections import deque
from collections.abc import Callable
from typing import Literal, NamedTuple

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn
from torch.nn.functional import binary_cross_entropy_with_logits, cross_entropy

from raan.neighbourhood.balance import Balance, anchor_weights
from raan.neighbourhood.estimator import InnerEstimate, batch_pairs, stochastic_objective
from raan.neighbourhood.pairs import log_affinity, neighbours
from raan.nn.checks import check_dials, check_embedding, check_kept, check_logit, check_sample_loss, warn_alone
from raan.nn.samplers import GroupBatchSampler
from raan.nn.together import Samples, concatenate, gather, group_of
from raan.nn.training_set import TrainingSet


class Diagnostics(NamedTuple):
    """How a batch went; tensors without gradient, on the batch's device."""

    anchors: Int[Tensor, ""]  # samples whose neighbours were in the batch
    skipped: Int[Tensor, ""]  # samples that have neighbours, but none in the batch
    effective_sample_size: Float[Tensor, ""]  # (sum of weights)^2 / sum of squares; all alike: the batch size
    largest_weight: Float[Tensor, ""]  # of a sample's loss in the gradient; 1 in plain training


class Weighing(NamedTuple):
    """What the weights of a batch are made of; all of it constant."""

    embedding: Float[Tensor, "batch dim"]
    label: Int[Tensor, "batch"]
    attribute: Int[Tensor, "batch"]
    anchor_weight: Float[Tensor, "batch"]
    importance: Float[Tensor, "batch"]
    log_denominator: Float[Tensor, "batch"]  # log u2 after the batch
    temperature: Float[Tensor, ""]
    strength: float


def diagnose(weighing: Weighing) -> Diagnostics:
    """Count the anchors, and summarise how much each sample's loss weighs in the gradient."""
    pairs = batch_pairs(
        log_affinity(weighing.embedding, weighing.temperature), neighbours(weighing.label, weighing.attribute)
    )
    met, anchored = pairs.log_mean > -torch.inf, weighing.anchor_weight > 0
    # g-hat2 / u2, as in the surrogate of Eq. (8).
    scale = torch.where(met, (pairs.log_mean - weighing.log_denominator).exp(), 0)
    robust = (weighing.anchor_weight * scale) @ pairs.share + ~anchored
    weight = weighing.importance * (1 - weighing.strength + weighing.strength * robust)
    return Diagnostics(
        anchors=(anchored & met).sum(),
        skipped=(anchored & ~met).sum(),
        effective_sample_size=weight.sum().square() / weight.square().sum(),
        largest_weight=weight.max(),
    )


class RAANLoss(nn.Module):
    """The estimate of the RAAN objective from a batch; its gradient is G(w), Eq. (8).

    Each sample's loss is replaced by that of its neighbours: the same class, another attribute value, near in the
    embedding. The constructor takes the labels and attributes of the whole *training set*; a call takes those of
    a batch and `index`, their rows in that training set:

        criterion = RAANLoss(y_train, sex_train)
        for x, y, sex, index in loader:                    # IndexedDataset adds the index
            embedding = encoder(x)
            loss = criterion(head(embedding), embedding, y, sex, index)

    With an index, a running average of each row's neighbourhood makes up for the few neighbours that a batch
    holds. It is part of `state_dict()`, moves with `.to()`, stays in float32 under any precision, and does not
    change in `eval()`. Without an index (on validation data, say) the batch speaks for itself.

    In distributed training (DistributedDataParallel, FSDP, Lightning, Accelerate) the batches of all processes are
    one: neighbours are sought among all of their samples, the averages stay the same everywhere, and the gradient
    that the wrapper averages is that of one process with the whole batch.

    Args:
        label: the class of each training sample: numbers from 0 up, or strings.
        sensitive_features: the attribute of each; several columns are crossed; None and NaN are unknown.
        temperature: how local neighbourhoods are: 0 is the nearest neighbour, inf the whole other group.
        averaging_rate: how much of its running average a row replaces on a visit; 1 keeps nothing (BSGD).
        balance: "group": all (class, attribute) cells count alike, Eq. (4), lifts the worst group. "sample": all
            samples do, Eq. (5), lowers demographic parity's gap.
        scope: "head": the weights are constants, and only losses have gradients (RAAN; the encoder is yours to
            freeze). "model": the embedding that makes the weights learns too (RL-RAAN).
        strength: 0 is plain training, 1 is full RAAN, and between them a mixture.
        sampler: the `GroupBatchSampler` of the batches: samples that it draws more often count less by as much.
        keep_batches: how many earlier batches stay beside the current one as anchors and neighbours without a
            gradient: with gradient accumulation, the number of micro-batches less one. None is kept over a resume.
        process_group: the processes whose batches are one; None: all of the default group, if there is one;
            False: each process for itself.
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
        check_dials(temperature, averaging_rate, balance, scope, strength)
        check_kept(keep_batches)
        self.temperature, self.averaging_rate, self.strength = temperature, averaging_rate, strength
        self.balance, self.scope = balance, scope
        self.process_group = process_group
        self.training_set = TrainingSet(label, sensitive_features)
        warn_alone(self.training_set.label.codes, self.training_set.attribute.codes)
        self._register_weights(sampler)
        self._register_averages()
        self._kept: deque[Samples] = deque(maxlen=keep_batches)
        self._weighing: Weighing | None = None

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
        """The estimate of the objective; its gradient is G(w).

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
        check_embedding(embedding, self.visits)
        if sample_loss is None:
            check_logit(logit, len(embedding), self.training_set.label)
        else:
            check_sample_loss(sample_loss, len(embedding))
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
        return None if self._weighing is None else diagnose(self._weighing)

    def extra_repr(self) -> str:
        """The settings, and what the training set holds."""
        settings = ("temperature", "averaging_rate", "balance", "scope", "strength")
        sizes = f"rows={len(self.visits)}, classes={len(self.classes)}, groups={len(self.groups)}"
        return ", ".join([*(f"{setting}={getattr(self, setting)!r}" for setting in settings), sizes])

    def _objective(self, own: Samples) -> Float[Tensor, ""]:
        """The mean of the samples' terms; in training, what was learnt of their rows is kept."""
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
        self._weighing = Weighing(
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
        """What is believed of the rows so far; nothing where they are not named."""
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

    def _register_weights(self, sampler: GroupBatchSampler | None) -> None:
        """How much a sample of each cell counts, by the balance and by how often it is drawn."""
        known = self.training_set
        if not isinstance(sampler, GroupBatchSampler | None):
            raise TypeError(f"sampler is a {type(sampler).__name__}; expected a GroupBatchSampler, or None")
        rate = torch.ones(len(known)) if sampler is None else torch.from_numpy(sampler.rate)
        if len(rate) != len(known):
            raise ValueError(f"sampler has {len(rate)} rows, label {len(known)}; expected the same training set")
        weight = anchor_weights(known.label.codes, known.attribute.codes, self.balance)
        self.register_buffer("anchor_weight", known.by_cell(weight, elsewhere=0.0))
        self.register_buffer("importance", known.by_cell(1 / rate, elsewhere=1.0))

    def _register_averages(self) -> None:
        """Nothing is known of any row."""
        unknown = InnerEstimate.unknown(len(self.training_set))
        self.register_buffer("log_denominator", unknown.log_denominator)
        self.register_buffer("neighbourhood_loss", unknown.neighbourhood_loss)
        self.register_buffer("visits", torch.zeros(len(self.training_set), dtype=torch.int32))

    def _apply(self, fn: Callable[[Tensor], Tensor], recurse: bool = True) -> "RAANLoss":
        """Move with `.to()` and its kin, but stay in float32: in half precision an average stops moving."""

        def in_own_precision(tensor: Tensor) -> Tensor:
            moved = fn(tensor)
            return moved if moved.dtype == tensor.dtype else tensor.to(moved.device)

        super()._apply(in_own_precision, recurse)  # type: ignore[no-untyped-call]
        return self
