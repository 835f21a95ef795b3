"""`tagloom ops`: the table of ops, from the rows of the registry."""

from __future__ import annotations

import inspect
import textwrap
from collections.abc import Callable
from difflib import get_close_matches
from typing import Annotated, Any

import typer

from ...core.errors import Usage
from ...core.frontend.trace.symbol import array_namespace
from ...core.ops.effects import ALL_OPS, EffectOp, OpRow
from ...core.program.hints import example
from .terminal import print_text

_WIDTH = 100


def ops(
    name: Annotated[
        str | None, typer.Argument(metavar="NAME", help="add, take, ...; without it, list all ops.")
    ] = None,
) -> None:
    """Describe an op: its operands, attributes and result."""
    print_text(list_ops() if name is None else describe_op(name))


def list_ops() -> str:
    """Every op that a program may have, a line for each: its syntax, and its first sentence.

    >>> print(list_ops().splitlines()[0])
    add a, b                               Sum.
    """
    return "\n".join(f"{op_syntax(row):38} {first_sentence(row)}" for row in listed_ops())


def describe_op(name: str) -> str:
    """An op: its number of operands, its attributes, and its documentation; or an array function composed of ops.
    Raises Usage if there is none."""
    rows, functions = {row.name: row for row in listed_ops()}, array_functions()
    if name not in rows and name.removeprefix("linalg.") in functions:
        return describe_function(*functions[name.removeprefix("linalg.")])
    if name not in rows:
        close = get_close_matches(name, list(dict.fromkeys([*rows, *functions])), 3)
        hint = f"did you mean {' or '.join(close)}?" if close else "without a name, all ops are listed"
        raise Usage(f"there is no op {name!r}", hint=hint)
    row = rows[name]
    takes = "any number of operands" if row.arity is None else f"{row.arity} operand{'s' * (row.arity != 1)}"
    more = f"; attributes {', '.join(row.attributes)}" if row.attributes else ""
    return f"{name}: {takes}{more}\n{example(name)}\n\n{row.doc.strip()}"


def array_functions() -> dict[str, tuple[str, Callable[..., Any]]]:
    """The array functions by name, with their qualified names."""
    space = array_namespace()
    spaces = {"tl.linalg": space.linalg, "tl": space}
    return {
        name: (f"{prefix}.{name}", function)
        for prefix, module in spaces.items()
        for name, function in vars(module).items()
        if not name.startswith("_") and inspect.isfunction(function) and ".frontend." in function.__module__
        if module is space or function.__module__ == module.__name__
    }


def describe_function(name: str, function: Callable[..., Any]) -> str:
    """An array function: its signature without annotations, and its docstring."""
    signature = inspect.signature(function)
    plain = [parameter.replace(annotation=inspect.Parameter.empty) for parameter in signature.parameters.values()]
    short = signature.replace(parameters=plain, return_annotation=inspect.Signature.empty)
    return f"{name}{short}: a function composed of ops\n\n{inspect.getdoc(function) or ''}".rstrip()


def listed_ops() -> list[OpRow]:
    """The ops that a program may have; ops of graphs only are left out."""
    return [row for row in ALL_OPS.values() if not isinstance(row, EffectOp) or row.form != "graph"]


def op_syntax(row: OpRow) -> str:
    """The right side of an example of an op in the text form; abbreviated, if it is long."""
    syntax = example(row.name).split("= ", 1)[1].rstrip("`")
    return syntax if len(syntax) < 38 else f"{row.name} ..."


def first_sentence(row: OpRow) -> str:
    """The first sentence of a row's documentation, cut to the width of a line."""
    text = " ".join(row.doc.split(">>>")[0].split())
    return textwrap.shorten(text.split(". ")[0].rstrip(".") + ".", _WIDTH - 39, placeholder=" ...")
