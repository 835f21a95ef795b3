"""Rules of ops that say where elements stand."""

from __future__ import annotations

from collections.abc import Mapping
from functools import reduce
from operator import add
from typing import Any

from ..axes import require_sizes, resolve_axis
from ..op import Gradient, OpBuilder
from .index import movement_rule
from .term import Term, adjoint_rule


def _permute_dims_adjoint(g: Term, z: Term, x: Term, axes: Any) -> Term:
    order = [resolve_axis(axis, x.type) for axis in (axes if isinstance(axes, tuple) else (axes,))]
    return g.permute_dims(axes=tuple(order.index(axis) for axis in range(len(order))))


def _roll_adjoint(g: Term, z: Term, x: Term, shift: Any, axis: Any) -> Term:
    return g.roll(shift=tuple(-step for step in shift) if isinstance(shift, tuple) else -shift, axis=axis)


def _concat_rule(do: OpBuilder, index: int, adjoint: Any, result: Any, *operands: Any, axis: int) -> Any:
    """The part that an operand became: where sizes are open, the run says where it begins."""
    at, parts = resolve_axis(axis, do.type(operands[0])), [Term(do, operand) for operand in operands[: index + 1]]
    widths = [require_sizes(part.type)[at] for part in parts]

    def part(g: Term, z: Term, *_: Term, axis: int) -> Term:
        if None not in widths:
            begin = sum(filter(None, widths[:-1]))
            return g.index(key=f"{':, ' * at}{begin}:{begin + (widths[-1] or 0)}")
        ends = [reduce(add, (each.size(axis=at) for each in parts[:count])) for count in (index, index + 1) if count]
        return g.take(g.op("arange", ends[0] if index else 0, ends[-1], 1), axis=at)

    return adjoint_rule(part)(do, index, adjoint, result, *operands, axis=axis)


RULES: Mapping[str, Gradient] = {
    "broadcast_to": adjoint_rule(lambda g, z, x, shape: g.sum_like(x)),
    "broadcast_like": adjoint_rule(lambda g, z, x, y: g.sum_like(x), None),
    "reshape": adjoint_rule(lambda g, z, x, shape: g.reshape_like(x)),
    "reshape_like": adjoint_rule(lambda g, z, x, y: g.reshape_like(x), None),
    "permute_dims": adjoint_rule(_permute_dims_adjoint),
    "squeeze": adjoint_rule(lambda g, z, x, axis: g.reshape_like(x)),
    "roll": adjoint_rule(_roll_adjoint),
    "concat": _concat_rule,
    "windows": movement_rule("windows"),
}
