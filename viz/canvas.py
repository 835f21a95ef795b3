"""DOT source from boxes in boxes: quoting, clusters, defaults. Knows nothing of graphs and programs.

The `graphviz` package writes the statements. Text that people made passes through `markup` or `plain` first, so that
no name, however strange, is read as markup, as an escape, or as the end of a string.
"""

from __future__ import annotations

import html
import re
from dataclasses import dataclass, field
from typing import Any

from .style import FONT, GREY, LINES, LOOKS, SIZE, SMALL, Kind, Link

LONGEST = 48
"""Longer lines are cut."""

_GRAPH = {
    "fontname": FONT,
    "fontsize": str(SIZE),
    "compound": "true",
    "newrank": "true",
    "nodesep": "0.3",
    "ranksep": "0.35",
}
_NODE = {"fontname": FONT, "fontsize": str(SIZE), "margin": "0.08,0.04", "width": "0.5", "height": "0.4"}
_EDGE = {"fontname": FONT, "fontsize": str(SMALL), "arrowsize": "0.7"}


@dataclass(slots=True)
class Box:
    """A cluster: its nodes, by name, with their attributes, and the boxes inside it."""

    name: str
    attributes: dict[str, str]
    nodes: dict[str, dict[str, str]] = field(default_factory=dict)
    level: list[str] = field(default_factory=list)
    """Nodes that stand side by side."""
    boxes: list[Box] = field(default_factory=list)

    def box(self, title: str, tooltip: str, colour: str = GREY, style: str = "solid") -> Box:
        """A new box inside this one."""
        text = {"label": f"<<b>{markup(title)}</b>>", "labeljust": "l", "tooltip": plain(tooltip)}
        inner = Box(f"{self.name}_{len(self.boxes)}", {**text, "color": colour, "style": style})
        self.boxes.append(inner)
        return inner

    def node(self, name: str, kind: Kind, first: str, second: str = "", tooltip: str = "") -> None:
        """A new node, with one line of text or two. No other node of the picture has its name."""
        small = f'<br/><font point-size="{SMALL}" color="{GREY}">{markup(second)}</font>' if second else ""
        text = {"class": kind, "label": f"<{markup(first)}{small}>", "tooltip": plain(tooltip)}
        self.nodes[name] = {**LOOKS[kind].attributes, **text}


@dataclass(slots=True)
class Canvas:
    """A picture: what stands outside all boxes, and the edges."""

    name: str
    outside: Box = field(default_factory=lambda: Box("cluster", {}))
    edges: list[tuple[str, str, dict[str, str]]] = field(default_factory=list)

    def edge(self, tail: str, head: str, link: Link, label: str = "", tooltip: str = "", **more: str) -> None:
        """A new edge; `more` are attributes of DOT."""
        details = {**LINES[link].attributes, "class": link, "tooltip": plain(tooltip), **more}
        if label:
            details |= {"label": f"<&#160;<b>{markup(label)}</b>&#160;>", "labeltooltip": plain(tooltip)}
        self.edges.append((tail, head, details))

    def back(self, tail: str, head: str, link: Link, label: str = "", tooltip: str = "") -> None:
        """A new edge that is laid out as if it ran from head to tail; the arrow tells the truth."""
        self.edge(head, tail, link, label, tooltip, dir="back")

    def above(self, upper: str, lower: str) -> None:
        """Keep one node above another, by an edge that is not drawn."""
        self.edges.append((upper, lower, {"style": "invis", "weight": "0"}))

    def source(self) -> str:
        """The picture as DOT source."""
        from graphviz import Digraph  # type: ignore[import-untyped]

        picture = Digraph(re.sub(r"\W", "_", self.name), graph_attr=_GRAPH, node_attr=_NODE, edge_attr=_EDGE)
        _fill(picture, self.outside)
        for tail, head, attributes in self.edges:
            picture.edge(tail, head, **attributes)
        return str(picture.source)


def markup(text: str) -> str:
    r"""Text as it stands in a label of markup.

    >>> print(markup(r"a<b & \N"))
    a&lt;b &amp; &#92;N
    """
    return html.escape(_printable(text)).replace("\\", "&#92;")


def plain(text: str) -> str:
    r"""Text as it stands in a tooltip.

    >>> print(plain(r"a<b & \N"))
    a<b &amp; \\N
    """
    from graphviz import escape

    escaped: str = escape(_printable(text, 200).replace("&", "&amp;"))
    return escaped


def _printable(text: str, longest: int = LONGEST) -> str:
    """One line, not too long; what cannot be printed as Python writes it."""
    cut = text if len(text) <= longest else f"{text[: longest - 3]}..."
    return "".join(c if c.isprintable() else repr(c)[1:-1] for c in cut) or " "


def _fill(picture: Any, box: Box) -> None:
    """Write what is in a box into a picture; the boxes inside it are clusters there."""
    from graphviz import Digraph

    for name, attributes in box.nodes.items():
        picture.node(name, **attributes)
    if len(box.level) > 1:
        picture.subgraph(_level(box.level))
    for inner in box.boxes:
        cluster = Digraph(inner.name)
        cluster.attr(**inner.attributes)
        _fill(cluster, inner)
        picture.subgraph(cluster)


def _level(names: list[str]) -> Any:
    from graphviz import Digraph

    level = Digraph(graph_attr={"rank": "same"})
    for name in names:
        level.node(name)
    return level
