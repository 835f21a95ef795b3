"""Runs on a thread with a large stack, while the calling thread waits, checks limits, and serves host calls.

A thread is reused for the next run, since starting one takes longer than a short run. After a recursive program, the
memory of its stack is returned to the system; where that is impossible, the thread ends.

Host calls are effects and ops without machine code, which generated code leaves to Python and waits for. The calling
thread performs effects: one after another, in program order, so that thread-local state is the same as under the
reference. Ops without machine code need no particular thread: the run's own thread calls their kernels.
"""

from __future__ import annotations

import ctypes
import mmap
import os
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from queue import Empty, Queue, SimpleQueue
from weakref import WeakMethod

from ....core.ops.effects import format_text
from ....core.ops.op import OPS, Kernel, build_kernel, column_error, trap_message
from ....core.program.program import Node
from ....core.types import Type
from ....core.value import Value
from ....core.world import CallbackError, World
from ..jit.cache import lock_across_fork
from ..jit.state import HOST_ABORTED, HOST_DONE, HOST_FAILED, HOST_TOO_LARGE
from ..long_ops import OpAbandoned, compute_abandonable, may_take_long
from .call_buffer import CallBuffer
from .emitter import TrapSite

STACK_BYTES = 2**30
"""The bytes of stack that a run requests; the system commits them when they are first touched."""
RESERVED_STACK_BYTES = 2**21
"""The bytes of a stack that are reserved for functions that do not check it."""
CALLER_STACK_BYTES = 2**21
"""The bytes of the calling thread's stack that a run may use, if this many are left."""
_MAX_IDLE_THREADS = 4
_idle_threads: list[LargeStackThread] = []
_stack_size_lock = lock_across_fork(threading.Lock())
"""Held while new threads have a different stack size than the rest of the process."""
_madvise = getattr(ctypes.CDLL(None), "madvise", None) if sys.platform == "linux" else None
_PAGE_BYTES, _MADV_DONTNEED = mmap.PAGESIZE, 4
_RESIDENT_STACK_BYTES = 2**18
"""The bytes of a stack that stay resident, since an idle thread may use them."""


@cache
def caller_stack_floor() -> int | None:
    """The lowest stack address of this thread, which must be the main one; None if it is unknown."""
    if sys.platform != "linux":
        return None
    library = ctypes.CDLL(None)
    library.pthread_self.restype = ctypes.c_void_p
    attributes, lowest, size = (ctypes.c_long * 32)(), ctypes.c_void_p(), ctypes.c_size_t()
    if library.pthread_getattr_np(ctypes.c_void_p(library.pthread_self()), attributes):
        return None
    library.pthread_attr_getstack(attributes, ctypes.byref(lowest), ctypes.byref(size))
    library.pthread_attr_destroy(attributes)
    return lowest.value


def reset_after_fork() -> None:
    """Reset the state in a forked child: it has none of these threads, and the thread that forked is its main one."""
    _idle_threads.clear()
    caller_stack_floor.cache_clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=reset_after_fork)


class LargeStackThread:
    """A thread that runs one job after another, on a stack of `size` bytes."""

    def __init__(self, size: int) -> None:
        self.size = size
        self._job_ready, self._job_done = threading.Lock(), threading.Lock()
        self._job_ready.acquire()
        self._job_done.acquire()
        self._job: Callable[[], None] | None = None
        self._is_idle = True
        threading.Thread(target=self._serve, name="tagloom", daemon=True).start()

    def _serve(self) -> None:
        while True:
            self._job_ready.acquire()
            if self._job is None:
                return
            self._job()
            self._job = None
            self._job_done.release()

    def start_job(self, job: Callable[[], None]) -> None:
        """Start a job, which must never raise."""
        self._job = job
        self._job_ready.release()
        self._is_idle = False  # not earlier: after an interrupt here, nobody must wait for a job that was not started

    def wait_until_done(self, seconds: float = -1) -> bool:
        """Wait until the job is done, for at most `seconds` (by default, without a limit); return whether it is
        done."""
        self._is_idle = self._is_idle or self._job_done.acquire(timeout=seconds)
        return self._is_idle

    def close(self) -> None:
        """End the thread."""
        self._job_ready.release()

    def recycle(self) -> None:
        """Keep the thread for the next run; if it is still busy, it ends after its job."""
        if self._is_idle and len(_idle_threads) < _MAX_IDLE_THREADS:
            _idle_threads.append(self)
        else:
            self.close()


@contextmanager
def run_on_thread(
    buffer: CallBuffer, job: Callable[[], None], waiter: RunWaiter, *, recurs: bool
) -> Iterator[LargeStackThread]:
    """A context in which a job, which must never raise, runs on a separate thread. On exit the job is asked to stop,
    and the context waits for it. The thread has the largest stack available; its size is the limit in the call
    buffer."""
    try:
        thread = _idle_threads.pop()
    except IndexError:
        thread = start_thread()
    try:
        buffer.set_stack_limit(thread.size - RESERVED_STACK_BYTES)
        thread.start_job(job)
        yield thread
    finally:
        buffer.request_stop()
        waiter.abort_calls()
        try:
            thread.wait_until_done()
        finally:
            is_short = not recurs or release_stack_memory(buffer.stack_floor, thread)
            thread.recycle() if is_short else thread.close()
            waiter.discard_pending()


def release_stack_memory(lowest: int | None, thread: LargeStackThread) -> bool:
    """Return the stack memory of an idle thread to the system, down to the lowest address that a run may use; return
    whether that was possible."""
    if _madvise is None or not thread._is_idle:
        return False
    if lowest is None:
        return True
    begin = (lowest + _PAGE_BYTES - 1) // _PAGE_BYTES * _PAGE_BYTES
    size = ctypes.c_size_t(thread.size - RESERVED_STACK_BYTES - _RESIDENT_STACK_BYTES)
    return bool(_madvise(ctypes.c_void_p(begin), size, _MADV_DONTNEED) == 0)


