"""Edits of graphs: by name, for tables of broken graphs, and at random, for laws."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from tagloom.core import dtypes
from tagloom.core.graph.graph import Edge, Graph, GraphNode, NodeOutput, OutputRef
from tagloom.core.ops.op import OPS
from tagloom.core.ops.routing import ROUTING_OPS
from tagloom.core.tag import ENVIRONMENT, Site
from tagloom.core.types import Type
from tagloom.core.value import literal

Wire = tuple[OutputRef, Edge]
Edit = Callable[[random.Random, Graph], Graph]


def wires(graph: Graph) -> list[Wire]:
    """Every edge, with the output where it begins."""
    return [(source, edge) for edge, sources in graph.sources().items() for source in sources]


def with_wires(graph: Graph, new: list[Wire]) -> Graph:
    """The graph with these edges only."""

    def output(source: OutputRef, old: NodeOutput) -> NodeOutput:
        return replace(old, edges=tuple(sorted(edge for leaving, edge in new if leaving == source)))

    nodes = tuple(
        replace(node, outputs=tuple(output(OutputRef(number, k), old) for k, old in enumerate(node.outputs)))
        for number, node in enumerate(graph.nodes)
    )
    arguments = tuple((name, output(OutputRef(-1, k), old)) for k, (name, old) in enumerate(graph.arguments))
    return replace(graph, nodes=nodes, arguments=arguments)


def number(graph: Graph, name: str) -> int:
    return [str(node) for node in graph.nodes].index(name)


def source(graph: Graph, name: str) -> OutputRef:
    """An output by its name in the text form: an argument, a node, or `node:1`."""
    arguments = [argument for argument, _ in graph.arguments]
    if name in arguments:
        return OutputRef(-1, arguments.index(name))
    node, _, output = name.partition(":")
    return OutputRef(number(graph, node), int(output or 0))


def feed(graph: Graph, name: str, port: int, *names: str) -> Graph:
    """The graph in which only these outputs feed the port."""
    edge = Edge(number(graph, name), port)
    others = [wire for wire in wires(graph) if wire[1] != edge]
    return with_wires(graph, [*others, *((source(graph, each), edge) for each in names)])


def change_node(graph: Graph, name: str, **fields: Any) -> Graph:
    """The graph in which one node has other fields."""
    return at(graph, number(graph, name), **fields)


def retype_outputs(graph: Graph, name: str, *types: Type) -> Graph:
    """The graph in which the outputs of one node have other types."""
    old = graph.nodes[number(graph, name)].outputs
    return change_node(graph, name, outputs=tuple(replace(o, type=t) for o, t in zip(old, types, strict=True)))


def at(graph: Graph, position: int, **fields: Any) -> Graph:
    nodes = list(graph.nodes)
    nodes[position] = replace(nodes[position], **fields)
    return replace(graph, nodes=tuple(nodes))


def sources(graph: Graph, like: Type | None = None) -> list[OutputRef]:
    """All outputs, or all outputs of one type."""
    results = [OutputRef(-1, k) for k in range(len(graph.arguments))]
    results += [OutputRef(n, k) for n, node in enumerate(graph.nodes) for k in range(len(node.outputs))]
    return [each for each in results if like is None or graph.output(each).type == like]


def _any(graph: Graph, op: str) -> list[int]:
    return [n for n, node in enumerate(graph.nodes) if node.op == op]


def swap_two_edges(dice: random.Random, graph: Graph) -> Graph:
    """Two edges of one type swap their targets; every port still has one source."""
    new = wires(graph)
    one = dice.randrange(len(new))
    like = graph.output(new[one][0]).type
    other = dice.choice([k for k, (leaving, _) in enumerate(new) if graph.output(leaving).type == like])
    new[one], new[other] = (new[one][0], new[other][1]), (new[other][0], new[one][1])
    return with_wires(graph, new)


def feed_from_elsewhere(dice: random.Random, graph: Graph) -> Graph:
    """A port is fed by another output of the same type."""
    new = wires(graph)
    k = dice.randrange(len(new))
    new[k] = (dice.choice(sources(graph, graph.output(new[k][0]).type)), new[k][1])
    return with_wires(graph, new)


def feed_from_next_door(dice: random.Random, graph: Graph) -> Graph:
    """A port is fed by another node with the same site: another loop variable, or another argument of the call."""
    new = wires(graph)
    k = dice.randrange(len(new))
    site = graph.nodes[new[k][1].node].site
    near = [s for s in sources(graph, graph.output(new[k][0]).type) if s.node >= 0 and graph.nodes[s.node].site == site]
    new[k] = (dice.choice(near or [new[k][0]]), new[k][1])
    return with_wires(graph, new)


def move_edge(dice: random.Random, graph: Graph) -> Graph:
    """An edge gets another target, perhaps a port that does not exist."""
    new = wires(graph)
    k, node = dice.randrange(len(new)), dice.randrange(-1, len(graph.nodes) + 1)
    new[k] = (new[k][0], Edge(node, dice.randrange(-1, 4)))
    return with_wires(graph, new)


def drop_edge(dice: random.Random, graph: Graph) -> Graph:
    new = wires(graph)
    del new[dice.randrange(len(new))]
    return with_wires(graph, new)


def duplicate_edge(dice: random.Random, graph: Graph) -> Graph:
    """A port gets a second edge, from any output."""
    new = wires(graph)
    return with_wires(graph, [*new, (dice.choice(sources(graph)), dice.choice(new)[1])])


def change_op(dice: random.Random, graph: Graph) -> Graph:
    return at(graph, dice.randrange(len(graph.nodes)), op=dice.choice([*ROUTING_OPS, *OPS, "nothing"]))


def change_op_alike(dice: random.Random, graph: Graph) -> Graph:
    """A node gets another op with as many ports; outputs, site and attributes are adapted."""
    position = dice.randrange(len(graph.nodes))
    node = graph.nodes[position]
    ports = len(node.ports) - node.has_trigger
    alike = [
        op
        for op in [*ROUTING_OPS, *OPS]
        if (ROUTING_OPS[op].arity if op in ROUTING_OPS else OPS[op].arity) in (None, ports)
    ]
    op = dice.choice(alike)
    outputs = node.outputs[: ROUTING_OPS[op].output_count if op in ROUTING_OPS else 1]
    if op in ("switch", "exit") and len(outputs) < 2:
        outputs = (*outputs, NodeOutput(Type(dtypes.int64) if op == "exit" else outputs[0].type, ()))
    kind = ROUTING_OPS[op].site_kind if op in ROUTING_OPS else None
    sites = [each.site for each in graph.nodes if each.site is not None and each.site.kind == kind]
    site = dice.choice(sites or [Site(node.function, "new", kind)]) if kind else None
    attributes = (("dtype", outputs[0].type.dtype),) if op == "astype" else ()
    return at(graph, position, op=op, outputs=outputs, site=site, attributes=attributes)


def swap_outputs(dice: random.Random, graph: Graph) -> Graph:
    """The two outputs of a switch are swapped."""
    switches = _any(graph, "switch")
    position = dice.choice(switches) if switches else 0
    return at(graph, position, outputs=graph.nodes[position].outputs[::-1])


def literal_for_token(dice: random.Random, graph: Graph) -> Graph:
    """A literal replaces the edge of a port."""
    new = wires(graph)
    leaving, edge = new.pop(dice.randrange(len(new)))
    dtype = graph.output(leaving).type.dtype
    simple = literal({"b": True, "f": 1.5}.get(dtype.kind, 3), Type(dtype))
    ports = list(graph.nodes[edge.node].ports)
    ports[edge.port] = simple
    return with_wires(at(graph, edge.node, ports=tuple(ports)), new)


def token_for_literal(dice: random.Random, graph: Graph) -> Graph:
    """An edge from any output, or nothing, replaces the literal of a port."""
    fixed = [Edge(n, p) for n, node in enumerate(graph.nodes) for p, port in enumerate(node.ports) if port is not None]
    if not fixed:
        return graph
    edge = dice.choice(fixed)
    ports = list(graph.nodes[edge.node].ports)
    ports[edge.port] = None
    result = at(graph, edge.node, ports=tuple(ports))
    return dice.choice([result, with_wires(result, [*wires(result), (dice.choice(sources(result)), edge)])])


def token_for_trigger(dice: random.Random, graph: Graph) -> Graph:
    """The trigger of a node of literals becomes one of its operands."""
    triggered = [n for n, node in enumerate(graph.nodes) if node.has_trigger]
    if not triggered:
        return graph
    position = dice.choice(triggered)
    ports = graph.nodes[position].ports[:-1]
    moved = [(s, Edge(position, 0) if e == Edge(position, len(ports)) else e) for s, e in wires(graph)]
    return with_wires(at(graph, position, ports=(None, *ports[1:]), has_trigger=False), moved)


def change_trigger(dice: random.Random, graph: Graph) -> Graph:
    position = dice.randrange(len(graph.nodes))
    return at(graph, position, has_trigger=not graph.nodes[position].has_trigger)


def change_site(dice: random.Random, graph: Graph) -> Graph:
    sited = [n for n, node in enumerate(graph.nodes) if node.site is not None]
    new = [Site(graph.name, "new", "loop"), Site(graph.name, "new", "call"), None, ENVIRONMENT]
    return at(graph, dice.choice(sited), site=dice.choice([*(graph.nodes[n].site for n in sited), *new]))


def change_calls(dice: random.Random, graph: Graph) -> Graph:
    """A call site names another function, or none."""
    calls = list(graph.calls)
    if calls:
        site, _ = calls.pop(dice.randrange(len(calls)))
        calls += dice.choice([[], [(site, dice.choice(graph.nodes).function)]])
    return replace(graph, calls=tuple(calls))


def change_function(dice: random.Random, graph: Graph) -> Graph:
    functions = [node.function for node in graph.nodes]
    return at(graph, dice.randrange(len(graph.nodes)), function=dice.choice(functions))


def change_type(dice: random.Random, graph: Graph) -> Graph:
    position = dice.randrange(len(graph.nodes))
    outputs = list(graph.nodes[position].outputs)
    k = dice.randrange(len(outputs))
    outputs[k] = replace(outputs[k], type=Type(dice.choice(dtypes.ALL), dice.choice([(), (3,), None])))
    return at(graph, position, outputs=tuple(outputs))


def change_results(dice: random.Random, graph: Graph) -> Graph:
    """The graph lacks a result, or has another node as a result."""
    return replace(graph, results=(*graph.results[1:], *dice.choice([[], [dice.randrange(len(graph.nodes) + 1)]])))


def drop_argument(dice: random.Random, graph: Graph) -> Graph:
    k = dice.randrange(len(graph.arguments)) if graph.arguments else 0
    return replace(
        graph, arguments=(*graph.arguments[:k], *graph.arguments[k + 1 :]), hidden_count=graph.hidden_count * (k > 0)
    )


def change_hidden(dice: random.Random, graph: Graph) -> Graph:
    return replace(graph, hidden_count=dice.choice([-1, 0, 1, len(graph.arguments) + 1]))


def drop_output(dice: random.Random, graph: Graph) -> Graph:
    position = dice.randrange(len(graph.nodes))
    return at(graph, position, outputs=graph.nodes[position].outputs[:-1])


def drop_port(dice: random.Random, graph: Graph) -> Graph:
    position = dice.randrange(len(graph.nodes))
    return at(graph, position, ports=graph.nodes[position].ports[:-1])


def drop_node(dice: random.Random, graph: Graph) -> Graph:
    """A node and its edges are removed, and nodes are renumbered."""
    gone = dice.randrange(len(graph.nodes))

    def moved(node: int) -> int:
        return node - (node > gone)

    new = [
        (leaving._replace(node=moved(leaving.node)), edge._replace(node=moved(edge.node)))
        for leaving, edge in wires(graph)
        if gone not in (leaving.node, edge.node)
    ]
    results = tuple(moved(number) for number in graph.results if number != gone)
    return with_wires(replace(graph, nodes=graph.nodes[:gone] + graph.nodes[gone + 1 :], results=results), new)


def swap_ports(dice: random.Random, graph: Graph) -> Graph:
    """Two ports of one node swap their edges or literals."""
    position = dice.choice([n for n, node in enumerate(graph.nodes) if len(node.ports) > 1] or [0])
    ports = list(graph.nodes[position].ports)
    one, other = dice.randrange(len(ports)), dice.randrange(len(ports))
    ports[one], ports[other] = ports[other], ports[one]
    turned = {Edge(position, one): Edge(position, other), Edge(position, other): Edge(position, one)}
    new = [(leaving, turned.get(edge, edge)) for leaving, edge in wires(graph)]
    return with_wires(at(graph, position, ports=tuple(ports)), new)


def reuse_site(dice: random.Random, graph: Graph) -> Graph:
    """All nodes of one site get another's site: two calls, or two loops, become one."""
    sites = [node.site for node in graph.nodes if node.site not in (None, ENVIRONMENT)]
    if not sites:
        return graph
    one, other = dice.choice(sites), dice.choice(sites)
    nodes = tuple(replace(node, site=other) if node.site == one else node for node in graph.nodes)
    return replace(graph, nodes=nodes, calls=tuple(call for call in graph.calls if call[0] != one or one == other))


