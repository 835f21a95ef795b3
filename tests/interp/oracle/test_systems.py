"""The systems that are installed here: generated programs on each of them, in a process of its own."""

from __future__ import annotations

from importlib.util import find_spec
from random import Random

import pytest
from tagloom.interp.oracle.adapters import backend_command, backend_names
from tagloom.interp.oracle.backend_process import Backend, Timeouts
from tagloom.interp.oracle.fuzz import judge_case
from tagloom.interp.oracle.generate import FuzzWriter

MODULES = {
    "numpy": "numpy",
    "jax": "jax",
    "torch": "torch",
    "torch-compiled": "torch",
    "tensorflow": "tensorflow",
    "tensorflow-function": "tensorflow",
    "tensorflow-unoptimised": "tensorflow",
    "tensorflow-frames": "tensorflow",
    "tensorflow-xla": "tensorflow",
    "onnxruntime": "onnxruntime",
    "onnxruntime-unoptimised": "onnxruntime",
    "onnx-reference": "onnx",
    "stablehlo": "jaxlib",
}
"""The module that each backend of this package needs."""
PATIENT = Timeouts(600.0, 600.0, 600.0)
"""Imports and compilers take long beside other work."""
COMPILERS = ("jax", "tensorflow-xla", "torch-compiled", "tensorflow-function")
"""Backends with optimisers, in which failures are findings."""


def test_every_backend_is_listed() -> None:
    """The table of this file has all backends of this package."""
    assert set(MODULES) <= set(backend_names())


@pytest.mark.heavy
@pytest.mark.parametrize("name", MODULES)
def test_generated_programs(name: str) -> None:
    """A system computes most exact programs with the same bits; one that optimises nothing, all of them. Programs
    that it refuses do not count."""
    if find_spec(MODULES[name]) is None:
        pytest.skip(f"{MODULES[name]} is not installed")
    with Backend(backend_command(name), timeouts=PATIENT) as backend:
        judgements = [judge_case(backend, FuzzWriter(Random(f"2:{number}")).write_case()) for number in range(25)]
    verdicts = [found.verdict for found in judgements if found is not None and found.verdict != "refused"]
    assert len(verdicts) > 15 and verdicts.count("alike") >= len(verdicts) - 3 * (name in COMPILERS), verdicts
