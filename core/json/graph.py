"""Graphs as JSON, and back. Reading does not check the rules V7 to V16; `validate` does."""

from __future__ import annotations

from ..graph.graph import Edge, Graph, GraphNode, NodeOutput
from ..tag import Site
from .cursor import JsonCursor, document_header, validate_name
from .value import (
    JsonValue,
    attributes_to_json,
    location_to_json,
    read_attributes,
    read_literal,
    read_location,
    read_site,
    read_type,
    site_to_json,
    type_to_json,
    value_to_json,
)


def graph_to_json(graph: Graph) -> JsonValue:
    """A graph as a document."""
    return document_header(
        "graph",
        name=validate_name(graph.name),
        arguments=[{"name": validate_name(name), **output_to_json(output)} for name, output in graph.arguments],
        hidden=graph.hidden_count,
        nodes=[graph_node_to_json(node) for node in graph.nodes],
        results=list(graph.results),
        calls=[{"site": site_to_json(site), "function": validate_name(callee)} for site, callee in graph.calls],
    )


def output_to_json(output: NodeOutput) -> JsonValue:
    """A typed output, and the ports that it feeds."""
    return {"type": type_to_json(output.type), "edges": [list(edge) for edge in output.edges]}


def graph_node_to_json(node: GraphNode) -> JsonValue:
    """A graph node as JSON data."""
    return {
        "name": validate_name(node.name),
        "op": validate_name(node.op),
        "function": validate_name(node.function),
        "ports": [None if port is None else value_to_json(port.value) for port in node.ports],
        "outputs": [output_to_json(output) for output in node.outputs],
        "triggered": node.has_trigger,
        "site": None if node.site is None else site_to_json(node.site),
        "attributes": attributes_to_json(node.attributes),
        "location": location_to_json(node.location),
    }


def read_graph(cursor: JsonCursor) -> Graph:
    """The graph of a document."""
    _, _, name, arguments, hidden_arguments, nodes, results, calls = cursor.fields(
        "tagloom", "version", "name", "arguments", "hidden", "nodes", "results", "calls"
    )
    return Graph(
        name=name.name(),
        nodes=nodes.map_entries(read_graph_node),
        arguments=arguments.map_entries(read_argument),
        results=results.map_entries(JsonCursor.integer),
        calls=calls.map_entries(read_call),
        hidden_count=hidden_arguments.integer(),
    )


def read_argument(cursor: JsonCursor) -> tuple[str, NodeOutput]:
    """The name and the output of an argument, from JSON data."""
    name, type_, edges = cursor.fields("name", "type", "edges")
    return name.name(), NodeOutput(read_type(type_), edges.map_entries(read_edge))


def read_output(cursor: JsonCursor) -> NodeOutput:
    """An output of a node, from JSON data."""
    type_, edges = cursor.fields("type", "edges")
    return NodeOutput(read_type(type_), edges.map_entries(read_edge))


def read_edge(cursor: JsonCursor) -> Edge:
    """The destination of a token: a node and a port."""
    node, port = cursor.fixed_list("node", "port")
    return Edge(node.integer(), port.integer())


def read_graph_node(cursor: JsonCursor) -> GraphNode:
    """A graph node, from JSON data."""
    name, op, function, ports, outputs, triggered, site, attributes, location = cursor.fields(
        "name", "op", "function", "ports", "outputs", "triggered", "site", "attributes", "location"
    )
    return GraphNode(
        name=name.name(),
        op=op.name(),
        ports=ports.map_entries(lambda port: port.optional(read_literal)),
        outputs=outputs.map_entries(read_output),
        function=function.name(),
        site=site.optional(read_site),
        has_trigger=triggered.boolean(),
        attributes=read_attributes(attributes),
        location=read_location(location),
    )


def read_call(cursor: JsonCursor) -> tuple[Site, str]:
    """A call site, and the function that it calls."""
    site, callee = cursor.fields("site", "function")
    return read_site(site), callee.name()
