"""Printing documents: a program, graphs, and cases."""

from __future__ import annotations

from .cases import Case
from .document import Document
from .print_graph import print_graph
from .print_program import print_program
from .printer import format_name, quote_string


def print_document(document: Document, *, locations: bool = True) -> str:
    """A document as text that `parse` reads back: the functions, the graphs, the cases."""
    parts = [] if document.program is None else [print_program(document.program, locations=locations)]
    parts += [print_graph(graph, locations=locations) for graph in document.graphs]
    parts += ["".join(f"{print_case(case)}\n" for case in document.cases)] if document.cases else []
    return "\n".join(parts)


def print_case(case: Case) -> str:
    """A case in the text form.

    >>> print_case(Case("fac", ("5",), "returns", ("120",), 94))
    'case fac(5) returns 120 in 94 firings'
    """
    arguments = "" if case.kind == "refused" and not case.arguments else f"({', '.join(case.arguments)})"
    return f"case {format_name(case.name)}{arguments} {print_ending(case)}"


def print_ending(case: Case) -> str:
    """The expected outcome of a case, in the text form."""
    match case.kind:
        case "returns":
            details = [", ".join(case.details)] if case.details else []
        case "traps":
            details = list(map(quote_string, case.details))
        case _:
            details = list(case.details)
    firings = [f"in {case.firings} firings"] if case.firings is not None else []
    return " ".join([case.kind, *details, *firings])
