"""Threads with a large stack, in which compiled code runs while whoever called it waits, and looks at limits.

A thread is kept for the next run: to start one takes 0.2 ms, which is what a loop over a million numbers takes. Where
its program recurs, the memory that its stack took is given back; on systems where that cannot be, the thread ends.
"""

from __future__ import annotations

import ctypes
import mmap
import os
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache

from .call_buffer import Words
from .host_calls import Waiter

STACK = 2**30
"""The bytes of stack that a run asks for; they are memory only as far as they are used."""
SPARE = 2**21
"""What of it stays free for the frames of those who are called without asking."""
NEAR = 2**21
"""What a run has of the stack of the thread that called, if so much is left."""
_KEPT = 4
_idle: list[Runner] = []
_sizing = threading.Lock()
"""Held while threads get another stack than they do in the rest of the process."""
_advise = getattr(ctypes.CDLL(None), "madvise", None) if sys.platform == "linux" else None
_PAGE, _DONTNEED = mmap.PAGESIZE, 4
_NEAR = 2**18
"""What of a stack is kept, which a thread that rests may be using."""


@cache
def near_stack() -> int | None:
    """Where the stack of this thread ends, which is the main one; None where the system does not say."""
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


def _begin_again() -> None:
    """A child that was forked has none of these threads, and whichever forked it is its main one."""
    _idle.clear()
    near_stack.cache_clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_begin_again)


class Runner:
    """A thread that runs one thing after another; `size` is that of its stack."""

    def __init__(self, size: int) -> None:
        self.size = size
        self._given, self._done = threading.Lock(), threading.Lock()
        self._given.acquire()
        self._done.acquire()
        self._job: Callable[[], None] | None = None
        self._is_at_rest = True
        threading.Thread(target=self._serve, name="tagloom", daemon=True).start()

    def _serve(self) -> None:
        while True:
            self._given.acquire()
            if self._job is None:
                return
            self._job()
            self._job = None
            self._done.release()

    def begin(self, job: Callable[[], None]) -> None:
        """Run something that never raises."""
        self._job = job
        self._given.release()
        self._is_at_rest = False  # not before: who is interrupted here waits for nothing that was not begun

    def is_done(self, seconds: float = -1) -> bool:
        """Whether it has ended; waits for that, for so many seconds or, by default, as long as it takes."""
        self._is_at_rest = self._is_at_rest or self._done.acquire(timeout=seconds)
        return self._is_at_rest

    def close(self) -> None:
        """Let the thread end."""
        self._given.release()

    def keep(self) -> None:
        """Keep the thread for the next run, unless it is still at work: then it ends after that."""
        if self._is_at_rest and len(_idle) < _KEPT:
            _idle.append(self)
        else:
            self.close()


@contextmanager
def running(words: Words, job: Callable[[], None], waiter: Waiter, *, recurs: bool) -> Iterator[Runner]:
    """While this lasts, something that never raises runs in a thread of its own; it is told to end, and has ended,
    afterwards. The thread has the largest stack that can be had, which the words of the run are told."""
    thread = _found()
    try:
        words.allow_stack(thread.size - SPARE)
        thread.begin(job)
        yield thread
    finally:
        words.stop()
        waiter.give_up()
        try:
            thread.is_done()
        finally:
            is_short = not recurs or _given_back(words.lowest, thread)
            thread.keep() if is_short else thread.close()
            waiter.drop()


def _given_back(lowest: int | None, thread: Runner) -> bool:
    """Give back the memory of the stack of a thread that rests, down to the lowest address that a run might use;
    whether that was possible."""
    if _advise is None or not thread._is_at_rest:
        return False
    if lowest is None:
        return True
    begin = (lowest + _PAGE - 1) // _PAGE * _PAGE
    size = ctypes.c_size_t(thread.size - SPARE - _NEAR)
    return bool(_advise(ctypes.c_void_p(begin), size, _DONTNEED) == 0)


def _found() -> Runner:
    try:
        return _idle.pop()
    except IndexError:
        return _started()


def _started() -> Runner:
    size = STACK
    while True:
        try:
            with _sizing:
                before = threading.stack_size(size)
                try:
                    return Runner(size)
                finally:
                    threading.stack_size(before)
        except RuntimeError:
            size //= 4
            if size < 4 * SPARE:
                raise
