"""Checks of operands that the rows of several importers share."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from ...core.errors import Malformed
from ...core.frontend.array_api.common import shape_of, type_of
from ...core.frontend.trace.source_location import user_location
from .refusals import unsupported

MAX_ELEMENTS = 2**26
"""The most elements of an array whose sizes are known before the run."""


def axis_position(axis: int, rank: int) -> int:
    """An axis of an array of `rank` axes, counted from the first; raises Malformed if there is no such axis."""
    if not -rank <= axis < rank:
        raise Malformed("there is no such axis", where=user_location(), required=f"{-rank} to {rank - 1}", got=axis)
    return axis % rank


def known_sizes(x: Any, axes: Sequence[int] | None = None) -> tuple[int, ...]:
    """The sizes of an operand, along some axes or all; raises Unsupported for one that is known only at run time."""
    shape = shape_of(x)
    sizes = shape if axes is None else [shape[axis] for axis in axes]
    if any(size is None for size in sizes):
        raise unsupported("shape", "sizes must be known here before the run", got=type_of(x))
    return tuple(size for size in sizes if size is not None)


def check_room(*sizes: Any) -> None:
    """Raises Malformed if a size is negative, Unsupported if all sizes are known and give more than MAX_ELEMENTS
    elements."""
    known = [size for size in sizes if isinstance(size, int)]
    if any(size < 0 for size in known):
        raise Malformed("a size is negative", where=user_location(), got=known)
    if len(known) == len(sizes) and math.prod(known) > MAX_ELEMENTS:
        required = f"at most {MAX_ELEMENTS:,} elements"
        raise unsupported("limit", "this array is too large", required=required, got=known)
