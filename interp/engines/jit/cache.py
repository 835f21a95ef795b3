"""Generated modules, kept on disk with their machine code, so that only the first run of the first process compiles.

A module lies in a folder of its own, named by a key of everything that its machine code depends on: its text, the
source of all kernels, the versions of what compiles them, and the processor. So nothing on disk is ever out of date.
What is there is believed only if the sums of all files are as they were when it was complete: half of it, or a bit
of it that is wrong, is compiled again. A folder is one process's at a time; others wait, and then load.

    <cache>/tagloom/<key>/<name>.py     the text
    <cache>/tagloom/<key>/__pycache__   the machine code, which numba puts beside it
    <cache>/tagloom/<key>/sums.json     written last

<cache> is $TAGLOOM_CACHE, or $XDG_CACHE_HOME, or ~/.cache; where it cannot be written, or is full, nothing is kept.
Machine code is run as it lies there, and so nothing is read or kept in a folder that another user owns, or others may
write to; what is made is this user's alone.
"""

from __future__ import annotations

import json
import os
import shutil
import sys
import threading
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import cache
from hashlib import blake2b
from importlib.metadata import version
from pathlib import Path
from tempfile import mkstemp
from types import ModuleType
from typing import Any

from ....core.files import lock_file
from ..interrupt import interrupt_at_once

_PACKAGE_ROOT = Path(__file__).resolve().parents[3]
_SOURCE_GLOBS = (
    "core/ops/*.py",
    "core/ops/op.py",
    "core/dtypes.py",
    "core/mix.py",
    "interp/engines/jit/*.py",
    "interp/engines/cuda/kernels.py",
)
"""What a module's machine code may hold besides its own text."""
_CHECKSUMS_FILE = "sums.json"
_CODE_FOLDER = "__pycache__"
_RECURSION_LIMIT = 200_000
"""Frames of Python's; a step of the sampler in papers_examples/eager needs more than the usual 1,000."""
CompileAll = Callable[[ModuleType], None]


def lock_across_fork(lock: Any) -> Any:
    """A lock that nobody else holds where this process is forked: who forks waits, first for those that were made last.

    A child has none of the threads that would give it back. A new one there would not do: who compiles has also the
    locks of numba and llvmlite, and LLVM is at work."""
    if hasattr(os, "register_at_fork"):
        os.register_at_fork(before=lock.acquire, after_in_parent=lock.release, after_in_child=lock.release)
    return lock


_load_lock = lock_across_fork(threading.RLock())
_modules: dict[str, ModuleType] = {}
_modules_loading_from_disk: set[str] = set()
"""The names of modules that are being loaded, all of whose machine code is on disk."""


def load_module(name: str, text: str, compile_all: CompileAll = lambda _: None) -> ModuleType:
    """The module of this text, compiled, from disk if it can be.

    Functions in it are `@njit(signature, cache=True)`: with their signatures, or else `compile_all` calls each of
    them, so that all of it is compiled when this returns. What is compiled later is not found to be complete by the
    next process, and compiled again there.

    Raises what the text raises, where it cannot be compiled.
    """
    with _load_lock:
        called = f"_tagloom_{cache_key(text)}_{name}"
        if called not in _modules:
            with interrupt_at_once():
                _modules[called] = _load_or_compile(called, name, text, compile_all)
        return _modules[called]


def _load_or_compile(called: str, name: str, text: str, use: CompileAll) -> ModuleType:
    try:
        folder = module_folder(text)
        with _lock_folder(folder):
            return _load_from_folder(folder, called, name, text, use)
    except OSError:  # not to be written, or full, or not this user's alone
        return _execute_module(called, Path(f"<{name}>"), text.replace("cache=True", "cache=False"), use)


def _load_from_folder(folder: Path, called: str, name: str, text: str, use: CompileAll) -> ModuleType:
    """The module in a folder that nobody else writes to."""
    path = folder / f"{name}.py"
    if _is_complete(folder):
        _modules_loading_from_disk.add(called)
        try:
            with suppress(Exception):  # by another hand than numba's, since the sums are right
                return _execute_module(called, path, text, use)
        finally:
            _modules_loading_from_disk.discard(called)
    _clear_folder(folder)
    (folder / _CODE_FOLDER).mkdir(mode=0o700)
    write_atomically(path, text.encode())
    module = _execute_module(called, path, text, use)
    write_atomically(folder / _CHECKSUMS_FILE, json.dumps(_checksums(folder)).encode())
    return module


def _execute_module(called: str, path: Path, text: str, use: CompileAll) -> ModuleType:
    """A module of this text; numba finds it by its name, in every process, when it loads what it has on disk."""
    module = ModuleType(called)
    module.__file__ = str(path)
    sys.modules[called] = module
    try:
        with _deep_recursion():
            exec(compile(text, str(path), "exec"), module.__dict__)
            use(module)
    except BaseException:
        del sys.modules[called]
        raise
    return module


