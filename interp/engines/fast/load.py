"""Loading the machine: its source from `machine` and the table of opcodes, compiled once and cached on disk."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Mapping
from enum import IntEnum, StrEnum
from functools import cache
from pathlib import Path
from types import ModuleType

from ....core.python_ast import parse_python
from ...image import image
from ...image import opcodes as opcode
from ..jit.cache import show_compiling
from ..jit.compiler_process import CompileTask, compile_and_wait
from ..jit.native import load_native
from . import delivery_table, layout, opcode_source, shared_memory


def int_enums(*modules: ModuleType) -> dict[str, type[IntEnum]]:
    """The enumerations of modules, by name."""
    classes = [value for module in modules for value in vars(module).values() if isinstance(value, type)]
    return {value.__name__: value for value in classes if issubclass(value, IntEnum) and value is not IntEnum}


def inline_constants(text: str, enums: Mapping[str, type[IntEnum]]) -> str:
    """Replace the names of columns, and their counts, by numbers."""
    names = "|".join(enums)
    text = text.replace("first_trapping_opcode()", str(opcode.first_trapping_opcode()))
    text = re.sub(rf"\blen\(({names})\)", lambda match: str(len(enums[match[1]])), text)
    return re.sub(rf"\b({names})\.([A-Z_0-9]+)\b", lambda match: str(int(enums[match[1]][match[2]])), text)


ENUMS = int_enums(image, opcode, layout, delivery_table, shared_memory)
_SCALAR_FUNCTIONS = ("deliver_scalar_lifo", "True"), ("deliver_scalar_fifo", "False")
"""The names that `deliver_scalar` is compiled under, with the value of IS_LIFO."""
_IMPORTS = f"""\
from tagloom.interp.engines.jit.memory import (
    atomic_exchange, atomic_load, atomic_store, call_word_function, inline_njit, peek, poke, prefetch, unlikely
)
from tagloom.interp.engines.jit.random import splitmix64
PORT_BITS = {image.PORT_BITS}
PORT_MASK = {image.PORT_MASK}
SCRATCH_WORD = {image.SCRATCH_WORD}
FIRST_KERNEL = {opcode.FIRST_KERNEL}
LOW_BITS = {image.LOW_BITS}
LOW_MASK = {image.LOW_MASK}
PENDING_MASK = {image.PENDING_MASK}
ARGUMENT_UNIT = {image.ARGUMENT_UNIT}
RESULT_UNIT = {image.RESULT_UNIT}
TAG_BUILT = {image.TAG_BUILT}
CACHE_LINE_WORDS = {image.CACHE_LINE_WORDS}
RING_CAPACITY = {shared_memory.RING_CAPACITY}
LARGEST_PATH = {layout.LARGEST_PATH}
"""


class MachineVariant(StrEnum):
    """The variants of the machine, compiled from one source; the values name their compiled files."""

    BASE = "token machine"
    JOURNAL = "token machine that notes events"
    MULTICORE = "token machine of several cores"


_SOURCE_FILES = {
    MachineVariant.BASE: ("frames", "throttling", "machine", "deliver_scalar"),
    MachineVariant.JOURNAL: ("journal", "frames", "throttling", "machine", "deliver_scalar"),
    MachineVariant.MULTICORE: ("frames", "deliver_scalar", "parallel/core"),
}
_VARIANT_FLAGS = {
    MachineVariant.BASE: "",
    MachineVariant.JOURNAL: "HAS_JOURNAL",
    MachineVariant.MULTICORE: "IS_MULTICORE",
}
"""The name of the condition under which code belongs to this variant only."""


@cache
def load_machine(variant: MachineVariant = MachineVariant.BASE) -> Callable[[int, int, int], int]:
    """The compiled main loop. It takes the address of the address table, the maximal number of steps, and the number of
    words of a frame header, and returns an ExitReason."""
    compile_machine(variant)
    with show_compiling(f"the {variant}"):
        try:
            machine = load_native(variant, text(variant), "run", 3)
        except Exception:
            faults = new_column_faults()
            if not faults:
                raise
            opcode.UNCOMPILABLE_OPS.update(faults)
            machine = load_native(variant, text(variant), "run", 3)
    _loaded.add(variant)
    return machine


def compile_machine(variant: MachineVariant) -> None:
    """Have a variant of the machine compiled by another process, unless its code is on disk (`compile_and_wait`)."""
    with show_compiling(f"the {variant}"):
        compile_and_wait(machine_task(variant))


_loaded: set[MachineVariant] = set()


def is_machine_loaded(variant: MachineVariant) -> bool:
    """Whether this process has loaded the machine."""
    return variant in _loaded


def machine_task(variant: MachineVariant) -> CompileTask:
    """The task of compiling a variant of the machine."""
    return CompileTask(variant, text(variant), "run", 3)


def new_column_faults() -> dict[str, str]:
    """The ops whose column `scalar` does not compile and that are not yet known, with the faults."""
    from ..jit.column_faults import uncompilable_columns  # numba

    return {op: fault for op, fault in uncompilable_columns().items() if op not in opcode.UNCOMPILABLE_OPS}


def text(variant: MachineVariant = MachineVariant.BASE) -> str:
    """The source to compile: constants and functions. Names of columns become numbers, since numba is slow with
    enumerations, at compile time and at run time."""
    constants, functions = machine_parts(variant)
    scalar = functions.pop("deliver_scalar")
    for name, is_lifo in _SCALAR_FUNCTIONS:
        functions[name] = scalar.replace("def deliver_scalar(", f"def {name}(").replace("IS_LIFO", is_lifo)
    jitted = (jit(name, function) for name, function in functions.items())
    return "\n".join([opcode_source.text(), _IMPORTS, constants, *jitted])


def jit(name: str, function: str) -> str:
    """The source of a function with a decorator, unless it has one. `run`, which Python calls, gets none."""
    return function if name == "run" or function.startswith("@") else f"@internal_njit\n{function}"


def machine_parts(variant: MachineVariant) -> tuple[str, dict[str, str]]:
    """The source of the constants of a variant, and of its functions, by name."""
    constants, functions = [], {}
    for name, statement in variant_statements(variant):
        source = inline_constants(statement, ENUMS)
        if name is None:
            constants.append(source)
        else:
            functions[name] = source
    return "\n".join(constants), functions


@cache  # 0.1 s, and a machine is loaded from two such texts
def variant_statements(variant: MachineVariant) -> tuple[tuple[str | None, str], ...]:
    """The assignments and functions of the files of a variant, without the code of others: source, and the name of a
    function."""
    folder, selector = Path(__file__).parent, _VariantSelector(_VARIANT_FLAGS[variant])
    trees = [parse_python(folder.joinpath(f"{name}.py").read_text(encoding="utf-8")) for name in _SOURCE_FILES[variant]]
    nodes = [node for tree in trees for node in tree.body if isinstance(node, ast.Assign | ast.FunctionDef)]
    return tuple((getattr(node, "name", None), ast.unparse(selector.visit(node))) for node in nodes)


class _VariantSelector(ast.NodeTransformer):
    """Keeps the code under `if NAME`, or `if NAME and ...`, for the NAME of this variant, and removes it for others."""

    _FLAGS = frozenset(_VARIANT_FLAGS.values())

    def __init__(self, flag: str) -> None:
        self._flag = flag

    def visit_If(self, node: ast.If) -> ast.AST | list[ast.stmt]:
        self.generic_visit(node)
        match node.test:
            case ast.Name(name) if name in self._FLAGS:
                return node.body if name == self._flag else node.orelse
            case ast.BoolOp(ast.And(), [ast.Name(name), test]) if name in self._FLAGS:
                return ast.If(test, node.body, node.orelse) if name == self._flag else node.orelse
        return node
