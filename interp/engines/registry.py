"""The registry of engines: those of this package, and those that other packages register as entry points.

    [project.entry-points."tagloom.engines"]
    mine = "my_package:ENGINE"

An engine is imported on first use. A failed import is an error of that engine only.
"""

from __future__ import annotations

import os
from functools import cache
from importlib import import_module
from importlib.metadata import EntryPoint, entry_points

from ...core.errors import Usage
from ...core.value import abbreviate
from .protocol import Engine

GROUP = "tagloom.engines"
"""The entry-point group of engines."""
ENGINE_VARIABLE = "TAGLOOM_ENGINE"
"""The environment variable that names the default engine."""
DEFAULT_ENGINE = "auto"
_BUILT_IN = {
    "auto": ".auto:ENGINE",
    "reference": ".reference:ENGINE",
    "fast": ".fast.engine:ENGINE",
    "compiled": ".compiled.engine:ENGINE",
    "cuda": ".cuda.engine:ENGINE",
}
"""The engines of this package: module and object, by name."""


@cache
def _registered() -> dict[str, EntryPoint]:
    """The entry points of other packages, by name. The names of this package's engines cannot be overridden."""
    return {point.name: point for point in entry_points(group=GROUP) if point.name not in _BUILT_IN}


def engine_names() -> tuple[str, ...]:
    """The names of all engines: ours first, then those of other packages in alphabetical order."""
    return (*_BUILT_IN, *sorted(_registered()))


def resolve_engine(name: str | None) -> str:
    """The name of the engine to use; None means the one that the environment names, else `auto`.

    Raises Usage for an unknown name.
    """
    resolved = name or os.environ.get(ENGINE_VARIABLE) or DEFAULT_ENGINE
    if resolved not in _BUILT_IN and resolved not in _registered():
        source = "" if name else f", which {ENGINE_VARIABLE} says"
        raise Usage(f"no engine is called {resolved!r}{source}", required=", ".join(engine_names()))
    return resolved


@cache
def find_engine(name: str) -> Engine:
    """The engine of this name. Raises Usage if there is none, or if it cannot be loaded."""
    resolve_engine(name)
    if name in _BUILT_IN:
        module, _, attribute = _BUILT_IN[name].partition(":")
        engine: Engine = getattr(import_module(module, __package__), attribute)
        return engine
    point = _registered()[name]
    try:
        engine = point.load()
    except Exception as error:
        raise _unusable(point, f"it cannot be imported: {abbreviate(str(error))}") from error
    missing = [member for member in ("name", "unsupported", "run") if not hasattr(engine, member)]
    if missing:
        raise _unusable(point, f"it has no {' and no '.join(missing)}")
    if engine.name != name:
        raise _unusable(point, f"it calls itself {engine.name!r}")
    return engine


def _unusable(point: EntryPoint, reason: str) -> Usage:
    package = f" of {point.dist.name}" if point.dist else ""
    return Usage(
        f"engine {point.name}{package} cannot be used",
        required="an object with name, unsupported and run (interp/engines/protocol.py)",
        got=f"{point.value}: {reason}",
    )
