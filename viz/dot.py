"""Prints views as DOT source, without access to graphs and programs.

The `graphviz` package writes the statements. Names and other text of users are first escaped by `escape_markup` or
`escape_tooltip`, so that Graphviz never reads them as markup, as an escape, or as the end of a string.

>>> from tagloom.viz.view import ViewArrow, View
>>> view = View("double")
>>> view.root.add_box("a0", "argument", "x")
>>> view.root.add_box("n0", "arithmetic", "x + x")
>>> view.arrows.append(ViewArrow("a0", "n0", "data"))
>>> print("\\n".join(line.strip() for line in to_dot(view).splitlines() if "->" in line)) # doctest: +ELLIPSIS
a0 -> n0 [...]
"""

from __future__ import annotations

import html
import re
from collections.abc import Iterable, Sequence
from functools import lru_cache
from itertools import pairwise
from textwrap import wrap
from typing import Any

from ..core.errors import Usage
from ..core.escape import escape_line
from .style import (
    BADGE_LOOKS,
    BOX_LOOKS,
    CLUSTER_LOOKS,
    FONT,
    FONT_SIZE,
    LIGHT,
    LINE_LOOKS,
    SHAPE_FACTORS,
    SMALL_FONT_SIZE,
    YELLOW,
    Theme,
)
from .view import MAX_LINE_LENGTH, Badge, BadgeMark, BadgeRoom, Box, Cluster, View, ViewArrow

CAPTION_WIDTH = 72
"""The width at which captions are wrapped."""

CAPTION_LETTER_WIDTH = 7.5
"""The room for a letter of a caption in points, more than letters take."""

BADGE_MARGIN, BADGE_LETTER_WIDTH, DETAIL_LETTER_WIDTH, BADGE_HEIGHT = 34, 8.5, 6.5, 24
"""The room for a badge in points: besides its text, for each letter of the text and of the detail, and its height."""

TITLE_GAP, SUBTITLE_GAP, CAPTION_GAP = (f'<br/><font point-size="{points}">&#160;</font><br/>' for points in (2, 3, 2))
"""The breaks between two lines of a title, between a title and the line below it, and between two lines of a caption:
with a low line, without which underscores touch the next one."""

MARGIN, FLAT_MARGIN = "0.08,0.04", "0.08,0"
"""The room in inches between the text of a box and its shape. Graphviz draws a slanted or round shape higher than its
text, so its text needs no margin above and below."""

POINTS_PER_INCH = 72

ROW_DISTANCE, DENSE_ROW_DISTANCE = "0.24", "0.11"
"""The inches between rows of boxes."""

_TABLE = '<table border="0" cellborder="0" cellspacing="0" cellpadding="1">'


def import_graphviz() -> Any:
    """The package graphviz; raises Usage if it is not installed."""
    try:
        import graphviz  # type: ignore[import-untyped]
    except ModuleNotFoundError as error:
        hint = "pip install graphviz"
        message = "graphviz, which writes pictures as DOT, is not installed"
        raise Usage(message, hint=hint, python=ImportError) from error
    return graphviz


def to_dot(view: View, theme: Theme = LIGHT) -> str:
    """DOT source of a view; equal views give equal text. The class of a node and of an edge is its kind."""
    digraph = import_graphviz().Digraph
    picture = digraph(re.sub(r"\W", "_", view.name), **default_attributes(view, theme))
    if not view.side_constraints.has_second_pass:
        picture.attr(remincross="false")
    write_cluster(picture, view.root, theme, view)
    for number, arrow in enumerate(view.arrows):
        tail, head = (arrow.head, arrow.tail) if arrow.is_reversed else (arrow.tail, arrow.head)
        picture.edge(tail, head, **edge_attributes(arrow, theme, view.badge_room.get(number)))
    for upper, lower in view.rank_constraints:
        picture.edge(upper, lower, style="invis", weight="0")
    if not view.side_constraints.depth:
        write_side_constraints(picture, view.side_constraints.pairs)
    return str(picture.source)


def write_side_constraints(picture: Any, pairs: Iterable[tuple[str, str]]) -> None:
    """Write into a picture, or a cluster, that the first box of each pair is beside the second, on its left."""
    for left, right in pairs:
        level = import_graphviz().Digraph(graph_attr={"rank": "same"})
        level.edge(left, right, style="invis")
        picture.subgraph(level)


def escape_markup(text: str, longest: int = MAX_LINE_LENGTH) -> str:
    r"""Text escaped for an HTML-like label.

    >>> print(escape_markup(r"a<b & \N"))
    a&lt;b &amp; &#92;N
    """
    return html.escape(printable(text, longest)).replace("\\", "&#92;")


def escape_tooltip(text: str) -> str:
    r"""Text escaped for a tooltip.

    >>> print(escape_tooltip(r"a<b & \N"))
    a<b &amp; \\N
    """
    escaped: str = import_graphviz().escape(printable(text, 200).replace("&", "&amp;"))
    return escaped


