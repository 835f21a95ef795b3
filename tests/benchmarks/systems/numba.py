"""numba, written by hand: what machine code of these programs can be."""

from __future__ import annotations

import math
import threading
from collections.abc import Callable
from functools import cache
from typing import Any

import numba
import numpy as np
from rows import INNER, OFFSET, REPEATED, SLOPE, A, C, Size, array, cell, dtype_of

from systems import Built, plain

_INT = numba.int64


@numba.njit(_INT(_INT))
def scalar(n: int) -> int:
    i, x = 0, 1
    while i < n:
        x = x * (x + A) + C
        i += 1
    return x


@numba.njit(_INT(_INT))
def nested(n: int) -> int:
    i, x = 0, 1
    while i < n:
        j = 0
        while j < INNER:
            x = x * (x + (A + i)) + C
            j += 1
        i += 1
    return x


@numba.njit(_INT(_INT))
def fib(n: int) -> int:
    return 1 if n <= 1 else fib(n - 1) + fib(n - 2)


@numba.njit(_INT(_INT, _INT))
def ack(m: int, n: int) -> int:
    if m == 0:
        return n + 1
    return ack(m - 1, 1) if n == 0 else ack(m - 1, ack(m, n - 1))


@numba.njit(_INT(_INT, _INT, _INT))
def tak(x: int, y: int, z: int) -> int:
    return tak(tak(x - 1, y, z), tak(y - 1, z, x), tak(z - 1, x, y)) if y < x else z


@numba.njit(numba.boolean(_INT, _INT))
def test(number: int, i: int) -> bool:
    divisor = 6 * i - 1
    if divisor * divisor > number:
        return True
    return False if number % divisor == 0 else test(number, i + 1)


@numba.njit(_INT(_INT, _INT))
def first(skip: int, i: int) -> int:
    """The two functions that call each other are one with a turn: numba types no recursion between two."""
    candidate = 6 * (i // 2) - 1
    if test(candidate, 1):
        return candidate if skip == 0 else first(skip - 1, i + 1)
    return first(skip, i + 1)


@numba.njit(_INT(_INT))
def primes(n: int) -> int:
    if n <= 0:
        return 2
    return 3 if n == 1 else first(n - 2, 2)


@numba.njit(_INT(_INT))
def halves(n: int) -> int:
    """Calls that no compiler turns into a loop."""
    return 0 if n == 0 else n + halves(n - 1) // 2


_SCALAR = {"scalar": scalar, "nested": nested, "fib": fib, "ack": ack, "tak": tak, "primes": primes, "halves": halves}


@cache
def affine(times: int) -> Any:
    """Written out, as one would: a loop in the loop keeps LLVM from vectors."""
    lines = ["def affine(x, a, b):", "    out = np.empty_like(x)", "    for at in range(x.size):", "        y = x[at]"]
    lines += ["        y = a * y + b"] * times + ["        out[at] = y", "    return out"]
    results: dict[str, Any] = {"np": np}
    exec("\n".join(lines), results)
    return numba.njit(results["affine"])


@numba.njit
def exptanh(x: Any, times: int) -> Any:
    out = np.empty_like(x)
    for at in range(x.size):
        y = x[at]
        for _ in range(times):
            y = math.tanh(math.exp(-y))
        out[at] = y
    return out


@numba.njit(fastmath={"reassoc"})
def total(x: Any, a: Any, b: Any) -> Any:
    s = 0.0
    for at in range(x.size):
        s += a * x[at] + b
    return s


@numba.njit
def recurrent(h: Any, w: Any, x: Any, steps: int) -> Any:
    for _ in range(steps):
        h = np.tanh(h @ w + x)
    return h


def deep(run: Callable[[], Any]) -> Any:
    """What `run` gives, on a stack of 1 GiB."""
    results: list[Any] = []
    before = threading.stack_size(2**30)
    try:
        thread = threading.Thread(target=lambda: results.append(run()))
        thread.start()
    finally:
        threading.stack_size(before)
    thread.join()
    return results[0]


def build(system: str, row: str, size: Size) -> Built:
    """A run of any row."""
    if row in ("ack", "primes", "halves"):
        return Built(lambda: deep(lambda: _SCALAR[row](*size)))
    if row in _SCALAR:
        return Built(lambda: _SCALAR[row](*size))
    if row in ("wide", "chain"):
        results: dict[str, Any] = {}
        exec(plain.text(row, *size), results)
        compiled = numba.njit(results["f"])
        return Built(lambda: compiled(1.5))
    if row.startswith("cell"):
        arguments = cell(int(row[4:]))
        return Built(lambda: recurrent(*arguments, *size))
    x, times = array(row, *size), REPEATED[row]
    if row.startswith("exptanh"):
        return Built(lambda: exptanh(x, times))
    a, b = dtype_of(row)(SLOPE), dtype_of(row)(OFFSET)
    if row == "sum":
        return Built(lambda: total(x, a, b))
    return Built(lambda: affine(times)(x, a, b))
