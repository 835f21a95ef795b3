"""The gradient rules beside those of JAX, which others wrote: where both are there, they say the same."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
from gradient_cases import CASES, Case
from tagloom.core.value import admit
from tape import Known, Tape, pullback

jax = pytest.importorskip("jax")
jnp = jax.numpy


@pytest.fixture(autouse=True)
def wide() -> Iterator[None]:
    """JAX computes in float64 where it is told to."""
    before = jax.config.jax_enable_x64
    jax.config.update("jax_enable_x64", True)
    yield
    jax.config.update("jax_enable_x64", before)


def reduced(function: Any) -> Callable[..., Any]:
    return lambda x, axis, keepdims: function(x, axis=axis, keepdims=keepdims)


ALIKE = (
    *("add", "subtract", "multiply", "divide", "pow", "negative", "abs", "minimum", "maximum", "copysign", "where"),
    *("sqrt", "exp", "log", "sin", "cos", "tanh", "tan", "sinh", "cosh", "expm1", "log1p", "log2", "log10", "hypot"),
    *("logaddexp", "matmul", "remainder", "roll", "floor"),
)
"""What JAX calls as the rows are called."""
JAX: dict[str, Callable[..., Any]] = {
    **{name: getattr(jnp, name) for name in ALIKE},
    **{f"a{name}": getattr(jnp, f"arc{name}") for name in ("sin", "cos", "tan", "sinh", "cosh", "tanh")},
    **{name: reduced(getattr(jnp, name)) for name in ("sum", "prod", "max", "min")},
    "atan2": jnp.arctan2,
    "cumulative_sum": jnp.cumsum,
    "cumulative_prod": jnp.cumprod,
    "sort": lambda x, axis, descending: jnp.sort(x, axis=axis, descending=descending),
    "permute_dims": jnp.transpose,
    "reshape": jnp.reshape,
    "squeeze": jnp.squeeze,
    "broadcast_to": jnp.broadcast_to,
    "concat": lambda *arrays, axis: jnp.concatenate(arrays, axis=axis),
    "take": jnp.take,
    "gather": lambda x, *at: x[at],
    "scatter_add": lambda x, values, *at: x.at[at].add(values),
    "boolean_mask": lambda x, mask: x[mask],
    "repeat": lambda x, repeats, axis: jnp.repeat(x, repeats, axis=axis),
    "diagonal": lambda x, offset: jnp.diagonal(x, offset, -2, -1),
    "det": jnp.linalg.det,
    "slogdet_logabsdet": lambda x: jnp.linalg.slogdet(x)[1],
    "inv": jnp.linalg.inv,
    "solve": lambda a, b: jnp.linalg.solve(a, b[:, None])[..., 0] if b.ndim == 1 else jnp.linalg.solve(a, b),
    "cholesky": lambda x, upper: jnp.linalg.cholesky(x, upper=upper),
    "eigvalsh": jnp.linalg.eigvalsh,
    "svdvals": lambda x: jnp.linalg.svd(x, compute_uv=False),
}
BOTH = [case for case in CASES if case.op in JAX and all(0 not in np.shape(each) for each in case.operands)]
SELECTED = [case for number, case in enumerate(BOTH) if case.op != BOTH[number - 1].op or number % 7 == 0]
"""Of each op the first case, and some of the others: JAX takes a while for each."""


def ours(case: Case, values: list[Any], weights: Any) -> list[Any]:
    tape, given = Tape(), [Known(admit(value)) for value in values]
    result = tape(case.op, *given, **case.attributes)
    floats = [each for each in given if np.asarray(each.value).dtype.kind == "f"]
    return [each.value for each in pullback(tape, [result], [Known(admit(weights))], floats)]


def theirs(case: Case, values: list[Any], weights: Any) -> list[Any]:
    at = [number for number, value in enumerate(values) if np.asarray(value).dtype.kind == "f"]

    def function(*floats: Any) -> Any:
        given = list(values)
        for number, value in zip(at, floats, strict=True):
            given[number] = value
        return JAX[case.op](*given, **case.attributes)

    _, back = jax.vjp(function, *(jnp.asarray(values[number]) for number in at))
    return list(back(jnp.asarray(weights)))


def compare(case: Case, values: list[Any]) -> None:
    result = Tape()(case.op, *(Known(admit(value)) for value in values), **case.attributes)
    weights = np.random.default_rng(0).normal(size=np.shape(result.value))
    for mine, other in zip(ours(case, values, weights), theirs(case, values, weights), strict=True):
        np.testing.assert_allclose(mine, other, rtol=1e-9, atol=1e-11)


@pytest.mark.parametrize("case", SELECTED, ids=str)
def test_as_jax(case: Case) -> None:
    """Adjoints of random operands are those of JAX's vjp."""
    compare(case, case.values(np.random.default_rng(3)))


EDGES = [
    (Case("maximum", ()), [[1.0, 2.0, 3.0], [2.0, 2.0, 2.0]]),
    (Case("minimum", ()), [[1.0, 2.0, 3.0], 2.0]),
    (Case("max", (), {"axis": 1, "keepdims": False}), [[[1.0, 3.0, 3.0], [2.0, 2.0, 2.0]]]),
    (Case("prod", (), {"axis": None, "keepdims": False}), [[2.0, 0.0, 3.0]]),
    (Case("prod", (), {"axis": 0, "keepdims": True}), [[[2.0, 0.0], [0.0, 0.0], [3.0, 1.5]]]),
    (Case("cumulative_prod", (), {"axis": 0}), [[2.0, 0.0, 3.0, 0.0]]),
    (Case("pow", ()), [[-2.0, 1.5, 0.0, 0.0], [3.0, 0.0, 2.0, 1.0]]),
    (Case("take", (), {"axis": 0}), [[1.0, 2.0, 3.0], [0, -1, 0]]),
]


@pytest.mark.parametrize(("case", "values"), EDGES, ids=lambda each: str(each) if isinstance(each, Case) else "")
def test_edges_as_jax(case: Case, values: list[Any]) -> None:
    """Where a choice is made JAX makes the same: ties, zeros among factors, bases of 0, places taken twice.
    Of abs at 0 it has 1, and the rule 0."""
    compare(case, [np.asarray(value)[()] for value in values])
