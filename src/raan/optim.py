"""Alg. 3 as a torch optimiser: as printed, without bias correction and with epsilon inside the root."""

from collections.abc import Callable, Iterable
from typing import Any, get_args

from raan.errors import is_number, needing

with needing("raan.optim"):
    import torch
    from torch import Tensor
    from torch.optim.optimizer import Optimizer, ParamsT

    from raan.training.update import Moments, Printed, Update

__all__ = ["SCRAAN"]

LARGEST = torch.finfo(torch.float32).max
"""No setting is larger than a number that parameters can hold."""


class SCRAAN(Optimizer):
    """Optimiser of SCRAAN, Alg. 3: SGD, Adam or AMSGrad as the paper prints them.

    It is not torch's Adam. Moments are not corrected for their start at zero, so that the first steps are (1 -
    beta1) / sqrt(1 - beta2) times as long, about three times for the usual betas. `eps` is added to the average of
    the squared gradients, not to its root. In AMSGrad the new second moment continues from the largest so far.

    Args:
        params: Parameters, or groups of them with settings of their own.
        lr: The learning rate, alpha.
        style: "adam", "amsgrad" or "sgd", which has no moments.
        betas: The decay rates of the first and second moment, eta_1 and eta_2.
        eps: The number that is added inside the root, epsilon; 1e-8 here acts as 1e-4 does in torch's Adam.
        weight_decay: The factor of an L2 penalty: the parameters times this are added to the gradient.
        foreach: Whether to use one operation over all parameters instead of one for each. None: if they are not on
            a CPU.

    Raises:
        ValueError: A setting is out of its range; the message names it.

    Examples:
        >>> import torch
        >>> from raan.optim import SCRAAN
        >>> weight = torch.ones(1, requires_grad=True)
        >>> optimiser = SCRAAN([weight], lr=0.1, style="sgd")
        >>> weight.square().sum().backward()
        >>> optimiser.step()
        >>> round(weight.item(), 4)
        0.8
    """

    def __init__(
        self,
        params: ParamsT,
        lr: float | Tensor = 1e-3,
        style: Printed = "adam",
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0.0,
        *,
        foreach: bool | None = None,
    ) -> None:
        if not isinstance(params, Iterable) or isinstance(params, str | bytes | Tensor):
            raise TypeError(f"params is a {type(params).__name__}; expected parameters, or groups of them")
        given: list[Any] = list(params)
        if not given:
            raise ValueError("params is empty; expected parameters, or groups of them")
        defaults = dict(lr=lr, style=style, betas=betas, eps=eps, weight_decay=weight_decay, foreach=foreach)
        super().__init__(given, defaults)

    def add_param_group(self, param_group: dict[str, Any]) -> None:
        """Add a group of parameters.

        Args:
            param_group: "params", and settings of the group; other settings are those of the constructor.
        """
        _check({**self.defaults, **param_group})
        super().add_param_group(param_group)

    @torch.no_grad()
    def step(self, closure: Callable[[], Any] | None = None) -> Any:
        """Take one step along the gradients.

        Args:
            closure: A function that computes the gradients anew and returns the loss.

        Returns:
            The loss of the closure; None without one.
        """
        loss = None
        if closure is not None:
            with torch.enable_grad():
                loss = closure()
        for group in self.param_groups:
            parameters = [parameter for parameter in group["params"] if parameter.grad is not None]
            if parameters:
                self._update(parameters, group)
        return loss

    def _update(self, parameters: list[Tensor], group: dict[str, Any]) -> None:
        """Move one group's parameters, all at once or one by one."""
        decay, gradients, states = float(group["weight_decay"]), [], []
        for parameter in parameters:
            gradient, state = parameter.grad, self.state[parameter]
            assert gradient is not None  # parameters without one were left out
            if gradient.is_sparse:
                raise RuntimeError("SCRAAN takes no sparse gradients; make the embedding layers with sparse=False")
            gradients.append(gradient.add(parameter, alpha=decay) if decay else gradient)
            if not state and group["style"] != "sgd":
                state["first_moment"] = torch.zeros_like(parameter, memory_format=torch.preserve_format)
                state["largest_second_moment"] = torch.zeros_like(parameter, memory_format=torch.preserve_format)
            states.append(state)
        together = group["foreach"]
        if together is None:
            together = all(parameter.device.type != "cpu" for parameter in parameters)
        (_all_at_once if together else _one_by_one)(parameters, gradients, states, group)


def _one_by_one(
    parameters: list[Tensor], gradients: list[Tensor], states: list[dict[str, Tensor]], group: dict[str, Any]
) -> None:
    """Alg. 3 for each parameter, by the same function that the training engine uses."""
    first_decay, second_decay = group["betas"]
    update = Update(group["style"], first_decay, second_decay, float(group["eps"]))
    # float64 keeps all digits of the rate; a number without axes does not widen the parameters.
    rate = torch.as_tensor(group["lr"], dtype=torch.float64)
    for parameter, gradient, state in zip(parameters, gradients, states, strict=True):
        moments = Moments(*state.values()) if state else update.start(parameter)
        moved, moments = update(parameter, gradient, moments, rate)
        parameter.copy_(moved)
        if state:
            state["first_moment"], state["largest_second_moment"] = moments[:2]


def _all_at_once(
    parameters: list[Tensor], gradients: list[Tensor], states: list[dict[str, Tensor]], group: dict[str, Any]
) -> None:
    """Alg. 3 for a list of parameters, in place, by operations on lists."""
    rate, (first_decay, second_decay) = float(group["lr"]), group["betas"]
    if group["style"] == "sgd":
        torch._foreach_add_(parameters, gradients, alpha=-rate)
        return
    first = [state["first_moment"] for state in states]
    largest = [state["largest_second_moment"] for state in states]
    torch._foreach_lerp_(first, gradients, 1 - first_decay)
    squares = torch._foreach_mul(gradients, gradients)
    if group["style"] == "amsgrad":
        second = torch._foreach_lerp(largest, squares, 1 - second_decay)
        torch._foreach_maximum_(largest, second)
    else:
        torch._foreach_lerp_(largest, squares, 1 - second_decay)
    root = torch._foreach_add(largest, float(group["eps"]))
    torch._foreach_sqrt_(root)
    torch._foreach_addcdiv_(parameters, first, root, -rate)


def _check(group: dict[str, Any]) -> None:
    """Raise an error for a setting that means nothing."""
    if not isinstance(group["style"], str) or group["style"] not in get_args(Printed):
        raise ValueError(f'style is {group["style"]!r}; expected "sgd", "adam" or "amsgrad"')
    if not isinstance(group["foreach"], bool | None):
        raise TypeError(f"foreach is {group['foreach']!r}; expected True, False or None")
    for name in ("lr", "eps", "weight_decay"):
        value = group[name]
        one = is_number(value) or (name == "lr" and isinstance(value, Tensor) and value.numel() == 1)
        if not one or not 0 <= value <= LARGEST:
            raise ValueError(f"{name} is {value!r}; expected 0 or more")
    betas = group["betas"]
    pair = isinstance(betas, tuple | list) and len(betas) == 2 and all(map(is_number, betas))
    if not pair or not all(0 <= beta < 1 for beta in betas):
        raise ValueError(f"betas is {group['betas']}; expected two numbers from 0 up, below 1")
