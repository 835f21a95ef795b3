"""The machine as machine code: made of `machine` and of the table of opcodes, compiled once and kept on disk."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Mapping
from enum import IntEnum
from functools import cache
from pathlib import Path
from types import ModuleType

from .. import image, opcode
from ..jit.native import native
from . import arms, registers, rows


def columns(*modules: ModuleType) -> dict[str, type[IntEnum]]:
    """The enumerations of modules, by name."""
    found = [value for module in modules for value in vars(module).values() if isinstance(value, type)]
    return {value.__name__: value for value in found if issubclass(value, IntEnum) and value is not IntEnum}


def numbered(text: str, known: Mapping[str, type[IntEnum]]) -> str:
    """A text with numbers for the names of columns, and for how many there are."""
    names = "|".join(known)
    text = text.replace("first_trapping()", str(opcode.first_trapping()))
    text = re.sub(rf"\blen\(({names})\)", lambda found: str(len(known[found[1]])), text)
    return re.sub(rf"\b({names})\.([A-Z_0-9]+)\b", lambda found: str(int(known[found[1]][found[2]])), text)


_COLUMNS = columns(image, opcode, registers, rows)
_FILES = ("frames", "holding", "machine", "plain")
_PLAIN = ("youngest", "True"), ("oldest", "False")
"""What `plain` is compiled as, and what it is told of YOUNGEST."""
_IMPORTS = f"""\
from tagloom.interp.jit.memory import peek, poke, prefetch, rare
PORT_BITS = {image.PORT_BITS}
SCRATCH = {image.SCRATCH}
FIRST = {opcode.FIRST}
LOW_BITS = {image.LOW_BITS}
COMING = {image.COMING}
LEAVING = {image.LEAVING}
TAGGED = {image.TAGGED}
"""


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
    body = numbered("\n".join(map(ast.unparse, compiled)), _COLUMNS)
    body = re.sub(r"(?m)^def (?!run)", "@njit\ndef ", body)
    rest, plain = body.split("@njit\ndef plain(")
    twice = [f"@njit\ndef {name}({plain}".replace("YOUNGEST", told) for name, told in _PLAIN]
    return "\n".join([arms.text(), _IMPORTS, rest, *twice])
