"""Folding clusters: a view in which some of them are a box each, for pictures that would be too large.

What is inside such a box is counted on it: boxes, tokens. Arrows that cross its border end at it, and those that then
say the same are one.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import chain

from ..core.errors import Usage, counted
from ..core.program import hints
from .view import Arrow, Badge, Cluster, Kind, Mark, View

LARGEST = 400
"""So many boxes are drawn at once: Graphviz takes some seconds to lay them out, and nobody sees more."""


DEEPEST = 100
"""Clusters that lie deeper in others are folded."""

FIRST, FEW = 3, 6
"""Of more than a few iterations of a loop the first are drawn, and the last, where all are too many."""


def fitted(view: View, most: int = LARGEST) -> View:
    """The same view if it has no more boxes than that, and lies no deeper than DEEPEST; else folded until it does.

    Of a loop's iterations those between the first and the last are one box; then clusters are folded, the inmost first
    and of these the largest, until nothing is left to fold. Its caption says so.
    """
    sizes, deepest_first = _Sizes(view.outside), _ranked(view.outside, ())
    total = sizes.shown
    if total <= most and (not deepest_first or deepest_first[0][0] <= DEEPEST):
        return view
    folded: dict[str, str] = {}
    for _, around in [*deepest_first, (0, view.outside)]:
        for between in _between(around):
            if sizes.shown > most:
                sizes.fold(between)
                folded.update((cluster.name, between[0].name) for cluster in between)
    for depth, cluster in _ranked(view.outside, folded):
        if sizes.shown <= most and depth <= DEEPEST:
            break
        sizes.fold([cluster])
        folded[cluster.name] = cluster.name
    made = collapsed(view, folded)
    inside = total - sum(not box.kind.startswith("folded") for box in made.boxes.values())
    made.caption = "; ".join(filter(None, [view.caption, f"{inside:,} of {counted(total, 'node')} are folded"]))
    return made


def folds(view: View, kept: Collection[str] = (), most: int = LARGEST) -> tuple[list[str], int]:
    """The clusters in the order in which to fold them, by their names: the inmost first, and of these the largest. And
    how many of them must be, so that there are at most so many boxes, and none lies deeper than DEEPEST. Those of
    `kept` are not among them, nor what is around them."""
    spared = {each.name for each in view.outside.all() if kept and any(inner.name in kept for inner in each.all())}
    sizes, order, must = _Sizes(view.outside), list[str](), 0
    for depth, cluster in _ranked(view.outside, ()):
        if cluster.name not in spared:
            order.append(cluster.name)
            if sizes.shown > most or depth > DEEPEST:
                must = len(order)
            sizes.fold([cluster])
    return order, must


class _Sizes:
    """How many boxes each cluster takes, while some are folded."""

    def __init__(self, outside: Cluster) -> None:
        self._outside = outside.name
        self._of: dict[str, int] = {}
        self._around: dict[str, str] = {}
        for cluster in reversed(list(outside.all())):
            self._of[cluster.name] = len(cluster.boxes) + sum(self._of[inner.name] for inner in cluster.clusters)
            self._around.update((inner.name, cluster.name) for inner in cluster.clusters)

    @property
    def shown(self) -> int:
        return self._of[self._outside]

    def fold(self, clusters: Sequence[Cluster]) -> None:
        """Count clusters that stand in the same one as one box."""
        spared = sum(self._of[cluster.name] for cluster in clusters) - 1
        name = clusters[0].name
        while name in self._around:
            name = self._around[name]
            self._of[name] -= spared


def _between(around: Cluster) -> Iterator[list[Cluster]]:
    """For each loop that has many iterations in a cluster, those between the first few and the last."""
    loops: dict[str, list[Cluster]] = {}
    for inner in around.clusters:
        if inner.series:
            loops.setdefault(inner.series, []).append(inner)
    return (iterations[FIRST:-1] for iterations in loops.values() if len(iterations) > FEW)


def named(view: View, subjects: Iterable[str]) -> set[str]:
    """The clusters of these functions and loops, which go by name: `fib`, `loop`, or `fib.loop`, which of a run are
    all iterations; raises Usage where there is none."""
    found = set[str]()
    clusters = [each for each in view.outside.all() if each.subject]
    for subject in subjects:
        meant = [each.name for each in clusters if subject in _called(each)]
        if not meant:
            there = [each.subject for each in clusters]
            hint = hints.meant(subject, there) or f"there are {', '.join(there[:20])}"
            raise Usage("no function or loop is called so", got=repr(subject), hint=hint)
        found.update(meant)
    return found


def _called(cluster: Cluster) -> set[str]:
    """What people call a cluster."""
    names = {cluster.subject, cluster.series} - {""}
    return names | {name.rpartition(".")[2] for name in names}


def part(view: View, names: Collection[str]) -> View:
    """The view of these clusters alone, with the boxes that their arrows come from and go to."""
    wanted = [cluster for cluster in view.outside.all() if cluster.name in names]
    inside = set(chain.from_iterable(each.boxes for cluster in wanted for each in cluster.all()))
    made = View(view.name, view.caption)
    made.arrows = [arrow for arrow in view.arrows if arrow.tail in inside or arrow.head in inside]
    ends = {end for arrow in made.arrows for end in (arrow.tail, arrow.head)} - inside
    made.outside.boxes = {name: box for name, box in view.boxes.items() if name in ends}
    within = {each.name for cluster in wanted for inner in cluster.clusters for each in inner.all()}
    made.outside.clusters = [cluster for cluster in wanted if cluster.name not in within]
    made.above = [(upper, lower) for upper, lower in view.above if {upper, lower} <= inside]
    kept = {cluster.name for cluster in made.outside.all()}
    made.arrows = [arrow if arrow.into in kept else arrow._replace(into="") for arrow in made.arrows]
    return made


def collapsed(view: View, names: Iterable[str] | Mapping[str, str]) -> View:
    """The view in which the clusters of these names are a box each; what is inside one is folded with it. Those that a
    mapping has under the same name are one box of that name."""
    stands: dict[str, str] = {}
    """For what is folded, the box that stands for it."""
    outside = _fold(view.outside, names if isinstance(names, Mapping) else {name: name for name in names}, stands)
    arrows = list(_rerouted(view.arrows, stands))
    kept = {cluster.name for cluster in outside.all()}
    above = dict.fromkeys((stands.get(upper, upper), stands.get(lower, lower)) for upper, lower in view.above)
    made = View(view.name, view.caption, outside)
    made.arrows = [arrow if arrow.into in kept else arrow._replace(into="") for arrow in _joined(arrows)]
    made.above = [(upper, lower) for upper, lower in above if upper != lower]
    _count_inside(view, made, stands)
    return made


def _fold(outside: Cluster, names: Mapping[str, str], stands: dict[str, str]) -> Cluster:
    made = _bare(outside)
    waiting = [(outside, made)]
    while waiting:
        source, target = waiting.pop()
        folded: dict[str, list[Cluster]] = {}
        for inner in source.clusters:
            if inner.name in names:
                folded.setdefault(names[inner.name], []).append(inner)
            else:
                target.clusters.append(_bare(inner))
                waiting.append((inner, target.clusters[-1]))
        for name, together in folded.items():
            inside = list(chain.from_iterable(each.boxes for inner in together for each in inner.all()))
            stands.update(dict.fromkeys(inside, name))
            _stand_in(target, name, together, len(inside))
    return made


def _bare(cluster: Cluster) -> Cluster:
    """A cluster without those inside it."""
    return replace(cluster, boxes=dict(cluster.boxes), level=list(cluster.level), clusters=[])


def _stand_in(target: Cluster, name: str, together: Sequence[Cluster], boxes: int) -> None:
    """Draw a box for clusters that are folded."""
    first, last = together[0], together[-1]
    kind: Kind = "folded_loop" if first.kind == "loop" else "folded"
    if first is last:
        title, tooltip = first.title, first.tooltip
    else:
        title, tooltip = f"{first.title} to {last.title}", f"{first.tooltip} to {last.tooltip}"
    target.box(name, kind, title, counted(boxes, "node"), tooltip)


def _rerouted(arrows: Iterable[Arrow], stands: dict[str, str]) -> Iterator[Arrow]:
    """The arrows that do not stay inside what is folded."""
    for arrow in arrows:
        tail, head = stands.get(arrow.tail, arrow.tail), stands.get(arrow.head, arrow.head)
        if tail != head or arrow.tail == arrow.head:
            inside = head != arrow.head
            yield arrow._replace(tail=tail, head=head, port=-1 if inside else arrow.port)


def _joined(arrows: Sequence[Arrow]) -> list[Arrow]:
    """Arrows that say the same once, with the badges of all."""
    groups: dict[tuple[object, ...], list[Arrow]] = {}
    for arrow in arrows:
        groups.setdefault((arrow.tail, arrow.head, arrow.link, arrow.label, arrow.port), []).append(arrow)
    return [
        group[0]
        if len(group) == 1
        else group[0]._replace(
            tooltip=f"{len(group)} arrows: {group[0].tooltip}, ...",
            badges=tuple(chain.from_iterable(arrow.badges for arrow in group)),
            turned=all(arrow.turned for arrow in group),
            free=all(arrow.free for arrow in group),
            strong=any(arrow.strong for arrow in group),
        )
        for group in groups.values()
    ]


def _count_inside(view: View, made: View, stands: dict[str, str]) -> None:
    """Put on what is folded how many badges of each mark are inside."""
    counts: dict[str, Counter[Mark]] = {}
    strong = set[str]()
    for name, box in view.boxes.items():
        if name in stands:
            _add(counts.setdefault(stands[name], Counter()), box.badges)
            strong.update([stands[name]] if box.strong else [])
    for arrow in view.arrows:
        inside = stands.get(arrow.head)
        if inside is not None and inside == stands.get(arrow.tail):
            _add(counts.setdefault(inside, Counter()), arrow.badges)
    for cluster in made.outside.all():
        for name, count in counts.items():
            if name in cluster.boxes:
                badges = tuple(Badge(mark, str(many), "", f"{many} inside") for mark, many in sorted(count.items()))
                cluster.boxes[name] = cluster.boxes[name]._replace(badges=badges, strong=name in strong)


def _add(count: Counter[Mark], badges: Iterable[Badge]) -> None:
    for badge in badges:
        number = badge.text if badge.mark in ("more", "ready") else ""
        count[badge.mark] += int(number) if number.isdigit() else 1


def _ranked(outside: Cluster, without: Container[str]) -> list[tuple[int, Cluster]]:
    """All clusters that are drawn, and how deep they lie: the deepest first, of these the largest; without those of
    these names and what is in them."""
    ranked: list[tuple[int, Cluster]] = []
    waiting = [(1, inner) for inner in outside.clusters]
    while waiting:
        depth, cluster = waiting.pop()
        if cluster.name not in without:
            ranked.append((depth, cluster))
            waiting.extend((depth + 1, inner) for inner in cluster.clusters)
    return sorted(ranked, key=lambda row: (-row[0], -len(row[1].boxes)))
