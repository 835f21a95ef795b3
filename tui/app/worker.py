"""A background thread for work that must not hold up the screen; it runs one task at a time and can stop it."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

from ...interp.engines.interrupt import interrupt_thread

Result = TypeVar("Result")

MAX_STOP_ATTEMPTS = 30
"""The most attempts to stop a task that does not end, 0.1 s apart."""


class BackgroundWorker:
    """A background thread."""

    def __init__(self, name: str) -> None:
        self._pool = ThreadPoolExecutor(1, thread_name_prefix=name)
        self._thread: int | None = None
        self._stop_event = threading.Event()
        """The stop flag of the last task, which may not have started."""

    async def run(self, piece: Callable[[], Result]) -> Result | None:
        """Run a task and wait for its result; None if it was stopped."""
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
        except KeyboardInterrupt:  # the interrupt arrived just after the task ended
            return None

    def stop(self) -> None:
        """Stop the current or next task, as Ctrl-C does."""
        self._stop_event.set()
        thread = self._thread
        if thread is not None:
            interrupt_thread(thread)

    async def close(self) -> None:
        """Accept no more tasks and stop the current one, repeatedly if it continues: Python waits for the thread at
        exit."""
        self._pool.shutdown(wait=False, cancel_futures=True)
        for _ in range(MAX_STOP_ATTEMPTS):
            self.stop()
            if self._thread is None:
                return
            await asyncio.sleep(0.1)
