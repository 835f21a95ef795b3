"""Whether the file of the program has been edited."""

from __future__ import annotations

import os

from ..load import split_target
from ..session.session import Session


class FileWatcher:
    """The file of the current run, as it was when somebody looked last: first when this is made."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._last_version = self._current_version()

    def has_changed(self) -> bool:
        """Whether it was written since the last time; of another file never."""
        before, now = self._last_version, self._current_version()
        if now is None:  # an editor may be about to put another in its place
            return False
        self._last_version = now
        return before is not None and before[0] == now[0] and before != now

    def _current_version(self) -> tuple[str, int] | None:
        """The file, and when it was written; None where there is none."""
        start = self._session.run.start if self._session.snapshot.current is not None else None
        file = split_target(start.target)[0] if start is not None else ""
        try:
            return file, os.stat(file).st_mtime_ns
        except OSError:
            return None
