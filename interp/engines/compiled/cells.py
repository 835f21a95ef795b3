"""Code generation for write-once cells: an array of all values, and an array of flags that say which cells are full.

Array values of static size are stored one after another; others are stored as references (jit.intrinsics). A handle is
the pair of the two arrays, so it can be passed like any value; both are freed with the last handle. Its text is `(v1,
v2)`, with two variables: a loop that unpacks a handle at each use takes three times as long.

Sequential code can read only cells that it has filled before. Other cases are left to a token engine: a read of an
empty cell, a second put to a cell, and a trap whose message describes a handle.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from ....core import dtypes
from ....core.program.program import Node
from ....core.types import Type, element_type
from ..jit.kernels import LANE_TYPES, lane
from .data_movement import product_expression
from .elementwise import emit_element_copy, emit_empty, flat_expression
from .emitter import FunctionEmitter, TypedExpression
from .fusion import exceeds_max_elements
from .layout import axes_tuple, has_unknown_size, numba_dtype, numpy_dtype

MAX_REFERENCES = 2**24
"""The maximal number of references to arrays: all are initialised when the cells are allocated, without a check of
limits."""


class CellArrays(NamedTuple):
    """The names of a handle's two arrays, and the type of a cell's value."""

    values: str
    full: str
    element_type: Type

    def dereference(self, index: str) -> str:
        """Text of the array in a cell, where cells hold references."""
        kind = numpy_dtype(numba_dtype(self.element_type.dtype))
        return f"m.dereference({self.values}, {index}, {kind}, {axes_tuple(self.element_type)})"


def cell_arrays(handle: TypedExpression) -> CellArrays:
    """The two arrays of a handle."""
    values, full = handle.text[1:-1].split(", ")
    return CellArrays(values, full, element_type(handle.type))


def emit_cells(emitter: FunctionEmitter, node: Node, inputs: Sequence[TypedExpression]) -> str:
    """Emit the allocation of cells. More cells than an array may have elements, or more than MAX_REFERENCES references,
    are left to a token engine, where only full cells take memory."""
    count, element = inputs[0].text, element_type(node.results[0].type)
    emitter.emit_trap(node, inputs, f"{count} < 0")
    element_sizes = () if has_unknown_size(element) else element.shape or ()
    sizes = [count, *map(str, element_sizes)]
    emitter.emit_fallback_exit(exceeds_max_elements(sizes))
    if has_unknown_size(element):
        emitter.emit_fallback_exit(f"{count} > {MAX_REFERENCES}")
        emitter.emit_memory_charge([str(2 + len(element.shape or ())), count], dtypes.int64)
        values = emitter.assign(f"m.allocate_references({count}, {axes_tuple(element)})")
    else:
        values = emit_empty(emitter, sizes, Type(element.dtype, (None, *element_sizes)))
    return f"({values}, {emitter.assign(f'e.zeros(({count},), np.bool_)')})"


def emit_put(emitter: FunctionEmitter, node: Node, inputs: Sequence[TypedExpression]) -> str:
    """Emit a put."""
    (values, full, cell_type), value = cell_arrays(inputs[0]), inputs[2].text
    position = emit_cell_index(emitter, full, inputs[1])
    emitter.emit_fallback_exit(f"{full}[{position}]")
    if has_unknown_size(cell_type):
        emitter.emit(f"m.set_reference({values}, int64({position}), {value})")
    elif cell_type.is_scalar:
        emitter.emit(f"{values}[{position}] = {value}")
    else:
        cell = subarray_expression(values, position, [product_expression(list(map(str, cell_type.shape or ())))])
        emit_element_copy(emitter, emitter.assign(cell), value)
    emitter.emit(f"{full}[{position}] = True")
    return inputs[0].text


def subarray_expression(values: str, position: str, sizes: Sequence[str]) -> str:
    """Text of the array of these sizes in a cell."""
    begin = product_expression([f"int64({position})", *sizes])
    return f"e.subarray({values}, {begin}, ({', '.join(sizes)},))"


def emit_get(emitter: FunctionEmitter, node: Node, inputs: Sequence[TypedExpression]) -> str:
    """Emit a get: the result is a scalar, or an array that is never written again."""
    cells = cell_arrays(inputs[0])
    position = emit_cell_index(emitter, cells.full, inputs[1])
    emitter.emit_fallback_exit(f"not {cells.full}[{position}]")
    if has_unknown_size(cells.element_type):
        return emitter.assign(cells.dereference(f"int64({position})"))
    if cells.element_type.is_scalar:
        return emitter.assign(f"{LANE_TYPES[lane(cells.element_type.dtype)]}({cells.values}[{position}])")
    sizes = list(map(str, cells.element_type.shape or ()))
    return emitter.assign(subarray_expression(cells.values, position, sizes))


def emit_cell_index(emitter: FunctionEmitter, full: str, index: TypedExpression) -> str:
    """Text of a cell's index: unsigned, so that one comparison finds negative ones, too."""
    position = emitter.assign(f"uint64({index.text})")
    emitter.emit_fallback_exit(f"{position} >= uint64({full}.size)")
    return position


def emit_collect(emitter: FunctionEmitter, node: Node, inputs: Sequence[TypedExpression]) -> str:
    """Emit a collect: the result is the array of all values where there is one, since it is never written again."""
    cells = cell_arrays(inputs[0])
    emitter.emit_fallback_exit(f"not e.are_all_true({cells.full})")
    return emit_cell_stack(emitter, node, cells) if has_unknown_size(cells.element_type) else cells.values


def emit_cell_stack(emitter: FunctionEmitter, node: Node, cells: CellArrays) -> str:
    """Emit a stack of the referenced arrays, which must have one shape; without cells, dynamic sizes are 0."""
    count, sizes, index = emitter.assign(f"{cells.full}.size"), list[str](), emitter.fresh_name("i")
    for axis, static_size in enumerate(cells.element_type.shape or ()):
        first_size = f"{cells.values}[0, {2 + axis}]"
        sizes.append(str(static_size) if static_size is not None else emitter.assign(f"{first_size} if {count} else 0"))
    with emitter.block(f"for {index} in range({count}):"):
        for axis, size in enumerate(sizes):
            emitter.emit_fallback_exit(f"{cells.values}[{index}, {2 + axis}] != {size}")
    emitter.emit_fallback_exit(exceeds_max_elements([count, *sizes]))
    stack = emit_empty(emitter, [count, *sizes], node.results[0].type)
    flat = emitter.assign(flat_expression(stack))
    with emitter.block(f"for {index} in range({count}):"):
        array = emitter.assign(cells.dereference(index))
        emit_element_copy(emitter, flat, array, f"{index} * {array}.size")
    return stack


def emit_cell_zeros(emitter: FunctionEmitter, node: Node, inputs: Sequence[TypedExpression]) -> str:
    """Emit an array of zeros, one for each cell."""
    result = node.results[0].type
    sizes = [f"{cell_arrays(inputs[0]).full}.size", *map(str, (result.shape or ())[1:])]
    emitter.emit_size_check(node, inputs, sizes)
    emitter.emit_memory_charge(sizes, result.dtype)
    return emitter.assign(f"e.zeros(({', '.join(sizes)},), {numpy_dtype(numba_dtype(result.dtype))})")


CELL_EMITTERS: dict[str, Callable[[FunctionEmitter, Node, Sequence[TypedExpression]], str]] = {
    "cells": emit_cells,
    "put": emit_put,
    "get": emit_get,
    "collect": emit_collect,
    "cell_zeros": emit_cell_zeros,
}
"""The emitter of each op on cells."""
