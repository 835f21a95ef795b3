"""Adjoint partners: the pairs of a forward node and a node of the pullback that reverses it.

Partners belong to one function and fire under one tag, because the reverse pass of an activation runs under its tag. A
routing op pairs with the op that undoes it: the adjoint of a value that leaves by `exit` arrives by `reenter`, and the
adjoint of a value that passed a merge of two branches arrives by a switch that sends it to the same branch. Other pairs
are found by the names that differentiation writes (`core.program.program.unique_name`). A node of a reverse phase pairs
only with nodes of the phase that it reverses.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from itertools import product
from typing import NamedTuple, TypeAlias

from ...core.graph.graph import Edge, Graph
from ...core.graph.nesting import PhaseMap, primal_phase
from ...core.ops.routing import ALL_ROUTING_OPS
from ...core.program.program import ADJOINT_PREFIX, REVERSE_PREFIX, original_name
from ...core.tag import Site, Tag
from ...core.types import HandleType
from ..machine.event import Event

_INVERSE_OPS: dict[str, tuple[str, ...]] = {
    "call": ("return",),
    "return": ("call",),
    "enter": ("back",),
    "next_iteration": ("back",),
    "merge": ("back", "switch"),
    "switch": ("merge",),
    "exit": ("reenter",),
    "reenter": ("exit",),
    "back": ("enter", "next_iteration", "merge"),
}
"""The ops that undo each routing op."""

_LOOP_OPS = ("enter", "next_iteration", "exit", "reenter", "back")
_ROUTING_PREFIXES = ("switch_", "enter_", "next_")
"""The prefixes in the names of routing nodes, before the name of the value that they pass on."""

_MAX_HOPS = 12
"""The most firings that the search downstream visits to find one that has an adjoint node."""

_NodePairs: TypeAlias = Iterator[tuple[int, int]]
"""Pairs of an adjoint node and a primal node that it reverses."""


class _LoopVariable(NamedTuple):
    """The nodes of a loop variable in one phase: its merge, the name of the value that an iteration yields for it, and
    its routing nodes. Those pass the value into the body, to the next iteration, and out of the loop; in a reverse
    phase, each list has the nodes that undo these."""

    merge: int
    yield_label: str
    body_nodes: list[int]
    iteration_nodes: list[int]
    exit_nodes: list[int]


class AdjointPartners:
    """The adjoint partners of the nodes of a graph."""

    def __init__(self, graph: Graph) -> None:
        self.graph = graph
        self.sources = graph.sources()

    @cached_property
    def phases(self) -> PhaseMap:
        """The phases of the graph's nodes."""
        return PhaseMap(self.graph)

    @cached_property
    def _partners(self) -> tuple[dict[int, dict[int, None]], dict[int, dict[int, None]]]:
        """The adjoint nodes of each node, and its primal nodes, best matches first."""
        adjoints: dict[int, dict[int, None]] = {}
        primals: dict[int, dict[int, None]] = {}
        for pairs in (
            self.pairs_by_loop_variable(),
            self.pairs_by_site(),
            self.pairs_by_value(),
            self.pairs_by_node(),
        ):
            for adjoint, primal in pairs:
                if self.has_adjoint(primal):
                    adjoints.setdefault(primal, {})[adjoint] = None
                    primals.setdefault(adjoint, {})[primal] = None
        return adjoints, primals

    def adjoint_nodes(self, number: int) -> list[int]:
        """The nodes of later phases that reverse a node."""
        return [*self._partners[0].get(number, ())]

    def primal_nodes(self, number: int) -> list[int]:
        """The nodes of earlier phases that a node reverses."""
        return [*self._partners[1].get(number, ())]

    def activation_of(self, event: Event) -> Tag:
        """The tag of the activation to which a firing belongs: for a `return`, the caller's; for a node that enters an
        iteration, that of the iteration; else the tag under which it fires."""
        if self.graph.nodes[event.token.node].op == "reenter" and event.sent:
            return event.sent[0].tag
        return self.activation_of_node(event.token.node, event.token.tag)

    def activation_of_node(self, number: int, tag: Tag) -> Tag:
        """As `activation_of`, for a node other than `reenter` that fires under this tag."""
        op = self.graph.nodes[number].op
        return self.output_tag(number, tag) if op in ("return", "enter", "next_iteration") else tag

    def successors(self, number: int, tag: Tag) -> Iterator[tuple[int, Tag]]:
        """The nodes of the same phase that consume the results of a node that fires under this tag, with their tags."""
        target_tag = self.output_tag(number, tag)
        for output in self.graph.nodes[number].outputs if self.has_adjoint(number) else ():
            for edge in output.edges:
                if not self._op(edge.node):
                    continue
                node = self.graph.nodes[edge.node]
                if self._phase(edge.node) == self._phase(number) and (
                    node.op != "return" or node.site == target_tag.site
                ):
                    yield edge.node, target_tag

    def output_tag(self, number: int, tag: Tag) -> Tag:
        """The tag of the tokens that a node other than `reenter` and `back` sends when it fires under this tag."""
        node = self.graph.nodes[number]
        match ALL_ROUTING_OPS[node.op].result_tag if node.op in ALL_ROUTING_OPS else "same":
            case "child" if node.site is not None:
                return tag.child(node.site)
            case "next" if tag.parent is not None:
                return tag.parent.child(tag.site, tag.iteration + 1)
            case "parent":
                return tag.parent or tag
        return tag

    def _phase(self, number: int) -> int:
        node = self.graph.nodes[number]
        return node.phase or self.phases.phase_of(number)

    def has_adjoint(self, number: int) -> bool:
        """Whether a value of this node may have an adjoint: its first result is a float, or a handle of cells."""
        outputs = self.graph.nodes[number].outputs
        dtype = outputs[0].type.dtype if outputs else None
        return isinstance(dtype, HandleType) or (dtype is not None and dtype.kind == "f")

    @cached_property
    def loop_variables(self) -> dict[tuple[Site | None, int], list[_LoopVariable]]:
        """The variables of each loop, by phase."""
        variables: dict[tuple[Site | None, int], list[_LoopVariable]] = {}
        for number, node in enumerate(self.graph.nodes):
            if node.op in ("enter", "reenter"):
                merges = self.consumers_of(number, 0, "merge")
                for merge in merges[:1]:
                    variables.setdefault((node.site, node.phase), []).append(self.build_loop_variable(number, merge))
        return variables

    def build_loop_variable(self, entering: int, merge: int) -> _LoopVariable:
        """Build the loop variable with these entering and merging nodes."""
        reentry = self._source(merge, 1)
        source = reentry if reentry is None or self._op(reentry) != "next_iteration" else self._source(reentry, 0)
        yield_label = "" if source is None else _label(self.graph.nodes[source].name, -1)
        if self._op(entering) == "reenter":
            return _LoopVariable(merge, yield_label, [merge], self.consumers_of(merge, 0, "back"), [entering])
        switches = self.consumers_of(merge, 0, "switch")
        exits = [exit_ for switch in switches for exit_ in self.consumers_of(switch, 1, "exit")]
        return _LoopVariable(
            merge, yield_label, switches, [member for member in (merge, entering, reentry) if member is not None], exits
        )

    def consumers_of(self, number: int, output: int, op: str) -> list[int]:
        """The nodes of an op that consume an output."""
        outputs = self.graph.nodes[number].outputs[output : output + 1]
        return [edge.node for port in outputs for edge in port.edges if self._op(edge.node) == op]

    def pairs_by_loop_variable(self) -> _NodePairs:
        """Pair the routing nodes of loop variables: the adjoint of a variable is named after the value that an
        iteration yields for it."""
        for (site, phase), variables in self.loop_variables.items():
            for adjoint, primal in product(
                variables, self.loop_variables.get((site, primal_phase(phase)), ()) if phase else ()
            ):
                node = self.graph.nodes[adjoint.merge]
                value = original_name(ADJOINT_PREFIX, _label(node.name, -1), self.nodes_by_label[node.function, -1])
                if value is not None and value == primal.yield_label:
                    for adjoint_nodes, primal_nodes in zip(adjoint[2:], primal[2:], strict=True):
                        yield from product(adjoint_nodes, primal_nodes)

    def pairs_by_site(self) -> _NodePairs:
        """Pair the routing nodes of calls, and of loops whose variables have other names, by their sites."""
        for number, node in enumerate(self.graph.nodes):
            if node.phase and number not in self.loop_paired_nodes:
                for op in _INVERSE_OPS.get(node.op, ()):
                    yield from (
                        (number, primal)
                        for primal in self.routing_nodes.get((node.site, op, primal_phase(node.phase)), ())
                    )

    def pairs_by_value(self) -> _NodePairs:
        """Pair the nodes whose names end with a value with those whose names end with its adjoint."""
        for number, node in enumerate(self.graph.nodes):
            if node.op not in _LOOP_OPS and number not in self.loop_paired_nodes:
                yield from self.pairs_by_label(number, ADJOINT_PREFIX, -1)

    def pairs_by_node(self) -> _NodePairs:
        """Pair nodes by the first parts of their names: a node, and one that reverses it or its branches."""
        for number, node in enumerate(self.graph.nodes):
            if node.site is None and number not in self.loop_paired_nodes:
                for adjoint, primal in self.pairs_by_label(number, REVERSE_PREFIX, 0):
                    primal_node = self.graph.nodes[primal]
                    if primal_node.site is None and primal_node.op in _INVERSE_OPS.get(node.op, (primal_node.op,)):
                        yield adjoint, primal

    def pairs_by_label(self, number: int, prefix: str, at: int) -> _NodePairs:
        """Pair a node with the nodes whose names have a matching part: with `at` -1 the last part, a value's name; with
        0 the first part, a node's name."""
        node, phase = self.graph.nodes[number], self._phase(number)
        labels = self.nodes_by_label[node.function, at]
        label = original_name(prefix, _label(node.name, at), labels) if phase else None
        for primal in labels[label] if label is not None else ():
            if self.phases.owners[primal] == self.phases.owners[number] and self._phase(primal) == primal_phase(phase):
                yield number, primal

    @cached_property
    def nodes_by_label(self) -> dict[tuple[str, int], dict[str, list[int]]]:
        """The nodes of each function, by the last (-1) and by the first (0) part of their names."""
        nodes_by_name: dict[tuple[str, int], dict[str, list[int]]] = {}
        for number, node in enumerate(self.graph.nodes):
            for at in (-1, 0):
                nodes_by_name.setdefault((node.function, at), {}).setdefault(_label(node.name, at), []).append(number)
        return nodes_by_name

    @cached_property
    def routing_nodes(self) -> dict[tuple[Site | None, str, int], list[int]]:
        """The nodes that have a site, by site, op and phase."""
        nodes: dict[tuple[Site | None, str, int], list[int]] = {}
        for number, node in enumerate(self.graph.nodes):
            if node.site is not None:
                nodes.setdefault((node.site, node.op, node.phase), []).append(number)
        return nodes

    @cached_property
    def loop_paired_nodes(self) -> set[int]:
        """The nodes that reverse routing nodes of a loop variable."""
        return {adjoint for adjoint, _ in self.pairs_by_loop_variable()}

    def _source(self, number: int, port: int) -> int | None:
        sources = self.sources.get(Edge(number, port), ())
        return sources[0].node if sources and sources[0].node >= 0 else None

    def _op(self, number: int) -> str:
        return self.graph.nodes[number].op if 0 <= number < len(self.graph.nodes) else ""


