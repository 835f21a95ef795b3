"""JAX: `jit`, and `lax.while_loop`; with 64 bits switched on."""

from __future__ import annotations

from functools import cache
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from rows import INNER, OFFSET, REPEATED, SLOPE, A, C, Size, array, cell, dtype_of, factors, links, tree

from systems import Built, Unable, jax_training

jax.config.update("jax_enable_x64", True)


@jax.jit
def scalar(n: Any) -> Any:
    return lax.while_loop(
        lambda v: v[0] < n, lambda v: (v[0] + 1, v[1] * (v[1] + A) + C), (jnp.int64(0), jnp.int64(1))
    )[1]


@jax.jit
def nested(n: Any, m: Any) -> Any:
    def outer(v: Any) -> Any:
        i, x = v
        body = lambda u: (u[0] + 1, u[1] * (u[1] + (A + i)) + C)  # noqa: E731
        return i + 1, lax.while_loop(lambda u: u[0] < m, body, (jnp.int64(0), x))[1]

    return lax.while_loop(lambda v: v[0] < n, outer, (jnp.int64(0), jnp.int64(1)))[1]


@cache
def _text(row: str, n: int) -> Any:
    def wide(x: Any) -> Any:
        return tree([x * factor for factor in factors(n)], lambda y, z: y + z)

    def chain(x: Any) -> Any:
        for factor, term in links(n):
            x = x * factor + term
        return x

    return jax.jit(wide if row == "wide" else chain)


@cache
def _arrays(row: str) -> Any:
    def affine(x: Any, a: Any, b: Any) -> Any:
        for _ in range(REPEATED[row]):
            x = a * x + b
        return x.sum() if row == "sum" else x

    def exptanh(x: Any) -> Any:
        for _ in range(REPEATED[row]):
            x = jnp.tanh(jnp.exp(-x))
        return x

    return jax.jit(exptanh if row.startswith("exptanh") else affine)


@jax.jit
def recurrent(h: Any, w: Any, x: Any, steps: Any) -> Any:
    body = lambda v: (v[0] + 1, jnp.tanh(v[1] @ w + x))  # noqa: E731
    return lax.while_loop(lambda v: v[0] < steps, body, (jnp.int64(0), h))[1]


def build(system: str, row: str, size: Size) -> Built:
    """A run of any row without recursion, until its value is there."""
    if row in ("scalar", "nested"):
        n, m = np.int64(size[0]), np.int64(INNER)
        return Built((lambda: int(scalar(n))) if row == "scalar" else (lambda: int(nested(n, m))))
    if row in ("wide", "chain"):
        return Built(lambda: float(_text(row, *size)(1.5)))
    if row.startswith("cell"):
        arguments, steps = [jnp.asarray(each) for each in cell(int(row[4:]))], np.int64(size[0])
        return Built(lambda: recurrent(*arguments, steps).block_until_ready())
    if row in jax_training.LOSSES:
        return Built(jax_training.step(row, *size))
    if row not in REPEATED:
        raise Unable("no recursion")
    x, a, b = jnp.asarray(array(row, *size)), dtype_of(row)(SLOPE), dtype_of(row)(OFFSET)
    function = _arrays(row)
    if row.startswith("exptanh"):
        return Built(lambda: function(x).block_until_ready())
    return Built(lambda: function(x, a, b).block_until_ready())
