"""The view: the content of a diagram as plain data, that is, boxes and arrows with badges, in clusters.

Every diagram is first a view: a program, a graph, a graph at a moment of a run, the firings of a run, its tags. Views
have no shapes, colours and coordinates; these are added by the printers (DOT, terminal cells), which need no programs
and tokens. Between the two are functions from view to view: `collapse` folds clusters, `state_view` adds tokens.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from itertools import chain
from typing import Any, Literal, NamedTuple, TypeAlias, get_args

BoxKind: TypeAlias = Literal[
    "arithmetic", "comparison", "logic", "literal", "merge", "switch", "call", "return", "enter", "exit",
    "next_iteration", "reenter", "back", "pullback", "cells", "effect", "random", "breakpoint", "argument", "result",
    "activation", "iteration", "invariants", "folded", "folded_loop", "unknown",
]  # fmt: skip
"""The kind of a box, which determines its look."""

EXPRESSION_KINDS: tuple[BoxKind, ...] = ("arithmetic", "comparison", "logic")
"""The kinds of the boxes of ops, whose titles are formulas."""

LinkKind: TypeAlias = Literal[
    "data", "predicate", "trigger", "order", "call", "back", "before", "control", "cell", "below"
]
"""The kind of an arrow, which determines its look."""

ClusterKind: TypeAlias = Literal["function", "loop", "part", "cond", "branch", "pullback", "scope"]
"""The kind of a cluster, which determines its look; a loop has parts, a cond has branches, and each may have
pullbacks; a scope is the call of a Python helper."""

BadgeMark: TypeAlias = Literal[
    "flight", "waiting", "dead", "deferred", "throttled", "fired", "ready", "trap", "open", "arrived", "more",
]  # fmt: skip
"""The kind of a badge. A token is in flight, is waiting for partners, is dead, is a deferred read at an empty cell, or
is throttled by a k-bound; a box has just fired, can fire next, or trapped; an activation is open; a result has arrived;
or there is more."""


MAX_LINE_LENGTH = 48
"""The most characters of a line of text in a box; longer ones are cut."""

MAX_BADGES = 3
"""The most badges on one arrow or beside one box; a count replaces the others."""


class Badge(NamedTuple):
    """A small mark on a box or an arrow, such as a token's value and its tag."""

    mark: BadgeMark
    text: str
    detail: str = ""
    """Text beside the value, in smaller letters."""
    tooltip: str = ""
    owner: str = ""
    """The short name of the activation that a token belongs to, if activations are distinguished."""
    colour: str = ""
    """The colour of that activation."""
    is_dim: bool = False
    """Whether that activation is not the current one."""
    counts: tuple[tuple[BadgeMark, int], ...] = ()
    """If the badge stands for several tokens or nodes, how many of them have each mark."""


def count_by_mark(badges: Iterable[Badge]) -> Counter[BadgeMark]:
    """How many tokens or nodes of each mark some badges stand for."""
    count = Counter[BadgeMark]()
    for badge in badges:
        count.update(dict(badge.counts or ((badge.mark, 1),)))
    return count


class BadgeRoom(NamedTuple):
    """Room for badges: the number of their rows, and the most characters of their texts and of their details."""

    row_count: int
    text_length: int
    detail_length: int


class CaptionRoom(NamedTuple):
    """Room for a caption: its lines, the most characters of one, and the marks that the legend below it explains."""

    lines: int
    line_length: int
    marks: tuple[BadgeMark, ...]


class SideConstraints(NamedTuple):
    """Pairs of boxes, the first of which the layout places beside the second, on its left."""

    pairs: tuple[tuple[str, str], ...] = ()
    depth: int = 0
    """In how many clusters they are written; 0 is behind all clusters. Graphviz heeds a constraint at some depths
    only."""
    has_second_pass: bool = True
    """Whether Graphviz minimizes crossings a second time, in all clusters together, which may undo constraints."""


NO_SIDE_CONSTRAINTS = SideConstraints()


class Box(NamedTuple):
    """A box with one or two lines of text. Its name is unique in the view."""

    name: str
    kind: BoxKind
    title: str
    subtitle: str = ""
    tooltip: str = ""
    badges: tuple[Badge, ...] = ()
    emphasized: bool = False
    """Whether the box is highlighted."""


class ViewArrow(NamedTuple):
    """An arrow from one box to another, by name."""

    tail: str
    head: str
    link: LinkKind
    label: str = ""
    """The label at its tail."""
    tooltip: str = ""
    port: int = 0
    """The port of the head at which it ends."""
    badges: tuple[Badge, ...] = ()
    is_reversed: bool = False
    """Whether it is laid out as if it ran from head to tail, so that earlier nodes are above later ones."""
    is_unconstrained: bool = False
    """Whether the layout ignores it when it places boxes."""
    is_tight: bool = False
    """Whether the layout prefers it short to the arrows to its tail."""
    head_cluster: str = ""
    """The cluster at whose border it ends."""
    emphasized: bool = False
    edge_count: int = 1
    """The number of edges that it stands for."""


