"""The basis of compiled loops: a decorator for them, and memory access by address, without the bounds checks, index
wrapping and reference counts of arrays.

The caller must keep the arrays alive. A machine that indexes arrays instead takes four times as long.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from llvmlite import ir
from numba import njit, types
from numba.core import cgutils

from .intrinsic import intrinsic

_WORD, _BYTES = ir.IntType(64), ir.IntType(8).as_pointer()
_FAILED = ir.IntType(32)(1)
"""The status of a function that has noted an exception."""
_ELEMENTS_FIELD = 3
"""The position of the address of the elements in the object of numba that counts the references of an array."""
_UNCAPTURED = next(name for name in ("captures(none)", "nocapture") if name in ir.values.ArgumentAttributes._known)
"""The attribute of a pointer that a function does not keep; LLVM 21 has renamed it."""
internal_njit: Callable[..., Any] = partial(njit, no_cpython_wrapper=True, no_cfunc_wrapper=True)
"""A decorator for functions that only compiled code calls: numba omits the Python and C wrappers, which are two of the
three modules that it compiles for a function, and take as long."""
inline_njit: Callable[..., Any] = partial(internal_njit, forceinline=True)
"""The same, for functions that LLVM inlines wherever they are called."""
kernel: Callable[..., Any] = partial(internal_njit, error_model="numpy")
"""Like `internal_njit`, with IEEE 754 float division."""


def element_pointer(builder: Any, kind: Any, address: Any, index: Any) -> Any:
    """A pointer to element `index` of this kind, from an address on."""
    return builder.gep(builder.inttoptr(address, kind.as_pointer()), [index])


def array_field(context: Any, builder: Any, kind: Any, array: Any, name: str) -> Any:
    """Emit a field of an array: `data`, `nitems`, `shape`, `meminfo` or `parent`. Half as many instructions as numba's
    structs, which are in memory."""
    return builder.extract_value(array, context.data_model_manager[kind].get_field_position(name))


def set_array_field(context: Any, builder: Any, kind: Any, array: Any, name: str, field: Any) -> Any:
    """Emit an array with another value of a field."""
    return builder.insert_value(array, field, context.data_model_manager[kind].get_field_position(name))


def build_array(context: Any, builder: Any, kind: Any, data: Any, shape: Sequence[Any], owner: Any) -> Any:
    """Emit an array with elements in C order; `owner` counts the references, and is None if the caller keeps the
    elements alive."""
    model = context.data_model_manager[kind]
    itemsize = item_size(context, kind)
    strides, count = list[Any](), _WORD(1)
    for size in reversed(shape):
        strides.insert(0, multiply(builder, itemsize, count))
        count = multiply(builder, count, size)
    null = _BYTES(None)
    fields = {
        "meminfo": null if owner is None else owner,
        "parent": null,
        "nitems": count,
        "itemsize": itemsize,
        "data": builder.bitcast(data, context.get_data_type(kind.dtype).as_pointer()),
        "shape": _word_array(builder, shape),
        "strides": _word_array(builder, strides),
    }
    array = ir.Constant(model.get_value_type(), ir.Undefined)
    for name, field in fields.items():
        array = builder.insert_value(array, field, model.get_field_position(name))
    return array


def item_size(context: Any, kind: Any) -> Any:
    """The number of bytes of an element of an array."""
    return _WORD(context.get_abi_sizeof(context.get_data_type(kind.dtype)))


def multiply(builder: Any, left: Any, right: Any) -> Any:
    """Emit a product of words, folded if both are constants: the less text LLVM reads, the better."""
    if isinstance(left, ir.Constant) and isinstance(right, ir.Constant):
        return _WORD(left.constant * right.constant)
    for factor, other in ((left, right), (right, left)):
        if isinstance(factor, ir.Constant) and factor.constant == 1:
            return other
    return builder.mul(left, right)


def tuple_element(builder: Any, value: Any, index: int) -> Any:
    """Emit an element of a tuple."""
    is_list = isinstance(value, ir.Constant) and isinstance(value.constant, list)
    return value.constant[index] if is_list else builder.extract_value(value, index)


def _word_array(builder: Any, words: Sequence[Any]) -> Any:
    type_ = ir.ArrayType(_WORD, len(words))
    if all(isinstance(word, ir.Constant) for word in words):
        return ir.Constant(type_, list(words))
    array = ir.Constant(type_, ir.Undefined)
    for index, word in enumerate(words):
        array = builder.insert_value(array, word, index)
    return array


def allocate_bytes(context: Any, builder: Any, size: Any, alignment: int) -> tuple[Any, Any]:
    """Emit the allocation of memory for an array: the object that counts its references, and the address of the
    elements. If memory is exhausted, the function fails."""
    owner = context.nrt.meminfo_alloc_aligned_unchecked(builder, size, alignment)
    emit_memory_exit(context, builder, cgutils.is_null(builder, owner))  # type: ignore[no-untyped-call]
    fields = builder.bitcast(owner, _BYTES.as_pointer())
    return owner, builder.load(builder.gep(fields, [_WORD(_ELEMENTS_FIELD)]))


def emit_memory_exit(context: Any, builder: Any, condition: Any) -> None:
    """Emit the exit of a function with a MemoryError, on a condition."""

    def fail() -> None:
        context.call_conv.set_static_user_exc(builder, MemoryError, ())
        builder.ret(_FAILED)

    _emit_exit(builder, condition, "memory_exhausted", fail)


def emit_failure_exit(builder: Any, condition: Any) -> None:
    """Emit the exit of a function after a call that failed and has noted its exception, on a condition."""
    _emit_exit(builder, condition, "callee_failed", lambda: builder.ret(_FAILED))


def _emit_exit(builder: Any, condition: Any, name: str, emit: Callable[[], None]) -> None:
    """Emit a branch to the block of this name, of which a function has one: the fewer blocks, the less work for
    LLVM."""
    exit_block = next((block for block in builder.function.blocks if block.name == name), None)
    if exit_block is None:
        exit_block = builder.append_basic_block(name)
        with builder.goto_block(exit_block):
            emit()
    next_block = builder.append_basic_block("next")
    builder.cbranch(condition, exit_block, next_block).set_weights([1, 99])
    builder.position_at_end(next_block)


def emit_reference_change(context: Any, builder: Any, kind: Any, value: Any, name: str) -> None:
    """Emit the calls of numba's function `NRT_incref` or `NRT_decref` for an array, or for all arrays in a tuple."""
    if isinstance(kind, types.Array):
        owner = array_field(context, builder, kind, value, "meminfo")
        if not (isinstance(owner, ir.Constant) and owner.constant is None):
            function_type = ir.FunctionType(ir.VoidType(), [_BYTES])
            function: Any = cgutils.get_or_insert_function(builder.module, function_type, name)  # type: ignore[no-untyped-call]
            if not function.args[0].attributes:
                function.args[0].add_attribute("noalias")
                function.args[0].add_attribute(_UNCAPTURED)
            builder.call(function, [owner])
    elif isinstance(kind, types.BaseTuple):
        for index, part in enumerate(list(kind)):  # type: ignore[call-overload]
            emit_reference_change(context, builder, part, tuple_element(builder, value, index), name)


