"""Ops on large operands, which NumPy computes in one call: a helper thread computes them, so that limits and Ctrl-C end
a run meanwhile. NumPy and LAPACK cannot be stopped in the middle; an abandoned op runs on until it ends, and its result
is dropped. A process that exits before gets some seconds; then the system ends it.
"""

from __future__ import annotations

import atexit
import signal
import threading
from collections.abc import Callable, Iterable
from contextvars import copy_context
from typing import Any, TypeVar

from ...core.ops.op import OPS

Result = TypeVar("Result")

POLL_SECONDS = 0.02
"""Seconds between two checks whether to abandon an op."""
MIN_ELEMENTS, MIN_CUBIC_ELEMENTS = 2**21, 2**15
"""From these numbers of elements on, of the operands together, a helper thread computes an op; the second is for ops
whose work grows faster than their operands. Such an op takes some milliseconds, and starting the thread 0.1 ms."""
EXIT_SECONDS = 2
"""How many seconds an abandoned op may delay the end of the process."""
_CUBIC_OPS = frozenset(
    (
        *("matmul", "det", "slogdet_sign", "slogdet_logabsdet", "inv", "solve", "triangular_solve", "cholesky"),
        *("qr_q", "qr_r", "eigvalsh", "eigh_vectors", "svd_u", "svdvals", "svd_vh"),
    )
)
_abandoned_threads: list[threading.Thread] = []


class OpAbandoned(Exception):
    """Raised where an op was abandoned; the argument is what ended the run."""


def may_take_long(op: str, operands: Iterable[object]) -> bool:
    """Whether an op on these operands may take longer than some milliseconds."""
    if op not in OPS:
        return False
    elements = sum(getattr(each, "size", 1) for each in operands)
    return elements >= (MIN_CUBIC_ELEMENTS if op in _CUBIC_OPS else MIN_ELEMENTS)


def compute_abandonable(job: Callable[[], Result], stop_reason: Callable[[], str | None]) -> Result:
    """The result of a job without effects, computed on a helper thread. Raises what the job raises, and OpAbandoned
    with the reason as soon as `stop_reason` returns one."""
    outcome: list[Any] = []
    context, has_ended = copy_context(), threading.Event()

    def run_job() -> None:
        try:
            outcome.extend((context.run(job), None))
        except BaseException as error:
            outcome.extend((None, error))
        finally:
            has_ended.set()

    thread = threading.Thread(target=run_job, name="tagloom long op", daemon=True)
    try:
        thread.start()
    except RuntimeError:  # too many threads
        return job()
    reason = None
    try:
        while not has_ended.wait(POLL_SECONDS) and reason is None:
            reason = stop_reason()
    finally:
        if not has_ended.is_set():
            _abandoned_threads[:] = [each for each in (*_abandoned_threads, thread) if each.is_alive()]
    if not has_ended.is_set():
        raise OpAbandoned(reason)
    result, error = outcome
    if error is not None:
        raise error
    return result  # type: ignore[no-any-return]


@atexit.register
def bound_exit() -> None:
    """Have the system end the process soon if an abandoned op still runs: libraries such as OpenBLAS wait for their
    threads at exit, and some of these may be gone."""
    is_main = threading.current_thread() is threading.main_thread()
    if any(each.is_alive() for each in _abandoned_threads) and is_main and hasattr(signal, "alarm"):
        signal.signal(signal.SIGALRM, signal.SIG_DFL)
        signal.alarm(EXIT_SECONDS)
