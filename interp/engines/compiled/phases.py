"""The phases of functions, conds and loops: which node begins which, and what text there is for each."""

from __future__ import annotations

from typing import NamedTuple, TypeAlias

from ....core.program.program import PULLED, STRUCTURED, Function, Node, Program, Region
from ....core.types import Type

Key: TypeAlias = tuple[str, int]
"""The name of a function, and the number of a phase of it."""


class Phase(NamedTuple):
    """One phase of a function, the first being 0: a function of the text."""

    function: Function
    number: int

    @property
    def key(self) -> Key:
        return self.function.name, self.number

    @property
    def parameters(self) -> list[Type]:
        """The types of what it takes."""
        return [parameter.type for parameter in phase_of(self.function.body, self.number).parameters]

    @property
    def results(self) -> tuple[Type, ...]:
        """The types of what it gives."""
        return self.function.returns(self.number)


class Begun(NamedTuple):
    """The phase that a node with structure begins: of the call, cond or loop `root`, which begins its first itself."""

    root: Node
    number: int


def phase_of(region: Region, number: int) -> Region:
    """A phase of a region."""
    return list(region.phases())[number]


def begun(region: Region) -> dict[str, Begun]:
    """What each node with structure begins, in all phases of a region, by its name."""
    found: dict[str, Begun] = {}
    for phase in region.phases():
        for node in phase.nodes:
            if node.op == "pullback":
                root, number = found[node.attribute(PULLED)]
                found[node.name] = Begun(root, number + 1)
            elif node.op in STRUCTURED:
                found[node.name] = Begun(node, 0)
    return found


def further(program: Program, root: Node) -> int:
    """How many phases a call, cond or loop has after its first."""
    body = program[root.attribute("function")].body if root.op == "call" else root.regions[-1]
    return sum(1 for _ in body.phases()) - 1


def called(function: Function) -> list[list[Key]]:
    """For each phase of a function, the phases of functions that it calls, each once."""
    found: list[list[Key]] = []
    for number, _ in enumerate(function.body.phases()):
        calls: dict[Key, None] = {}
        _visit(function.body, number, calls)
        found.append(list(calls))
    return found


def _visit(region: Region, number: int, calls: dict[Key, None]) -> None:
    which = begun(region)
    for node in phase_of(region, number).nodes:
        if node.name not in which:
            continue
        root, place = which[node.name]
        if root.op == "call":
            calls[root.attribute("function"), place] = None
        for inner in root.regions if place == 0 or root.op == "cond" else root.regions[1:]:
            _visit(inner, place, calls)
