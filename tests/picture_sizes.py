"""`python tests/picture_sizes.py` prints the sizes of pictures of networks, in full and folded as by `tagloom show`.
`python tests/picture_sizes.py FOLDER` also writes the full pictures there, in small.

A picture is measured in Graphviz's layout: its width and height in points, its boxes, and the pairs of arrows that
cross. The last column is the height in pixels of its smallest letters when a screen of 1,600 x 1,000 pixels shows all
of it.
"""

from __future__ import annotations

import io
import json
import sys
from collections.abc import Iterator
from itertools import combinations, pairwise
from pathlib import Path
from typing import Any, NamedTuple

import tagloom as tl
from PIL import Image
from tagloom.core.graph.graph import Graph
from tagloom.tui.load import find_program, program_and_graph
from tagloom.viz.dot import to_dot
from tagloom.viz.graph_view import graph_view
from tagloom.viz.operand_order import order_operands
from tagloom.viz.pictures import trim_view
from tagloom.viz.render import COORDINATE_FORMAT, render
from tagloom.viz.screen import letter_height
from tagloom.viz.size_estimate import PictureSize
from tagloom.viz.view import View

EXAMPLES = Path(tl.__file__).parent / "papers_examples"

FULL_PICTURES = {
    "TreeLSTM": "tree_lstm",
    "L2HMC": "l2hmc",
    "digits": "digits",
    "gradient of a loop": "gradient_of_a_loop",
}
"""The names of the files of full pictures."""

SMALL = 'graph [size="8.333,8.333"]'
"""1,200 pixels at the 144 dots per inch of PNGs."""

SMALL_COLOURS = 32

Point = tuple[float, float]


@tl.function
def power(x: tl.float64, n: tl.int64) -> tl.float64:
    y = 1.0
    for _ in range(n):
        y = y * x
    return y


@tl.function
def grad_power(x: tl.float64, n: tl.int64) -> tl.float64:
    return tl.grad(power)(x, n)


class Measurement(NamedTuple):
    """The size of a picture in points, its boxes, its crossings, and its smallest letters on a screen in pixels."""

    width: float
    height: float
    boxes: int
    crossings: int
    letters: float


def networks() -> dict[str, Graph]:
    """The graphs of the table, by name."""
    files = {"TreeLSTM": "recursion/tree_lstm.py", "L2HMC": "eager/l2hmc.py", "digits": "tensorflow/digits.py"}
    graphs = {name: program_and_graph(find_program(str(EXAMPLES / file)))[1] for name, file in files.items()}
    return {**graphs, "gradient of a loop": grad_power.graph}


def measure(view: View) -> Measurement:
    """Lay out a view, and measure the picture."""
    layout = json.loads(render(to_dot(view), COORDINATE_FORMAT, timeout=600))
    _, _, width, height = map(float, layout["bb"].split(","))
    crossings = sum(cross(one, other) for one, other in combinations(list(arrow_lines(layout)), 2))
    return Measurement(width, height, len(view.boxes), crossings, letter_height(PictureSize(width, height)))


def draw_small(view: View, path: Path) -> None:
    """Write the full picture of a view as a PNG that is at most 1,200 pixels wide and high."""
    picture = Image.open(io.BytesIO(render(f"{to_dot(view).rstrip().removesuffix('}')}{SMALL}}}", "png", timeout=600)))
    picture.convert("RGB").quantize(SMALL_COLOURS).save(path, optimize=True)


def arrow_lines(layout: Any) -> Iterator[tuple[frozenset[int], list[Point]]]:
    """The boxes that each drawn arrow joins, and the ends and control points of its curve."""
    for edge in layout.get("edges", ()):
        if "pos" in edge:
            points = [word.split(",")[-2:] for word in edge["pos"].split()]
            yield frozenset((edge["tail"], edge["head"])), [(float(x), float(y)) for x, y in points if x not in "es"]


def cross(one: tuple[frozenset[int], list[Point]], other: tuple[frozenset[int], list[Point]]) -> bool:
    """Whether two arrows cross; those that share a box do not count."""
    if one[0] & other[0] or any(
        max(p[axis] for p in line) < min(p[axis] for p in against)
        for axis in (0, 1)
        for line, against in ((one[1], other[1]), (other[1], one[1]))
    ):
        return False
    return any(
        is_left(a, b, c) != is_left(a, b, d) and is_left(c, d, a) != is_left(c, d, b)
        for a, b in pairwise(one[1])
        for c, d in pairwise(other[1])
    )


def is_left(start: Point, end: Point, point: Point) -> bool:
    """Whether a point is on the left of a line."""
    return (end[0] - start[0]) * (point[1] - start[1]) > (end[1] - start[1]) * (point[0] - start[0])


def main(folder: Path | None = None) -> None:
    print("| graph | picture | width, pt | height, pt | boxes | crossing arrows | smallest letters, px |")
    print("|---|---|---|---|---|---|---|")
    for name, graph in networks().items():
        view = graph_view(graph)
        if folder is not None:
            draw_small(view, folder / f"{FULL_PICTURES[name]}.png")
        for title, drawn in (("`--full`", view), ("as folded", order_operands(trim_view(view)))):
            size = measure(drawn)
            counts = f"{size.width:,.0f} | {size.height:,.0f} | {size.boxes} | {size.crossings:,} | {size.letters:.1f}"
            print(f"| {name} | {title} | {counts} |", flush=True)


if __name__ == "__main__":
    main(*map(Path, sys.argv[1:]))
