"""A machine that fires segments, in plain Python: what code made from segments does, written to be read.

It delivers bundles instead of tokens, oldest first. An activation keeps the tokens that lie in it, the bundles that
have come and the segments that have fired. A segment fires when all bundles that it needs have come; then each of its
nodes fires whose operands are there. A firing is stamped with its depth, 1 more than that of its deepest operand, which
is its wave on the ideal machine.

It knows no cells, effects or bounds.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from tagloom.core.graph.graph import Edge, Graph, OutputRef
from tagloom.core.graph.segments import NodeCopy, Segment, Segmentation, segment_graph
from tagloom.core.tag import ROOT, Tag
from tagloom.core.value import Value, fingerprint
from tagloom.interp.engines.reference import admit_arguments
from tagloom.interp.machine.fire import build_rules


class StampedValue(NamedTuple):
    """A value, and the wave in which it was sent: 0 for an argument of the run."""

    value: Value
    wave: int


@dataclass
class SegmentActivation:
    """The state of a tag: the tokens that lie at its ports, the values sent under it, the bundles sent and delivered,
    and the segments that have fired."""

    tokens: dict[Edge, StampedValue] = field(default_factory=dict)
    values: dict[OutputRef, Value] = field(default_factory=dict)
    sent: set[int] = field(default_factory=set)
    bundles: set[int] = field(default_factory=set)
    fired: set[int] = field(default_factory=set)


class TooManyFirings(Exception):
    """The run made more firings than its limit."""


class SegmentMachine:
    """A run of a graph by segments, with what it measures.

    `firings` is the multiset of firings, as `support.laws.machine_laws.firings` describes them; `profile` and `waiting`
    are P(t) and W(t), without zeros at the end; `residue` the operands left over, by node, port and tag.
    """

    def __init__(self, graph: Graph, segmentation: Segmentation | None = None, limit: int = 2_000) -> None:
        self.graph, self.limit = graph, limit
        self.segmentation = segmentation or segment_graph(graph)
        self.rules = build_rules(graph)
        self.activations: dict[Tag, SegmentActivation] = {}
        self.flight: deque[tuple[Tag, int]] = deque()
        """The bundles that have been sent."""
        self.firings: Counter[Any] = Counter()
        self.by_node = [0] * len(graph.nodes)
        self.profile: Counter[int] = Counter()
        self.waiting: Counter[int] = Counter()
        self.last_wave = 0
        """The wave in which the last token was sent; in the wave after it, the last token is delivered."""
        self.results: list[Value | None] = [None] * len(graph.results)
        self.traps: list[tuple[int, Tag, str]] = []
        self.segment_firings = 0
        self.segments_by_need: dict[int, list[int]] = {}
        # What makes an operand needs no more than what takes it, so segments with fewer needs fire first.
        for number, segment in sorted(enumerate(self.segmentation.segments), key=lambda pair: len(pair[1].needs)):
            for need in segment.needs:
                self.segments_by_need.setdefault(need, []).append(number)

    def run(self, arguments: Sequence[object], *, until_results: bool = False) -> None:
        """Run until nothing is in flight, or until all results have come. Raises TooManyFirings."""
        hidden = [True] * self.graph.hidden_count
        for position, value in enumerate([*hidden, *admit_arguments(self.graph, arguments)]):
            output = OutputRef(-1, position)
            self._send(self.graph.arguments[position][1].edges, ROOT, output, StampedValue(value, 0))
        while self.flight and not (until_results and None not in self.results):
            tag, bundle = self.flight.popleft()
            activation = self.activations[tag]
            activation.bundles.add(bundle)
            for number in self.segments_by_need.get(bundle, ()):
                segment = self.segmentation.segments[number]
                if number not in activation.fired and activation.bundles.issuperset(segment.needs):
                    activation.fired.add(number)
                    self._fire_segment(segment, tag, activation)
        last = len(self.profile) and max(self.profile)
        for activation in self.activations.values():
            for _, wave in activation.tokens.values():
                self.waiting.update(range(wave + 1, max(last, self.last_wave + 1) + 1))

    @property
    def residue(self) -> set[tuple[Edge, Tag]]:
        return {(edge, tag) for tag, activation in self.activations.items() for edge in activation.tokens}

    def _fire_segment(self, segment: Segment, tag: Tag, activation: SegmentActivation) -> None:
        count = self.by_node.copy()
        for copy in segment.copies:
            self._fire_node(copy, tag, activation)
        self.segment_firings += self.by_node != count

    def _fire_node(self, copy: NodeCopy, tag: Tag, activation: SegmentActivation) -> None:
        """Fire a node, if a guard holds and its operands are there."""
        number, rule = copy.node, self.rules[copy.node]
        values = activation.values
        if not any(all(values.get(ref) is not None and values[ref] == side for ref, side in g) for g in copy.guards):
            return
        open_ports = [port for port, literal in enumerate(rule.node.ports) if literal is None]
        edges = [Edge(number, port) for port in open_ports if Edge(number, port) in activation.tokens]
        if len(edges) < rule.required_tokens:
            return
        operands = [activation.tokens.pop(edge) for edge in edges]
        wave = 1 + max(operand.wave for operand in operands)
        for operand in operands:
            self.waiting.update(range(operand.wave + 1, wave))
        if rule.operands is None:
            inputs: tuple[Value, ...] = (operands[0].value,)
        else:
            by_port = dict(zip((edge.port for edge in edges), operands, strict=True))
            inputs = tuple(by_port[p].value if p in by_port else v for p, v in enumerate(rule.operands))  # type: ignore
        if sum(self.by_node) >= self.limit:
            raise TooManyFirings
        trap = None if rule.find_trap is None else rule.find_trap(inputs)
        outputs = rule.compute(inputs, tag) if trap is None else ()
        self.by_node[number] += 1
        self.profile[wave] += 1
        described = tuple((output, fingerprint(value)) for output, value in outputs)
        self.firings[number, tag, tuple(map(fingerprint, inputs)), described, trap] += 1
        if trap is not None:
            self.traps.append((number, tag, trap))
        destination = tag if rule.retag is None else rule.retag(lambda t, site, k: t.child(site, k), tag, inputs)
        for output, value in outputs:
            targets, routes = rule.edges[output], rule.routes[output]
            if routes is not None:
                targets = routes.get(destination.site, routes[None])
            self._send(targets, destination, OutputRef(number, output), StampedValue(value, wave))

    def _send(self, targets: Sequence[Edge], tag: Tag, output: OutputRef, stamped: StampedValue) -> None:
        """Lay a value down where it is needed, and send the bundle that it belongs to."""
        if targets and targets[0].node < 0:
            self.results[targets[0].port] = stamped.value
            return
        self.activations.setdefault(tag, SegmentActivation())
        activation = self.activations[tag]
        activation.values[output] = stamped.value
        for edge in targets:
            assert edge not in activation.tokens, f"S4: two tokens at {edge} under {tag}"
            activation.tokens[edge] = stamped
            self.last_wave = max(self.last_wave, stamped.wave)
        bundle = self.segmentation.bundle_of.get(output)
        if bundle is not None and bundle not in activation.sent:
            activation.sent.add(bundle)
            self.flight.append((tag, bundle))
