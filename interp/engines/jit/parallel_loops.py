"""Loops over many elements that the threads of a pool share (thread_pool.py), in machine code: bodies, shares, and the
main loop of a helper.

The body of a loop is a function `body(words, first, last)` that computes the elements from `first` to before `last`, of
arrays whose addresses are in the words. Elements are independent, so any thread may compute any of them. The process
has one pool. If it is busy with another loop, or there is none, the calling thread runs the loop alone.

An idle helper polls for work for a while, since a program with one such loop mostly has more; then it sleeps until it
reads a byte from a pipe. Machine code can do that without the GIL, except on Windows.

A helper that fell asleep on the core of the calling thread wakes up there: the two then alternate in slices of 4 ms on
one core while others are idle (seen with Linux 6.18). So it is kept off that core before it is woken.

A helper that wakes up late finds no work: it joins, and then checks whether there is any; the calling thread closes the
work, and then checks whether a helper has joined. A helper announces that it sleeps, and then checks for work again;
the calling thread announces work, and then checks for sleepers. Accesses to these words are sequentially consistent.
"""

from __future__ import annotations

import ctypes
import sys
from typing import Any

import llvmlite.binding as llvm
import numpy as np
from llvmlite import ir
from numba import int64, types
from numba.core import cgutils

from . import intrinsics
from .intrinsic import intrinsic
from .memory import atomic_intrinsic, build_array, element_pointer, emit_data_address, internal_njit, kernel
from .pool_state import (
    AVOIDED_CORE,
    BODY,
    BODY_WORDS,
    CLAIM,
    CORE_MASK,
    CORE_MASK_WORDS,
    ELEMENTS,
    FAILURES,
    HELPERS,
    NEXT_ELEMENT,
    PARTICIPANTS,
    READ_END,
    SETS_AFFINITY,
    SHARE_SIZE,
    SLEEPERS,
    THREAD_IDS,
    WAKE_BYTES,
    WORK,
    WRITE_END,
)
from .state import PARALLEL_MIN_ELEMENTS, POOL_ADDRESS, POOL_REQUESTED

CHUNK_ELEMENTS = 16_384
"""The elements of a share: a loop of one multiplication takes 2 us for them."""
_SPIN_LIMIT = 200_000
"""How often a helper polls for work before it sleeps: for some 0.1 ms."""
_YIELD_AFTER_SPINS, _SLEEP_AFTER_SPINS, _SLEEP_MICROSECONDS = 1_000, 3_000, 50
"""How often the calling thread polls for its helpers before it yields its core and, after half a millisecond, before it
sleeps, for this many microseconds at a time: then another thread on a helper's core can move to this core. OpenBLAS's
threads, for instance, poll for work for 0.1 s after each product."""

load_relaxed: Any = intrinsics.load_relaxed
read_i: Any = intrinsics.read_i
write: Any = intrinsics.write
_WORD, _INT = ir.IntType(64), ir.IntType(32)


def _emit_claim(builder: Any, pointer: Any, word: Any) -> Any:
    pair = builder.cmpxchg(pointer, _WORD(0), word, "seq_cst")
    return builder.zext(builder.extract_value(pair, 1), _WORD)


atomic_add: Any = atomic_intrinsic(lambda builder, pointer, word: builder.atomic_rmw("add", pointer, word, "seq_cst"))
"""Add to a word; returns its old value."""
atomic_claim: Any = atomic_intrinsic(_emit_claim)
"""Write a word if it is 0; returns whether it was."""


