"""The walk over a program that all exporters share. A target writes constants, casts, ops, conds, loops and calls; the
walk determines their order and operands, and refuses programs that no target can express.

The walk knows no target, and a target knows no rules of programs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Generic, NamedTuple, Protocol, TypeAlias, TypeVar

from ....core.dtypes import DType
from ....core.ops.op import OPS, Op
from ....core.ops.type_rules import promote_operands
from ....core.program.program import FunctionDef, Location, Node, Operand, Program, Region, Var, callees
from ....core.types import HandleType, Type
from ....core.value import Literal
from ..refusals import REFUSAL_KINDS

V = TypeVar("V")
"""The form of a value in a target: an expression, or a name."""
Part = TypeVar("Part")
"""A part of the output of a target: a line, or a node."""


class Refusal(Exception):
    """A target cannot express a program, or a backend does not support it; `kind` is one of REFUSAL_KINDS."""

    location: Location | None = None
    """Where the refused node was written."""

    def __init__(self, kind: str, message: str) -> None:
        assert kind in REFUSAL_KINDS, kind
        super().__init__(message)
        self.kind, self.message = kind, message


class OpUse(NamedTuple):
    """A use of an op: its row, the types of its operands, its result, and its attributes by name."""

    row: Op
    operands: tuple[Type, ...]
    result: Var
    attributes: dict[str, Any]


class BoundRegion(NamedTuple):
    """A region of a cond or a loop. The target opens a scope with names for `parameters`, calls `write` with their
    forms, and gets the forms of the results."""

    parameters: tuple[Var, ...]
    write: Callable[[Sequence[Any]], list[Any]]


class Scopes(Generic[Part]):
    """The parts that a target has written: a list for each open scope, the innermost last."""

    def __init__(self) -> None:
        self._lists: list[list[Part]] = []

    def append(self, *parts: Part) -> None:
        """Append parts to the innermost scope."""
        self._lists[-1].extend(parts)

    @contextmanager
    def open(self) -> Iterator[list[Part]]:
        """A new scope, around the code in the `with` block, and its parts."""
        self._lists.append([])
        yield self._lists[-1]
        self._lists.pop()


class ExportTarget(Protocol[V]):
    """A writer for a target. Each method appends to the current scope, and returns the forms of its results."""

    def constant(self, literal: Literal) -> V: ...

    def cast(self, operand: V, source: Type, dtype: DType) -> V: ...

    def op(self, use: OpUse, operands: Sequence[V]) -> V: ...

    def cond(self, results: Sequence[Var], predicate: V, operands: Sequence[V], branches: Regions) -> list[V]: ...

    def loop(self, results: Sequence[Var], starts: Sequence[V], regions: Regions) -> list[V]: ...

    def call(self, results: Sequence[Var], function: str, operands: Sequence[V]) -> list[V]: ...

    def function(self, name: str, body: BoundRegion) -> None: ...


Regions: TypeAlias = tuple[BoundRegion, BoundRegion]


def export(program: Program, target: ExportTarget[Any], *, recursion: bool) -> None:
    """Write the functions that a program uses, callees first if there is no recursion. Raises Refusal for programs that
    no target, or not this one, can express."""
    functions: Sequence[FunctionDef] = program.reachable_functions()
    if not recursion:
        functions = sort_callees_first(functions)
    for function in functions:
        if function.body.pullback:
            raise Refusal("construct", f"{function.name} has a pullback, which other systems cannot express")
        target.function(function.name, bind_region(function.body, target))


def sort_callees_first(functions: Sequence[FunctionDef]) -> list[FunctionDef]:
    """The functions in an order in which callees come before their callers. Raises Refusal if one calls itself,
    directly or through others."""
    by_name = {function.name: function for function in functions}
    order: list[str] = []

    def visit(name: str, callers: tuple[str, ...]) -> None:
        if name in callers:
            raise Refusal("construct", f"{name} is recursive, and this target has no recursion")
        if name not in order:
            for callee in callees(by_name[name]):
                visit(callee, (*callers, name))
            order.append(name)

    for name in by_name:
        visit(name, ())
    return [by_name[name] for name in order]


def bind_region(region: Region, target: ExportTarget[Any]) -> BoundRegion:
    """A region with its names and types bound, for the target."""

    def write(arguments: Sequence[Any]) -> list[Any]:
        names: dict[str, Any] = {}
        types: dict[str, Type] = {}

        def bind(variables: Sequence[Var], values: Sequence[Any]) -> None:
            for variable, value in zip(variables, values, strict=True):
                names[variable.name], types[variable.name] = value, variable.type

        def read(operand: Operand) -> Any:
            return target.constant(operand) if isinstance(operand, Literal) else names[operand]

        def type_of(operand: Operand) -> Type:
            return operand.type if isinstance(operand, Literal) else types[operand]

        bind(region.parameters, arguments)
        for node in region.nodes:
            operands = list(map(read, node.inputs))
            try:
                bind(node.results, write_node(node, operands, tuple(map(type_of, node.inputs)), target))
            except Refusal as refusal:
                refusal.location = refusal.location or node.location
                raise
        return list(map(read, region.results))

    return BoundRegion(region.parameters, write)


def write_node(node: Node, operands: list[Any], types: tuple[Type, ...], target: ExportTarget[Any]) -> list[Any]:
    """The forms of the results of a node in a target."""
    for variable in node.results:
        if isinstance(variable.type.dtype, HandleType):
            raise Refusal("construct", f"{node.name} is a handle of cells")
    match node.op:
        case "cond":
            then, otherwise = (bind_region(region, target) for region in node.regions)
            return target.cond(node.results, operands[0], operands[1:], (then, otherwise))
        case "while_loop":
            condition, body = (bind_region(region, target) for region in node.regions)
            return target.loop(node.results, operands, (condition, body))
        case "call":
            return target.call(node.results, node.attribute("function"), operands)
    if node.op not in OPS:
        raise Refusal("construct", f"{node.op} does more than compute")
    row = OPS[node.op]
    operands, types = promote(row, operands, types, target)
    return [target.op(OpUse(row, types, node.results[0], dict(node.attributes)), operands)]


def promote(
    row: Op, operands: list[Any], types: tuple[Type, ...], target: ExportTarget[Any]
) -> tuple[list[Any], tuple[Type, ...]]:
    """The operands cast to one dtype if the row promotes them, so that the target's own promotion has no effect."""
    first, last = row.same_dtype_operands
    shared = range(len(types))[first:last]
    dtypes = {types[index].dtype for index in shared}
    kinds = {dtype.kind for dtype in dtypes}
    if len(dtypes) < 2 or not (kinds <= set("iu") or kinds == {"f"}):
        return operands, types
    dtype = promote_operands([types[index] for index in shared])
    promoted_operands, promoted_types = list(operands), list(types)
    for index in shared:
        if types[index].dtype is not dtype:
            promoted_operands[index] = target.cast(operands[index], types[index], dtype)
            promoted_types[index] = Type(dtype, types[index].shape)
    return promoted_operands, tuple(promoted_types)
