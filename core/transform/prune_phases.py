"""Pruning phases: nodes and functions lose the further phases that nothing begins (V17).

A call then names another function, a copy without these phases.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from itertools import islice

from ..program.adjoint_names import unique_name
from ..program.program import PULLBACK_TARGET, Function, Node, Program, Region


class PhasePruner:
    """Removes further phases from nodes of a program, and from the functions that they call."""

    def __init__(self, program: Program) -> None:
        self._program = program
        self._used_names = {function.name for function in program.functions}
        self._pruned_names: dict[tuple[str, int], str] = {}
        self.pruned_functions: dict[str, Function] = {}
        """The pruned functions, by their new names."""
        self.original_names: dict[str, str] = {}
        """The original name of each pruned function, by its new name."""

    def fresh_name(self, name: str) -> str:
        """A new name for a pruned function."""
        made = unique_name("", name, self._used_names)
        self._used_names.add(made)
        self.original_names[made] = name
        return made

    def prune_node(self, node: Node, phases: int) -> Node:
        """A call, cond or loop with only its first phases."""
        if node.op == "call":
            return replace(node, attributes=(("function", self._prune_function(node.attribute("function"), phases)),))
        return replace(node, regions=tuple(self.prune_region(region, phases) for region in node.regions))

    def prune_region(self, region: Region, phases: int) -> Region:
        """A region with only its first phases."""
        kept = list(islice(region.phases(), phases))
        begun = phase_counts(node for phase in kept for node in phase.nodes)
        made: Region | None = None
        for phase in reversed(kept):
            nodes = tuple(
                self.prune_node(each, begun[each.name]) if each.name in begun else each for each in phase.nodes
            )
            made = replace(phase, nodes=nodes, pullback=made)
        assert made is not None
        return made

    def _prune_function(self, name: str, phases: int) -> str:
        function = self._program[name]
        if phases > len(function.pullbacks):
            return name
        if (name, phases) not in self._pruned_names:
            called = self._pruned_names[name, phases] = self.fresh_name(name)  # first, since the body may call it
            body, pullbacks = self.prune_region(function.body, phases), function.pullbacks[: phases - 1]
            self.pruned_functions[called] = replace(function, name=called, body=body, pullbacks=pullbacks)
        return self._pruned_names[name, phases]


def phase_counts(nodes: Iterable[Node]) -> dict[str, int]:
    """For each call, cond and loop among nodes in program order, how many of its phases begin."""
    roots: dict[str, str] = {}
    begun: dict[str, int] = {}
    for node in nodes:
        if node.op == "pullback":
            before = node.attribute(PULLBACK_TARGET)
            roots[node.name] = roots.get(before, before)
            begun[roots[node.name]] += 1
        elif node.op in ("call", "cond", "while_loop"):
            begun[node.name] = 1
    return begun


def rename_functions(function: Function, names: Mapping[str, str]) -> Function:
    """The function with its name, and those of its callees, replaced."""
    return replace(function, name=names.get(function.name, function.name), body=_rename_region(function.body, names))


def _rename_region(region: Region, names: Mapping[str, str]) -> Region:
    nodes = []
    for node in region.nodes:
        if node.op == "call":
            called = node.attribute("function")
            node = replace(node, attributes=(("function", names.get(called, called)),))
        nodes.append(replace(node, regions=tuple(_rename_region(inner, names) for inner in node.regions)))
    later = _rename_region(region.pullback, names) if region.pullback else None
    return replace(region, nodes=tuple(nodes), pullback=later)
