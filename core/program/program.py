"""Programs: structured and typed, as plain frozen data. People write them, and lowering turns them into graphs.

A program has named functions; a function is one region; a region has parameters, nodes in definition order, and
results. A node applies an op to values and names its results. Four ops have structure:

cond        p, a...    regions then(a...) and else(a...), each yielding the results
while_loop  v...       regions while(v...) yielding one bool, and do(v...) yielding the next v...; attribute
                       `parallel_iterations`, if the number of iterations that run at once is bounded
call        a...       attribute `function`: any function of the program, this one included
pullback    a...       attribute `of`: a cond, while_loop, call or pullback, whose next phase it begins

A region sees only its own parameters and nodes: free variables are passed explicitly. Names of nodes are unique in
their function, so that function and name identify a node, and for calls and loops a site.

A region may have a further phase, its `pullback`: a region that sees all values of the first. A `pullback` of the node
passes its parameters and takes its results (docs/gradients.md). The body of a function, both branches of a cond, and
the `do` of a loop may have one.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from types import CodeType
from typing import Any, NamedTuple, TypeAlias

from ..display import SvgReprMixin
from ..errors import Usage, require_class
from ..escape import escape_line
from ..tag import Site
from ..types import Type
from ..value import Literal
from .device import DeviceName

STRUCTURED_OPS = ("cond", "while_loop", "call", "pullback")
"""The ops with structure; every other op of a program is a row of the registry."""

PARALLEL_ITERATIONS = "parallel_iterations"
"""The attribute of a loop, and of its next_iteration nodes, that bounds how many iterations run at once."""

PULLBACK_TARGET = "of"
"""The attribute of a pullback that names the node whose next phase it begins, by its first result."""

RECOMPUTE = "again"
"""An attribute of pullbacks while tracing: their call recomputes a function, and only the pullback needs it."""

BY_ROWS = "by_rows"
"""An attribute of pullbacks while tracing: the parameters whose adjoints are by rows. Such an adjoint is two values."""

PHASE = "phase"
"""The attribute of the routing nodes of a graph that belong to a further phase, from 1."""

LITERAL_WORDS = ("true", "false", "nan", "inf")
"""Words that are literals in the text form, and so not names."""

MAX_NESTING = 100
"""The maximal nesting of regions. Code that walks a program, even `==`, recurses in Python, whose stack ends at about
120."""


class Location(NamedTuple):
    """The source line that a node comes from."""

    file: str
    line: int

    def __str__(self) -> str:
        return f"{escape_line(Path(self.file).name)}:{self.line}"


class SourceSpan(NamedTuple):
    """The text of an expression in a file: lines from 1, columns from 0 in bytes of UTF-8, as in `ast`; the end column
    is the first one behind it."""

    line: int
    column: int
    end_line: int
    end_column: int


class ScopeEntry(NamedTuple):
    """A call of a Python helper while a function was traced: the helper's name, and the instruction that called it. Or
    a `with` statement: the name of its scope, and of the device, if it has one; and the number of the variable with
    which its nodes are colocated, if there is one. Each call, and each time that a statement runs, has another
    number."""

    name: str
    code: CodeType
    instruction: int
    device: DeviceName | None = None
    variable: int | None = None
    number: int = 0

    @property
    def location(self) -> Location:
        """The source line of the call or of the statement."""
        positions = next(islice(self.code.co_positions(), self.instruction // 2, None), (None,))
        return Location(self.code.co_filename, positions[0] or self.code.co_firstlineno)


def scope_device(scopes: Iterable[ScopeEntry]) -> DeviceName | None:
    """The device that scopes name, outermost first: an inner one replaces the parts that it states. None without
    one."""
    device = None
    for scope in scopes:
        if scope.device is not None:
            device = scope.device if device is None else scope.device.or_else(device)
    return device


class TracedLocation(Location):
    """A line of Python code that was traced. It also knows the instruction that was running, and so the expression, and
    the Python helpers that were called, outermost first.

    Locations are compared by file and line: documents record no more.
    """

    code: CodeType
    instruction: int
    scopes: tuple[ScopeEntry, ...]

    def __new__(
        cls, file: str, line: int, code: CodeType, instruction: int, scopes: tuple[ScopeEntry, ...] = ()
    ) -> TracedLocation:
        location = super().__new__(cls, file, line)
        location.code, location.instruction, location.scopes = code, instruction, scopes
        return location

    def __reduce__(self) -> tuple[type[Location], tuple[str, int]]:
        """A pickle has only the file and line, as documents have: code objects cannot be pickled."""
        return Location, (self.file, self.line)

    @property
    def span(self) -> SourceSpan | None:
        """The text of the expression; None if Python recorded no columns (`python -X no_debug_ranges`)."""
        positions = islice(self.code.co_positions(), self.instruction // 2, None)
        line, end_line, column, end_column = next(positions, (None, None, None, None))
        if line is None or end_line is None or column is None or end_column is None:
            return None
        return SourceSpan(line, column, end_line, end_column)


class DocumentLocation(Location):
    """A line named in a document, of any file; `document` is the document's own file, if it has one."""

    document: str | None

    def __new__(cls, file: str, line: int, document: str | None = None) -> DocumentLocation:
        location = super().__new__(cls, file, line)
        location.document = document
        return location


