"""Building a graph from its syntax. Types may still be holes, to be inferred."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from .. import dtypes
from ..graph.graph import Edge, Graph, GraphNode, OutputPort, OutputRef
from ..graph.infer import count_outputs
from ..ops.routing import ROUTING_OPS
from ..program import hints
from ..program.infer import HOLE
from ..tag import ENVIRONMENT
from ..tag import Site as SiteOf
from ..types import Type
from ..value import Literal
from . import syntax
from .atoms import LocationResolver, read_attribute, read_literal, read_name, read_qualified_name, read_site, read_type
from .fault import SyntaxFault

TRIGGER_TYPE = Type(dtypes.bool)


def build_graph(given: syntax.GraphSyntax, lines: LocationResolver) -> Graph:
    """The graph of this syntax; outputs without a type have holes."""
    return _GraphSyntaxBuilder(given).build(lines)


class _GraphSyntaxBuilder:
    def __init__(self, given: syntax.GraphSyntax) -> None:
        self.syntax = given
        self.name = read_name(given.name)
        self.node_syntax: list[syntax.GraphNodeSyntax] = [
            line for line in given.statements if isinstance(line, syntax.GraphNodeSyntax)
        ]
        self.arguments = [(read_name(each.name), self.argument_type(each)) for each in given.arguments]
        self.argument_positions = {word: k for k, (word, _) in enumerate(self.arguments)}
        self.node_numbers: dict[tuple[str, str], int] = {}
        self.nodes: list[GraphNode] = []
        self.edges: dict[OutputRef, list[Edge]] = {}

    def build(self, lines: LocationResolver) -> Graph:
        self.number_nodes()
        hidden = [each.is_hidden for each in self.syntax.arguments]
        if sorted(hidden, reverse=True) != hidden:
            raise SyntaxFault("hidden arguments come first", self.syntax.arguments[hidden.index(True)].name.position)
        calls = []
        for line in self.syntax.statements:
            match line:
                case syntax.SourceFileSyntax():
                    lines.enter_source_file(line)
                case syntax.SiteCallSyntax():
                    calls.append((self.build_site(line), read_name(line.callee)))
                case syntax.GraphNodeSyntax():
                    self.nodes.append(self.build_node(line, lines))
        results = self.build_results(lines)
        for number, written in enumerate(self.node_syntax):
            for port, sources in enumerate(self.port_syntax(written)):
                self.connect(Edge(number, port), sources)
        nodes = [
            replace(
                node,
                outputs=tuple(self.build_output(OutputRef(n, k), each.type) for k, each in enumerate(node.outputs)),
            )
            for n, node in enumerate(self.nodes)
        ]
        arguments = [
            (word, self.build_output(OutputRef(-1, k), type_)) for k, (word, type_) in enumerate(self.arguments)
        ]
        return Graph(self.name, tuple(nodes), tuple(arguments), tuple(results), tuple(calls), sum(hidden))

    def argument_type(self, given: syntax.ArgumentSyntax) -> Type:
        if given.type is None and not given.is_hidden:
            raise SyntaxFault(
                "an argument has a type", given.name.position, required=f"{given.name.text}: int64, or another"
            )
        return read_type(given.type) if given.type else TRIGGER_TYPE

    def number_nodes(self) -> None:
        """Number all nodes first, since a node may be used before its line."""
        if len(self.argument_positions) < len(self.arguments):
            raise SyntaxFault("two arguments have one name", self.syntax.name.position)
        for number, node in enumerate(self.node_syntax):
            key = read_qualified_name(node.name, self.name)
            if key in self.node_numbers:
                raise SyntaxFault("two nodes have one name", node.name.position)
            if node.name.text in self.argument_positions:
                hint = f"call the node {self.name}.{node.name.text}"
                raise SyntaxFault("an argument has this name", node.name.position, hint=hint)
            self.node_numbers[key] = number

    def build_site(self, line: syntax.SiteCallSyntax) -> SiteOf:
        found = read_site(line.site, "call", self.name)
        assert found is not None, "the grammar asks for its name"
        return found

    def build_node(self, given: syntax.GraphNodeSyntax, lines: LocationResolver) -> GraphNode:
        function, word = read_qualified_name(given.name, self.name)
        types = [HOLE] * count_outputs(given.op.text) if given.types is None else list(map(read_type, given.types))
        control = ROUTING_OPS.get(given.op.text)
        where = ENVIRONMENT if given.op.text == "return" else None
        if given.site is not None:
            where = read_site(given.site, control.site_kind if control else None, self.name)
        ports = tuple(self.build_literal(port) for port in self.port_syntax(given))
        outputs = tuple(OutputPort(each, ()) for each in types)
        attributes = tuple(read_attribute(each) for each in given.ports if isinstance(each, syntax.AttributeSyntax))
        at = lines.resolve(given.location, given.op.position.line)
        return GraphNode(
            word, read_name(given.op), ports, outputs, function, where, given.trigger is not None, attributes, at
        )

    def port_syntax(self, given: syntax.GraphNodeSyntax) -> list[syntax.PortSyntax]:
        """The ports; the trigger's comes last."""
        return [port for port in given.ports if not isinstance(port, syntax.AttributeSyntax)] + (given.trigger or [])

    def build_literal(self, port: syntax.PortSyntax) -> Literal | None:
        found = [each for each in port if isinstance(each, syntax.LiteralSyntax)]
        if len(found) > 1:
            raise SyntaxFault("a port has one literal at most", found[1].position)
        return read_literal(found[0]) if found else None

    def connect(self, edge: Edge, sources: syntax.PortSyntax) -> None:
        for each in sources:
            if isinstance(each, syntax.OutputSyntax):
                self.edges.setdefault(self.resolve_source(each), []).append(edge)

    def resolve_source(self, given: syntax.OutputSyntax) -> OutputRef:
        """The argument or output that a name refers to."""
        argument = self.argument_positions.get(given.name.text)
        if argument is not None:
            outputs, made = 1, OutputRef(-1, argument)
        else:
            number = self.node_numbers.get(read_qualified_name(given.name, self.name))
            if number is None:
                raise self.unknown_name_fault(given.name)
            outputs, made = len(self.nodes[number].outputs), OutputRef(number, given.output or 0)
        if given.output is None and outputs > 1:
            hint = f"write {given.name.text}:0, or another"
            raise SyntaxFault(f"{given.name.text} has {outputs} outputs", given.name.position, hint=hint)
        if not outputs:
            hint = "a store hands nothing on: use the handle that it was given"
            raise SyntaxFault(f"{given.name.text} has no output", given.name.position, hint=hint)
        if (given.output or 0) >= outputs:
            raise SyntaxFault(
                f"there is no such output of {given.name.text}", given.name.position, required=f"{outputs} at most"
            )
        return made

    def unknown_name_fault(self, word: syntax.SyntaxToken) -> SyntaxFault:
        hint = hints.suggest_name(word.text, [*self.argument_positions, *(rest for _, rest in self.node_numbers)])
        if any(rest == word.text for _, rest in self.node_numbers):
            hint = f"write {next(f for f, rest in self.node_numbers if rest == word.text)}.{word.text}"
        return SyntaxFault(
            f"nothing is called {word.text}", word.position, required="an argument, or a node", hint=hint
        )

    def build_results(self, lines: LocationResolver) -> list[int]:
        """The node numbers of the results. `return` adds a return node for each that is not one already."""
        leaving = self.syntax.return_line
        said = None if self.syntax.result_types is None else list(map(read_type, self.syntax.result_types))
        if said is not None and len(said) != len(leaving.outputs):
            got = f"{len(leaving.outputs)} results, and {len(said)} types"
            raise SyntaxFault(f"{got} are said", leaving.keyword.position)
        if leaving.keyword.text == "results":
            return [self.resolve_result(each) for each in leaving.outputs]
        written, numbers = list(self.nodes), []
        for k, each in enumerate(leaving.outputs):
            source = self.resolve_source(each)
            node = written[source.node] if source.node >= 0 else None
            if node is not None and (node.op, node.site) == ("return", ENVIRONMENT):
                numbers.append(source.node)
                continue
            numbers.append(len(self.nodes))
            self.connect(Edge(len(self.nodes), 0), [each])
            outputs = (OutputPort(said[k] if said else HOLE, ()),)
            at = lines.resolve(self.syntax.location, leaving.keyword.position.line)
            self.nodes.append(
                GraphNode(self.fresh_return_name(), "return", (None,), outputs, self.name, ENVIRONMENT, False, (), at),
            )
        return numbers

    def resolve_result(self, given: syntax.OutputSyntax) -> int:
        number = self.node_numbers.get(read_qualified_name(given.name, self.name))
        if number is None:
            raise self.unknown_name_fault(given.name)
        return number

    def fresh_return_name(self) -> str:
        return fresh_return_name(node.name for node in self.nodes if node.function == self.name)

    def build_output(self, source: OutputRef, type_: Type) -> OutputPort:
        return OutputPort(type_, tuple(sorted(self.edges.get(source, ()))))


def fresh_return_name(names: Iterable[str]) -> str:
    """The name of a return node that a `return` line adds: `return`, with a number if needed."""
    taken, count, word = set(names), 0, "return"
    while word in taken:
        count += 1
        word = f"return_{count}"
    return word
