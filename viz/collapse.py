"""Folding clusters: a view in which some of them are a box each, for pictures that would be too large.

What is inside such a box is counted on it: boxes, tokens. Arrows that cross its border end at it, and those that then
say the same are one.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from itertools import chain

from ..core import hints
from ..core.errors import Usage, counted
from .view import Arrow, Badge, Cluster, Kind, Mark, View

LARGEST = 400
"""So many boxes are drawn at once: Graphviz takes some seconds to lay them out, and nobody sees more."""


def fitted(view: View, most: int = LARGEST) -> View:
    """The same view if it has no more boxes than that; else with clusters folded, the inmost first and of these the
    largest, until it has, or until nothing is left to fold. Its caption says so."""
    total = len(view.boxes)
    if total <= most:
        return view
    shown, folded = total, set[str]()
    for cluster in _innermost_first(view.outside):
        if shown <= most:
            break
        shown -= _size(cluster, folded) - 1
        folded.add(cluster.name)
    made = collapsed(view, folded)
    inside = total - sum(not box.kind.startswith("folded") for box in made.boxes.values())
    made.caption = "; ".join(filter(None, [view.caption, f"{inside:,} of {counted(total, 'node')} are folded"]))
    return made


def named(view: View, subjects: Iterable[str]) -> set[str]:
    """The clusters of these functions and loops, which go by name: `fib`, `loop`, or `fib.loop`; raises Usage where
    there is none."""
    found = set[str]()
    clusters = [each for each in view.outside.all() if each.subject]
    for subject in subjects:
        meant = [each.name for each in clusters if subject in (each.subject, each.subject.rpartition(".")[2])]
        if not meant:
            there = [each.subject for each in clusters]
            hint = hints.meant(subject, there) or f"there are {', '.join(there[:20])}"
            raise Usage("no function or loop is called so", got=repr(subject), hint=hint)
        found.update(meant)
    return found


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


def collapsed(view: View, names: Collection[str]) -> View:
    """The view in which the clusters of these names are a box each; what is inside one is folded with it."""
    stands: dict[str, str] = {}
    """For what is folded, the box that stands for it."""
    outside = _fold(view.outside, names, stands)
    arrows = list(_rerouted(view.arrows, stands))
    kept = {cluster.name for cluster in outside.all()}
    above = dict.fromkeys((stands.get(upper, upper), stands.get(lower, lower)) for upper, lower in view.above)
    made = View(view.name, view.caption, outside)
    made.arrows = [arrow if arrow.into in kept else arrow._replace(into="") for arrow in _joined(arrows)]
    made.above = [(upper, lower) for upper, lower in above if upper != lower]
    _count_inside(view, made, stands)
    return made


def _fold(cluster: Cluster, names: Collection[str], stands: dict[str, str]) -> Cluster:
    made = Cluster(cluster.name, cluster.kind, cluster.title, cluster.tooltip, cluster.subject)
    made.boxes, made.level = dict(cluster.boxes), list(cluster.level)
    for inner in cluster.clusters:
        if inner.name not in names:
            made.clusters.append(_fold(inner, names, stands))
            continue
        inside = list(chain.from_iterable(each.boxes for each in inner.all()))
        stands.update(dict.fromkeys(inside, inner.name))
        kind: Kind = "folded_loop" if inner.kind == "loop" else "folded"
        made.box(inner.name, kind, inner.title, counted(len(inside), "node"), inner.tooltip)
    return made


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


def _innermost_first(outside: Cluster) -> list[Cluster]:
    """All clusters that are drawn, those that lie deepest first, of these the largest."""
    ranked: list[tuple[int, int, int, Cluster]] = []
    waiting: list[tuple[int, Cluster]] = [(1, inner) for inner in outside.clusters]
    while waiting:
        depth, cluster = waiting.pop()
        ranked.append((-depth, -len(cluster.boxes), len(ranked), cluster))
        waiting.extend((depth + 1, inner) for inner in cluster.clusters)
    return [cluster for *_, cluster in sorted(ranked, key=lambda row: row[:3])]


def _size(cluster: Cluster, folded: Collection[str]) -> int:
    """How many boxes a cluster takes, where those inside it are folded that are."""
    return len(cluster.boxes) + sum(1 if each.name in folded else _size(each, folded) for each in cluster.clusters)
