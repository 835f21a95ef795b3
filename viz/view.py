"""The view: what a picture shows, as plain data: boxes and arrows, with badges, in clusters.

Everything that is drawn is a view first: a program, a graph, a graph at a moment of a run, the firings of a run, its
tags. What makes views knows nothing of shapes, colours and coordinates; what prints them (as DOT, in the characters of
a terminal) knows nothing of programs and tokens. Between the two, functions of a view make another: `collapse`
folds clusters, `state_view` puts the tokens of a run on it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from itertools import chain
from typing import Any, Literal, NamedTuple, TypeAlias, get_args

BoxKind: TypeAlias = Literal[
    "arithmetic", "comparison", "logic", "literal", "merge", "switch", "call", "return", "enter", "exit",
    "next_iteration", "reenter", "back", "pullback", "cells", "effect", "random", "breakpoint", "argument", "result",
    "activation", "iteration", "folded", "folded_loop", "unknown",
]  # fmt: skip
"""What a box is, as far as looks go."""

LinkKind: TypeAlias = Literal[
    "data", "predicate", "trigger", "order", "call", "back", "before", "control", "cell", "below"
]
"""What an arrow is, as far as looks go."""

ClusterKind: TypeAlias = Literal["function", "loop", "part", "cond", "branch", "pullback"]
"""What a cluster is, as far as looks go; a loop has parts, a cond branches, and each of them may have pullbacks."""

BadgeMark: TypeAlias = Literal["flight", "waits", "parked", "held", "fired", "ready", "trap", "open", "came", "more"]
"""What a badge says: a token that is in flight, waits for partners, is parked at an empty cell, or held by a bound; a
box that has just fired, that can fire next, that trapped; an activation that is open; a result that has come; and that
there is more."""


class Badge(NamedTuple):
    """A small mark on a box or an arrow: a token's value, and under which tag it is."""

    mark: BadgeMark
    text: str
    detail: str = ""
    """What stands beside it in smaller letters."""
    tooltip: str = ""


class Box(NamedTuple):
    """A box, with one line of text or two. No other of the view has its name."""

    name: str
    kind: BoxKind
    title: str
    subtitle: str = ""
    tooltip: str = ""
    badges: tuple[Badge, ...] = ()
    emphasized: bool = False
    """Whether the eye is to find it first."""


class ViewArrow(NamedTuple):
    """An arrow from one box to another, by their names."""

    tail: str
    head: str
    link: LinkKind
    label: str = ""
    """What is written at its beginning."""
    tooltip: str = ""
    port: int = 0
    """The port of the head that it ends on."""
    badges: tuple[Badge, ...] = ()
    is_reversed: bool = False
    """Whether it is laid out as if it ran from head to tail, so that what is earlier stands above."""
    is_unconstrained: bool = False
    """Whether it has no say in where boxes stand."""
    head_cluster: str = ""
    """The cluster at whose border it is drawn to end."""
    emphasized: bool = False


@dataclass(slots=True)
class Cluster:
    """A frame around boxes, and around the clusters inside it. The outermost of a view is not drawn."""

    name: str
    kind: ClusterKind = "function"
    title: str = ""
    tooltip: str = ""
    subject: str = ""
    """What it is of, by the name that people use: a function, or a loop as `fib.loop`."""
    series: str = ""
    """The loop that it is an iteration of, if it is one: those beside it of the same series are the others."""
    boxes: dict[str, Box] = field(default_factory=dict)
    same_rank: list[str] = field(default_factory=list)
    """Boxes that stand side by side, from left to right."""
    clusters: list[Cluster] = field(default_factory=list)

    def add_cluster(self, kind: ClusterKind, title: str, tooltip: str, subject: str = "") -> Cluster:
        """A new cluster inside this one."""
        inner = Cluster(f"{self.name}_{len(self.clusters)}", kind, title, tooltip, subject)
        self.clusters.append(inner)
        return inner

    def add_box(self, name: str, kind: BoxKind, first: str, second: str = "", tooltip: str = "") -> None:
        """A new box in this cluster."""
        self.boxes[name] = Box(name, kind, first, second, tooltip)

    def copy(self) -> Cluster:
        """An equal cluster that goes its own way."""
        made = replace(self, boxes=self.boxes.copy(), clusters=list(self.clusters))
        waiting = [made]
        while waiting:
            around = waiting.pop()
            around.clusters = [replace(each, boxes=each.boxes.copy()) for each in around.clusters]
            waiting.extend(around.clusters)
        return made

    def walk(self) -> Iterator[Cluster]:
        """This cluster and all inside it, the outer before the inner."""
        waiting = [self]
        while waiting:
            yield (cluster := waiting.pop())
            waiting.extend(reversed(cluster.clusters))


@dataclass(slots=True)
class View:
    """A picture, before anybody has decided how it looks."""

    name: str
    caption: str = ""
    """A line below it."""
    root: Cluster = field(default_factory=lambda: Cluster("cluster"))
    arrows: list[ViewArrow] = field(default_factory=list)
    rank_constraints: list[tuple[str, str]] = field(default_factory=list)
    """Pairs of boxes of which the first is kept above the second, though no arrow says so."""

    def add_arrow(self, tail: str, head: str, link: LinkKind, label: str = "", tooltip: str = "", **more: Any) -> None:
        """A new arrow; `more` are other fields of it."""
        self.arrows.append(ViewArrow(tail, head, link, label, tooltip, **more))

    @property
    def marks(self) -> tuple[BadgeMark, ...]:
        """The marks of all badges, each once, in the order in which they are declared."""
        badges = [*(box.badges for box in self.boxes.values()), *(arrow.badges for arrow in self.arrows)]
        used = {badge.mark for badge in chain.from_iterable(badges)}
        return tuple(mark for mark in get_args(BadgeMark) if mark in used)

    @property
    def boxes(self) -> dict[str, Box]:
        """All boxes, by name."""
        return {name: box for cluster in self.root.walk() for name, box in cluster.boxes.items()}

    def copy(self) -> View:
        """An equal view, to put badges on."""
        return replace(self, root=self.root.copy(), arrows=self.arrows.copy())
