"""CPython, and NumPy where a row is over arrays: what every other system's value is compared with."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
from rows import INNER, OFFSET, REPEATED, SLOPE, A, C, Size, array, cell, dtype_of, factors, links, tree

from systems import Built

_MASK = 2**64 - 1


def _signed(x: int) -> int:
    return x - 2**64 if x >> 63 else x


def scalar(n: int) -> int:
    i, x = 0, 1
    while i < n:
        x = x * (x + A) + C & _MASK
        i += 1
    return _signed(x)


def nested(n: int) -> int:
    i, x = 0, 1
    while i < n:
        j = 0
        while j < INNER:
            x = x * (x + (A + i)) + C & _MASK
            j += 1
        i += 1
    return _signed(x)


def fib(n: int) -> int:
    return 1 if n <= 1 else fib(n - 1) + fib(n - 2)


def ack(m: int, n: int) -> int:
    if m == 0:
        return n + 1
    return ack(m - 1, 1) if n == 0 else ack(m - 1, ack(m, n - 1))


def tak(x: int, y: int, z: int) -> int:
    return tak(tak(x - 1, y, z), tak(y - 1, z, x), tak(z - 1, x, y)) if y < x else z


def test(number: int, i: int) -> bool:
    divisor = 6 * i - 1
    if divisor * divisor > number:
        return True
    return False if number % divisor == 0 else test(number, i + 1)


def first(skip: int, i: int) -> int:
    candidate = 6 * i - 1
    if test(candidate, 1):
        return candidate if skip == 0 else second(skip - 1, i)
    return second(skip, i)


def second(skip: int, i: int) -> int:
    candidate = 6 * i - 1
    if test(candidate, 1):
        return candidate if skip == 0 else first(skip - 1, i + 1)
    return first(skip, i + 1)


def primes(n: int) -> int:
    if n <= 0:
        return 2
    return 3 if n == 1 else first(n - 2, 1)


def halves(n: int) -> int:
    """Calls that no compiler turns into a loop."""
    return 0 if n == 0 else n + halves(n - 1) // 2


SCALAR = {"scalar": scalar, "nested": nested, "fib": fib, "ack": ack, "tak": tak, "primes": primes, "halves": halves}


def text(name: str, n: int) -> str:
    """Straight-line Python of n ops, as a function `f(x)`."""
    if name == "chain":
        lines = [f"x = x * {factor!r} + {term!r}" for factor, term in links(n)]
        return "\n    ".join(["def f(x):", *lines, "return x"])
    lines = [f"y{k} = x * {factor!r}" for k, factor in enumerate(factors(n))]
    names = iter(range(n))

    def add(left: str, right: str) -> str:
        name = f"z{next(names)}"
        lines.append(f"{name} = {left} + {right}")
        return name

    total = tree([f"y{k}" for k in range(n // 2)], add)
    return "\n    ".join(["def f(x):", *lines, f"return {total}"])


def _affine(name: str, x: Any) -> Any:
    a, b = dtype_of(name)(SLOPE), dtype_of(name)(OFFSET)
    for _ in range(REPEATED[name]):
        x = a * x + b
    return x


def _exptanh(name: str, x: Any) -> Any:
    for _ in range(REPEATED[name]):
        x = np.tanh(np.exp(-x))
    return x


def _cell(hidden: int, steps: int) -> Any:
    h, w, x = cell(hidden)
    for _ in range(steps):
        h = np.tanh(h @ w + x)
    return h


def build(system: str, row: str, size: Size) -> Built:
    """A run of any row."""
    sys.setrecursionlimit(10**6)
    if row in SCALAR:
        return Built(lambda: SCALAR[row](*size))
    if row in ("wide", "chain"):
        results: dict[str, Any] = {}
        exec(text(row, *size), results)
        return Built(lambda: results["f"](1.5))
    if row.startswith("cell"):
        return Built(lambda: _cell(int(row[4:]), *size))
    x = array(row, *size)
    if row == "sum":
        return Built(lambda: float(_affine(row, x).sum()))
    body = _affine if row.startswith("affine") else _exptanh
    return Built(lambda: body(row, x))
