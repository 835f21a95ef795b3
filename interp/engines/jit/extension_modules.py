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
    package = importlib.util.find_spec("numba")
    folders = package.submodule_search_locations if package is not None else None
    stems = (Path(folder, *name.split(".")[1:]) for folder in folders or ())
    path = next(
        filter(Path.exists, (stem.with_name(stem.name + end) for stem in stems for end in EXTENSION_SUFFIXES)), None
    )
    if path is None:
        raise MissingModule(name)
    return load_extension_file(name, path)


def load_extension_file(name: str, path: Path) -> ModuleType:
    """Load an extension module from a file, without the package that it is in."""
    loader = ExtensionFileLoader(name, str(path))
    spec = importlib.util.spec_from_file_location(name, path, loader=loader)
    assert spec is not None
    module = importlib.util.module_from_spec(spec)
    loader.exec_module(module)
    return module
