"""Labels of arrows: each is near its own arrow, and covers no box and no other label."""

from __future__ import annotations

import re
from pathlib import Path

import tagloom as tl
from tagloom.viz.arrow_labels import (
    MAX_LABEL_DISTANCE,
    arrow_labels,
    box_rects,
    clear_labels,
    label_lines,
    line_distance,
)

PICTURES = {
    path.stem: path
    for path in sorted((Path(tl.__file__).parent / "docs" / "pictures").glob("*.svg"))
    if 'class="edge' in path.read_text()
}
MOMENTS = ("bounded_deadlock", "dead_tokens", "deadlock", "fib_at_20", "fib_at_20_dark", "race")
"""Pictures of moments, in which labels have room for tokens."""


def misplaced_labels(svg: str) -> list[str]:
    """The labels that are far from their arrows, and those that cover a box or another label."""
    lines, boxes, labels = label_lines(svg), list(box_rects(svg)), list(arrow_labels(svg))
    far = [
        f"far from its arrow: {label.rect}"
        for label in labels
        if line_distance(label.rect, lines[label.arrow], MAX_LABEL_DISTANCE) > MAX_LABEL_DISTANCE
    ]
    others = {label.arrow: [*boxes, *(other.rect for other in labels if other is not label)] for label in labels}
    covering = [
        f"covers something: {label.rect}"
        for label in labels
        if any(label.rect.inset(2.0).overlaps(other) for other in others[label.arrow])
    ]
    return far + covering


def test_labels_are_beside_their_arrows() -> None:
    """In the pictures of the docs, each label is near its arrow. It covers no box and no other label."""
    wrong = {name: misplaced_labels(path.read_text()) for name, path in PICTURES.items() if name not in MOMENTS}
    assert len(wrong) > 30 and {name: labels for name, labels in wrong.items() if labels} == {}


PARALLEL = "M{0},0C{0},60 {0},140 {0},200"
LABEL = '<text x="{}" y="100" font-size="10.00">×2</text>'


def svg_of(*arrows: tuple[int, str], box: str = "") -> str:
    """An SVG as Graphviz writes it: vertical arrows with these positions and labels, and a box."""
    edges = "".join(
        f'<g id="edge{number}" class="edge data"><path stroke="black" d="{PARALLEL.format(x)}"/>{label}</g>'
        for number, (x, label) in enumerate(arrows, 1)
    )
    return f'<svg><g id="graph0"><g id="node1" class="node"><polygon points="{box or "0,0"}"/></g>{edges}</g></svg>'


def places(svg: str) -> list[float]:
    """The left ends of labels."""
    return [float(x) for x in re.findall('<text x="([^"]*)"', svg)]


def test_a_label_moves_to_its_arrow() -> None:
    """A far label, and one that is nearer to another arrow, move beside their own; the others stay."""
    assert places(clear_labels(svg_of((20, LABEL.format(24))))) == [24]
    assert places(clear_labels(svg_of((20, LABEL.format(90))))) == [23]
    assert places(clear_labels(svg_of((20, LABEL.format(62)), (80, "")))) == [23]
    cleared = clear_labels(svg_of((20, LABEL.format(90)), (80, LABEL.format(84))))
    assert places(cleared) == [23, 84] and clear_labels(cleared) == cleared


def test_a_label_avoids_boxes() -> None:
    """A label whose place on the right is taken by a box moves to the left; if there is no free place, it stays."""
    svg = svg_of((60, LABEL.format(120)), box="62,0 100,0 100,200 62,200")
    assert [place for place in places(clear_labels(svg)) if place < 60]
    assert misplaced_labels(svg) and not misplaced_labels(clear_labels(svg))
    full = svg_of((60, LABEL.format(120)), box="-300,-300 300,-300 300,500 -300,500")
    assert clear_labels(full) == full
