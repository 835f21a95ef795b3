"""Making the image of a graph: scopes, frames, and where operands lie."""

from __future__ import annotations

from collections.abc import Mapping
from threading import Lock

import numpy as np

from ...core import dtypes
from ...core.errors import Usage
from ...core.graph.contexts import Places
from ...core.graph.graph import Graph, Node, Output, Source
from ...core.ops.effect_op import ACTS
from ...core.ops.op import OPS
from ...core.program.program import BOUND
from ...core.tag import ENVIRONMENT, Site, site_key
from ...core.types import Type
from ...core.value import Value
from ..lru_cache import Recent
from .image import (
    LINE,
    MOST_OPERANDS,
    MOST_PASSED,
    NODE,
    PORT,
    PORT_BITS,
    SCOPE,
    SCRATCH,
    Header,
    Image,
    Words,
    is_boxed,
    signed,
    word_of,
)
from .opcodes import Code, cast_code, code_of


def image(graph: Graph, bounds: Mapping[Site, int] | None = None) -> Image:
    """The image of a graph that keeps the rules; `bounds` take the place of those that its loops have.

    Raises Usage where it is too large for this form.
    """
    return _Making(graph, bounds).image()


_kept: Recent[tuple[int, tuple[tuple[Site, int], ...]], Image] = Recent(64)
_keeping = Lock()
"""Held while `_kept` changes: several threads may run programs."""


def known_image(graph: Graph, bounds: Mapping[Site, int]) -> Image:
    """The image of a graph, made once: of the last graphs that ran, by which they are and not by what they equal."""
    key = id(graph), tuple(bounds.items())
    with _keeping:
        found = _kept.used(key)
        if found is None or found.graph is not graph:
            found = _kept.keep(key, image(graph, bounds))
    return found


