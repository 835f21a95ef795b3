"""Interruption: Ctrl-C ends a run between two steps, or at once."""

from __future__ import annotations

import ctypes
import os
import signal
import sys
import threading
from collections.abc import Iterator
from concurrent.futures import Future
from contextlib import AbstractContextManager, contextmanager
from importlib import import_module
from types import FrameType, ModuleType
from typing import Any

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
    """A context that delays Ctrl-C, for work that cannot be restarted half done."""
    with interrupt_between_steps():
        yield


IMPORT_THREAD, LOADER_THREAD = HELPER_THREADS = ("tagloom import", "tagloom loader")
"""The names of threads that import modules, or load code. A process that need not end in order need not wait for
them."""


def import_slowly(name: str) -> ModuleType:
    """The module of this name, which takes long to import, as those do that import numba.

    In the main thread Ctrl-C ends the wait at once, and not the import, which another thread does: half an import
    cannot be repeated, and importlib may swallow KeyboardInterrupt.
    """
    module = sys.modules.get(name)
    is_there = module is not None and not getattr(getattr(module, "__spec__", None), "_initializing", False)
    if is_there or threading.current_thread() is not threading.main_thread():
        return import_module(name)
    import_result: Future[ModuleType] = Future()

    def work() -> None:
        try:
            import_result.set_result(import_module(name))
        except BaseException as error:
            import_result.set_exception(error)

    try:
        threading.Thread(target=work, name=IMPORT_THREAD).start()
    except RuntimeError:  # too many threads
        with block_interrupt():
            return import_module(name)
    return import_result.result()
