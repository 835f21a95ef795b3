"""Sorting and searching along an axis. Names and meanings follow the Python Array API standard 2024.12."""

from __future__ import annotations

from typing import Any

import numpy as np

from .. import dtypes
from ..errors import Invalid
from ..types import Type
from .gradient_rules import Term, adjoint_rule
from .op import op
from .type_rules import (
    check_bool,
    check_numeric,
    describe_shapes,
    format_attribute,
    promote_operands,
    require_sizes,
    resolve_axis,
)


def sort_type(x: Type, axis: object, descending: object) -> Type:
    check_numeric(x, kinds="iuf")
    resolve_axis(axis, x)
    check_bool(descending, "descending")
    return x


def argsort_type(x: Type, axis: object, descending: object) -> Type:
    return Type(dtypes.int64, sort_type(x, axis, descending).shape)


def argsort_array(x: Any, axis: int, descending: bool) -> Any:
    """A stable argsort, ascending or descending."""
    if not descending:
        return np.argsort(x, axis=axis, kind="stable")
    flipped_indices = np.flip(np.argsort(np.flip(x, axis), axis=axis, kind="stable"), axis)
    return np.shape(x)[axis] - 1 - flipped_indices


def sort_array(x: Any, axis: int, descending: bool) -> Any:
    return np.take_along_axis(x, argsort_array(x, axis, descending), axis)


def searchsorted_type(x: Type, y: Type, side: object) -> Type:
    check_numeric(x, y, kinds="iuf")
    promote_operands((x, y))
    if len(require_sizes(x)) != 1:
        message = f"shape {describe_shapes(require_sizes(x))} is not that of a row of sorted numbers"
        raise Invalid(message, required="one axis", got=x)
    if side not in ("left", "right"):
        raise Invalid("this is not a side", required='"left" or "right"', got=format_attribute(side))
    return Type(dtypes.int64, y.shape)


def sort_adjoint(g: Term, z: Term, x: Term, axis: int, descending: bool) -> Term:
    """The argsort of the argsort is the place to which each element moved."""
    destinations = x.argsort(axis=axis, descending=descending).argsort(axis=axis, descending=False)
    return g.take_along_axis(destinations, axis=axis)


op(
    "sort",
    arity=1,
    type_rule=sort_type,
    numpy=sort_array,
    has_superlinear_work=True,
    attributes=("axis", "descending"),
    shape_rule=None,
    gradient=adjoint_rule(sort_adjoint),
    doc="""The elements along an axis in order, the smallest first, or the largest if `descending`. The sort is stable
(0.0 and -0.0 are equal); NaN is larger than all numbers.

>>> tl.sort([3, 1, 2]).tolist()
[1, 2, 3]
""",
)
op(
    "argsort",
    arity=1,
    type_rule=argsort_type,
    numpy=argsort_array,
    has_superlinear_work=True,
    attributes=("axis", "descending"),
    shape_rule=None,
    doc="""The indices along an axis of the elements of `sort(x)`, int64.

>>> tl.argsort([30, 10, 20]).tolist()
[1, 2, 0]
""",
)
op(
    "searchsorted",
    arity=2,
    type_rule=searchsorted_type,
    numpy=lambda x, y, side: np.searchsorted(x, y, side=side),
    has_superlinear_work=True,
    attributes=("side",),
    shape_rule=None,
    doc="""The index in x, whose elements are in order, at which each element of y would be inserted, int64: before all
equal elements (attribute `side`, "left"), or behind them ("right").

>>> tl.searchsorted([10, 20, 20, 30], [20, 35]).tolist()
[1, 4]
""",
)
