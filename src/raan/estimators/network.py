"""The network of a classifier: what stands before its head, how it starts, and what it says once fitted."""

from collections.abc import Iterator, Mapping
from copy import deepcopy
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
import torch
from jaxtyping import Float, Shaped
from torch import Tensor, nn

from raan.data.streams import stream
from raan.estimators.fitting import Rows, weighted_scaling
from raan.estimators.settings import Settings
from raan.io import WrongEncoder
from raan.models.model import Encoder, Model, Output, Scaling, Stack
from raan.models.modules import SLICE, ModuleEncoder, embed, laid_flat

CHUNK = 8192
"""Rows at a time, once fitted."""


class Front(NamedTuple):
    """What stands before the head in training: the table's features, and what makes an embedding of them."""

    features: Float[Tensor, "row feature"]
    encoder: Encoder
    width: int  # of the embedding

    def above(self, below: "Front") -> "Front":
        """The same with further rows below."""
        return self._replace(features=torch.cat([self.features, below.features.to(self.features)]))


def front_of(
    samples: Shaped[np.ndarray, "row ..."], module: nn.Module | None, scope: str, settings: Settings
) -> Front:
    """What stands before the head while it is trained."""
    if module is None:
        front = hidden_layers(samples, settings.hidden)
    elif scope == "model":
        front = trained_module(samples, module, settings.precision)
    else:
        front = fixed_module(samples, module, settings.precision)
    # Autocast leaves doubles as they are.
    return front if settings.precision is None else front._replace(features=front.features.float())


def hidden_layers(samples: Float[np.ndarray, "row feature"], hidden: tuple[int, ...]) -> Front:
    """Layers over the features as they are."""
    widths = samples.shape[1], *hidden
    return Front(_tensor(samples), Stack(widths), widths[-1])


def fixed_module(
    samples: Shaped[np.ndarray, "row ..."], module: nn.Module, precision: torch.dtype | None = None
) -> Front:
    """Nothing more: each sample is embedded once, in batches, and the module stays as it came."""
    embedding = torch.cat([embed(module, part, precision) for part in _slices(samples, SLICE)])
    return Front(embedding, Stack((embedding.shape[1],)), embedding.shape[1])


def trained_module(
    samples: Shaped[np.ndarray, "row ..."], module: nn.Module, precision: torch.dtype | None = None
) -> Front:
    """The module over samples laid flat, as a table holds them: in memory."""
    width = embed(module, samples[:1], precision).shape[1]
    encoder = ModuleEncoder(module, samples.shape[1:], whole=samples.dtype.kind != "f")
    return Front(laid_flat(samples, module), encoder, width)


def start(front: Front, classes: int, rows: Rows, settings: Settings, dropout: float) -> Model:
    """The model before training, at the seed's own starting values; a module takes its samples unscaled."""
    head = Stack((front.width, *settings.head, classes))
    rng = stream(settings.seed, "start")
    drawn = np.concatenate([front.encoder.draw(rng), head.draw(rng)])
    parameters = torch.from_numpy(drawn).to(rows.table.features).unsqueeze(0)
    scaling = None if isinstance(front.encoder, ModuleEncoder) else weighted_scaling(rows)
    return Model(front.encoder, head, parameters, scaling, dropout, settings.precision)


def detach_model(model: Model) -> Model:
    """Return the fitted model on the CPU; a module of the user's receives its parameters and is separate again."""
    if isinstance(model.encoder, ModuleEncoder):
        model.encoder.take_over(model.parameters[0])
        model = model.without_encoder()
    scaling = None if model.scaling is None else Scaling(*(part.cpu() for part in model.scaling))
    return replace(model, parameters=model.parameters.cpu(), scaling=scaling)


@torch.no_grad()
def outputs(model: Model, module: nn.Module | None, samples: Shaped[np.ndarray, "row ..."]) -> Output:
    """Embedding and logits of samples, a chunk at a time: no more of a memory map is read than that."""
    dtype = model.parameters.dtype
    if module is None:
        chunks = (_tensor(part).to(dtype) for part in _slices(samples, CHUNK))
    else:
        chunks = (_embedded(module, part, model).to(dtype) for part in _slices(samples, SLICE))
    parts = [model(chunk.unsqueeze(0)) for chunk in chunks]
    output = Output(*(torch.cat(part, dim=1) for part in zip(*parts, strict=True)))
    finite = output.logit[0].isfinite().all(-1)
    if not finite.all():
        raise ValueError(f"X holds numbers in row {int(finite.int().argmin())} that are too large for this model")
    return output


def _embedded(module: nn.Module, samples: Shaped[np.ndarray, "row ..."], model: Model) -> Float[Tensor, "row dim"]:
    """What a fitted module makes of samples, if it is as wide as when it was fitted."""
    embedding, width = embed(module, samples, model.precision), model.head.widths[0]
    if embedding.shape[1] != width:
        raise ValueError(
            f"X has samples of shape {samples.shape[1:]}: the encoder makes {embedding.shape[1]} numbers of each, "
            f"and made {width} of those it was fitted with"
        )
    return embedding


def _tensor(table: Float[np.ndarray, "row feature"]) -> Float[Tensor, "row feature"]:
    return torch.from_numpy(table.copy())  # torch reads no array backwards, and owns what it has


def _slices(samples: Shaped[np.ndarray, "row ..."], size: int) -> Iterator[Shaped[np.ndarray, "part ..."]]:
    for first in range(0, len(samples), size):
        yield samples[first : first + size]


# From a saved model.


def restore_network(widths: Any, tensors: Mapping[str, Tensor], classes: int) -> Model:
    """Make a network from its layers' widths and its numbers, or raise an error if they do not fit together."""
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
