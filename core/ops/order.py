"""Order along an axis: sums so far, sorting, and finding places in what is sorted."""

from __future__ import annotations

from typing import Any

import numpy as np

from .. import dtypes
from ..errors import Invalid
from ..types import Type
from .attribute import format_attribute
from .axes import check_bool, check_numeric, describe_shapes, require_sizes, resolve_axis
from .gradients.order import RULES
from .op import op
from .reduce import accumulator_dtype
from .rules import promote_operands


def _cumulative_type(x: Type, axis: object) -> Type:
    check_numeric(x, kinds="iuf")
    resolve_axis(axis, x)
    return Type(accumulator_dtype(x.dtype), x.shape)


def _sort_type(x: Type, axis: object, descending: object) -> Type:
    check_numeric(x, kinds="iuf")
    resolve_axis(axis, x)
    check_bool(descending, "descending")
    return x


def _argsort_type(x: Type, axis: object, descending: object) -> Type:
    return Type(dtypes.int64, _sort_type(x, axis, descending).shape)


def _argsort_array(x: Any, axis: int, descending: bool) -> Any:
    """Of equal elements the first comes first, either way."""
    if not descending:
        return np.argsort(x, axis=axis, kind="stable")
    behind = np.flip(np.argsort(np.flip(x, axis), axis=axis, kind="stable"), axis)
    return np.shape(x)[axis] - 1 - behind


def _sort_array(x: Any, axis: int, descending: bool) -> Any:
    return np.take_along_axis(x, _argsort_array(x, axis, descending), axis)


def _searchsorted_type(x: Type, y: Type, side: object) -> Type:
    check_numeric(x, y, kinds="iuf")
    promote_operands((x, y))
    if len(require_sizes(x)) != 1:
        message = f"shape {describe_shapes(require_sizes(x))} is no row of sorted numbers"
        raise Invalid(message, required="one axis", got=x)
    if side not in ("left", "right"):
        raise Invalid("this is no side", required='"left" or "right"', got=format_attribute(side))
    return Type(dtypes.int64, y.shape)


op(
    "cumulative_sum",
    arity=1,
    type_rule=_cumulative_type,
    numpy=lambda x, axis: np.cumsum(x, axis=axis),
    attributes=("axis",),
    shape_rule=None,
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
    type_rule=_cumulative_type,
    numpy=lambda x, axis: np.cumprod(x, axis=axis),
    attributes=("axis",),
    shape_rule=None,
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
    type_rule=_sort_type,
    numpy=_sort_array,
    attributes=("axis", "descending"),
    shape_rule=None,
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
    type_rule=_argsort_type,
    numpy=_argsort_array,
    attributes=("axis", "descending"),
    shape_rule=None,
    doc="""Where the elements along an axis are that stand there in `sort(x)`, int64.

>>> tl.argsort([30, 10, 20]).tolist()
[1, 2, 0]
""",
)
op(
    "searchsorted",
    arity=2,
    type_rule=_searchsorted_type,
    numpy=lambda x, y, side: np.searchsorted(x, y, side=side),
    attributes=("side",),
    shape_rule=None,
    doc="""Before which element of x, whose elements are in order, each of y would have to be put, int64: before all
that are equal (attribute `side`, "left"), or behind them ("right").

>>> tl.searchsorted([10, 20, 20, 30], [20, 35]).tolist()
[1, 4]
""",
)
