"""Training steps in TensorFlow: eager, and the same under `tf.function`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import tensorflow as tf
import training_data as data
from leapfrog import Library
from leapfrog import loss as leapfrog

UNITS = data.UNITS


def cross_entropy(logits: Any, labels: Any) -> Any:
    return tf.reduce_mean(tf.nn.softmax_cross_entropy_with_logits(labels, logits))


def softmax(w: Any, b: Any, x: Any, y: Any) -> Any:
    return cross_entropy(x @ w + b, y)


def mlp(w1: Any, b1: Any, w2: Any, b2: Any, x: Any, y: Any) -> Any:
    return cross_entropy(tf.nn.relu(x @ w1 + b1) @ w2 + b2, y)


def _gated(i: Any, o: Any, z: Any, forgotten: Any) -> tuple[Any, Any]:
    c = tf.sigmoid(i) * tf.tanh(z) + forgotten
    return c, tf.sigmoid(o) * tf.tanh(c)


def lstm(w: Any, u: Any, b: Any, v: Any, a: Any, xs: Any, y: Any) -> Any:
    h = c = tf.zeros((y.shape[0], UNITS))

    def step(t: Any, h: Any, c: Any) -> Any:
        i, f, o, z = tf.split(xs[t] @ w + h @ u + b, 4, axis=1)
        c, h = _gated(i, o, z, tf.sigmoid(f) * c)
        return t + 1, h, c

    if tf.executing_eagerly():
        for t in range(data.STEPS):
            _, h, c = step(t, h, c)
    else:
        _, h, c = tf.while_loop(lambda t, *_: t < data.STEPS, step, (0, h, c))
    return cross_entropy(h @ v + a, y)


def _of_trees(state: Callable[..., Any]) -> Callable[..., Any]:
    def loss(e: Any, wl: Any, bl: Any, w: Any, b: Any, v: Any, a: Any, *forest: Any) -> Any:
        left, right, word, roots, labels = forest

        def node(at: int) -> Any:
            if left[at] < 0:
                return state(e[word[at]][None] @ wl + bl, None, None)
            one, other = node(left[at]), node(right[at])
            return state(tf.concat([one[-1], other[-1]], 1) @ w + b, one, other)

        losses = [cross_entropy(node(root)[-1] @ v + a, label[None]) for root, label in zip(roots, labels, strict=True)]
        return tf.reduce_mean(tf.stack(losses))

    return loss


def _rnn(g: Any, one: Any, other: Any) -> Any:
    return (tf.tanh(g),)


def _lstm(g: Any, one: Any, other: Any) -> Any:
    if one is None:
        return _gated(*tf.split(g, 3, 1), 0.0)
    i, o, z, f1, f2 = tf.split(g, 5, 1)
    return _gated(i, o, z, tf.sigmoid(f1) * one[0] + tf.sigmoid(f2) * other[0])


def _leaps(body: Callable[..., Any], state: Any) -> Any:
    if tf.executing_eagerly():
        for k in range(data.LEAPS):
            state = body(k, *state)
        return state
    return tf.while_loop(lambda k, *_: k < data.LEAPS, lambda k, *state: (k + 1, *body(k, *state)), (0, *state))[1:]


LIBRARY = Library(
    exp=tf.exp,
    tanh=tf.tanh,
    sin=tf.sin,
    cos=tf.cos,
    relu=tf.nn.relu,
    where=tf.where,
    number=lambda x: tf.cast(x, tf.float64),
    totals=lambda x: tf.reduce_sum(x, 1),
    mean=tf.reduce_mean,
    joined=lambda parts: tf.concat(parts, 1),
    loop=_leaps,
)


def l2hmc(*operands: Any) -> Any:
    return leapfrog(LIBRARY, data.PRECISION, operands[:13], *operands[13:])


LOSSES = {"softmax": softmax, "mlp": mlp, "lstm": lstm, "treernn": _of_trees(_rnn), "treelstm": _of_trees(_lstm)}
LOSSES |= {"l2hmc": l2hmc}


def step(row: str, batch: int, *, staged: bool) -> Callable[[], Any]:
    """A run from parameters and examples to the loss and the new parameters."""
    given, examples = getattr(data, row)(batch)
    parameters = list(map(tf.constant, given))
    if row.startswith("tree"):
        operands: list[Any] = [each.tolist() for each in examples[:4]] + [tf.constant(examples[4])]
    else:
        operands = list(map(tf.constant, examples))

    def stepped(*parameters: Any) -> Any:
        with tf.GradientTape() as tape:
            for each in parameters:
                tape.watch(each)
            loss = LOSSES[row](*parameters, *operands)
        slopes = map(tf.convert_to_tensor, tape.gradient(loss, parameters))
        return (loss, *(x - data.RATE * slope for x, slope in zip(parameters, slopes, strict=True)))

    result = tf.function(stepped) if staged else stepped
    return lambda: [each.numpy() for each in result(*parameters)]
