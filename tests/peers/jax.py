"""JAX with 64-bit numbers: `vjp` of functions that it runs op by op."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import jax.scipy.special
import numpy as np
from tagloom.core.ops.indexing import parse_key

from peers import Function, Peer, Weights
from peers.ops import Row, common

jax.config.update("jax_enable_x64", True)


def _reduced(function: Row) -> Row:
    return lambda x, axis, keepdims: function(x, axis=axis, keepdims=keepdims)


def _halves(x: Any) -> Any:
    """The lower half of a matrix mirrored, with half of the slope along each copy."""
    still, mean = jax.lax.stop_gradient(x), 0.5 * (x + jnp.swapaxes(x, -1, -2))
    lower = jnp.tril(still) + jnp.swapaxes(jnp.tril(still, -1), -1, -2)
    return lower + (mean - jax.lax.stop_gradient(mean))


def pulled_back(function: Function, floats: list[Any], weights: Weights) -> tuple[list[Any], list[Any]]:
    """The adjoints by `jax.vjp`."""
    results, back = jax.vjp(lambda *values: function(list(values)), *floats)
    return results, list(back([jnp.asarray(weights(nth, each.shape)) for nth, each in enumerate(results)]))


def _scatter_mul(x: Any, values: Any, *at: Any) -> Any:
    """Value by value: JAX differentiates no product of several values for one element."""
    indices = np.broadcast_arrays(*at)
    for position in np.ndindex(indices[0].shape):
        place = tuple(int(index[position]) for index in indices)
        x = x.at[place].multiply(values[position], unique_indices=True)
    return x


OPS: dict[str, Row] = {
    **common(jnp, jax.lax.stop_gradient, _halves),
    **{name: _reduced(getattr(jnp, name)) for name in ("sum", "prod", "max", "min")},
    "boolean_mask": lambda x, mask: x[mask],
    "cbrt": jnp.cbrt,
    "digamma": jax.scipy.special.digamma,
    "erf": jax.scipy.special.erf,
    "erfc": jax.scipy.special.erfc,
    "lgamma": jax.scipy.special.gammaln,
    "ndtri": jax.scipy.special.ndtri,
    "diagonal": lambda x, offset: jnp.diagonal(x, offset, -2, -1),
    "gather": lambda x, *at: x[at],
    "index": lambda x, key: x[parse_key(key)],
    "permute_dims": jnp.transpose,
    "repeat": lambda x, repeats, axis: jnp.repeat(x, repeats, axis=axis),
    "roll": jnp.roll,
    "scatter_add": lambda x, values, *at: x.at[at].add(values),
    "scatter_max": lambda x, values, *at: x.at[at].max(values),
    "scatter_min": lambda x, values, *at: x.at[at].min(values),
    "scatter_mul": _scatter_mul,
    "scatter_index": lambda x, values, key: x.at[parse_key(key)].set(values),
    "sort": lambda x, axis, descending: jnp.sort(x, axis=axis, descending=descending),
    "squeeze": jnp.squeeze,
    "take": jnp.take,
    "take_along_axis": jnp.take_along_axis,
}
PEER = Peer("JAX", OPS, jnp.asarray, np.asarray, pulled_back)
