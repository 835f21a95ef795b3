"""The thread pool: helper threads of this process that share loops over many elements among the cores.

It replaces numba's own threading (prange over the same shares, by GNU OpenMP), which is slow on a busy machine
(2026-11-23, AMD EPYC, two cores shared with other processes, medians of 200 alternating runs): with prange, a training
step of the perceptron 784-256-10 takes 7 times as long; tanh(exp(-x)), three times over 100,000 float64, 4 times, and
over a million 1.7 times. A loop of OpenMP waits for all threads of its team; here a loop does not wait for a late
helper. On free cores (minima) prange takes 0.9, 1.2 and 1.2 times as long, and 0.6 times for a million a * x + b. GNU
OpenMP also ends a forked child that uses it. On one thread the step takes 1.3 to 1.5 times as long, those loops 1.8 to
1.9 (minima).

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
import os
import signal
import sys
import threading
from contextlib import suppress
from typing import Any

import llvmlite.binding as llvm
import numpy as np
from llvmlite import ir
from numba import int64, types
from numba.core import cgutils

from . import cache, intrinsics
from .intrinsic import intrinsic
from .memory import atomic_intrinsic, build_array, element_pointer, emit_data_address, internal_njit, kernel
from .state import PARALLEL_MIN_ELEMENTS, POOL_ADDRESS, POOL_REQUESTED

CHUNK_ELEMENTS = 16_384
"""The elements of a share: a loop of one multiplication takes 2 us for them."""
_SPIN_LIMIT = 200_000
"""How often a helper polls for work before it sleeps: for some 0.1 ms."""
_YIELD_AFTER_SPINS, _SLEEP_AFTER_SPINS, _SLEEP_MICROSECONDS = 1_000, 3_000, 50
"""How often the calling thread polls for its helpers before it yields its core and, after half a millisecond, before it
sleeps, for this many microseconds at a time: then another thread on a helper's core can move to this core. OpenBLAS's
threads, for instance, poll for work for 0.1 s after each product."""
_MAX_WORKERS = 64
"""The most helpers."""

# The words of a pool.
_CLAIM = 0
"""1 while a thread has claimed the pool."""
_WORK = 1
"""1 while there is work to join."""
_PARTICIPANTS = 2
"""The number of helpers that have joined."""
_NEXT_ELEMENT = 3
"""The element with which the next share begins."""
_BODY = 4
"""The address of the body."""
_BODY_WORDS = 5
"""The address of the body's words."""
_ELEMENTS = 6
_FAILURES = 7
"""The number of shares that failed."""
_READ_END = 8
"""The descriptor of the read end of the pipe on which helpers sleep."""
_WRITE_END = 9
_HELPERS = 10
"""The number of helpers."""
_SHARE_SIZE = 11
"""The number of elements of a share."""
_SLEEPERS = 12
"""The number of sleeping helpers."""
_ADDRESS = 13
"""The address of these words; 0 without helpers."""
_AVOIDED_CORE = 14
"""The core that helpers avoid, plus 1; 0 if there is none."""
_SETS_AFFINITY = 15
"""1 if helpers can be kept off a core."""
_WAKE_BYTES = 16
"""Zeros, a byte for each helper that is woken."""
_CORE_MASK = 24
"""The set of cores on which helpers may run, a bit each."""
_THREAD_IDS = 40
"""The ids of the helpers' threads."""
_CORE_MASK_WORDS = _THREAD_IDS - _CORE_MASK

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
    body, words, count, size = read_i(c, _BODY), read_i(c, _BODY_WORDS), read_i(c, _ELEMENTS), read_i(c, _SHARE_SIZE)
    first = atomic_add(c, _NEXT_ELEMENT, size)
    while first < count:
        if call_body(body, words, first, min(first + size, count)) != 0:
            atomic_add(c, _FAILURES, 1)
        first = atomic_add(c, _NEXT_ELEMENT, size)


@kernel
def wait_for_work(c):  # type: ignore[no-untyped-def]
    """Wait until there may be work; False once the pipe is closed."""
    for _ in range(_SPIN_LIMIT):
        if load_relaxed(c + 8 * _WORK) == 1:
            return True
    byte = np.empty(1, np.int64)
    atomic_add(c, _SLEEPERS, 1)
    has_work = atomic_add(c, _WORK, 0) == 1 or _read_file(types.int32(read_i(c, _READ_END)), data_address(byte), 1) == 1
    atomic_add(c, _SLEEPERS, -1)
    return has_work


@kernel
def run_worker(c):  # type: ignore[no-untyped-def]
    """The main loop of a helper: wait for work, join, and wait again, until the pipe is closed."""
    while wait_for_work(c):
        atomic_add(c, _PARTICIPANTS, 1)
        if atomic_add(c, _WORK, 0) == 1:
            run_chunks(c)
        atomic_add(c, _PARTICIPANTS, -1)