def emit_data_address(context: Any, builder: Any, kind: Any, array: Any) -> Any:
    """Emit the address of an array's elements."""
    return builder.ptrtoint(array_field(context, builder, kind, array, "data"), _WORD)


def emit_word_block(builder: Any, words: Sequence[Any]) -> Any:
    """Emit a pointer to words on the stack, which live until the function returns."""
    block: Any = cgutils.alloca_once(builder, _WORD, len(words))  # type: ignore[no-untyped-call]
    for index, word in enumerate(words):
        builder.store(word, builder.gep(block, [_WORD(index)]))
    return block


@intrinsic
def peek(context: Any, address: Any, index: Any) -> Any:
    """Read word `index` from an address on."""

    def emit(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.load(element_pointer(builder, _WORD, *arguments))

    return types.int64(types.int64, types.int64), emit


@intrinsic
def poke(context: Any, address: Any, index: Any, word: Any) -> Any:
    """Write word `index` from an address on."""

    def emit(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        address, index, word = arguments
        builder.store(word, element_pointer(builder, _WORD, address, index))
        return context.get_dummy_value()

    return types.void(types.int64, types.int64, types.int64), emit


@intrinsic
def prefetch(context: Any, address: Any, index: Any) -> Any:
    """Prefetch word `index` from an address on."""

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
    """A condition, marked as unlikely, so that LLVM places its branch out of line."""

    def emit(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        bit = ir.IntType(1)
        kind = ir.FunctionType(bit, [bit, bit])
        expect = builder.module.declare_intrinsic("llvm.expect", [bit], kind)
        return builder.call(expect, [arguments[0], bit(0)])

    return types.boolean(types.boolean), emit


@intrinsic
def call_word_function(context: Any, function: Any, first: Any, second: Any, third: Any) -> Any:
    """Call the function of three words at an address."""

    def emit(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        kind = ir.FunctionType(_WORD, [_WORD] * 3)
        return builder.call(builder.inttoptr(arguments[0], kind.as_pointer()), arguments[1:])

    return types.int64(types.int64, types.int64, types.int64, types.int64), emit


def atomic_intrinsic(change: Any) -> Any:
    """An atomic intrinsic on a word; `change` emits the operation and returns its result."""

    @intrinsic
    def operation(context: Any, address: Any, index: Any, word: Any) -> Any:
        def emit(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            return change(builder, element_pointer(builder, _WORD, *arguments[:2]), arguments[2])

        return types.int64(types.int64, types.int64, types.int64), emit

    return operation


def _emit_atomic_store(builder: Any, pointer: Any, word: Any) -> Any:
    builder.store_atomic(word, pointer, "seq_cst", 8)
    return word


atomic_store: Any = atomic_intrinsic(_emit_atomic_store)
"""Store a word with release order: a thread that reads it with `atomic_load` sees all earlier writes."""
atomic_exchange: Any = atomic_intrinsic(
    lambda builder, pointer, word: builder.atomic_rmw("xchg", pointer, word, "seq_cst")
)
"""Exchange a word; returns its old value."""


@intrinsic
def atomic_load(context: Any, address: Any, index: Any) -> Any:
    """Load, with acquire order, a word that other threads write with `atomic_store`."""

    def emit(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.load_atomic(element_pointer(builder, _WORD, *arguments), "seq_cst", 8)

    return types.int64(types.int64, types.int64), emit
