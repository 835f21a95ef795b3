"""Firing rules: the action of each node when it fires, compiled once per graph from a table by op.

The numbered rules continue those of `step`, which owns S1 to S4. `dead_tokens` changes them for the graphs of S18.

S5  An ordinary node computes its op and sends the result under the same tag. If the op has no value for the operands,
    the node traps: it sends nothing, and the run continues.
S6  `merge` passes on the token that it got. `switch` sends the value to output 0 if the predicate is true, else to
    output 1.
S7  `call` sends t -> t/site, and `enter` t -> t/loop[0].
S8  `return` sends t/site -> t, and `exit` t/loop[k] -> t, with k on its second output.
S9  `next_iteration` sends t/loop[k] -> t/loop[k+1].
S17 `reenter` sends t -> t/loop[k], k being the number on port 1; `back` sends t/loop[k] -> t/loop[k-1] on output 0, and
    t/loop[0] -> t on output 1.
S10 An output that feeds `return` nodes sends to those whose site is on top of the tag, and to no others.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TypeAlias

from ...core.graph.graph import Edge, Graph, GraphNode
from ...core.graph.nesting import adjoint_dependent_nodes
from ...core.ops.effects import EFFECT_OPS, draw_trap_message, resource_of
from ...core.ops.op import OPS, build_kernel, can_trap, dynamic_size_count, raise_column_error, trap_message
from ...core.ops.routing import ALL_ROUTING_OPS, DEAD_TOKEN_OPS, ROUTING_OPS
from ...core.program.infer import DEFAULT_TYPE
from ...core.program.program import PARALLEL_ITERATIONS
from ...core.tag import ROOT, Site, Tag
from ...core.types import Type
from ...core.value import Value
from .dead_tokens import Compute, FindTrap, dead_token_behaviour
from .effects import EffectRule, Outputs, draw_rule, effect_rule

FindChildTag: TypeAlias = Callable[[Tag, Site, int], Tag]
"""Returns the interned tag of a child activation; a state provides it."""
Retag: TypeAlias = Callable[[FindChildTag, Tag, tuple[Value, ...]], Tag]
Edges: TypeAlias = tuple[Edge, ...]


@dataclass(frozen=True, slots=True)
class FiringRule:
    """The firing rule of one node of a graph, built before the run."""

    node: GraphNode
    """The node that fires by this rule."""
    required_tokens: int
    """The number of tokens that a firing consumes: 1 for a merge, else one for each port without a literal (S2)."""
    operands: tuple[Value | None, ...] | None
    """The literal of each port, None where a port takes a token; None for a merge."""
    compute: Compute
    """Computes the results of a firing from its operands and its tag. Never called with operands that trap, or for a
    node with an `effect`."""
    find_trap: FindTrap
    """Returns why a firing on these operands traps, or None if it does not; None if the node never traps (S5)."""
    retag: Retag | None
    """Computes the tag of the results; None if it is the tag of the firing (S7 to S9, S17)."""
    edges: tuple[Edges, ...]
    """The target ports of each output. A target of node -1 is a result of the graph."""
    routes: tuple[dict[Site | None, Edges] | None, ...]
    """The target ports of each output, by the site on top of the tag; None if it feeds no `return` (S10)."""
    sends_argument: bool
    """Whether the results are arguments or loop variables that enter another activation."""
    returns_result: bool
    """Whether the firing sends a result out of its activation, which S11 counts."""
    effect: EffectRule | None
    """Performs an effect on cells or on the world, instead of `compute`; None if the node has no such effect."""
    bound: int | None
    """The k-bound of its loop, for a `next_iteration`; None if there is none (S16)."""
    needs_limit_check: bool
    """Whether a firing may take long or allocate much memory, so that limits are checked before it."""
    counts_as_busy: bool
    """Whether tokens for this node make their iteration busy; false for nodes of the reverse pass (S16)."""

    def fire(self, inputs: tuple[Value, ...], tag: Tag) -> tuple[Outputs, str | None]:
        """The outputs of a firing of a node without effects, none if it traps, and why it traps, if it does (S5)."""
        trap = None if self.find_trap is None else self.find_trap(inputs)
        return (self.compute(inputs, tag) if trap is None else ()), trap


def build_rules(graph: Graph, seed: int = 0, bound: int | None = None) -> tuple[FiringRule, ...]:
    """The rule of every node, by number. `seed` seeds random numbers; `bound`, unless None, overrides the k-bounds of
    all loops."""
    results = {number: position for position, number in enumerate(graph.results)}
    has_dead_tokens = graph.has_dead_tokens
    types, adjoint_nodes = port_types(graph), adjoint_dependent_nodes(graph)
    rules = (
        build_rule(
            graph, number, types[number], results.get(number), seed, number not in adjoint_nodes, has_dead_tokens
        )
        for number in range(len(graph.nodes))
    )
    if bound is None:
        return tuple(rules)
    return tuple(
        replace(rule, bound=bound) if rule.node.op == "next_iteration" and not rule.node.phase else rule
        for rule in rules
    )


def port_types(graph: Graph) -> list[list[Type]]:
    """The types of every node's ports, by number. An unfed port, in a graph that breaks the rules, has the type of the
    node's output."""
    sources = graph.sources()
    return [
        [
            literal.type
            if literal is not None
            else graph.output(sources[Edge(number, port)][0]).type
            if Edge(number, port) in sources
            else next((output.type for output in node.outputs), DEFAULT_TYPE)
            for port, literal in enumerate(node.ports)
        ]
        for number, node in enumerate(graph.nodes)
    ]


