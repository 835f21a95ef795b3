"""Code generation for write-once cells: an array of all values, and an array of flags that say which cells are full.

Array values of static size are stored one after another; others are stored as references (jit.machine). A handle is
the pair of the two arrays, so it can be passed like any value; both are freed with the last handle. Its text is `(v1,
v2)`, of two variables: a loop that unpacked it at each use took three times as long.

Sequential code knows only the cells that it has filled so far. Cases that need more are left to a token engine: a cell
that is read while empty, a second put to a cell, and a trap whose message describes a handle.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from ....core.program.program import Node
from ....core.types import Type, element_type
from ..jit.kernels import LANE_TYPES, lane
from .chains import exceeds_max_elements
from .elementwise import ArrayEmitter, TypedExpression, emit_empty
from .layout import axes_tuple, has_unknown_size, numba_dtype, numpy_dtype

MAX_REFERENCES = 2**24
"""The most references to arrays: all are initialised when the cells are allocated, without a check of limits."""


class _CellArrays(NamedTuple):
    """The text of a handle's two arrays, and the type of a cell's value."""

    values: str
    full: str
    element_type: Type

    def dereference(self, at: str) -> str:
        """Text of the array in a cell, where cells hold references."""
        kind = numpy_dtype(numba_dtype(self.element_type.dtype))
        return f"m.dereference({self.values}, {at}, {kind}, {axes_tuple(self.element_type)})"


def _cell_arrays(handle: TypedExpression) -> _CellArrays:
    values, full = handle.text[1:-1].split(", ")
    return _CellArrays(values, full, element_type(handle.type))


def _emit_cells(writer: ArrayEmitter, node: Node, inputs: Sequence[TypedExpression]) -> str:
    """Emit the allocation of cells. More cells than an array may have elements, or more than MAX_REFERENCES references,
    are left to a token engine, where only full cells take memory."""
    count, of = inputs[0].text, element_type(node.results[0].type)
    writer.emit_trap(node, inputs, f"{count} < 0")
    known = () if has_unknown_size(of) else of.shape or ()
    sizes = [count, *map(str, known)]
    writer.emit_fallback_exit(exceeds_max_elements(sizes))
    if has_unknown_size(of):
        writer.emit_fallback_exit(f"{count} > {MAX_REFERENCES}")
        values = writer.assign(f"m.allocate_references({count}, {axes_tuple(of)})")
    else:
        values = emit_empty(writer, sizes, Type(of.dtype, (None, *known)))
    return f"({values}, {writer.assign(f'np.zeros({count}, np.bool_)')})"


def _emit_put(writer: ArrayEmitter, node: Node, inputs: Sequence[TypedExpression]) -> str:
    (values, full, of), value = _cell_arrays(inputs[0]), inputs[2].text
    at = _emit_cell_index(writer, full, inputs[1])
    writer.emit_fallback_exit(f"{full}[{at}]")
    if has_unknown_size(of):
        writer.emit(f"m.set_reference({values}, int64({at}), {value})")
    elif of.is_scalar:
        writer.emit(f"{values}[{at}] = {value}")
    else:
        _emit_copy(writer, writer.assign(f"{values}[{at}].reshape(-1)"), "0", value)
    writer.emit(f"{full}[{at}] = True")
    return inputs[0].text


def _emit_copy(writer: ArrayEmitter, into: str, begin: str, array: str) -> None:
    """Emit a copy of all elements of an array to an offset."""
    flat, index = writer.assign(f"{array}.reshape(-1)"), writer.fresh_name("i")
    with writer.block(f"for {index} in range({flat}.size):"):
        writer.emit(f"{into}[{begin} + {index}] = {flat}[{index}]")


def _emit_get(writer: ArrayEmitter, node: Node, inputs: Sequence[TypedExpression]) -> str:
    """Emit a get: the result is a scalar, or an array that is never written again."""
    cells = _cell_arrays(inputs[0])
    at = _emit_cell_index(writer, cells.full, inputs[1])
    writer.emit_fallback_exit(f"not {cells.full}[{at}]")
    if has_unknown_size(cells.element_type):
        return writer.assign(cells.dereference(f"int64({at})"))
    text = f"{cells.values}[{at}]"
    return writer.assign(
        f"{LANE_TYPES[lane(cells.element_type.dtype)]}({text})" if cells.element_type.is_scalar else text
    )


def _emit_cell_index(writer: ArrayEmitter, full: str, index: TypedExpression) -> str:
    """Text of a cell's index: unsigned, so that numba emits no test for negative indices."""
    at = writer.assign(f"uint64({index.text})")
    writer.emit_fallback_exit(f"{at} >= uint64({full}.size)")
    return at


def _emit_collect(writer: ArrayEmitter, node: Node, inputs: Sequence[TypedExpression]) -> str:
    """Emit a collect: the result is the array of all values where there is one, since it is never written again."""
    cells = _cell_arrays(inputs[0])
    writer.emit_fallback_exit(f"not {cells.full}.all()")
    return _emit_stack(writer, node, cells) if has_unknown_size(cells.element_type) else cells.values


def _emit_stack(writer: ArrayEmitter, node: Node, cells: _CellArrays) -> str:
    """Emit a stack of the referenced arrays, which must have one shape; without cells, dynamic sizes are 0."""
    count, sizes, index = writer.assign(f"{cells.full}.size"), list[str](), writer.fresh_name("i")
    for axis, known in enumerate(cells.element_type.shape or ()):
        where = f"{cells.values}[0, {2 + axis}]"
        sizes.append(str(known) if known is not None else writer.assign(f"{where} if {count} else 0"))
    with writer.block(f"for {index} in range({count}):"):
        for axis, size in enumerate(sizes):
            writer.emit_fallback_exit(f"{cells.values}[{index}, {2 + axis}] != {size}")
    writer.emit_fallback_exit(exceeds_max_elements([count, *sizes]))
    made = emit_empty(writer, [count, *sizes], node.results[0].type)
    flat = writer.assign(f"{made}.reshape(-1)")
    with writer.block(f"for {index} in range({count}):"):
        array = writer.assign(cells.dereference(index))
        _emit_copy(writer, flat, f"{index} * {array}.size", array)
    return made


def _emit_cell_zeros(writer: ArrayEmitter, node: Node, inputs: Sequence[TypedExpression]) -> str:
    """Emit an array of zeros, one for each cell."""
    made = node.results[0].type
    sizes = [f"{_cell_arrays(inputs[0]).full}.size", *map(str, (made.shape or ())[1:])]
    if exceeds_max_elements(sizes) != "False":
        writer.emit_memory_exit(node, inputs, exceeds_max_elements(sizes))
    return writer.assign(f"np.zeros(({', '.join(sizes)},), {numpy_dtype(numba_dtype(made.dtype))})")


EMITTERS: dict[str, Callable[[ArrayEmitter, Node, Sequence[TypedExpression]], str]] = {
    "cells": _emit_cells,
    "put": _emit_put,
    "get": _emit_get,
    "collect": _emit_collect,
    "cell_zeros": _emit_cell_zeros,
}
"""The emitter of each op on cells."""
