"""The rows of tagloom's table in NumPy's words, which both peers understand; `jax` and `torch` have their own
differences.

Conventions are tagloom's: the slope of `abs` at 0 is 0 (1 in JAX); of several elements that are put to one place the
last remains (open in JAX); the lower half of a symmetric matrix is read (the mean of both in JAX); eigenvectors,
singular vectors and factors of qr have tagloom's signs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from tagloom.core import dtypes
from tagloom.core.ops.op import OPS

from peers import Unable

KNOWING = ("arange", "eigh_vectors", "qr_q", "qr_r", "svd_u", "svd_vh")
"""Rows that are given the result that tagloom computed: how many numbers there are, and which signs vectors have."""
ALIKE = (
    *("add", "subtract", "multiply", "divide", "negative", "minimum", "maximum", "where", "matmul", "remainder", "pow"),
    *("sqrt", "exp", "log", "sin", "cos", "tanh", "tan", "asin", "acos", "atan", "sinh", "cosh", "asinh", "acosh"),
    *("atanh", "expm1", "log1p", "log2", "log10", "atan2", "logaddexp", "hypot", "copysign"),
)
"""What both call as the rows are called."""
MOVING = (
    *("index", "take", "take_along_axis", "gather", "boolean_mask", "diagonal", "repeat", "windows", "roll"),
    *("permute_dims", "squeeze"),
)
PUTTING = ("scatter", "scatter_index")

Row = Callable[..., Any]


def common(xp: Any, still: Callable[[Any], Any], halves: Callable[[Any], Any]) -> dict[str, Row]:
    """The functions that are the same for both. `xp` is the peer's module. `still` gives a value without a slope, and
    `halves` a symmetric matrix in the form that the peer needs."""

    def taken(x: Any, places: Any) -> Any:
        return xp.reshape(x, (-1,))[xp.asarray(np.array(places))]

    def moving(op: str) -> Row:
        def row(x: Any, *others: Any, **attributes: Any) -> Any:
            return taken(x, OPS[op].numpy(_numbers(x), *others, **attributes))

        return row

    def putting(op: str) -> Row:
        def row(x: Any, values: Any, *others: Any, **attributes: Any) -> Any:
            places = OPS[op].numpy(_numbers(x), _numbers(values) + np.size(_numbers(x)), *others, **attributes)
            return taken(xp.concatenate((xp.reshape(x, (-1,)), xp.reshape(values, (-1,)))), places)

        return row

    def sum_like(x: Any, y: Any) -> Any:
        expected = tuple(np.shape(y))
        alike = (1,) * (len(np.shape(x)) - len(expected)) + expected
        for axis, size in enumerate(alike):
            x = xp.sum(x, axis=axis, keepdims=True) if size == 1 else x
        return xp.reshape(x, expected)

    def signed(vectors: Any, made: Any, axis: int) -> Any:
        """Vectors along an axis, with the signs of tagloom's."""
        return vectors * xp.sign(xp.sum(still(vectors) * xp.asarray(made), axis=axis, keepdims=True))

    def thin(x: Any) -> tuple[Any, Any]:
        made = xp.linalg.svd(x, full_matrices=False)
        return made[0], made[2]

    return {
        **{name: getattr(xp, name) for name in ALIKE},
        **{name: moving(name) for name in MOVING},
        **{name: putting(name) for name in PUTTING},
        "identity": lambda x: x,
        "abs": lambda x: x * xp.sign(still(x)),
        "multiply_no_nan": lambda x, y: x * y,
        "astype": _astype,
        "arange": lambda made, start, stop, step: start + xp.asarray(np.arange(len(made))) * step,
        "sum_like": sum_like,
        "broadcast_like": lambda x, y: xp.broadcast_to(x, tuple(np.broadcast_shapes(np.shape(x), np.shape(y)))),
        "broadcast_to": lambda x, shape: xp.broadcast_to(x, shape),
        "reshape": lambda x, shape: xp.reshape(x, shape),
        "reshape_like": lambda x, y: xp.reshape(x, tuple(np.shape(y))),
        "concat": lambda *arrays, axis: xp.concatenate(arrays, axis=axis),
        "cumulative_sum": lambda x, axis: xp.cumsum(x, axis),
        "cumulative_prod": lambda x, axis: xp.cumprod(x, axis),
        "det": xp.linalg.det,
        "slogdet_logabsdet": lambda x: xp.linalg.slogdet(x)[1],
        "inv": xp.linalg.inv,
        "solve": lambda a, b: xp.linalg.solve(a, b[:, None])[..., 0] if b.ndim == 1 else xp.linalg.solve(a, b),
        "cholesky": lambda x, upper: xp.linalg.cholesky(halves(x), upper=upper),
        "eigvalsh": lambda x: xp.linalg.eigvalsh(halves(x)),
        "eigh_vectors": lambda made, x: signed(xp.linalg.eigh(halves(x))[1], made, -2),
        "qr_q": lambda made, x, mode: signed(xp.linalg.qr(x)[0], made, -2),
        "qr_r": lambda made, x, mode: signed(xp.linalg.qr(x)[1], made, -1),
        "svdvals": lambda x: xp.linalg.svd(x, full_matrices=False)[1],
        "svd_u": lambda made, x, full_matrices: signed(thin(x)[0], made, -2),
        "svd_vh": lambda made, x, full_matrices: signed(thin(x)[1], made, -1),
    }


def _numbers(x: Any) -> Any:
    shape = tuple(np.shape(x))
    return np.arange(np.prod(shape, dtype=int)).reshape(shape)


def _astype(x: Any, dtype: Any) -> Any:
    if dtype is not dtypes.float64:
        raise Unable(f"{dtype}")
    return x