def nearest_adjoints(adjoints: AdjointPartners, event: Event) -> list[tuple[int, Tag]]:
    """The nodes that reverse a firing, each with the tag of its activation; if there are none, those that reverse the
    firings that consume its results. An addition has no adjoint node, since it passes an adjoint on unchanged."""
    activations = {(event.token.node, event.token.tag): adjoints.activation_of(event)}
    frontier = [*activations]
    for _ in range(_MAX_HOPS):
        partners = [(node, activations[firing]) for firing in frontier for node in adjoints.adjoint_nodes(firing[0])]
        if partners or not frontier:
            return partners
        successors = [successor for number, tag in frontier for successor in adjoints.successors(number, tag)]
        frontier = [successor for successor in dict.fromkeys(successors) if successor not in activations]
        activations.update({(number, tag): adjoints.activation_of_node(number, tag) for number, tag in frontier})
    return []


def _label(name: str, at: int) -> str:
    """A part of a node's name, without the prefix or suffix of a routing node.

    >>> _label("loop.switch_p", -1), _label("loop.switch_p", 0), _label("back_loop.d_p.reenter", -1)
    ('p', 'loop', 'd_p')
    """
    label = name.removesuffix(".reenter").split(".")[at]
    prefix = next((prefix for prefix in _ROUTING_PREFIXES if label.startswith(prefix)), "") if "." in name else ""
    return label.removeprefix(prefix)
