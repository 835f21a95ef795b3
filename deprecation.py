"""Old names of documented modules, classes and methods: they still work, with a DeprecationWarning, until the next
minor version.

The table of old modules is here. A class or method that has a new name is listed where it is defined: a module has
`__getattr__ = renamed_attributes(__name__, Old="New")`, a class has `old = RenamedAttribute("new")`.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable, Sequence
from importlib import import_module
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any

_PACKAGE = __package__ or "tagloom"
_MOVED = {
    "interp.reference": ("interp.engines.reference", {"Limits": "interp.engines.limits"}),
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
    "tui.begin": {"Start": "RunRequest"},
}
"""Old module -> the names of its classes that changed, too."""


def warn_renamed(old: str, new: str, stacklevel: int = 2) -> None:
    """Warn the caller of the calling function that a name is deprecated."""
    warnings.warn(f"{old} is now {new}", DeprecationWarning, stacklevel=stacklevel + 1)


def renamed_attributes(module: str, **new_names: str) -> Callable[[str], Any]:
    """The `__getattr__` of a module that resolves the old names of its classes and functions, with a warning."""

    def find_attribute(name: str) -> Any:
        if name not in new_names:
            raise AttributeError(f"module {module!r} has no attribute {name!r}")
        warn_renamed(f"{module}.{name}", new_names[name])
        return getattr(sys.modules[module], new_names[name])

    return find_attribute


class RenamedAttribute:
    """The old name of an attribute of a class: reading it warns, and gives what the new name gives.

    >>> import warnings
    >>> class Loop:
    ...     def advance(self): return 3
    ...     go = RenamedAttribute("advance")
    >>> with warnings.catch_warnings(record=True) as caught:
    ...     warnings.simplefilter("always")
    ...     Loop().go(), str(caught[0].message)
    (3, 'Loop.go is now Loop.advance')
    """

    def __init__(self, new: str) -> None:
        self._new = new

    def __set_name__(self, owner: type, name: str) -> None:
        self._old = name

    def __get__(self, instance: object, owner: type) -> Any:
        warn_renamed(f"{owner.__name__}.{self._old}", f"{owner.__name__}.{self._new}")
        return getattr(owner if instance is None else instance, self._new)


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
        warn_renamed(module.__name__, f"{_PACKAGE}.{new}; the old path goes with the next minor version")
        renamed = _RENAMED.get(old, {})

        def find_attribute(name: str) -> Any:
            source = import_module(f"{_PACKAGE}.{elsewhere.get(name, new)}")
            return getattr(source, renamed.get(name, name))

        module.__dict__["__getattr__"] = find_attribute


def install() -> None:
    """Let old paths be imported. Installing twice is as good as once."""
    if not any(isinstance(finder, MovedModuleFinder) for finder in sys.meta_path):
        sys.meta_path.append(MovedModuleFinder())
