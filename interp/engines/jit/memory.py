"""Words of memory by address, for compiled loops: without the bounds, wrapping and reference counts of arrays.

Whoever calls holds the arrays, and their addresses are valid for as long. A machine that indexed arrays instead took
four times as long.
"""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba import types
from numba.extending import intrinsic

_WORD = ir.IntType(64)


def element_pointer(builder: Any, kind: Any, address: Any, index: Any) -> Any:
    """A pointer to the number of this kind with this index, from an address on."""
    return builder.gep(builder.inttoptr(address, kind.as_pointer()), [index])


@intrinsic
def peek(context: Any, address: Any, index: Any) -> Any:
    """The word number `index` from an address on."""

    def emit(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.load(element_pointer(builder, _WORD, *arguments))

    return types.int64(types.int64, types.int64), emit


@intrinsic
def poke(context: Any, address: Any, index: Any, word: Any) -> Any:
    """Write the word number `index` from an address on."""

    def emit(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        address, index, word = arguments
        builder.store(word, element_pointer(builder, _WORD, address, index))
        return context.get_dummy_value()

    return types.void(types.int64, types.int64, types.int64), emit


@intrinsic
def prefetch(context: Any, address: Any, index: Any) -> Any:
    """Tell the processor that the word number `index` from an address on will be wanted soon."""

    def emit(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        byte, number = ir.IntType(8).as_pointer(), ir.IntType(32)
        kind = ir.FunctionType(ir.VoidType(), [byte, number, number, number])
        function = builder.module.declare_intrinsic("llvm.prefetch", [byte], kind)
        pointer = builder.bitcast(element_pointer(builder, _WORD, *arguments), byte)
        builder.call(function, [pointer, number(1), number(3), number(1)])
        return context.get_dummy_value()

    return types.void(types.int64, types.int64), emit


@intrinsic
def unlikely(context: Any, condition: Any) -> Any:
    """The same condition, which is expected not to hold: what is done where it does is kept out of the way."""

    def emit(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        bit = ir.IntType(1)
        kind = ir.FunctionType(bit, [bit, bit])
        expect = builder.module.declare_intrinsic("llvm.expect", [bit], kind)
        return builder.call(expect, [arguments[0], bit(0)])

    return types.boolean(types.boolean), emit


@intrinsic
def peek_unaligned(context: Any, address: Any) -> Any:
    """Eight bytes from an address on, whichever it is, as a word."""

    def emit(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.load(builder.inttoptr(arguments[0], _WORD.as_pointer()), align=1)

    return types.int64(types.int64), emit


@intrinsic
def poke_unaligned(context: Any, address: Any, word: Any) -> Any:
    """Write the eight bytes of a word from an address on, whichever it is."""

    def emit(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        address, word = arguments
        builder.store(word, builder.inttoptr(address, _WORD.as_pointer()), align=1)
        return context.get_dummy_value()

    return types.void(types.int64, types.int64), emit


def _atomic_intrinsic(change: Any) -> Any:
    """An intrinsic on a word that other threads read and write; `change` emits what gives its result."""

    @intrinsic
    def operation(context: Any, address: Any, index: Any, word: Any) -> Any:
        def emit(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            return change(builder, element_pointer(builder, _WORD, *arguments[:2]), arguments[2])

        return types.int64(types.int64, types.int64, types.int64), emit

    return operation


def _emit_atomic_store(builder: Any, pointer: Any, word: Any) -> Any:
    builder.store_atomic(word, pointer, "seq_cst", 8)
    return word


atomic_store: Any = _atomic_intrinsic(_emit_atomic_store)
"""Write a word; who reads it with `atomic_load` sees all that was written before."""
atomic_exchange: Any = _atomic_intrinsic(
    lambda builder, pointer, word: builder.atomic_rmw("xchg", pointer, word, "seq_cst")
)
"""Write a word; what it was."""


@intrinsic
def atomic_load(context: Any, address: Any, index: Any) -> Any:
    """A word that others write with `atomic_store`."""

    def emit(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.load_atomic(element_pointer(builder, _WORD, *arguments), "seq_cst", 8)

    return types.int64(types.int64, types.int64), emit
