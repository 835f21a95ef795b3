"""Array construction in compiled code, in a few instructions each: numba's versions of NumPy's functions make checks
that are not needed here, and take longer to compile."""

from __future__ import annotations

import base64
import ctypes
import sys
from collections.abc import Sequence
from typing import Any

import numpy as np
from llvmlite import ir
from numba import int64, types
from numba.core import cgutils

from .intrinsic import intrinsic
from .memory import (
    allocate_bytes,
    array_field,
    build_array,
    emit_data_address,
    emit_reference_change,
    emit_word_block,
    item_size,
    kernel,
    multiply,
    set_array_field,
    tuple_element,
)

_WORD, _BYTES = ir.IntType(64), ir.IntType(8).as_pointer()
_ALIGNMENT = 32
_MALLOPT_TRIM_THRESHOLD, _MALLOPT_MMAP_THRESHOLD = (-1, 2**28), (-3, 2**25)
"""The mallopt parameters of the GNU C library: how much free memory it keeps, and the size from which it asks the
system for each block."""


def _tune_malloc() -> None:
    """Let malloc reuse freed memory for arrays: to get it from the system and zero it took half of the time of a
    training step."""
    change = getattr(ctypes.CDLL(None), "mallopt", None) if sys.platform == "linux" else None
    if change is not None:
        change(*_MALLOPT_TRIM_THRESHOLD)
        change(*_MALLOPT_MMAP_THRESHOLD)


_tune_malloc()


def decode_array(encoded: str, dtype: str, shape: tuple[int, ...]) -> np.ndarray[Any, Any]:
    """An array from the base64 text of its elements: a constant of a generated module."""
    return np.frombuffer(base64.b64decode(encoded), dtype).reshape(shape)


def allocate(context: Any, builder: Any, kind: Any, shape: Sequence[Any], byte: int | None = None) -> Any:
    """Build a new array, filled with this byte or uninitialized."""
    size = item_size(context, kind)
    for length in shape:
        size = multiply(builder, size, length)
    owner, data = allocate_bytes(context, builder, size, _ALIGNMENT)
    if byte is not None:
        cgutils.memset(builder, data, size, byte)  # type: ignore[no-untyped-call]
    return build_array(context, builder, kind, data, shape, owner)


def _shape_type(count: int) -> Any:
    return types.UniTuple(int64, count)  # type: ignore[no-untyped-call]


