"""Which test ended a loop: the part of the predicate of its last iteration that was false."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Mapping

from ...core.graph.graph import Edge, Graph, OutputRef
from ...core.tag import Site, Tag
from ...interp.machine.event import Event
from ...viz.labels import NodeLabels
from .session import Session


def describe_loop_end(session: Session, tag: Tag) -> str:
    """The test that ended a loop in the iteration with a tag, `i < n`; empty if the loop did not end there."""
    history, graph = session.history, session.history.graph
    numbers = session.run.index.activation(tag).computations
    firings = {
        history[number].token.node: history[number] for number in numbers[: bisect_left(numbers, history.position)]
    }
    tests = _FalseTests(graph, firings).find_in_loop(tag.site)
    return " and not ".join(NodeLabels(graph).label_lines(node)[0] for node in tests)


class _FalseTests:
    """The nodes that made the predicate of one iteration false, by the firings of ops in it."""

    def __init__(self, graph: Graph, firings: Mapping[int, Event]) -> None:
        self.graph, self.firings, self.sources = graph, firings, graph.sources()

    def find_in_loop(self, site: Site) -> list[int]:
        """The tests that ended a loop; none if it continues, or its predicate comes from outside."""
        exits = (number for number, node in enumerate(self.graph.nodes) if node.op == "exit" and node.site == site)
        for number in exits:
            switch = self.source(number, 0)
            if switch is not None and self.graph.nodes[switch.node].op == "switch":
                predicate = self.source(switch.node, 1)
                return [] if predicate is None else self.find(predicate.node)
        return []

    def find(self, number: int) -> list[int]:
        """The tests that made a node's value false; none if it is true or unknown. `and` in Python is a cond, so its
        value comes from a merge."""
        if self.graph.nodes[number].op == "merge":
            return self.find_in_branches(number)
        event = self.firings.get(number)
        if event is None or not event.outputs or event.outputs[0][1]:
            return []
        if self.graph.nodes[number].op == "logical_and":
            operands = (self.source(number, port) for port, value in enumerate(event.inputs or ()) if not value)
            return [test for operand in operands if operand is not None for test in self.find(operand.node)] or [number]
        return [number]

    def find_in_branches(self, merge: int) -> list[int]:
        """The tests of the branch that was taken, or the one that chose a literal `false` or its own value."""
        for port in range(len(self.graph.nodes[merge].ports)):
            source = self.source(merge, port)
            if source is None:
                continue
            node = self.graph.nodes[source.node]
            if node.op == "switch":
                tests = self.find_choice(source)
            elif not node.has_trigger:
                tests = self.find(source.node)
            elif node.ports[0] is None or node.ports[0].value:
                tests = []
            else:
                tests = self.find_choice(self.source(source.node, len(node.ports) - 1))
            if tests:
                return tests
        return []

    def find_choice(self, output: OutputRef | None) -> list[int]:
        """The test whose falsehood sent a token through this output of a switch."""
        if output is None or self.graph.nodes[output.node].op != "switch" or output.output != 1:
            return []
        predicate = self.source(output.node, 1)
        return [] if predicate is None else self.find(predicate.node)

    def source(self, number: int, port: int) -> OutputRef | None:
        """The only source of a port that is a node; else None."""
        sources = self.sources.get(Edge(number, port), [])
        return sources[0] if len(sources) == 1 and sources[0].node >= 0 else None