class Var(NamedTuple):
    """A named, typed value: a parameter, or a result of a node."""

    name: str
    type: Type


Operand: TypeAlias = str | Literal
"""An operand of a node: a value by name, or a literal."""


@dataclass(frozen=True, slots=True)
class Region:
    """Parameters, nodes in definition order, and results."""

    parameters: tuple[Var, ...]
    nodes: tuple[Node, ...]
    results: tuple[Operand, ...]
    pullback: Region | None = None

    def phases(self) -> Iterator[Region]:
        """This region, its pullback, the pullback of that, and so on."""
        phase: Region | None = self
        while phase is not None:
            yield phase
            phase = phase.pullback

    def walk_regions(self) -> Iterator[Region]:
        """This region and its further phases, each before the regions of its nodes."""
        for phase in self.phases():
            yield phase
            for node in phase.nodes:
                for region in node.regions:
                    yield from region.walk_regions()

    def walk(self) -> Iterator[Node]:
        """The nodes of all phases in program order, a node before the nodes of its regions."""
        for phase in self.phases():
            for node in phase.nodes:
                yield node
                for region in node.regions:
                    yield from region.walk()


@dataclass(frozen=True, slots=True)
class Node:
    """One application of an op."""

    op: str
    inputs: tuple[Operand, ...]
    results: tuple[Var, ...]
    regions: tuple[Region, ...] = ()
    attributes: tuple[tuple[str, Any], ...] = ()
    location: Location | None = field(default=None)

    @property
    def name(self) -> str:
        """The name of the first result, which names the node."""
        return self.results[0].name

    def attribute(self, name: str) -> Any:
        return dict(self.attributes)[name]

    def site(self, function: str) -> Site:
        """The site of this call or loop in its function."""
        return Site(function, self.name, "loop" if self.op == "while_loop" else "call")


@dataclass(frozen=True, slots=True)
class FunctionDef:
    """A function of a program: its name, its body, and the types of its results; `pullback_result_types` has the types
    of the results of each further phase.

    During differentiation a function may have a `gradient_rule`: the name of the function that computes the adjoints of
    its first parameters, in place of its own reverse pass (`core.autodiff.activity.RuleParameters`). No resolved
    program has one.
    """

    name: str
    body: Region
    results: tuple[Type, ...]
    location: Location | None = None
    pullback_result_types: tuple[tuple[Type, ...], ...] = ()
    gradient_rule: str | None = None

    def phase_result_types(self, phase: int) -> tuple[Type, ...]:
        """The types of the results of a phase, the first being 0."""
        return self.pullback_result_types[phase - 1] if phase else self.results


@dataclass(frozen=True, slots=True)
class Program(SvgReprMixin):
    """Functions by name; a run calls `entry`."""

    functions: tuple[FunctionDef, ...]
    entry: str

    def __getitem__(self, name: str) -> FunctionDef:
        for function in self.functions:
            if function.name == name:
                return function
        raise Usage(
            f"no function is called {name!r}",
            hint=f"choose from {', '.join(f.name for f in self.functions)}",
            python=KeyError,
        )

    @property
    def main(self) -> FunctionDef:
        """The entry function."""
        return self[self.entry]

    def reachable_functions(self, entry: str | None = None) -> tuple[FunctionDef, ...]:
        """A function, by default the entry, and those that it may call, in the order of their first calls. Raises Usage
        where one is not defined."""
        functions = {function.name: function for function in self.functions}
        return tuple(self[name] for name in reachable_names(functions, self.entry if entry is None else entry))


