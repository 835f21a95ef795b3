"""Graphs as JSON, and back. Whether what is read keeps the rules V7 to V15 is the validators' business."""

from __future__ import annotations

from ..graph.graph import Edge, Graph, Node, Output
from ..tag import Site
from .cursor import Cursor, head, plain_text
from .value import (
    Plain,
    attributes_form,
    location_form,
    read_attributes,
    read_literal,
    read_location,
    read_site,
    read_type,
    site_form,
    type_form,
    value_form,
)


def graph_form(graph: Graph) -> Plain:
    """A graph as a document."""
    return head(
        "graph",
        name=plain_text(graph.name),
        arguments=[{"name": plain_text(name), **_output_form(output)} for name, output in graph.arguments],
        hidden=graph.hidden,
        nodes=[_node_form(node) for node in graph.nodes],
        results=list(graph.results),
        calls=[{"site": site_form(site), "function": plain_text(callee)} for site, callee in graph.calls],
    )


def _output_form(output: Output) -> Plain:
    return {"type": type_form(output.type), "edges": [list(edge) for edge in output.edges]}


def _node_form(node: Node) -> Plain:
    return {
        "name": plain_text(node.name),
        "op": plain_text(node.op),
        "function": plain_text(node.function),
        "ports": [None if port is None else value_form(port.value) for port in node.ports],
        "outputs": [_output_form(output) for output in node.outputs],
        "triggered": node.triggered,
        "site": None if node.site is None else site_form(node.site),
        "attributes": attributes_form(node.attributes),
        "location": location_form(node.location),
    }


def read_graph(at: Cursor) -> Graph:
    """The graph that a document says."""
    _, _, name, arguments, hidden, nodes, results, calls = at.fields(
        "tagloom", "version", "name", "arguments", "hidden", "nodes", "results", "calls"
    )
    return Graph(
        name=name.text(),
        nodes=nodes.each(_node),
        arguments=arguments.each(_argument),
        results=results.each(Cursor.integer),
        calls=calls.each(_call),
        hidden=hidden.integer(),
    )


def _argument(at: Cursor) -> tuple[str, Output]:
    name, type_, edges = at.fields("name", "type", "edges")
    return name.text(), Output(read_type(type_), edges.each(_edge))


def _output(at: Cursor) -> Output:
    type_, edges = at.fields("type", "edges")
    return Output(read_type(type_), edges.each(_edge))


def _edge(at: Cursor) -> Edge:
    node, port = at.row("node", "port")
    return Edge(node.integer(), port.integer())


def _node(at: Cursor) -> Node:
    name, op, function, ports, outputs, triggered, site, attributes, location = at.fields(
        "name", "op", "function", "ports", "outputs", "triggered", "site", "attributes", "location"
    )
    return Node(
        name=name.text(),
        op=op.text(),
        ports=ports.each(lambda port: port.optional(read_literal)),
        outputs=outputs.each(_output),
        function=function.text(),
        site=site.optional(read_site),
        triggered=triggered.truth(),
        attributes=read_attributes(attributes),
        location=read_location(location),
    )


def _call(at: Cursor) -> tuple[Site, str]:
    site, callee = at.fields("site", "function")
    return read_site(site), callee.text()
