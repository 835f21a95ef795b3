"""Reductions: ops that make one element of many. Names and meanings follow the Python Array API standard 2024.12."""

from __future__ import annotations

from typing import Any

import numpy as np

from .. import dtypes
from ..attribute import said
from ..errors import Invalid
from ..op import op
from ..types import Shape, Type
from .rules import elementwise, rounding

_numbers = elementwise("if")
_WIDE = {"i": dtypes.int64, "u": dtypes.uint64}


def _sum(x: Type, axis: int | None = None, keepdims: bool = False) -> Type:
    _numbers(Type(x.dtype))
    return Type(_WIDE.get(x.dtype.kind, x.dtype), _reduced(x, axis, keepdims))


def _reduced(x: Type, axis: object, keepdims: object) -> Shape:
    """The shape without this axis, or with size 1 for it; None is all axes."""
    if type(keepdims) is not bool:
        hint = "with true each axis that is summed stays, with size 1"
        raise Invalid("keepdims is no truth value", required="true or false", got=said(keepdims), hint=hint)
    if axis is None:
        return () if not keepdims else None if x.shape is None else (1,) * len(x.shape)
    hint = "of all axes with axis=None; the type of an array says how many it has, as in tl.Array[tl.float64, None, 3]"
    if x.shape is None or type(axis) is not int or not -len(x.shape) <= axis < len(x.shape):
        count = "an array of known axes" if x.shape is None else f"none, or a number of the {len(x.shape)} axes"
        raise Invalid("there is no such axis", required=count, got=f"axis={said(axis)} of {x}", hint=hint)
    at = axis % len(x.shape)
    return (*x.shape[:at], *(1,) * keepdims, *x.shape[at + 1 :])


def _summed(x: Any, axis: int | None = None, keepdims: bool = False) -> Any:
    return np.sum(x, axis=axis, keepdims=keepdims)


def _bound(x: Any, axis: int | None = None, keepdims: bool = False) -> Any:
    count = np.size(x) if axis is None else np.shape(x)[axis]
    return rounding(count, np.sum(np.abs(x), axis=axis, keepdims=keepdims), x)


sum = op(
    "sum",
    arity=1,
    types=_sum,
    numpy=_summed,
    attributes=("axis", "keepdims"),
    bound=_bound,
    symbol="sum",
    doc="""Sum of the elements along an axis (attribute `axis`; None: of all), 0 where there are none; with `keepdims`
that axis stays, with size 1.

Integers become int64 or uint64, and wrap. Of floats the order of the additions is open: bits may differ between engines
and machines, each sum being within n/2**53 of the exact sum of n absolute values, before it is rounded to the dtype.

>>> tl.sum([[1, 2], [3, 4]], axis=0).tolist()
[4, 6]
""",
)
