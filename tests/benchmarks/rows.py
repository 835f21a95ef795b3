"""The rows of the benchmarks, their sizes, and their units. Each system writes its own code for a row.

A row has a ladder of sizes, which every system climbs as far as its time permits. The sizes `shown` are measured
wherever they are reached in a longer time: those of published tables, and those of promises."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any, TypeAlias

import numpy as np

Size: TypeAlias = tuple[int, ...]

A, C = 6364136223846793005, 1442695040888963407
"""Of a quadratic congruential generator, modulo 2**64 with a sign. LLVM closes a linear one: it multiplies by powers of
its factor, and makes hardly any iterations."""
INNER = 100
"""Iterations of the inner of two nested loops."""
BATCH = 32
REPEATED = {"affine": 10, "affine32": 10, "exptanh": 3, "exptanh32": 3, "sum": 1}
"""How often the links of a chain over arrays are repeated."""
SLOPE, OFFSET = 0.999, 0.001


@dataclass(frozen=True, slots=True)
class Row:
    """A row; `units(*size)` is the number of units in a run of this size."""

    name: str
    group: str
    title: str
    unit: str
    ladder: tuple[Size, ...]
    units: Callable[..., int]
    shown: tuple[Size, ...] = ()
    needs: tuple[str, ...] = ()
    """The ops that tagloom must have for it."""
    is_text: bool = False
    """Whether the size is that of the program, so that each size is compiled by itself."""
    is_quick: bool = True


def _powers(low: int, high: int) -> tuple[Size, ...]:
    return tuple((10**power,) for power in range(low, high + 1))


def _itself(n: int) -> int:
    return n


@cache
def calls_of_fib(n: int) -> int:
    """The number of calls in fib(n), itself included."""
    return 1 if n <= 1 else 1 + calls_of_fib(n - 1) + calls_of_fib(n - 2)


_ACK = {(2, 3): 44, (2, 10): 275, (3, 3): 2432, (3, 4): 10_307, (3, 5): 42_438, (3, 6): 172_233, (3, 8): 2_785_999}
_TAK = {(8, 4, 2): 137, (12, 8, 4): 1733, (14, 9, 4): 10_345, (18, 12, 6): 63_609}
_TAK |= {(24, 16, 8): 2_493_349, (27, 17, 8): 24_802_269}
_PRIMES = {(50,): 185, (200,): 1180, (1000,): 11_480, (3000,): 55_926, (7500,): 214_901, (10000,): 327_710}

THESIS: dict[tuple[str, Size], tuple[float, float]] = {
    ("fib", (24,)): (0.812, 0.991),
    ("fib", (30,)): (13.968, 17.801),
    ("fib", (33,)): (61.287, 75.646),
    ("ack", (3, 3)): (0.0885, 0.1177),
    ("ack", (3, 6)): (6.165, 8.322),
    ("ack", (3, 8)): (100.88, 128.96),
    ("tak", (24, 16, 8)): (18.881, 16.075),
    ("tak", (27, 17, 8)): (188.51, 159.78),
    ("primes", (7500,)): (13.502, 13.458),
    ("primes", (10000,)): (20.636, 20.378),
}
"""Seconds of the thesis of arXiv 2410.20225 on a machine of 2018: static graphs, and TensorFlow's function op."""


def _of_thesis(name: str) -> tuple[Size, ...]:
    return tuple(size for program, size in THESIS if program == name)


def _recursive(name: str, title: str, calls: dict[Size, int], shown: tuple[Size, ...] = ()) -> Row:
    # Counted beforehand, so that a unit is known before a run.
    return Row(name, "recursion", title, "call", tuple(calls), lambda *size: calls[size], _of_thesis(name) + shown)


_FIB = {(n,): calls_of_fib(n) for n in (10, 15, 20, 24, 28, 30, 32, 33)}
_ARRAYS = _powers(3, 7)


def _arrays(name: str, title: str, needs: tuple[str, ...] = (), is_quick: bool = True) -> Row:
    return Row(name, "arrays", title, "element", _ARRAYS, _itself, _ARRAYS, needs, is_quick=is_quick)


