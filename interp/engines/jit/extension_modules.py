"""Two extension modules of numba, with the functions that compiled code calls, loaded without numba.

Machine code from disk needs them, but the import of numba takes longer than everything else that a first call needs.
They need nothing of numba's package. They are loaded from their files, under the names under which numba itself imports
them later, so that both have one allocator and one class of owners of memory.
"""

from __future__ import annotations

import importlib.util
from functools import cache
from importlib.machinery import EXTENSION_SUFFIXES, ExtensionFileLoader
from pathlib import Path
from types import ModuleType
from typing import Any

_RUNTIME_MODULE, _HELPER_MODULE = "numba.core.runtime._nrt_python", "numba._helperlib"


class MissingModule(Exception):
    """Raised where numba has no extension module of this name."""


def runtime_module() -> Any:
    """The extension module of numba that allocates arrays and counts references to them. Its `_MemInfo`, called with
    the address of a count, is an object of Python that owns one reference."""
    return _load_extension(_RUNTIME_MODULE)


def helper_module() -> Any:
    """The extension module of numba with the other functions that compiled code calls."""
    return _load_extension(_HELPER_MODULE)


@cache
def _load_extension(name: str) -> ModuleType:
    """Load an extension module of numba from its file. Raises MissingModule if it is not where it is expected."""
    path = find_extension_file(name)
    if path is None:
        raise MissingModule(name)
    return load_extension_file(name, path)


def find_extension_file(name: str) -> Path | None:
    """The file of an extension module, found without importing its package; None if it is not in the folder that the
    name says."""
    package, *parts = name.split(".")
    spec = importlib.util.find_spec(package)
    folders = spec.submodule_search_locations if spec is not None else None
    stems = [str(Path(folder, *parts)) for folder in folders or ()]
    paths = (Path(stem + suffix) for stem in stems for suffix in EXTENSION_SUFFIXES)
    return next(filter(Path.exists, paths), None)


def load_extension_file(name: str, path: Path) -> ModuleType:
    """Load an extension module from a file, without the package that it is in."""
    loader = ExtensionFileLoader(name, str(path))
    spec = importlib.util.spec_from_file_location(name, path, loader=loader)
    assert spec is not None
    module = importlib.util.module_from_spec(spec)
    loader.exec_module(module)
    return module
