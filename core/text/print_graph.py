"""Printing graphs.

graph race(x: int64) -> int64 {
  m = merge x, x
  return m
}
"""

from __future__ import annotations

from collections.abc import Sequence

from ..graph.graph import Edge, Graph, Node, Source
from ..graph.infer import needing_types
from ..ops.routing import CONTROL
from ..tag import ENVIRONMENT, Site
from .build_graph import TRIGGER, fresh_return
from .printer import Page, arrow, attributes, named, typed, unwritable, written


def print_graph(graph: Graph, *, locations: bool = True) -> str:
    """A graph as text that `parse` reads back: a line a node, in the order of their numbers.

    `locations` says whether nodes say which lines of source they come from. Raises Usage where there is something
    that the form cannot write: an edge to a port that does not exist, two nodes of one name, a result that is no
    node, hidden arguments that are not there.
    """
    return str(_Printing(graph).page(Page(locations=locations)))


class _Printing:
    def __init__(self, graph: Graph) -> None:
        self.graph = graph
        self.sources = graph.sources()
        self.check()
        self.short = self.can_be_short()
        self.folded = self.can_be_folded()
        self.said = needing_types(graph)

    def check(self) -> None:
        """What cannot be written is refused."""
        nodes = self.graph.nodes
        for edge in self.sources:
            if not (0 <= edge.node < len(nodes) and 0 <= edge.port < len(nodes[edge.node].ports)):
                raise unwritable("an edge to a port that does not exist", edge)
        outputs = [output for node in nodes for output in node.outputs]
        for output in (*outputs, *(argument for _, argument in self.graph.arguments)):
            if list(output.edges) != sorted(output.edges):
                raise unwritable("edges in another order than that of the ports", output.edges)
        for names in ([str(node) for node in nodes], [name for name, _ in self.graph.arguments]):
            if len(set(names)) < len(names):
                raise unwritable("two values of one name", max(names, key=names.count))
        if not 0 <= self.graph.hidden <= len(self.graph.arguments):
            raise unwritable("more hidden arguments than there are", self.graph.hidden)
        for number in self.graph.results:
            if not 0 <= number < len(nodes):
                raise unwritable("a result that is no node", number)

    def can_be_short(self) -> bool:
        """Whether nodes can do without the name of their function: all stand in one, and none is called as an
        argument is."""
        arguments = {name for name, _ in self.graph.arguments}
        return all(
            node.function == self.graph.name and "." not in node.name and node.name not in arguments
            for node in self.graph.nodes
        )

    def can_be_folded(self) -> bool:
        """Whether the results are just the nodes that the last line makes, and need no lines of their own."""
        nodes, count = self.graph.nodes, len(self.graph.results)
        first = len(nodes) - count
        if not count or self.graph.results != tuple(range(first, len(nodes))):
            return False
        names = [node.name for node in nodes[:first] if node.function == self.graph.name]
        for number, node in enumerate(nodes[first:], start=first):
            sources = self.sources.get(Edge(number, 0), [])
            made = Node(fresh_return(names), "return", (None,), node.outputs, self.graph.name, ENVIRONMENT)
            if (
                (node.name, node.op, node.ports, node.function) != (made.name, made.op, made.ports, made.function)
                or (node.site, node.triggered, node.attributes) != (ENVIRONMENT, False, ())
                or node.location != nodes[-1].location
                or len(node.outputs) != 1
                or len(sources) != 1
                or self.leaves(sources[0].node)
                or any(source.node >= first for source in sources)
            ):
                return False
            names.append(node.name)
        return not any(source.node >= first for found in self.sources.values() for source in found)

    def leaves(self, number: int) -> bool:
        """Whether a node is a return to the environment."""
        return number >= 0 and (self.graph.nodes[number].op, self.graph.nodes[number].site) == ("return", ENVIRONMENT)

    def page(self, page: Page) -> Page:
        graph = self.graph
        count = len(graph.nodes) - (len(graph.results) if self.folded else 0)
        leaving = all(self.leaves(n) and len(graph.nodes[n].outputs) == 1 for n in graph.results)
        types = [graph.nodes[number].outputs[0].type for number in graph.results] if leaving else []
        results = arrow(types) if types else ""
        page.add(f"graph {named(graph.name)}({', '.join(self.arguments())}){results} {{")
        for site, callee in graph.calls:
            page.add(f"  site {self.site(site, 'call')} calls {named(callee)}")
        for number, node in enumerate(graph.nodes[:count]):
            page.add(f"  {self.target(number, node)} = {self.operation(number, node)}", node.location)
        location = graph.nodes[-1].location if self.folded else None
        page.add(f"  {'return' if leaving else 'results'} {', '.join(self.results())}".rstrip(), location)
        page.add("}")
        return page

    def arguments(self) -> list[str]:
        return [
            f"@{named(name) if output.type == TRIGGER else typed(name, output.type)}"
            if number < self.graph.hidden
            else typed(name, output.type)
            for number, (name, output) in enumerate(self.graph.arguments)
        ]

    def results(self) -> list[str]:
        if not self.folded:
            return [self.name(self.graph.nodes[number]) for number in self.graph.results]
        return [self.source(self.sources[Edge(number, 0)][0]) for number in self.graph.results]

    def target(self, number: int, node: Node) -> str:
        if number not in self.said:
            return self.name(node)
        return f"{self.name(node)}: {', '.join(written(output.type) for output in node.outputs) or '()'}"

    def name(self, node: Node) -> str:
        parts = [named(part) for part in node.name.split(".")]
        return ".".join(parts if self.short else [named(node.function), *parts])

    def operation(self, number: int, node: Node) -> str:
        ports = [self.port(number, port) for port in range(len(node.ports))]
        trigger = ["@", *ports[len(ports) - 1 :]] if node.triggered else []
        ports = ports[: len(ports) - node.triggered] if node.triggered else ports
        arguments = ", ".join([*ports, *attributes(node.attributes)])
        return " ".join(filter(None, [f"{named(node.op)}{self.brackets(node)}", arguments, *trigger]))

    def brackets(self, node: Node) -> str:
        kind = CONTROL[node.op].site if node.op in CONTROL else None
        usual = ENVIRONMENT if node.op == "return" else None
        return "" if node.site == usual else f"[{self.site(node.site, kind)}]"

    def site(self, site: Site | None, kind: str | None) -> str:
        if site is None:
            return ""
        if site == ENVIRONMENT:
            return "@"
        name = ".".join(map(named, [site.function, *site.name.split(".")]))
        return name if site.kind == kind else f"{site.kind} {name}"

    def port(self, number: int, port: int) -> str:
        """What feeds a port: one name or literal, or several where the graph breaks the rules."""
        literal = self.graph.nodes[number].ports[port]
        found = [] if literal is None else [str(literal)]
        found += map(self.source, self.sources.get(Edge(number, port), ()))
        return " | ".join(found) or "?"

    def source(self, source: Source) -> str:
        if source.node < 0:
            return named(self.graph.arguments[source.output][0])
        node = self.graph.nodes[source.node]
        several: Sequence[object] = node.outputs
        return f"{self.name(node)}:{source.output}" if len(several) > 1 else self.name(node)
