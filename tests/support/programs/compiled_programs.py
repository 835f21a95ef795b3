"""Small programs for engines that compile: loops and recursion of every kind, on every scalar type."""

from __future__ import annotations

from typing import Any

import numpy as np
import tagloom as tl
from support.generators.effect_programs import half, weigh
from tagloom.core.ops.op import OPS
from tagloom.interp.engines.jit.kernels import UFUNC_OPS


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
    """Two mutually recursive functions, on every scalar type."""
    return tl.cond(a == np.uint64(0), lambda: (a, b, c, True), lambda: spread_on(c, a - np.uint64(1), b))


@tl.function
def spread_on(c: tl.float32, a: tl.uint64, b: tl.int8) -> tuple[tl.uint64, tl.int8, tl.float32, tl.bool]:
    def back() -> object:
        result = spread(a, b * np.int8(3), c / np.float32(3.0))
        return result[0] + a, result[1] - b, result[2] + c, ~result[3]

    return tl.cond(a > np.uint64(100), lambda: (a, b, c, False), back)


@tl.function
def strips(n: tl.int64, m: tl.int64) -> tl.int64:
    """A loop that counts over several strips, and an inner one that counts by threes up to another bound."""
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
    """A loop that counts for years."""
    body = lambda i, s: (i + 1, tl.cond(s % 3 == 0, lambda: s * 5, lambda: s // 7 + i))  # noqa: E731
    return tl.while_loop(lambda i, s: i < n, body, 0, 1)[1]


@tl.function
def tree(n: tl.int64) -> tl.int64:
    return tl.cond(n <= 0, lambda: 1, lambda: tree(n - 1) + tree(n - 1))


@tl.function
def nested(n: tl.int64) -> tl.int64:
    """Nested loops, one for each level, with a call inside."""
    going = lambda i, s: i < 1  # noqa: E731
    body = lambda i, s: (i + 1, s + tl.cond(n <= 0, lambda: 0, lambda: nested(n - 1)))  # noqa: E731
    return tl.while_loop(going, body, 0, 1)[1]


@tl.function
def drawing(n: tl.int64) -> tl.int64:
    return tl.cond(n <= 0, lambda: tl.integers(n, n), lambda: drawing(n - 1))


@tl.function
def vectors(x: tl.Array[tl.float64, None], y: tl.float64) -> tl.Array[tl.float64, 2]:
    """Arrays of open sizes, of a fixed size, and with two axes."""
    both = x * tl.exp(np.array([1.0, 2.5])) + y
    return tl.where(both > 1.5, tl.maximum(both, y), -x)


@tl.function
def apart(x: tl.Array[tl.float64, 5]) -> tuple[tl.Array[tl.float64, 5], tl.Array[tl.float64, 5]]:
    """Small arrays computed in one fused loop; some are not needed after it."""
    rising, falling = tl.exp(x), tl.exp(-x)
    return rising - falling, rising + falling


def elementary(x: Any, y: Any) -> Any:
    """Every function for which NumPy has its own loops."""
    return tuple(getattr(tl, name)(*(x, y)[: OPS[name].arity]) for name in UFUNC_OPS)


elementary64, elementary32 = tl.function(elementary), tl.function(elementary)


@tl.function
def lengths(x: tl.Array[tl.float64, None]) -> tl.Array[tl.float64, None]:
    """Compositions of functions whose NumPy loops have several implementations."""
    return tl.hypot(x, tl.logaddexp(x, -x))


@tl.function
def logistic(x: tl.float32) -> tl.float32:
    """The logistic map: any difference in rounding soon gives another number."""
    step = lambda i, x: (i + 1, np.float32(3.9) * x * (np.float32(1.0) - x))  # noqa: E731
    return tl.while_loop(lambda i, x: i < 30, step, 0, x)[1]


@tl.function
def prefix(n: tl.int64) -> tuple[tl.float64, tl.Array[tl.float64, None]]:
    """Each cell is computed from its predecessor."""

    def body(i: tl.int64, a: tl.Cells[tl.float64]) -> object:
        return i + 1, tl.put(a, i, a[i - 1] * 1.5 + tl.astype(i, tl.float64))

    a = tl.put(tl.cells(n, tl.float64), 0, 1.0)
    a = tl.while_loop(lambda i, a: i < n, body, 1, a)[1]
    return a[n - 1], tl.collect(a)


@tl.function
def exchanged(n: tl.int64) -> tuple[tl.Array[tl.int64, None], tl.Array[tl.int64, None]]:
    """Two vectors of cells, put in turn and swapped in each iteration."""

    def body(i: tl.int64, a: tl.Cells[tl.int64], b: tl.Cells[tl.int64]) -> object:
        return i + 1, b, tl.put(a, i // 2, i)

    _, a, b = tl.while_loop(lambda i, a, b: i < 2 * n, body, 0, tl.cells(n, tl.int64), tl.cells(n, tl.int64))
    return tl.collect(a), tl.collect(b)


@tl.function
def late(n: tl.int64) -> tl.int64:
    """A get before its put for some n, and only for those."""
    a = tl.cells(2, tl.int64)
    b = tl.put(a, 0, n)
    got = tl.cond(n > 3, lambda: a[1] + 1, lambda: a[0])
    tl.put(b, 1, n * n)
    return got


@tl.function
def twice(n: tl.int64) -> tl.int64:
    """A second put to a cell, if n is even."""
    a = tl.put(tl.put(tl.cells(3, tl.int64), 1, 7), n % 2 + 1, 8)
    return a[1]


@tl.function
def plant(a: tl.Cells[tl.float64], low: tl.int64, high: tl.int64) -> tl.Cells[tl.float64]:
    """Two mutually recursive functions that take and return handles."""
    middle = (low + high) // 2
    return tl.cond(
        low < high, lambda: graft(tl.put(a, middle, tl.astype(low * high, tl.float64)), low, middle, high), lambda: a
    )


@tl.function
def graft(a: tl.Cells[tl.float64], low: tl.int64, middle: tl.int64, high: tl.int64) -> tl.Cells[tl.float64]:
    return plant(plant(a, low, middle), middle + 1, high)


@tl.function
def planted(n: tl.int64) -> tl.Array[tl.float64, None]:
    return tl.collect(plant(tl.cells(n, tl.float64), 0, n))


@tl.function
def ragged(n: tl.int64, m: tl.int64) -> tuple[tl.Array[tl.float64, None], tl.Array[tl.float64, None, None]]:
    """Cells of arrays of open sizes, all equal unless there are m of another size before."""
    short = tl.collect(tl.put(tl.cells(1, tl.float64), 0, 2.5))
    long = tl.collect(tl.put(tl.put(tl.cells(2, tl.float64), 0, 2.5), 1, 3.5))

    def body(i: tl.int64, a: tl.Cells[tl.Array[tl.float64, None]]) -> object:
        return i + 1, tl.put(a, i, tl.cond(i < m, lambda: short, lambda: long * tl.astype(i, tl.float64)))

    a = tl.while_loop(lambda i, a: i < n, body, 0, tl.cells(n, tl.Array[tl.float64, None]))[1]
    return a[n - 1], tl.collect(a)


@tl.function
def rows(n: tl.int64) -> tuple[tl.Array[tl.float32, 3], tl.Array[tl.float32, None, 3]]:
    """Cells of arrays of a fixed size."""

    def body(i: tl.int64, a: tl.Cells[tl.Array[tl.float32, 3]]) -> object:
        return i + 1, tl.put(a, i, tl.astype(i, tl.float32) / np.array([1.0, 3.0, 7.0], np.float32))

    a = tl.while_loop(lambda i, a: i < n, body, 0, tl.cells(n, tl.Array[tl.float32, 3]))[1]
    return a[n // 2] + a[0], tl.collect(a)


@tl.function
def told(n: tl.int64) -> tl.int64:
    """Effects on two resources, in a loop, in its condition and in branches."""

    def going(i: tl.int64, s: tl.int64) -> object:
        tl.print("at", i)
        return i < n

    def body(i: tl.int64, s: tl.int64) -> object:
        def even() -> object:
            tl.print("even", s, tl.astype(i, tl.float32))
            return s

        def odd() -> object:
            tl.print()
            return s + 1

        s = tl.cond(i % 2 == 0, even, odd)
        return i + 1, s + tl.callback(weigh, i, np.array([1.5, 2.5]), returns=tl.int64)

    return tl.while_loop(going, body, 0, 0)[1]


@tl.function
def collected(n: tl.int64) -> tl.Array[tl.int64, None]:
    """A `collect` of cells, one of which is put later if there are more than two."""
    a = tl.put(tl.put(tl.cells(n, tl.int64), 0, 1), 1, 2)
    all_ = tl.collect(a)
    tl.cond(n > 2, lambda: tl.put(a, 2, 5), lambda: a)
    return all_


@tl.function
def failing(n: tl.int64) -> tl.float64:
    """Callbacks that sometimes fail."""
    body = lambda i, s: (i + 1, s + tl.callback(half, i, returns=tl.float64))  # noqa: E731
    return tl.while_loop(lambda i, s: i < 9 * n, body, 0, 0.0)[1]
