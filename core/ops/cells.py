"""Write-once cells: I-structures (Arvind, Nikhil, Pingali, 1989), TensorFlow's TensorArray.

A get from an empty cell waits for the put: a deferred read. A second put to a cell is a trap of that cell.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, cast

import numpy as np

from .. import dtypes
from ..errors import Invalid, Usage
from ..types import MAX_AXES, Handle, Type, check_element_type, element_type, handle_type
from ..value import Value, normalize
from .attribute import format_attribute
from .effect_op import effect_op
from .op import MAX_ELEMENTS

_INT64 = Type(dtypes.int64)


def cells_type(size: Type, element: Any) -> Type:
    if not isinstance(element, Type):
        raise Invalid(
            "this is no type",
            required="the type of an element, as in element=float64[3]",
            got=format_attribute(element),
        )
    if size != _INT64:
        raise Invalid("the number of cells is of another type", required=_INT64, got=size)
    try:
        return handle_type(check_element_type(element))
    except Usage as error:
        raise Invalid(error.message, required="the type of a number or an array", got=element) from None


def get_type(handle: Type, index: Type) -> Type:
    element = element_type(handle)
    if index != _INT64:
        raise Invalid("the index of a cell is of another type", required=_INT64, got=index)
    return element


def put_type(handle: Type, index: Type, value: Type) -> Type:
    element = get_type(handle, index)
    if not element.admits(value):
        raise Invalid("a cell holds values of another type", required=element, got=value, hint="convert with astype")
    return handle


def cell_zeros_type(handle: Type) -> Type:
    made = collect_type(handle)
    if made.shape is None or None in made.shape[1:]:
        hint = "give cells a type with known sizes, as in tl.cells(n, tl.Array[tl.float64, 3])"
        raise Invalid("the elements have sizes that are not known", required="known sizes", got=handle, hint=hint)
    return made


def collect_type(handle: Type) -> Type:
    element = element_type(handle)
    if element.shape is not None and len(element.shape) >= MAX_AXES:
        raise Invalid("an array of these has too many axes", required=f"{MAX_AXES - 1} at most", got=element)
    return Type(element.dtype, None if element.shape is None else (None, *element.shape))


cells = effect_op(
    "cells",
    arity=1,
    type_rule=cells_type,
    attributes=("element",),
    doc="`n` empty cells, each for one value of type `element`. Traps on a negative n.",
)
put = effect_op(
    "put",
    arity=3,
    type_rule=put_type,
    form="program",
    doc="Put a value into cell `i`; the result is the handle, at once. Traps outside of 0 to n - 1; a second put to a "
    "cell is a trap that names all its puts. In a graph it is a `store`, which has no output.",
)
store = effect_op(
    "store",
    arity=3,
    type_rule=put_type,
    output_count=0,
    form="graph",
    doc="The sink that a `put` of a program becomes: it puts a value into cell `i` and wakes the gets that wait.",
)
get = effect_op(
    "get",
    arity=2,
    type_rule=get_type,
    doc="The value of cell `i`; while the cell is empty the get is deferred. Traps outside of 0 to n - 1.",
)
cell_zeros = effect_op(
    "cell_zeros",
    arity=1,
    type_rule=cell_zeros_type,
    doc="A zero of the type of an element for each cell: the adjoint of cells on which nothing depends.",
)
collect = effect_op(
    "collect",
    arity=1,
    type_rule=collect_type,
    doc="All cells as one array, cell by cell along its first axis, as soon as each has its value. Traps if their "
    "shapes differ.",
)


def size_trap_message(size: int) -> str | None:
    """Why there cannot be this number of cells; None if there can."""
    return "fewer than no cells" if size < 0 else None


def index_trap_message(handle: Handle, index: int) -> str | None:
    """Why there is no cell of this index; None if there is one."""
    return None if 0 <= index < handle.size else f"there is no cell {index} among {handle.size}"


SECOND_PUT_MESSAGE = "is put more than once"
"""The message of the trap of a second put, without the cell."""


def second_put_trap_message(index: int) -> str:
    return f"cell {index} {SECOND_PUT_MESSAGE}"


def shapes_trap_message(values: Sequence[Value]) -> str | None:
    """Why the values of cells make no array; None if they make one. Shapes may differ where the type of an element
    leaves them unknown."""
    shapes = list(dict.fromkeys(np.asarray(value).shape for value in values))
    if len(shapes) > 1:
        return f"cells of shapes {shapes[0]} and {shapes[1]} make no array"
    return f"an array has at most {MAX_AXES} axes" if shapes and len(shapes[0]) >= MAX_AXES else None


def build_zeros(handle: Handle, element: Type) -> Value:
    """The result of `cell_zeros` for elements of known sizes; raises MemoryError as `stack_values` does."""
    shape = (handle.size, *cast("tuple[int, ...]", element.shape))
    if math.prod(filter(None, shape)) > MAX_ELEMENTS:
        raise MemoryError(f"an array of shape {shape}")
    return normalize(np.zeros(shape, element.dtype.numpy), Type(element.dtype, shape))


def stack_values(values: Sequence[Value], element: Type) -> Value:
    """Values of one shape as an array, along a new first axis. Raises MemoryError, before anything is allocated, if it
    would have more than MAX_ELEMENTS, sizes of 0 counting as 1."""
    inner = np.asarray(values[0]).shape if values else tuple(size or 0 for size in element.shape or ())
    if math.prod(filter(None, (len(values), *inner))) > MAX_ELEMENTS:
        raise MemoryError(f"an array of shape {(len(values), *inner)}")
    array = np.array(values, element.dtype.numpy).reshape((len(values), *inner))
    return normalize(array, Type(element.dtype, array.shape))
