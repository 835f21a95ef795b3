"""The machine as machine code: made of `machine` and of the table of opcodes, compiled once and kept on disk."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable
from enum import IntEnum
from functools import cache
from pathlib import Path

from .. import image, opcode
from ..jit.native import native
from . import arms, registers

_NAMES: dict[str, type[IntEnum]] = {
    name: value
    for module in (image, opcode, registers)
    for name, value in vars(module).items()
    if isinstance(value, type) and issubclass(value, IntEnum)
}
_FILES = ("frames", "holding", "machine")
_IMPORTS = f"""\
from tagloom.interp.jit.memory import peek, poke, prefetch
PORT_BITS = {image.PORT_BITS}
SCRATCH = {image.SCRATCH}
FIRST = {opcode.FIRST}
LOW_BITS = {image.LOW_BITS}
COMING = {image.COMING}
LEAVING = {image.LEAVING}
TAGGED = {image.TAGGED}
"""
_NAME = re.compile(rf"\b({'|'.join(_NAMES)})\.([A-Z_0-9]+)\b")
_LENGTH = re.compile(rf"\blen\(({'|'.join(_NAMES)})\)")


@cache
def machine() -> Callable[[int, int, int], int]:
    """The loop: takes the address of the addresses, how many steps to make at most, and the words of a header."""
    return native("token machine", text(), "run", 3)


def text() -> str:
    """What is compiled: constants and functions. Names of columns become numbers: numba is slow with enumerations, when
    it compiles them and when they are used."""
    here = Path(__file__).parent
    trees = [ast.parse(here.joinpath(f"{name}.py").read_text(encoding="utf-8")) for name in _FILES]
    compiled = [node for tree in trees for node in tree.body if isinstance(node, ast.Assign | ast.FunctionDef)]
    body = "\n".join(map(ast.unparse, compiled)).replace("first_trapping()", str(opcode.first_trapping()))
    body = _LENGTH.sub(lambda found: str(len(_NAMES[found[1]])), body)
    body = _NAME.sub(lambda found: str(int(_NAMES[found[1]][found[2]])), body)
    body = re.sub(r"(?m)^def (?!run)", "@njit\ndef ", body)
    return "\n".join([arms.text(), _IMPORTS, body])