class _Making:
    def __init__(self, graph: Graph, bounds: Mapping[Site, int] | None) -> None:
        self.graph, self.bounds = graph, bounds
        self.places = Places(graph)
        self.sites: list[Site] = list(
            dict.fromkeys([ENVIRONMENT, *(n.site for n in graph.nodes if n.site is not None)])
        )
        self.first_port: list[int] = []
        self.edges: list[int] = []
        self.routes: list[tuple[int, int]] = []
        self.links: dict[tuple[str, Site], int] = {}
        """Of loops that go back: the words of frames for the iteration before, and, around the loop, for the last."""
        self.literals: list[int] = [0, 0]
        self.objects: list[Value] = []
        count = 0
        for node in graph.nodes:
            self.first_port.append(count)
            count += len(node.ports)
        if count >= 2**PORT_BITS:
            raise Usage(
                "this graph is too large for an image", required=f"fewer than {2**PORT_BITS:,} ports", got=count
            )
        self.scope_of = [self._scope(number, node) for number, node in enumerate(graph.nodes)]
        self.scopes: list[str | Site] = list(
            dict.fromkeys([graph.name, *self.scope_of, *map(self._inside, self.sites)])
        )
        self.keyed = any(node.op in ACTS and ACTS[node.op].draw is not None for node in graph.nodes)
        self.bounded = any(self._bound(node) for node in graph.nodes)
        self.header = len(Header) if self.bounded else Header.KEY + 1 if self.keyed else Header.KEY

    def image(self) -> Image:
        graph = self.graph
        types = [type_ for number in range(len(graph.nodes)) for type_ in self._types(number)]
        nodes = np.zeros((len(graph.nodes), len(NODE)), np.int64)
        ports = np.zeros((len(types), len(PORT)), np.int64)
        scopes = np.zeros((len(self.scopes), len(SCOPE)), np.int64)
        for number, scope in enumerate(self.scopes):
            scopes[number] = self._frame(self._members(scope).tolist(), nodes, ports)
        for number, node in enumerate(graph.nodes):
            self._node(number, node, nodes, types)
            self._ports(number, node, ports, types)
        return Image(
            graph, nodes, ports,
            np.array(self.edges or [0], np.int64),
            np.array(self.routes or [(0, 0)], np.int64),
            np.array([self._site(site) for site in self.sites], np.int64),
            scopes,
            np.array(self.literals + [0] * (_lines(len(self.literals)) - len(self.literals)), np.int64),
            tuple(self.objects), tuple(self.sites), tuple(self.scopes), tuple(types),
            tuple(tuple(self._port(edge.node, edge.port) for edge in output.edges) for _, output in graph.arguments),
            self.header, self.keyed, self.bounded, tuple(self.first_port), tuple(map(self._members, self.scopes)),
        )  # fmt: skip

    def _members(self, scope: str | Site) -> Words:
        return np.array([number for number, of in enumerate(self.scope_of) if of == scope], np.int64)

    def _port(self, node: int, port: int) -> int:
        return self.first_port[node] + port

    def _scope(self, number: int, node: Node) -> str | Site:
        """The function or loop under whose tags a node fires."""
        if node.op == "return":
            assert node.site is not None
            return self.places.callees[node.site]
        if node.op == "merge":
            return self.places.of[Source(number, 0)].context
        port = next(position for position, literal in enumerate(node.ports) if literal is None)
        return self.places.of[self.places.source(number, port)].context

    def _inside(self, site: Site) -> str | Site:
        return site if site.kind == "loop" else self.places.callees[site]

    def _types(self, number: int) -> list[Type]:
        node = self.graph.nodes[number]
        return [
            literal.type if literal is not None else self.graph.output(self.places.source(number, port)).type
            for port, literal in enumerate(node.ports)
        ]

    def _bound(self, node: Node) -> int:
        if node.op != "next_iteration" or node.site is None or node.phase:
            return 0
        found = dict(node.attributes).get(BOUND) if self.bounds is None else self.bounds.get(node.site)
        return found or 0

    def _frame(self, members: list[int], nodes: Words, ports: Words) -> tuple[int, int]:
        """Lay out the frame of a scope: bits first, then places for activations, then for operands."""
        word, bit = self.header, 0
        for number in members:
            waits = self._waits(number)
            if bit + len(waits) + 1 > 63:
                word, bit = word + 1, 0
            nodes[number, NODE.STATE] = word
            for port in waits:
                ports[self._port(number, port), PORT.BIT] = 1 << bit
                nodes[number, NODE.FULL] |= 1 << bit
                bit += 1
            nodes[number, NODE.FIRED] = 1 << bit
            bit += 1
        word += 1
        known: dict[tuple[str, Site], int] = {}
        for number in members:
            node = self.graph.nodes[number]
            shared = node.site is not None and self._entering(node) > 1
            if node.site is not None and node.op in ("call", "enter", "next_iteration") and shared:
                kind = "next" if node.op == "next_iteration" else "below"
                if (kind, node.site) not in known:
                    known[kind, node.site] = word
                    word += 1
                nodes[number, NODE.PLACE] = known[kind, node.site]
        for number in members:
            node = self.graph.nodes[number]
            if node.site is not None and node.op in ("reenter", "back") and (node.op, node.site) not in self.links:
                self.links[node.op, node.site] = word
                word += 1
        cleared = word
        for number in members:
            waits = self._waits(number)
            for position, port in enumerate(waits):
                ports[self._port(number, port), PORT.WAIT] = word if len(waits) == 2 else word + position
            word += {0: 0, 2: 1}.get(len(waits), len(waits))
        return _lines(word), cleared

    def _entering(self, node: Node) -> int:
        """How many nodes send into the activations that this one sends to."""
        assert node.site is not None
        return len(self.places.by_site[node.op, node.site])

    def _waits(self, number: int) -> list[int]:
        """The ports whose tokens may have to wait for others."""
        node = self.graph.nodes[number]
        open_ports = [port for port, literal in enumerate(node.ports) if literal is None]
        if node.op == "merge" or len(open_ports) < 2:
            return []
        if len(open_ports) > MOST_OPERANDS:
            required = f"nodes of at most {MOST_OPERANDS} operands"
            raise Usage(f"{node} is too large for an image", where=node.where, required=required, got=len(open_ports))
        return open_ports

    def _node(self, number: int, node: Node, nodes: Words, types: list[Type]) -> None:
        row, mine = nodes[number], types[self.first_port[number] : self.first_port[number] + len(node.ports)]
        row[NODE.CODE] = code_of(node, mine, number in self.graph.results)
        row[NODE.NEEDS] = 1 if node.op == "merge" else sum(literal is None for literal in node.ports)
        row[NODE.ROUTE] = row[NODE.ROUTE_SECOND] = -1
        if number in self.graph.results:
            row[NODE.FIRST] = row[NODE.SECOND] = row[NODE.END] = 0
            row[NODE.SITE] = self.graph.results.index(number)
        else:
            outputs = [*node.outputs, Output(Type(dtypes.bool), ())][:2]
            for position, (begin, output) in enumerate(zip((NODE.FIRST, NODE.SECOND), outputs, strict=False)):
                row[begin] = len(self.edges)
                self._edges(row, position, output)
            if len(outputs) < 2:
                row[NODE.SECOND] = len(self.edges)
            row[NODE.END] = len(self.edges)
            row[NODE.SITE] = -1 if node.site is None else self.sites.index(node.site)
        row[NODE.BOUND] = self._bound(node)
        if node.outputs:
            row[NODE.CAST] = cast_code(node.outputs[0].type.dtype) if node.op in OPS else 0
            row[NODE.BOXED] = is_boxed(node.outputs[0].type)
        if node.triggered and is_boxed(mine[-1]) and row[NODE.CODE] != Code.LEAVE:
            row[NODE.BOXED] |= 2
        if node.ports and node.ports[0] is not None:
            row[NODE.BOXED] |= 4
        row[NODE.SPECIAL] = any((row[NODE.CAST], row[NODE.BOXED], row[NODE.ROUTE] + 1, row[NODE.ROUTE_SECOND] + 1))

    def _edges(self, row: Words, position: int, output: Output) -> None:
        """S10: the edges of an output, and, where it feeds returns, those for each site on top of the tag."""
        targets = [self._port(edge.node, edge.port) for edge in output.edges]
        self.edges += targets
        returns = {
            port: self.graph.nodes[edge.node].site
            for edge, port in zip(output.edges, targets, strict=True)
            if self.graph.nodes[edge.node].op == "return"
        }
        if not returns:
            return
        row[NODE.ROUTE_SECOND if position else NODE.ROUTE] = len(self.routes)
        for site in self.sites:
            begin = len(self.edges)
            self.edges += [port for port in targets if port not in returns or returns[port] == site]
            self.routes.append((begin, len(self.edges)))

    def _ports(self, number: int, node: Node, ports: Words, types: list[Type]) -> None:
        """Where the operands of a node lie when the token of each port comes last."""
        base, waits = self.first_port[number], self._waits(number)
        literals = {
            position: ~self._literal(literal.value, types[base + position])
            for position, literal in enumerate(node.ports)
            if literal is not None
        }
        for last in range(len(node.ports)):
            row = ports[base + last]
            row[PORT.NODE] = number
            if node.site is not None:
                row[PORT.LINK] = self.links.get((_LINKED.get(node.op, node.op), node.site), 0)
            for column, position in zip((PORT.A, PORT.B, PORT.C), range(len(node.ports)), strict=False):
                if position in literals:
                    row[column] = literals[position]
                else:
                    row[column] = ports[base + position, PORT.WAIT] if position != last and waits else ~SCRATCH
            if node.op == "merge":
                row[PORT.A] = ~SCRATCH

    def _literal(self, value: Value, type_: Type) -> int:
        """The word of memory that a literal lies in."""
        if is_boxed(type_):
            self.objects.append(value)
            word = len(self.objects) - 1
        else:
            word = word_of(value, type_.dtype)
        self.literals.append(word)
        return len(self.literals) - 1

    def _site(self, site: Site) -> tuple[int, ...]:
        numbers = self.places.by_site
        coming = len(self.graph.arguments) if site == ENVIRONMENT else 0
        coming += sum(len(numbers.get((op, site), ())) for op in ("call", "enter", "reenter"))
        leaving = len(numbers.get(("return", site), ()))
        if max(coming, leaving) > MOST_PASSED:
            required = f"at most {MOST_PASSED:,} arguments and results of a function, and variables of a loop"
            raise Usage(f"{site} is too large for an image", required=required, got=max(coming, leaving))
        scope = self.scopes.index(self._inside(site))
        bound = max((self._bound(self.graph.nodes[n]) for n in numbers.get(("next_iteration", site), ())), default=0)
        return scope, coming, leaving, signed(site_key(site)), bound


_LINKED = {"next_iteration": "back", "exit": "reenter"}
"""Which op asks for what a firing of this one says of its frame."""


def _lines(words: int) -> int:
    """So many words, and what is missing to the next line of the processor's cache."""
    return -(-words // LINE) * LINE
