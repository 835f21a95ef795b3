"""Background threads, which run one task at a time and can be interrupted; and a watcher for edits of the program's
file."""

from __future__ import annotations

import asyncio
import os
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

from ...interp.engines.interrupt import interrupt_thread
from ..load import split_target
from ..session.session import Session

Result = TypeVar("Result")

MAX_STOP_ATTEMPTS = 30
"""The most attempts to stop a task at exit, 0.1 s apart."""


class BackgroundWorker:
    """A background thread that runs one task at a time."""

    def __init__(self, name: str) -> None:
        self._pool = ThreadPoolExecutor(1, thread_name_prefix=name)
        self._thread: int | None = None
        self._stop_event = threading.Event()
        """The stop flag of the last task, which may not have started."""

    async def run(self, task: Callable[[], Result]) -> Result | None:
        """Run a task and wait for its result; None if it was stopped."""
        stop_event = self._stop_event = threading.Event()

        def run_task() -> Result | None:
            self._thread = threading.get_ident()
            try:
                return None if stop_event.is_set() else task()
            except KeyboardInterrupt:
                return None
            finally:
                self._thread = None

        try:
            return await asyncio.wrap_future(self._pool.submit(run_task))
        except KeyboardInterrupt:  # the interrupt arrived just after the task ended
            return None

    def stop(self) -> None:
        """Interrupt the last task, as Ctrl-C does; if it has not started yet, it will not run."""
        self._stop_event.set()
        thread = self._thread
        if thread is not None:
            interrupt_thread(thread)

    async def close(self) -> None:
        """Accept no more tasks and stop the current one, with several attempts: Python waits for the thread at exit."""
        self._pool.shutdown(wait=False, cancel_futures=True)
        for _ in range(MAX_STOP_ATTEMPTS):
            self.stop()
            if self._thread is None:
                return
            await asyncio.sleep(0.1)


class FileWatcher:
    """Watches the file of the current run: compares its modification time with the time of the last check."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._last_version = self._current_version()

    def has_changed(self) -> bool:
        """Whether the file was written since the last check; False if the run's file is now another one."""
        before, now = self._last_version, self._current_version()
        if now is None:  # an editor may be about to replace it
            return False
        self._last_version = now
        return before is not None and before[0] == now[0] and before != now

    def _current_version(self) -> tuple[str, int] | None:
        """The file and its modification time; None if there is no file."""
        start = self._session.run.start if self._session.snapshot.current is not None else None
        file = split_target(start.target)[0] if start is not None else ""
        try:
            return file, os.stat(file).st_mtime_ns
        except OSError:
            return None
