"""The unfolded graph of a run: a box for each firing, in a cluster for each activation.

The static graph has each node once, and cycles where the program loops or recurs. The unfolded graph has a node for
each firing and no cycles. The critical path is a longest path through it.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace
from itertools import pairwise

from ..core.errors import plural
from ..core.graph.graph import Graph
from ..core.ops.effects import resource_of
from ..core.tag import ROOT, Tag
from ..core.value import Value
from ..interp.machine.event import Event
from ..interp.outcome.critical_path import critical_path
from ..interp.queries.index import EventIndex
from .collapse import MAX_BOXES
from .labels import NodeLabels
from .state_view import abbreviate_value
from .style import kind_of
from .view import Box, Cluster, ClusterKind, LinkKind, View, ViewArrow


def unfolded_view(graph: Graph, arguments: Sequence[Value], events: Sequence[Event]) -> View:
    """A view of all firings of a run, from its first event on, with an arrow for each token from one firing to
    another."""
    return _UnfoldedGraph(graph, arguments, events).build(
        {number for number, event in enumerate(events) if event.is_firing}
    )


def critical_view(graph: Graph, arguments: Sequence[Value], events: Sequence[Event]) -> View:
    """The unfolded view with the critical path in bold; if a run has more than MAX_BOXES firings, the path alone."""
    path = [firing.event for firing in critical_path(graph, events)]
    firings = {number for number, event in enumerate(events) if event.is_firing}
    fits = len(firings) <= MAX_BOXES
    view = _UnfoldedGraph(graph, arguments, events).build(firings if fits else set(path))
    strong, steps = {f"e{number}" for number in path}, set(pairwise(path))
    view.arrows = [arrow._replace(emphasized=firing_numbers(arrow) in steps) for arrow in view.arrows]
    for cluster in view.root.walk():
        for name in strong & cluster.boxes.keys():
            cluster.boxes[name] = cluster.boxes[name]._replace(emphasized=fits)
    view.caption = f"{graph.name}: a critical path of {plural(len(path), 'firing')}, of {len(firings):,} in all"
    return view


def side_by_side(left: View, right: View) -> View:
    """One view with two views side by side."""
    result = View(left.name, "; ".join(filter(None, [left.caption, right.caption])))
    for prefix, view in (("l_", left), ("r_", right)):
        _copy_clusters(view.root, result.root, prefix)
        result.rank_constraints += [(prefix + upper, prefix + lower) for upper, lower in view.rank_constraints]
        for arrow in view.arrows:
            into = prefix_cluster(arrow.head_cluster, prefix)
            result.arrows.append(arrow._replace(tail=prefix + arrow.tail, head=prefix + arrow.head, head_cluster=into))
    return result


def _copy_clusters(root: Cluster, target_root: Cluster, prefix: str) -> None:
    waiting = [(root, target_root)]
    while waiting:
        source, target = waiting.pop()
        for box in source.boxes.values():
            target.boxes[prefix + box.name] = box._replace(name=prefix + box.name)
        target.same_rank += [prefix + name for name in source.same_rank]
        for inner in source.clusters:
            copy = replace(inner, name=prefix_cluster(inner.name, prefix), boxes={}, same_rank=[], clusters=[])
            target.clusters.append(copy)
            waiting.append((inner, copy))


def prefix_cluster(cluster: str, prefix: str) -> str:
    """A prefixed name for a cluster; it keeps its beginning, because Graphviz draws a frame only for such names."""
    return cluster.replace("cluster_", f"cluster_{prefix}", 1)


def firing_numbers(arrow: ViewArrow) -> tuple[int, int] | None:
    """The event numbers at both ends of an arrow, if both are firings."""
    ends = arrow.tail, arrow.head
    return (int(ends[0][1:]), int(ends[1][1:])) if all(name.startswith("e") for name in ends) else None


class _UnfoldedGraph:
    """Draws the firings of a run; the box of a firing is named e and its event number."""

    def __init__(self, graph: Graph, arguments: Sequence[Value], events: Sequence[Event]) -> None:
        self.graph, self.events = graph, events
        self.labels = NodeLabels(graph)
        self.index = EventIndex(graph, arguments, events)
        self.result = View(graph.name)
        self.clusters: dict[Tag, Cluster] = {}

    def build(self, firings: Collection[int]) -> View:
        for number in sorted(firings):
            self.add_firing(number, firings)
        for position, node in enumerate(self.graph.results):
            return_event = self.index.firing_event(node, ROOT)
            if return_event in firings:
                self.result.root.add_box(f"r{position}", "result", "result", tooltip=f"result {position}")
                self.result.add_arrow(f"e{return_event}", f"r{position}", "data")
        firing_count = sum(event.is_firing for event in self.events)
        self.result.caption = (
            f"{self.graph.name}: {plural(firing_count, 'firing')} of {plural(len(self.graph.nodes), 'node')}"
        )
        return self.result

    def add_firing(self, number: int, firings: Collection[int]) -> None:
        event = self.events[number]
        node = self.graph.nodes[event.token.node]
        first, _ = self.labels.label_lines(event.token.node)
        results = " ".join(abbreviate_value(value) for _, value in event.outputs[:1]) if event.trap is None else "traps"
        tooltip = str(self.index.origin(number))
        cluster = self.find_or_add_cluster(event.token.tag)
        cluster.boxes[f"e{number}"] = Box(f"e{number}", kind_of(node.op), first, results, tooltip)
        for port, sender in self.index.operands(number):
            if sender < 0:
                self.add_argument(-1 - sender)
            if sender < 0 or sender in firings:
                name = f"e{sender}" if sender >= 0 else f"a{-1 - sender}"
                link = self.link_kind(number, port, sender)
                where = "the store that fills the cell" if port < 0 else f"to port {port}"
                self.result.add_arrow(name, f"e{number}", link, tooltip=where, port=port)

    def add_argument(self, position: int) -> None:
        name, output = self.graph.arguments[position]
        label = f"{name} = {abbreviate_value(self.index.arguments[position])}"
        self.result.root.add_box(f"a{position}", "argument", label, tooltip=f"argument {name}: {output.type}")

    def link_kind(self, number: int, port: int, sender: int) -> LinkKind:
        """The kind of the dependence between two firings."""
        node = self.graph.nodes[self.events[number].token.node]
        op = self.graph.nodes[self.events[sender].token.node].op if sender >= 0 else ""
        if port < 0:
            return "cell"
        if node.has_trigger and port == len(node.ports) - 1:
            return "order" if resource_of(node.op) else "trigger"
        if op in ("call", "return"):
            return "call"
        if op == "next_iteration":
            return "back"
        if op == "back" and self.events[sender].outputs[0][0] == 0:
            return "before"
        return "predicate" if node.op in ("switch", "dead_switch") and port == 1 else "data"

    def find_or_add_cluster(self, tag: Tag) -> Cluster:
        """The cluster of an activation, inside the cluster of its parent."""
        for open_tag in self.tags_without_cluster(tag):
            if open_tag.parent is None:
                parent, title = self.result.root, self.graph.name
            else:
                parent, title = self.clusters[open_tag.parent], open_tag.last_step
            is_loop = open_tag.site.kind == "loop"
            kind: ClusterKind = "loop" if is_loop else "function"
            self.clusters[open_tag] = parent.add_cluster(kind, title, f"activation {open_tag}", str(open_tag))
            self.clusters[open_tag].loop = str(open_tag.site) if is_loop else ""
        return self.clusters[tag]

    def tags_without_cluster(self, tag: Tag) -> Iterator[Tag]:
        """The tags on the path from the root to this one that have no cluster yet."""
        new = []
        for ancestor in tag.self_and_ancestors():
            if ancestor in self.clusters:
                break
            new.append(ancestor)
        return reversed(new)
