"""Reading and writing whole files that users name; errors mention the path."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from .errors import Usage


def read_file(path: str | os.PathLike[str], what: str = "file") -> bytes:
    """The content of a file; raises Usage, which is also an OSError, where it cannot be read."""
    try:
        return Path(path).read_bytes()
    except OSError as error:
        python = type(error)
        raise Usage(f"this {what} cannot be read", got=os.fspath(path), hint=error.strerror, python=python) from None


def write_file(path: str | os.PathLike[str], content: bytes, what: str = "file") -> None:
    """Create or overwrite a file; raises Usage, which is also an OSError, where it cannot be written."""
    try:
        Path(path).write_bytes(content)
    except OSError as error:
        python = type(error)
        raise Usage(f"this {what} cannot be written", got=os.fspath(path), hint=error.strerror, python=python) from None


@contextmanager
def lock_file(descriptor: int, *, required: bool = True) -> Iterator[None]:
    """Hold an exclusive lock on an open file in this context. Others that open and lock the same file wait.

    Does nothing on systems without `fcntl`. If the file cannot be locked, raises OSError if `required`, and continues
    without a lock otherwise.
    """
    try:
        import fcntl
    except ImportError:
        yield
        return
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        is_locked = True
    except OSError:
        if required:
            raise
        is_locked = False
    try:
        yield
    finally:
        if is_locked:  # closing the file would not unlock it if another thread has forked meanwhile
            fcntl.flock(descriptor, fcntl.LOCK_UN)
