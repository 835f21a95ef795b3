"""Cases: expected outcomes of runs, as data. `interp/oracle/corpus.py` runs them."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal, TypeAlias

from ..errors import Malformed
from ..program.program import Location
from . import syntax
from .atoms import LocationResolver, read_name, read_string
from .fault import SyntaxFault
from .literals import check_literal

CaseKind: TypeAlias = Literal["returns", "traps", "exhausts", "breaks", "deadlocks", "refused"]


@dataclass(frozen=True, slots=True)
class Case:
    """`case NAME(ARGUMENTS) KIND DETAILS in FIRINGS firings`.

    Arguments and results are kept as literals in text, since they take the type of the parameter. `details` depend on
    the kind: for `returns` the literals, for `traps` the message, for `exhausts` the number and the name of the limit,
    for `breaks` and `refused` the rule.
    """

    name: str
    arguments: tuple[str, ...]
    kind: CaseKind
    details: tuple[str, ...] = ()
    firings: int | None = None
    location: Location | None = field(default=None, compare=False)


def build_case(given: syntax.CaseSyntax, lines: LocationResolver) -> Case:
    """The case of this syntax; raises SyntaxFault where one of its literals is malformed."""
    for written in given.arguments:
        read_literal_text(written)
    word, details = given.expectation
    kind: CaseKind = word.text  # type: ignore[assignment]  # the grammar has these words and no others
    return Case(
        read_name(given.name),
        tuple(written.text for written in given.arguments),
        kind,
        tuple(_build_detail(kind, detail) for detail in details),
        given.firings,
        lines.resolve(None, given.name.position.line),
    )


def _build_detail(kind: CaseKind, given: syntax.SyntaxToken | syntax.LiteralSyntax) -> str:
    if isinstance(given, syntax.LiteralSyntax):
        return read_literal_text(given)
    return read_string(given) if kind == "traps" else given.text


def read_literal_text(written: syntax.LiteralSyntax) -> str:
    """The text of a literal, after checking that it is one of some type."""
    try:
        return check_literal(written.text)
    except Malformed as error:
        raise SyntaxFault(error.message, written.position, required=error.required, hint=error.hint) from None