def drop_merge_port(dice: random.Random, graph: Graph) -> Graph:
    """A merge loses a port, and its ports are renumbered."""
    position = dice.choice(_any(graph, "merge") or [0])
    ports = graph.nodes[position].ports
    gone = dice.randrange(len(ports))
    new = [
        (leaving, Edge(position, edge.port - (edge.port > gone)) if edge.node == position else edge)
        for leaving, edge in wires(graph)
        if edge != Edge(position, gone)
    ]
    return with_wires(at(graph, position, ports=ports[1:]), new)


def add_merge_port(dice: random.Random, graph: Graph) -> Graph:
    """A merge gets one more port, fed by any output of its type."""
    position = dice.choice(_any(graph, "merge") or [0])
    node = graph.nodes[position]
    new = (dice.choice(sources(graph, node.outputs[0].type)), Edge(position, len(node.ports)))
    return with_wires(at(graph, position, ports=(*node.ports, None)), [*wires(graph), new])


def insert_node(dice: random.Random, graph: Graph) -> Graph:
    """A new node on an edge: an identity, a merge with one port, or a merge with another output of the type."""
    wire = dice.choice(wires(graph))
    others = dice.choice([[], [dice.choice(sources(graph, graph.output(wire[0]).type))]])
    op = "merge" if others else dice.choice(["merge", "identity"])
    return insert_on_wire(graph, wire, op, graph.nodes[wire[1].node].function, *others)


