"""Old paths of documented modules: they still import, with a DeprecationWarning, until the next minor version."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Sequence
from importlib import import_module
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any

_PACKAGE = __package__ or "tagloom"
_MOVED = {
    "interp.reference": ("interp.engines.reference", {"Limits": "interp.engines.protocol"}),
    "interp.schedule": ("interp.machine.schedule", {}),
    "interp.fast": ("interp.engines.fast", {}),
    "interp.fast.run": ("interp.engines.fast.run", {}),
    "interp.fast.keeping": ("interp.engines.fast.events", {}),
    "interp.fast.stops": ("interp.engines.fast.stops", {}),
    "tui.begin": ("tui.run_start", {}),
}
"""Old module -> new module, and the names that moved on from there to another module."""
_RENAMED = {
    "interp.fast.stops": {"Stops": "StopConditions"},
    "interp.fast.run": {"Fast": "FastRun"},
    "interp.fast.keeping": {"Last": "LastEventKeeper"},
}


class MovedModuleFinder(MetaPathFinder, Loader):
    """Imports an old path as a module whose attributes are those of the new one."""

    def find_spec(self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None) -> Any:
        old = fullname.removeprefix(f"{_PACKAGE}.")
        return ModuleSpec(fullname, self, is_package=True) if fullname != old and old in _MOVED else None

    def create_module(self, spec: ModuleSpec) -> None:
        return None

    def exec_module(self, module: ModuleType) -> None:
        old = module.__name__.removeprefix(f"{_PACKAGE}.")
        new, elsewhere = _MOVED[old]
        message = f"{module.__name__} is now {_PACKAGE}.{new}; the old path goes with the next minor version"
        warnings.warn(message, DeprecationWarning, stacklevel=2)
        renamed = _RENAMED.get(old, {})

        def find_attribute(name: str) -> Any:
            source = import_module(f"{_PACKAGE}.{elsewhere.get(name, new)}")
            return getattr(source, renamed.get(name, name))

        module.__dict__["__getattr__"] = find_attribute


def install() -> None:
    """Let old paths be imported. Installing twice is as good as once."""
    if not any(isinstance(finder, MovedModuleFinder) for finder in sys.meta_path):
        sys.meta_path.append(MovedModuleFinder())
