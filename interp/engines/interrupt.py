"""Interruption: ending a run from outside, by the clock, by memory or by Ctrl-C."""

from __future__ import annotations

import ctypes
import os
import resource
import signal
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from functools import cache
from pathlib import Path
from types import FrameType
from typing import Any

import numpy as np

from ..machine.event import Event

CLOCK_CHECK_STEPS = 64
"""The number of steps between two reads of the clock, which take 0.1 us each; an op on arrays causes one at once."""
MEMORY_CHECK_STEPS = 4096
"""The number of steps between two reads of the memory in use, which take 20 us each."""
LARGE_RESULT_BYTES = 2**20
"""Results of this many bytes together cause a check at once."""


def resident_memory() -> int:
    """The resident memory of this process in bytes; where the system does not report it, the peak so far."""
    try:
        file = os.open("/proc/self/statm", os.O_RDONLY)  # Python's own file objects take twice as long
        try:
            return int(os.read(file, 200).split()[1]) * resource.getpagesize()
        finally:
            os.close(file)
    except (OSError, IndexError, ValueError):
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        return peak if sys.platform == "darwin" else peak * 1024


@cache
def statm_file() -> int:
    """A file descriptor of /proc/self/statm, from which machine code reads the resident memory; -1 where there is
    none."""
    try:
        return os.open("/proc/self/statm", os.O_RDONLY)
    except OSError:
        return -1


def _reopen_statm_in_child() -> None:
    """Close the file in a forked child: it belongs to the parent."""
    if statm_file.cache_info().currsize and statm_file() >= 0:
        os.close(statm_file())
    statm_file.cache_clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_reopen_statm_in_child)

_RESIDENT_MAX_AGE = 0.02
_last_resident = (-_RESIDENT_MAX_AGE, 0)


def recent_resident_memory() -> int:
    """The resident memory, measured at most 20 ms ago: to measure it takes 5 us."""
    global _last_resident
    now = time.monotonic()
    if now - _last_resident[0] >= _RESIDENT_MAX_AGE:
        _last_resident = (now, resident_memory())
    return _last_resident[1]


@cache
def machine_memory() -> int:
    """The memory of this machine in bytes, or the part that the process may use."""
    total = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    try:
        return min(total, int(Path("/sys/fs/cgroup/memory.max").read_bytes()))
    except (OSError, ValueError):
        return total


_signals: Any = getattr(signal, "_signal", signal)
_set_handler, _get_handler = _signals.signal, _signals.getsignal
"""The raw functions, without Python's conversion to enumerations, which takes 3 us."""


class Interrupt:
    """Ctrl-C as a flag that ends a run between two steps, so that nothing is lost. A second Ctrl-C raises
    KeyboardInterrupt as usual, since a callback or an op on large arrays may take long."""

    waits_for_step = True
    """Whether Ctrl-C waits for the end of a step."""

    def __init__(self) -> None:
        self.is_requested = False
        self._is_acknowledged = False

    def handle_signal(self, number: int, frame: FrameType | None) -> None:
        if self.is_requested:
            raise KeyboardInterrupt
        self.is_requested = True

    def acknowledge(self) -> bool:
        """Whether Ctrl-C was pressed; the caller must report it, by how the run ends."""
        self._is_acknowledged = self.is_requested
        return self.is_requested

    def raise_unacknowledged(self) -> None:
        """Raise KeyboardInterrupt if Ctrl-C was pressed and no caller reports it."""
        if self.is_requested and not self._is_acknowledged:
            self._is_acknowledged = True
            raise KeyboardInterrupt


class _ImmediateInterrupt(Interrupt):
    """Ctrl-C that ends a run within a step: it raises KeyboardInterrupt as usual, and sets the flag too."""

    waits_for_step = False

    def handle_signal(self, number: int, frame: FrameType | None) -> None:
        self.is_requested = True
        _set_handler(signal.SIGINT, signal.default_int_handler)  # first: the interrupt may skip its restoration
        raise KeyboardInterrupt


_active_interrupts: dict[int, Interrupt] = {}
"""The interrupts of the current runs, by thread identity."""
_active_lock = threading.Lock()
"""Guards `_active_interrupts`, and each signal to a run, so that no finished run is signalled."""


def _renew_lock_after_fork() -> None:
    """Renew the lock in a forked child: a thread that held it does not exist there."""
    global _active_lock
    _active_lock = threading.Lock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_renew_lock_after_fork)


def is_interrupted() -> bool:
    """Whether the run in this thread should end; code that waits within a step polls this."""
    interrupt = _active_interrupts.get(threading.get_ident())
    return interrupt is not None and interrupt.is_requested