def insert_on_wire(graph: Graph, wire: Wire, op: str, function: str, *others: OutputRef) -> Graph:
    """The graph with a new node on an edge; the node may also read other outputs."""
    (leaving, edge), position = wire, len(graph.nodes)
    feeding = [leaving, *others]
    result = GraphNode("new", op, (None,) * len(feeding), (NodeOutput(graph.output(leaving).type, ()),), function)
    new = [other for other in wires(graph) if other != wire]
    new += [(each, Edge(position, port)) for port, each in enumerate(feeding)]
    return with_wires(replace(graph, nodes=(*graph.nodes, result)), [*new, (OutputRef(position, 0), edge)])


EDITS: tuple[Edit, ...] = (
    swap_two_edges,
    feed_from_elsewhere,
    feed_from_next_door,
    move_edge,
    drop_edge,
    duplicate_edge,
    change_op,
    change_op_alike,
    swap_outputs,
    literal_for_token,
    token_for_literal,
    token_for_trigger,
    change_trigger,
    change_site,
    change_calls,
    change_function,
    change_type,
    change_results,
    drop_argument,
    change_hidden,
    drop_output,
    drop_port,
    drop_node,
    swap_ports,
    reuse_site,
    drop_merge_port,
    add_merge_port,
    insert_node,
)
"""Each changes one thing; most results break the rules, and some are valid."""
