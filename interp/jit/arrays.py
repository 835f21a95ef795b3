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
_ALIGNED = 32
_TRIM, _MMAP = (-1, 2**28), (-3, 2**25)
"""What the GNU C library calls how much free memory it keeps, and from which size on it asks the system each time."""


def _keep_memory() -> None:
    """Let arrays be made of memory that others have left: to get it from the system, and fill it with zeros, took half
    of the time of a training step."""
    change = getattr(ctypes.CDLL(None), "mallopt", None) if sys.platform == "linux" else None
    if change is not None:
        change(*_TRIM)
        change(*_MMAP)


_keep_memory()


def _filled(context: Any, builder: Any, kind: Any, data: Any, shape: Sequence[Any], owner: Any) -> Any:
    """An array of elements in C order."""
    made = context.make_array(kind)(context, builder)
    itemsize = _WORD(context.get_abi_sizeof(context.get_data_type(kind.dtype)))
    strides = [itemsize]
    for size in reversed(shape[1:]):
        strides.insert(0, builder.mul(strides[0], size))
    data = builder.bitcast(data, made.data.type)
    populate_array(made, data=data, shape=shape, strides=strides, itemsize=itemsize, meminfo=owner)  # type: ignore[no-untyped-call]
    return made._getvalue()


def _shape(count: int) -> Any:
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
        owner = context.nrt.meminfo_alloc_aligned(builder, size, _ALIGNED)
        return _filled(context, builder, made, context.nrt.meminfo_data(builder, owner), shape, owner)

    return made(_shape(len(sizes)), dtype), build


@intrinsic(prefer_literal=True)
def words(typing: Any, count: Any) -> Any:
    """The address of so many words, a number that is written here: they are there as long as the function runs."""
    many = count.literal_value

    def build(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.ptrtoint(cgutils.alloca_once(builder, _WORD, many), _WORD)  # type: ignore[no-untyped-call]

    return int64(count), build


@intrinsic
def nothing(typing: Any, dtype: Any, like: Any) -> Any:
    """An array without elements; `like` has a number for each axis."""
    made = types.Array(dtype.dtype, len(like), "C")

    def build(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return _filled(context, builder, made, _BYTES(None), [_WORD(0)] * len(like), _BYTES(None))

    return made(dtype, like), build


@intrinsic
def part(typing: Any, array: Any, begin: Any, sizes: Any) -> Any:
    """Elements of an array from a number on, as an array of these sizes: nothing is copied."""
    made = types.Array(array.dtype, len(sizes), "C")

    def build(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        whole = context.make_array(array)(context, builder, arguments[0])
        shape = [builder.extract_value(arguments[2], axis) for axis in range(len(sizes))]
        data = builder.gep(whole.data, [arguments[1]])
        context.nrt.incref(builder, array, arguments[0])
        return _filled(context, builder, made, data, shape, whole.meminfo)

    return made(array, int64, _shape(len(sizes))), build
