"""Small programs for engines that compile: loops and recursion of every kind, on every lane."""

from __future__ import annotations

import numpy as np
import tagloom as tl


@tl.function
def even(n: tl.int64) -> tl.bool:
    return tl.cond(n == 0, lambda: True, lambda: odd(n - 1))


@tl.function
def odd(n: tl.int64) -> tl.bool:
    return tl.cond(n == 0, lambda: False, lambda: even(n - 1))


@tl.function
def drawn(n: tl.int64) -> tl.float64:
    def step(i: tl.int64, s: tl.float64) -> object:
        die = tl.astype(tl.integers(-3, i + 1), tl.float64)
        return i + 1, s + die * tl.normal() + tl.cond(i % 2 == 0, lambda: tl.uniform(), lambda: walk(i))

    return tl.while_loop(lambda i, s: i < n, step, 0, 0.0)[1]


@tl.function
def walk(n: tl.int64) -> tl.float64:
    return tl.cond(n <= 0, lambda: 0.0, lambda: walk(n - 1) + tl.uniform() + walk(n - 2))


@tl.function
def spread(a: tl.uint64, b: tl.int8, c: tl.float32) -> tuple[tl.uint64, tl.int8, tl.float32, tl.bool]:
    """Two functions that recur through each other, on every lane."""
    return tl.cond(a == np.uint64(0), lambda: (a, b, c, True), lambda: spread_on(c, a - np.uint64(1), b))


@tl.function
def spread_on(c: tl.float32, a: tl.uint64, b: tl.int8) -> tuple[tl.uint64, tl.int8, tl.float32, tl.bool]:
    def back() -> object:
        made = spread(a, b * np.int8(3), c / np.float32(3.0))
        return made[0] + a, made[1] - b, made[2] + c, ~made[3]

    return tl.cond(a > np.uint64(100), lambda: (a, b, c, False), back)


@tl.function
def strips(n: tl.int64, m: tl.int64) -> tl.int64:
    """A loop that counts, over several strips, with one inside that counts by threes up to another bound."""
    inner = lambda i: tl.while_loop(lambda j, t: j < m, lambda j, t: (j + 3, t + j * i), i, 0)[1]  # noqa: E731
    return tl.while_loop(lambda i, s: i < n, lambda i, s: (i + 1, s + inner(i) + i), 0, 0)[1]


@tl.function
def divided(n: tl.int64) -> tl.int64:
    a = tl.cond(n > 5, lambda: 10 // (n - 8), lambda: 1)
    b = 100 // n
    return a + b


@tl.function
def looped(n: tl.int64) -> tl.int64:
    inner = lambda i: tl.while_loop(lambda j, s: j < i, lambda j, s: (j + 1, s + divided(n - j)), 0, 0)[1]  # noqa: E731
    return tl.while_loop(lambda i, s: 60 // (11 - i) > 0, lambda i, s: (i + 1, s + inner(i)), 1, 0)[1]


@tl.function
def count(n: tl.int64) -> tl.int64:
    return tl.cond(n <= 0, lambda: 0, lambda: count(n - 1) + 1)


@tl.function
def forever(n: tl.int64) -> tl.int64:
    return tl.while_loop(lambda i: i >= 0, lambda i: (i + 1) % 5, n)[0]


@tl.function
def counting(n: tl.int64) -> tl.int64:
    """What counts for years."""
    body = lambda i, s: (i + 1, tl.cond(s % 3 == 0, lambda: s * 5, lambda: s // 7 + i))  # noqa: E731
    return tl.while_loop(lambda i, s: i < n, body, 0, 1)[1]


@tl.function
def tree(n: tl.int64) -> tl.int64:
    return tl.cond(n <= 0, lambda: 1, lambda: tree(n - 1) + tree(n - 1))


@tl.function
def nested(n: tl.int64) -> tl.int64:
    """A loop a level, and a call in it."""
    going = lambda i, s: i < 1  # noqa: E731
    body = lambda i, s: (i + 1, s + tl.cond(n <= 0, lambda: 0, lambda: nested(n - 1)))  # noqa: E731
    return tl.while_loop(going, body, 0, 1)[1]


@tl.function
def drawing(n: tl.int64) -> tl.int64:
    return tl.cond(n <= 0, lambda: tl.integers(n, n), lambda: drawing(n - 1))


@tl.function
def vectors(x: tl.Array[tl.float64, None], y: tl.float64) -> tl.Array[tl.float64, 2]:
    """Arrays of sizes that only the run tells, of one that is known, and of two axes."""
    both = x * tl.exp(np.array([1.0, 2.5])) + y
    return tl.where(both > 1.5, tl.maximum(both, y), -x)


@tl.function
def logistic(x: tl.float32) -> tl.float32:
    """The logistic map: what is rounded otherwise soon is another number."""
    step = lambda i, x: (i + 1, np.float32(3.9) * x * (np.float32(1.0) - x))  # noqa: E731
    return tl.while_loop(lambda i, x: i < 30, step, 0, x)[1]
