"""Rows of words in compiled code, each of which refers to an array of some shape, or to none yet.

A row is the address of the array's reference count, that of its elements, and its sizes. It owns a reference, which is
released when the block of rows is freed.
"""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba import int64, types
from numba.core import cgutils
from numba.extending import intrinsic
from numba.np.arrayobj import populate_array

_WORD, _BYTES = ir.IntType(64), ir.IntType(8).as_pointer()
_HEADER_WORDS = 2
"""The words of a row before the sizes."""


@intrinsic
def allocate_references(typing: Any, count: Any, like: Any) -> Any:
    """Allocate rows that refer to nothing, for arrays with as many axes as `like` has numbers."""
    width, made = _HEADER_WORDS + len(like), types.Array(int64, 2, "C")

    def build(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        words = builder.mul(arguments[0], _WORD(width))
        size = builder.mul(words, _WORD(8))
        counter = context.nrt.meminfo_alloc_dtor(builder, size, _release_function(context, builder.module, width))
        data = context.nrt.meminfo_data(builder, counter)
        cgutils.memset(builder, data, size, 0)  # type: ignore[no-untyped-call]
        array = context.make_array(made)(context, builder)
        populate_array(  # type: ignore[no-untyped-call]
            array,
            data=builder.bitcast(data, _WORD.as_pointer()),
            shape=[arguments[0], _WORD(width)],
            strides=[_WORD(8 * width), _WORD(8)],
            itemsize=_WORD(8),
            meminfo=counter,
        )
        return array._getvalue()

    return made(int64, like), build


def _release_function(context: Any, module: Any, width: int) -> Any:
    """The destructor of a block: it releases the references of its rows."""
    kind = ir.FunctionType(ir.VoidType(), [_BYTES, _WORD, _BYTES])
    function: Any = cgutils.get_or_insert_function(module, kind, f"tagloom_release_{width}")  # type: ignore[no-untyped-call]
    if function.is_declaration:
        function.linkage = "linkonce_odr"
        builder = ir.IRBuilder(function.append_basic_block())
        words = builder.bitcast(function.args[0], _WORD.as_pointer())
        count = builder.udiv(function.args[1], _WORD(8 * width))
        with cgutils.for_range(builder, count, intp=_WORD) as loop:
            counter = builder.load(builder.gep(words, [builder.mul(loop.index, _WORD(width))]))
            kept: Any = types.MemInfoPointer(types.voidptr)  # type: ignore[no-untyped-call]
            context.nrt.decref(builder, kept, builder.inttoptr(counter, _BYTES))
        builder.ret_void()
    return function


@intrinsic
def set_reference(typing: Any, rows: Any, at: Any, array: Any) -> Any:
    """Set a row, which refers to nothing yet, to an array."""

    def build(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        write_array(context, builder, _row_pointer(context, builder, rows, arguments), array, arguments[2])
        return context.get_dummy_value()

    return types.void(rows, at, array), build


@intrinsic
def dereference(typing: Any, rows: Any, at: Any, dtype: Any, like: Any) -> Any:
    """The array to which a row refers; `like` has a number for each axis."""
    made = types.Array(dtype.dtype, len(like), "C")

    def build(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        array = read_array(context, builder, _row_pointer(context, builder, rows, arguments), made)
        context.nrt.incref(builder, made, array)
        return array

    return made(rows, at, dtype, like), build


def _row_pointer(context: Any, builder: Any, rows: Any, arguments: Any) -> Any:
    """The address of a row's words."""
    made = context.make_array(rows)(context, builder, arguments[0])
    width = builder.extract_value(made.shape, 1)
    return builder.gep(made.data, [builder.mul(arguments[1], width)])


def write_array(context: Any, builder: Any, row: Any, kind: Any, array: Any) -> None:
    """Write an array into a row, with a reference of its own."""
    made = context.make_array(kind)(context, builder, array)
    context.nrt.incref(builder, kind, array)
    sizes = [builder.extract_value(made.shape, axis) for axis in range(kind.ndim)]
    addresses = [builder.ptrtoint(made.meminfo, _WORD), builder.ptrtoint(made.data, _WORD)]
    for number, word in enumerate([*addresses, *sizes]):
        builder.store(word, builder.gep(row, [_WORD(number)]))


def read_array(context: Any, builder: Any, row: Any, kind: Any) -> Any:
    """Read an array from a row, without taking another reference."""
    words = [builder.load(builder.gep(row, [_WORD(number)])) for number in range(_HEADER_WORDS + kind.ndim)]
    array = context.make_array(kind)(context, builder)
    itemsize = _WORD(context.get_abi_sizeof(context.get_data_type(kind.dtype)))
    strides = [itemsize]
    for size in reversed(words[_HEADER_WORDS + 1 :]):
        strides.insert(0, builder.mul(strides[0], size))
    populate_array(  # type: ignore[no-untyped-call]
        array,
        data=builder.inttoptr(words[1], array.data.type),
        shape=words[_HEADER_WORDS:],
        strides=strides,
        itemsize=itemsize,
        meminfo=builder.inttoptr(words[0], _BYTES),
    )
    return array._getvalue()
