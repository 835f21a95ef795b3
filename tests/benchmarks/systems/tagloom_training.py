"""Training steps as tagloom's programs: values, gradients and updates are one program."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
import tagloom as tl
import training_data as data

UNITS = data.UNITS


def sigmoid(x: Any) -> Any:
    return 1.0 / (1.0 + tl.exp(-x))


def cross_entropy(logits: Any, labels: Any) -> Any:
    """The mean over examples, or that of one."""
    shifted = logits - tl.max(logits, axis=-1, keepdims=True)
    chosen = tl.sum(shifted * labels, axis=-1)
    return tl.mean(tl.log(tl.sum(tl.exp(shifted), axis=-1)) - chosen)


def softmax(w: Any, b: Any, x: Any, y: Any) -> Any:
    return cross_entropy(x @ w + b, y)


def mlp(w1: Any, b1: Any, w2: Any, b2: Any, x: Any, y: Any) -> Any:
    return cross_entropy(tl.maximum(x @ w1 + b1, 0.0) @ w2 + b2, y)


def _gated(gates: Any, forgotten: Any) -> tuple[Any, Any]:
    """The state and output of a cell: of gates i, o, z, and what of earlier states is not forgotten."""
    i, o, z = gates
    c = sigmoid(i) * tl.tanh(z) + forgotten
    return c, sigmoid(o) * tl.tanh(c)


def lstm(w: Any, u: Any, b: Any, v: Any, a: Any, xs: Any, y: Any) -> Any:
    zeros = tl.zeros((y.shape[0], UNITS), dtype=tl.float32)

    def step(t: Any, h: Any, c: Any) -> Any:
        g = tl.take(xs, t, axis=0) @ w + h @ u + b
        i, f, o, z = (g[:, at * UNITS : (at + 1) * UNITS] for at in range(4))
        c, h = _gated((i, o, z), sigmoid(f) * c)
        return t + 1, h, c

    _, h, _ = tl.while_loop(lambda t, *_: t < data.STEPS, step, 0, zeros, zeros)
    return cross_entropy(h @ v + a, y)


@tl.function
def rnn_node(node: tl.int64, e, wl, bl, w, b, left, right, word):  # type: ignore[no-untyped-def]
    leaf = lambda: tl.tanh(tl.take(e, tl.take(word, node), axis=0) @ wl + bl)  # noqa: E731

    def inner() -> Any:
        children = [rnn_node(tl.take(side, node), e, wl, bl, w, b, left, right, word) for side in (left, right)]
        return tl.tanh(tl.concat(children) @ w + b)

    return tl.cond(tl.take(left, node) < 0, leaf, inner)


@tl.function
def lstm_node(node: tl.int64, e, wl, bl, w, b, left, right, word):  # type: ignore[no-untyped-def]
    def leaf() -> Any:
        g = tl.take(e, tl.take(word, node), axis=0) @ wl + bl
        return _gated([g[at * UNITS : (at + 1) * UNITS] for at in range(3)], 0.0)

    def inner() -> Any:
        (c1, h1), (c2, h2) = (
            lstm_node(tl.take(side, node), e, wl, bl, w, b, left, right, word) for side in (left, right)
        )
        g = tl.concat([h1, h2]) @ w + b
        i, o, z, f1, f2 = (g[at * UNITS : (at + 1) * UNITS] for at in range(5))
        return _gated((i, o, z), sigmoid(f1) * c1 + sigmoid(f2) * c2)

    return tl.cond(tl.take(left, node) < 0, leaf, inner)


def _of_trees(state: Callable[..., Any]) -> Callable[..., Any]:
    def loss(e, wl, bl, w, b, v, a, left, right, word, roots, labels):  # type: ignore[no-untyped-def]
        def step(at: Any, total: Any) -> Any:
            h = state(tl.take(roots, at), e, wl, bl, w, b, left, right, word)
            return at + 1, total + cross_entropy(h @ v + a, tl.take(labels, at, axis=0))

        count = roots.shape[0]
        return tl.while_loop(lambda at, _: at < count, step, 0, np.float32(0.0))[1] / np.float32(count)

    return loss


LOSSES: dict[str, Callable[..., Any]] = {
    "softmax": softmax,
    "mlp": mlp,
    "lstm": lstm,
    "treernn": _of_trees(rnn_node),
    "treelstm": _of_trees(lambda *operands: lstm_node(*operands)[1]),
}


@cache
def step(row: str) -> tl.Function:
    """The function from parameters and examples to the loss and the new parameters."""
    count = len(getattr(data, row)(1)[0])
    rate = np.float32(data.RATE)

    def stepped(*operands: Any) -> Any:
        loss, slopes = tl.value_and_grad(LOSSES[row], argnums=tuple(range(count)))(*operands)
        return loss, tuple(x - rate * slope for x, slope in zip(operands[:count], slopes, strict=True))

    names = ", ".join(f"x{at}" for at in range(count + len(getattr(data, row)(1)[1])))
    made: tl.Function = tl.function(eval(f"lambda {names}: stepped({names})", {"stepped": stepped}))
    return made


def arguments(row: str, batch: int) -> tuple[Any, ...]:
    parameters, examples = getattr(data, row)(batch)
    return (*parameters, *examples)
