"""What each node does when it fires: a table by op, read once per graph.

The numbered rules go on from `step`, which owns S1 to S4.

S5  An ordinary node computes its op and sends the result under the same tag. Where the op has no value for the
    operands it traps: it sends nothing, and the run goes on.
S6  merge passes on the one token it got. switch sends the value to output 0 if the predicate holds, else to 1.
S7  call sends t -> t/site, and enter t -> t/loop[0].
S8  return sends t/site -> t, and exit t/loop[k] -> t, with k on its second output.
S9  next_iteration sends t/loop[k] -> t/loop[k+1].
S17 reenter sends t -> t/loop[k], k being the number on port 1; back sends t/loop[k] -> t/loop[k-1] on output 0, and
    t/loop[0] -> t on output 1.
S10 An output that feeds return nodes sends to those whose site is on top of the tag, and to no other.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TypeAlias

from ...core.graph.graph import Edge, Graph, Node
from ...core.graph.phases import later_nodes
from ...core.ops.effect_op import ACTS, resource_of
from ...core.ops.op import OPS, kernel, trap_message, traps_on
from ...core.ops.routing import CONTROL
from ...core.program.infer import STAND_IN
from ...core.program.program import BOUND
from ...core.tag import ROOT, Site, Tag
from ...core.types import Type
from ...core.value import Value
from .effects import Acting, Outputs, acting, drawing

Fire: TypeAlias = Callable[[tuple[Value, ...], Tag], Outputs]
Child: TypeAlias = Callable[[Tag, Site, int], Tag]
"""The tag below a tag, interned: what a state gives."""
Retag: TypeAlias = Callable[[Child, Tag, tuple[Value, ...]], Tag]
Edges: TypeAlias = tuple[Edge, ...]


@dataclass(frozen=True, slots=True)
class Rule:
    """What one node of a graph does, worked out before the run.

    `needs` is the number of tokens it fires on; `operands` its ports with the literals filled in, or None for a
    merge. `edges` says for each output where its tokens go, and `routes` the same by the site on top of their tag,
    where that matters (S10). `retag` gives their tag, or is None where it is the firing's own. `arrives` says that
    what it sends is an argument or loop variable of another activation, `leaves` that its firing takes a result out
    of its own. `acts` says what it does on cells or the world instead of computing, and `bound` how many iterations of
    its loop run at once. `watched` says that it may take long, or more than the machine. `counts` says whether tokens
    bound for it make an iteration busy (S16).
    """

    node: Node
    needs: int
    operands: tuple[Value | None, ...] | None
    compute: Fire
    trap: Callable[[tuple[Value, ...]], str | None] | None
    retag: Retag | None
    edges: tuple[Edges, ...]
    routes: tuple[dict[Site | None, Edges] | None, ...]
    arrives: bool
    leaves: bool
    acts: Acting | None
    bound: int | None
    watched: bool
    counts: bool


def rules(graph: Graph, seed: int = 0, bound: int | None = None) -> tuple[Rule, ...]:
    """The rule of every node, by number; `seed` is that of random numbers, and `bound`, where it is there, takes the
    place of the bounds that loops have."""
    results = {number: position for position, number in enumerate(graph.results)}
    types, later = _port_types(graph), later_nodes(graph)
    found = (
        _rule(graph, number, types[number], results.get(number), seed, number not in later)
        for number in range(len(graph.nodes))
    )
    if bound is None:
        return tuple(found)
    return tuple(
        replace(rule, bound=bound) if rule.node.op == "next_iteration" and not rule.node.phase else rule
        for rule in found
    )


def _port_types(graph: Graph) -> list[list[Type]]:
    """The types of every node's ports, by number; a port that nothing feeds, in a graph that breaks the rules, has
    the type of the node's output."""
    sources = graph.sources()
    return [
        [
            literal.type
            if literal is not None
            else graph.output(sources[Edge(number, port)][0]).type
            if Edge(number, port) in sources
            else next((output.type for output in node.outputs), STAND_IN)
            for port, literal in enumerate(node.ports)
        ]
        for number, node in enumerate(graph.nodes)
    ]


def _rule(graph: Graph, number: int, ports: list[Type], result: int | None, seed: int, counts: bool) -> Rule:
    node = graph.nodes[number]
    compute, trap = _compute(node, ports, seed)
    edges = [output.edges for output in node.outputs] if result is None else [(Edge(-1, result),)]
    routes = [_routes(graph, targets) for targets in edges]
    return Rule(
        node=node,
        needs=1 if node.op == "merge" else sum(port is None for port in node.ports),
        operands=None if node.op == "merge" else tuple(None if p is None else p.value for p in node.ports),
        compute=compute,
        trap=trap,
        retag=_retag(node),
        edges=tuple(edges),
        routes=tuple(routes),
        arrives=node.op in ("call", "enter", "next_iteration", "reenter", "back"),
        leaves=node.op == "return",
        acts=acting(number, node),
        bound=_bound(node),
        watched=is_watched(node),
        counts=counts,
    )


