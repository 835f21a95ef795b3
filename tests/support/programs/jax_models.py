"""A model of JAX with a decoding loop: a small transformer that sorts digits.

`python -m tests.support.programs.jax_models FILE` trains it, and writes it as StableHLO: docs/models/sorting.mlir.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

DIGITS, COUNT, WIDTH, HEADS, HIDDEN = 8, 4, 16, 2, 32
"""The number of digits, how many of them are sorted, and the sizes of the model."""
START, END = DIGITS, DIGITS + 1
"""The tokens between the digits and the sorted ones, and behind those."""
LENGTH = 2 * COUNT + 2
Parameters = dict[str, Any]


def initial_parameters(key: Any) -> Parameters:
    """Random weights of one layer."""
    shapes = {
        "tokens": (END + 1, WIDTH), "places": (LENGTH, WIDTH), "query": (WIDTH, WIDTH), "key": (WIDTH, WIDTH),
        "value": (WIDTH, WIDTH), "mixed": (WIDTH, WIDTH), "wide": (WIDTH, HIDDEN), "narrow": (HIDDEN, WIDTH),
        "logits": (WIDTH, END + 1),
    }  # fmt: skip
    keys = jax.random.split(key, len(shapes))
    return {name: jax.random.normal(each, shape) / shape[0] ** 0.5
            for each, (name, shape) in zip(keys, shapes.items(), strict=True)}  # fmt: skip


def normalize(x: Any) -> Any:
    center = x - x.mean(axis=-1, keepdims=True)
    return center * lax.rsqrt((center * center).mean(axis=-1, keepdims=True) + 1e-5)


def attention(parameters: Parameters, x: Any) -> Any:
    """Each place takes the values of those before it."""
    parts = [(x @ parameters[name]).reshape(LENGTH, HEADS, -1) for name in ("query", "key", "value")]
    query, key, value = parts
    scores = jnp.einsum("ihd,jhd->hij", query, key) / (WIDTH / HEADS) ** 0.5
    weights = jax.nn.softmax(jnp.where(jnp.tril(jnp.ones((LENGTH, LENGTH), bool)), scores, -1e9), axis=-1)
    return jnp.einsum("hij,jhd->ihd", weights, value).reshape(LENGTH, WIDTH) @ parameters["mixed"]


def logits(parameters: Parameters, tokens: Any) -> Any:
    """For each place, how likely each token is the next one."""
    with jax.named_scope("embed"):
        x = parameters["tokens"][tokens] + parameters["places"]
    with jax.named_scope("attention"):
        x = x + attention(parameters, normalize(x))
    with jax.named_scope("mlp"):
        x = x + jax.nn.relu(normalize(x) @ parameters["wide"]) @ parameters["narrow"]
    with jax.named_scope("head"):
        return normalize(x) @ parameters["logits"]


def decoder(parameters: Parameters) -> Callable[[Any], Any]:
    """The function that reads digits, and emits the most likely token, again and again, until the end token."""

    def sort_digits(digits: Any) -> Any:
        tokens = jnp.zeros(LENGTH, jnp.int32).at[:COUNT].set(digits).at[COUNT].set(START)

        def goes_on(state: Any) -> Any:
            length, tokens = state
            return (length < LENGTH) & (tokens[length - 1] != END)

        def emit(state: Any) -> Any:
            length, tokens = state
            token = jnp.argmax(logits(parameters, tokens)[length - 1]).astype(jnp.int32)
            return length + 1, tokens.at[length].set(token)

        _, tokens = lax.while_loop(goes_on, emit, (jnp.int32(COUNT + 1), tokens))
        return tokens[COUNT + 1 :]

    return sort_digits


def train(steps: int = 3000, batch: int = 256) -> Parameters:
    """Weights that sort nearly all digits."""

    def loss(parameters: Parameters, tokens: Any) -> Any:
        scores = jax.vmap(lambda row: logits(parameters, row))(tokens)[:, COUNT:-1]
        likely = jax.nn.log_softmax(scores, axis=-1)
        return -jnp.take_along_axis(likely, tokens[:, COUNT + 1 :, None], axis=-1).mean()

    @jax.jit
    def step(k: Any, parameters: Parameters, first: Parameters, second: Parameters) -> Any:
        digits = jax.random.randint(jax.random.fold_in(jax.random.key(1), k), (batch, COUNT), 0, DIGITS)
        start, end = jnp.full((batch, 1), START), jnp.full((batch, 1), END)
        gradient = jax.grad(loss)(parameters, jnp.concatenate([digits, start, jnp.sort(digits, 1), end], axis=1))
        first = jax.tree.map(lambda m, g: 0.9 * m + 0.1 * g, first, gradient)
        second = jax.tree.map(lambda v, g: 0.98 * v + 0.02 * g * g, second, gradient)
        rate = 0.01 * jnp.minimum(1.0, (steps - k) / steps * 2)
        moved = jax.tree.map(lambda p, m, v: p - rate * m / (jnp.sqrt(v) + 1e-8), parameters, first, second)
        return moved, first, second

    parameters = initial_parameters(jax.random.key(0))
    first = second = jax.tree.map(jnp.zeros_like, parameters)
    for k in range(steps):
        parameters, first, second = step(k, parameters, first, second)
    return parameters


def module_text(parameters: Parameters) -> str:
    """The decoder as StableHLO, with JAX's names, and without the paths of this machine."""
    lowered = jax.jit(decoder(parameters)).lower(np.zeros(COUNT, np.int32))
    return re.sub(r'"[^"]*/([^"/]*\.py)"', r'"\1"', lowered.as_text(debug_info=True))


if __name__ == "__main__":
    weights = train()
    sort_digits = jax.jit(decoder(weights))
    samples = np.random.RandomState(0).randint(0, DIGITS, (200, COUNT)).astype(np.int32)
    right = sum(list(sort_digits(row)) == [*sorted(row), END] for row in samples)
    Path(sys.argv[1]).write_text(module_text(weights))
    print(f"sorts {right} of {len(samples)}")
