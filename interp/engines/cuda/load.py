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
from ..fast.load import columns, numbered
from ..jit.cache import load
from . import kernels, passes
from .device import described

_BEGIN = "# Compiled from here on.\n"
_COLUMNS = columns(image, opcode, registers, passes)
_NUMBERS = {
    **{name: getattr(image, name) for name in ("PORT_BITS", "SCRATCH", "LOW_BITS", "COMING", "LEAVING", "TAGGED")},
    **{name: getattr(passes, name) for name in ("SENT", "WAITS", "SHARE", "BROKEN", "TRAPPED")},
    "FIRST": opcode.FIRST,
}
_CALLED = f"import {kernels.__name__} as called\nglobals().update(called.names())"
_DEFINED = re.compile(r"(?m)^def (\w+)")
_kernels: dict[str, Any] = {}


def text() -> str:
    """What is compiled. Names of columns become numbers, which numba is quicker with."""
    body = Path(__file__).with_name("passes.py").read_text(encoding="utf-8").partition(_BEGIN)[2]
    body = _DEFINED.sub(_decorated, numbered(body, _COLUMNS).replace(": Any", ""))
    numbers = (f"{name} = {number}" for name, number in _NUMBERS.items())
    return "\n".join([f"# {described()}", _CALLED, kernels.text(), *numbers, body])


def wave_kernels(launched: Callable[[dict[str, Any]], None]) -> dict[str, Any]:
    """The kernels, by name. `launched` launches each of those that it is given, which is when numba compiles it, or
    reads it from disk."""
    if not _kernels:
        module = load("wave", text(), lambda module: launched(_of(module)))
        _kernels.update(_of(module))
    return _kernels


def _of(module: ModuleType) -> dict[str, Any]:
    return {name: getattr(module, name) for name in passes.KERNELS}


def _decorated(found: re.Match[str]) -> str:
    how = "cache=True" if found[1] in passes.KERNELS else "device=True"
    return f"@cuda.jit({how})\n{found[0]}"
