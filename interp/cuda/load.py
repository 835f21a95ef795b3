"""The kernels of a wave, made of the text of `passes` and of the table of opcodes."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path
from typing import Any

from .. import image, opcode
from ..fast import registers
from ..fast.load import columns, numbered
from . import kernels, passes

_BEGIN = "# Compiled from here on.\n"
_COLUMNS = columns(image, opcode, registers, passes)
_NUMBERS = {
    **{name: getattr(image, name) for name in ("PORT_BITS", "SCRATCH", "LOW_BITS", "COMING", "LEAVING", "TAGGED")},
    **{name: getattr(passes, name) for name in ("SENT", "WAITS", "SHARE", "BROKEN", "TRAPPED")},
    "FIRST": opcode.FIRST,
}
_DEFINED = re.compile(r"(?m)^def (\w+)")


def text() -> str:
    """What is compiled. Names of columns become numbers, which numba is quicker with."""
    body = Path(__file__).with_name("passes.py").read_text(encoding="utf-8").partition(_BEGIN)[2]
    body = _DEFINED.sub(_decorated, numbered(body, _COLUMNS).replace(": Any", ""))
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
