"""The disk cache of generated modules and their machine code: a module is compiled once on a machine. Also the check
whether numba is available, and the progress message while it compiles.

Each module has a folder, whose name is a hash of everything on which its machine code depends: its text, the source of
all kernels, the versions of the compilers, numba's options in the environment, and the processor. So nothing on disk is
ever out of date. A folder is used only if the checksums of all files match the complete module; otherwise the module is
compiled again. One process at a time locks a folder; others wait, and then load.

    <cache>/tagloom/<key>/<name>.py     the text
    <cache>/tagloom/<key>/__pycache__   the machine code, which numba puts beside it
    <cache>/tagloom/<key>/sums.json     written last

<cache> is $TAGLOOM_CACHE, or $XDG_CACHE_HOME, or ~/.cache; if it cannot be written, or is full, nothing is cached.
Machine code on disk is executed without further checks. So a folder is used only if it belongs to this user or root and
nobody else may write to it; new folders are private to this user.
"""

from __future__ import annotations

import json
import os
import shutil
import stat
import sys
import threading
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import cache
from hashlib import blake2b
from importlib.metadata import version
from pathlib import Path
from types import ModuleType
from typing import Any

from ....core.collector import paused_collector
from ....core.files import lock_file, write_atomically
from ....core.recursion import recursion_limit
from ..interrupt import interrupt_at_once

_PACKAGE_ROOT = Path(__file__).resolve().parents[3]
_SOURCE_GLOBS = (
    "core/ops/*.py",
    "core/ops/op.py",
    "core/dtypes.py",
    "core/hashing.py",
    "interp/engines/jit/*.py",
    "interp/engines/cuda/kernels.py",
)
"""The sources from which code may be inlined into a module."""
_CHECKSUMS_FILE = "sums.json"
_CODE_FOLDER = "__pycache__"
_RECURSION_LIMIT = 200_000
"""The recursion limit while numba compiles, in Python frames: numba recurs over the blocks of a long function, and a
step of the sampler in papers_examples/eager needs more than the usual 1,000."""
CompileAll = Callable[[ModuleType], None]


def lock_across_fork(lock: Any) -> Any:
    """The same lock, which from now on is free in a forked child: a fork first acquires all of these locks, the newest
    first.

    A child has none of the threads that would release a lock. A new lock in the child would not suffice: a thread that
    compiles also holds the locks of numba and llvmlite, and LLVM is in use.
    """
    if hasattr(os, "register_at_fork"):
        os.register_at_fork(before=lock.acquire, after_in_parent=lock.release, after_in_child=lock.release)
    return lock


_load_lock = lock_across_fork(threading.RLock())
_modules: dict[str, ModuleType] = {}


def load_module(name: str, text: str, compile_all: CompileAll = lambda _: None) -> ModuleType:
    """Load the module of this text, compiled, from disk if possible.

    Its functions are `@njit(signature, cache=True)`; for functions without signatures, `compile_all` must call each, so
    that everything is compiled when this returns. Machine code that is compiled later does not match the checksums: the
    next process compiles the module again.

    Raises any error of executing or compiling the text.
    """
    with _load_lock:
        module_name = f"_tagloom_{cache_key(text)}_{name}"
        if module_name not in _modules:
            with interrupt_at_once():
                _modules[module_name] = _load_or_compile(module_name, name, text, compile_all)
        return _modules[module_name]


def _load_or_compile(module_name: str, name: str, text: str, compile_all: CompileAll) -> ModuleType:
    try:
        folder = module_folder(text)
        with _lock_folder(folder):
            return _load_from_folder(folder, module_name, name, text, compile_all)
    except OSError:  # not writable, full, or not private to this user
        return _execute_module(module_name, Path(f"<{name}>"), text.replace("cache=True", "cache=False"), compile_all)


def _load_from_folder(folder: Path, module_name: str, name: str, text: str, compile_all: CompileAll) -> ModuleType:
    """Load the module from a folder to which nobody else writes."""
    path = folder / f"{name}.py"
    if _is_complete(folder):
        with suppress(Exception):  # damage that the checksums do not show
            return _execute_module(module_name, path, text, compile_all)
    _clear_folder(folder)
    (folder / _CODE_FOLDER).mkdir(mode=0o700)
    write_atomically(path, text.encode())
    module = _execute_module(module_name, path, text, compile_all)
    write_atomically(folder / _CHECKSUMS_FILE, json.dumps(_checksums(folder)).encode())
    return module


def _execute_module(module_name: str, path: Path, text: str, compile_all: CompileAll) -> ModuleType:
    """Execute a module of this text; numba finds it by its name, in every process, when it loads machine code from
    disk."""
    module = ModuleType(module_name)
    module.__file__ = str(path)
    sys.modules[module_name] = module
    try:
        with recursion_limit(_RECURSION_LIMIT), paused_collector():  # collecting takes a fifteenth of the time
            exec(compile(text, str(path), "exec"), module.__dict__)
            compile_all(module)
    except BaseException:
        del sys.modules[module_name]
        raise
    return module


def _is_complete(folder: Path) -> bool:
    try:
        return _is_private(folder / _CODE_FOLDER) and bool(
            json.loads((folder / _CHECKSUMS_FILE).read_text()) == _checksums(folder)
        )
    except (OSError, ValueError):
        return False


