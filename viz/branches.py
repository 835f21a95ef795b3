"""Branches of a graph: the nodes that fire if a predicate of their function or loop has one outcome.

They follow from control contexts, so graphs that were read from documents have branches, too. Two conds on one
predicate have one branch for each outcome, unless different helpers contain them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

from ..core.graph.contexts import ControlContext, ControlContexts, Guard
from ..core.graph.graph import Graph, OutputRef
from ..core.graph.nesting import LOOP_GATES, ContextOwner, PhaseMap
from ..core.graph.validate import infer_contexts
from ..core.tag import Site
from .scopes import NameScope


class Branch(NamedTuple):
    """One outcome of a predicate, and the node of the first switch that sends tokens there."""

    predicate: OutputRef
    outcome: bool
    switch: int


class BranchFinder:
    """The branches around the nodes and loops of a graph. A graph that breaks rules has none."""

    def __init__(self, graph: Graph, phases: PhaseMap, scopes: Sequence[tuple[NameScope, ...]]) -> None:
        self.graph, self.phases, self.scopes = graph, phases, scopes
        self.contexts = infer_contexts(graph)
        self.switches: dict[tuple[ControlContext, OutputRef, int], list[int]] = {}
        """The switches in a control context and a phase that test a predicate."""
        if self.contexts is None:
            return
        for number, node in enumerate(graph.nodes):
            if node.op == "switch":
                owner, guard = self.contexts.contexts[OutputRef(number, 0)]
                key = ControlContext(owner, guard[:-1]), guard[-1][0], phases.phase_at(owner, number)
                self.switches.setdefault(key, []).append(number)
        self.sizes = Counter(branch for number in range(len(graph.nodes)) for branch in self.all_around(number))

    def around_node(self, number: int) -> list[Branch]:
        """The branches around a node in its function or innermost loop, outermost first. Those that contain a single
        node are left out."""
        return [branch for branch in self.find_around(number) if self.sizes[branch] > 1]

    def around_loop(self, site: Site, enter: int) -> list[Branch]:
        """The branches around a loop, of which `enter` is a node, in the function or loop that contains it."""
        return [branch for branch in self.find_around_loop(site, enter) if self.sizes[branch] > 1]

    def all_around(self, number: int) -> set[Branch]:
        """The branches around a node and around the loops that it is in."""
        branches = set(self.find_around(number))
        for loop in self.phases.loop_info.enclosing_loops(self.phases.loop_info.loop_of(number)):
            branches.update(self.find_around_loop(loop, number))
        return branches

    def find_around(self, number: int) -> list[Branch]:
        if self.contexts is None or self.graph.nodes[number].op in LOOP_GATES:
            return []
        return self.branches_of(node_context(self.graph, self.contexts, number), number)

    def find_around_loop(self, site: Site, number: int) -> list[Branch]:
        context = None if self.contexts is None else self.contexts.outer_contexts.get(site)
        return [] if context is None else self.branches_of(context, number)

    def branches_of(self, context: ControlContext, number: int) -> list[Branch]:
        """The branches of a control context around a node, up to the first whose switches are in a helper that the
        node is not in."""
        assert self.contexts is not None
        branches = list[Branch]()
        for depth, (predicate, outcome) in enumerate(context.guard):
            outer = ControlContext(context.owner, context.guard[:depth])
            if depth == 0 and is_loop_condition(self.contexts, context.owner, context.guard):
                continue
            phase = self.phases.phase_at(context.owner, number)
            switch = self.find_switch(self.switches.get((outer, predicate, phase), ()), number)
            if switch is None:
                break
            branches.append(Branch(predicate, outcome, switch))
        return branches

    def find_switch(self, switches: Sequence[int], number: int) -> int | None:
        """The first of these switches in the innermost helpers that contain the node, too."""
        around = self.scopes[number]
        depths = {switch: len(self.scopes[switch]) for switch in switches}
        near = [switch for switch in switches if self.scopes[switch] == around[: depths[switch]]]
        return max(near, key=lambda switch: depths[switch], default=None)


def node_context(graph: Graph, contexts: ControlContexts, number: int) -> ControlContext:
    """The control context in which a node fires."""
    if graph.nodes[number].op in ("merge", "return"):
        return contexts.contexts[OutputRef(number, 0)]
    return contexts.contexts[contexts.port_source(number, 0)]


def is_loop_condition(contexts: ControlContexts, owner: ContextOwner, guard: Guard) -> bool:
    """Whether the first predicate of a guard is the condition of the loop that owns it."""
    return isinstance(owner, Site) and guard[:1] == contexts.loop_branch_context(owner, guard[0][1]).guard[:1]
