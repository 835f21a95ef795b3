"""Reading and writing files that users name. Files are not trusted: how much is read is bounded, and errors mention the
path."""

from __future__ import annotations

import errno
import os
import stat
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, BinaryIO
from uuid import uuid4

import numpy as np
import numpy.typing as npt

from .dtypes import bfloat16
from .errors import TagloomError, Usage

MAX_FILE_BYTES = 2**30
"""The most bytes of a file that is read as a whole."""
MAX_STREAM_BYTES = 2**26
"""The most bytes that are read from a pipe or a device, which may never end."""
MAX_LINE_BYTES = 2**26
"""The most bytes of a line of a file that is read line by line."""


def check_path(path: str | os.PathLike[str], message: str, where: object = None) -> None:
    """Raise Usage with this message if no file can have this path, because of a NUL character or of text that the file
    system cannot encode. For an object that is not a path, Usage is also a TypeError."""
    try:
        is_possible = b"\0" not in os.fsencode(path)
    except UnicodeEncodeError:
        is_possible = False
    except TypeError:
        required = "a string or another path"
        raise Usage(message, where=where, required=required, got=repr(path)[:80], python=TypeError) from None
    if not is_possible:
        hint = "a path has no NUL character, and only characters that the file system's encoding has"
        raise Usage(message, where=where, got=ascii(os.fspath(path)), hint=hint)


@contextmanager
def path_errors(path: str | os.PathLike[str], message: str, where: object = None) -> Iterator[None]:
    """In this context, an OSError becomes a Usage with this message, which is also of the error's class. Raises Usage
    for a path that no file can have."""
    check_path(path, message, where)
    try:
        yield
    except Usage:
        raise
    except OSError as error:
        hint, python = error.strerror or str(error), type(error)
        raise Usage(message, where=where, got=os.fspath(path), hint=hint, python=python) from None


def read_file(path: str | os.PathLike[str], noun: str = "file") -> bytes:
    """The content of a file; raises Usage, which is also an OSError, where it cannot be read, and Usage if it has more
    than MAX_FILE_BYTES, or, for pipes and devices, more than MAX_STREAM_BYTES."""
    message = f"this {noun} cannot be read"
    with path_errors(path, message), open(path, "rb") as file:
        is_regular = stat.S_ISREG(os.fstat(file.fileno()).st_mode)
        limit = MAX_FILE_BYTES if is_regular else MAX_STREAM_BYTES
        chunks, size = list[bytes](), 0
        while size <= limit and (chunk := file.read(min(limit + 1 - size, 2**20))):
            chunks.append(chunk)
            size += len(chunk)
        if size > limit:
            kind = "file" if is_regular else "pipe or device"
            required = f"at most {limit:,} bytes of a {kind}"
            raise Usage(message, required=required, got=os.fspath(path), hint="it is larger, or never ends")
    return b"".join(chunks)


def read_regular_file(path: Path, noun: str, max_bytes: int) -> bytes:
    """The bytes of a file, not of a pipe or device; raises Usage where it cannot be read or has too many bytes."""
    with path_errors(path, f"this {noun} cannot be read"):
        if not path.is_file():
            raise Usage(f"this {noun} cannot be read", required="a regular file", got=path)
        size = path.stat().st_size
        if size > max_bytes:
            raise Usage(f"this {noun} is too large", required=f"at most {max_bytes:,} bytes", got=f"{size:,}")
        return path.read_bytes()


def bounded_lines(file: BinaryIO, path: str | os.PathLike[str], noun: str = "file") -> Iterator[bytes]:
    """The lines of an open file; raises Usage for one of more than MAX_LINE_BYTES."""
    while line := file.readline(MAX_LINE_BYTES + 1):
        if len(line) > MAX_LINE_BYTES:
            required = f"lines of at most {MAX_LINE_BYTES:,} bytes"
            raise Usage(f"this {noun} cannot be read", required=required, got=os.fspath(path))
        yield line


