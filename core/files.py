"""Files that people name, as a whole: what cannot be read, or written, is said with its path."""

from __future__ import annotations

import os
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
