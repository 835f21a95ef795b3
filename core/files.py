"""Files that people name, as a whole: what cannot be read, or written, is said with its path."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from .errors import Usage


def read_file(path: str | os.PathLike[str], what: str = "file") -> bytes:
    """What a file holds; raises Usage where it cannot be read."""
    try:
        return Path(path).read_bytes()
    except OSError as error:
        raise Usage(f"this {what} cannot be read", got=os.fspath(path), hint=error.strerror) from None


def write_file(path: str | os.PathLike[str], content: bytes, what: str = "file") -> None:
    """Make a file that holds this, or have it hold this; raises Usage where it cannot be written."""
    try:
        Path(path).write_bytes(content)
    except OSError as error:
        raise Usage(f"this {what} cannot be written", got=os.fspath(path), hint=error.strerror) from None


@contextmanager
def lock_file(descriptor: int, *, required: bool = True) -> Iterator[None]:
    """While this lasts, nobody else is past this for the same file, which each opens for itself; where the system has
    no such locks, somebody may be. Where the file cannot be locked, OSError is raised if that is `required`."""
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
        if is_locked:  # closing the file leaves it locked, if another thread has forked a process meanwhile
            fcntl.flock(descriptor, fcntl.LOCK_UN)