def bounds(graph: Graph, bound: int | None = None) -> dict[Site, int]:
    """How many iterations of each loop run at once, where that is bounded: what the rules say of it."""
    own = [node for node in graph.nodes if node.op == "next_iteration" and not node.phase]
    found = {node.site: _bound(node) if bound is None else bound for node in own}
    return {site: said for site, said in found.items() if said is not None and site is not None}


def _bound(node: Node) -> int | None:
    return dict(node.attributes).get(BOUND) if node.op == "next_iteration" else None


def is_watched(node: Node) -> bool:
    """Whether firing it may take long, or more memory than the machine's."""
    return resource_of(node.op) is not None or (node.op not in _ROUTING and _makes_array(node))


def _makes_array(node: Node) -> bool:
    return any(not output.type.is_scalar for output in node.outputs)


def _routes(graph: Graph, edges: Edges) -> dict[Site | None, Edges] | None:
    """S10: for each site whose return an output feeds, and for None, every other, the edges to take."""
    returns = {edge: graph.nodes[edge.node].site for edge in edges if edge.node >= 0 and _is_return(graph, edge)}
    if not returns:
        return None
    return {
        site: tuple(edge for edge in edges if edge not in returns or returns[edge] == site)
        for site in (None, *returns.values())
    }


def _is_return(graph: Graph, edge: Edge) -> bool:
    return graph.nodes[edge.node].op == "return"


def _compute(node: Node, ports: list[Type], seed: int) -> tuple[Fire, Callable[[tuple[Value, ...]], str | None] | None]:
    """What a node computes, and where it may trap, why."""
    if node.op in _ROUTING:
        return _ROUTING[node.op], None
    if node.op in ACTS:
        return _drawn(node, seed)
    row, result = OPS[node.op], node.outputs[0].type
    arity = len(node.ports) - node.triggered if row.arity is None else row.arity
    calculate = kernel(row, ports[:arity], result, node.attributes)

    def compute(inputs: tuple[Value, ...], tag: Tag) -> Outputs:
        """S5."""
        return ((0, calculate(*inputs)),)

    def compute_triggered(inputs: tuple[Value, ...], tag: Tag) -> Outputs:
        """S5, of literals only: the trigger's value is ignored."""
        return ((0, calculate(*inputs[:arity])),)

    fire = compute_triggered if node.triggered else compute
    return fire, (lambda inputs: trap_message(row, inputs[:arity], node.attributes)) if traps_on(row, result) else None


def _drawn(node: Node, seed: int) -> tuple[Fire, Callable[[tuple[Value, ...]], str | None] | None]:
    """What a node does that draws random numbers; other acts have no use for it, but for `breakpoint`."""
    undefined, arity = ACTS[node.op].undefined, len(node.ports) - node.triggered
    return drawing(node, seed) or _first, (lambda inputs: undefined(*inputs[:arity])) if undefined else None


def _first(inputs: tuple[Value, ...], tag: Tag) -> Outputs:
    return ((0, inputs[0]),)


def _switch(inputs: tuple[Value, ...], tag: Tag) -> Outputs:
    """S6."""
    return ((0 if inputs[1] else 1, inputs[0]),)


def _exit(inputs: tuple[Value, ...], tag: Tag) -> Outputs:
    """S8."""
    return ((0, inputs[0]), (1, tag.iteration))


def _back(inputs: tuple[Value, ...], tag: Tag) -> Outputs:
    """S17."""
    return ((0 if tag.iteration else 1, inputs[0]),)


_ROUTING: dict[str, Fire] = {
    "merge": _first,
    "switch": _switch,
    "call": _first,
    "return": _first,
    "enter": _first,
    "exit": _exit,
    "next_iteration": _first,
    "reenter": _first,
    "back": _back,
}


def _to_child(site: Site | None) -> Retag:
    """S7."""
    assert site is not None
    return lambda child, tag, inputs: child(tag, site, 0)


def _to_parent(site: Site | None) -> Retag:
    """S8. What leaves the root goes to the environment, and keeps the root's tag."""
    return lambda child, tag, inputs: tag.parent or ROOT


def _to_next(site: Site | None) -> Retag:
    """S9."""
    return lambda child, tag, inputs: child(tag.parent, tag.site, tag.iteration + 1) if tag.parent else tag


def _to_iteration(site: Site | None) -> Retag:
    """S17."""
    assert site is not None
    return lambda child, tag, inputs: child(tag, site, inputs[1])  # type: ignore[arg-type]  # V9: an int64


def _to_before(site: Site | None) -> Retag:
    """S17."""

    def retag(child: Child, tag: Tag, inputs: tuple[Value, ...]) -> Tag:
        if tag.parent is None:
            return ROOT
        return child(tag.parent, tag.site, tag.iteration - 1) if tag.iteration else tag.parent

    return retag


_RETAG: dict[str, Callable[[Site | None], Retag]] = {
    "child": _to_child,
    "parent": _to_parent,
    "next": _to_next,
    "iteration": _to_iteration,
    "before": _to_before,
}


def _retag(node: Node) -> Retag | None:
    """Where the results of a node go, by its row; None where they stay under the same tag."""
    to = CONTROL[node.op].to if node.op in CONTROL else "same"
    return _RETAG[to](node.site) if to in _RETAG else None


assert set(_ROUTING) == set(CONTROL), "every routing op has a rule"
