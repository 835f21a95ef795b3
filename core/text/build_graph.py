"""A graph as syntax becomes a graph, with types still to be inferred."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from .. import dtypes
from ..graph.graph import Edge, Graph, Node, Output, Source
from ..graph.infer import outputs_of
from ..ops.routing import CONTROL
from ..program import hints
from ..program.infer import HOLE
from ..tag import ENVIRONMENT
from ..tag import Site as SiteOf
from ..types import Type
from ..value import Literal
from . import syntax
from .atoms import Lines, attribute, dotted, literal, name, site, type_
from .fault import Fault

TRIGGER = Type(dtypes.bool)


def graph(given: syntax.Graph, lines: Lines) -> Graph:
    """A graph; outputs that say no type have holes."""
    return _Reading(given).graph(lines)


class _Reading:
    def __init__(self, given: syntax.Graph) -> None:
        self.given = given
        self.name = name(given.name)
        self.written: list[syntax.GraphNode] = [line for line in given.lines if isinstance(line, syntax.GraphNode)]
        self.arguments = [(name(each.name), self.argument(each)) for each in given.arguments]
        self.positions = {word: k for k, (word, _) in enumerate(self.arguments)}
        self.numbers: dict[tuple[str, str], int] = {}
        self.nodes: list[Node] = []
        self.edges: dict[Source, list[Edge]] = {}

    def graph(self, lines: Lines) -> Graph:
        self.number_nodes()
        hidden = [each.hidden for each in self.given.arguments]
        if sorted(hidden, reverse=True) != hidden:
            raise Fault("hidden arguments come first", self.given.arguments[hidden.index(True)].name.spot)
        calls = []
        for line in self.given.lines:
            match line:
                case syntax.From():
                    lines.enter(line)
                case syntax.SiteLine():
                    calls.append((self.calling(line), name(line.callee)))
                case syntax.GraphNode():
                    self.nodes.append(self.node(line, lines))
        results = self.results(lines)
        for number, written in enumerate(self.written):
            for port, sources in enumerate(self.ports(written)):
                self.connect(Edge(number, port), sources)
        nodes = [
            replace(node, outputs=tuple(self.output(Source(n, k), each.type) for k, each in enumerate(node.outputs)))
            for n, node in enumerate(self.nodes)
        ]
        arguments = [(word, self.output(Source(-1, k), type_)) for k, (word, type_) in enumerate(self.arguments)]
        return Graph(self.name, tuple(nodes), tuple(arguments), tuple(results), tuple(calls), sum(hidden))

    def argument(self, given: syntax.Argument) -> Type:
        if given.type is None and not given.hidden:
            raise Fault("an argument has a type", given.name.spot, required=f"{given.name.text}: int64, or another")
        return type_(given.type) if given.type else TRIGGER

    def number_nodes(self) -> None:
        """Nodes may be used before their line."""
        if len(self.positions) < len(self.arguments):
            raise Fault("two arguments have one name", self.given.name.spot)
        for number, node in enumerate(self.written):
            key = dotted(node.name, self.name)
            if key in self.numbers:
                raise Fault("two nodes have one name", node.name.spot)
            if node.name.text in self.positions:
                hint = f"call the node {self.name}.{node.name.text}"
                raise Fault("an argument has this name", node.name.spot, hint=hint)
            self.numbers[key] = number

    def calling(self, line: syntax.SiteLine) -> SiteOf:
        found = site(line.site, "call", self.name)
        assert found is not None, "the grammar asks for its name"
        return found

    def node(self, given: syntax.GraphNode, lines: Lines) -> Node:
        function, word = dotted(given.name, self.name)
        types = [HOLE] * outputs_of(given.op.text) if given.types is None else list(map(type_, given.types))
        control = CONTROL.get(given.op.text)
        where = ENVIRONMENT if given.op.text == "return" else None
        if given.site is not None:
            where = site(given.site, control.site if control else None, self.name)
        ports = tuple(self.literal(port) for port in self.ports(given))
        outputs = tuple(Output(each, ()) for each in types)
        attributes = tuple(attribute(each) for each in given.ports if isinstance(each, syntax.Attribute))
        at = lines.at(given.at, given.op.spot.line)
        return Node(word, name(given.op), ports, outputs, function, where, given.trigger is not None, attributes, at)

    def ports(self, given: syntax.GraphNode) -> list[syntax.Port]:
        """The ports, the trigger's last."""
        return [port for port in given.ports if not isinstance(port, syntax.Attribute)] + (given.trigger or [])

    def literal(self, port: syntax.Port) -> Literal | None:
        found = [each for each in port if isinstance(each, syntax.Written)]
        if len(found) > 1:
            raise Fault("a port has one literal at most", found[1].spot)
        return literal(found[0]) if found else None

    def connect(self, edge: Edge, sources: syntax.Port) -> None:
        for each in sources:
            if isinstance(each, syntax.Output):
                self.edges.setdefault(self.source(each), []).append(edge)

    def source(self, given: syntax.Output) -> Source:
        """What a name means: an argument, or an output of a node."""
        argument = self.positions.get(given.name.text)
        if argument is not None:
            outputs, made = 1, Source(-1, argument)
        else:
            number = self.numbers.get(dotted(given.name, self.name))
            if number is None:
                raise self.unknown(given.name)
            outputs, made = len(self.nodes[number].outputs), Source(number, given.output or 0)
        if given.output is None and outputs > 1:
            hint = f"write {given.name.text}:0, or another"
            raise Fault(f"{given.name.text} has {outputs} outputs", given.name.spot, hint=hint)
        if not outputs:
            hint = "a store hands nothing on: use the handle that it was given"
            raise Fault(f"{given.name.text} has no output", given.name.spot, hint=hint)
        if (given.output or 0) >= outputs:
            raise Fault(f"there is no such output of {given.name.text}", given.name.spot, required=f"{outputs} at most")
        return made

    def unknown(self, word: syntax.Word) -> Fault:
        hint = hints.meant(word.text, [*self.positions, *(rest for _, rest in self.numbers)])
        if any(rest == word.text for _, rest in self.numbers):
            hint = f"write {next(f for f, rest in self.numbers if rest == word.text)}.{word.text}"
        return Fault(f"nothing is called {word.text}", word.spot, required="an argument, or a node", hint=hint)

    def results(self, lines: Lines) -> list[int]:
        """The numbers of the results; `return` makes a node for each that is no return to the environment."""
        leaving = self.given.leaving
        said = None if self.given.results is None else list(map(type_, self.given.results))
        if said is not None and len(said) != len(leaving.outputs):
            got = f"{len(leaving.outputs)} results, and {len(said)} types"
            raise Fault(f"{got} are said", leaving.word.spot)
        if leaving.word.text == "results":
            return [self.result(each) for each in leaving.outputs]
        written, numbers = list(self.nodes), []
        for k, each in enumerate(leaving.outputs):
            source = self.source(each)
            node = written[source.node] if source.node >= 0 else None
            if node is not None and (node.op, node.site) == ("return", ENVIRONMENT):
                numbers.append(source.node)
                continue
            numbers.append(len(self.nodes))
            self.connect(Edge(len(self.nodes), 0), [each])
            outputs = (Output(said[k] if said else HOLE, ()),)
            at = lines.at(self.given.at, leaving.word.spot.line)
            self.nodes.append(
                Node(self.fresh(), "return", (None,), outputs, self.name, ENVIRONMENT, False, (), at),
            )
        return numbers

    def result(self, given: syntax.Output) -> int:
        number = self.numbers.get(dotted(given.name, self.name))
        if number is None:
            raise self.unknown(given.name)
        return number

    def fresh(self) -> str:
        return fresh_return(node.name for node in self.nodes if node.function == self.name)

    def output(self, source: Source, type_: Type) -> Output:
        return Output(type_, tuple(sorted(self.edges.get(source, ()))))


def fresh_return(names: Iterable[str]) -> str:
    """The name of a return node that `return` makes: `return`, or with a number behind it."""
    taken, count, word = set(names), 0, "return"
    while word in taken:
        count += 1
        word = f"return_{count}"
    return word
