"""Whether the file of the program has been edited."""

from __future__ import annotations

import os

from ..load import split_target
from ..session.session import Session


class Watched:
    """The file of the current run, as it was when somebody looked last."""

    def __init__(self) -> None:
        self._file, self._edited = "", 0

    def has_changed(self, session: Session) -> bool:
        """Whether it is another file content than the last time; of another file never."""
        start = session.run.start if session.situation.current is not None else None
        file = split_target(start.target)[0] if start is not None else ""
        try:
            edited = os.stat(file).st_mtime_ns if file else 0
        except OSError:
            return False
        before, self._file, self._edited = (self._file, self._edited), file, edited
        return before[0] == file and before[1] != edited