def start_thread() -> LargeStackThread:
    """Start a thread with the largest stack that the system allows."""
    size = STACK_BYTES
    while True:
        try:
            with _stack_size_lock:
                previous_size = threading.stack_size(size)
                try:
                    return LargeStackThread(size)
                finally:
                    threading.stack_size(previous_size)
        except RuntimeError:
            size //= 4
            if size < 4 * RESERVED_STACK_BYTES:
                raise


class RunWaiter:
    """Waits for a run that makes no host calls."""

    trap_message: str | None = None
    """Why the last effect trapped."""
    op_error: BaseException | None = None
    """The exception of an op, which should not raise."""

    def notify_finished(self) -> None:
        """Wake the waiting thread: the run is over."""

    def abort_calls(self) -> None:
        """Refuse all further host calls."""

    def discard_pending(self) -> None:
        """Release the operands of calls that were not performed."""

    def serve_until_finished(self, thread: LargeStackThread, seconds: float) -> bool:
        """Serve host calls until the run ends, for at most `seconds`; return whether it has ended."""
        return thread.wait_until_done(seconds)


class HostCallServer(RunWaiter):
    """Performs the host calls of one run."""

    def __init__(self, trap_sites: Sequence[TrapSite], buffer: CallBuffer, world: World) -> None:
        self.trap_sites, self.call_buffer, self.world = trap_sites, buffer, world
        # no SimpleQueue: its `get` forgets the timeout if a signal's handler ends after it
        self.requests = Queue[int | None]()
        self.replies = SimpleQueue[int]()
        self._kernels: dict[int, Kernel] = {}
        # The callback holds a weak reference: with a strong one, the two would form a cycle that keeps all data of the
        # run alive until the next garbage collection.
        method = WeakMethod(self.serve_call)

        def on_call(number: int) -> int:
            bound = method()
            return HOST_ABORTED if bound is None else bound(number)

        self._c_callback = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_int64)(on_call)
        buffer.set_host_callback(self._c_callback)

    def serve_call(self, number: int) -> int:
        """Serve a call, on the run's thread: compute an op, or hand an effect to the calling thread. Returns the status
        for generated code."""
        node = self.trap_sites[number].node
        if isinstance(node, Node) and node.op in OPS:
            return self.compute_op(number, node)
        self.requests.put(number)
        return self.replies.get()

    def compute_op(self, number: int, node: Node) -> int:
        """Compute an op; return the status for generated code. Raises nothing, since no exception can pass through
        generated code: if the op traps, its row provides the message later."""
        types, result, row = self.trap_sites[number].types, node.results[0].type, OPS[node.op]
        try:
            operands = tuple(self.call_buffer.borrow_operand(index, type_) for index, type_ in enumerate(types))
            if number not in self._kernels:
                self._kernels[number] = build_kernel(row, types, result, node.attributes)
            value = self._compute_kernel(node, self._kernels[number], operands)
            if value is None:
                return HOST_FAILED
            self.call_buffer.store_reply(value, result)
        except OpAbandoned:
            return HOST_ABORTED
        except MemoryError:
            return HOST_TOO_LARGE
        except BaseException as error:
            self.op_error = column_error(row, (), error) if isinstance(error, Exception) else error
            self.call_buffer.request_stop()  # there is no result to continue with
            return HOST_ABORTED
        return HOST_DONE

    def _compute_kernel(self, node: Node, kernel: Kernel, operands: tuple[Value, ...]) -> Value | None:
        """The result of a kernel, or None if the op traps; raises OpAbandoned if the run must stop meanwhile."""
        buffer, row = self.call_buffer, OPS[node.op]

        def compute(_owner: CallBuffer = buffer) -> Value | None:  # it keeps the arguments alive if the op is abandoned
            # the condition of a factorization computes it, so it takes as long
            return kernel(*operands) if trap_message(row, operands, node.attributes) is None else None

        if not may_take_long(node.op, operands, node.results[0].type):
            return compute()
        return compute_abandonable(compute, lambda: "stop" if buffer.is_stop_requested else None)

    def notify_finished(self) -> None:
        self.requests.put(None)

    def abort_calls(self) -> None:
        self.replies.put(HOST_ABORTED)

    def discard_pending(self) -> None:
        while not self.requests.empty():
            number = self.requests.get()
            if number is not None:
                self.take_operands(self.trap_sites[number].types)

    def serve_until_finished(self, thread: LargeStackThread, seconds: float) -> bool:
        deadline = time.monotonic() + seconds
        while True:
            try:
                number = self.requests.get(timeout=max(0.0, deadline - time.monotonic()))
            except Empty:
                return False
            if number is None:
                return True
            site = self.trap_sites[number]
            self.replies.put(self.perform_effect(site.node, self.take_operands(site.types)))
            if time.monotonic() >= deadline:
                return False

    def take_operands(self, types: Sequence[Type]) -> tuple[Value, ...]:
        return tuple(self.call_buffer.take_operand(index, type_) for index, type_ in enumerate(types))

    def perform_effect(self, node: object, operands: tuple[Value, ...]) -> int:
        """Perform an effect; return the status for generated code. Raises the exceptions of the world."""
        assert isinstance(node, Node)
        if node.op == "print":
            self.world.print(format_text(node.attribute("text"), operands))
            return HOST_DONE
        try:
            value: Value = self.world.call(node.attribute("function"), operands, node.attribute("returns"))
        except CallbackError as error:
            self.trap_message = str(error)
            return HOST_FAILED
        self.call_buffer.store_reply(value, node.attribute("returns"))
        return HOST_DONE
