"""Training steps in tagloom: values, gradients and updates as one program, and the same op by op, under a tape."""

from __future__ import annotations

import importlib.util
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import tagloom as tl
import training_data as data

UNITS = data.UNITS
_PAPER = Path(__file__).resolve().parents[3] / "papers_examples" / "eager" / "l2hmc.py"


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


def _rnn_node(again, node, e, wl, bl, w, b, left, right, word):  # type: ignore[no-untyped-def]
    leaf = lambda: tl.tanh(tl.take(e, tl.take(word, node), axis=0) @ wl + bl)  # noqa: E731

    def inner() -> Any:
        children = [again(tl.take(side, node), e, wl, bl, w, b, left, right, word) for side in (left, right)]
        return tl.tanh(tl.concat(children) @ w + b)

    return tl.cond(tl.take(left, node) < 0, leaf, inner)


def _lstm_node(again, node, e, wl, bl, w, b, left, right, word):  # type: ignore[no-untyped-def]
    def leaf() -> Any:
        g = tl.take(e, tl.take(word, node), axis=0) @ wl + bl
        return _gated([g[at * UNITS : (at + 1) * UNITS] for at in range(3)], 0.0)

    def inner() -> Any:
        (c1, h1), (c2, h2) = (again(tl.take(side, node), e, wl, bl, w, b, left, right, word) for side in (left, right))
        g = tl.concat([h1, h2]) @ w + b
        i, o, z, f1, f2 = (g[at * UNITS : (at + 1) * UNITS] for at in range(5))
        return _gated((i, o, z), sigmoid(f1) * c1 + sigmoid(f2) * c2)

    return tl.cond(tl.take(left, node) < 0, leaf, inner)


@tl.function
def rnn_node(node: tl.int64, e, wl, bl, w, b, left, right, word):  # type: ignore[no-untyped-def]
    return _rnn_node(rnn_node, node, e, wl, bl, w, b, left, right, word)


@tl.function
def lstm_node(node: tl.int64, e, wl, bl, w, b, left, right, word):  # type: ignore[no-untyped-def]
    return _lstm_node(lstm_node, node, e, wl, bl, w, b, left, right, word)


def _python(node: Callable[..., Any]) -> Callable[..., Any]:
    """A node of a tree as a function of Python's."""

    def call(*operands: Any) -> Any:
        return node(call, *operands)

    return call


def _of_trees(state: Callable[..., Any]) -> Callable[..., Any]:
    def loss(e, wl, bl, w, b, v, a, left, right, word, roots, labels):  # type: ignore[no-untyped-def]
        def step(at: Any, total: Any) -> Any:
            h = state(tl.take(roots, at), e, wl, bl, w, b, left, right, word)
            return at + 1, total + cross_entropy(h @ v + a, tl.take(labels, at, axis=0))

        count = roots.shape[0]
        return tl.while_loop(lambda at, _: at < count, step, 0, np.float32(0.0))[1] / np.float32(count)

    return loss


class Drawn(NamedTuple):
    """What stands for a generator: numbers that were drawn beforehand."""

    momenta: Any
    coin: Any

    def normal(self, shape: Any) -> Any:
        return self.momenta

    def uniform(self, shape: Any) -> Any:
        return tl.reshape(self.coin, shape)


@cache
def _paper() -> Any:
    spec = importlib.util.spec_from_file_location("l2hmc", _PAPER)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def l2hmc(*operands: Any) -> Any:
    """The sampler of papers_examples/eager, with weights that are given."""
    paper, (x, v, coin) = _paper(), operands[13:]
    sampler, nets = object.__new__(paper.Sampler), [object.__new__(paper.Net) for _ in range(2)]
    for net, weights in zip(nets, (operands[:6], operands[6:12]), strict=True):
        net.a, net.b, net.time, net.inner, net.out, net.gain = weights
    (sampler.momentum_net, sampler.position_net), sampler.log_step, sampler.random = nets, operands[12], Drawn(v, coin)
    there, chance, _ = sampler.step(x)
    return paper.objective(x, there, chance)


LOSSES: dict[str, Callable[..., Any]] = {
    "softmax": softmax,
    "mlp": mlp,
    "lstm": lstm,
    "treernn": _of_trees(rnn_node),
    "treelstm": _of_trees(lambda *operands: lstm_node(*operands)[1]),
    "l2hmc": l2hmc,
}
EAGER: dict[str, Callable[..., Any]] = {
    **LOSSES,
    "treernn": _of_trees(_python(_rnn_node)),
    "treelstm": _of_trees(lambda *operands: _python(_lstm_node)(*operands)[1]),
}
"""The same without functions of ours: those would run as graphs."""


def descended(parameters: Any, slopes: Any) -> Any:
    """The new parameters."""
    return tuple(x - data.RATE * slope for x, slope in zip(parameters, slopes, strict=True))


def eager(row: str, batch: int) -> Callable[[], Any]:
    """A run from parameters and examples to the loss and the new parameters, op by op."""
    parameters, examples = (tuple(map(tl.asarray, each)) for each in getattr(data, row)(batch))

    def run() -> Any:
        with tl.Tape() as tape:
            tape.watch(parameters)
            loss = EAGER[row](*parameters, *examples)
        return loss, *descended(parameters, tape.gradient(loss, parameters))

    return run


def _with(names: str, function: Callable[..., Any]) -> Callable[..., Any]:
    """A function of any operands as one of parameters with names, which a program has."""
    result: Callable[..., Any] = eval(f"lambda {names}: function({names})", {"function": function})
    return result


@cache
def step(row: str) -> tl.Function:
    """The function from parameters and examples to the loss and the new parameters."""
    parameters, examples = getattr(data, row)(1)
    count = len(parameters)
    names = ", ".join(f"x{at}" for at in range(count + len(examples)))

    def stepped(*operands: Any) -> Any:
        loss, slopes = tl.value_and_grad(_with(names, LOSSES[row]), argnums=tuple(range(count)))(*operands)
        return loss, descended(operands[:count], slopes)

    return tl.function(_with(names, stepped))


def arguments(row: str, batch: int) -> tuple[Any, ...]:
    parameters, examples = getattr(data, row)(batch)
    return (*parameters, *examples)
