"""Cases: what a run of a function or a graph gives, as data. They are tried in `interp/oracle/corpus.py`."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal, TypeAlias

from ..errors import Malformed
from ..program.program import Location
from . import syntax
from .atoms import Lines, name, text
from .fault import Fault
from .literals import is_literal

Kind: TypeAlias = Literal["returns", "traps", "exhausts", "breaks", "deadlocks", "refused"]


@dataclass(frozen=True, slots=True)
class Case:
    """`case NAME(ARGUMENTS) KIND DETAILS in FIRINGS firings`.

    Arguments and what is returned are literals as they are written, since they take the type of the parameter.
    `details` are: of `returns` such literals, of `traps` the message, of `exhausts` the number and the name of the
    limit, of `breaks` and `refused` the rule.
    """

    name: str
    arguments: tuple[str, ...]
    kind: Kind
    details: tuple[str, ...] = ()
    firings: int | None = None
    location: Location | None = field(default=None, compare=False)


def case(given: syntax.Case, lines: Lines) -> Case:
    """A case; raises Fault where its literals are none."""
    for written in given.arguments:
        literal_text(written)
    word, details = given.ending
    kind: Kind = word.text  # type: ignore[assignment]  # the grammar has these words and no others
    return Case(
        name(given.name),
        tuple(written.text for written in given.arguments),
        kind,
        tuple(_detail(kind, detail) for detail in details),
        given.firings,
        lines.at(None, given.name.spot.line),
    )


def _detail(kind: Kind, given: syntax.Word | syntax.Written) -> str:
    if isinstance(given, syntax.Written):
        return literal_text(given)
    return text(given) if kind == "traps" else given.text


def literal_text(written: syntax.Written) -> str:
    """A literal as it is written, once it is known to be one, whatever its type."""
    try:
        return is_literal(written.text)
    except Malformed as error:
        raise Fault(error.message, written.spot, required=error.required, hint=error.hint) from None
