"""Printing graphs.

graph race(x: int64) -> int64 {
  m = merge x, x
  return m
}
"""

from __future__ import annotations

from collections.abc import Sequence

from ..graph.graph import Edge, Graph, GraphNode, OutputRef
from ..graph.infer import nodes_needing_types
from ..ops.routing import ROUTING_OPS
from ..tag import ENVIRONMENT, Site
from .build_graph import TRIGGER_TYPE, fresh_return_name
from .printer import (
    TextWriter,
    format_attributes,
    format_name,
    format_result_types,
    format_type,
    format_typed_name,
    unwritable_error,
)


def print_graph(graph: Graph, *, locations: bool = True) -> str:
    """A graph as text that `parse` reads back: one line per node, in the order of their numbers.

    `locations` adds the source line of each node. Raises Usage for graphs that the text form cannot write: an edge to a
    port that does not exist, two nodes of one name, a result that is no node, hidden arguments that do not exist.
    """
    return str(_GraphPrinter(graph).write(TextWriter(locations=locations)))


class _GraphPrinter:
    def __init__(self, graph: Graph) -> None:
        self.graph = graph
        self.sources = graph.sources()
        self.check_writable()
        self.uses_short_names = self.can_use_short_names()
        self.folds_results = self.can_fold_results()
        self.typed_nodes = nodes_needing_types(graph)

    def check_writable(self) -> None:
        """Raises Usage for a graph that the text form cannot write."""
        nodes = self.graph.nodes
        for edge in self.sources:
            if not (0 <= edge.node < len(nodes) and 0 <= edge.port < len(nodes[edge.node].ports)):
                raise unwritable_error("an edge to a port that does not exist", edge)
        outputs = [output for node in nodes for output in node.outputs]
        for output in (*outputs, *(argument for _, argument in self.graph.arguments)):
            if list(output.edges) != sorted(output.edges):
                raise unwritable_error("edges in another order than that of the ports", output.edges)
        for names in ([str(node) for node in nodes], [name for name, _ in self.graph.arguments]):
            if len(set(names)) < len(names):
                raise unwritable_error("two values of one name", max(names, key=names.count))
        if not 0 <= self.graph.hidden_count <= len(self.graph.arguments):
            raise unwritable_error("more hidden arguments than there are", self.graph.hidden_count)
        for number in self.graph.results:
            if not 0 <= number < len(nodes):
                raise unwritable_error("a result that is no node", number)

    def can_use_short_names(self) -> bool:
        """Whether nodes need no function prefix: all are in one function, and none has the name of an argument."""
        arguments = {name for name, _ in self.graph.arguments}
        return all(
            node.function == self.graph.name and "." not in node.name and node.name not in arguments
            for node in self.graph.nodes
        )

    def can_fold_results(self) -> bool:
        """Whether the results are exactly the nodes that the `return` line makes, so that they need no lines of their
        own."""
        nodes, count = self.graph.nodes, len(self.graph.results)
        first = len(nodes) - count
        if not count or self.graph.results != tuple(range(first, len(nodes))):
            return False
        names = [node.name for node in nodes[:first] if node.function == self.graph.name]
        for number, node in enumerate(nodes[first:], start=first):
            sources = self.sources.get(Edge(number, 0), [])
            made = GraphNode(fresh_return_name(names), "return", (None,), node.outputs, self.graph.name, ENVIRONMENT)
            if (
                (node.name, node.op, node.ports, node.function) != (made.name, made.op, made.ports, made.function)
                or (node.site, node.has_trigger, node.attributes) != (ENVIRONMENT, False, ())
                or node.location != nodes[-1].location
                or len(node.outputs) != 1
                or len(sources) != 1
                or self.is_environment_return(sources[0].node)
                or any(source.node >= first for source in sources)
            ):
                return False
            names.append(node.name)
        return not any(source.node >= first for found in self.sources.values() for source in found)

    def is_environment_return(self, number: int) -> bool:
        """Whether a node is a return to the environment."""
        return number >= 0 and (self.graph.nodes[number].op, self.graph.nodes[number].site) == ("return", ENVIRONMENT)

    def write(self, page: TextWriter) -> TextWriter:
        graph = self.graph
        count = len(graph.nodes) - (len(graph.results) if self.folds_results else 0)
        leaving = all(self.is_environment_return(n) and len(graph.nodes[n].outputs) == 1 for n in graph.results)
        types = [graph.nodes[number].outputs[0].type for number in graph.results] if leaving else []
        results = format_result_types(types) if types else ""
        page.add_line(f"graph {format_name(graph.name)}({', '.join(self.format_arguments())}){results} {{")
        for site, callee in graph.calls:
            page.add_line(f"  site {self.format_site(site, 'call')} calls {format_name(callee)}")
        for number, node in enumerate(graph.nodes[:count]):
            page.add_line(
                f"  {self.format_target(number, node)} = {self.format_operation(number, node)}", node.location
            )
        location = graph.nodes[-1].location if self.folds_results else None
        page.add_line(f"  {'return' if leaving else 'results'} {', '.join(self.format_results())}".rstrip(), location)
        page.add_line("}")
        return page

    def format_arguments(self) -> list[str]:
        return [
            f"@{format_name(name) if output.type == TRIGGER_TYPE else format_typed_name(name, output.type)}"
            if number < self.graph.hidden_count
            else format_typed_name(name, output.type)
            for number, (name, output) in enumerate(self.graph.arguments)
        ]

    def format_results(self) -> list[str]:
        if not self.folds_results:
            return [self.format_node_name(self.graph.nodes[number]) for number in self.graph.results]
        return [self.format_source(self.sources[Edge(number, 0)][0]) for number in self.graph.results]

    def format_target(self, number: int, node: GraphNode) -> str:
        if number not in self.typed_nodes:
            return self.format_node_name(node)
        return (
            f"{self.format_node_name(node)}: {', '.join(format_type(output.type) for output in node.outputs) or '()'}"
        )

    def format_node_name(self, node: GraphNode) -> str:
        parts = [format_name(part) for part in node.name.split(".")]
        return ".".join(parts if self.uses_short_names else [format_name(node.function), *parts])

    def format_operation(self, number: int, node: GraphNode) -> str:
        ports = [self.format_port(number, port) for port in range(len(node.ports))]
        trigger = ["@", *ports[len(ports) - 1 :]] if node.has_trigger else []
        ports = ports[: len(ports) - node.has_trigger] if node.has_trigger else ports
        arguments = ", ".join([*ports, *format_attributes(node.attributes)])
        return " ".join(filter(None, [f"{format_name(node.op)}{self.format_site_brackets(node)}", arguments, *trigger]))

    def format_site_brackets(self, node: GraphNode) -> str:
        kind = ROUTING_OPS[node.op].site_kind if node.op in ROUTING_OPS else None
        usual = ENVIRONMENT if node.op == "return" else None
        return "" if node.site == usual else f"[{self.format_site(node.site, kind)}]"

    def format_site(self, site: Site | None, kind: str | None) -> str:
        if site is None:
            return ""
        if site == ENVIRONMENT:
            return "@"
        name = ".".join(map(format_name, [site.function, *site.name.split(".")]))
        return name if site.kind == kind else f"{site.kind} {name}"

    def format_port(self, number: int, port: int) -> str:
        """The input of a port: one name or literal, or several where the graph breaks the rules."""
        literal = self.graph.nodes[number].ports[port]
        found = [] if literal is None else [str(literal)]
        found += map(self.format_source, self.sources.get(Edge(number, port), ()))
        return " | ".join(found) or "?"

    def format_source(self, source: OutputRef) -> str:
        if source.node < 0:
            return format_name(self.graph.arguments[source.output][0])
        node = self.graph.nodes[source.node]
        several: Sequence[object] = node.outputs
        return f"{self.format_node_name(node)}:{source.output}" if len(several) > 1 else self.format_node_name(node)
