"""Documents: whole texts, parsed into a program, graphs and cases.

A case is the expected outcome of a run, as data; `interp/oracle/corpus.py` runs them.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal, TypeAlias

from ..errors import Malformed, Usage
from ..graph.graph import Graph
from ..graph.infer import infer_graph_types
from ..program.infer import infer_types
from ..program.program import FunctionDef, Location, Program, reachable_names
from . import syntax
from .builder import LocationResolver, build_function, build_graph, read_name, read_string
from .fault import SyntaxFault, to_malformed
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


def build_case(case: syntax.CaseSyntax, lines: LocationResolver) -> Case:
    """The case of this syntax; raises SyntaxFault where one of its literals is malformed."""
    for argument in case.arguments:
        read_literal_text(argument)
    keyword, details = case.expectation
    kind: CaseKind = keyword.text  # type: ignore[assignment]  # the grammar admits no other keyword
    return Case(
        read_name(case.name),
        tuple(argument.text for argument in case.arguments),
        kind,
        tuple(build_detail(kind, detail) for detail in details),
        case.firings,
        lines.resolve(None, case.name.position.line),
    )


def build_detail(kind: CaseKind, detail: syntax.SyntaxToken | syntax.LiteralSyntax) -> str:
    """A detail of a case as text: a literal, the message of a trap, or a word."""
    if isinstance(detail, syntax.LiteralSyntax):
        return read_literal_text(detail)
    return read_string(detail) if kind == "traps" else detail.text


def read_literal_text(node: syntax.LiteralSyntax) -> str:
    """The text of a literal, after checking that it is one of some type."""
    try:
        return check_literal(node.text)
    except Malformed as error:
        raise SyntaxFault(error.message, node.position, required=error.required, hint=error.hint) from None


@dataclass(frozen=True, slots=True)
class Document:
    """The content of a text: the functions as one program, or None; graphs; cases. All are in the order of the text."""

    program: Program | None
    graphs: tuple[Graph, ...] = ()
    cases: tuple[Case, ...] = ()

    @property
    def names(self) -> list[str]:
        """The names that can be run, functions first."""
        functions = self.program.functions if self.program else ()
        return [function.name for function in functions] + [graph.name for graph in self.graphs]

    def __getitem__(self, name: str) -> Program | Graph:
        """The graph of this name, or the program with this function as entry and the functions that it may call; raises
        Usage where there is neither."""
        if name not in self.names:
            raise Usage(
                f"no function or graph is called {name!r}", required=", ".join(self.names) or "none", python=KeyError
            )
        for graph in self.graphs:
            if graph.name == name:
                return graph
        assert self.program is not None
        return Program(functions_called_from(self.program, name), name)


def parse(text: str, file: str | None = None) -> Document:
    """Parse a text. No code runs.

    `file` is the name of the file that the text comes from; nodes that name no source line then have their line in that
    file.

    Raises Malformed where the text cannot be read, with the line and the expected input, and Invalid where the types of
    a function's results cannot be inferred.

    >>> parse("graph race(x: int64) { m = merge x, x; return m }")
    Traceback (most recent call last):
    tagloom.core.errors.Malformed: unexpected `;` (line 1, column 38)
        graph race(x: int64) { m = merge x, x; return m }
                                             ^
      required: `,` or the end of the line
      hint: each statement is on a line of its own
    """
    if not isinstance(text, str):
        raise Usage("the text is not a str", got=type(text).__name__, python=TypeError)
    source = text.removeprefix("\ufeff").replace("\r\n", "\n").replace("\r", "\n") + "\n"
    try:
        return _read_document(source, file)
    except SyntaxFault as fault:
        raise to_malformed(fault, source, file) from None


def parse_program(text: str, file: str | None = None) -> Program:
    """The program of a text that has no graphs; raises as `parse` does."""
    document = parse(text, file)
    if document.program is None or document.graphs:
        raise Malformed("this text is not a program", where=file, required="functions, and no graphs")
    return document.program


def parse_graph(text: str, file: str | None = None) -> Graph:
    """The graph of a text that has one graph and no functions; raises as `parse` does."""
    document = parse(text, file)
    if document.program is not None or len(document.graphs) != 1:
        raise Malformed("this text is not a graph", where=file, required="one graph, and no functions")
    return document.graphs[0]


def _read_document(text: str, file: str | None) -> Document:
    from .parser import parse_syntax  # the parser library is slow to import, and most users read no text

    lines = LocationResolver(file)
    entry: str | None = None
    functions_named: set[str] = set()
    graphs_named: set[str] = set()
    functions: list[FunctionDef] = []
    graphs: list[Graph] = []
    cases: list[Case] = []
    for statement in parse_syntax(text):
        match statement:
            case syntax.FunctionSyntax():
                _check_name_is_unused(statement.body.keyword, graphs_named)
                functions_named.add(statement.body.keyword.text)
                functions.append(build_function(statement, lines))
            case syntax.GraphSyntax():
                _check_name_is_unused(statement.name, graphs_named, functions_named)
                graphs_named.add(statement.name.text)
                graphs.append(infer_graph_types(build_graph(statement, lines)))
            case syntax.CaseSyntax():
                cases.append(build_case(statement, lines))
            case syntax.SourceFileSyntax():
                lines.enter_source_file(statement)
            case syntax.EntrySyntax():
                if entry is not None:
                    hint = "one function is the entry; run another as FILE:NAME"
                    raise SyntaxFault("two lines name the entry", statement.name.position, hint=hint)
                entry = read_name(statement.name)
    program = None
    if functions or entry is not None:
        program = infer_types(Program(tuple(functions), functions[0].name if entry is None else entry))
    return Document(program, tuple(graphs), tuple(cases))


def functions_called_from(program: Program, entry: str) -> tuple[FunctionDef, ...]:
    """The entry and the functions that it may call, in the order of the program; undefined ones are left out."""
    names = set(reachable_names({function.name: function for function in program.functions}, entry))
    return tuple(function for function in program.functions if function.name in names)


def _check_name_is_unused(name: syntax.SyntaxToken, *used_names: set[str]) -> None:
    if any(name.text in names for names in used_names):
        raise SyntaxFault("two graphs, or a graph and a function, have the same name", name.position)
