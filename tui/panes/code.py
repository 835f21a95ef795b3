"""The code pane: the converted code of the function of the current or the inspected node, beside the user's lines."""

from __future__ import annotations

from ...core.program.program import TracedLocation
from ...viz.style import GREY, YELLOW
from ..session.command import sanitize
from ..session.session import Session
from .page import PageRow, PanePage, build_row, empty_page, wrap_spans
from .source import highlight, underline_spans

NUMBER_WIDTH = 5
"""The columns of the number before a line of converted code."""


def code_page(session: Session, width: int) -> PanePage:
    """The converted function that the node comes from; the lines from the node's line are marked and wrapped to `width`
    columns, and the node's expression is underlined. Each statement has the number of its line in the user's file."""
    from ...core.frontend.source.listing import find_listing  # the converter, which other panes do not need

    number = session.inspected_node
    location = None if number is None else session.history.graph.nodes[number].location
    listing = None if location is None else find_listing(location.file, location.line)
    if location is None or listing is None:
        return empty_page("no converted code is known for this node")
    place = listing.columns(location.span) if isinstance(location, TracedLocation) else None
    rows = list[PageRow]()
    for position, (text, line) in enumerate(listing.lines, 1):
        is_lit = place is not None and place[0] == position
        is_current = is_lit or (place is None and line == location.line)
        spans = highlight(sanitize(text))
        if is_lit and place is not None:
            spans = underline_spans(spans, place[1:])
        gutter = f"{line if line is not None else '':>4} "
        first, *others = wrap_spans(spans, width - NUMBER_WIDTH) if is_current else [spans]
        rows.append(build_row((gutter, YELLOW if is_current else GREY), *first, is_current=is_current, line=line))
        rows += [build_row(" " * NUMBER_WIDTH, *row, is_current=is_current, line=line) for row in others]
    target = next((k for k, row in enumerate(rows) if row.is_current), None)
    return PanePage(rows, f"{location.file.rpartition('/')[2]}:{location.line}", target)
