"""Rules of ops that say where elements stand."""

from __future__ import annotations

from collections.abc import Mapping
from functools import reduce
from operator import add
from typing import Any

from ..axes import axis_of, sizes
from ..op import Doing, Gradient
from .index import moving
from .term import Term, adjoints


def _unpermuted(g: Term, z: Term, x: Term, axes: Any) -> Term:
    order = [axis_of(axis, x.type) for axis in (axes if isinstance(axes, tuple) else (axes,))]
    return g.permute_dims(axes=tuple(order.index(axis) for axis in range(len(order))))


def _unrolled(g: Term, z: Term, x: Term, shift: Any, axis: Any) -> Term:
    return g.roll(shift=tuple(-step for step in shift) if isinstance(shift, tuple) else -shift, axis=axis)


def _concat(do: Doing, index: int, adjoint: Any, result: Any, *operands: Any, axis: int) -> Any:
    """The part that an operand became: where sizes are open, the run says where it begins."""
    at, parts = axis_of(axis, do.type(operands[0])), [Term(do, operand) for operand in operands[: index + 1]]
    widths = [sizes(part.type)[at] for part in parts]

    def part(g: Term, z: Term, *_: Term, axis: int) -> Term:
        if None not in widths:
            begin = sum(filter(None, widths[:-1]))
            return g.index(key=f"{':, ' * at}{begin}:{begin + (widths[-1] or 0)}")
        ends = [reduce(add, (each.size(axis=at) for each in parts[:count])) for count in (index, index + 1) if count]
        return g.take(g.op("arange", ends[0] if index else 0, ends[-1], 1), axis=at)

    return adjoints(part)(do, index, adjoint, result, *operands, axis=axis)


RULES: Mapping[str, Gradient] = {
    "broadcast_to": adjoints(lambda g, z, x, shape: g.sum_like(x)),
    "broadcast_like": adjoints(lambda g, z, x, y: g.sum_like(x), None),
    "reshape": adjoints(lambda g, z, x, shape: g.reshape_like(x)),
    "reshape_like": adjoints(lambda g, z, x, y: g.reshape_like(x), None),
    "permute_dims": adjoints(_unpermuted),
    "squeeze": adjoints(lambda g, z, x, axis: g.reshape_like(x)),
    "roll": adjoints(_unrolled),
    "concat": _concat,
    "windows": moving("windows"),
}
