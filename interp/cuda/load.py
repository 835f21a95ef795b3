"""The kernels of a wave, made of the text of `passes` and of the table of opcodes."""

from __future__ import annotations

import re
from enum import IntEnum
from functools import cache
from pathlib import Path
from typing import Any

from .. import image, opcode
from ..fast import registers
from . import kernels, passes

_BEGIN = "# Compiled from here on.\n"
_COLUMNS: dict[str, type[IntEnum]] = {
    name: value
    for module in (image, opcode, registers, passes)
    for name, value in vars(module).items()
    if isinstance(value, type) and issubclass(value, IntEnum) and value is not IntEnum
}
_NUMBERS = {
    **{name: getattr(image, name) for name in ("PORT_BITS", "SCRATCH", "LOW_BITS", "COMING", "LEAVING", "TAGGED")},
    **{name: getattr(passes, name) for name in ("SENT", "WAITS", "BROKEN", "TRAPPED")},
    "FIRST": opcode.FIRST,
}
_NAME = re.compile(rf"\b({'|'.join(_COLUMNS)})\.([A-Z_0-9]+)\b")
_DEFINED = re.compile(r"(?m)^def (\w+)")


def text() -> str:
    """What is compiled. Names of columns become numbers, which numba is quicker with."""
    body = Path(__file__).with_name("passes.py").read_text(encoding="utf-8").partition(_BEGIN)[2]
    body = body.replace("first_trapping()", str(opcode.first_trapping()))
    body = _NAME.sub(lambda found: str(int(_COLUMNS[found[1]][found[2]])), body)
    body = _DEFINED.sub(_decorated, body.replace(": Any", ""))
    numbers = (f"{name} = {number}" for name, number in _NUMBERS.items())
    return "\n".join([kernels.text(), *numbers, body])


@cache
def wave_kernels() -> dict[str, Any]:
    """The kernels, by name."""
    module = dict(kernels.names())
    exec(compile(text(), "<wave>", "exec"), module)
    return {name: module[name] for name in passes.KERNELS}


def _decorated(found: re.Match[str]) -> str:
    how = "" if found[1] in passes.KERNELS else "(device=True)"
    return f"@cuda.jit{how}\n{found[0]}"
