"""First-order optimizers, one class for each rule. x is a variable, g its gradient, r the rate; all is element by
element."""

from __future__ import annotations

from typing import Any

from ...core import dtypes
from ...core.frontend.array_api.common import type_of
from ...core.frontend.array_api.creation import full_like, zeros_like
from ...core.frontend.array_api.datatypes import astype
from ...core.frontend.functions import pow, sqrt
from .optimizer import Optimizer, Slots


class SGD(Optimizer):
    """x - r g.

    A rate is a number, or a variable that may be assigned between steps; this holds for all optimizers.

    >>> import tagloom as tl
    >>> w, optimizer = tl.Variable([1.0, 2.0], name="w"), SGD(rate=0.5)
    >>> optimizer.apply(tl.grad(lambda: tl.sum(w * w), w)(), w)
    >>> w
    <variable w: float64[2] = [0., 0.]>
    """

    def __init__(self, rate: Any = 0.01) -> None:
        super().__init__()
        self.rate = rate

    def first(self, value: Any) -> Slots:
        return {}

    def update(self, value: Any, gradient: Any, slots: Slots) -> tuple[Any, Slots]:
        return value - self.rate * gradient, {}


class Momentum(Optimizer):
    """m becomes u m + g, and x becomes x - r m; with `nesterov` x - r (g + u m), a look ahead (Sutskever 2013)."""

    def __init__(self, rate: Any = 0.01, momentum: float = 0.9, *, nesterov: bool = False) -> None:
        super().__init__()
        self.rate, self.momentum, self.nesterov = rate, momentum, nesterov

    def first(self, value: Any) -> Slots:
        return {"momentum": zeros_like(value)}

    def update(self, value: Any, gradient: Any, slots: Slots) -> tuple[Any, Slots]:
        moved = self.momentum * slots["momentum"] + gradient
        towards = gradient + self.momentum * moved if self.nesterov else moved
        return value - self.rate * towards, {"momentum": moved}


class Adagrad(Optimizer):
    """s, the sum of all g g so far, begins at `initial`; x becomes x - r g / (sqrt(s) + epsilon) (Duchi 2011)."""

    def __init__(self, rate: Any = 0.01, initial: float = 0.1, epsilon: float = 1e-10) -> None:
        super().__init__()
        self.rate, self.initial, self.epsilon = rate, initial, epsilon

    def first(self, value: Any) -> Slots:
        return {"squares": full_like(value, self.initial)}

    def update(self, value: Any, gradient: Any, slots: Slots) -> tuple[Any, Slots]:
        squares = slots["squares"] + gradient * gradient
        return value - self.rate * gradient / (sqrt(squares) + self.epsilon), {"squares": squares}


class Adadelta(Optimizer):
    """s and d are moving means of g g and of the squared steps; a step is g sqrt(d + e) / sqrt(s + e) (Zeiler 2012)."""

    def __init__(self, rate: Any = 1.0, decay: float = 0.9, epsilon: float = 1e-6) -> None:
        super().__init__()
        self.rate, self.decay, self.epsilon = rate, decay, epsilon

    def first(self, value: Any) -> Slots:
        return {"squares": zeros_like(value), "steps": zeros_like(value)}

    def update(self, value: Any, gradient: Any, slots: Slots) -> tuple[Any, Slots]:
        squares = _moving_mean(slots["squares"], gradient * gradient, self.decay)
        step = gradient * (sqrt(slots["steps"] + self.epsilon) / sqrt(squares + self.epsilon))
        return value - self.rate * step, {
            "squares": squares,
            "steps": _moving_mean(slots["steps"], step * step, self.decay),
        }


class RMSProp(Optimizer):
    """s is a moving mean of g g, and x becomes x - r g / (sqrt(s) + epsilon) (Tieleman and Hinton 2012). `centered`
    takes the square of the mean of g off s. With a momentum u, m becomes u m + g / ..., and x becomes x - r m."""

    def __init__(
        self,
        rate: Any = 0.01,
        decay: float = 0.9,
        momentum: float = 0.0,
        epsilon: float = 1e-8,
        *,
        centered: bool = False,
    ) -> None:
        super().__init__()
        self.rate, self.decay, self.momentum, self.epsilon, self.centered = rate, decay, momentum, epsilon, centered

    def first(self, value: Any) -> Slots:
        names = ["squares", *["mean"] * self.centered, *["momentum"] * (self.momentum != 0.0)]
        return {name: zeros_like(value) for name in names}

    def update(self, value: Any, gradient: Any, slots: Slots) -> tuple[Any, Slots]:
        after = {"squares": _moving_mean(slots["squares"], gradient * gradient, self.decay)}
        spread = after["squares"]
        if self.centered:
            after["mean"] = _moving_mean(slots["mean"], gradient, self.decay)
            spread = spread - after["mean"] * after["mean"]
        step = gradient / (sqrt(spread) + self.epsilon)
        if self.momentum != 0.0:
            step = after["momentum"] = self.momentum * slots["momentum"] + step
        return value - self.rate * step, after


class Adam(Optimizer):
    """m and s are moving means of g and of g g, divided by 1 - beta^t, since they begin at 0; t counts the steps. x
    becomes x - r m / (sqrt(s) + epsilon) (Kingma and Ba 2015)."""

    def __init__(self, rate: Any = 0.001, beta_1: float = 0.9, beta_2: float = 0.999, epsilon: float = 1e-8) -> None:
        super().__init__()
        self.rate, self.beta_1, self.beta_2, self.epsilon = rate, beta_1, beta_2, epsilon

    def first(self, value: Any) -> Slots:
        return {"mean": zeros_like(value), "squares": zeros_like(value), "count": 0}

    def update(self, value: Any, gradient: Any, slots: Slots) -> tuple[Any, Slots]:
        count = slots["count"] + 1
        mean = _moving_mean(slots["mean"], gradient, self.beta_1)
        squares = _moving_mean(slots["squares"], gradient * gradient, self.beta_2)
        step = (mean / _bias_correction(self.beta_1, count, value)) / (
            sqrt(squares / _bias_correction(self.beta_2, count, value)) + self.epsilon
        )
        return value - self.rate * step, {"mean": mean, "squares": squares, "count": count}


def _moving_mean(mean: Any, new: Any, decay: float) -> Any:
    """A moving mean, updated by one element."""
    return decay * mean + (1.0 - decay) * new


def _bias_correction(beta: float, count: Any, value: Any) -> Any:
    """1 - beta^count, the weight that a moving mean from 0 has gathered; in float64, since beta is close to 1."""
    return astype(1.0 - pow(beta, astype(count, dtypes.float64)), type_of(value).dtype)
