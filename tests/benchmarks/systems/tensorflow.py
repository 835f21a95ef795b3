"""TensorFlow, three ways: its token executor in a Session, with Enter, Merge, Switch and NextIteration; `tf.function`;
and `tf.function(jit_compile=True)`, which is XLA.

What the executor fires is counted by the executor: its trace of a run (FULL_TRACE) has a record for each node that
ran, live, and that says how many for each iteration. What it processes dead is not in the trace, and is counted by the
rules: at each iteration but the last, the Exit of the variable whose value is used.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from functools import cache
from typing import Any

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

import numpy as np
import tensorflow as tf
from rows import INNER, OFFSET, REPEATED, SLOPE, A, C, Size, array, cell, dtype_of, factors, links, tree

from systems import Built, Unable, tensorflow_training

v1 = tf.compat.v1
EXITS = 1
"""How many Exits each loop here has that are not pruned: the value of one variable is used when it is over."""


def _while(cond: Any, body: Any, start: Any) -> Any:
    return v1.while_loop(cond, body, start)


def _int(value: int) -> Any:
    return tf.constant(value, tf.int64)


def scalar(n: Any) -> Any:
    return _while(lambda i, x: i < n, lambda i, x: (i + 1, x * (x + A) + C), (_int(0), _int(1)))[1]


def nested(n: Any, m: Any) -> Any:
    def outer(i: Any, x: Any) -> Any:
        return i + 1, _while(lambda j, y: j < m, lambda j, y: (j + 1, y * (y + (A + i)) + C), (_int(0), x))[1]

    return _while(lambda i, x: i < n, outer, (_int(0), _int(1)))[1]


def recurrent(h: Any, w: Any, x: Any, steps: Any) -> Any:
    return _while(lambda t, h: t < steps, lambda t, h: (t + 1, tf.tanh(h @ w + x)), (_int(0), h))[1]


def _text(row: str, n: int) -> Callable[..., Any]:
    def wide(x: Any) -> Any:
        return tree([x * factor for factor in factors(n)], lambda y, z: y + z)

    def chain(x: Any) -> Any:
        for factor, term in links(n):
            x = x * factor + term
        return x

    return wide if row == "wide" else chain


def _arrays(row: str) -> Callable[..., Any]:
    def affine(x: Any, a: Any, b: Any) -> Any:
        for _ in range(REPEATED[row]):
            x = a * x + b
        return tf.reduce_sum(x) if row == "sum" else x

    def exptanh(x: Any) -> Any:
        for _ in range(REPEATED[row]):
            x = tf.tanh(tf.exp(-x))
        return x

    return exptanh if row.startswith("exptanh") else affine


def _parts(row: str, size: Size) -> tuple[Callable[..., Any], list[Any]]:
    """The function of a row, and its arguments as NumPy values."""
    if row == "scalar":
        return scalar, [np.int64(size[0])]
    if row == "nested":
        return nested, [np.int64(size[0]), np.int64(INNER)]
    if row in ("wide", "chain"):
        return _text(row, *size), [np.float64(1.5)]
    if row.startswith("cell"):
        return recurrent, [*cell(int(row[4:])), np.int64(size[0])]
    if row not in REPEATED:
        raise Unable("no recursion")
    scalars = [] if row.startswith("exptanh") else [dtype_of(row)(SLOPE), dtype_of(row)(OFFSET)]
    return _arrays(row), [array(row, *size), *scalars]


@cache
def _staged(row: str, size: Size | None, is_xla: bool) -> Any:
    """A tf.function; `size` counts where it is that of the program."""
    function, _ = _parts(row, size or (1,))
    return tf.function(function, jit_compile=is_xla, autograph=False)


class Session:
    """A graph with control flow of the first version, and what runs it."""

    def __init__(self, row: str, size: Size) -> None:
        function, arguments = _parts(row, size)
        v1.disable_control_flow_v2()
        try:
            with v1.Graph().as_default() as self.graph:
                shapes = [(None,) if each.ndim == 1 else each.shape for each in arguments]
                self.places = [v1.placeholder(each.dtype, shape) for each, shape in zip(arguments, shapes, strict=True)]
                self.out = function(*self.places)
                self.session = v1.Session(graph=self.graph)
        finally:
            v1.enable_control_flow_v2()
        self.call = self.session.make_callable(self.out, self.places)

    def live(self, arguments: list[Any]) -> int:
        """How many nodes run, by the executor's own trace."""
        options, data = v1.RunOptions(trace_level=v1.RunOptions.FULL_TRACE), v1.RunMetadata()
        self.session.run(self.out, dict(zip(self.places, arguments, strict=True)), options=options, run_metadata=data)
        return sum(len(device.node_stats) for device in data.step_stats.dev_stats)


@cache
def _session(row: str, size: Size | None) -> Session:
    return Session(row, size or (1,))


def _counted(session: Session, row: str, size: Size) -> tuple[float, float]:
    """Node executions of a run: of live ones, and of all. Loops are counted at two small sizes, and go on as they
    began."""
    if row not in ("scalar", "nested") and not row.startswith("cell"):
        live = session.live(_parts(row, size)[1])
        return live, live
    few, more = (session.live(_parts(row, (n,))[1]) for n in (10, 60))
    slope = (more - few) / 50
    live = few + slope * (size[0] - 10)
    iterations = size[0] * (INNER + 1) if row == "nested" else size[0]
    return live, live + EXITS * iterations


def _training(system: str, row: str, batch: int) -> Built:
    if system == "tf.function" and row.startswith("tree"):
        raise Unable("no recursion")
    return Built(tensorflow_training.step(row, batch, staged=system == "tf.function"))


def build(system: str, row: str, size: Size) -> Built:
    """A run of any row without recursion, one of three ways."""
    if row in tensorflow_training.LOSSES:
        return _training(system, row, *size)
    _, arguments = _parts(row, size)
    own = size if row in ("wide", "chain") else None
    if system == "TF Session":

        def call() -> Any:
            value = _session(row, own).call(*arguments)
            return value if value.shape else value.item()

        return Built(call, lambda: _counted(_session(row, own), row, size))
    tensors = [tf.constant(each) for each in arguments]

    def run() -> Any:
        value = _staged(row, own, system == "TF XLA")(*tensors).numpy()
        return value if value.shape else value.item()

    return Built(run)
