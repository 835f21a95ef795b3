"""Scopes of lowering: the sources of a region's names, its trigger, and its order tokens."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

from .. import dtypes
from ..ops.effects import resource_of
from ..program.program import Function, Node, Operand, Program, Region, Var
from ..types import Type
from ..value import Literal
from .graph import OutputRef

TRIGGER_TYPE = Type(dtypes.bool)


def functions_needing_triggers(program: Program) -> set[str]:
    """The functions with a hidden trigger argument (L8): a fixed point over the calls."""
    functions = program.reachable_functions()
    needing = {function.name for function in functions if not function.body.parameters}
    while True:
        more = {f.name for f in functions if f.name not in needing and _needs_trigger(f.body, needing)}
        if not more:
            return needing
        needing |= more


def function_resources(program: Program) -> dict[str, tuple[str, ...]]:
    """For each function, the resources that it has effects on (L10): a fixed point over the calls."""
    functions = program.reachable_functions()
    found: dict[str, set[str]] = {function.name: set() for function in functions}
    while True:
        more = {f.name: effect_resources(f.body.walk(), found) for f in functions}
        if more == found:
            return {name: tuple(sorted(each)) for name, each in found.items()}
        found = more


def effect_resources(nodes: Iterable[Node], of_functions: Mapping[str, Iterable[str]]) -> set[str]:
    """The resources on which these nodes have effects, calls included."""
    found = set()
    for node in nodes:
        found |= set(of_functions[node.attribute("function")] if node.op == "call" else ())
        resource = resource_of(node.op)
        found |= {resource} if resource else set()
    return found


def _needs_trigger(region: Region, needing: set[str]) -> bool:
    """Whether a region of a function uses its trigger, in any phase; inner regions have triggers of their own."""
    if any(isinstance(result, Literal) for phase in region.phases() for result in phase.results):
        return True
    for node in (node for phase in region.phases() for node in phase.nodes):
        literal = [isinstance(operand, Literal) for operand in node.inputs]
        match node.op:
            case "cond":
                used = literal[0]
            case "while_loop" | "pullback":
                used = any(literal)
            case "call":
                used = any(literal) or node.attribute("function") in needing
            case _:
                used = all(literal) and not resource_of(node.op)
        if used:
            return True
    return False


PullbackLowering: TypeAlias = Callable[[Node], list[OutputRef]]
"""Lowers the pullback of a node that is lowered already."""


@dataclass(slots=True)
class LoweringScope:
    """A region being lowered: its function, the sources of its names, and its trigger."""

    function: str
    make_trigger: Callable[[], OutputRef]
    values: dict[str, OutputRef] = field(default_factory=dict)
    order_tokens: dict[str, OutputRef] = field(default_factory=dict)
    """The order token of each resource, after the last effect on it."""
    pullbacks: dict[str, PullbackLowering] = field(default_factory=dict)
    """The lowering of the next phase of each node that has one, by name. It is removed when used: each phase is begun
    once (V17)."""
    trigger_ref: OutputRef | None = None

    def trigger(self) -> OutputRef:
        if self.trigger_ref is None:
            self.trigger_ref = self.make_trigger()
        return self.trigger_ref

    def resolve_operand(self, operand: Operand) -> OutputRef | Literal:
        return operand if isinstance(operand, Literal) else self.values[operand]

    def bind(self, variables: Sequence[Var], sources: Sequence[OutputRef]) -> None:
        self.values.update((var.name, source) for var, source in zip(variables, sources, strict=True))


def defined_names(function: Function) -> set[str]:
    """The names of the values in a function (V2)."""
    made = {result.name for node in function.body.walk() for result in node.results}
    return made | {parameter.name for phase in function.body.phases() for parameter in phase.parameters}


def nodes_within(regions: Iterable[Region]) -> Iterator[Node]:
    """The nodes in these regions and in regions inside them."""
    for region in regions:
        yield from region.walk()


def used_names(region: Region) -> set[str]:
    """The names that the nodes and results of a region use, in all phases."""
    phases = list(region.phases())
    operands = [operand for phase in phases for node in phase.nodes for operand in node.inputs]
    results = [result for phase in phases for result in phase.results]
    return {operand for operand in (*operands, *results) if isinstance(operand, str)}