def build_rule(
    graph: Graph, number: int, ports: list[Type], result: int | None, seed: int, busy: bool, has_dead_tokens: bool
) -> FiringRule:
    """The rule of one node; `result` is its position among the results of the graph, or None, and `busy` says that its
    tokens count as busy."""
    node = graph.nodes[number]
    behaviour = None if node.op in DEAD_TOKEN_OPS else build_compute(node, ports, seed)
    compute, trap = (
        dead_token_behaviour(graph, number, behaviour) if has_dead_tokens or behaviour is None else behaviour
    )
    edges = [output.edges for output in node.outputs] if result is None else [(Edge(-1, result),)]
    routes = [build_routes(graph, targets) for targets in edges]
    return FiringRule(
        node=node,
        required_tokens=1 if node.op == "merge" else sum(port is None for port in node.ports),
        operands=None if node.op == "merge" else tuple(None if p is None else p.value for p in node.ports),
        compute=compute,
        find_trap=trap,
        retag=build_retag(node),
        edges=tuple(edges),
        routes=tuple(routes),
        sends_argument=node.op in ("call", "enter", "next_iteration", "reenter", "back"),
        returns_result=node.op == "return",
        effect=effect_rule(number, node),
        bound=_declared_bound(node),
        needs_limit_check=needs_limit_check(node),
        counts_as_busy=busy,
    )


def loop_bounds(graph: Graph, bound: int | None = None) -> dict[Site, int]:
    """The k-bounds of the loops that have one, by site; `bound`, unless None, overrides them all."""
    loop_nodes = [node for node in graph.nodes if node.op == "next_iteration" and not node.phase]
    bounds = {node.site: _declared_bound(node) if bound is None else bound for node in loop_nodes}
    return {site: limit for site, limit in bounds.items() if limit is not None and site is not None}


def _declared_bound(node: GraphNode) -> int | None:
    return dict(node.attributes).get(PARALLEL_ITERATIONS) if node.op == "next_iteration" else None


def needs_limit_check(node: GraphNode) -> bool:
    """Whether a firing of this node may take long or allocate more memory than the machine has."""
    is_of_arrays = any(not output.type.is_scalar for output in node.outputs) or (
        node.op in OPS and OPS[node.op].scalar is None
    )
    return resource_of(node.op) is not None or (node.op not in ALL_ROUTING_OPS and is_of_arrays)


def build_routes(graph: Graph, edges: Edges) -> dict[Site | None, Edges] | None:
    """S10: the edges to take, by the site whose return the output feeds; None stands for every other site."""
    returns = {
        edge: graph.nodes[edge.node].site for edge in edges if edge.node >= 0 and graph.nodes[edge.node].op == "return"
    }
    if not returns:
        return None
    return {
        site: tuple(edge for edge in edges if edge not in returns or returns[edge] == site)
        for site in (None, *returns.values())
    }


