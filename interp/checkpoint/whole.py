"""Writing a file whole or not at all."""

from __future__ import annotations

import os
from pathlib import Path
from uuid import uuid4


def write_atomically(path: Path, data: bytes) -> None:
    """Put these bytes at a path: whoever reads there, and whenever the writer dies, finds all of the old file or all
    of this one.

    They go to a new file beside it, to the disk, and only then to that name. What a writer that was killed leaves
    behind is a file `.tagloom-*.tmp`. Raises OSError where it cannot be written; then nothing has changed.
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
    """Have the disk know under which names a folder has its files; systems that open no folders do so by themselves."""
    if os.name == "nt":
        return
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
