"""Parameters and examples for the rows of training, the same for every system; float32, except float64 in the last
row."""

from __future__ import annotations

from functools import cache
from typing import Any, NamedTuple

import numpy as np

RATE = 0.1
CLASSES, PIXELS, HIDDEN = 10, 784, 256
STEPS, UNITS, SEQUENCES = 64, 64, 32
EMBEDDING, WORDS, KINDS = 35, 200, 5
LEAPS, WIDTH, SCALE = 10, 10, 0.1
PRECISION = np.linalg.inv([[50.05, -49.95], [-49.95, 50.05]])
"""Of L2HMC: how many steps, the width of its networks, the scale of its loss, and what its samples are of."""


def _draw(seed: int) -> Any:
    return np.random.default_rng(seed)


def _weights(draw: Any, *shape: int) -> Any:
    return (draw.standard_normal(shape) / np.sqrt(shape[0])).astype(np.float32)


def _zeros(*shape: int) -> Any:
    return np.zeros(shape, np.float32)


def _labelled(draw: Any, count: int, kinds: int) -> Any:
    return np.eye(kinds, dtype=np.float32)[draw.integers(0, kinds, count)]


@cache
def softmax(batch: int) -> tuple[list[Any], tuple[Any, ...]]:
    """Softmax regression: w, b; images, labels."""
    draw = _draw(1)
    examples = draw.standard_normal((batch, PIXELS)).astype(np.float32), _labelled(draw, batch, CLASSES)
    return [_weights(draw, PIXELS, CLASSES), _zeros(CLASSES)], examples


@cache
def mlp(batch: int) -> tuple[list[Any], tuple[Any, ...]]:
    """A perceptron of two layers: w1, b1, w2, b2; images, labels."""
    draw = _draw(2)
    examples = draw.standard_normal((batch, PIXELS)).astype(np.float32), _labelled(draw, batch, CLASSES)
    parameters = [_weights(draw, PIXELS, HIDDEN), _zeros(HIDDEN), _weights(draw, HIDDEN, CLASSES), _zeros(CLASSES)]
    return parameters, examples


@cache
def lstm(batch: int) -> tuple[list[Any], tuple[Any, ...]]:
    """An LSTM and a softmax of its last state: w, u, b, v, a; sequences (steps first), labels."""
    draw = _draw(3)
    examples = draw.standard_normal((STEPS, batch, UNITS)).astype(np.float32), _labelled(draw, batch, CLASSES)
    parameters = [_weights(draw, UNITS, 4 * UNITS), _weights(draw, UNITS, 4 * UNITS), _zeros(4 * UNITS)]
    return [*parameters, _weights(draw, UNITS, CLASSES), _zeros(CLASSES)], examples


class Forest(NamedTuple):
    """Binary trees: of each node its children, -1 for those of leaves, and its word; the roots, and their labels."""

    left: Any
    right: Any
    word: Any
    roots: Any
    labels: Any


def _forest(batch: int) -> Forest:
    draw = _draw(4)
    left, right, word = list[int](), list[int](), list[int]()

    def grown(leaves: int) -> int:
        if leaves == 1:
            children = -1, -1
        else:
            cut = int(draw.integers(1, leaves))
            children = grown(cut), grown(leaves - cut)
        for nodes, value in zip((left, right, word), (*children, int(draw.integers(WORDS))), strict=True):
            nodes.append(value)
        return len(left) - 1

    roots = [grown(20) for _ in range(batch)]
    return Forest(*map(np.array, (left, right, word, roots)), _labelled(draw, batch, KINDS))


def _tree(batch: int, gates: int, leaf: int) -> tuple[list[Any], Forest]:
    draw = _draw(5)
    parameters = [_weights(draw, WORDS, EMBEDDING), _weights(draw, EMBEDDING, leaf * UNITS), _zeros(leaf * UNITS)]
    parameters += [_weights(draw, 2 * UNITS, gates * UNITS), _zeros(gates * UNITS)]
    return [*parameters, _weights(draw, UNITS, KINDS), _zeros(KINDS)], _forest(batch)


@cache
def treernn(batch: int) -> tuple[list[Any], Forest]:
    """h = tanh(leaf) or tanh([left, right] w + b), and a softmax of the root: e, wl, bl, w, b, v, a; a forest."""
    return _tree(batch, 1, 1)


@cache
def treelstm(batch: int) -> tuple[list[Any], Forest]:
    """A binary TreeLSTM (Tai, Socher, Manning, 2015), and a softmax of the root: e, wl, bl, w, b, v, a; a forest."""
    return _tree(batch, 5, 3)


def _net(draw: Any) -> list[Any]:
    shapes = (2, WIDTH), (2, WIDTH), (2, WIDTH), (WIDTH, WIDTH)
    weights = [draw.standard_normal(shape) / np.sqrt(shape[0]) for shape in shapes]
    return [*weights, 0.1 * draw.standard_normal((WIDTH, 6)) / np.sqrt(WIDTH), np.zeros(4)]


@cache
def l2hmc(count: int) -> tuple[list[Any], tuple[Any, ...]]:
    """L2HMC: a, b, time, inner, out, gain of the network of momenta and of that of positions, and the logarithm of the
    step; positions, momenta, and numbers from 0 to 1 that decide which samples go forwards. They are drawn beforehand,
    so that all systems have the same."""
    draw = _draw(6)
    examples = draw.standard_normal((count, 2)), draw.standard_normal((count, 2)), draw.uniform(size=(count, 1))
    return [*_net(draw), *_net(draw), np.asarray(np.log(0.1))], examples