def interrupt_thread(thread: int) -> None:
    """Interrupt the thread of this identity as Ctrl-C interrupts the main thread: end its run between two steps, or
    else raise KeyboardInterrupt there."""
    with _active_lock:
        interrupt = _active_interrupts.get(thread)
        ends_between_steps = interrupt is not None and interrupt.waits_for_step and not interrupt.is_requested
        if interrupt is not None:
            interrupt.is_requested = True
    if not ends_between_steps:
        ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(thread), ctypes.py_object(KeyboardInterrupt))


class _SignalScope:
    """A context in which Ctrl-C goes to one Interrupt. A class, since each run enters two: 2 us, where generators take
    10 us."""

    __slots__ = ("_interrupt", "_is_registered", "_outer_interrupt", "_previous_handler")

    def __init__(self, interrupt: Interrupt) -> None:
        self._interrupt = interrupt
        self._previous_handler: Any = None
        self._is_registered = False
        self._outer_interrupt: Interrupt | None = None

    def __enter__(self) -> Interrupt:
        interrupt = self._interrupt
        if threading.current_thread() is not threading.main_thread():
            if interrupt.waits_for_step or threading.get_ident() not in _active_interrupts:
                self._register()
            return interrupt
        handler = _get_handler(signal.SIGINT)
        if handler is signal.default_int_handler or isinstance(getattr(handler, "__self__", None), _ImmediateInterrupt):
            self._previous_handler = handler
            _set_handler(signal.SIGINT, interrupt.handle_signal)
            if interrupt.waits_for_step:
                self._register()
        return interrupt

    def __exit__(self, kind: type[BaseException] | None, error: object, traceback: object) -> None:
        interrupt = self._interrupt
        if kind is not None and issubclass(kind, KeyboardInterrupt):
            interrupt.acknowledge()
        try:
            if self._is_registered:
                self._unregister()
        finally:
            if self._previous_handler is not None:
                self._restore_handler()
        interrupt.raise_unacknowledged()

    def _register(self) -> None:
        """Make this the interrupt of this thread's run."""
        thread, self._is_registered = threading.get_ident(), True
        with _active_lock:
            self._outer_interrupt, _active_interrupts[thread] = _active_interrupts.get(thread), self._interrupt

    def _unregister(self) -> None:
        thread = threading.get_ident()
        with _active_lock:
            del _active_interrupts[thread]
            if self._outer_interrupt is not None:
                _active_interrupts[thread] = self._outer_interrupt

    def _restore_handler(self) -> None:
        """Restore the previous handler, even if a second Ctrl-C arrives meanwhile."""
        try:
            _set_handler(signal.SIGINT, self._previous_handler)
        except KeyboardInterrupt:
            _set_handler(signal.SIGINT, self._previous_handler)
            raise


def interrupt_between_steps() -> AbstractContextManager[Interrupt]:
    """A context that notes Ctrl-C instead of raising; if no caller acknowledged it by the end, KeyboardInterrupt is
    raised. Only the main thread receives Ctrl-C, and only if no other code has claimed it; other threads use
    `interrupt_thread`."""
    return _SignalScope(Interrupt())


def interrupt_at_once() -> AbstractContextManager[Interrupt]:
    """A context in which Ctrl-C raises KeyboardInterrupt as usual, and raises it again at the end if it was swallowed:
    LLVM, which calls Python after compiling, and NumPy's lookup of methods swallow exceptions."""
    return _SignalScope(_ImmediateInterrupt())


@contextmanager
def block_interrupt() -> Iterator[None]:
    """A context that delays Ctrl-C, for work that cannot be restarted half done, such as numba's import."""
    with interrupt_between_steps():
        yield


class LimitMonitor:
    """Checks between two steps whether a run must end: it has reached its limit of seconds or bytes, or Ctrl-C was
    pressed."""

    def __init__(self, seconds: float | None, memory_limit: int, interrupt: Interrupt) -> None:
        self.deadline = None if seconds is None else time.monotonic() + seconds
        self.memory_limit = memory_limit
        self.interrupt = interrupt
        self._unmeasured_bytes = 0
        """The bytes of the arrays that were made since memory was measured."""

    def exceeded_limit(self, steps: int, event: Event | None) -> str | None:
        """The name of the limit that is exceeded after `steps` steps, the last of which was `event`; None if none
        is."""
        if self.interrupt.is_requested:
            return "interrupt"
        if self.deadline is not None and time.monotonic() >= self.deadline:
            return "seconds"
        self._unmeasured_bytes += result_bytes(event)
        if steps % MEMORY_CHECK_STEPS == 0 or self._unmeasured_bytes >= LARGE_RESULT_BYTES:
            self._unmeasured_bytes = 0
            if resident_memory() > self.memory_limit:
                return "bytes"
        return None


def result_bytes(event: Event | None) -> int:
    """The bytes of the array that an event made; 0 if it made none."""
    if event is None or not event.outputs:
        return 0
    value = event.outputs[0][1]
    return value.nbytes if isinstance(value, np.ndarray) else 0
