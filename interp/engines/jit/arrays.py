"""Arrays in compiled code, made in a few instructions: NumPy's own functions, as numba compiles them, ask much that is
known here, and take longer to compile.
"""

from __future__ import annotations

import ctypes
import sys
from collections.abc import Sequence
from typing import Any

from llvmlite import ir
from numba import int64, types
from numba.core import cgutils
from numba.extending import intrinsic
from numba.np.arrayobj import populate_array

_WORD, _BYTES = ir.IntType(64), ir.IntType(8).as_pointer()
_ALIGNMENT = 32
_MALLOPT_TRIM_THRESHOLD, _MALLOPT_MMAP_THRESHOLD = (-1, 2**28), (-3, 2**25)
"""What the GNU C library calls how much free memory it keeps, and from which size on it asks the system each time."""


def _tune_malloc() -> None:
    """Let arrays be made of memory that others have left: to get it from the system, and fill it with zeros, took half
    of the time of a training step."""
    change = getattr(ctypes.CDLL(None), "mallopt", None) if sys.platform == "linux" else None
    if change is not None:
        change(*_MALLOPT_TRIM_THRESHOLD)
        change(*_MALLOPT_MMAP_THRESHOLD)


_tune_malloc()


def _build_array(context: Any, builder: Any, kind: Any, data: Any, shape: Sequence[Any], owner: Any) -> Any:
    """An array of elements in C order."""
    made = context.make_array(kind)(context, builder)
    itemsize = _WORD(context.get_abi_sizeof(context.get_data_type(kind.dtype)))
    strides = [itemsize]
    for size in reversed(shape[1:]):
        strides.insert(0, builder.mul(strides[0], size))
    data = builder.bitcast(data, made.data.type)
    populate_array(made, data=data, shape=shape, strides=strides, itemsize=itemsize, meminfo=owner)  # type: ignore[no-untyped-call]
    return made._getvalue()


def _shape_type(count: int) -> Any:
    return types.UniTuple(int64, count)  # type: ignore[no-untyped-call]


