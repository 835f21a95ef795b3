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

OFTEN = 64
"""How many steps go by between two looks at the clock, unless an op on arrays was among them: each takes 0.1 us."""
EVERY = 4096
"""How many steps go by between two looks at memory, which take 20 us each."""
LARGE = 2**20
"""A result of so many bytes is a reason to look at once."""


def resident() -> int:
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


_LATELY = 0.02
_seen = (-_LATELY, 0)


def resident_lately() -> int:
    """The same, as it was within the last 20 ms: to look takes 5 us."""
    global _seen
    now = time.monotonic()
    if now - _seen[0] >= _LATELY:
        _seen = (now, resident())
    return _seen[1]


@cache
def machine_memory() -> int:
    """The bytes of memory that this machine has, or what the process may use of it."""
    whole = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    try:
        return min(whole, int(Path("/sys/fs/cgroup/memory.max").read_bytes()))
    except (OSError, ValueError):
        return whole


_signals: Any = getattr(signal, "_signal", signal)
_handle, _handler = _signals.signal, _signals.getsignal
"""Without the enumerations that Python makes of numbers, which take 3 us."""


class Interrupt:
    """Whether Ctrl-C was pressed: it ends a run between two steps, so that nothing is lost. The second time it is what
    it always is, since a callback, or an op on large arrays, may go on for long."""

    is_patient = True
    """Whether it waits for the end of a step."""

    def __init__(self) -> None:
        self.pressed = False
        self._is_heard = False

    def press(self, number: int, frame: FrameType | None) -> None:
        if self.pressed:
            raise KeyboardInterrupt
        self.pressed = True

    def hear(self) -> bool:
        """Whether it was pressed; who asks says so, by how a run ends."""
        self._is_heard = self.pressed
        return self.pressed

    def end(self) -> None:
        """Raise KeyboardInterrupt where it was pressed and nobody says so."""
        if self.pressed and not self._is_heard:
            self._is_heard = True
            raise KeyboardInterrupt


class _Insistent(Interrupt):
    """The same for what goes on in one step: it is what it always is, and is known all the same."""

    is_patient = False

    def press(self, number: int, frame: FrameType | None) -> None:
        self.pressed = True
        _handle(signal.SIGINT, signal.default_int_handler)  # who is to do so may be left by this before
        raise KeyboardInterrupt


_running: dict[int, Interrupt] = {}
"""What ends the run that goes on in a thread, by the thread's identity."""
_changing = threading.Lock()
"""Held while that changes, and while one is told: so none is told that has ended."""


def _begin_again() -> None:
    """A child that was forked has none of the threads, one of which may have held it."""
    global _changing
    _changing = threading.Lock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_begin_again)


def is_interrupted() -> bool:
    """Whether the run that goes on in this thread is to end: what waits within one of its steps asks for it."""
    running = _running.get(threading.get_ident())
    return running is not None and running.pressed


def interrupt(thread: int) -> None:
    """What Ctrl-C is to the main thread, for the one of this identity: it ends what goes on there between two steps,
    or else by KeyboardInterrupt."""
    with _changing:
        running = _running.get(thread)
        is_told = running is not None and running.is_patient and not running.pressed
        if running is not None:
            running.pressed = True
    if not is_told:
        ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(thread), ctypes.py_object(KeyboardInterrupt))


class _Claim:
    """While this lasts, Ctrl-C is this one's. A class, since each run has two: they take 2 us, by generators 10 us."""

    __slots__ = ("_before", "_interrupt", "_is_registered", "_outer")

    def __init__(self, interrupt: Interrupt) -> None:
        self._interrupt = interrupt
        self._before: Any = None
        self._is_registered = False
        self._outer: Interrupt | None = None

    def __enter__(self) -> Interrupt:
        interrupt = self._interrupt
        if threading.current_thread() is not threading.main_thread():
            if interrupt.is_patient or threading.get_ident() not in _running:
                self._register()
            return interrupt
        before = _handler(signal.SIGINT)
        if before is signal.default_int_handler or isinstance(getattr(before, "__self__", None), _Insistent):
            self._before = before
            _handle(signal.SIGINT, interrupt.press)
            if interrupt.is_patient:
                self._register()
        return interrupt

    def __exit__(self, kind: type[BaseException] | None, error: object, traceback: object) -> None:
        interrupt = self._interrupt
        if kind is not None and issubclass(kind, KeyboardInterrupt):
            interrupt.hear()
        try:
            if self._is_registered:
                self._leave()
        finally:
            if self._before is not None:
                self._give_back()
        interrupt.end()

    def _register(self) -> None:
        """From now on it ends what goes on in this thread."""
        thread, self._is_registered = threading.get_ident(), True
        with _changing:
            self._outer, _running[thread] = _running.get(thread), self._interrupt

    def _leave(self) -> None:
        thread = threading.get_ident()
        with _changing:
            del _running[thread]
            if self._outer is not None:
                _running[thread] = self._outer

    def _give_back(self) -> None:
        """Have Ctrl-C do what it did, even where it is pressed for the second time before that is so."""
        try:
            _handle(signal.SIGINT, self._before)
        except KeyboardInterrupt:
            _handle(signal.SIGINT, self._before)
            raise


def interruptible() -> AbstractContextManager[Interrupt]:
    """While this lasts, Ctrl-C is noted; where nobody has heard it at the end, KeyboardInterrupt is raised. Only the
    main thread gets it, and only where nobody else has claimed it; another thread has `interrupt`."""
    return _Claim(Interrupt())


def insistent() -> AbstractContextManager[Interrupt]:
    """While this lasts, Ctrl-C is what it always is, and where that is swallowed, it is raised again at the end: no
    exception passes through LLVM, which calls Python when it has compiled something, nor through NumPy where it looks
    for methods."""
    return _Claim(_Insistent())


@contextmanager
def held_off() -> Iterator[None]:
    """While this lasts, Ctrl-C waits: it would leave half of what cannot be begun again, as numba's import."""
    with interruptible():
        yield


class Alarm:
    """Says, between two steps, why a run is to end: its seconds are over, its memory is used up, or somebody pressed
    Ctrl-C."""

    def __init__(self, seconds: float | None, memory: int, interrupt: Interrupt) -> None:
        self.ends = None if seconds is None else time.monotonic() + seconds
        self.memory = memory
        self.interrupt = interrupt

    def rings(self, steps: int, event: Event | None) -> str | None:
        """The name of the limit that is exceeded after so many steps, the last of which was this event."""
        if self.interrupt.pressed:
            return "interrupt"
        if self.ends is not None and time.monotonic() >= self.ends:
            return "seconds"
        if (steps % EVERY == 0 or is_large(event)) and resident() > self.memory:
            return "bytes"
        return None


def is_large(event: Event | None) -> bool:
    """Whether an event made an array that is large."""
    if event is None or not event.outputs:
        return False
    value = event.outputs[0][1]
    return isinstance(value, np.ndarray) and value.nbytes >= LARGE
