"""The machine as machine code: made of `machine` and of the table of opcodes, compiled once and kept on disk."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Collection, Iterable, Mapping
from enum import IntEnum, StrEnum
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
_FILES = ("journal", "frames", "holding", "machine", "plain")
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


class Variant(StrEnum):
    """The machines that are made of one text, by what they are called where they are compiled."""

    PLAIN = "token machine"
    NOTING = "token machine that notes events"


@cache
def machine(variant: Variant = Variant.PLAIN) -> Callable[[int, int, int], int]:
    """The loop: takes the address of the addresses, how many steps to make at most, and the words of a header."""
    return native(variant, text(variant), "run", 3)


def text(variant: Variant = Variant.PLAIN) -> str:
    """What is compiled: constants and functions. Names of columns become numbers: numba is slow with enumerations, when
    it compiles them and when they are used."""
    files = [name for name in _FILES if name != "journal" or variant is Variant.NOTING]
    rest, plain = compiled(files, _COLUMNS, {"run"}, _Chosen(variant)).split("@inner\ndef plain(")
    twice = [f"@inner\ndef {name}({plain}".replace("YOUNGEST", told) for name, told in _PLAIN]
    return "\n".join([arms.text(), _IMPORTS, rest, *twice])


def compiled(
    files: Iterable[str],
    known: Mapping[str, type[IntEnum]],
    entries: Collection[str],
    chosen: ast.NodeTransformer | None = None,
) -> str:
    """The constants and functions of files of this folder, where all but the `entries` are jitted."""
    here, chosen = Path(__file__).parent, chosen or ast.NodeTransformer()
    trees = [ast.parse(here.joinpath(f"{name}.py").read_text(encoding="utf-8")) for name in files]
    nodes = [node for tree in trees for node in tree.body if isinstance(node, ast.Assign | ast.FunctionDef)]
    body = numbered("\n".join(ast.unparse(chosen.visit(node)) for node in nodes), known)
    return re.sub(rf"(?m)^def (?!(?:{'|'.join(entries)})\()", "@inner\ndef ", body)


class _Chosen(ast.NodeTransformer):
    """Keeps what stands under `if JOURNAL` in the machine that notes events, and leaves no trace of it in the other."""

    def __init__(self, variant: Variant) -> None:
        self._variant = variant

    def visit_If(self, node: ast.If) -> ast.AST | list[ast.stmt]:
        self.generic_visit(node)
        if isinstance(node.test, ast.Name) and node.test.id == "JOURNAL":
            return node.body if self._variant is Variant.NOTING else node.orelse
        return node
