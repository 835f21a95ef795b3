"""The backends of this package, and those that other packages register as entry points, by name.

    [project.entry-points."tagloom.backends"]
    mine = "my_package:MyAdapter"

The class is an `Adapter` (interp/oracle/protocol.py). Its system is imported in the process that serves it, and nowhere
else.
"""

from __future__ import annotations

import os
import shlex
import shutil
import sys
from collections.abc import Iterable, Sequence
from functools import cache
from importlib.metadata import EntryPoint, entry_points
from typing import Any, cast

from ....core.errors import Usage
from ..protocol import Adapter
from . import onnx_runtimes, python_source
from .python_source import DIALECTS
from .stablehlo_interpreter import StableHloAdapter

__all__ = ["BACKEND_GROUP", "BUILT_IN", "DIALECTS", "backend_command", "backend_names", "load_adapter"]

BACKEND_GROUP = "tagloom.backends"
"""The entry-point group of backends."""
BUILT_IN: dict[str, type[Adapter]] = {
    **python_source.ADAPTERS,
    **onnx_runtimes.ADAPTERS,
    "stablehlo": StableHloAdapter,
}
"""The adapters of this package, by the names of their backends."""


@cache
def third_party_backends() -> dict[str, EntryPoint]:
    """The entry points of other packages, by name. The names of this package's backends cannot be overridden."""
    return {point.name: point for point in entry_points(group=BACKEND_GROUP) if point.name not in BUILT_IN}


def backend_names() -> tuple[str, ...]:
    """The names of all backends: ours first, then those of other packages in alphabetical order."""
    return (*BUILT_IN, *sorted(third_party_backends()))


def load_adapter(name: str, settings: Sequence[str] = ()) -> Adapter:
    """The adapter of this name, at a level and without optimisations that these words name. Raises Usage if there is
    none, and ImportError where its system is missing."""
    if name not in backend_names():
        raise Usage(f"no backend is called {name!r}", required=", ".join(backend_names()), python=KeyError)
    adapter_class: Any = BUILT_IN[name] if name in BUILT_IN else third_party_backends()[name].load()
    return cast(Adapter, adapter_class(settings) if settings else adapter_class())


def backend_command(name: str, settings: Iterable[str] = ()) -> list[str]:
    """The command of a backend's process, for an adapter's name or the words of a command. It ends in a level, or in
    optimisations to disable. Raises Usage if there is no such adapter and no such command."""
    if name in backend_names():
        package = __package__.rpartition(".")[0]
        return [sys.executable, "-m", f"{package}.worker", name, *settings]
    try:
        words = shlex.split(name)
    except ValueError:  # a quotation is open
        words = []
    if not words or shutil.which(words[0]) is None:
        is_file = bool(words) and os.path.isfile(words[0])
        hint = f"{words[0]} is not executable; name the program that runs it first" if is_file else None
        raise Usage(f"no backend is called {name!r}, and no command", required=", ".join(backend_names()), hint=hint)
    return [*words, *settings]
