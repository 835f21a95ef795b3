"""Fixtures for tests of pictures: programs to draw, and DOT read back by Graphviz's own parser."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from html import unescape
from typing import Any, NamedTuple

import tagloom as tl
from hypothesis import strategies as st
from pygraphviz import AGraph
from tagloom.core.graph.graph import Graph, OutputRef
from tagloom.core.ops.routing import ROUTING_OPS
from tagloom.core.program.program import PHASE, Program
from tagloom.core.tag import Site
from tagloom.core.types import Type
from tagloom.core.value import literal
from tagloom.viz.dot import SUBTITLE_GAP, TITLE_GAP, to_dot
from tagloom.viz.graph_view import graph_view
from tagloom.viz.program_view import program_view


def graph_dot(graph: Graph) -> str:
    return to_dot(graph_view(graph))


def program_dot(program: Program) -> str:
    return to_dot(program_view(program))


@tl.function
def fib(n: tl.int64) -> tl.int64:
    return tl.cond(n <= 1, lambda: 1, lambda: fib(n - 1) + fib(n - 2))


@tl.function
def ack(m: tl.int64, n: tl.int64) -> tl.int64:
    def inner() -> Any:
        return tl.cond(n <= 0, lambda: ack(m - 1, 1), lambda: ack(m - 1, ack(m, n - 1)))

    return tl.cond(m <= 0, lambda: n + 1, inner)


@tl.function
def even(n: tl.int64) -> tl.bool:
    return tl.cond(n <= 0, lambda: True, lambda: odd(n - 1))


@tl.function
def odd(n: tl.int64) -> tl.bool:
    return tl.cond(n <= 0, lambda: False, lambda: even(n - 1))


@tl.function
def nested(n: tl.int64) -> tl.int64:
    def outer(i: Any, s: Any) -> Any:
        _, t = tl.while_loop(lambda j, t: j < i, lambda j, t: (j + 1, t + i * j), 0, s)
        return i + 1, t

    return tl.while_loop(lambda i, s: i < n, outer, 0, 0)[1]


@tl.function
def square(x: tl.float64) -> tl.float64:
    return x * x


@tl.function
def main(x: tl.float64, n: tl.int64) -> tl.float64:
    """Calls of another function, inside a loop and outside, with literals and without."""
    _, s = tl.while_loop(lambda i, s: i < n, lambda i, s: (i + 1, s + square(x) - square(s)), 0, 0.0)
    return tl.sqrt(tl.abs(s)) + square(2.0) - x


FUNCTIONS = {function.name: function for function in (fib, ack, even, nested, main)}
INT = Type(tl.int64)


def race() -> Graph:
    """A graph that breaks the rules: two tokens meet under one tag."""
    builder = tl.GraphBuilder("race")
    x = builder.argument("x", INT)
    (m,) = builder.node("merge", "m", [x, x], [INT])
    return builder.build([m])


STRANGE = (
    "a",
    "",
    " ",
    "loop.i",
    'q"uote',
    "a\\N",
    "\\",
    "<b>",
    "<b>x</b>",
    "&amp;",
    "a:b:c",
    "x\ny",
    "\0",
    "é",
    "n" * 99,
)
_OPS = (*ROUTING_OPS, "add", "less", "identity", "nonsense")
_SITES = tuple(Site(function, name, kind) for function in "fg" for name in "rs" for kind in ("call", "loop"))


@st.composite
def graphs(draw: Any) -> Graph:
    """Graphs of any kind, hardly ever valid: wrong numbers of ports, missing sites, edges to any port, strange
    names."""
    name, op, site = st.sampled_from(STRANGE), st.sampled_from(_OPS), st.sampled_from((None, *_SITES))
    builder = tl.GraphBuilder(draw(name))
    sources: list[OutputRef | None] = [
        None,
        *(builder.argument(draw(name), INT) for _ in range(draw(st.integers(0, 2)))),
    ]
    count = draw(st.integers(0, 8))
    for _ in range(count):
        port = st.sampled_from([*sources, literal(3)])
        sources += builder.node(
            draw(op),
            draw(name),
            draw(st.lists(port, max_size=3)),
            [INT] * draw(st.integers(0, 3)),
            function=draw(st.sampled_from("fg")),
            attributes=draw(st.sampled_from(((), (), ((PHASE, 1),)))),
            site=draw(site),
            trigger=draw(st.sampled_from(sources)),
        )
    ends = [source for source in sources if source is not None]
    for _ in range(draw(st.integers(0, 4)) if ends and count else 0):
        builder.connect(draw(st.sampled_from(ends)), draw(st.integers(0, count - 1)), draw(st.integers(0, 3)))
    builder.calls = {site: draw(st.sampled_from("fgh")) for site in _SITES if draw(st.booleans())}
    return builder.build(draw(st.lists(st.sampled_from(ends), max_size=2)) if ends else [])


class Edge(NamedTuple):
    """An edge in the direction of its arrow, however it is laid out."""

    tail: str
    head: str
    link: str
    label: str
    tooltip: str
    style: str


class Drawing:
    """DOT source as Graphviz reads it."""

    def __init__(self, source: str) -> None:
        self.source = source
        self.graph = AGraph(string=source)
        self.nodes = {str(node): dict(node.attr) for node in self.graph.nodes()}
        self.edges = [_edge(edge) for edge in self.graph.edges() if edge.attr["style"] != "invis"]
        self.paths: dict[str, tuple[str, ...]] = dict.fromkeys(self.nodes, ())
        """For every node, the titles of the clusters around it, outermost first."""
        self.titles: list[tuple[str, ...]] = []
        """For every cluster, the titles of the clusters around it and its own."""
        self._enter(self.graph, ())

    def _enter(self, graph: AGraph, path: tuple[str, ...]) -> None:
        for inner in graph.subgraphs():
            if not (inner.name or "").startswith("cluster"):
                continue
            here = (*path, text(inner.graph_attr["label"])[0])
            self.titles.append(here)
            self.paths.update((str(node), here) for node in inner.nodes())
            self._enter(inner, here)

    def statements(self) -> Counter[str]:
        """The number of statements with attributes of each node."""
        return Counter(re.findall(r"^\s*(\w+) \[", self.source, re.MULTILINE))

    def says(self, node: str) -> list[str]:
        """The lines of a node's label."""
        return text(self.nodes[node]["label"])

    def of(self, link: str) -> Iterator[Edge]:
        """The edges of a class."""
        return (edge for edge in self.edges if edge.link == link)


def _edge(edge: Any) -> Edge:
    ends = (str(edge[1]), str(edge[0])) if edge.attr["dir"] == "back" else (str(edge[0]), str(edge[1]))
    attributes = (edge.attr["class"], *text(edge.attr["label"] or ""), edge.attr["tooltip"], edge.attr["style"])
    return Edge(*ends, *attributes)


def text(label: str) -> list[str]:
    """The lines of an HTML-like label, without the gaps between the lines of a box."""
    lines = label.replace(SUBTITLE_GAP, "<br/>").replace(TITLE_GAP, "<br/>").split("<br/>")
    return [unescape(re.sub("<[^>]*>", "", line)).strip("\xa0") for line in lines]
