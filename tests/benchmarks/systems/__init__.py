"""What is measured against what: a module a family of systems, loaded in the process that measures it.

A module has SYSTEMS, the names of its systems, and `build(system, row, size)`: a run of that row, which raises
Unable where the system cannot express it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any


class Unable(Exception):
    """A system cannot express a row; the message says why, in few words."""


@dataclass(frozen=True, slots=True)
class Built:
    """A run, ready to be made: `run()` gives its value. `firings()` says, after a run, how many operators fired: those
    with live tokens, and all that were processed."""

    run: Callable[[], Any]
    firings: Callable[[], tuple[float, float]] | None = None


FAMILIES: dict[str, tuple[str, ...]] = {
    "tagloom": ("reference", "fast, lifo", "fast, waves", "compiled"),
    "plain": ("CPython",),
    "numba": ("numba",),
    "jax": ("JAX",),
    "tensorflow": ("TF Session", "tf.function", "TF XLA"),
    "onnx": ("ONNX Runtime",),
    "torch": ("PyTorch",),
}
"""The systems of each module; known without loading one."""
TRAINED: dict[str, tuple[str, ...]] = {
    "tagloom": ("eager", "reference", "fast", "compiled"),
    "jax": ("JAX",),
    "tensorflow": ("TF eager", "tf.function"),
    "torch": ("PyTorch",),
}
"""Those in which training steps are written: tagloom's op by op, and as one graph on each engine."""
RECURSIVE = ("tagloom", "plain", "numba")
"""Those that have recursion of their own."""
PACKAGES: dict[str, tuple[str, ...]] = {
    "tagloom": ("tagloom", "numpy"),
    "plain": ("numpy",),
    "numba": ("numba", "llvmlite"),
    "jax": ("jax", "jaxlib"),
    "tensorflow": ("tensorflow",),
    "onnx": ("onnx", "onnxruntime"),
    "torch": ("torch",),
}
"""What must be installed for each."""
