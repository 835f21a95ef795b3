"""The pane of tags: the tree of activations, which leads from one to another, and says which alone is shown."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator
from operator import itemgetter

from ...core.graph import Graph
from ...core.tag import ENVIRONMENT, ROOT, Site, Tag
from ...core.value import Value
from ...viz.moment import brief
from ...viz.style import GREEN, GREY, ORANGE, PURPLE, VERMILLION
from ...viz.words import short
from ..session.activation import Activation
from ..session.known import Known
from ..session.session import Session
from .page import Page, Row, Span, row

SIBLINGS, MOST = 12, 300
"""So many activations stand below one, around the one where one is; and so many in all."""


def tags(session: Session) -> Page:
    """The activations up to here: all around where one is and the one that alone is shown, and those directly below."""
    history, known, here = session.history, session.run.known, session.tag
    around = {tag.parent: tag for tag in here.steps() if tag.parent is not None}
    tree = _Tree(history.graph, known, history.position, around, session)
    rows = list(tree.rows(here))
    count = len(history.state.records)
    at = next((number for number, each in enumerate(rows) if each.here), None)
    return Page(rows, f"{count:,} open", at)


_position = itemgetter(0)


class _Tree:
    def __init__(self, graph: Graph, known: Known, position: int, around: dict[Tag, Tag], session: Session) -> None:
        self.graph, self.known, self.position, self.session = graph, known, position, session
        self.around = around
        self.callees: dict[Site, str] = {**dict(graph.calls), ENVIRONMENT: graph.name}

    def rows(self, here: Tag) -> Iterator[Row]:
        """Without recursion: tags may be very deep."""
        ahead: list[tuple[Tag, int] | tuple[int, int]] = [(ROOT, 0)]
        left = MOST
        while ahead and left:
            item, depth = ahead.pop()
            left -= 1
            if isinstance(item, int):
                yield row("  " * min(depth, 20), (f"  {item:,} more", GREY))
                continue
            found = self.known.activation(item)
            yield self._row(found, depth, here)
            kept, more = self._kept(item, found.below)
            ahead += [(more, depth + 1)] if more else []
            ahead += [(tag, depth + 1) for tag in reversed(kept)]

    def _kept(self, parent: Tag, below: list[tuple[int, Tag]]) -> tuple[list[Tag], int]:
        """Of those below, which stand in the order in which they opened, some around where one is; and how many more
        are open up to here."""
        count = bisect_right(below, self.position, key=_position)
        first, around = 0, self.around.get(parent)
        if count > SIBLINGS:
            opened = None if around is None else self.known.activation(around).opened
            middle = count - 1 if opened is None else bisect_right(below, opened, key=_position) - 1
            first = max(0, min(middle - SIBLINGS // 2, count - SIBLINGS))
        kept = below[first : min(first + SIBLINGS, count)]
        return [tag for _, tag in kept], count - len(kept)

    def _row(self, found: Activation, depth: int, here: Tag) -> Row:
        tag, record = found.tag, self.session.history.state.records.get(found.tag)
        is_loop = tag.site.kind == "loop"
        text, is_here = str(tag), tag == here
        is_only = self.session.focus.only == text
        mark = "◆" if is_only else "●" if record is not None else "✓"
        sign = (mark + " ", ORANGE if record is not None else GREEN)
        title = Span(self.title(found), VERMILLION if is_loop else PURPLE if record is not None else GREY, is_here)
        fired = f"  {record.tokens} ○" if record is not None and record.tokens else ""
        do = "only" if is_only else f"only {text}"
        site = "" if is_loop or tag == ROOT else f"  {tag.last}"
        indent = "  " * min(depth, 20)
        return row(indent, sign, title, (site + fired, GREY), here=is_here, tag=text, do=do)

    def title(self, found: Activation) -> str:
        """A call as `fib(3) = 2`; an iteration as `loop[2]: i = 2, s = 1`."""
        given = self._given(found)
        if found.tag.site.kind == "loop":
            return f"{found.tag.last}: {', '.join(f'{name} = {brief(value)}' for name, value in given)}"
        called = f"{self.callees.get(found.tag.site, '?')}({', '.join(brief(value) for _, value in given)})"
        came = [brief(value) for _, (at, value) in sorted(found.came.items()) if at <= self.position]
        return f"{called} = {', '.join(came)}" if came else called

    def _given(self, found: Activation) -> list[tuple[str, Value]]:
        """What has come in, in the order of parameters; triggers are left out."""
        given = [(node, value) for node, (at, value) in sorted(found.given.items()) if at <= self.position]
        if found.tag == ROOT:
            return [("", value) for _, value in given]
        named = [(short(self.graph.nodes[node].name), value) for node, value in given]
        return [(name, value) for name, value in named if not name.startswith("trigger")]
