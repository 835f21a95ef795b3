"""Detects edits of the program's file."""

from __future__ import annotations

import os

from ..load import split_target
from ..session.session import Session


class FileWatcher:
    """The file of the current run with its modification time at the last check; the first check is at construction."""

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
