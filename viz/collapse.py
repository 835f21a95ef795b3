"""Folding: boxes are drawn as one, so that large views fit in a picture.

A fold maps each box to its place: itself, or the box that is drawn for it: a folded cluster or a bundle. Arrows go
between the places of their ends, and arrows that have become equal are merged into one with their count. No box, arrow
or token is lost: a folded box counts the badges inside it, a merged arrow has the badges of all.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Collection, Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import chain

from ..core.errors import Usage, plural
from ..core.program import hints
from .labels import OMISSION
from .view import (
    EXPRESSION_KINDS,
    MAX_BADGES,
    NO_SIDE_CONSTRAINTS,
    Badge,
    BoxKind,
    Cluster,
    View,
    ViewArrow,
    count_by_mark,
)

MAX_BOXES = 400
"""The most boxes that are drawn at once: Graphviz takes some seconds for them, and nobody can read more."""


MAX_NESTING = 100
"""The greatest depth of clusters that are drawn; deeper ones are folded."""

_SCOPE_TITLE = re.compile(r"[^\W\d][\w.]*")
"""The title of a folded box that is a name: of a helper, such as `Layer.apply`."""

_OPERAND = re.compile(r"(?<![\w.\"])[^\W\d]\w*(?:\.[^\W\d]\w*)*\b(?![(.\"])")
"""The name of a value, or of a helper, in a formula."""

FIRST_ITERATIONS, MAX_ITERATIONS = 3, 6
"""If a loop has more than MAX_ITERATIONS and the view is too large, only the first few and the last are drawn."""


def fold_to_fit(view: View, most: int = MAX_BOXES) -> View:
    """Fold a view until it has at most `most` boxes and clusters no deeper than MAX_NESTING; a view that fits is
    unchanged.

    First the middle iterations of each loop become one box; then clusters are folded, innermost first, and the largest
    first at each depth. The caption says how many nodes are folded.
    """
    sizes, deepest_first = ClusterSizes(view.root), clusters_by_depth(view.root, ())
    total = sizes.total
    if total <= most and (not deepest_first or deepest_first[0][0] <= MAX_NESTING):
        return view
    folded: dict[str, str] = {}
    for _, parent in [*deepest_first, (0, view.root)]:
        for between in middle_iterations(parent):
            if sizes.total > most:
                sizes.fold(between)
                folded.update((cluster.name, between[0].name) for cluster in between)
    for depth, cluster in clusters_by_depth(view.root, folded):
        if sizes.total <= most and depth <= MAX_NESTING:
            break
        sizes.fold([cluster])
        folded[cluster.name] = cluster.name
    collapsed = collapse_clusters(view, folded)
    inner_count = total - sum(not box.kind.startswith("folded") for box in collapsed.boxes.values())
    collapsed.caption = "; ".join(
        filter(None, [view.caption, f"{inner_count:,} of {plural(total, 'node')} are folded"])
    )
    return collapsed


def folding_order(view: View, unfolded: Collection[str] = (), most: int = MAX_BOXES) -> tuple[list[str], int]:
    """The names of the clusters in the order in which to fold them (innermost first, the largest first at each
    depth), and how many must be folded to have at most `most` boxes and no cluster deeper than MAX_NESTING. The
    clusters in `unfolded` and those around them are left out."""
    spared = {
        cluster.name
        for cluster in view.root.walk()
        if unfolded and any(inner.name in unfolded for inner in cluster.walk())
    }
    sizes, order, must = ClusterSizes(view.root), list[str](), 0
    for depth, cluster in clusters_by_depth(view.root, ()):
        if cluster.name not in spared:
            order.append(cluster.name)
            if sizes.total > most or depth > MAX_NESTING:
                must = len(order)
            sizes.fold([cluster])
    return order, must


class ClusterSizes:
    """The number of boxes in each cluster, updated as clusters are folded."""

    def __init__(self, root: Cluster) -> None:
        self._root = root.name
        self._sizes: dict[str, int] = {}
        self._parents: dict[str, str] = {}
        for cluster in reversed(list(root.walk())):
            self._sizes[cluster.name] = len(cluster.boxes) + sum(self._sizes[inner.name] for inner in cluster.clusters)
            self._parents.update((inner.name, cluster.name) for inner in cluster.clusters)

    @property
    def total(self) -> int:
        return self._sizes[self._root]

    def fold(self, clusters: Sequence[Cluster]) -> None:
        """Count clusters with the same parent as one box."""
        spared = self.spared_by(clusters)
        for name in self.clusters_around(clusters[0].name):
            self._sizes[name] -= spared

    def spared_by(self, clusters: Sequence[Cluster]) -> int:
        """How many boxes fewer there are if clusters with the same parent become one box."""
        return sum(self._sizes[cluster.name] for cluster in clusters) - 1

    def clusters_around(self, name: str) -> Iterator[str]:
        """The clusters around one, innermost first."""
        while name in self._parents:
            yield (name := self._parents[name])


def middle_iterations(cluster: Cluster) -> Iterator[list[Cluster]]:
    """For each loop with many iterations in a cluster, the iterations between the first few and the last."""
    loops: dict[str, list[Cluster]] = {}
    for inner in cluster.clusters:
        if inner.loop:
            loops.setdefault(inner.loop, []).append(inner)
    return (iterations[FIRST_ITERATIONS:-1] for iterations in loops.values() if len(iterations) > MAX_ITERATIONS)


def find_clusters(view: View, subjects: Iterable[str]) -> set[str]:
    """The clusters of functions, loops, branches and helpers, named as `fib`, `loop` or `fib.loop` (in a run, all
    iterations of the loop); raises Usage for a name without a cluster."""
    matches = set[str]()
    clusters = [cluster for cluster in view.root.walk() if cluster.subject]
    for subject in subjects:
        matching_names = [cluster.name for cluster in clusters if subject in cluster_names(cluster)]
        if not matching_names:
            names = [cluster.subject for cluster in clusters]
            hint = hints.suggest_name(subject, names) or f"choose from {', '.join(names[:20])}"
            raise Usage("there is no function, loop, branch or helper of this name", got=repr(subject), hint=hint)
        matches.update(matching_names)
    return matches


def cluster_names(cluster: Cluster) -> set[str]:
    """The names by which users refer to a cluster."""
    names = {cluster.subject, cluster.loop} - {""}
    return names | {name.rpartition(".")[2] for name in names}


def extract_clusters(view: View, names: Collection[str]) -> View:
    """The view of these clusters alone, with the boxes at the other ends of their arrows."""
    extracted = [cluster for cluster in view.root.walk() if cluster.name in names]
    inner_boxes = set(chain.from_iterable(member.boxes for cluster in extracted for member in cluster.walk()))
    result = View(view.name, view.caption, bundles=view.bundles, places=view.places, is_static=view.is_static)
    result.arrows = [arrow for arrow in view.arrows if arrow.tail in inner_boxes or arrow.head in inner_boxes]
    ends = {end for arrow in result.arrows for end in (arrow.tail, arrow.head)} - inner_boxes
    result.root.boxes = {name: box for name, box in view.boxes.items() if name in ends}
    inner_clusters = {
        descendant.name for cluster in extracted for inner in cluster.clusters for descendant in inner.walk()
    }
    result.root.clusters = [cluster for cluster in extracted if cluster.name not in inner_clusters]
    result.rank_constraints = [
        (upper, lower) for upper, lower in view.rank_constraints if {upper, lower} <= inner_boxes
    ]
    remaining = {cluster.name for cluster in result.root.walk()}
    result.arrows = [
        arrow if arrow.head_cluster in remaining else arrow._replace(head_cluster="") for arrow in result.arrows
    ]
    return result


def collapse_clusters(view: View, names: Iterable[str] | Mapping[str, str]) -> View:
    """The view with each of these clusters, and everything inside it, folded into one box. If `names` is a mapping
    from clusters to boxes, clusters mapped to the same name share one box of that name."""
    box_of: dict[str, str] = {}
    names = names if isinstance(names, Mapping) else {name: name for name in names}
    collapsed = _fold_cluster(view.root, names, box_of, Counter(view.places.values()))
    name_hidden_operands(view, collapsed, box_of)
    return _fold_view(view, collapsed, box_of)


def name_hidden_operands(view: View, root: Cluster, box_of: Mapping[str, str]) -> None:
    """Rewrite the formulas in the clusters of `root`: an operand that is computed in a folded box has the title of that
    box, if it is a name; one that is computed in a bundle, and is not its result, is omitted. The nodes that compute
    them are not drawn."""
    boxes, drawn_boxes = view.boxes, {name: box for cluster in root.walk() for name, box in cluster.boxes.items()}
    titles: dict[str, dict[str, str]] = {}
    for arrow in view.arrows:
        operand, head = boxes[arrow.tail], box_of.get(arrow.head, arrow.head)
        if arrow.tail not in box_of or box_of[arrow.tail] == head:
            continue
        if operand.kind in EXPRESSION_KINDS:
            name = operand.subtitle
        elif operand.kind == "folded":
            name = operand.title
        else:
            continue
        drawn = drawn_boxes[box_of[arrow.tail]]
        if drawn.kind in EXPRESSION_KINDS:
            if drawn.subtitle != name:
                titles.setdefault(head, {})[name] = OMISSION
        elif _SCOPE_TITLE.fullmatch(drawn.title):
            titles.setdefault(head, {})[name] = drawn.title
    for cluster in root.walk():
        for name in titles.keys() & cluster.boxes.keys():
            box = cluster.boxes[name]
            if box.kind in EXPRESSION_KINDS:
                cluster.boxes[name] = box._replace(title=rename_operands(box.title, titles[name]))


def rename_operands(formula: str, titles: Mapping[str, str]) -> str:
    """A formula in which some operands have other names. The names of functions, and words in quotes, stay.

    >>> rename_operands('sum(labels * sum, 1) + print "sum"', {"sum": "log_softmax"})
    'sum(labels * log_softmax, 1) + print "sum"'
    """
    return _OPERAND.sub(lambda word: titles.get(word[0], word[0]), formula)


def remove_branch_frames(view: View) -> View:
    """The view of a graph without the frames of branches; their boxes are in the cluster around them. Programs, whose
    branches are parts of a cond, are unchanged."""
    root = view.root.copy()
    for cluster in root.walk():
        boxes, inner_clusters = dict(cluster.boxes), list[Cluster]()
        waiting = list(reversed(cluster.clusters))
        while waiting:
            inner = waiting.pop()
            if inner.kind == "branch" and cluster.kind != "cond":
                boxes |= inner.boxes
                waiting += reversed(inner.clusters)
            else:
                inner_clusters.append(inner)
        if len(boxes) > len(cluster.boxes):
            cluster.boxes = dict(sorted(boxes.items(), key=lambda item: node_order(item[0])))
        cluster.clusters = inner_clusters
    return replace(view, root=root)


def node_order(box: str) -> float:
    """The number of the first node in a box of a graph; boxes of folded clusters come last.

    >>> node_order("n12"), node_order("g3"), node_order("cluster_0_1")
    (12, 3, inf)
    """
    return int(box[1:]) if box[1:].isdigit() else math.inf


def select_blocks(view: View, granularity: int) -> View:
    """The view with its blocks of a granularity among its bundles, in place of the bundles in them; 0 is none."""
    if not granularity:
        return view
    blocks = view.blocks[granularity - 1]
    members = {name for block in blocks for name in block.members}
    return replace(view, bundles=(*(bundle for bundle in view.bundles if bundle.members[0] not in members), *blocks))


def fold_bundles(view: View, unfolded: Collection[str] = ()) -> View:
    """The view with each of its bundles drawn as one box, except those whose subjects are in `unfolded`."""
    boxes = view.boxes
    bundles = [
        bundle
        for bundle in view.bundles
        if bundle.subject not in unfolded and all(name in boxes for name in bundle.members)
    ]
    if not bundles:
        return view
    box_of = {name: bundle.box.name for bundle in bundles for name in bundle.members}
    box_by_name = {bundle.box.name: bundle.box for bundle in bundles}
    root = view.root.copy()
    for cluster in root.walk():
        names = dict.fromkeys(box_of.get(name, name) for name in cluster.boxes)
        cluster.boxes = {name: box_by_name.get(name) or cluster.boxes[name] for name in names}
        cluster.same_rank = list(dict.fromkeys(box_of.get(name, name) for name in cluster.same_rank))
    name_hidden_operands(view, root, box_of)
    return _fold_view(view, root, box_of)


def _fold_view(view: View, root: Cluster, box_of: Mapping[str, str]) -> View:
    """The view of the clusters of `root`, in which some boxes are replaced by those in `box_of`."""
    arrows = list(reroute_arrows(view.arrows, box_of))
    remaining = {cluster.name for cluster in root.walk()}
    above = dict.fromkeys(
        (box_of.get(upper, upper), box_of.get(lower, lower)) for upper, lower in view.rank_constraints
    )
    result = replace(view, root=root, side_constraints=NO_SIDE_CONSTRAINTS, badge_room={}, caption_room=None)
    result.places = {name: box_of.get(place, place) for name, place in view.places.items()} | dict(box_of)
    result.arrows = [
        arrow if arrow.head_cluster in remaining else arrow._replace(head_cluster="") for arrow in merge_arrows(arrows)
    ]
    result.rank_constraints = [(upper, lower) for upper, lower in above if upper != lower]
    count_inside(view, result, box_of)
    return result


def _fold_cluster(
    cluster: Cluster, names: Mapping[str, str], box_of: dict[str, str], node_counts: Mapping[str, int]
) -> Cluster:
    """The cluster in which others are folded; `node_counts` has the numbers of nodes in bundles."""
    result = copy_without_clusters(cluster)
    waiting = [(cluster, result)]
    while waiting:
        source, target = waiting.pop()
        folded: dict[str, list[Cluster]] = {}
        for inner in source.clusters:
            if inner.name in names:
                folded.setdefault(names[inner.name], []).append(inner)
            else:
                target.clusters.append(copy_without_clusters(inner))
                waiting.append((inner, target.clusters[-1]))
        for name, clusters in folded.items():
            inner_boxes = list(chain.from_iterable(member.boxes for inner in clusters for member in inner.walk()))
            box_of.update(dict.fromkeys(inner_boxes, name))
            add_folded_box(target, name, clusters, sum(node_counts.get(box, 0) or 1 for box in inner_boxes))
    return result


def copy_without_clusters(cluster: Cluster) -> Cluster:
    """A copy of a cluster without its inner clusters."""
    return replace(cluster, boxes=dict(cluster.boxes), same_rank=list(cluster.same_rank), clusters=[])


def add_folded_box(target: Cluster, name: str, clusters: Sequence[Cluster], node_count: int) -> None:
    """Add the box of folded clusters."""
    first, last = clusters[0], clusters[-1]
    kind: BoxKind = "folded_loop" if first.kind == "loop" else "folded"
    if first is last:
        title, tooltip = first.title, first.tooltip
    else:
        title, tooltip = f"{first.title} to {last.title}", f"{first.tooltip} to {last.tooltip}"
    target.add_box(name, kind, title, plural(node_count, "node"), tooltip)


def reroute_arrows(arrows: Iterable[ViewArrow], box_of: Mapping[str, str]) -> Iterator[ViewArrow]:
    """Redirect arrows to folded boxes; those inside one are dropped."""
    for arrow in arrows:
        image = arrow_image(arrow, box_of)
        if image.tail != image.head or arrow.tail == arrow.head:
            yield image


def arrow_image(arrow: ViewArrow, box_of: Mapping[str, str]) -> ViewArrow:
    """An arrow between the places of its ends. If one of them is folded, it ends at no port in particular."""
    tail, head = box_of.get(arrow.tail, arrow.tail), box_of.get(arrow.head, arrow.head)
    if (tail, head) == arrow[:2]:
        return arrow
    return arrow._replace(tail=tail, head=head, port=-1)


def merge_key(arrow: ViewArrow) -> tuple[object, ...]:
    """Arrows with the same key are drawn as one."""
    return arrow.tail, arrow.head, arrow.link, arrow.label, arrow.port


def merge_arrows(arrows: Sequence[ViewArrow]) -> list[ViewArrow]:
    """Merge equal arrows into one that has all their badges."""
    groups: dict[tuple[object, ...], list[ViewArrow]] = {}
    for arrow in arrows:
        groups.setdefault(merge_key(arrow), []).append(arrow)
    return [
        group[0]
        if len(group) == 1
        else group[0]._replace(
            tooltip=f"{sum(arrow.edge_count for arrow in group)} arrows: {group[0].tooltip}, ...",
            badges=limit_badges(list(chain.from_iterable(arrow.badges for arrow in group))),
            is_reversed=all(arrow.is_reversed for arrow in group),
            is_unconstrained=all(arrow.is_unconstrained for arrow in group),
            emphasized=any(arrow.emphasized for arrow in group),
            edge_count=sum(arrow.edge_count for arrow in group),
        )
        for group in groups.values()
    ]


def limit_badges(badges: Sequence[Badge], most: int = MAX_BADGES) -> tuple[Badge, ...]:
    """At most `most` badges; the last counts those that are not shown. Nodes that can fire next have one badge, with
    their number. If there is only one badge, it is the first, with the number of the others in its detail."""
    badges = join_ready_badges(badges)
    if len(badges) <= most:
        return tuple(badges)
    if most == 1:
        counts, tooltips = count_by_mark(badges), [badge.tooltip for badge in badges if badge.tooltip]
        others = f"+ {counts.total() - count_by_mark(badges[:1]).total()}"
        detail = f"{badges[0].detail}  {others}" if badges[0].detail else others
        return (badges[0]._replace(detail=detail, tooltip="; ".join(tooltips[:8]), counts=(*counts.items(),)),)
    shown_badges = [badge for badge in badges if badge.mark != "more"][: most - 1]
    counts = count_by_mark(badges)
    counts.subtract(count_by_mark(shown_badges))
    tooltips = [badge.tooltip for badge in badges if badge not in shown_badges and badge.tooltip]
    return (
        *shown_badges,
        Badge("more", str(counts.total()), "", "; ".join(tooltips[:8]), counts=(*(+counts).items(),)),
    )


def limit_view_badges(view: View, most: int) -> View:
    """A view with at most `most` badges at each box and arrow."""
    limited = view.copy()
    for cluster in limited.root.walk():
        cluster.boxes = {
            name: box._replace(badges=limit_badges(box.badges, most)) for name, box in cluster.boxes.items()
        }
    limited.arrows = [arrow._replace(badges=limit_badges(arrow.badges, most)) for arrow in limited.arrows]
    return limited


def join_ready_badges(badges: Sequence[Badge]) -> Sequence[Badge]:
    """Badges in which one, in the place of the first, counts all nodes that can fire next."""
    ready = [badge for badge in badges if badge.mark == "ready"]
    if len(ready) < 2:
        return badges
    many = count_by_mark(ready)["ready"]
    tooltip = "; ".join([badge.tooltip for badge in ready if badge.tooltip][:8])
    ready_badge = Badge("ready", str(many), "", tooltip, counts=(("ready", many),))
    return [
        ready_badge if badge is ready[0] else badge for badge in badges if badge.mark != "ready" or badge is ready[0]
    ]


def count_inside(view: View, result: View, box_of: Mapping[str, str]) -> None:
    """Add the badges inside each folded box to it: the marks of a bundle, or for a cluster their count by mark."""
    badges: dict[str, list[Badge]] = {}
    strong = set[str]()
    for name, box in view.boxes.items():
        if name in box_of:
            badges.setdefault(box_of[name], []).extend(box.badges)
            strong.update([box_of[name]] if box.emphasized else [])
    for arrow in view.arrows:
        inner_box = box_of.get(arrow.head)
        if inner_box is not None and inner_box == box_of.get(arrow.tail):
            badges.setdefault(inner_box, []).extend(arrow.badges)
    for cluster in result.root.walk():
        for name in cluster.boxes.keys() & badges.keys():
            is_cluster = cluster.boxes[name].kind.startswith("folded")
            shown_badges = count_badges(badges[name]) if is_cluster else limit_badges(badges[name])
            cluster.boxes[name] = cluster.boxes[name]._replace(badges=shown_badges, emphasized=name in strong)


def count_badges(badges: Iterable[Badge]) -> tuple[Badge, ...]:
    """A badge for each mark, with the number of tokens or nodes that have it."""
    counts = sorted(count_by_mark(badges).items())
    return tuple(Badge(mark, str(many), "", f"{many} inside", counts=((mark, many),)) for mark, many in counts)


def clusters_by_depth(root: Cluster, without: Container[str]) -> list[tuple[int, Cluster]]:
    """The drawn clusters with their depths, deepest first, then largest first; those in `without` and their contents
    are left out."""
    ranked: list[tuple[int, Cluster]] = []
    waiting = [(1, inner) for inner in root.clusters]
    while waiting:
        depth, cluster = waiting.pop()
        if cluster.name not in without:
            ranked.append((depth, cluster))
            waiting.extend((depth + 1, inner) for inner in cluster.clusters)
    return sorted(ranked, key=lambda row: (-row[0], -len(row[1].boxes)))