@intrinsic
def empty(typing: Any, sizes: Any, dtype: Any) -> Any:
    """An array of these sizes, of which it is known that they are not too large; what is in it means nothing."""
    made = types.Array(dtype.dtype, len(sizes), "C")

    def build(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        shape = [builder.extract_value(arguments[0], axis) for axis in range(len(sizes))]
        size = _WORD(context.get_abi_sizeof(context.get_data_type(made.dtype)))
        for each in shape:
            size = builder.mul(size, each)
        owner = context.nrt.meminfo_alloc_aligned(builder, size, _ALIGNMENT)
        return _build_array(context, builder, made, context.nrt.meminfo_data(builder, owner), shape, owner)

    return made(_shape_type(len(sizes)), dtype), build


@intrinsic
def pack_words(typing: Any, values: Any) -> Any:
    """The address of a word for each of these values, of an array that of its elements: they are there as long as the
    function runs. One call instead of one for each: numba takes as long for a call as for all else in it."""
    kinds = list(map(types.unliteral, values))

    def build(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        block: Any = cgutils.alloca_once(builder, _WORD, len(kinds))  # type: ignore[no-untyped-call]
        for at, kind in enumerate(kinds):
            value = builder.extract_value(arguments[0], at)
            if isinstance(kind, types.Array):
                value = builder.ptrtoint(context.make_array(kind)(context, builder, value).data, _WORD)
            elif kind == types.boolean:
                value = builder.zext(value, _WORD)
            elif kind == types.float64:
                value = builder.bitcast(value, _WORD)
            builder.store(value, builder.gep(block, [_WORD(at)]))
        return builder.ptrtoint(block, _WORD)

    return int64(values), build


@intrinsic
def null_array(typing: Any, dtype: Any, like: Any) -> Any:
    """An array without elements; `like` has a number for each axis."""
    made = types.Array(dtype.dtype, len(like), "C")

    def build(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return _build_array(context, builder, made, _BYTES(None), [_WORD(0)] * len(like), _BYTES(None))

    return made(dtype, like), build


@intrinsic
def subarray(typing: Any, array: Any, begin: Any, sizes: Any) -> Any:
    """Elements of an array from a number on, as an array of these sizes: nothing is copied."""
    made = types.Array(array.dtype, len(sizes), "C")

    def build(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        whole = context.make_array(array)(context, builder, arguments[0])
        shape = [builder.extract_value(arguments[2], axis) for axis in range(len(sizes))]
        data = builder.gep(whole.data, [arguments[1]])
        context.nrt.incref(builder, array, arguments[0])
        return _build_array(context, builder, made, data, shape, whole.meminfo)

    return made(array, int64, _shape_type(len(sizes))), build


@intrinsic
def array_in_block(typing: Any, block: Any, begin: Any, sizes: Any, dtype: Any) -> Any:
    """An array of these sizes in a block of bytes, from a number on: the block is there as long as it is."""
    made = types.Array(dtype.dtype, len(sizes), "C")

    def build(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        whole = context.make_array(block)(context, builder, arguments[0])
        shape = [builder.extract_value(arguments[2], axis) for axis in range(len(sizes))]
        context.nrt.incref(builder, block, arguments[0])
        return _build_array(context, builder, made, builder.gep(whole.data, [arguments[1]]), shape, whole.meminfo)

    return made(block, int64, _shape_type(len(sizes)), dtype), build


@intrinsic
def lazy_zeros(typing: Any, sizes: Any, dtype: Any) -> Any:
    """An array of zeros that are not written: it has these sizes, and no elements."""
    made = types.Array(dtype.dtype, len(sizes), "C")

    def build(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        shape = [builder.extract_value(arguments[0], axis) for axis in range(len(sizes))]
        return _build_array(context, builder, made, _BYTES(None), shape, _BYTES(None))

    return made(_shape_type(len(sizes)), dtype), build


def _emit_is_null(context: Any, builder: Any, kind: Any, array: Any) -> Any:
    data = context.make_array(kind)(context, builder, array).data
    return builder.icmp_unsigned("==", builder.ptrtoint(data, _WORD), _WORD(0))


@intrinsic
def is_lazy(typing: Any, array: Any) -> Any:
    """Whether zeros are not written."""

    def build(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return _emit_is_null(context, builder, array, arguments[0])

    return types.boolean(array), build


def _emit_allocate_if_lazy(context: Any, builder: Any, kind: Any, given: Any, byte: int | None) -> Any:
    """An array; of one that is blank one with elements of such bytes, or of any."""
    before = builder.append_basic_block("blank")
    there, after = builder.append_basic_block("there"), builder.append_basic_block("written")
    builder.cbranch(_emit_is_null(context, builder, kind, given), before, there)
    builder.position_at_end(before)
    whole = context.make_array(kind)(context, builder, given)
    shape = [builder.extract_value(whole.shape, axis) for axis in range(kind.ndim)]
    size = builder.mul(whole.nitems, whole.itemsize)
    owner = context.nrt.meminfo_alloc_aligned(builder, size, _ALIGNMENT)
    data = context.nrt.meminfo_data(builder, owner)
    if byte is not None:
        cgutils.memset(builder, data, size, byte)  # type: ignore[no-untyped-call]
    made = _build_array(context, builder, kind, data, shape, owner)
    ends = builder.block
    builder.branch(after)
    builder.position_at_end(there)
    context.nrt.incref(builder, kind, given)
    builder.branch(after)
    builder.position_at_end(after)
    found = builder.phi(made.type)
    found.add_incoming(made, ends)
    found.add_incoming(given, there)
    return found


@intrinsic
def materialize(typing: Any, array: Any) -> Any:
    """An array; of one that is blank, one whose zeros are written."""

    def build(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return _emit_allocate_if_lazy(context, builder, array, arguments[0], 0)

    return array(array), build


@intrinsic
def materialize_uninitialized(typing: Any, array: Any) -> Any:
    """An array; of one that is blank, one of these sizes, in which anything may be."""

    def build(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return _emit_allocate_if_lazy(context, builder, array, arguments[0], None)

    return array(array), build
