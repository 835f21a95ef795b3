"""Functions with gradients for tests: a recursion, a loop, loops and a cond in a loop, and a second order."""

from __future__ import annotations

from typing import Any

import tagloom as tl


@tl.function
def fac(x: tl.float64) -> tl.float64:
    return tl.cond(x <= 1.0, lambda: 1.0, lambda: x * fac(x - 1.0))


@tl.function
def power(x: tl.float64, n: tl.int64) -> tl.float64:
    return tl.while_loop(lambda i, p: i < n, lambda i, p: (i + 1, p * x), 0, 1.0)[1]


@tl.function
def nested(x: tl.float64, n: tl.int64) -> tl.float64:
    def body(i: Any, s: Any) -> tuple[Any, Any]:
        def inner(j: Any, t: Any) -> tuple[Any, Any]:
            return j + 1, tl.cond(t > 1.0, lambda: t * x, lambda: tl.sin(t))

        _, t = tl.while_loop(lambda j, t: j < i, inner, 0, s)
        return i + 1, t + x

    return tl.while_loop(lambda i, s: i < n, body, 0, x)[1]


@tl.function
def grad_fac(x: tl.float64) -> tl.float64:
    return tl.grad(fac)(x)


@tl.function
def grad_power(x: tl.float64, n: tl.int64) -> tl.float64:
    return tl.grad(power)(x, n)


@tl.function
def grad_nested(x: tl.float64, n: tl.int64) -> tl.float64:
    return tl.grad(nested)(x, n)


@tl.function
def second(x: tl.float64, n: tl.int64) -> tl.float64:
    return tl.grad(grad_power)(x, n)


GRADIENTS = {
    "fac": (grad_fac, (3.0,)),
    "power": (grad_power, (3.0, 3)),
    "nested": (grad_nested, (0.5, 3)),
    "second": (second, (3.0, 2)),
}
"""Each function with arguments for a short run."""