def _checksums(folder: Path) -> dict[str, str]:
    """The checksum of each file of a module."""
    files = [*folder.glob("*.py"), *folder.glob(f"{_CODE_FOLDER}/*.nb[ic]")]
    return {str(path.relative_to(folder)): blake2b(path.read_bytes(), digest_size=16).hexdigest() for path in files}


def _clear_folder(folder: Path) -> None:
    shutil.rmtree(folder / _CODE_FOLDER, ignore_errors=True)
    for path in [*folder.glob("*.py"), *folder.glob("*.tmp"), folder / _CHECKSUMS_FILE]:
        path.unlink(missing_ok=True)


@contextmanager
def _lock_folder(folder: Path) -> Iterator[None]:
    """A context in which no other process uses the folder. On a system without such locks another one may; then the
    checksums do not match."""
    with (folder / "lock").open("w") as file, lock_file(file.fileno()):
        yield


def module_folder(text: str) -> Path:
    """The cache folder of a text, created if necessary; raises OSError if it cannot be created, or is not private to
    this user."""
    return key_folder(cache_key(text))


def key_folder(key: str) -> Path:
    """`module_folder`, of the text with this key."""
    folder = cache_folder()
    for path in (folder, folder / key):
        make_private_folder(path)
        if not _is_private(path):
            _warn_insecure_folder(path)
            raise PermissionError(f"others may write to {path}")
    return path


def make_private_folder(folder: Path) -> None:
    """Create a folder and its missing parents for this user alone; `mkdir` would create the parents with the
    permissions of the umask."""
    for path in (*reversed(folder.parents), folder):
        if not path.exists():
            path.mkdir(mode=0o700, exist_ok=True)


def module_path(text: str) -> Path:
    """The file that is written last when the module of a text is compiled; raises OSError where nothing can be
    cached."""
    return module_folder(text) / _CHECKSUMS_FILE


def _is_private(folder: Path) -> bool:
    """Whether only this user and root can write machine code into a folder, or replace it: the folders above may be
    written by others only if they are sticky, as /tmp is."""
    status = folder.stat()
    is_own = status.st_uid in (os.geteuid(), 0) and not status.st_mode & 0o022
    parent_modes = (parent.stat().st_mode for parent in folder.resolve().parents)
    return is_own and all(not mode & 0o002 or mode & stat.S_ISVTX for mode in parent_modes)


@cache
def _warn_insecure_folder(folder: Path) -> None:
    """Warn once that a folder is not used."""
    message = f"tagloom does not cache machine code in {folder}, since others may write there or above"
    advice = "run chmod go-w on it, and on the folders above it, or set TAGLOOM_CACHE to another folder"
    warnings.warn(f"{message}: {advice}", RuntimeWarning, stacklevel=2)


def cache_folder() -> Path:
    """The folder of all cached modules; raises OSError if it is in the home directory and that is unknown."""
    base = os.environ.get("TAGLOOM_CACHE") or os.environ.get("XDG_CACHE_HOME") or "~/.cache"
    try:
        return Path(base).expanduser() / "tagloom"
    except RuntimeError as error:
        raise OSError(str(error)) from None


def cache_key(text: str) -> str:
    """A hash of everything that the machine code of a text depends on."""
    return blake2b("\0".join((text, _environment_fingerprint())).encode(), digest_size=16).hexdigest()


@cache
def _environment_fingerprint() -> str:
    """A hash of everything that all machine code depends on."""
    import llvmlite.binding as llvm

    files = sorted(path for pattern in _SOURCE_GLOBS for path in _PACKAGE_ROOT.glob(pattern))
    sources = [f"{path.relative_to(_PACKAGE_ROOT)}\n{path.read_text(encoding='utf-8')}" for path in files]
    versions = [sys.version, *map(version, ("numba", "llvmlite", "numpy", "scipy"))]  # numba is slow to import
    processor = [llvm.get_process_triple(), llvm.get_host_cpu_name(), llvm.get_host_cpu_features().flatten()]
    settings = [f"{name}={value}" for name, value in sorted(os.environ.items()) if name.startswith("NUMBA_")]
    return "\0".join([*sources, *versions, *processor, *settings])


def numba_unavailable() -> str | None:
    """Why numba is unavailable in this process; None if it is available."""
    is_off = os.environ.get("NUMBA_DISABLE_JIT", "0") not in ("", "0")
    return "NUMBA_DISABLE_JIT is set, so numba compiles nothing" if is_off else None


DELAY_SECONDS = 1.0
"""Seconds before the message appears."""


@contextmanager
def show_compiling(subject: str) -> Iterator[None]:
    """A context that shows a line on standard error if it lasts long, and removes the line afterwards.

    Only on a terminal, and not with TAGLOOM_PROGRESS=off in the environment.
    """
    if os.environ.get("TAGLOOM_PROGRESS") == "off" or sys.stderr is None or not sys.stderr.isatty():
        yield
        return
    line = f"compiling {subject} ..."
    has_shown = threading.Event()
    lock = threading.Lock()
    has_ended = False

    def show_line() -> None:
        with lock:
            if not has_ended:
                has_shown.set()
                print(line, end="", file=sys.stderr, flush=True)

    timer = threading.Timer(DELAY_SECONDS, show_line)
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()
        with lock:
            has_ended = True
        if has_shown.is_set():
            print(f"\r{' ' * len(line)}\r", end="", file=sys.stderr, flush=True)