def _text(name: str, title: str) -> Row:
    return Row(name, "text", title, "op", ((200,), (2000,), (20000,)), _itself, is_text=True)


def _cell(hidden: int) -> Row:
    title = f"recurrent cell h = tanh(h @ w + x), float32, batch {BATCH}, hidden {hidden}"
    return Row(
        f"cell{hidden}", "cells", title, "step", _powers(0, 4), _itself, needs=("matmul",), is_quick=hidden == 64
    )


def _training(name: str, title: str, batches: tuple[int, ...], needs: tuple[str, ...] = ()) -> Row:
    sizes = tuple((batch,) for batch in batches)
    return Row(name, "training", title, "example", sizes, _itself, sizes, needs, is_quick=False)


ROWS = {
    row.name: row
    for row in (
        Row("scalar", "loops", "while loop x = x * (x + a) + c, int64", "iteration", _powers(2, 8), _itself),
        Row(
            "nested",
            "loops",
            f"the same with a + i for a in an inner loop of {INNER} iterations",
            "inner iteration",
            tuple((10**power,) for power in range(7)),
            lambda n: n * INNER,
        ),
        _recursive("fib", "fib(n), two calls in a body", _FIB, ((28,), (32,))),
        _recursive("ack", "Ackermann's function", _ACK),
        _recursive("tak", "Takeuchi's function", _TAK),
        _recursive("primes", "the thesis's search for primes, four functions", _PRIMES),
        _text("wide", "independent products of one float64, and the tree of their sums"),
        _text("chain", "a chain x * c + d of float64 scalars"),
        _cell(64),
        _cell(256),
        _arrays("affine", "a * x + b, 10 times, float64"),
        _arrays("affine32", "a * x + b, 10 times, float32", is_quick=False),
        _arrays("exptanh", "tanh(exp(-x)), 3 times, float64"),
        _arrays("exptanh32", "tanh(exp(-x)), 3 times, float32", is_quick=False),
        _arrays("sum", "the sum of a * x + b, float64", ("sum",)),
        _training("softmax", "softmax regression, 784 pixels, 10 classes, by batch", (10, 200)),
        _training("mlp", "perceptron 784-256-10, by batch", (100,)),
        _training("lstm", "LSTM of 64 units over 64 steps, by batch", (32,)),
        _training("treernn", "TreeRNN of 64 units, embeddings of 35, trees of 20 leaves, by batch", (1, 5)),
        _training("treelstm", "TreeLSTM of 64 units, embeddings of 35, trees of 20 leaves, by batch", (1, 5)),
        _training("l2hmc", "L2HMC in 2 dimensions, 10 leapfrog steps, float64, by samples", (10, 200)),
    )
}


def dtype_of(name: str) -> Any:
    """The dtype of a row of the group arrays."""
    return np.float32 if name.endswith("32") or name.startswith("cell") else np.float64


def array(name: str, n: int) -> Any:
    """The argument of a row with n elements."""
    return np.linspace(0.1, 1.0, n, dtype=dtype_of(name))


def cell(hidden: int) -> tuple[Any, Any, Any]:
    """State, weights and input of a recurrent cell; the weights are small, so that rounding errors do not grow."""
    draw = np.random.default_rng(7)
    weights = (draw.standard_normal((hidden, hidden)) * 0.5 / np.sqrt(hidden)).astype(np.float32)
    return np.zeros((BATCH, hidden), np.float32), weights, draw.standard_normal((BATCH, hidden)).astype(np.float32)


def factors(n: int) -> list[float]:
    """The factors of the n // 2 products of `wide`: all different, so that no products are shared."""
    return [1.0 / (k + 1) for k in range(n // 2)]


def links(n: int) -> list[tuple[float, float]]:
    """The links of `chain`: a factor and a term, n // 2 times."""
    return [(1.0 / (2 + k % 5), float(k % 7)) for k in range(n // 2)]


def tree(values: list[Any], add: Callable[[Any, Any], Any]) -> Any:
    """The sum of values, added up as a tree: the same in every system, bit for bit."""
    while len(values) > 1:
        odd = values[-1:] if len(values) % 2 else []
        values = [add(x, y) for x, y in zip(values[::2], values[1::2], strict=False)] + odd
    return values[0]
