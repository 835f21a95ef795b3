"""Modules as functions. Another process parses a module, with bounds on its time and memory; then a function is made
that traces it. Loading a module runs no code of it: StableHLO has none."""

from __future__ import annotations

import json
import os
from pathlib import Path

from ....core.errors import Usage
from ....core.files import read_regular_file
from ...function.function import Function
from ..foreign_parser import run_parser
from ..functions import identifier
from . import rows  # noqa: F401 - registers the operations
from .interpreter import ModuleInterpreter
from .module import ForeignModule, read_module

SUFFIX = ".mlir"
"""The suffix of the names of files that contain modules."""
MAX_MODULE_BYTES = 2**30
PARSE_SECONDS = 120.0
"""The time limit, in seconds, of the process that parses a module."""


def import_module(source: str | os.PathLike[str] | bytes) -> Function:
    """`from_stablehlo`, where the package that parses modules is installed."""
    file = None
    if isinstance(source, str) and source.endswith(SUFFIX) and "\n" not in source:
        source = Path(source)
    if isinstance(source, os.PathLike):
        file = os.path.abspath(source)
        source = read_regular_file(Path(source), "module", MAX_MODULE_BYTES)
    if not isinstance(source, str | bytes):
        required = "the text of a module, bytes or a path"
        raise Usage("this is not a module of StableHLO", required=required, got=type(source).__name__, python=TypeError)
    content = source.encode() if isinstance(source, str) else source
    return module_function(parse_module(content, Path(file).name if file else None), file)


def module_function(module: ForeignModule, file: str | None = None) -> Function:
    """The function that a module computes; `file` is the path of the module, if it has one."""
    name = entry_of(module)
    return ModuleInterpreter(module, file, identifier(module.name or name, "module")).function(name)


def parse_module(content: bytes, where: str | None) -> ForeignModule:
    """The module that another process reads in text or bytecode; raises Malformed where there is none."""
    script = Path(__file__).with_name("parse.py")
    output = run_parser(script, [], content, "this is not a module of StableHLO", where, PARSE_SECONDS)
    return read_module(json.loads(output))


def entry_of(module: ForeignModule) -> str:
    """The name of the entry function of a module; raises Usage if the module does not determine it."""
    if "main" in module.functions:
        return "main"
    names = [name for name, function in module.functions.items() if function.is_public and function.body is not None]
    if len(names) != 1:
        raise Usage("the module does not say which function is its entry", required="one public function, or main",
                    got=", ".join(names[:10]) or "none")  # fmt: skip
    return names[0]
