"""The phases of functions, conds and loops: which node begins which phase, and which phases are generated functions."""

from __future__ import annotations

from typing import NamedTuple, TypeAlias

from ....core.program.program import PULLBACK_TARGET, STRUCTURED_OPS, Function, Node, Program, Region
from ....core.types import Type

PhaseKey: TypeAlias = tuple[str, int]
"""The name of a function, and the number of one of its phases."""


class FunctionPhase(NamedTuple):
    """One phase of a function, the first being 0: a generated function."""

    function: Function
    number: int

    @property
    def key(self) -> PhaseKey:
        return self.function.name, self.number

    @property
    def parameters(self) -> list[Type]:
        """The types of its parameters."""
        return [parameter.type for parameter in region_phase(self.function.body, self.number).parameters]

    @property
    def results(self) -> tuple[Type, ...]:
        """The types of its results."""
        return self.function.phase_result_types(self.number)


class PhaseStart(NamedTuple):
    """The phase that a structured node begins: of the call, cond or loop `root`, which begins its own first phase."""

    root: Node
    number: int


def region_phase(region: Region, number: int) -> Region:
    """A phase of a region."""
    return list(region.phases())[number]


def phase_starts(region: Region) -> dict[str, PhaseStart]:
    """The phase that each structured node begins, in all phases of a region, by name."""
    found: dict[str, PhaseStart] = {}
    for phase in region.phases():
        for node in phase.nodes:
            if node.op == "pullback":
                root, number = found[node.attribute(PULLBACK_TARGET)]
                found[node.name] = PhaseStart(root, number + 1)
            elif node.op in STRUCTURED_OPS:
                found[node.name] = PhaseStart(node, 0)
    return found


def later_phase_count(program: Program, root: Node) -> int:
    """The number of phases of a call, cond or loop after its first."""
    body = program[root.attribute("function")].body if root.op == "call" else root.regions[-1]
    return sum(1 for _ in body.phases()) - 1


def phase_callees(function: Function) -> list[list[PhaseKey]]:
    """For each phase of a function, the distinct phases that it calls."""
    found: list[list[PhaseKey]] = []
    for number, _ in enumerate(function.body.phases()):
        calls: dict[PhaseKey, None] = {}
        _collect_callees(function.body, number, calls)
        found.append(list(calls))
    return found


def _collect_callees(region: Region, number: int, calls: dict[PhaseKey, None]) -> None:
    which = phase_starts(region)
    for node in region_phase(region, number).nodes:
        if node.name not in which:
            continue
        root, place = which[node.name]
        if root.op == "call":
            calls[root.attribute("function"), place] = None
        for inner in root.regions if place == 0 or root.op == "cond" else root.regions[1:]:
            _collect_callees(inner, place, calls)