@kernel
def avoid_core(c, core):  # type: ignore[no-untyped-def]
    """Keep helpers off the core of the calling thread, if they may run on another one. Allocates nothing: the thread
    that has claimed the pool owns its words."""
    cores = c + 8 * _CORE_MASK
    if (
        read_i(c, _SETS_AFFINITY) == 0
        or core < 0
        or core >= 64 * _CORE_MASK_WORDS
        or read_i(c, _AVOIDED_CORE) == core + 1
    ):
        return
    if _get_affinity(types.int32(0), 8 * _CORE_MASK_WORDS, cores) < 0:
        return
    write(cores, core // 64, read_i(cores, core // 64) & ~(int64(1) << (core % 64)))
    remaining_cores = int64(0)
    for position in range(_CORE_MASK_WORDS):
        remaining_cores |= read_i(cores, position)
    if remaining_cores != 0:
        write(c, _AVOIDED_CORE, core + 1)
        for position in range(read_i(c, _HELPERS)):
            _set_affinity(types.int32(read_i(c, _THREAD_IDS + position)), 8 * _CORE_MASK_WORDS, cores)


@kernel
def parallel_for(s, body, words, count, size):  # type: ignore[no-untyped-def]
    """Compute a loop with the thread pool of a state, in shares of `size` elements, if the pool is free, else on this
    thread; returns whether it succeeded."""
    c = read_i(s, POOL_ADDRESS)
    if c == 0:
        write(s, POOL_ADDRESS, POOL_REQUESTED)
    if c <= POOL_REQUESTED or atomic_claim(c, _CLAIM, 1) == 0:
        return call_body(body, words, 0, count) == 0
    write(c, _NEXT_ELEMENT, 0)
    write(c, _BODY, body)
    write(c, _BODY_WORDS, words)
    write(c, _ELEMENTS, count)
    write(c, _FAILURES, 0)
    write(c, _SHARE_SIZE, size)
    atomic_add(c, _WORK, 1)
    sleeping = atomic_add(c, _SLEEPERS, 0)
    if sleeping > 0:
        avoid_core(c, int64(_current_core()))
        _write_file(types.int32(read_i(c, _WRITE_END)), c + 8 * _WAKE_BYTES, sleeping)
    run_chunks(c)
    atomic_add(c, _WORK, -1)
    polls = 0
    while atomic_add(c, _PARTICIPANTS, 0) != 0:  # for the time of a share, if helpers have cores of their own
        polls += 1
        if polls > _SLEEP_AFTER_SPINS:
            _sleep_microseconds(types.uint32(_SLEEP_MICROSECONDS))
        elif polls > _YIELD_AFTER_SPINS:
            _yield_core()
    succeeded = read_i(c, _FAILURES) == 0
    atomic_add(c, _CLAIM, -1)
    return succeeded


@kernel
def parallel_for_large(s, body, words, count):  # type: ignore[no-untyped-def]
    """Compute a loop over elements, as `parallel_for`, but share it only if it is large."""
    return (
        parallel_for(s, body, words, count, CHUNK_ELEMENTS)
        if count >= PARALLEL_MIN_ELEMENTS
        else call_body(body, words, 0, count) == 0
    )


_WORKER_TEXT = f"""\
from numba import int64, njit, void
from {__package__} import thread_pool
@njit(void(int64), cache=True, error_model="numpy", nogil=True, no_cfunc_wrapper=True)
def run_worker(c):
 thread_pool.run_worker(c)
"""
_pools: dict[int, Any] = {}
"""The words of the pool, by process: a forked child does not have the threads of its parent."""
_pools_lock = cache.lock_across_fork(threading.Lock())


def worker_count() -> int:
    """The number of helpers: one for each core but one; none on Windows, which lacks such pipes."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return min(cores - 1, _MAX_WORKERS) if sys.platform != "win32" else 0


def start_pool() -> int:
    """Start this process's thread pool if necessary; return the address of its words, 0 if it has no helpers."""
    with _pools_lock:
        if os.getpid() not in _pools:
            _pools[os.getpid()] = _create_pool(worker_count())
    return pool_address()


def pool_address() -> int:
    """The address of the pool's words; 0 if it has not been started or has no helpers."""
    words = _pools.get(os.getpid())
    return 0 if words is None else int(words[_ADDRESS])


def start_pool_async() -> int:
    """Start the pool on another thread if necessary; return the address of its words, 0 until it has started."""
    if os.getpid() not in _pools and not _pools_lock.locked():
        threading.Thread(target=start_pool, name="tagloom thread pool start", daemon=True).start()
    return pool_address()


def load_worker() -> Any:
    """The main loop of helpers in machine code."""
    return cache.load_module("thread_pool", _WORKER_TEXT).run_worker


def _create_pool(count: int) -> Any:
    words = np.zeros(_THREAD_IDS + _MAX_WORKERS, np.int64)
    if not count:
        return words
    with suppress(OSError):  # too many open files: no helpers
        words[_READ_END], words[_WRITE_END] = os.pipe()
        words[_HELPERS] = count
    if words[_HELPERS]:
        os.set_blocking(int(words[_WRITE_END]), False)  # a full pipe wakes all helpers anyway
        run_worker = load_worker()
        for number in range(count):
            helper = threading.Thread(
                target=_worker_main, args=(run_worker, words), name="tagloom thread pool", daemon=True
            )
            helper.start()
            words[_THREAD_IDS + number] = helper.native_id or -1  # -1 is not a thread's id
        words[_ADDRESS], words[_SETS_AFFINITY] = words.ctypes.data, sys.platform == "linux"
    return words


def _worker_main(run_worker: Any, words: Any) -> None:
    """The main function of a helper. It blocks signals: one would interrupt the read from the pipe, and end the
    helper."""
    signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals())
    run_worker(words.ctypes.data)
