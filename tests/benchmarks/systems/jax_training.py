"""Training steps in JAX: `jit` of `value_and_grad`, and `lax.scan`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import training_data as data
from jax import lax
from leapfrog import Library
from leapfrog import loss as leapfrog

UNITS = data.UNITS


def cross_entropy(logits: Any, labels: Any) -> Any:
    return -jnp.mean(jnp.sum(jax.nn.log_softmax(logits) * labels, axis=-1))


def softmax(w: Any, b: Any, x: Any, y: Any) -> Any:
    return cross_entropy(x @ w + b, y)


def mlp(w1: Any, b1: Any, w2: Any, b2: Any, x: Any, y: Any) -> Any:
    return cross_entropy(jax.nn.relu(x @ w1 + b1) @ w2 + b2, y)


def lstm(w: Any, u: Any, b: Any, v: Any, a: Any, xs: Any, y: Any) -> Any:
    def step(state: Any, x: Any) -> Any:
        h, c = state
        i, f, o, z = jnp.split(x @ w + h @ u + b, 4, axis=1)
        c = jax.nn.sigmoid(i) * jnp.tanh(z) + jax.nn.sigmoid(f) * c
        return (jax.nn.sigmoid(o) * jnp.tanh(c), c), None

    zeros = jnp.zeros((y.shape[0], UNITS), jnp.float32)
    (h, _), _ = lax.scan(step, (zeros, zeros), xs)
    return cross_entropy(h @ v + a, y)


def _leaps(body: Callable[..., Any], state: Any) -> Any:
    return lax.scan(lambda state, k: (body(k, *state), None), state, jnp.arange(data.LEAPS))[0]


LIBRARY = Library(
    exp=jnp.exp,
    tanh=jnp.tanh,
    sin=jnp.sin,
    cos=jnp.cos,
    relu=jax.nn.relu,
    where=jnp.where,
    number=lambda x: x.astype(jnp.float64),
    totals=lambda x: jnp.sum(x, axis=1),
    mean=jnp.mean,
    joined=lambda parts: jnp.concatenate(parts, axis=1),
    loop=_leaps,
)


def l2hmc(*operands: Any) -> Any:
    return leapfrog(LIBRARY, data.PRECISION, operands[:13], *operands[13:])


LOSSES: dict[str, Callable[..., Any]] = {"softmax": softmax, "mlp": mlp, "lstm": lstm, "l2hmc": l2hmc}


def step(row: str, batch: int) -> Callable[[], Any]:
    """A run from parameters and examples to the loss and the new parameters."""
    given, examples = getattr(data, row)(batch)
    parameters, rate = list(map(jnp.asarray, given)), given[0].dtype.type(data.RATE)

    @jax.jit
    def stepped(parameters: Any, *operands: Any) -> Any:
        loss, slopes = jax.value_and_grad(lambda each: LOSSES[row](*each, *operands))(parameters)
        return (loss, *(x - rate * slope for x, slope in zip(parameters, slopes, strict=True)))

    operands = list(map(jnp.asarray, examples))
    return lambda: jax.block_until_ready(stepped(parameters, *operands))
