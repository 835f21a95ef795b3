"""Order along an axis: sums so far, sorting, and finding places in what is sorted."""

from __future__ import annotations

from typing import Any

import numpy as np

from .. import dtypes
from ..errors import Invalid
from ..types import Type
from .attribute import said
from .axes import axis_of, numbers, sizes, truth, words
from .gradients.order import RULES
from .op import op
from .reduce import widened
from .rules import promoted


def _so_far(x: Type, axis: object) -> Type:
    numbers(x, kinds="iuf")
    axis_of(axis, x)
    return Type(widened(x.dtype), x.shape)


def _sorted(x: Type, axis: object, descending: object) -> Type:
    numbers(x, kinds="iuf")
    axis_of(axis, x)
    truth(descending, "descending")
    return x


def _order(x: Type, axis: object, descending: object) -> Type:
    return Type(dtypes.int64, _sorted(x, axis, descending).shape)


def _argsort(x: Any, axis: int, descending: bool) -> Any:
    """Of equal elements the first comes first, either way."""
    if not descending:
        return np.argsort(x, axis=axis, kind="stable")
    behind = np.flip(np.argsort(np.flip(x, axis), axis=axis, kind="stable"), axis)
    return np.shape(x)[axis] - 1 - behind


def _sort(x: Any, axis: int, descending: bool) -> Any:
    return np.take_along_axis(x, _argsort(x, axis, descending), axis)


def _searched(x: Type, y: Type, side: object) -> Type:
    numbers(x, y, kinds="iuf")
    promoted((x, y))
    if len(sizes(x)) != 1:
        message = f"shape {words(sizes(x))} is no row of sorted numbers"
        raise Invalid(message, required="one axis", got=x)
    if side not in ("left", "right"):
        raise Invalid("this is no side", required='"left" or "right"', got=said(side))
    return Type(dtypes.int64, y.shape)


op(
    "cumulative_sum",
    arity=1,
    types=_so_far,
    numpy=lambda x, axis: np.cumsum(x, axis=axis),
    attributes=("axis",),
    shape=None,
    gradient=RULES["cumulative_sum"],
    doc="""Sums of the elements so far, along an axis (attribute `axis`; it may be left out where there is only one),
one after another. Integers become int64 or uint64, and wrap; float32 is added in float64, and each sum rounded.

>>> tl.cumulative_sum([1, 2, 3]).tolist()
[1, 3, 6]
""",
)
op(
    "cumulative_prod",
    arity=1,
    types=_so_far,
    numpy=lambda x, axis: np.cumprod(x, axis=axis),
    attributes=("axis",),
    shape=None,
    gradient=RULES["cumulative_prod"],
    doc="""Products of the elements so far, along an axis (attribute `axis`; it may be left out where there is only
one), one after another. Integers become int64 or uint64, and wrap; float32 is multiplied in float64, and rounded.

>>> tl.cumulative_prod([1, 2, 3]).tolist()
[1, 2, 6]
""",
)
op(
    "sort",
    arity=1,
    types=_sorted,
    numpy=_sort,
    attributes=("axis", "descending"),
    shape=None,
    gradient=RULES["sort"],
    doc="""The elements along an axis in order, the smallest first, or the largest if `descending`. Equal ones (0.0 and
-0.0 are) stay in the order in which they were; NaN is larger than all.

>>> tl.sort([3, 1, 2]).tolist()
[1, 2, 3]
""",
)
op(
    "argsort",
    arity=1,
    types=_order,
    numpy=_argsort,
    attributes=("axis", "descending"),
    shape=None,
    doc="""Where the elements along an axis are that stand there in `sort(x)`, int64.

>>> tl.argsort([30, 10, 20]).tolist()
[1, 2, 0]
""",
)
op(
    "searchsorted",
    arity=2,
    types=_searched,
    numpy=lambda x, y, side: np.searchsorted(x, y, side=side),
    attributes=("side",),
    shape=None,
    doc="""Before which element of x, whose elements are in order, each of y would have to be put, int64: before all
that are equal (attribute `side`, "left"), or behind them ("right").

>>> tl.searchsorted([10, 20, 20, 30], [20, 35]).tolist()
[1, 4]
""",
)