@intrinsic
def _data_address(typing: Any, array: Any) -> Any:
    """The address of an array's elements."""

    def build(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return emit_data_address(context, builder, array, arguments[0])

    return int64(array), build


@intrinsic
def keep_alive(typing: Any, array: Any) -> Any:
    """Keep an array alive up to here."""
    return types.void(array), lambda context, builder, signature, arguments: context.get_dummy_value()


def _view(context: Any, builder: Any, kind: Any, address: Any, first: Any, count: Any) -> Any:
    """Emit an array of `count` elements, from an element on of those at an address."""
    data = element_pointer(builder, context.get_data_type(kind.dtype), address, first)
    return build_array(context, builder, kind, data, [count], None)


@intrinsic
def array_at(typing: Any, begin: Any, count: Any, dtype: Any) -> Any:
    """An array of `count` elements at an address; the caller keeps them alive."""
    array_type = types.Array(dtype.dtype, 1, "C")

    def build(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return _view(context, builder, array_type, arguments[0], _WORD(0), arguments[1])

    return array_type(int64, int64, dtype), build


@intrinsic
def block_at(typing: Any, words: Any, index: Any, first: Any, count: Any, dtype: Any) -> Any:
    """An array of `count` elements, from element `first` on of the array whose address is a word; the caller keeps them
    alive."""
    array_type = types.Array(dtype.dtype, 1, "C")

    def build(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        words, index, first, count, _ = arguments
        address = builder.load(element_pointer(builder, _WORD, words, index))
        return _view(context, builder, array_type, address, first, count)

    return array_type(int64, int64, int64, int64, dtype), build


BODY_TYPES = (int64, int64, int64)
"""The types of the parameters of a body."""


def body_type(context: Any) -> Any:
    """The LLVM type of a body, in numba's calling convention."""
    return context.call_conv.get_function_type(types.none, BODY_TYPES)


def emit_function_address(typing: Any, body: Any) -> Any:
    """The emitter of the address of a function of three words; compiles the function."""
    kind: Any = types.Dispatcher(body)
    signature = kind.get_call_type(typing, BODY_TYPES, {})

    def build(context: Any, builder: Any, _: Any, arguments: Any) -> Any:
        compiled = body.overloads[signature.args]
        context.add_linking_libs([compiled.library])
        return builder.ptrtoint(context.declare_function(builder.module, compiled.fndesc), _WORD)

    return build


@intrinsic
def function_address(typing: Any, body: Any) -> Any:
    """The address of a compiled function of three words."""
    return int64(body), emit_function_address(typing, body.dispatcher)


@intrinsic
def _call_body(typing: Any, body: Any, words: Any, first: Any, last: Any) -> Any:
    """Call the body at an address; returns whether it failed."""

    def build(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        function_type = body_type(context)
        slots = [cgutils.alloca_once(builder, kind.pointee) for kind in function_type.args[:2]]  # type: ignore[no-untyped-call]
        status = builder.call(builder.inttoptr(arguments[0], function_type.as_pointer()), [*slots, *arguments[1:]])
        succeeded = builder.or_(
            builder.icmp_signed("==", status, _INT(0)), builder.icmp_signed("==", status, _INT(-2))
        )  # numba's OK, and its None
        return builder.zext(builder.not_(succeeded), _WORD)

    return int64(int64, int64, int64, int64), build


def _c_function(name: str, signature: Any) -> Any:
    symbol = f"tagloom_{name}"
    llvm.add_symbol(symbol, ctypes.cast(getattr(ctypes.CDLL(None), name), ctypes.c_void_p).value)
    return types.ExternalFunction(symbol, signature)


if sys.platform != "win32":
    _read_file, _write_file = (_c_function(name, int64(types.int32, int64, int64)) for name in ("read", "write"))
    _yield_core, _sleep_microseconds = (
        _c_function("sched_yield", types.int32()),
        _c_function("usleep", types.int32(types.uint32)),
    )
else:
    _read_file = _write_file = internal_njit(lambda file, address, count: int64(0))
    _yield_core, _sleep_microseconds = (
        internal_njit(lambda: types.int32(0)),
        internal_njit(lambda microseconds: types.int32(0)),
    )
if sys.platform == "linux":
    _current_core = _c_function("sched_getcpu", types.int32())
    _get_affinity, _set_affinity = (
        _c_function(f"sched_{name}affinity", types.int32(types.int32, int64, int64)) for name in ("get", "set")
    )
else:
    _current_core = internal_njit(lambda: types.int32(-1))
    _get_affinity = _set_affinity = internal_njit(lambda thread, size, cores: types.int32(-1))

data_address: Any = _data_address
call_body: Any = _call_body


@kernel
def run_chunks(c):  # type: ignore[no-untyped-def]
    """Compute shares until none are left."""
    body, words, count, size = read_i(c, BODY), read_i(c, BODY_WORDS), read_i(c, ELEMENTS), read_i(c, SHARE_SIZE)
    first = atomic_add(c, NEXT_ELEMENT, size)
    while first < count:
        if call_body(body, words, first, min(first + size, count)) != 0:
            atomic_add(c, FAILURES, 1)
        first = atomic_add(c, NEXT_ELEMENT, size)


@kernel
def wait_for_work(c):  # type: ignore[no-untyped-def]
    """Wait until there may be work; False once the pipe is closed."""
    for _ in range(_SPIN_LIMIT):
        if load_relaxed(c + 8 * WORK) == 1:
            return True
    byte = np.empty(1, np.int64)
    atomic_add(c, SLEEPERS, 1)
    has_work = atomic_add(c, WORK, 0) == 1 or _read_file(types.int32(read_i(c, READ_END)), data_address(byte), 1) == 1
    atomic_add(c, SLEEPERS, -1)
    return has_work


@kernel
def run_worker(c):  # type: ignore[no-untyped-def]
    """The main loop of a helper: wait for work, join, and wait again, until the pipe is closed."""
    while wait_for_work(c):
        atomic_add(c, PARTICIPANTS, 1)
        if atomic_add(c, WORK, 0) == 1:
            run_chunks(c)
        atomic_add(c, PARTICIPANTS, -1)


@kernel
def avoid_core(c, core):  # type: ignore[no-untyped-def]
    """Keep helpers off the core of the calling thread, if they may run on another one. Allocates nothing: the thread
    that has claimed the pool owns its words."""
    cores = c + 8 * CORE_MASK
    if read_i(c, SETS_AFFINITY) == 0 or core < 0 or core >= 64 * CORE_MASK_WORDS or read_i(c, AVOIDED_CORE) == core + 1:
        return
    if _get_affinity(types.int32(0), 8 * CORE_MASK_WORDS, cores) < 0:
        return
    write(cores, core // 64, read_i(cores, core // 64) & ~(int64(1) << (core % 64)))
    remaining_cores = int64(0)
    for position in range(CORE_MASK_WORDS):
        remaining_cores |= read_i(cores, position)
    if remaining_cores != 0:
        write(c, AVOIDED_CORE, core + 1)
        for position in range(read_i(c, HELPERS)):
            _set_affinity(types.int32(read_i(c, THREAD_IDS + position)), 8 * CORE_MASK_WORDS, cores)


@kernel
def parallel_for(s, body, words, count, size):  # type: ignore[no-untyped-def]
    """Compute a loop with the thread pool of a state, in shares of `size` elements, if the pool is free, else on this
    thread; returns whether it succeeded."""
    c = read_i(s, POOL_ADDRESS)
    if c == 0:
        write(s, POOL_ADDRESS, POOL_REQUESTED)
    if c <= POOL_REQUESTED or atomic_claim(c, CLAIM, 1) == 0:
        return call_body(body, words, 0, count) == 0
    write(c, NEXT_ELEMENT, 0)
    write(c, BODY, body)
    write(c, BODY_WORDS, words)
    write(c, ELEMENTS, count)
    write(c, FAILURES, 0)
    write(c, SHARE_SIZE, size)
    atomic_add(c, WORK, 1)
    sleeping = atomic_add(c, SLEEPERS, 0)
    if sleeping > 0:
        avoid_core(c, int64(_current_core()))
        _write_file(types.int32(read_i(c, WRITE_END)), c + 8 * WAKE_BYTES, sleeping)
    run_chunks(c)
    atomic_add(c, WORK, -1)
    polls = 0
    while atomic_add(c, PARTICIPANTS, 0) != 0:  # for the time of a share, if helpers have cores of their own
        polls += 1
        if polls > _SLEEP_AFTER_SPINS:
            _sleep_microseconds(types.uint32(_SLEEP_MICROSECONDS))
        elif polls > _YIELD_AFTER_SPINS:
            _yield_core()
    succeeded = read_i(c, FAILURES) == 0
    atomic_add(c, CLAIM, -1)
    return succeeded


@kernel
def parallel_for_large(s, body, words, count):  # type: ignore[no-untyped-def]
    """Compute a loop over elements, as `parallel_for`, but share it only if it is large."""
    return (
        parallel_for(s, body, words, count, CHUNK_ELEMENTS)
        if count >= PARALLEL_MIN_ELEMENTS
        else call_body(body, words, 0, count) == 0
    )