def read_array(path: str | os.PathLike[str]) -> npt.NDArray[Any]:
    """The array of a file that `numpy.save` wrote; raises Usage if it cannot be read, or is no such file. The size in
    its header is compared with that of the file before memory is allocated. Raw elements of two bytes are bfloat16:
    `numpy.save` does not write the names of dtypes of `ml_dtypes`, and no other one has two bytes."""
    message, required = "this array file cannot be read", "a file that numpy.save wrote"
    with path_errors(path, message), open(path, "rb") as file:
        try:
            major, _ = np.lib.format.read_magic(file)
            read_header = {1: np.lib.format.read_array_header_1_0, 2: np.lib.format.read_array_header_2_0}[major]
            shape, _, dtype = read_header(file)
            size = dtype.itemsize
            for length in shape:
                size *= length
            remaining_size = os.fstat(file.fileno()).st_size - file.tell()
            if dtype.hasobject or size > remaining_size:
                required = f"{size:,} bytes after the header" if not dtype.hasobject else "numbers, not objects"
                raise Usage(message, required=required, got=f"{remaining_size:,} in {os.fspath(path)}")
            if dtype.kind == "V" and (dtype.names or dtype.itemsize != bfloat16.numpy.itemsize):
                hint = "numpy.save does not write which dtype of ml_dtypes an array has: save x.astype(np.float32)"
                raise Usage(message, required="numbers of a dtype of NumPy, or bfloat16", got=dtype, hint=hint)
            file.seek(0)
            array = np.lib.format.read_array(file, allow_pickle=False)
        except (TagloomError, OSError):
            raise
        except Exception:  # NumPy's parser of headers raises what Python's tokenizer and compiler raise, and more
            raise Usage(message, required=required, got=os.fspath(path)) from None
    return array.view(bfloat16.numpy) if dtype.kind == "V" else array


def write_file(path: str | os.PathLike[str], content: bytes, noun: str = "file") -> None:
    """Create or overwrite a file; raises Usage, which is also an OSError, where it cannot be written."""
    with path_errors(path, f"this {noun} cannot be written"):
        Path(path).write_bytes(content)


def is_locked(path: str | os.PathLike[str]) -> bool:
    """Whether a process holds the lock of a file; False on systems without `fcntl`. Raises OSError where the file
    cannot be opened."""
    try:
        import fcntl
    except ImportError:
        return False
    descriptor = os.open(path, os.O_RDONLY)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    finally:
        os.close(descriptor)
    return False


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


def replaceable_path(path: str | os.PathLike[str]) -> Path:
    """The real path of a file that `write_atomically` may create or replace. Raises OSError if there is something else
    than a regular file, such as a device, or if its folder takes no files."""
    target = Path(os.path.realpath(path))
    if target.is_dir():
        raise IsADirectoryError(errno.EISDIR, "it is a directory")
    if os.path.lexists(target) and not target.is_file():
        raise OSError(errno.EINVAL, "it is not a regular file")
    if not target.parent.exists():
        raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT))
    if not os.access(target.parent, os.W_OK):
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))
    return target


def write_atomically(path: Path, data: bytes) -> None:
    """Write these bytes to a path atomically: a reader finds either the old file or all of the new one, even if the
    writer is killed.

    The bytes are written to a new file in the same folder and flushed to the disk; then that file is renamed. A killed
    writer leaves a file `.tagloom-*.tmp`, which `remove_stale_files` removes. Raises OSError, and changes nothing, if
    the file cannot be written, or if there is something else than a regular file, such as a device, which the new file
    would replace.
    """
    target = replaceable_path(path)
    temporary = target.with_name(f".tagloom-{uuid4().hex}.tmp")
    try:
        with temporary.open("xb") as file, lock_file(file.fileno(), required=False):
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, target)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
    sync_folder(target.parent)


def remove_stale_files(folder: Path) -> None:
    """Remove the temporary files that killed writers left in a folder. Those of a living writer are locked; where there
    are no locks, only files that nobody has changed for STALE_SECONDS are removed."""
    for path in folder.glob(".tagloom-*.tmp"):
        with suppress(OSError):
            if time.time() - path.stat().st_mtime > STALE_SECONDS and not is_locked(path):
                path.unlink()


STALE_SECONDS = 60.0
"""A writer takes its lock within this time after it has created the file."""


def sync_folder(folder: Path) -> None:
    """Flush a folder's entries to the disk. Windows, which cannot open folders, needs no such call."""
    if os.name == "nt":
        return
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
