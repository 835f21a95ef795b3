"""Tape records in compiled code: words that one phase of a function writes and a later one reads
(compiled/tape_layout.py).

Records are allocated one after another in an arena whose addresses are all reserved at the start, so no record ever
moves: a record is its address. Records are released from the end, back to a mark. An array in a record is a row: the
address of the row written before it, then the words of a row of references (references.py). So the rows form a list,
and a release also drops their references.

Four words of the state belong to the arena: the address of the next record, the end of the arena, the last row, and the
high-water mark.
"""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba import int64, types
from numba.extending import intrinsic

from . import machine
from .memory import element_pointer
from .references import read_array, write_array
from .state import TAPE_END, TAPE_HIGH_WATER, TAPE_LAST_ROW, TAPE_NEXT

_WORD, _BYTES = ir.IntType(64), ir.IntType(8).as_pointer()
_read_word: Any = machine.read_i
_write_word: Any = machine.write


@intrinsic
def _release_reference(typing: Any, counter: Any) -> Any:
    def build(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        kept: Any = types.MemInfoPointer(types.voidptr)  # type: ignore[no-untyped-call]
        context.nrt.decref(builder, kept, builder.inttoptr(arguments[0], _BYTES))
        return context.get_dummy_value()

    return types.void(int64), build


_release_memory: Any = _release_reference


@intrinsic
def load_array(typing: Any, record: Any, at: Any, dtype: Any, like: Any) -> Any:
    """Load the array from a row of a record; `like` has a number for each axis."""
    made = types.Array(dtype.dtype, len(like), "C")

    def build(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        at = builder.add(arguments[1], _WORD(1))
        array = read_array(context, builder, element_pointer(builder, _WORD, arguments[0], at), made)
        context.nrt.incref(builder, made, array)
        return array

    return made(int64, int64, dtype, like), build


@intrinsic
def save_array(typing: Any, s: Any, record: Any, at: Any, array: Any) -> Any:
    """Save an array in a row of a record, with a reference of its own."""

    def build(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        state, record, at, held = arguments
        row, last = (
            element_pointer(builder, _WORD, record, at),
            element_pointer(builder, _WORD, state, _WORD(TAPE_LAST_ROW)),
        )
        builder.store(builder.load(last), row)
        builder.store(builder.ptrtoint(row, _WORD), last)
        write_array(context, builder, builder.gep(row, [_WORD(1)]), array, held)
        return context.get_dummy_value()

    return types.void(int64, int64, int64, array), build


@machine.compile_once(int64(int64, int64))
def allocate_words(s, words):  # type: ignore[no-untyped-def]
    """Allocate words and return their address; 0 if the arena is full."""
    begin = _read_word(s, TAPE_NEXT)
    end = begin + 8 * words
    if end > _read_word(s, TAPE_END):
        return 0
    _write_word(s, TAPE_NEXT, end)
    return begin


@machine.compile_once(types.void(int64, int64, int64))
def release(s, begin, row):  # type: ignore[no-untyped-def]
    """Release all records from `begin` on; `row` was the last row before it."""
    if _read_word(s, TAPE_NEXT) > _read_word(s, TAPE_HIGH_WATER):
        _write_word(s, TAPE_HIGH_WATER, _read_word(s, TAPE_NEXT))
    _write_word(s, TAPE_NEXT, begin)
    last = _read_word(s, TAPE_LAST_ROW)
    while last != row:
        _release_memory(_read_word(last, 1))
        last = _read_word(last, 0)
    _write_word(s, TAPE_LAST_ROW, row)