def build_compute(node: GraphNode, ports: list[Type], seed: int) -> tuple[Compute, FindTrap]:
    """The function that a node computes, and one that returns the reason for a trap, or None; None if the node never
    traps."""
    if node.op in _ROUTING:
        return _ROUTING[node.op], None
    if node.op in EFFECT_OPS:
        return build_effect_compute(node, seed)
    row, result = OPS[node.op], node.outputs[0].type
    arity = len(node.ports) - node.has_trigger
    calculate = build_kernel(row, ports[:arity], result, node.attributes)

    def compute(inputs: tuple[Value, ...], tag: Tag) -> Outputs:
        """S5."""
        try:
            return ((0, calculate(*inputs)),)
        except Exception as error:
            raise_column_error(row, inputs, error)

    def compute_triggered(inputs: tuple[Value, ...], tag: Tag) -> Outputs:
        """S5, for a node with literal operands only: the trigger's value is ignored."""
        return compute(inputs[:arity], tag)

    fire = compute_triggered if node.has_trigger else compute
    return fire, (lambda inputs: trap_message(row, inputs[:arity], node.attributes)) if can_trap(row, result) else None


def build_effect_compute(node: GraphNode, seed: int) -> tuple[Compute, FindTrap]:
    """The same for an effect op. Only draws of random numbers and `breakpoint` compute something."""
    row, arity = EFFECT_OPS[node.op], len(node.ports) - node.has_trigger
    if row.trap_reason is None and not dynamic_size_count(row, dict(node.attributes)):
        return draw_rule(node, seed) or pass_first, None
    return draw_rule(node, seed) or pass_first, lambda inputs: draw_trap_message(row, inputs[:arity], node.attributes)


def pass_first(inputs: tuple[Value, ...], tag: Tag) -> Outputs:
    """Return the first operand on output 0, as all routing ops but `switch`, `exit` and `back` do."""
    return ((0, inputs[0]),)


def compute_switch(inputs: tuple[Value, ...], tag: Tag) -> Outputs:
    """S6."""
    return ((0 if inputs[1] else 1, inputs[0]),)


def compute_exit(inputs: tuple[Value, ...], tag: Tag) -> Outputs:
    """S8."""
    return ((0, inputs[0]), (1, tag.iteration))


def compute_back(inputs: tuple[Value, ...], tag: Tag) -> Outputs:
    """S17."""
    return ((0 if tag.iteration else 1, inputs[0]),)


_ROUTING: dict[str, Compute] = {
    "merge": pass_first,
    "switch": compute_switch,
    "call": pass_first,
    "return": pass_first,
    "enter": pass_first,
    "exit": compute_exit,
    "next_iteration": pass_first,
    "reenter": pass_first,
    "back": compute_back,
}


def retag_to_child(site: Site | None) -> Retag:
    """S7."""
    assert site is not None
    return lambda child, tag, inputs: child(tag, site, 0)


def retag_to_parent(site: Site | None) -> Retag:
    """S8. A value that leaves the root goes to the environment and keeps the root's tag."""
    return lambda child, tag, inputs: tag.parent or ROOT


def retag_to_next(site: Site | None) -> Retag:
    """S9."""
    return lambda child, tag, inputs: child(tag.parent, tag.site, tag.iteration + 1) if tag.parent else tag


def retag_to_iteration(site: Site | None) -> Retag:
    """S17."""
    assert site is not None
    return lambda child, tag, inputs: child(tag, site, inputs[1])  # type: ignore[arg-type]  # V9: an int64


def retag_to_previous(site: Site | None) -> Retag:
    """S17."""

    def retag(child: FindChildTag, tag: Tag, inputs: tuple[Value, ...]) -> Tag:
        if tag.parent is None:
            return ROOT
        return child(tag.parent, tag.site, tag.iteration - 1) if tag.iteration else tag.parent

    return retag


_RETAG_BUILDERS: dict[str, Callable[[Site | None], Retag]] = {
    "child": retag_to_child,
    "parent": retag_to_parent,
    "next": retag_to_next,
    "iteration": retag_to_iteration,
    "before": retag_to_previous,
}


def build_retag(node: GraphNode) -> Retag | None:
    """How a node changes the tag of its results, by its op row; None where the tag stays the same."""
    result_tag = ROUTING_OPS[node.op].result_tag if node.op in ROUTING_OPS else "same"
    return _RETAG_BUILDERS[result_tag](node.site) if result_tag in _RETAG_BUILDERS else None


assert set(_ROUTING) == set(ROUTING_OPS), "every routing op has a rule"
