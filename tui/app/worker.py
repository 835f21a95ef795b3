"""Work that must not hold up the screen: a thread does it, one piece after the other, and can be told to stop."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

from ...interp.engines.interrupt import interrupt_thread

Result = TypeVar("Result")

MAX_STOP_ATTEMPTS = 30
"""So many times work that does not end is told to stop, 0.1 s apart."""


class BackgroundWorker:
    """A thread of its own."""

    def __init__(self, name: str) -> None:
        self._pool = ThreadPoolExecutor(1, thread_name_prefix=name)
        self._thread: int | None = None
        self._stop_event = threading.Event()
        """Of the piece that was given last, which may not have begun: whether it is to stop."""

    async def run(self, piece: Callable[[], Result]) -> Result | None:
        """Do a piece of work, and wait for it; None where it was told to stop, and nothing came of it."""
        told = self._stop_event = threading.Event()

        def run_piece() -> Result | None:
            self._thread = threading.get_ident()
            try:
                return None if told.is_set() else piece()
            except KeyboardInterrupt:
                return None
            finally:
                self._thread = None

        try:
            return await asyncio.wrap_future(self._pool.submit(run_piece))
        except KeyboardInterrupt:  # it came when the piece was just over
            return None

    def stop(self) -> None:
        """Tell the piece that is being done, or is about to be, to stop, as Ctrl-C does."""
        self._stop_event.set()
        thread = self._thread
        if thread is not None:
            interrupt_thread(thread)

    async def close(self) -> None:
        """Take no more work, and stop what is being done, as often as it goes on to something else: Python itself waits
        for the thread."""
        self._pool.shutdown(wait=False, cancel_futures=True)
        for _ in range(MAX_STOP_ATTEMPTS):
            self.stop()
            if self._thread is None:
                return
            await asyncio.sleep(0.1)
