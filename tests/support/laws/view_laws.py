"""The laws of all views; and runs to draw."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from typing import Any

from hypothesis import strategies as st
from support.generators.effect_programs import Witness, act_cases
from support.generators.generator import Case, cases
from tagloom.core.graph.graph import Graph
from tagloom.core.graph.lower import lower
from tagloom.core.ops.op import OPS
from tagloom.interp.engines.limits import Limits
from tagloom.interp.history.history import History
from tagloom.viz.view import EXPRESSION_KINDS, Badge, BadgeMark, View

LIMITS = Limits(firings=300)


@st.composite
def runs(draw: Any) -> History:
    """Runs of generated programs, with cells, effects and bounds too, at random positions."""
    case: Case = draw(st.one_of(cases(), act_cases()))
    schedule = draw(st.sampled_from(["waves", "fifo", "lifo", "random:3"]))
    history = History(lower(case.program), case.arguments, schedule=schedule, limits=LIMITS, world=Witness())
    history.run()
    history.jump(draw(st.integers(0, len(history))))
    return history


def view_violations(view: View) -> Iterator[str]:
    """Names are unique, and arrows, levels and rank constraints refer to boxes of the view."""
    clusters = list(view.root.walk())
    names = [*(cluster.name for cluster in clusters), *(name for cluster in clusters for name in cluster.boxes)]
    twice = [name for name, count in Counter(names).items() if count > 1]
    if twice:
        yield f"several things are called {twice}"
    if any(name != box.name for name, box in view.boxes.items()):
        yield "a box goes by another name than its own"
    for arrow in view.arrows:
        if arrow.tail not in view.boxes or arrow.head not in view.boxes:
            yield f"{arrow} ends nowhere"
        if arrow.head_cluster and arrow.head_cluster not in {cluster.name for cluster in clusters}:
            yield f"{arrow} ends at no cluster"
    for cluster in clusters:
        if not set(cluster.same_rank) <= cluster.boxes.keys():
            yield f"the level of {cluster.name} has boxes of others"
    for upper, lower_ in view.rank_constraints:
        if upper not in view.boxes or lower_ not in view.boxes:
            yield f"{upper} is kept above {lower_}"


def badges(view: View) -> Counter[BadgeMark]:
    """The number of badges of each mark."""
    results = [*(box.badges for box in view.boxes.values()), *(arrow.badges for arrow in view.arrows)]
    return Counter(badge.mark for each in results for badge in each)


def place_violations(full_view: View, folded: View) -> Iterator[str]:
    """Folding loses nothing: each box has one place, the arrows are the images of the arrows, with their number, and no
    badge is lost."""
    yield from view_violations(folded)
    places = {name: folded.place_of(name) for name in full_view.boxes}
    if set(places.values()) != folded.boxes.keys():
        yield "the boxes are not the places of the boxes"
    images, inside = Counter[tuple[object, ...]](), Counter[str]()
    weight_inside = Counter[str]()
    for arrow in full_view.arrows:
        tail, head = places[arrow.tail], places[arrow.head]
        if tail == head and arrow.tail != arrow.head:
            inside[tail] += 1
            weight_inside[tail] += _weight(arrow.badges)
        else:
            images[tail, head, arrow.link, arrow.label] += 1
    arrow_counts = Counter[tuple[object, ...]]()
    for arrow in folded.arrows:
        arrow_counts[arrow.tail, arrow.head, arrow.link, arrow.label] += arrow.edge_count
    if images != arrow_counts:
        missing, surplus = images - arrow_counts, arrow_counts - images
        yield f"the arrows are not the images of the arrows: {missing} missing, {surplus} more"
    for name, box in folded.boxes.items():
        members = [full_view.boxes[each] for each, place in places.items() if place == name]
        expected = sum(_weight(member.badges) for member in members) + weight_inside[name]
        if _weight(box.badges, counts=box.kind.startswith("folded")) != expected:
            yield f"{name} has {box.badges}, not badges for {expected}"
    if sum(_weight(arrow.badges) for arrow in folded.arrows) + weight_inside.total() != sum(
        _weight(arrow.badges) for arrow in full_view.arrows
    ):
        yield "tokens on arrows are lost"


def _weight(badges: tuple[Badge, ...], *, counts: bool = False) -> int:
    """The number of tokens and nodes that badges stand for; in a folded cluster, each badge counts."""
    return sum(int(b.text) if (counts or b.mark in ("more", "ready")) and b.text.isdigit() else 1 for b in badges)


WORD = re.compile(r"[^\W\d]\w*(?![\w(])")


def formula_violations(graph: Graph, view: View) -> Iterator[str]:
    """In a static view of a graph, the formulas of boxes and the titles of frames name no op that is not drawn."""
    ops = {node.name.rpartition(".")[2] for node in graph.nodes if node.op in OPS}
    drawn = {box.subtitle for box in view.boxes.values()}
    others = [box.title for box in view.boxes.values() if box.kind not in EXPRESSION_KINDS]
    drawn.update(word for title in others for word in WORD.findall(title))
    formulas = [box.title for box in view.boxes.values() if box.kind in EXPRESSION_KINDS]
    titles = [cluster.title for cluster in view.root.walk() if cluster.kind in ("branch", "loop")]
    for text in (*formulas, *titles):
        yield from (f"{text} names {word}" for word in WORD.findall(text) if word in ops - drawn)
