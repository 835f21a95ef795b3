"""The kernels of a wave, made of the text of `passes` and of the table of opcodes."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

from ...image import image
from ...image import opcodes as opcode
from ..fast import registers
from ..fast.load import inline_constants, int_enums
from ..jit.cache import load_module
from . import kernels, passes
from .device import describe_device

_COMPILED_MARK = "# Compiled from here on.\n"
_ENUMS = int_enums(image, opcode, registers, passes)
_IMAGE_CONSTANTS = "PORT_BITS", "SCRATCH_WORD", "LOW_BITS", "ARGUMENT_UNIT", "RESULT_UNIT", "TAG_BUILT"
_PASSES_CONSTANTS = "SENT_ROW", "WAITING_ROW", "TOKENS_PER_THREAD", "CONFLICT_FLAG", "TRAP_FLAG"
_CONSTANTS = {
    **{name: getattr(image, name) for name in _IMAGE_CONSTANTS},
    **{name: getattr(passes, name) for name in _PASSES_CONSTANTS},
    "FIRST_KERNEL": opcode.FIRST_KERNEL,
}
_PRELUDE = f"import {kernels.__name__} as called\nglobals().update(called.device_functions())"
_DEFINITION = re.compile(r"(?m)^def (\w+)")
_kernels: dict[str, Any] = {}


def text() -> str:
    """What is compiled. Names of columns become numbers, which numba is quicker with."""
    body = Path(__file__).with_name("passes.py").read_text(encoding="utf-8").partition(_COMPILED_MARK)[2]
    body = _DEFINITION.sub(_decorate, inline_constants(body, _ENUMS).replace(": Any", ""))
    numbers = (f"{name} = {number}" for name, number in _CONSTANTS.items())
    return "\n".join([f"# {describe_device()}", _PRELUDE, kernels.text(), *numbers, body])


def load_wave_kernels(launch_all: Callable[[dict[str, Any]], None]) -> dict[str, Any]:
    """The kernels, by name. `launch_all` launches each of those that it is given, which is when numba compiles it, or
    reads it from disk."""
    if not _kernels:
        module = load_module("wave", text(), lambda module: launch_all(_kernels_of(module)))
        _kernels.update(_kernels_of(module))
    return _kernels


def _kernels_of(module: ModuleType) -> dict[str, Any]:
    return {name: getattr(module, name) for name in passes.KERNELS}


def _decorate(found: re.Match[str]) -> str:
    how = "cache=True" if found[1] in passes.KERNELS else "device=True"
    return f"@cuda.jit({how})\n{found[0]}"
