"""What ends a run from outside: the clock, memory, and Ctrl-C."""

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
"""How many steps go by between two looks at the clock, unless an op on arrays was among them: each takes 0.1 us."""
MEMORY_CHECK_STEPS = 4096
"""How many steps go by between two looks at memory, which take 20 us each."""
LARGE_RESULT_BYTES = 2**20
"""A result of so many bytes is a reason to look at once."""


def resident_memory() -> int:
    """The bytes of memory that this process has now; where the system does not say, the most that it ever had."""
    try:
        file = os.open("/proc/self/statm", os.O_RDONLY)  # by Python's own files, this takes twice as long
        try:
            return int(os.read(file, 200).split()[1]) * resource.getpagesize()
        finally:
            os.close(file)
    except (OSError, IndexError, ValueError):
        most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        return most if sys.platform == "darwin" else most * 1024


_RESIDENT_MAX_AGE = 0.02
_last_resident = (-_RESIDENT_MAX_AGE, 0)


def recent_resident_memory() -> int:
    """The same, as it was within the last 20 ms: to look takes 5 us."""
    global _last_resident
    now = time.monotonic()
    if now - _last_resident[0] >= _RESIDENT_MAX_AGE:
        _last_resident = (now, resident_memory())
    return _last_resident[1]


@cache
def machine_memory() -> int:
    """The bytes of memory that this machine has, or what the process may use of it."""
    whole = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    try:
        return min(whole, int(Path("/sys/fs/cgroup/memory.max").read_bytes()))
    except (OSError, ValueError):
        return whole


_signals: Any = getattr(signal, "_signal", signal)
_set_handler, _get_handler = _signals.signal, _signals.getsignal
"""Without the enumerations that Python makes of numbers, which take 3 us."""


class Interrupt:
    """Whether Ctrl-C was pressed: it ends a run between two steps, so that nothing is lost. The second time it is what
    it always is, since a callback, or an op on large arrays, may go on for long."""

    waits_for_step = True
    """Whether it waits for the end of a step."""

    def __init__(self) -> None:
        self.is_requested = False
        self._is_acknowledged = False

    def handle_signal(self, number: int, frame: FrameType | None) -> None:
        if self.is_requested:
            raise KeyboardInterrupt
        self.is_requested = True

    def acknowledge(self) -> bool:
        """Whether it was pressed; who asks says so, by how a run ends."""
        self._is_acknowledged = self.is_requested
        return self.is_requested

    def raise_unacknowledged(self) -> None:
        """Raise KeyboardInterrupt where it was pressed and nobody says so."""
        if self.is_requested and not self._is_acknowledged:
            self._is_acknowledged = True
            raise KeyboardInterrupt


class _ImmediateInterrupt(Interrupt):
    """The same for what goes on in one step: it is what it always is, and is known all the same."""

    waits_for_step = False

    def handle_signal(self, number: int, frame: FrameType | None) -> None:
        self.is_requested = True
        _set_handler(signal.SIGINT, signal.default_int_handler)  # who is to do so may be left by this before
        raise KeyboardInterrupt


_active_interrupts: dict[int, Interrupt] = {}
"""What ends the run that goes on in a thread, by the thread's identity."""
_active_lock = threading.Lock()
"""Held while that changes, and while one is told: so none is told that has ended."""


def _renew_lock_after_fork() -> None:
    """A child that was forked has none of the threads, one of which may have held it."""
    global _active_lock
    _active_lock = threading.Lock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_renew_lock_after_fork)


def is_interrupted() -> bool:
    """Whether the run that goes on in this thread is to end: what waits within one of its steps asks for it."""
    running = _active_interrupts.get(threading.get_ident())
    return running is not None and running.is_requested


def interrupt_thread(thread: int) -> None:
    """What Ctrl-C is to the main thread, for the one of this identity: it ends what goes on there between two steps,
    or else by KeyboardInterrupt."""
    with _active_lock:
        running = _active_interrupts.get(thread)
        is_told = running is not None and running.waits_for_step and not running.is_requested
        if running is not None:
            running.is_requested = True
    if not is_told:
        ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(thread), ctypes.py_object(KeyboardInterrupt))


class _SignalScope:
    """While this lasts, Ctrl-C is this one's. A class, since each run has two: they take 2 us, by generators 10 us."""

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
        before = _get_handler(signal.SIGINT)
        if before is signal.default_int_handler or isinstance(getattr(before, "__self__", None), _ImmediateInterrupt):
            self._previous_handler = before
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
        """From now on it ends what goes on in this thread."""
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
        """Have Ctrl-C do what it did, even where it is pressed for the second time before that is so."""
        try:
            _set_handler(signal.SIGINT, self._previous_handler)
        except KeyboardInterrupt:
            _set_handler(signal.SIGINT, self._previous_handler)
            raise


def interrupt_between_steps() -> AbstractContextManager[Interrupt]:
    """While this lasts, Ctrl-C is noted; where nobody has heard it at the end, KeyboardInterrupt is raised. Only the
    main thread gets it, and only where nobody else has claimed it; another thread has `interrupt`."""
    return _SignalScope(Interrupt())


def interrupt_at_once() -> AbstractContextManager[Interrupt]:
    """While this lasts, Ctrl-C is what it always is, and where that is swallowed, it is raised again at the end: no
    exception passes through LLVM, which calls Python when it has compiled something, nor through NumPy where it looks
    for methods."""
    return _SignalScope(_ImmediateInterrupt())


@contextmanager
def block_interrupt() -> Iterator[None]:
    """While this lasts, Ctrl-C waits: it would leave half of what cannot be begun again, as numba's import."""
    with interrupt_between_steps():
        yield


class LimitMonitor:
    """Says, between two steps, why a run is to end: its seconds are over, its memory is used up, or somebody pressed
    Ctrl-C."""

    def __init__(self, seconds: float | None, memory_limit: int, interrupt: Interrupt) -> None:
        self.deadline = None if seconds is None else time.monotonic() + seconds
        self.memory_limit = memory_limit
        self.interrupt = interrupt

    def exceeded_limit(self, steps: int, event: Event | None) -> str | None:
        """The name of the limit that is exceeded after so many steps, the last of which was this event."""
        if self.interrupt.is_requested:
            return "interrupt"
        if self.deadline is not None and time.monotonic() >= self.deadline:
            return "seconds"
        if (steps % MEMORY_CHECK_STEPS == 0 or has_large_result(event)) and resident_memory() > self.memory_limit:
            return "bytes"
        return None


def has_large_result(event: Event | None) -> bool:
    """Whether an event made an array that is large."""
    if event is None or not event.outputs:
        return False
    value = event.outputs[0][1]
    return isinstance(value, np.ndarray) and value.nbytes >= LARGE_RESULT_BYTES