@intrinsic
def empty(typing: Any, sizes: Any, dtype: Any) -> Any:
    """An uninitialized array of these sizes, which the caller has checked."""
    array_type = types.Array(dtype.dtype, len(sizes), "C")

    def build(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        shape = [tuple_element(builder, arguments[0], axis) for axis in range(len(sizes))]
        return allocate(context, builder, array_type, shape)

    return array_type(_shape_type(len(sizes)), dtype), build


@intrinsic
def zeros(typing: Any, sizes: Any, dtype: Any) -> Any:
    """An array of zeros, of these sizes, which the caller has checked."""
    array_type = types.Array(dtype.dtype, len(sizes), "C")

    def build(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        shape = [tuple_element(builder, arguments[0], axis) for axis in range(len(sizes))]
        return allocate(context, builder, array_type, shape, 0)

    return array_type(_shape_type(len(sizes)), dtype), build


@intrinsic
def pack_words(typing: Any, values: Any) -> Any:
    """The address of an array of words, one for each value; for an array, the address of its elements. The words live
    until the function returns."""

    def build(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.ptrtoint(emit_word_block(builder, emit_words(context, builder, values, arguments[0])), _WORD)

    return int64(values), build


def emit_words(context: Any, builder: Any, kinds: Any, values: Any) -> list[Any]:
    """Emit a word for each item of a tuple; for an array, the address of its elements."""
    words = []
    for index, kind in enumerate(map(types.unliteral, kinds)):
        value = tuple_element(builder, values, index)
        if isinstance(kind, types.Array):
            value = emit_data_address(context, builder, kind, value)
        elif kind == types.boolean:
            value = builder.zext(value, _WORD)
        elif kind == types.float64:
            value = builder.bitcast(value, _WORD)
        words.append(value)
    return words


@intrinsic
def copy_constant(typing: Any, array: Any) -> Any:
    """A copy of a constant of the module."""
    array_type = types.Array(array.dtype, array.ndim, "C")

    def build(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        source, count, shape = (
            array_field(context, builder, array, arguments[0], name) for name in ("data", "nitems", "shape")
        )
        sizes = [builder.extract_value(shape, axis) for axis in range(array.ndim)]
        copy = allocate(context, builder, array_type, sizes)
        data = array_field(context, builder, array_type, copy, "data")
        cgutils.raw_memcpy(builder, data, source, count, item_size(context, array))  # type: ignore[no-untyped-call]
        return copy

    return array_type(array), build


@kernel
def are_all_true(flags):  # type: ignore[no-untyped-def]
    """Whether all elements of an array are true."""
    count = 0
    for i in range(flags.size):
        count += flags[i]
    return count == flags.size


@intrinsic
def null_array(typing: Any, dtype: Any, like: Any) -> Any:
    """An array without elements; `like` has a number for each axis."""
    array_type = types.Array(dtype.dtype, len(like), "C")

    def build(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return build_array(context, builder, array_type, _BYTES(None), [_WORD(0)] * len(like), _BYTES(None))

    return array_type(dtype, like), build


@intrinsic
def subarray(typing: Any, array: Any, begin: Any, sizes: Any) -> Any:
    """A view of contiguous elements, from an index on, with these sizes."""
    array_type = types.Array(array.dtype, len(sizes), "C")

    def build(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        data, owner = (array_field(context, builder, array, arguments[0], name) for name in ("data", "meminfo"))
        shape = [tuple_element(builder, arguments[2], axis) for axis in range(len(sizes))]
        emit_reference_change(context, builder, array, arguments[0], "NRT_incref")
        return build_array(context, builder, array_type, builder.gep(data, [arguments[1]]), shape, owner)

    return array_type(array, int64, _shape_type(len(sizes))), build


@kernel
def slice_range(start, stop, step, size, has_start, has_stop):  # type: ignore[no-untyped-def]
    """The first index and the number of elements of a slice of an axis, as Python's `slice.indices` has them."""
    low, high = (0, size) if step > 0 else (-1, size - 1)
    first, last = (low, high) if step > 0 else (high, low)
    if has_start:
        first = min(max(start + size if start < 0 else start, low), high)
    if has_stop:
        last = min(max(stop + size if stop < 0 else stop, low), high)
    count = (last - first - 1 if step > 0 else last - first + 1) // step + 1
    return first, max(count, 0)


@intrinsic
def array_in_block(typing: Any, block: Any, begin: Any, sizes: Any, dtype: Any) -> Any:
    """An array of these sizes inside a block of bytes, from an offset on; it keeps the block alive."""
    array_type = types.Array(dtype.dtype, len(sizes), "C")

    def build(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        data, owner = (array_field(context, builder, block, arguments[0], name) for name in ("data", "meminfo"))
        shape = [tuple_element(builder, arguments[2], axis) for axis in range(len(sizes))]
        emit_reference_change(context, builder, block, arguments[0], "NRT_incref")
        return build_array(context, builder, array_type, builder.gep(data, [arguments[1]]), shape, owner)

    return array_type(block, int64, _shape_type(len(sizes)), dtype), build


@intrinsic
def lazy_zeros(typing: Any, sizes: Any, dtype: Any) -> Any:
    """Lazy zeros: an array with these sizes and no elements."""
    array_type = types.Array(dtype.dtype, len(sizes), "C")

    def build(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        shape = [tuple_element(builder, arguments[0], axis) for axis in range(len(sizes))]
        return build_array(context, builder, array_type, _BYTES(None), shape, _BYTES(None))

    return array_type(_shape_type(len(sizes)), dtype), build


@intrinsic
def transfer(typing: Any, array: Any) -> Any:
    """An argument that passes a reference to the callee, which takes it with `receive`. If this was the last use of the
    array, the callee owns it, and frees it after its own last use; otherwise it would live until the call returns.

    The owner of the elements is in the field `parent`, which numba does not count. The count is changed without numba's
    function, so that numba does not remove the change together with a later one.
    """

    def build(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        owner = array_field(context, builder, array, arguments[0], "meminfo")
        has_owner = builder.icmp_unsigned("!=", builder.ptrtoint(owner, _WORD), _WORD(0))
        with builder.if_then(has_owner):
            builder.atomic_rmw("add", builder.bitcast(owner, _WORD.as_pointer()), _WORD(1), "monotonic")
        orphan = set_array_field(context, builder, array, arguments[0], "meminfo", _BYTES(None))
        return set_array_field(context, builder, array, orphan, "parent", owner)

    return array(array), build


@intrinsic
def receive(typing: Any, array: Any) -> Any:
    """An array parameter, with the reference that a caller passed by `transfer`, if it did."""

    def build(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        emit_reference_change(
            context, builder, array, arguments[0], "NRT_incref"
        )  # of an array that was not transferred
        owner, parent = (array_field(context, builder, array, arguments[0], name) for name in ("meminfo", "parent"))
        is_transferred = builder.icmp_unsigned("!=", builder.ptrtoint(parent, _WORD), _WORD(0))
        owner = builder.select(is_transferred, parent, owner)
        received = set_array_field(context, builder, array, arguments[0], "meminfo", owner)
        return set_array_field(context, builder, array, received, "parent", _BYTES(None))

    return array(array), build


def emit_is_null(context: Any, builder: Any, kind: Any, array: Any) -> Any:
    """Emit the test whether an array has no elements in memory."""
    return builder.icmp_unsigned("==", emit_data_address(context, builder, kind, array), _WORD(0))


@intrinsic
def is_lazy(typing: Any, array: Any) -> Any:
    """Whether an array is lazy zeros."""

    def build(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return emit_is_null(context, builder, array, arguments[0])

    return types.boolean(array), build


def emit_allocate_if_lazy(context: Any, builder: Any, kind: Any, array: Any, byte: int | None) -> Any:
    """The array itself; if it is lazy, a new one, filled with this byte or uninitialized."""
    blank_block = builder.append_basic_block("blank")
    present_block, end_block = builder.append_basic_block("there"), builder.append_basic_block("written")
    builder.cbranch(emit_is_null(context, builder, kind, array), blank_block, present_block)
    builder.position_at_end(blank_block)
    lazy_shape = array_field(context, builder, kind, array, "shape")
    shape = [builder.extract_value(lazy_shape, axis) for axis in range(kind.ndim)]
    new_array = allocate(context, builder, kind, shape, byte)
    ends = builder.block
    builder.branch(end_block)
    builder.position_at_end(present_block)
    emit_reference_change(context, builder, kind, array, "NRT_incref")
    builder.branch(end_block)
    builder.position_at_end(end_block)
    result = builder.phi(new_array.type)
    result.add_incoming(new_array, ends)
    result.add_incoming(array, present_block)
    return result


@intrinsic
def materialize(typing: Any, array: Any) -> Any:
    """The array itself; if it is lazy, a new one whose zeros are written."""

    def build(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return emit_allocate_if_lazy(context, builder, array, arguments[0], 0)

    return array(array), build


@intrinsic
def materialize_uninitialized(typing: Any, array: Any) -> Any:
    """The array itself; if it is lazy, a new uninitialized one of the same sizes."""

    def build(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return emit_allocate_if_lazy(context, builder, array, arguments[0], None)

    return array(array), build
