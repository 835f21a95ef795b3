"""The unfolded graph of a run: a box for each firing, in a cluster for each activation.

The static graph has each node once, and cycles where the program loops or recurs; what a run unfolds from it has a
node for each firing, and no cycle. The critical path is a longest way through it.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace
from itertools import pairwise

from ..core.errors import counted
from ..core.graph.graph import Graph
from ..core.ops.effect_op import resource_of
from ..core.tag import ROOT, Tag
from ..core.value import Value
from ..interp.machine.event import Event
from ..interp.outcome.critical_path import critical_path
from ..interp.queries.index import Index
from .collapse import LARGEST
from .labels import Words
from .state_view import brief
from .style import kind_of
from .view import Arrow, Box, Cluster, Enclosure, Link, View


def unfolded_view(graph: Graph, arguments: Sequence[Value], events: Sequence[Event]) -> View:
    """The view of all firings among the events of a run, from its beginning on, and of what each got from whom."""
    return _Unfolding(graph, arguments, events).view({number for number, event in enumerate(events) if event.fired})


def critical_view(graph: Graph, arguments: Sequence[Value], events: Sequence[Event]) -> View:
    """The same with the critical path drawn bold; of a run of many firings, only those on the path."""
    path = [firing.event for firing in critical_path(graph, events)]
    firings = {number for number, event in enumerate(events) if event.fired}
    whole = len(firings) <= LARGEST
    view = _Unfolding(graph, arguments, events).view(firings if whole else set(path))
    strong, steps = {f"e{number}" for number in path}, set(pairwise(path))
    view.arrows = [arrow._replace(strong=_numbers(arrow) in steps) for arrow in view.arrows]
    for cluster in view.outside.all():
        for name in strong & cluster.boxes.keys():
            cluster.boxes[name] = cluster.boxes[name]._replace(strong=whole)
    view.caption = f"{graph.name}: a critical path of {counted(len(path), 'firing')}, of {len(firings):,} in all"
    return view


def beside(left: View, right: View) -> View:
    """One view with two in it."""
    made = View(left.name, "; ".join(filter(None, [left.caption, right.caption])))
    for prefix, view in (("l_", left), ("r_", right)):
        _copy(view.outside, made.outside, prefix)
        made.above += [(prefix + upper, prefix + lower) for upper, lower in view.above]
        for arrow in view.arrows:
            into = _renamed(arrow.into, prefix)
            made.arrows.append(arrow._replace(tail=prefix + arrow.tail, head=prefix + arrow.head, into=into))
    return made


def _copy(outside: Cluster, into: Cluster, prefix: str) -> None:
    waiting = [(outside, into)]
    while waiting:
        source, target = waiting.pop()
        for box in source.boxes.values():
            target.boxes[prefix + box.name] = box._replace(name=prefix + box.name)
        target.level += [prefix + name for name in source.level]
        for inner in source.clusters:
            copy = replace(inner, name=_renamed(inner.name, prefix), boxes={}, level=[], clusters=[])
            target.clusters.append(copy)
            waiting.append((inner, copy))


def _renamed(cluster: str, prefix: str) -> str:
    """The name of a cluster among those of another view: it begins as before, so that Graphviz draws a frame."""
    return cluster.replace("cluster_", f"cluster_{prefix}", 1)


def _numbers(arrow: Arrow) -> tuple[int, int] | None:
    """The events at the ends of an arrow, where both are firings."""
    ends = arrow.tail, arrow.head
    return (int(ends[0][1:]), int(ends[1][1:])) if all(name.startswith("e") for name in ends) else None


class _Unfolding:
    """Draws the firings of a run, of which each is called e and its number."""

    def __init__(self, graph: Graph, arguments: Sequence[Value], events: Sequence[Event]) -> None:
        self.graph, self.events = graph, events
        self.words = Words(graph)
        self.index = Index(graph, arguments, events)
        self.drawn = View(graph.name)
        self.clusters: dict[Tag, Cluster] = {}

    def view(self, firings: Collection[int]) -> View:
        for number in sorted(firings):
            self.firing(number, firings)
        for position, node in enumerate(self.graph.results):
            returned = self.index.fired(node, ROOT)
            if returned in firings:
                self.drawn.outside.box(f"r{position}", "result", "result", tooltip=f"result {position}")
                self.drawn.arrow(f"e{returned}", f"r{position}", "data")
        kept = sum(event.fired for event in self.events)
        self.drawn.caption = f"{self.graph.name}: {counted(kept, 'firing')} of {counted(len(self.graph.nodes), 'node')}"
        return self.drawn

    def firing(self, number: int, firings: Collection[int]) -> None:
        event = self.events[number]
        node = self.graph.nodes[event.token.node]
        first, _ = self.words.of(event.token.node)
        made = " ".join(brief(value) for _, value in event.outputs[:1]) if event.trap is None else "traps"
        tooltip = str(self.index.origin(number))
        cluster = self.cluster(event.token.tag)
        cluster.boxes[f"e{number}"] = Box(f"e{number}", kind_of(node.op), first, made, tooltip)
        for port, sender in self.index.operands(number):
            if sender < 0:
                self.argument(-1 - sender)
            if sender < 0 or sender in firings:
                name = f"e{sender}" if sender >= 0 else f"a{-1 - sender}"
                link = self.link(number, port, sender)
                where = "the store that fills the cell" if port < 0 else f"to port {port}"
                self.drawn.arrow(name, f"e{number}", link, tooltip=where, port=port)

    def argument(self, position: int) -> None:
        name, output = self.graph.arguments[position]
        said = f"{name} = {brief(self.index.arguments[position])}"
        self.drawn.outside.box(f"a{position}", "argument", said, tooltip=f"argument {name}: {output.type}")

    def link(self, number: int, port: int, sender: int) -> Link:
        """What kind of dependence this is."""
        node = self.graph.nodes[self.events[number].token.node]
        op = self.graph.nodes[self.events[sender].token.node].op if sender >= 0 else ""
        if port < 0:
            return "cell"
        if node.triggered and port == len(node.ports) - 1:
            return "order" if resource_of(node.op) else "trigger"
        if op in ("call", "return"):
            return "call"
        if op == "next_iteration":
            return "back"
        if op == "back" and self.events[sender].outputs[0][0] == 0:
            return "before"
        return "predicate" if node.op == "switch" and port == 1 else "data"

    def cluster(self, tag: Tag) -> Cluster:
        """The cluster of an activation, inside that of its parent."""
        for each in self.missing(tag):
            if each.parent is None:
                around, title = self.drawn.outside, self.graph.name
            else:
                around, title = self.clusters[each.parent], each.last
            is_loop = each.site.kind == "loop"
            kind: Enclosure = "loop" if is_loop else "function"
            self.clusters[each] = around.cluster(kind, title, f"activation {each}", str(each))
            self.clusters[each].series = str(each.site) if is_loop else ""
        return self.clusters[tag]

    def missing(self, tag: Tag) -> Iterator[Tag]:
        """The tags from the root to this one that have no cluster yet."""
        new = []
        for each in tag.steps():
            if each in self.clusters:
                break
            new.append(each)
        return reversed(new)
