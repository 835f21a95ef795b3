"""The table of ops for a terminal: what each takes, and what it means, by the rows of the registry."""

from __future__ import annotations

import textwrap
from typing import Annotated

import typer

from ..core.act import ROWS, Act, Row
from ..core.errors import Usage
from ..core.hints import example

_WIDTH = 100


def ops(
    name: Annotated[
        str | None, typer.Argument(metavar="NAME", help="add, take, ...; without it, all in a line each.")
    ] = None,
) -> None:
    """Say what an op takes and makes."""
    print(listing() if name is None else described(name))


def listing() -> str:
    """Every op that a program may have, a line each: how it is written, and its first sentence.

    >>> print(listing().splitlines()[0])
    add a, b                               Sum.
    """
    return "\n".join(f"{_call(row):38} {_first(row)}" for row in _rows())


def described(name: str) -> str:
    """An op: how many operands it takes, its attributes, and its documentation; raises Usage where there is none."""
    found = {row.name: row for row in _rows()}
    if name not in found:
        raise Usage(f"no op is called {name!r}", hint=f"the ops are {', '.join(found)}")
    row = found[name]
    takes = "any number of operands" if row.arity is None else f"{row.arity} operand{'s' * (row.arity != 1)}"
    more = f"; attributes {', '.join(row.attributes)}" if row.attributes else ""
    return f"{name}: {takes}{more}\n{example(name)}\n\n{row.doc.strip()}"


def _rows() -> list[Row]:
    return [row for row in ROWS.values() if not isinstance(row, Act) or row.form != "graph"]


def _call(row: Row) -> str:
    written = example(row.name).split("= ", 1)[1].rstrip("`")
    return written if len(written) < 38 else f"{row.name} ..."


def _first(row: Row) -> str:
    """The first sentence of a row's documentation, or as much of it as a line has room for."""
    said = " ".join(row.doc.split(">>>")[0].split())
    return textwrap.shorten(said.split(". ")[0].rstrip(".") + ".", _WIDTH - 39, placeholder=" ...")
