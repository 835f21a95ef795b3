"""Atomic file writes."""

from __future__ import annotations

import os
from pathlib import Path
from uuid import uuid4


def write_atomically(path: Path, data: bytes) -> None:
    """Write these bytes to a path atomically: a reader finds either the old file or all of the new one, even if the
    writer dies.

    The bytes go to a new file beside it, are flushed to the disk, and only then take the name. A killed writer leaves a
    file `.tagloom-*.tmp` behind. Raises OSError if it cannot be written; then nothing has changed.
    """
    target = Path(os.path.realpath(path))
    temporary = target.with_name(f".tagloom-{uuid4().hex}.tmp")
    try:
        with temporary.open("xb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, target)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
    _sync_folder(target.parent)


def _sync_folder(folder: Path) -> None:
    """Flush a folder's entries to the disk; systems that cannot open folders do so by themselves."""
    if os.name == "nt":
        return
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
