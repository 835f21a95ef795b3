"""Clipping of gradients: by their length, one by one or all together. `clip` bounds elements."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import Any

from ...autodiff.rows import Rows
from ...errors import Usage
from ..api import apply
from ..eager.rows import sum_duplicate_rows
from ..trace.pytree import flatten, unflatten
from ..trace.source_location import user_location
from .common import astype, type_of


def clip_by_norm(x: Any, norm: Any, /) -> Any:
    """An array of floats, or `tl.Rows`, made as much shorter that its length, the root of the sum of its squares, is
    `norm` at most.

    >>> clip_by_norm([3.0, 4.0], 2.5).tolist()
    [1.5, 2.0]
    """
    length = apply("sqrt", _sum_of_squares(x))
    return _map_values(x, lambda each: apply("divide", apply("multiply", each, norm), apply("maximum", length, norm)))


def clip_by_global_norm(values: Any, norm: Any, /) -> tuple[Any, Any]:
    """Arrays of floats, and `tl.Rows`, nested at will, all made as much shorter that the length of all together is
    `norm` at most; and that length as it was. Where it is infinite they are NaN: nothing else would be a direction.

    >>> clipped, length = clip_by_global_norm({"w": 3.0, "b": 4.0}, 2.5)
    >>> clipped, length
    ({'w': 1.5, 'b': 2.0}, 5.0)
    """
    leaves, structure = flatten(values, leaf_class=Rows)
    if not leaves:
        raise Usage("there is nothing to clip", where=user_location(), required="arrays of floats", got=repr(values))
    length = apply("sqrt", functools.reduce(functools.partial(apply, "add"), map(_sum_of_squares, leaves)))
    share = apply("divide", norm, apply("maximum", length, norm))
    kept = apply("where", apply("isfinite", length), share, math.nan)
    clipped = [
        _map_values(leaf, lambda each: apply("multiply", each, astype(kept, type_of(each).dtype))) for leaf in leaves
    ]
    return unflatten(structure, clipped), length


def _sum_of_squares(x: Any) -> Any:
    """The sum of the squares of all elements: of rows, of those that they add up to."""
    one, other = (x.values, sum_duplicate_rows(x).values) if isinstance(x, Rows) else (x, x)
    return apply("sum", apply("multiply", one, other), axis=None, keepdims=False)


def _map_values(x: Any, change: Callable[[Any], Any]) -> Any:
    """An array, or the values of rows, changed."""
    return Rows(x.indices, change(x.values)) if isinstance(x, Rows) else change(x)
