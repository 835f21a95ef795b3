"""Host calls: effects and ops without machine code, which generated code leaves to Python and waits for.

The thread that waits for the run, which is the calling thread, performs effects: one after another, in program order,
so that thread-local state is the same as under the reference. Ops without machine code need no particular thread: the
run's own thread calls their kernels.
"""

from __future__ import annotations

import ctypes
import time
from collections.abc import Callable, Sequence
from queue import Empty, SimpleQueue
from typing import Protocol
from weakref import WeakMethod

from ....core.ops.effects import format_text
from ....core.ops.op import OPS, Kernel, build_kernel, column_error, trap_message
from ....core.program.program import Node
from ....core.types import Type
from ....core.value import Value
from ....core.world import CallbackError, World
from ..jit.state import HOST_ABORTED, HOST_DONE, HOST_FAILED, HOST_TOO_LARGE
from .call_buffer import CallBuffer
from .text import TrapSite


class CompletionHandle(Protocol):
    """A thread that runs a job."""

    def wait_until_done(self, seconds: float) -> bool: ...


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

    def serve_until_finished(self, thread: CompletionHandle, seconds: float) -> bool:
        """Serve host calls for so many seconds, or until the run ends; return whether it has ended."""
        return thread.wait_until_done(seconds)


def _weak_c_callback(weak: WeakMethod[Callable[[int], int]]) -> object:
    """A C callback for a method that it does not keep alive: otherwise the two would keep each other, and all data of
    the run, alive until the next garbage collection."""

    def on_call(number: int) -> int:
        found = weak()
        return HOST_ABORTED if found is None else found(number)

    return ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_int64)(on_call)


class HostCallServer(RunWaiter):
    """Performs the host calls of one run."""

    def __init__(self, asking: Sequence[TrapSite], words: CallBuffer, world: World) -> None:
        self.trap_sites, self.call_buffer, self.world = asking, words, world
        self.requests = SimpleQueue[int | None]()
        self.replies = SimpleQueue[int]()
        self._kernels: dict[int, Kernel] = {}
        self._c_callback = _weak_c_callback(WeakMethod(self._on_call))  # keeps the callback alive
        words.set_host_callback(self._c_callback)

    def _on_call(self, number: int) -> int:
        node = self.trap_sites[number].node
        if isinstance(node, Node) and node.op in OPS:
            return self._compute_op(number, node)
        self.requests.put(number)
        return self.replies.get()

    def _compute_op(self, number: int, node: Node) -> int:
        """Compute an op; return the status for generated code. The row of a trapping op gives the reason again later,
        and no other exception may escape: none can pass through generated code."""
        types, result, row = self.trap_sites[number].types, node.results[0].type, OPS[node.op]
        try:
            operands = tuple(self.call_buffer.borrow_operand(at, type_) for at, type_ in enumerate(types))
            if trap_message(row, operands, node.attributes) is not None:
                return HOST_FAILED
            if number not in self._kernels:
                self._kernels[number] = build_kernel(row, types, result, node.attributes)
            self.call_buffer.store_reply(self._kernels[number](*operands), result)
        except MemoryError:
            return HOST_TOO_LARGE
        except BaseException as error:
            self.op_error = column_error(row, (), error) if isinstance(error, Exception) else error
            self.call_buffer.request_stop()  # there is no result to continue with
            return HOST_ABORTED
        return HOST_DONE

    def notify_finished(self) -> None:
        self.requests.put(None)

    def abort_calls(self) -> None:
        self.replies.put(HOST_ABORTED)

    def discard_pending(self) -> None:
        while not self.requests.empty():
            number = self.requests.get()
            if number is not None:
                self._take_operands(self.trap_sites[number].types)

    def serve_until_finished(self, thread: CompletionHandle, seconds: float) -> bool:
        ends = time.monotonic() + seconds
        while True:
            try:
                number = self.requests.get(timeout=max(0.0, ends - time.monotonic()))
            except Empty:
                return False
            if number is None:
                return True
            asking = self.trap_sites[number]
            self.replies.put(self._perform_effect(asking.node, self._take_operands(asking.types)))
            if time.monotonic() >= ends:
                return False

    def _take_operands(self, types: Sequence[Type]) -> tuple[Value, ...]:
        return tuple(self.call_buffer.take_operand(at, type_) for at, type_ in enumerate(types))

    def _perform_effect(self, node: object, operands: tuple[Value, ...]) -> int:
        """Perform an effect; return the status for generated code. Raises what the world raises."""
        assert isinstance(node, Node)
        if node.op == "print":
            self.world.print(format_text(node.attribute("text"), operands))
            return HOST_DONE
        try:
            value: Value = self.world.call(node.attribute("function"), operands, node.attribute("returns"))
        except CallbackError as failed:
            self.trap_message = str(failed)
            return HOST_FAILED
        self.call_buffer.store_reply(value, node.attribute("returns"))
        return HOST_DONE
