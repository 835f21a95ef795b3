"""Folding a static view until its picture can be read on a screen, without zooming.

The size of a picture is estimated and not measured, because a layout takes Graphviz up to a second. Functions stand one
above the other, or side by side, whichever fits the screen better; if neither fits, long titles are wrapped. If that is
not enough, branches lose their frames, or bundles are drawn as one box each, first those of routing nodes, then
expressions; then clusters are folded, the deepest first; and at last ops are joined in blocks. What still fits
afterwards is unfolded again.

The size that an SVG names is then exact: a picture whose letters stay legible is as large as the screen at most.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections import Counter, deque
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from itertools import chain, compress
from operator import itemgetter
from typing import NamedTuple

from ..core.errors import plural
from .bundles import is_expression
from .collapse import (
    ClusterSizes,
    collapse_clusters,
    find_clusters,
    fold_bundles,
    remove_branch_frames,
    select_blocks,
)
from .size_estimate import PictureSize, estimate_size, rank_boxes
from .style import SMALL_FONT_SIZE
from .view import Cluster, ClusterKind, View, ViewArrow

SCREEN = PictureSize(1600.0, 1000.0)
"""The size in points for which pictures are folded. When a screen of 1,600 x 1,000 pixels shows all of such a picture,
its smallest letters, of 10 points, have 10 pixels; they have 9 if the estimate is a tenth too small."""

MOMENT_SHARE = 0.75
"""The share of each side of the screen that is left to the graph in pictures of moments; the tokens take the rest."""

SCREEN_PIXELS = PictureSize(1600.0, 1000.0)
"""The screen that shows a picture, in pixels."""

PIXELS_PER_POINT = 4 / 3

LEAST_LETTERS = 9.0
"""The least height of legible letters, in pixels."""

NARROW_TITLE = 20
"""The most characters of a line in the titles of a picture that is too wide otherwise."""

LEAST_BOXES = 15
"""The least boxes that are left by folding."""


class Folding(NamedTuple):
    """What is folded in a view. It can be applied to every view of the same graph, whatever its badges."""

    is_bundled: bool = False
    unfolded: tuple[str, ...] = ()
    """The subjects of the bundles that are drawn in full nevertheless."""
    clusters: tuple[str, ...] = ()
    """The names of the clusters that are drawn as one box each."""
    has_branches: bool = True
    """Whether the branches of conds have frames."""
    granularity: int = 0
    """The granularity of the blocks of ops that are drawn as one box each; 0 if there are none."""

    def apply(self, view: View) -> View:
        """The view, folded."""
        view = select_blocks(view, self.granularity)
        if not self.has_branches:
            view = remove_branch_frames(view)
        bundled = fold_bundles(view, self.unfolded) if self.is_bundled else view
        return collapse_clusters(bundled, self.clusters) if self.clusters else bundled


def fit_screen(view: View, screen: PictureSize = SCREEN) -> View:
    """The view, arranged and folded for a screen; its caption names the folded boxes. A view that is not static is
    unchanged, since each of its boxes is one event."""
    if not view.is_static:
        return view
    if view.is_moment:
        screen = PictureSize(*(MOMENT_SHARE * side for side in screen))
    folding = choose_folding(view, screen)
    folded = folding.apply(view)
    result = arrange_functions(folded, screen)
    if folding.is_bundled:
        result.arrows = tighten_arrows(result)
        result.caption = "; ".join(
            filter(None, [view.caption, *folding_notes(select_blocks(view, folding.granularity), result)])
        )
    return result


def choose_folding(view: View, screen: PictureSize = SCREEN) -> Folding:
    """The folding of a static view for a screen. Frames of branches are omitted before a cluster is folded."""
    expressions = tuple(bundle.subject for bundle in view.bundles if is_expression(bundle))
    for folding in (Folding(), Folding(True, expressions), Folding(True)):
        for chosen in (folding, folding._replace(has_branches=False)):
            if is_within(chosen.apply(view), screen):
                has_expressions = chosen.is_bundled and not chosen.unfolded
                return unfold_bundles(view, chosen, expressions, screen) if has_expressions else chosen
    folding = fold_clusters(view, Folding(True), screen)
    for granularity in range(1, len(view.blocks) + 1):
        if is_within(folding.apply(view), screen):
            break
        coarser = fold_clusters(view, Folding(True, granularity=granularity), screen)
        blocks = [block.subject for block in view.blocks[granularity - 1]]
        drawn = coarser.apply(view)
        if len(drawn.boxes) >= LEAST_BOXES:
            folding = unfold_bundles(view, coarser, blocks, screen) if is_within(drawn, screen) else coarser
    return folding


def fold_clusters(view: View, folding: Folding, screen: PictureSize) -> Folding:
    """A folding with clusters that are folded for a screen, too."""
    return folding._replace(clusters=tuple(fold_until_within(folding.apply(view), screen)))


def unfold_bundles(view: View, folding: Folding, subjects: Sequence[str], screen: PictureSize) -> Folding:
    """A folding that fits a screen, with as many of these bundles drawn in full as fit."""

    def exceeds(count: int) -> bool:
        return not is_within(folding._replace(unfolded=tuple(subjects[:count])).apply(view), screen)

    count = bisect_left(range(1, len(subjects) + 1), True, key=exceeds)
    return folding._replace(unfolded=tuple(subjects[:count]))


def adjust_folding(view: View, folding: Folding, folded: Collection[str], unfolded: Collection[str]) -> Folding:
    """A folding in which the functions, loops, helpers and bundles of some names are folded or unfolded. All others are
    unchanged. The clusters inside one that is unfolded stay folded, so that one level is opened at a time."""
    subjects = {bundle.subject for bundle in chain(view.bundles, *view.blocks)}
    bundles = [name for name in unfolded if name in subjects]
    unfolded_clusters = find_clusters(view, [name for name in unfolded if name not in bundles])
    clusters = unfold_clusters(view, folding.clusters, unfolded_clusters)
    own = sorted(find_clusters(view, folded))
    has_branches = folding.has_branches or not {*own, *unfolded_clusters}.isdisjoint(branch_names(view))
    unfolded_bundles = tuple(dict.fromkeys([*folding.unfolded, *bundles]))
    return folding._replace(
        unfolded=unfolded_bundles, clusters=tuple(dict.fromkeys([*clusters, *own])), has_branches=has_branches
    )


def branch_names(view: View) -> set[str]:
    """The names of the clusters of branches."""
    return {cluster.name for cluster in view.root.walk() if cluster.kind == "branch"}


def unfold_clusters(view: View, folded: Sequence[str], unfolded: Collection[str]) -> list[str]:
    """The names of the clusters that are folded after the clusters `unfolded`, and those around them, are unfolded: the
    clusters inside an unfolded one stay folded."""
    opened_clusters = {
        cluster.name for cluster in view.root.walk() if any(inner.name in unfolded for inner in cluster.walk())
    }
    inner_names = {cluster.name: [inner.name for inner in cluster.clusters] for cluster in view.root.walk()}
    waiting, clusters = list(reversed(folded)), list[str]()
    while waiting:
        name = waiting.pop()
        if name in opened_clusters:
            waiting += reversed(inner_names[name])
        else:
            clusters.append(name)
    return clusters


def fold_until_within(view: View, screen: PictureSize) -> Sequence[str]:
    """The clusters to fold, so that the picture fits the screen if it can and has LEAST_BOXES boxes."""

    def fits(folded: Sequence[str]) -> bool:
        return is_within(collapse_clusters(view, folded), screen)

    sizes, order = ClusterSizes(view.root), dict[str, None]()
    for cluster in interest_order(view):
        if any(outer in order for outer in sizes.clusters_around(cluster.name)):  # it is folded already
            order[cluster.name] = None
        elif sizes.total - sizes.spared_by([cluster]) >= LEAST_BOXES:
            sizes.fold([cluster])
            order[cluster.name] = None
    names = list(order)
    if not fits(names):
        return names
    folded = dict.fromkeys(names[: bisect_left(range(len(names)), True, key=lambda count: fits(names[:count]))])
    for name in reversed(list(folded)):
        others = [folded_name for folded_name in folded if folded_name != name]
        if any(outer in folded for outer in sizes.clusters_around(name)) or fits(others):
            del folded[name]
    return list(folded)


FOLDED_FIRST: Mapping[ClusterKind, int] = {"scope": 0, "pullback": 1, "function": 2}
"""The order in which clusters of one depth are folded; those of other kinds, loops and branches, are last."""


def interest_order(view: View) -> list[Cluster]:
    """The clusters of a view, in the order in which they are folded for a screen: the deepest first, by nesting and by
    calls; at each depth by kind, and then the largest first. The function that is called first, and the outermost
    cluster of a part that is no function, stay."""
    functions = [cluster for cluster in view.root.clusters if cluster.kind == "function"]
    remaining_clusters = {
        cluster.name for cluster in view.root.clusters if cluster.kind != "function" or cluster is functions[0]
    }
    depths = call_depths(view)
    return sorted(
        (
            cluster
            for cluster in view.root.walk()
            if cluster is not view.root and cluster.name not in remaining_clusters
        ),
        key=lambda cluster: (-depths[cluster.name], FOLDED_FIRST.get(cluster.kind, 3), -len(cluster.boxes)),
    )


def call_depths(view: View) -> dict[str, int]:
    """The depth of each cluster: 1 for the function that is called first, and for what it does not reach. A cluster
    in another one, and a function that is called there, is one deeper, by the shortest way."""
    home_of = {name: cluster for cluster in view.root.walk() for name in cluster.boxes}
    part_of = {inner.name: cluster for cluster in view.root.clusters for inner in cluster.walk()}
    inner = {cluster.name: list(cluster.clusters) for cluster in view.root.walk()}
    for arrow in view.arrows:
        caller, callee = home_of[arrow.tail], home_of[arrow.head]
        is_call = arrow.link == "call" and caller.boxes[arrow.tail].kind == "call"
        called = part_of.get(callee.name)  # None in a picture of a part of the graph
        if is_call and called is not None and part_of.get(caller.name) is not called:
            inner[caller.name].append(called)
    depths = dict[str, int]()
    for cluster in view.root.clusters:
        waiting = deque([(cluster, 1)])
        while waiting:
            reached, depth = waiting.popleft()
            if reached.name not in depths:
                depths[reached.name] = depth
                waiting += [(function, depth + 1) for function in inner[reached.name]]
    return depths


def arrange_functions(view: View, screen: PictureSize) -> View:
    """The view with functions one above the other, as calls lead, or side by side, whichever fits a screen better. If
    neither fits, and it helps, long titles are wrapped; if that is not enough, rows are closer."""
    size, arrangement = best_arrangement(view, screen)
    return arrangement if size <= 1 else replace(arrangement, is_dense=True)


def tighten_arrows(view: View) -> list[ViewArrow]:
    """The arrows of a view, in which boxes that could be on any of several ranks are close to the next box. Otherwise
    Graphviz may place such a box on a rank of its own, among the labels of arrows, and the picture becomes higher."""
    ranks = rank_boxes(view)
    ends = [(arrow.head, arrow.tail) if arrow.is_reversed else (arrow.tail, arrow.head) for arrow in view.arrows]
    is_free = [not arrow.is_unconstrained for arrow in view.arrows]
    degrees, distances = Counter[str](), dict[str, int]()
    for upper, lower in compress(ends, is_free):
        degrees.update({upper: -1, lower: 1})
        distances[upper] = min(distances.get(upper, len(ranks)), ranks[lower] - ranks[upper])
    floating = {name for name, distance in distances.items() if distance > 1 and degrees[name] == 0}
    return [
        arrow._replace(is_tight=upper in floating and free)
        for arrow, (upper, _), free in zip(view.arrows, ends, is_free, strict=True)
    ]


def is_within(view: View, screen: PictureSize) -> bool:
    """Whether a picture of the view, arranged for the screen, is likely to fit it."""
    return any(excess(arrangement, screen) <= 1 for arrangement in arrangements(view))


def best_arrangement(view: View, screen: PictureSize) -> tuple[float, View]:
    """The view as `arrange_functions` returns it, but for the distance of its rows, and how many times larger than the
    screen its picture is."""
    every = arrangements(view)
    wide, narrow = every[:2], every[2:]
    best = min(((excess(arrangement, screen), arrangement) for arrangement in wide), key=itemgetter(0))
    rest = [(excess(arrangement, screen), arrangement) for arrangement in narrow] if best[0] > 1 else []
    return min([best, *rest], key=itemgetter(0))


def arrangements(view: View) -> list[View]:
    """The view with functions one above the other, and side by side; if it has long titles, the same with those
    wrapped."""
    side_by_side = replace(
        view, arrows=[arrow._replace(is_unconstrained=True) if arrow.link == "call" else arrow for arrow in view.arrows]
    )
    wide = [view, side_by_side]
    has_long_titles = any(len(box.title) > NARROW_TITLE for box in view.boxes.values())
    return [*wide, *(replace(drawing, title_width=NARROW_TITLE) for drawing in wide if has_long_titles)]


def excess(view: View, screen: PictureSize) -> float:
    """How many times larger than the screen the picture of a view is likely to be."""
    size = estimate_size(view)
    return max(size.width / screen.width, size.height / screen.height)


def folding_notes(view: View, result: View) -> list[str]:
    """What is in bundles and in folded boxes, for a caption."""
    notes, bundled = list[str](), {name for bundle in view.bundles for name in bundle.members}
    in_bundles = len(bundled & (result.places.keys() - view.places.keys()))
    if in_bundles:
        notes.append(f"{in_bundles:,} of {plural(len(view.boxes), 'node')} are drawn in bundles")
    titles = [box.title for box in result.boxes.values() if box.kind in ("folded", "folded_loop")]
    if titles:
        names = ", ".join(dict.fromkeys(titles))
        notes.append(f"folded: {names}")
    return notes


def screen_scale(size: PictureSize) -> float:
    """The factor by which a picture of a size in points shrinks when a screen shows all of it; 1 if it fits.

    >>> screen_scale(PictureSize(600.0, 750.0)), screen_scale(PictureSize(2400.0, 100.0))
    (1.0, 0.5)
    """
    width, height = (SCREEN_PIXELS[axis] / (size[axis] * PIXELS_PER_POINT) for axis in (0, 1))
    return min(width, height, 1.0)


def letter_height(size: PictureSize) -> float:
    """The height in pixels of the smallest letters when a screen shows all of a picture of a size in points."""
    return SMALL_FONT_SIZE * PIXELS_PER_POINT * screen_scale(size)


def shrink_svg(svg: bytes) -> bytes:
    """Graphviz's SVG of a picture that is larger than a screen, with the size of the screen, if its letters are legible
    then: so a browser shows all of it at once. Other pictures are unchanged."""
    match = re.search(rb'<svg width="([\d.]+)pt" height="([\d.]+)pt"', svg)
    assert match is not None
    size = PictureSize(float(match[1]), float(match[2]))
    scale = screen_scale(size)
    if scale == 1 or letter_height(size) < LEAST_LETTERS:
        return svg
    width, height = (length * scale for length in size)
    return b'%s<svg width="%.2fpt" height="%.2fpt"%s' % (svg[: match.start()], width, height, svg[match.end() :])
