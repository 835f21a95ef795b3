"""Functions of scalars that call themselves: once, twice, in loops and conditions, each other, and through others."""

from __future__ import annotations

from typing import Any

import tagloom as tl


@tl.function
def fib(n: tl.int64) -> tl.int64:
    return tl.cond(n <= 1, lambda: n, lambda: fib(n - 1) + fib(n - 2))


@tl.function
def ackermann(m: tl.int64, n: tl.int64) -> tl.int64:
    def deeper() -> Any:
        return tl.cond(n == 0, lambda: ackermann(m - 1, 1), lambda: ackermann(m - 1, ackermann(m, n - 1)))

    return tl.cond(m == 0, lambda: n + 1, deeper)


@tl.function
def is_even(n: tl.uint8) -> tl.bool:
    return tl.cond(n == 0, lambda: True, lambda: is_odd(n - 1))


@tl.function
def is_odd(n: tl.uint8) -> tl.bool:
    return tl.cond(n == 0, lambda: False, lambda: is_even(n - 1))


@tl.function
def leaves(depth: tl.int64, width: tl.float32) -> tl.float32:
    """Recursion in a loop, with values of several dtypes that live across the calls."""

    def inner() -> Any:
        negative, half = width < 0, width * 0.5

        def step(k: Any, total: Any) -> Any:
            added = leaves(depth - 1, half + tl.astype(k, tl.float32))
            return k + 1, tl.cond(negative, lambda: total - added, lambda: total + added * half)

        return tl.while_loop(lambda k, _: k < depth, step, 0, width)[1]

    return tl.cond(depth <= 0, lambda: width, inner)


@tl.function
def while_even(n: tl.int64) -> tl.int64:
    """Recursion in the condition of a loop."""
    return tl.cond(n <= 1, lambda: n, lambda: tl.while_loop(lambda k: while_even(k - 1) > 0, lambda k: (k - 2,), n)[0])


@tl.function
def sum_of_fibs(n: tl.int64) -> tl.int64:
    """Calls a function that can call itself, between its own recursive calls, through one that cannot."""
    return tl.cond(n <= 0, lambda: 0, lambda: sum_of_fibs(n - 1) * 2 + fib_twice(n) - sum_of_fibs(n - 2))


@tl.function
def fib_twice(n: tl.int64) -> tl.int64:
    return fib(n) + fib(n + 1)


@tl.function
def falling(n: tl.int64, start: tl.int64) -> tl.int64:
    """Divides by zero at the bottom of a recursion, in an iteration of a loop, if it begins low enough."""

    def divide() -> Any:
        return tl.while_loop(lambda k, _: k < 3, lambda k, s: (k + 1, s + 12 // (start + k)), 0, 0)[1]

    return tl.cond(n <= 0, divide, lambda: falling(n - 1, start - 1) + n)
