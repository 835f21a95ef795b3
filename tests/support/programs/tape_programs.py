"""Hand-written functions of two arguments, which tests differentiate by tapes and by other means."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import tagloom as tl


@tl.function
def square(x: tl.float64) -> tl.float64:
    return x * x


HAND_MADE: dict[str, tuple[Callable[..., Any], tuple[Any, ...]]] = {
    "a polynomial": (lambda x, y: x * x * y - 3.0 * y / x, (1.5, -0.5)),
    "elementary functions": (lambda x, y: tl.tanh(x * tl.exp(y)) + tl.log(x) * tl.atan2(y, x), (1.5, -0.5)),
    "what broadcasts": (lambda x, y: tl.sum((x - y) ** 2.0 * y), (np.arange(6.0).reshape(2, 3), np.array([0.5, 1, 2]))),
    "a product": (lambda x, y: tl.sum(tl.tanh(x @ y) * (x @ y)), (np.eye(2) + 0.5, np.array([[1.0, 2.0], [3.0, 4.0]]))),
    "parts": (lambda x, y: tl.sum(x[1:] * x[0]) + y[1, 0] ** 3.0, (np.arange(1.0, 4.0), np.ones((2, 2)) / 2)),
    "a choice": (lambda x, y: tl.cond(x < y, lambda: x * y, lambda: x - y), (0.5, 2.0)),
    "a loop": (lambda x, y: tl.while_loop(lambda i, z: i < 4, lambda i, z: (i + 1, z * x + y), 0, x)[1], (1.1, 0.3)),
    "a fold": (lambda x, y: tl.foldl(lambda z, e: tl.sin(z + e * y), 0.5, x), (np.array([0.1, 0.2, 0.3]), 2.0)),
    "float32": (lambda x, y: tl.sum(x * x * y), (np.array([1, 2], np.float32), np.array([0.5, 3.0], np.float32))),
    "what stops": (lambda x, y: tl.stop_gradient(x * y) * x, (3.0, 2.0)),
    "a part of a function": (lambda x, y: square(x * y) + square(y), (1.5, 0.5)),
    "nothing": (lambda x, y: tl.floor(x) + 0.0 * y, (1.5, 0.5)),
}
