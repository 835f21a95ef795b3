"""DOT source of views: a printer, which knows nothing of graphs and programs.

The `graphviz` package writes the statements. Text that people made passes through `markup` or `plain` first, so that
no name, however strange, is read as markup, as an escape, or as the end of a string.

>>> from tagloom.viz.view import Arrow, View
>>> view = View("double")
>>> view.outside.box("a0", "argument", "x")
>>> view.outside.box("n0", "arithmetic", "x + x")
>>> view.arrows.append(Arrow("a0", "n0", "data"))
>>> print("\\n".join(line.strip() for line in dot(view).splitlines() if "->" in line)) # doctest: +ELLIPSIS
a0 -> n0 [...]
"""

from __future__ import annotations

import html
import re
from collections.abc import Iterable
from itertools import pairwise
from textwrap import wrap
from typing import Any

from .style import FONT, FRAMES, LIGHT, LINES, LOOKS, SIGNS, SIZE, SMALL, Theme
from .view import Arrow, Badge, Box, Cluster, View

LONGEST = 48
"""Longer lines are cut."""

WIDEST = 72
"""Captions that are longer take several lines."""

_TABLE = '<table border="0" cellborder="0" cellspacing="1" cellpadding="2">'


def dot(view: View, theme: Theme = LIGHT) -> str:
    """DOT source of a view, the same text every time; the class of a node and of an edge is its kind."""
    from graphviz import Digraph  # type: ignore[import-untyped]

    picture = Digraph(re.sub(r"\W", "_", view.name), **_defaults(view, theme))
    _fill(picture, view.outside, theme)
    for arrow in view.arrows:
        tail, head = (arrow.head, arrow.tail) if arrow.turned else (arrow.tail, arrow.head)
        picture.edge(tail, head, **_of_arrow(arrow, theme))
    for upper, lower in view.above:
        picture.edge(upper, lower, style="invis", weight="0")
    return str(picture.source)


def markup(text: str, longest: int = LONGEST) -> str:
    r"""Text as it stands in a label of markup.

    >>> print(markup(r"a<b & \N"))
    a&lt;b &amp; &#92;N
    """
    return html.escape(_printable(text, longest)).replace("\\", "&#92;")


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


def _defaults(view: View, theme: Theme) -> dict[str, dict[str, str]]:
    font = {"fontname": FONT, "fontcolor": theme.ink}
    whole = {**font, "fontsize": str(SIZE), "compound": "true", "newrank": "true", "nodesep": "0.3", "ranksep": "0.35"}
    if theme.paper != LIGHT.paper:
        whole["bgcolor"] = theme.paper
    caption = (markup(line, WIDEST) for line in wrap(view.caption, WIDEST, max_lines=4, placeholder=" ..."))
    below = [*caption, *filter(None, [_legend(view, theme)])]
    if below:  # the line above it is not empty: of those Graphviz forgets the height, and cuts the last off
        whole |= {"label": f"<{'<br/>'.join(['&#160;', *below])}>", "labelloc": "b"}
    return {
        "graph_attr": whole,
        "node_attr": {**font, "fontsize": str(SIZE), "margin": "0.08,0.04", "width": "0.5", "height": "0.4"},
        "edge_attr": {**font, "fontsize": str(SMALL), "arrowsize": "0.7"},
    }


def _legend(view: View, theme: Theme) -> str:
    """Markup that says what the marks mean that are there."""
    meanings = ((theme.colour(SIGNS[mark].colour), SIGNS[mark]) for mark in view.marks if mark != "more")
    said = "&#160;&#160; ".join(
        f'<font color="{colour}">{sign.sign}</font> {sign.meaning}' for colour, sign in meanings
    )
    return f'<font point-size="{SMALL}">{said}</font>' if said else ""


def _fill(picture: Any, cluster: Cluster, theme: Theme) -> None:
    """Write what is in a cluster into a picture; the clusters inside it are clusters there."""
    from graphviz import Digraph

    for box in cluster.boxes.values():
        picture.node(box.name, **_of_box(box, theme))
    if len(cluster.level) > 1:
        level = Digraph(graph_attr={"rank": "same"})
        for left, right in pairwise(cluster.level):
            level.edge(left, right, style="invis")
        picture.subgraph(level)
    for inner in cluster.clusters:
        drawn = Digraph(inner.name)
        drawn.attr(**_of_cluster(inner, theme))
        _fill(drawn, inner, theme)
        picture.subgraph(drawn)


def _of_cluster(cluster: Cluster, theme: Theme) -> dict[str, str]:
    frame = FRAMES[cluster.kind]
    return {
        "class": cluster.kind,
        "label": f"<<b>{frame.sign}{markup(cluster.title)}</b>>",
        "labeljust": "l",
        "labelloc": "t",
        "tooltip": plain(cluster.tooltip),
        "color": theme.colour(frame.colour),
        "style": frame.style,
    }


def _of_box(box: Box, theme: Theme) -> dict[str, str]:
    look = LOOKS[box.kind]
    colour = theme.colour(look.colour)
    small = f'<br/><font point-size="{SMALL}" color="{theme.faint}">{markup(box.second)}</font>' if box.second else ""
    said = f"{markup(box.first)}{small}"
    found = {
        "class": box.kind,
        "shape": look.shape,
        "color": colour,
        "fillcolor": colour + theme.tint,
        "style": look.style,
        "label": f"<{_with_badges(said, box.badges, theme)}>",
        "tooltip": plain(box.tooltip),
    }
    return {**found, "penwidth": "3.5"} if box.strong else found


def _of_arrow(arrow: Arrow, theme: Theme) -> dict[str, str]:
    line = LINES[arrow.link]
    found = {
        "class": arrow.link,
        "style": line.style,
        "arrowhead": line.head,
        "color": theme.colour(line.colour),
        "tooltip": plain(arrow.tooltip),
    }
    if arrow.label or arrow.badges:
        said = f"&#160;<b>{markup(arrow.label)}</b>&#160;" if arrow.label else ""
        told = "; ".join([arrow.tooltip, *(badge.tooltip for badge in arrow.badges if badge.tooltip)])
        found |= {"label": f"<{_with_badges(said, arrow.badges, theme)}>", "labeltooltip": plain(told)}
    if arrow.turned:
        found["dir"] = "back"
    if arrow.free:
        found["constraint"] = "false"
    if arrow.into:
        found["lhead"] = arrow.into
    if arrow.strong:
        found["penwidth"] = "3"
    return found


def _with_badges(said: str, badges: Iterable[Badge], theme: Theme) -> str:
    """Markup, with a row for each badge under it."""
    rows = "".join(f"<tr><td>{_of_badge(badge, theme)}</td></tr>" for badge in badges)
    if not rows:
        return said
    first = f"<tr><td>{said}</td></tr>" if said else ""
    return f"{_TABLE}{first}{rows}</table>"


def _of_badge(badge: Badge, theme: Theme) -> str:
    look = SIGNS[badge.mark]
    colour = theme.colour(look.colour)
    text = f"{look.sign} {markup(badge.text)}" if badge.text else look.sign
    pill = f'<td border="1" style="rounded" color="{colour}" bgcolor="{colour}{theme.tint}"><b>{text}</b></td>'
    beside = f'<font point-size="{SMALL - 1}" color="{theme.faint}">{markup(badge.detail)}</font>'
    detail = f"<td>{beside}</td>" if badge.detail else ""
    return f"{_TABLE}<tr>{pill}{detail}</tr></table>"