def check_cache_hit(function: Any) -> None:
    """Raise OSError where a compiled function was to come from disk, and numba could not read it there, and compiled it
    again: machine code on disk which calls it has the name of the one that was lost, and LLVM ends a process that loads
    what calls a name which nobody has."""
    if function.py_func.__module__ in _modules_loading_from_disk and not function.stats.cache_hits:
        raise OSError(f"{function.py_func.__name__} is not on disk")


@contextmanager
def _deep_recursion() -> Iterator[None]:
    """Python's stack is as deep as numba needs it, which goes through the blocks of a long function by recursion."""
    limit = sys.getrecursionlimit()
    sys.setrecursionlimit(max(limit, _RECURSION_LIMIT))
    try:
        yield
    finally:
        sys.setrecursionlimit(limit)


def _is_complete(folder: Path) -> bool:
    try:
        return _is_private(folder / _CODE_FOLDER) and bool(
            json.loads((folder / _CHECKSUMS_FILE).read_text()) == _checksums(folder)
        )
    except (OSError, ValueError):
        return False


def _checksums(folder: Path) -> dict[str, str]:
    """What every file of a module is, in short."""
    files = [*folder.glob("*.py"), *folder.glob(f"{_CODE_FOLDER}/*.nb[ic]")]
    return {str(path.relative_to(folder)): blake2b(path.read_bytes(), digest_size=16).hexdigest() for path in files}


def _clear_folder(folder: Path) -> None:
    shutil.rmtree(folder / _CODE_FOLDER, ignore_errors=True)
    for path in [*folder.glob("*.py"), folder / _CHECKSUMS_FILE]:
        path.unlink(missing_ok=True)


def write_atomically(path: Path, content: bytes) -> None:
    """All of a file or nothing of it, by way of a new one that is this user's alone."""
    descriptor, made = mkstemp(".tmp", f"{path.name}.", path.parent)
    try:
        with open(descriptor, "wb") as file:
            file.write(content)
        os.replace(made, path)
    except BaseException:
        Path(made).unlink(missing_ok=True)  # which Ctrl-C may find in its place already
        raise


@contextmanager
def _lock_folder(folder: Path) -> Iterator[None]:
    """While this lasts, no other process is in there; where the system has no such locks, one may be, and then its
    sums differ from what is there."""
    with (folder / "lock").open("w") as file, lock_file(file.fileno()):
        yield


def module_folder(text: str) -> Path:
    """The folder of what is compiled of a text, which is there from now on; raises OSError where it cannot be, or is
    not this user's alone to write to."""
    folder = cache_folder()
    for each in (folder, folder / cache_key(text)):
        each.mkdir(mode=0o700, parents=True, exist_ok=True)
        if not _is_private(each):
            _warn_insecure_folder(each)
            raise PermissionError(f"others may write to {each}")
    return each


def _is_private(folder: Path) -> bool:
    """Whether nobody but this user and root may put machine code into a folder."""
    found = folder.stat()
    return found.st_uid in (os.geteuid(), 0) and not found.st_mode & 0o022


@cache
def _warn_insecure_folder(folder: Path) -> None:
    """Say once that a folder is not used."""
    said = f"tagloom neither reads nor keeps machine code in {folder}, since others may write there"
    warnings.warn(f"{said}: chmod go-w, or name another folder as TAGLOOM_CACHE", RuntimeWarning, stacklevel=2)


def cache_folder() -> Path:
    """Where modules are kept; raises OSError where that is in a home, and nobody knows which."""
    given = os.environ.get("TAGLOOM_CACHE") or os.environ.get("XDG_CACHE_HOME") or "~/.cache"
    try:
        return Path(given).expanduser() / "tagloom"
    except RuntimeError as error:
        raise OSError(str(error)) from None


def cache_key(text: str) -> str:
    """What the machine code of a text depends on, in short."""
    return blake2b("\0".join((text, _environment_fingerprint())).encode(), digest_size=16).hexdigest()


@cache
def _environment_fingerprint() -> str:
    """What the machine code of all texts depends on."""
    import llvmlite.binding as llvm

    files = sorted(path for pattern in _SOURCE_GLOBS for path in _PACKAGE_ROOT.glob(pattern))
    sources = [f"{path.relative_to(_PACKAGE_ROOT)}\n{path.read_text(encoding='utf-8')}" for path in files]
    versions = [sys.version, *map(version, ("numba", "llvmlite", "numpy"))]  # numba takes long to import
    processor = [llvm.get_process_triple(), llvm.get_host_cpu_name(), llvm.get_host_cpu_features().flatten()]
    settings = [f"{name}={value}" for name, value in sorted(os.environ.items()) if name.startswith("NUMBA_")]
    return "\0".join([*sources, *versions, *processor, *settings])
