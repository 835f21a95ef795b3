"""The machine as machine code: made of `machine` and of the table of opcodes, compiled once and kept on disk."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Collection, Iterable, Mapping
from enum import IntEnum, StrEnum
from functools import cache
from pathlib import Path
from types import ModuleType

from ....core.python_ast import parsed
from ...image import image
from ...image import opcodes as opcode
from ..jit.native import native
from ..jit.progress import compiling
from . import arms, registers, rows, shared


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


_COLUMNS = columns(image, opcode, registers, rows, shared)
_PLAIN = ("youngest", "True"), ("oldest", "False")
"""What `plain` is compiled as, and what it is told of YOUNGEST."""
_IMPORTS = f"""\
from tagloom.interp.engines.jit.memory import look, peek, poke, post, prefetch, rare, swap
PORT_BITS = {image.PORT_BITS}
SCRATCH = {image.SCRATCH}
FIRST = {opcode.FIRST}
LOW_BITS = {image.LOW_BITS}
COMING = {image.COMING}
LEAVING = {image.LEAVING}
TAGGED = {image.TAGGED}
LINE = {image.LINE}
MOST_MESSAGES = {shared.MOST_MESSAGES}
"""


class Variant(StrEnum):
    """The machines that are made of one text, by what they are called where they are compiled."""

    PLAIN = "token machine"
    NOTING = "token machine that notes events"
    STAMPED = "token machine of several cores"


_FILES = {
    Variant.PLAIN: ("frames", "k_bounds", "stop_test", "machine", "deliver_scalar"),
    Variant.NOTING: ("journal", "frames", "k_bounds", "stop_test", "machine", "deliver_scalar"),
    Variant.STAMPED: ("frames", "deliver_scalar", "parallel/messages", "parallel/core"),
}
_TRUE = {Variant.PLAIN: "", Variant.NOTING: "JOURNAL", Variant.STAMPED: "STAMPED"}
"""What stands in the text under a condition of this name is there in this machine, and in the others not."""


@cache
def machine(variant: Variant = Variant.PLAIN) -> Callable[[int, int, int], int]:
    """The loop: takes the address of the addresses, how many steps to make at most, and the words of a header."""
    with compiling(f"the {variant}"):
        return native(variant, text(variant), "run", 3)


def text(variant: Variant = Variant.PLAIN) -> str:
    """What is compiled: constants and functions. Names of columns become numbers: numba is slow with enumerations, when
    it compiles them and when they are used."""
    parts = compiled(_FILES[variant], _COLUMNS, {"run"}, _Chosen(_TRUE[variant])).split("\n@inner\n")
    plain = next(part for part in parts if part.startswith("def plain("))
    rest = "\n@inner\n".join(part for part in parts if part is not plain)
    twice = [f"@inner\n{plain}".replace("def plain", f"def {name}").replace("YOUNGEST", told) for name, told in _PLAIN]
    return "\n".join([arms.text(), _IMPORTS, rest, *twice])


def compiled(
    files: Iterable[str],
    known: Mapping[str, type[IntEnum]],
    entries: Collection[str],
    chosen: ast.NodeTransformer | None = None,
) -> str:
    """The constants and functions of files of this folder, where all but the `entries` are jitted."""
    here, chosen = Path(__file__).parent, chosen or ast.NodeTransformer()
    trees = [parsed(here.joinpath(f"{name}.py").read_text(encoding="utf-8")) for name in files]
    nodes = [node for tree in trees for node in tree.body if isinstance(node, ast.Assign | ast.FunctionDef)]
    body = numbered("\n".join(ast.unparse(chosen.visit(node)) for node in nodes), known)
    return re.sub(rf"(?m)^def (?!(?:{'|'.join(entries)})\()", "@inner\ndef ", body)


class _Chosen(ast.NodeTransformer):
    """Keeps what stands under `if NAME`, or `if NAME and ...`, and leaves no trace of it where NAME is not the true
    one."""

    _NAMES = frozenset(_TRUE.values())

    def __init__(self, true: str) -> None:
        self._true = true

    def visit_If(self, node: ast.If) -> ast.AST | list[ast.stmt]:
        self.generic_visit(node)
        match node.test:
            case ast.Name(name) if name in self._NAMES:
                return node.body if name == self._true else node.orelse
            case ast.BoolOp(ast.And(), [ast.Name(name), test]) if name in self._NAMES:
                return ast.If(test, node.body, node.orelse) if name == self._true else node.orelse
        return node
