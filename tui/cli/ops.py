"""`tagloom ops`: the table of ops, from the rows of the registry."""

from __future__ import annotations

import inspect
import textwrap
from collections.abc import Callable
from difflib import get_close_matches
from typing import Annotated, Any

import typer

from ...core.errors import Usage
from ...core.frontend.trace.symbol import ArrayOperators
from ...core.ops.effects import ALL_OPS, EffectOp, OpRow
from ...core.program.hints import example

_WIDTH = 100


def ops(
    name: Annotated[
        str | None, typer.Argument(metavar="NAME", help="add, take, ...; without it, all in a line each.")
    ] = None,
) -> None:
    """Say what an op takes and makes."""
    print(list_ops() if name is None else describe_op(name))


def list_ops() -> str:
    """Every op that a program may have, a line for each: its syntax, and its first sentence.

    >>> print(list_ops().splitlines()[0])
    add a, b                               Sum.
    """
    return "\n".join(f"{_op_syntax(row):38} {_first_sentence(row)}" for row in _listed_ops())


def describe_op(name: str) -> str:
    """An op: its number of operands, its attributes, and its documentation; or an array function composed of ops.
    Raises Usage if there is none."""
    found, made = {row.name: row for row in _listed_ops()}, _array_functions()
    if name not in found and name.removeprefix("linalg.") in made:
        return _describe_function(*made[name.removeprefix("linalg.")])
    if name not in found:
        close = get_close_matches(name, list(dict.fromkeys([*found, *made])), 3)
        hint = f"do you mean {' or '.join(close)}?" if close else "without a name, all ops are listed"
        raise Usage(f"no op is called {name!r}", hint=hint)
    row = found[name]
    takes = "any number of operands" if row.arity is None else f"{row.arity} operand{'s' * (row.arity != 1)}"
    more = f"; attributes {', '.join(row.attributes)}" if row.attributes else ""
    return f"{name}: {takes}{more}\n{example(name)}\n\n{row.doc.strip()}"


def _array_functions() -> dict[str, tuple[str, Callable[..., Any]]]:
    """The array functions by name, with their qualified names."""
    space = ArrayOperators.namespace
    spaces = {"tl.linalg": space.linalg, "tl": space}
    return {
        name: (f"{prefix}.{name}", function)
        for prefix, of in spaces.items()
        for name, function in vars(of).items()
        if not name.startswith("_") and inspect.isfunction(function) and ".frontend." in function.__module__
        if of is space or function.__module__ == of.__name__
    }


def _describe_function(name: str, function: Callable[..., Any]) -> str:
    signature = inspect.signature(function)
    plain = [each.replace(annotation=inspect.Parameter.empty) for each in signature.parameters.values()]
    written = signature.replace(parameters=plain, return_annotation=inspect.Signature.empty)
    return f"{name}{written}: a function, which makes nodes of ops\n\n{inspect.getdoc(function) or ''}".rstrip()


def _listed_ops() -> list[OpRow]:
    return [row for row in ALL_OPS.values() if not isinstance(row, EffectOp) or row.form != "graph"]


def _op_syntax(row: OpRow) -> str:
    written = example(row.name).split("= ", 1)[1].rstrip("`")
    return written if len(written) < 38 else f"{row.name} ..."


def _first_sentence(row: OpRow) -> str:
    """The first sentence of a row's documentation, cut to the width of a line."""
    said = " ".join(row.doc.split(">>>")[0].split())
    return textwrap.shorten(said.split(". ")[0].rstrip(".") + ".", _WIDTH - 39, placeholder=" ...")