class Bundle(NamedTuple):
    """Boxes that belong together and can be drawn as one: the arguments and results of a call, the entry merges of a
    function, the gates of a loop's invariants. `box` is the box that replaces them, in the cluster of the first."""

    box: Box
    members: tuple[str, ...]
    subject: str
    """The name that users type for it: its first node, and the number of the others."""


@dataclass(slots=True)
class Cluster:
    """A frame around boxes and inner clusters. The outermost cluster of a view is not drawn."""

    name: str
    kind: ClusterKind = "function"
    title: str = ""
    tooltip: str = ""
    subject: str = ""
    """The name that users type for its function or loop: `fib`, `fib.loop`."""
    loop: str = ""
    """The site of the loop whose iteration it is, if any."""
    boxes: dict[str, Box] = field(default_factory=dict)
    same_rank: list[str] = field(default_factory=list)
    """The boxes that are laid out side by side, from left to right."""
    clusters: list[Cluster] = field(default_factory=list)

    def add_cluster(self, kind: ClusterKind, title: str, tooltip: str, subject: str = "") -> Cluster:
        """Add a new cluster inside this one."""
        inner = Cluster(f"{self.name}_{len(self.clusters)}", kind, title, tooltip, subject)
        self.clusters.append(inner)
        return inner

    def add_box(self, name: str, kind: BoxKind, first: str, second: str = "", tooltip: str = "") -> None:
        """Add a new box to this cluster."""
        self.boxes[name] = Box(name, kind, first, second, tooltip)

    def copy(self) -> Cluster:
        """A copy with its own boxes and inner clusters."""
        copied = replace(self, boxes=self.boxes.copy(), clusters=list(self.clusters))
        waiting = [copied]
        while waiting:
            parent = waiting.pop()
            parent.clusters = [replace(cluster, boxes=cluster.boxes.copy()) for cluster in parent.clusters]
            waiting.extend(parent.clusters)
        return copied

    def walk(self) -> Iterator[Cluster]:
        """This cluster and all inside it, outer before inner."""
        waiting = [self]
        while waiting:
            yield (cluster := waiting.pop())
            waiting.extend(reversed(cluster.clusters))


@dataclass(slots=True)
class View:
    """A diagram, independent of its look."""

    name: str
    caption: str = ""
    """The caption below the diagram."""
    root: Cluster = field(default_factory=lambda: Cluster("cluster"))
    arrows: list[ViewArrow] = field(default_factory=list)
    rank_constraints: list[tuple[str, str]] = field(default_factory=list)
    """Pairs of boxes; the layout keeps the first above the second, without an arrow."""
    side_constraints: SideConstraints = NO_SIDE_CONSTRAINTS
    bundles: tuple[Bundle, ...] = ()
    """The boxes that large views draw as one; they have no box in common."""
    blocks: tuple[tuple[Bundle, ...], ...] = ()
    """Larger bundles of ops, for views that are too large otherwise, from the finest to the coarsest. Each consists of
    boxes and of whole bundles; those of one granularity have no box in common."""
    places: dict[str, str] = field(default_factory=dict)
    """For each box that was folded, the box that is drawn for it."""
    is_static: bool = False
    """Whether it shows a program or a graph, and not the activations of a run."""
    is_moment: bool = False
    """Whether it shows a moment of a run, in which tokens need room beside boxes and arrows."""
    title_width: int = MAX_LINE_LENGTH
    """The most characters of a line in the title of a box; a longer title is wrapped."""
    is_dense: bool = False
    """Whether rows of boxes are close to one another."""
    badge_room: dict[str | int, BadgeRoom] = field(default_factory=dict)
    """The room that the layout keeps for the badges of a box, by name, or of an arrow, by number."""
    caption_room: CaptionRoom | None = None
    """The room that the layout keeps for the caption and the legend; None if they take what they need."""

    def add_arrow(self, tail: str, head: str, link: LinkKind, label: str = "", tooltip: str = "", **more: Any) -> None:
        """Add a new arrow; `more` are its other fields."""
        self.arrows.append(ViewArrow(tail, head, link, label, tooltip, **more))

    @property
    def marks(self) -> tuple[BadgeMark, ...]:
        """The marks of all badges, each once, in order of declaration."""
        badges = [*(box.badges for box in self.boxes.values()), *(arrow.badges for arrow in self.arrows)]
        badge_marks = {badge.mark for badge in chain.from_iterable(badges)}
        return tuple(mark for mark in get_args(BadgeMark) if mark in badge_marks)

    @property
    def boxes(self) -> dict[str, Box]:
        """All boxes, by name."""
        return {name: box for cluster in self.root.walk() for name, box in cluster.boxes.items()}

    def place_of(self, box: str) -> str:
        """The box that is drawn for a box of the unfolded view: itself, or the box that it is folded into."""
        return self.places.get(box, box)

    def copy(self) -> View:
        """A copy with its own boxes and arrows, to which badges can be added."""
        return replace(self, root=self.root.copy(), arrows=self.arrows.copy())
