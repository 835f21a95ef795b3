"""Intrinsics of generated code that Python cannot express: words of memory by address, arrays that words refer to, tape
records, host calls, and the native stack. `state` defines the words that generated code shares with the waiting thread.

An array is stored as a row of words: the address of its reference count, the address of its elements, and its sizes. A
row owns a reference, which is released when the block of rows is freed. A row of zeros refers to no array.

A tape record has words that one phase of a function writes and a later one reads (compiled/layout.py). Records are
allocated one after another in an arena whose addresses are all reserved at the start, so no record ever moves: a record
is its address. Records are released from the end, back to a mark. An array in a record is a row, after the address of
the row written before it. So the rows form a list, and a release also drops their references. Four words of the state
belong to the arena: the address of the next record, the end of the arena, the last row, and the high-water mark.
"""

from __future__ import annotations

import ctypes
import mmap
import sys
from collections.abc import Callable
from typing import Any

import llvmlite.binding as llvm
from llvmlite import ir
from numba import float64, int64, types, uint64
from numba.core import cgutils

from .intrinsic import intrinsic
from .memory import (
    array_field,
    atomic_exchange,
    build_array,
    element_pointer,
    emit_data_address,
    emit_failure_exit,
    emit_reference_change,
    internal_njit,
    peek,
    tuple_element,
)
from .state import (
    EXIT_BYTES,
    EXIT_DEPTH,
    EXIT_REASON,
    EXIT_SITE,
    EXIT_STACK,
    EXIT_TRAP,
    HOST_FUNCTION,
    MEMORY_BUDGET,
    MEMORY_LIMIT,
    STACK_FLOOR,
    STACK_GUARD,
    STATM_FILE,
    STATM_TEXT,
    STATM_WORDS,
    STOP_FLAG,
    STOP_GUARD,
    TAG_LENGTH,
    TAG_STEPS,
    TAPE_END,
    TAPE_HIGH_WATER,
    TAPE_LAST_ROW,
    TAPE_NEXT,
)

_WORD, _BYTES = ir.IntType(64), ir.IntType(8).as_pointer()
_LLVM_TYPES: dict[Any, Any] = {int64: _WORD, uint64: _WORD, float64: ir.DoubleType()}


