"""The backends of this package, and those that other packages register as entry points, by name.

    [project.entry-points."tagloom.backends"]
    mine = "my_package:ADAPTER"

An adapter (interp/oracle/protocol.py) is imported in the process that serves it, and nowhere else.
"""

from __future__ import annotations

import shlex
import shutil
import sys
from collections.abc import Iterable, Sequence
from functools import cache
from importlib import import_module
from importlib.metadata import EntryPoint, entry_points
from typing import Any, cast

from ....core.errors import Usage
from ..protocol import Adapter

BACKEND_GROUP = "tagloom.backends"
"""The entry-point group of backends."""
_BUILT_IN = {
    "numpy": ".python_source:NumPyAdapter",
    "jax": ".python_source:JaxAdapter",
    "torch": ".python_source:TorchAdapter",
    "torch-compiled": ".python_source:CompiledTorchAdapter",
    "tensorflow": ".python_source:TensorFlowAdapter",
    "tensorflow-function": ".python_source:TensorFlowFunctionAdapter",
    "tensorflow-unoptimised": ".python_source:UnoptimisedTensorFlowAdapter",
    "tensorflow-frames": ".python_source:TensorFlowFramesAdapter",
    "tensorflow-xla": ".python_source:TensorFlowXlaAdapter",
    "onnxruntime": ".onnx_runtimes:OnnxRuntimeAdapter",
    "onnxruntime-unoptimised": ".onnx_runtimes:UnoptimisedOnnxRuntimeAdapter",
    "stablehlo": ".stablehlo_interpreter:StableHloAdapter",
    "onnx-reference": ".onnx_runtimes:OnnxReferenceAdapter",
}


@cache
def third_party_backends() -> dict[str, EntryPoint]:
    """The entry points of other packages, by name. The names of this package's backends cannot be overridden."""
    return {point.name: point for point in entry_points(group=BACKEND_GROUP) if point.name not in _BUILT_IN}


def backend_names() -> tuple[str, ...]:
    """The names of all backends: ours first, then those of other packages in alphabetical order."""
    return (*_BUILT_IN, *sorted(third_party_backends()))


def load_adapter(name: str, disabled_flags: Sequence[str] = ()) -> Adapter:
    """The adapter of this name, without these optimisations. Raises Usage if there is none, and ImportError where its
    system is missing."""
    if name in _BUILT_IN:
        adapter_class = adapter_type(name)
    elif name in third_party_backends():
        adapter_class = third_party_backends()[name].load()
    else:
        raise Usage(f"no backend is called {name!r}", required=", ".join(backend_names()), python=KeyError)
    return cast(Adapter, adapter_class(disabled_flags) if disabled_flags else adapter_class())


def adapter_type(name: str) -> Any:
    """The class of an adapter of this package. Its system is not imported."""
    module, _, attribute = _BUILT_IN[name].partition(":")
    return getattr(import_module(module, __package__), attribute)


def backend_command(name: str, disabled_flags: Iterable[str] = ()) -> list[str]:
    """The command of a backend's process, for an adapter's name or the words of a command. It ends in the optimisations
    to disable. Raises Usage if there is no such adapter and no such command."""
    if name in backend_names():
        package = __package__.rpartition(".")[0]
        return [sys.executable, "-m", f"{package}.worker", name, *disabled_flags]
    try:
        words = shlex.split(name)
    except ValueError:  # a quotation is open
        words = []
    if not words or shutil.which(words[0]) is None:
        raise Usage(f"no backend is called {name!r}, and no command", required=", ".join(backend_names()))
    return [*words, *disabled_flags]
