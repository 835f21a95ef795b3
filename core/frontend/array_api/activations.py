"""Activation functions of neural networks. They are composed of ops, elementwise, for floats of any shape, and keep the
dtype of their operand."""

from __future__ import annotations

import math
from typing import Any

from ..api import apply
from .common import check_floating


def relu(x: Any, /) -> Any:
    """Each element, or 0 if it is negative. The derivative at 0 is 0.

    >>> relu([-2.0, 0.0, 3.0]).tolist()
    [0.0, 0.0, 3.0]
    """
    check_floating(x, "relu")
    return apply("where", apply("less_equal", x, 0.0), 0.0, x)


def softplus(x: Any, /) -> Any:
    """The logarithm of 1 + exp(x), without overflow.

    >>> softplus([0.0, 1000.0]).tolist()
    [0.6931471805599453, 1000.0]
    """
    check_floating(x, "softplus")
    return apply("logaddexp", x, 0.0)


def sigmoid(x: Any, /) -> Any:
    """The logistic function 1 / (1 + exp(-x)), accurate for large negative x too.

    >>> sigmoid([0.0, -1000.0, 1000.0]).tolist()
    [0.5, 0.0, 1.0]
    """
    check_floating(x, "sigmoid")
    return apply("exp", apply("negative", softplus(apply("negative", x))))


def silu(x: Any, /) -> Any:
    """x times its sigmoid; also called swish.

    >>> silu([0.0, 1000.0]).tolist()
    [0.0, 1000.0]
    """
    return apply("multiply", x, sigmoid(x))


def gelu(x: Any, /, *, approximate: bool = False) -> Any:
    """x times the probability that a standard normal number is less than x. `approximate` computes it by tanh, as many
    published networks do.

    >>> gelu([0.0, 100.0]).tolist()
    [0.0, 100.0]
    """
    check_floating(x, "gelu")
    if approximate:
        cube = apply("multiply", apply("multiply", x, x), apply("multiply", x, 0.044715))
        inner = apply("multiply", apply("add", x, cube), math.sqrt(2.0 / math.pi))
        return apply("multiply", apply("multiply", x, 0.5), apply("add", apply("tanh", inner), 1.0))
    return apply("multiply", apply("multiply", x, 0.5), apply("erfc", apply("multiply", x, -math.sqrt(0.5))))
