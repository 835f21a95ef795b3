"""Intrinsics of generated code that Python cannot express: words of memory by address, host calls, and the native
stack. `state` defines the words that generated code shares with the waiting thread."""

from __future__ import annotations

from collections.abc import Callable
from inspect import Parameter, Signature
from typing import Any

from llvmlite import ir
from numba import float64, int64, types, uint64
from numba.core import cgutils
from numba.extending import intrinsic

from . import cache
from .inner import internal_njit
from .memory import element_pointer, peek
from .references import read_array, write_array
from .state import EXIT_TRAP

_WORD = ir.IntType(64)
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
    """Store an array in a slot, with a reference of its own."""

    def build(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        write_array(context, builder, element_pointer(builder, _WORD, *arguments[:2]), array, arguments[2])
        return context.get_dummy_value()

    return types.void(int64, int64, array), build


@intrinsic
def take_array(typing: Any, base: Any, index: Any, dtype: Any, like: Any) -> Any:
    """Take the array from a slot, with the slot's reference; `like` has a number for each axis."""
    made = types.Array(dtype.dtype, len(like), "C")

    def build(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return read_array(context, builder, element_pointer(builder, _WORD, *arguments[:2]), made)

    return made(int64, int64, dtype, like), build


@intrinsic
def call_host(typing: Any, base: Any, number: Any) -> Any:
    """Make the host call of this number; returns HOST_DONE, HOST_FAILED, HOST_TOO_LARGE if the result is too large, or
    HOST_ABORTED if the run is to stop."""

    def build(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        kind = ir.FunctionType(_WORD, [_WORD])
        address = builder.load(element_pointer(builder, _WORD, arguments[0], _WORD(7)))
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


def recursive_call(signature: Any) -> Any:
    """The function being compiled, with this signature, so that it can call itself. For a call by name, numba would
    infer its types again at each call."""

    def build(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return emit_call(context, builder, builder.function, signature, arguments)

    return fixed_intrinsic(signature, build)


def noinline(function: Any) -> Any:
    """A compiled function that is never inlined. For a call by name, numba copies it, with all that it calls, into each
    caller, and compiles it again there: five times, where one function calls another in a training step of a
    TreeLSTM."""
    cache.check_cache_hit(function)
    (compiled,) = function.overloads.values()

    def build(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return context.call_internal(builder, compiled.fndesc, signature, arguments)

    return fixed_intrinsic(compiled.signature, build)


def null_function(kind: Any) -> Any:
    """A function that returns a meaningless value of a type: sizes and addresses are 0."""
    return fixed_intrinsic(kind(), lambda context, builder, signature, arguments: context.get_constant_null(kind))


def emit_call(context: Any, builder: Any, function: Any, signature: Any, arguments: Any) -> Any:
    """Emit a call of a function compiled by numba; exceptions propagate."""
    convention = context.call_conv
    status, result = convention.call_function(builder, function, signature.return_type, signature.args, arguments)
    with cgutils.if_unlikely(builder, status.is_error):  # type: ignore[no-untyped-call]
        convention.return_status_propagate(builder, status)
    return result


def fixed_intrinsic(signature: Any, build: Any) -> Any:
    """An intrinsic with one signature."""

    def infer_signature(typing: Any, *arguments: Any) -> Any:
        return signature, build

    names = ["typing", *(f"x{at}" for at in range(len(signature.args)))]
    infer_signature.__signature__ = Signature([Parameter(name, Parameter.POSITIONAL_ONLY) for name in names])  # type: ignore[attr-defined]
    return intrinsic(infer_signature)


@intrinsic
def multiply_high(typing: Any, one: Any, other: Any) -> Any:
    """The upper 64 bits of a product."""

    def build(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        wide = ir.IntType(128)
        product = builder.mul(*(builder.zext(argument, wide) for argument in arguments))
        return builder.trunc(builder.lshr(product, ir.Constant(wide, 64)), _WORD)

    return uint64(uint64, uint64), build


_write: Any = write
_read_i: Any = read_i


def compile_once(signature: Any) -> Callable[[Callable[..., Any]], Any]:
    """Decorate a function with one signature, to be compiled once per process. For numba, a literal argument has a type
    of its own, for which it would compile again."""

    def decorate(function: Callable[..., Any]) -> Any:
        def build(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            return context.compile_internal(builder, function, signature, arguments)

        return fixed_intrinsic(signature, build)

    return decorate


@compile_once(types.void(int64, int64, int64))
def abort_run(s: int, why: int, node: int) -> None:
    """Stop the run, and record why and where."""
    _write(s, 1, why)
    _write(s, 2, node)
    _write(s, 0, 1)


@compile_once(types.void(int64, int64, int64))
def record_tag_step(s: int, site: int, iteration: int) -> None:
    """Record a step of a trap's tag while returning from it."""
    if _read_i(s, 1) == EXIT_TRAP:
        count = _read_i(s, 4)
        _write(_read_i(s, 5), 2 * count, site)
        _write(_read_i(s, 5), 2 * count + 1, iteration)
        _write(s, 4, count + 1)


read_b: Any = internal_njit(lambda base, index: _read_i(base, index) != 0)