def printable(text: str, longest: int = MAX_LINE_LENGTH) -> str:
    """Text as one line of limited length; control characters become Python escapes."""
    cut = text if len(text) <= longest else f"{text[: longest - 3]}..."
    return escape_line(cut.replace("\t", " ")) or " "


@lru_cache(maxsize=4096)
def wrap_title(title: str, width: int) -> Sequence[str]:
    """The lines of a title, which is broken only where it has a space; a count at its end stays in one line.

    >>> wrap_title("float32(0.1) * permute_dims_20", 20), wrap_title("fib + fib_1", 20)
    (['float32(0.1) *', 'permute_dims_20'], ['fib + fib_1'])
    """
    cut = re.sub("\u2026 ([0-9,]+) more", "\u2026\u00a0\\1\u00a0more", printable(title))
    return wrap(cut, width, break_long_words=False, break_on_hyphens=False) if len(cut) > width else [cut]


def default_attributes(view: View, theme: Theme) -> dict[str, dict[str, str]]:
    """The attributes of all graphs, nodes and edges in a theme."""
    font = {"fontname": FONT, "fontcolor": theme.foreground}
    graph_attributes = {
        **font,
        "fontsize": str(FONT_SIZE),
        "compound": "true",
        "newrank": "true",
        "nodesep": "0.3",
        "ranksep": DENSE_ROW_DISTANCE if view.is_dense else ROW_DISTANCE,
    }
    if theme.background != LIGHT.background:
        graph_attributes["bgcolor"] = theme.background
    label = label_markup(view, theme)
    if label:
        graph_attributes |= {"label": f"<{label}>", "labelloc": "b"}
    return {
        "graph_attr": graph_attributes,
        "node_attr": {**font, "fontsize": str(FONT_SIZE), "margin": MARGIN, "width": "0.5", "height": "0.4"},
        "edge_attr": {**font, "fontsize": str(SMALL_FONT_SIZE), "arrowsize": "0.7"},
    }


def label_markup(view: View, theme: Theme) -> str:
    """Markup of the caption and the legend; empty if there is neither."""
    lines = [escape_markup(line, CAPTION_WIDTH) for line in wrap_caption(view.caption)]
    room = view.caption_room
    if room is not None:
        lines += ["&#160;"] * (room.lines - len(lines))
    lines += filter(None, [legend_markup(view, theme)])
    if not lines:
        return ""
    # The first line is not empty: Graphviz ignores the height of empty lines and cuts the last one off.
    text = CAPTION_GAP.join(["&#160;", *lines])
    if room is None:
        return text
    width = room.line_length * CAPTION_LETTER_WIDTH
    return f'<table border="0" cellborder="0"><tr><td width="{width:.0f}">{text}</td></tr></table>'


def wrap_caption(caption: str) -> list[str]:
    """The lines of a caption; a text that is too long ends in an ellipsis."""
    return wrap(caption, CAPTION_WIDTH, max_lines=4, placeholder=" ...")


def legend_markup(view: View, theme: Theme) -> str:
    """Markup that explains the marks in a view."""
    marks = view.marks if view.caption_room is None else view.caption_room.marks
    meanings = ((_sign_colour(mark, theme), BADGE_LOOKS[mark]) for mark in marks if mark != "more")
    entries = "&#160;&#160; ".join(
        f'<font color="{colour}">{sign.glyph}</font> {sign.meaning}' for colour, sign in meanings
    )
    return f'<font point-size="{SMALL_FONT_SIZE}">{entries}</font>' if entries else ""


def _sign_colour(mark: BadgeMark, theme: Theme) -> str:
    """The colour of a sign in the legend: that of its badges, but that of text where it can hardly be seen."""
    colour = BADGE_LOOKS[mark].colour
    return theme.foreground if colour == YELLOW and theme is LIGHT else theme.resolve_colour(colour)


def write_cluster(picture: Any, cluster: Cluster, theme: Theme, view: View, depth: int = 0) -> None:
    """Write the contents of a cluster of a view into a picture, inner clusters as subgraphs; `depth` clusters contain
    them."""
    digraph = import_graphviz().Digraph
    if depth and depth == view.side_constraints.depth:
        boxes = {name for part in cluster.walk() for name in part.boxes}
        write_side_constraints(picture, (pair for pair in view.side_constraints.pairs if boxes >= set(pair)))
    for box in cluster.boxes.values():
        picture.node(box.name, **box_attributes(box, theme, view.badge_room.get(box.name), view.title_width))
    if len(cluster.same_rank) > 1:
        level = digraph(graph_attr={"rank": "same"})
        for left, right in pairwise(cluster.same_rank):
            level.edge(left, right, style="invis")
        picture.subgraph(level)
    for inner in cluster.clusters:
        drawn = digraph(inner.name)
        drawn.attr(**cluster_attributes(inner, theme))
        write_cluster(drawn, inner, theme, view, depth + 1)
        picture.subgraph(drawn)


