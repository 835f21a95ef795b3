"""Ops on large operands, which NumPy computes in one call: a helper thread computes them, so that limits and Ctrl-C end
a run meanwhile. NumPy and LAPACK cannot be stopped in the middle; an abandoned op runs on until it ends, and its result
is dropped. A process that exits before does not wait for it, and keeps its exit code.
"""

from __future__ import annotations

import atexit
import ctypes
import math
import signal
import threading
from collections.abc import Callable, Sequence
from contextvars import copy_context
from typing import Any, TypeVar

import numpy as np

from ...core.errors import Invalid
from ...core.graph.graph import GraphNode
from ...core.ops.effects import EFFECT_OPS
from ...core.ops.op import OPS, Op, fill_dynamic_sizes, trap_message
from ...core.ops.routing import ALL_ROUTING_OPS
from ...core.types import HandleType, Type, type_of
from ...core.value import Value
from .limits import LARGE_RESULT_BYTES, resident_memory
from .thread_switches import frequent_switches

Result = TypeVar("Result")

THREAD_NAME = "tagloom long op"
POLL_SECONDS = 0.02
"""Seconds between two checks whether to abandon an op."""
MIN_ELEMENTS, MIN_SUPERLINEAR_ELEMENTS = 2**21, 2**15
"""From these numbers of elements on, a helper thread computes an op. The first is for the operands together, or the
result; the second for the operands of ops whose work grows faster. Such an op takes some milliseconds, and starting the
thread 0.1 ms."""
MIN_MEASURED_ELEMENTS = 512
"""Operands with fewer elements together broadcast to less than half a megabyte."""
EXIT_SECONDS = 10
"""How many seconds an abandoned op may delay the end of the process where the C library has no `on_exit`. The process
then loses its exit code: a signal ends it. On a busy machine, the exit of Python itself takes some seconds."""
_abandoned_threads: list[threading.Thread] = []


class OpAbandoned(Exception):
    """Raised where an op was abandoned; the argument is the limit that ended the run."""


def may_take_long(op: str, operands: Sequence[Value], result: Type) -> bool:
    """Whether an op on these operands, with a result of this type, may take longer than some milliseconds. A result's
    size that only the run computes, such as the size of `repeat`, is unknown, and does not count."""
    if op in ALL_ROUTING_OPS:
        return False
    row, arrays = OPS.get(op), [operand for operand in operands if isinstance(operand, np.ndarray)]
    elements = sum(array.size for array in arrays)
    if elements >= MIN_ELEMENTS or (elements >= MIN_SUPERLINEAR_ELEMENTS and row and row.has_superlinear_work):
        return True
    shape = result.shape
    if shape is None or None in shape:
        # a result of two operands that broadcast is at most as large as the product of their sizes
        if len(arrays) < 2 or elements < 2 * math.isqrt(MIN_ELEMENTS) or row is None or row.shape_rule is None:
            return False
        try:
            shape = row.shape_rule([operand.shape if isinstance(operand, np.ndarray) else () for operand in operands])
        except Invalid:
            return False  # the op traps
    return math.prod(shape or ()) >= MIN_ELEMENTS  # type: ignore[arg-type]  # all sizes are known


def predicted_result_bytes(node: GraphNode, operands: Sequence[Value]) -> int:
    """The bytes of the result of an op on these operands, if its type, the operands' types and the values of sizes
    determine them; else, or if the op traps, 0."""
    row, result, attributes = OPS.get(node.op) or EFFECT_OPS.get(node.op), node.outputs[0].type, node.attributes
    if row is None or isinstance(result.dtype, HandleType):
        return 0
    shape = result.shape
    if shape is None or None in shape:
        has_sizes = row.dynamic_sizes is not None or (isinstance(row, Op) and row.result_elements is not None)
        if (
            not has_sizes
            and sum(operand.size for operand in operands if isinstance(operand, np.ndarray)) < MIN_MEASURED_ELEMENTS
        ):
            return 0
        try:
            others, attributes = fill_dynamic_sizes(row, tuple(operands), attributes)
            shape = row.type_rule(*map(type_of, others), **dict(attributes)).shape
            if (shape is None or None in shape) and isinstance(row, Op) and row.result_elements is not None:
                shape = (row.result_elements(*others, **dict(attributes)),)
        except (Invalid, MemoryError, ValueError, ArithmeticError):
            return 0
    return 0 if shape is None or None in shape else math.prod(shape) * result.dtype.numpy.itemsize  # type: ignore[arg-type]


def exceeds_memory(node: GraphNode, operands: Sequence[Value], limit: int) -> bool:
    """Whether the result of an op would exceed a limit on the resident memory. A firing that traps has no result.

    Raises MemoryError where no array may have as many elements."""
    count = predicted_result_bytes(node, operands)
    if count < LARGE_RESULT_BYTES or resident_memory() + count <= limit:
        return False
    row = OPS.get(node.op)
    return row is None or trap_message(row, tuple(operands), node.attributes) is None


def compute_abandonable(job: Callable[[], Result], stop_reason: Callable[[], str | None]) -> Result:
    """The result of a job without effects, computed on a helper thread. Raises what the job raises, and OpAbandoned
    with the reason as soon as `stop_reason` returns one."""
    outcome: list[Any] = []
    context, has_ended = copy_context(), threading.Event()

    def run_job() -> None:
        try:
            with frequent_switches():
                outcome.extend((context.run(job), None))
        except BaseException as error:
            outcome.extend((None, error))
        finally:
            has_ended.set()

    thread = threading.Thread(target=run_job, name=THREAD_NAME, daemon=True)
    try:
        try:
            thread.start()
        except RuntimeError:  # too many threads
            return job()
        while not has_ended.wait(POLL_SECONDS):
            reason = stop_reason()
            if reason is not None:
                raise OpAbandoned(reason)
    finally:  # on KeyboardInterrupt, too
        if thread.is_alive() and not has_ended.is_set():
            _abandoned_threads[:] = [worker for worker in (*_abandoned_threads, thread) if worker.is_alive()]
    result, error = outcome
    if error is not None:
        try:
            raise error
        finally:
            del error, outcome  # the traceback refers to this frame: a cycle would keep the operands alive
    return result  # type: ignore[no-any-return]


@atexit.register
def bound_exit() -> None:
    """Have the process end without a wait if an abandoned op still runs: libraries such as OpenBLAS wait for their
    threads at exit, and some of these may be gone. The GNU C library calls `_exit`, with the exit code, before any
    library is asked to end. The system ends a process that does not get so far."""
    is_main = threading.current_thread() is threading.main_thread()
    if not (any(abandoned_thread.is_alive() for abandoned_thread in _abandoned_threads) and is_main):
        return
    library = ctypes.CDLL(None)
    if hasattr(library, "on_exit"):
        library.fflush(None)
        library.on_exit(ctypes.cast(library._exit, ctypes.c_void_p), None)
    if hasattr(signal, "alarm"):
        signal.signal(signal.SIGALRM, signal.SIG_DFL)
        signal.alarm(EXIT_SECONDS)
