"""Pruning results of conds and loops: unneeded results go, with the nodes that only they need (P3).

Nodes with effects stay, and so do nodes that may put to cells. The first result stays: it names the node.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace

from ..graph.scope import function_resources, used_names
from ..ops.effects import resource_of
from ..program.program import Node, Program, Region
from ..types import HandleType, Type

READ_OPS = ("get", "collect", "cell_zeros")
"""Ops that take a handle and put nothing."""


class ResultPruner:
    """Removes unneeded results from the nodes of a program. Nodes with pullbacks stay unchanged."""

    def __init__(self, program: Program) -> None:
        self._effectful_functions = {name for name, found in function_resources(program).items() if found}

    def prune_node(self, node: Node, used: Collection[str]) -> Node:
        """A cond or loop with only the results that are used, the first one, and those that a loop needs for them."""
        if node.op not in ("cond", "while_loop") or any(map(has_pullback, node.regions)):
            return node
        wanted = [at for at, result in enumerate(node.results) if at == 0 or result.name in used]
        return self._prune_cond(node, wanted) if node.op == "cond" else self._prune_loop(node, wanted)

    def _prune_cond(self, node: Node, wanted: Sequence[int]) -> Node:
        branches = [self.prune_region(branch, wanted) for branch in node.regions]
        taken = sorted({at for branch in branches for at in used_parameters(branch)})
        inputs = (node.inputs[0], *(node.inputs[at + 1] for at in taken))
        regions = tuple(replace(each, parameters=tuple(each.parameters[at] for at in taken)) for each in branches)
        return replace(node, inputs=inputs, results=tuple(node.results[at] for at in wanted), regions=regions)

    def _prune_loop(self, node: Node, wanted: list[int]) -> Node:
        """A variable stays if its result is wanted, or if the condition or the next value of a variable that stays uses
        it."""
        condition = self.prune_region(node.regions[0], [0])
        body, more = node.regions[1], wanted
        while True:
            body = self.prune_region(node.regions[1], more)
            found = sorted({*more, *used_parameters(condition), *used_parameters(body)})
            if found == more:
                break
            more = found
        regions = tuple(
            replace(each, parameters=tuple(each.parameters[at] for at in more)) for each in (condition, body)
        )
        inputs, results = tuple(node.inputs[at] for at in more), tuple(node.results[at] for at in more)
        return replace(node, inputs=inputs, results=results, regions=regions)

    def prune_region(self, region: Region, wanted: Sequence[int]) -> Region:
        """The region with only the wanted results, and the nodes that they need."""
        results = tuple(region.results[at] for at in wanted)
        used = {each for each in results if isinstance(each, str)}
        types = dict([*region.parameters, *(result for node in region.nodes for result in node.results)])
        kept: list[Node] = []
        for node in reversed(region.nodes):
            if self._has_effects(node, types) or any(result.name in used for result in node.results):
                kept.insert(0, self.prune_node(node, used))
                used.update(each for each in kept[0].inputs if isinstance(each, str))
        return replace(region, nodes=tuple(kept), results=results)

    def _has_effects(self, node: Node, types: Mapping[str, Type]) -> bool:
        """Whether a node may have effects, or put to cells that are visible outside it."""
        within = [node, *(inner for region in node.regions for inner in region.walk())]
        if any(resource_of(each.op) or _callee(each) in self._effectful_functions for each in within):
            return True
        taken = [types[each] for each in node.inputs if isinstance(each, str)] if node.op not in READ_OPS else []
        return any(isinstance(type_.dtype, HandleType) for type_ in (*taken, *(type_ for _, type_ in node.results)))


def has_pullback(region: Region) -> bool:
    """Whether a region has further phases, or contains a pullback."""
    return region.pullback is not None or any(each.op == "pullback" for each in region.walk())


def _callee(node: Node) -> str | None:
    function: str | None = dict(node.attributes).get("function") if node.op == "call" else None
    return function


def used_parameters(region: Region) -> list[int]:
    """The positions of the parameters that a region uses."""
    used = used_names(region)
    return [at for at, variable in enumerate(region.parameters) if variable.name in used]