def cluster_attributes(cluster: Cluster, theme: Theme) -> dict[str, str]:
    """The DOT attributes of a cluster."""
    frame = CLUSTER_LOOKS[cluster.kind]
    return {
        "class": cluster.kind,
        "label": f"<<b>{frame.glyph}{escape_markup(cluster.title)}</b>>",
        "labeljust": "l",
        "labelloc": "t",
        "tooltip": escape_tooltip(cluster.tooltip),
        "color": theme.resolve_colour(frame.colour),
        "style": frame.style,
    }


def box_attributes(
    box: Box, theme: Theme, room: BadgeRoom | None = None, title_width: int = MAX_LINE_LENGTH
) -> dict[str, str]:
    """The DOT attributes of a box whose title is wrapped at a width."""
    look = BOX_LOOKS[box.kind]
    colour = theme.resolve_colour(look.colour)
    label = TITLE_GAP.join(map(escape_markup, wrap_title(box.title, title_width)))
    if box.subtitle:
        subtitle = escape_markup(box.subtitle)
        label += f'{SUBTITLE_GAP}<font point-size="{SMALL_FONT_SIZE}" color="{theme.muted}">{subtitle}</font>'
    attributes = {
        "class": box.kind,
        "shape": look.shape,
        "color": colour,
        "fillcolor": colour + theme.fill_opacity,
        "style": look.style,
        "label": f"<{add_badge_rows(label, box.badges, theme, room)}>",
        "tooltip": escape_tooltip(box.tooltip),
    }
    if look.shape in SHAPE_FACTORS:
        attributes["margin"] = FLAT_MARGIN
    return {**attributes, "penwidth": "3.5"} if box.emphasized else attributes


def edge_attributes(arrow: ViewArrow, theme: Theme, room: BadgeRoom | None = None) -> dict[str, str]:
    """The DOT attributes of an arrow."""
    line = LINE_LOOKS[arrow.link]
    attributes = {
        "class": arrow.link,
        "style": line.style,
        "arrowhead": line.head,
        "color": theme.resolve_colour(line.colour),
        "tooltip": escape_tooltip(arrow.tooltip),
    }
    text = " ".join(filter(None, [arrow.label, f"\u00d7{arrow.edge_count}" if arrow.edge_count > 1 else ""]))
    if text or arrow.badges or room is not None:
        label = f"&#160;<b>{escape_markup(text)}</b>&#160;" if text else ""
        tooltip = "; ".join([arrow.tooltip, *(badge.tooltip for badge in arrow.badges if badge.tooltip)])
        attributes |= {
            "label": f"<{add_badge_rows(label, arrow.badges, theme, room)}>",
            "labeltooltip": escape_tooltip(tooltip),
        }
    if arrow.is_reversed:
        attributes["dir"] = "back"
    if arrow.is_unconstrained:
        attributes["constraint"] = "false"
    if arrow.is_tight:
        attributes["weight"] = "2"
    if arrow.head_cluster:
        attributes["lhead"] = arrow.head_cluster
    if arrow.emphasized or arrow.edge_count > 1:
        attributes["penwidth"] = "3" if arrow.emphasized else "2.2"
    return attributes


def add_badge_rows(label: str, badges: Iterable[Badge], theme: Theme, room: BadgeRoom | None = None) -> str:
    """Markup with a row for each badge below the text; with `room`, cells of that size, so that the markup takes the
    same space whatever the badges are."""
    markup = [_badge_markup(badge, theme) for badge in badges]
    if room is not None:
        width = BADGE_MARGIN + room.text_length * BADGE_LETTER_WIDTH + room.detail_length * DETAIL_LETTER_WIDTH
        size = f' fixedsize="true" width="{width:.0f}" height="{BADGE_HEIGHT}"'
        markup += [""] * (room.row_count - len(markup))
    else:
        size = ""
    rows = "".join(f"<tr><td{size}>{line}</td></tr>" for line in markup)
    if not rows:
        return label
    first = f"<tr><td>{label}</td></tr>" if label else ""
    return f"{_TABLE}{first}{rows}</table>"


def _badge_markup(badge: Badge, theme: Theme) -> str:
    look = BADGE_LOOKS[badge.mark]
    colour = theme.resolve_colour(look.colour)
    text = f"{look.glyph} {escape_markup(badge.text)}" if badge.text else look.glyph
    shape = "dashed" if badge.mark == "dead" else "rounded"
    border = f'border="1" cellpadding="2" style="{shape}" color="{colour}" bgcolor="{colour}{theme.fill_opacity}"'
    pill = f"<td {border}><b>{text}</b></td>"
    beside = f'<font point-size="{SMALL_FONT_SIZE - 1}" color="{theme.muted}">{escape_markup(badge.detail)}</font>'
    detail = f"<td>{beside}</td>" if badge.detail else ""
    return f"{_TABLE}<tr>{pill}{detail}</tr></table>"