def callees(function: FunctionDef) -> Iterator[str]:
    """The names of the functions that a function calls, in program order, then the name of its gradient rule."""
    for node in function.body.walk():
        if node.op == "call":
            yield str(dict(node.attributes).get("function"))
    if function.gradient_rule:
        yield function.gradient_rule


def reachable_names(functions: Mapping[str, FunctionDef], entry: str) -> list[str]:
    """The names of a function and of those that it may call, in the order of their first calls. They need not be
    defined."""
    names, visited_names = [entry], {entry}
    for name in names:  # a worklist: the loop appends to it
        for callee in callees(functions[name]) if name in functions else ():
            if callee not in visited_names:
                visited_names.add(callee)
                names.append(callee)
    return names


REVERSE_PREFIX, ADJOINT_PREFIX = "back_", "d_"
"""Prefixes of names: of nodes that reverse a node, and of adjoints of a value."""


def unique_name(prefix: str, base: str, used_names: Collection[str]) -> str:
    """A name that is not used yet: the prefix, the name `base`, and a number if needed.

    >>> unique_name("d_", "x", {"x"}), unique_name("d_", "x", {"x", "x_1", "d_x"})
    ('d_x', 'd_x_2')
    """
    name, count = prefix + base, 0
    while name in used_names or (count and f"{base}_{count}" in used_names):
        count += 1
        name = f"{prefix}{base}_{count}"
    return name


class UniqueNames:
    """Generates names that are unique: of values in a function, of functions in a program, of nodes in a graph."""

    def __init__(self, reserved_names: Iterable[str] = LITERAL_WORDS) -> None:
        self.used_names = set(reserved_names)
        self.last_numbers: dict[str, int] = {}
        """For each base name, the last number appended to it; all smaller ones are in use."""

    def fresh_name(self, base: str) -> str:
        """A new name: the base, with a number if it is in use."""
        name, count = base, self.last_numbers.get(base, 0)
        while name in self.used_names:
            count += 1
            name = f"{base}_{count}"
        self.used_names.add(name)
        self.last_numbers[base] = count
        return name

    def copy(self) -> UniqueNames:
        """An independent copy."""
        names = UniqueNames()
        names.used_names, names.last_numbers = set(self.used_names), dict(self.last_numbers)
        return names

    def result_names(self, first_name: str, count: int) -> list[str]:
        """The names of a node's `count` results; `first_name` is already in use."""
        return [first_name, *(self.fresh_name(f"{first_name}_{k}") for k in range(1, count))][:count]


def original_name(prefix: str, name: str, candidates: Collection[str]) -> str | None:
    """The candidate from which `unique_name` makes this name with this prefix; None where there is none.

    >>> original_name("d_", "d_x", {"x"}), original_name("d_", "d_x_1", {"x"})
    ('x', 'x')
    >>> original_name("d_", "d_x_1", {"x", "x_1"})
    'x_1'
    >>> original_name("d_", "x", {"x"}) is None
    True
    """
    base = name.removeprefix(prefix)
    if base == name:
        return None
    shorter, _, number = base.rpartition("_")
    return base if base in candidates else shorter if shorter in candidates and number.isdigit() else None


def defined_names(function: FunctionDef) -> set[str]:
    """The names of the values in a function (V2)."""
    results = {result.name for node in function.body.walk() for result in node.results}
    return results | {parameter.name for phase in function.body.phases() for parameter in phase.parameters}


def operand_names(operands: Iterable[Operand]) -> Iterator[str]:
    """The names among operands, without the literals."""
    return (operand for operand in operands if isinstance(operand, str))


def used_names(region: Region) -> set[str]:
    """The names that the nodes and results of a region use, in all phases."""
    phases = list(region.phases())
    operands = [operand for phase in phases for node in phase.nodes for operand in node.inputs]
    return {*operand_names(operands), *operand_names(result for phase in phases for result in phase.results)}


def require_program(value: object) -> None:
    """Raise Usage, which is also a TypeError, if this is not a program."""
    require_class(value, Program, how="f.trace(10).program is the program of a function f")