def _word_reader(type_: Any) -> Any:
    @intrinsic
    def read(typing: Any, base: Any, index: Any) -> Any:
        def build(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            return builder.load(element_pointer(builder, _LLVM_TYPES[type_], *arguments))

        return type_(int64, int64), build

    return read


read_i = peek
read_u = _word_reader(uint64)
read_f = _word_reader(float64)


@intrinsic
def write(typing: Any, base: Any, index: Any, value: Any) -> Any:
    """Write a number of any lane into a word."""
    lane: Any = types.unliteral(value)  # type: ignore[no-untyped-call]
    wide: Any = int64 if lane == types.boolean else lane

    def build(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        builder.store(arguments[2], element_pointer(builder, _LLVM_TYPES[wide], *arguments[:2]))
        return context.get_dummy_value()

    return types.void(int64, int64, wide), build


@intrinsic
def store_array(typing: Any, base: Any, index: Any, array: Any) -> Any:
    """Store an array in a slot, with a new reference."""

    def build(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        write_array(context, builder, element_pointer(builder, _WORD, *arguments[:2]), array, arguments[2])
        return context.get_dummy_value()

    return types.void(int64, int64, array), build


@intrinsic
def take_array(typing: Any, base: Any, index: Any, dtype: Any, like: Any) -> Any:
    """Take the array from a slot, with the slot's reference; `like` has a number for each axis."""
    array_type = types.Array(dtype.dtype, len(like), "C")

    def build(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return read_array(context, builder, element_pointer(builder, _WORD, *arguments[:2]), array_type)

    return array_type(int64, int64, dtype, like), build


@intrinsic
def call_host(typing: Any, base: Any, number: Any) -> Any:
    """Make the host call of this number; returns HOST_DONE, HOST_FAILED, HOST_TOO_LARGE if the result is too large, or
    HOST_ABORTED if the run must stop."""

    def build(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        kind = ir.FunctionType(_WORD, [_WORD])
        address = builder.load(element_pointer(builder, _WORD, arguments[0], _WORD(HOST_FUNCTION)))
        return builder.call(builder.inttoptr(address, kind.as_pointer()), [arguments[1]])

    return int64(int64, int64), build


@intrinsic
def load_relaxed(typing: Any, base: Any) -> Any:
    """Load the first word, which other threads write."""

    def build(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.load_atomic(builder.inttoptr(arguments[0], _WORD.as_pointer()), "monotonic", 8)

    return int64(int64), build


@intrinsic
def stack_pointer(typing: Any) -> Any:
    """The current stack pointer; the stack grows downwards."""

    def build(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        kind = ir.FunctionType(ir.IntType(8).as_pointer(), [])
        function: Any = cgutils.get_or_insert_function(builder.module, kind, "llvm.stacksave")  # type: ignore[no-untyped-call]
        return builder.ptrtoint(builder.call(function, []), _WORD)

    return int64(), build


def _selection(comparison: str) -> Any:
    """An intrinsic that selects one of two integers; for Python's functions numba compiles one of its own."""

    def build(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.select(builder.icmp_signed(comparison, *arguments), *arguments)

    return fixed_intrinsic(int64(int64, int64), build)


def emit_call(context: Any, builder: Any, function: Any, signature: Any, arguments: Any) -> Any:
    """Emit a call of a function compiled by numba; exceptions propagate."""
    kind, words = signature.return_type, context.get_arg_packer(signature.args).as_arguments(builder, arguments)
    with builder.goto_entry_block():
        result_slot = builder.alloca(function.args[0].type.pointee)
    status = builder.call(function, [result_slot, builder.function.args[1], *words])
    emit_failure_exit(builder, cgutils.is_not_null(builder, status))  # type: ignore[no-untyped-call]
    result = builder.load(result_slot)
    if kind == types.boolean:
        return builder.icmp_unsigned("!=", result, result.type(0))
    return context.get_returned_value(builder, kind, result)


def fixed_intrinsic(signature: Any, build: Any) -> Any:
    """An intrinsic with one signature."""

    def infer_signature(typing: Any, *arguments: Any) -> Any:
        return signature, build

    return intrinsic(infer_signature)


def word_intrinsic(signature: Any, build: Any) -> Any:
    """An intrinsic with one signature that takes an array, or a pair of an array and an index, where the signature has
    a word: `build` gets the address of the first element, or of the one at the index. The array lives until the call
    returns."""

    def infer_signature(typing: Any, *arguments: Any) -> Any:
        holds_array = [
            word == int64 and isinstance(argument, types.Array | types.BaseTuple)
            for argument, word in zip(arguments, signature.args, strict=True)
        ]
        kinds = [
            argument if is_array else word
            for argument, word, is_array in zip(arguments, signature.args, holds_array, strict=True)
        ]

        def build_with_addresses(context: Any, builder: Any, _: Any, values: Any) -> Any:
            words = [
                emit_element_address(context, builder, kind, value) if is_array else value
                for kind, value, is_array in zip(kinds, values, holds_array, strict=True)
            ]
            return build(context, builder, signature, words)

        return signature.return_type(*kinds), build_with_addresses

    return intrinsic(infer_signature)


def emit_element_address(context: Any, builder: Any, kind: Any, value: Any) -> Any:
    """Emit the address of an array's first element or, for a pair of an array and an index, of that element."""
    if isinstance(kind, types.Array):
        return emit_data_address(context, builder, kind, value)
    array, index = (tuple_element(builder, value, position) for position in range(2))
    data = array_field(context, builder, kind[0], array, "data")
    return builder.ptrtoint(builder.gep(data, [index]), _WORD)


minimum, maximum = _selection("<"), _selection(">")


@intrinsic
def multiply_high(typing: Any, left: Any, right: Any) -> Any:
    """The upper 64 bits of a product."""

    def build(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        wide = ir.IntType(128)
        product = builder.mul(*(builder.zext(argument, wide) for argument in arguments))
        return builder.trunc(builder.lshr(product, ir.Constant(wide, 64)), _WORD)

    return uint64(uint64, uint64), build


_write: Any = write
_read_i: Any = read_i


def compile_once(signature: Any) -> Callable[[Callable[..., Any]], Any]:
    """A decorator for a function with one signature, which is compiled once per process. Otherwise numba compiles again
    for each literal argument, since it gives literals types of their own."""

    def decorate(function: Callable[..., Any]) -> Any:
        def build(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            return context.compile_internal(builder, function, signature, arguments)

        return fixed_intrinsic(signature, build)

    return decorate


@compile_once(types.void(int64, int64, int64))
def abort_run(s: int, reason: int, node: int) -> None:
    """Stop the run, and record the reason and the trap site."""
    _write(s, EXIT_REASON, reason)
    _write(s, EXIT_SITE, node)
    _write(s, STOP_FLAG, 1)


@compile_once(types.void(int64, int64))
def set_stack_guard(s: int, lowest: int) -> None:
    """Allow the stack down to this address. The exchange is a fence: if another thread requests a stop and this write
    replaces its guard, this thread then sees word 0."""
    _write(s, STACK_FLOOR, lowest)
    atomic_exchange(s, STACK_GUARD, lowest)


@compile_once(types.void(int64, types.boolean))
def abort_at_guard(s: int, is_too_deep: bool) -> None:
    """Stop the run before a call: its tag is too deep, or the stack pointer is below the guard."""
    if is_too_deep:
        abort_run(s, EXIT_DEPTH, 0)
    elif _read_i(s, STACK_GUARD) == STOP_GUARD:
        _write(s, STOP_FLAG, 1)
    else:
        abort_run(s, EXIT_STACK, 0)


def _c_pread() -> Any:
    if not hasattr(ctypes.CDLL(None), "pread"):
        return internal_njit(lambda file, address, count, offset: int64(-1))
    llvm.add_symbol("tagloom_pread", ctypes.cast(ctypes.CDLL(None).pread, ctypes.c_void_p).value)
    return types.ExternalFunction("tagloom_pread", int64(types.int32, int64, int64, int64))


_pread = _c_pread() if sys.platform != "win32" else internal_njit(lambda file, address, count, offset: int64(-1))
_PAGE_BYTES = mmap.PAGESIZE


@compile_once(int64(int64))
def resident_memory(s):  # type: ignore[no-untyped-def]
    """The resident memory of this process in bytes; 0 where the system does not report it. Takes 5 us."""
    text = s + 8 * STATM_TEXT
    count = _pread(types.int32(_read_i(s, STATM_FILE)), text, 8 * STATM_WORDS, 0)
    pages, field = 0, 0
    for position in range(count):
        character = (_read_i(text, position >> 3) >> (8 * (position & 7))) & 255
        if character == 32:
            field += 1
        elif field == 1:
            pages = 10 * pages + character - 48
    return pages * _PAGE_BYTES


@compile_once(types.void(int64, int64))
def charge_memory(s, size):  # type: ignore[no-untyped-def]
    """Account for an array of `size` bytes that is allocated next. Whenever as many bytes were allocated as were left,
    measure the resident memory, and stop the run if it exceeds the limit. Near the limit, a sixteenth of it may be
    allocated between two measurements."""
    budget = _read_i(s, MEMORY_BUDGET) - size
    if budget < 0:
        limit = _read_i(s, MEMORY_LIMIT)
        resident_bytes = resident_memory(s)
        if resident_bytes > limit:
            abort_run(s, EXIT_BYTES, 0)
            _write(s, STACK_GUARD, STOP_GUARD)
        budget = max(limit - resident_bytes, limit >> 4)
    _write(s, MEMORY_BUDGET, budget)


@compile_once(types.void(int64, int64, int64))
def record_tag_step(s: int, site: int, iteration: int) -> None:
    """Record a step of a trap's tag while the run returns from it."""
    if _read_i(s, EXIT_REASON) == EXIT_TRAP:
        count = _read_i(s, TAG_LENGTH)
        _write(_read_i(s, TAG_STEPS), 2 * count, site)
        _write(_read_i(s, TAG_STEPS), 2 * count + 1, iteration)
        _write(s, TAG_LENGTH, count + 1)


read_b: Any = internal_njit(lambda base, index: _read_i(base, index) != 0)


_HEADER_WORDS = 2
"""The words of a row before the sizes."""


@intrinsic
def allocate_references(typing: Any, count: Any, like: Any) -> Any:
    """Allocate rows that refer to nothing, for arrays with as many axes as `like` has numbers."""
    width, rows_type = _HEADER_WORDS + len(like), types.Array(int64, 2, "C")

    def build(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        words = builder.mul(arguments[0], _WORD(width))
        size = builder.mul(words, _WORD(8))
        counter = context.nrt.meminfo_alloc_dtor(builder, size, _release_function(context, builder.module, width))
        data = context.nrt.meminfo_data(builder, counter)
        cgutils.memset(builder, data, size, 0)  # type: ignore[no-untyped-call]
        return build_array(context, builder, rows_type, data, [arguments[0], _WORD(width)], counter)

    return rows_type(int64, like), build


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
            pointer_type: Any = types.MemInfoPointer(types.voidptr)  # type: ignore[no-untyped-call]
            context.nrt.decref(builder, pointer_type, builder.inttoptr(counter, _BYTES))
        builder.ret_void()
    return function


@intrinsic
def set_reference(typing: Any, rows: Any, row: Any, array: Any) -> Any:
    """Set a row, which refers to nothing yet, to an array."""

    def build(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        write_array(context, builder, _row_pointer(context, builder, rows, arguments), array, arguments[2])
        return context.get_dummy_value()

    return types.void(rows, row, array), build


@intrinsic
def dereference(typing: Any, rows: Any, row: Any, dtype: Any, like: Any) -> Any:
    """The array to which a row refers; `like` is a tuple with a number for each axis."""
    array_type = types.Array(dtype.dtype, len(like), "C")

    def build(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        array = read_array(context, builder, _row_pointer(context, builder, rows, arguments), array_type)
        emit_reference_change(context, builder, array_type, array, "NRT_incref")
        return array

    return array_type(rows, row, dtype, like), build


def _row_pointer(context: Any, builder: Any, rows: Any, arguments: Any) -> Any:
    """The address of a row's words."""
    data, shape = (array_field(context, builder, rows, arguments[0], name) for name in ("data", "shape"))
    return builder.gep(data, [builder.mul(arguments[1], builder.extract_value(shape, 1))])


def write_array(context: Any, builder: Any, row: Any, kind: Any, array: Any) -> None:
    """Write an array into a row, with a new reference."""
    emit_reference_change(context, builder, kind, array, "NRT_incref")
    owner, data, shape = (array_field(context, builder, kind, array, name) for name in ("meminfo", "data", "shape"))
    sizes = [builder.extract_value(shape, axis) for axis in range(kind.ndim)]
    addresses = [builder.ptrtoint(owner, _WORD), builder.ptrtoint(data, _WORD)]
    for number, word in enumerate([*addresses, *sizes]):
        builder.store(word, builder.gep(row, [_WORD(number)]))


def read_array(context: Any, builder: Any, row: Any, kind: Any) -> Any:
    """Read an array from a row, without taking another reference."""
    words = [builder.load(builder.gep(row, [_WORD(number)])) for number in range(_HEADER_WORDS + kind.ndim)]
    owner, data = (builder.inttoptr(word, _BYTES) for word in words[:_HEADER_WORDS])
    return build_array(context, builder, kind, data, words[_HEADER_WORDS:], owner)


@intrinsic
def _decref(typing: Any, counter: Any) -> Any:
    def build(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        pointer_type: Any = types.MemInfoPointer(types.voidptr)  # type: ignore[no-untyped-call]
        context.nrt.decref(builder, pointer_type, builder.inttoptr(arguments[0], _BYTES))
        return context.get_dummy_value()

    return types.void(int64), build


_release_reference: Any = _decref


@intrinsic
def load_array(typing: Any, record: Any, row: Any, dtype: Any, like: Any) -> Any:
    """Load the array from a row of a record; `like` has a number for each axis."""
    array_type = types.Array(dtype.dtype, len(like), "C")

    def build(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        row = builder.add(arguments[1], _WORD(1))
        array = read_array(context, builder, element_pointer(builder, _WORD, arguments[0], row), array_type)
        emit_reference_change(context, builder, array_type, array, "NRT_incref")
        return array

    return array_type(int64, int64, dtype, like), build


@intrinsic
def save_array(typing: Any, s: Any, record: Any, row: Any, array: Any) -> Any:
    """Save an array in a row of a record, with a new reference."""

    def build(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        state, record, row, value = arguments
        row_pointer, last = (
            element_pointer(builder, _WORD, record, row),
            element_pointer(builder, _WORD, state, _WORD(TAPE_LAST_ROW)),
        )
        builder.store(builder.load(last), row_pointer)
        builder.store(builder.ptrtoint(row_pointer, _WORD), last)
        write_array(context, builder, builder.gep(row_pointer, [_WORD(1)]), array, value)
        return context.get_dummy_value()

    return types.void(int64, int64, int64, array), build


@compile_once(int64(int64, int64))
def allocate_words(s, words):  # type: ignore[no-untyped-def]
    """Allocate words and return their address; 0 if the arena is full."""
    begin = _read_i(s, TAPE_NEXT)
    end = begin + 8 * words
    if end > _read_i(s, TAPE_END):
        return 0
    _write(s, TAPE_NEXT, end)
    return begin


@compile_once(types.void(int64, int64, int64))
def release(s, begin, row):  # type: ignore[no-untyped-def]
    """Release all records from `begin` on; `row` was the last row before it."""
    if _read_i(s, TAPE_NEXT) > _read_i(s, TAPE_HIGH_WATER):
        _write(s, TAPE_HIGH_WATER, _read_i(s, TAPE_NEXT))
    _write(s, TAPE_NEXT, begin)
    last = _read_i(s, TAPE_LAST_ROW)
    while last != row:
        _release_reference(_read_i(last, 1))
        last = _read_i(last, 0)
    _write(s, TAPE_LAST_ROW, row)
