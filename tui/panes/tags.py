"""The pane of tags: the tree of activations, which leads from one to another, and says which alone is shown."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator

from ...core.graph import Graph
from ...core.tag import ENVIRONMENT, ROOT, Site, Tag
from ...core.value import Value
from ...viz.moment import brief
from ...viz.style import GREEN, GREY, ORANGE, PURPLE, VERMILLION
from ...viz.tags import called_so
from ...viz.words import short
from ..session.known import Activation, Known
from ..session.session import Session
from .page import Page, Row, Span, row

SIBLINGS, MOST = 12, 300
"""So many activations stand below one, around the one where one is; and so many in all."""


def tags(session: Session) -> Page:
    """The activations up to here: all around where one is and the one that alone is shown, and those directly below."""
    history, known, here = session.history, session.run.known, session.tag
    tree = _Tree(history.graph, known, history.position, {*here.steps(), ROOT}, session)
    rows = list(tree.rows(here))
    count = len(history.state.records)
    at = next((number for number, each in enumerate(rows) if each.here), None)
    return Page(rows, f"{count:,} open", at)


class _Tree:
    def __init__(self, graph: Graph, known: Known, position: int, opened: set[Tag], session: Session) -> None:
        self.graph, self.known, self.position, self.session = graph, known, position, session
        self.around = opened
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
            found = self.known.activations[item]
            yield self._row(found, depth, here)
            kept, more = self._kept(found.below)
            ahead += [(more, depth + 1)] if more else []
            ahead += [(tag, depth + 1) for tag in reversed(kept)]

    def _kept(self, below: list[Tag]) -> tuple[list[Tag], int]:
        """Of those below, which stand in the order in which they opened, some around where one is; and how many more
        are open up to here."""
        count = bisect_right(below, self.position, key=self._opened)
        if count <= SIBLINGS:
            return below[:count], 0
        parent = below[0].parent
        around = next((tag for tag in self.around if tag.parent == parent and tag != ROOT), below[count - 1])
        middle = bisect_right(below, self._opened(around), key=self._opened) - 1
        first = max(0, min(middle - SIBLINGS // 2, count - SIBLINGS))
        return below[first : first + SIBLINGS], count - SIBLINGS

    def _opened(self, tag: Tag) -> int:
        return self.known.activations[tag].opened

    def _row(self, found: Activation, depth: int, here: Tag) -> Row:
        tag, record = found.tag, self.session.history.state.records.get(found.tag)
        is_loop = tag.site.kind == "loop"
        only = self.session.focus.only
        mark = "◆" if only == str(tag) else "●" if record is not None else "✓"
        sign = (mark + " ", ORANGE if record is not None else GREEN)
        title = Span(self.title(found), VERMILLION if is_loop else PURPLE if record is not None else GREY, tag == here)
        fired = f"  {record.tokens} ○" if record is not None and record.tokens else ""
        do = "only" if only == str(tag) else f"only {tag}"
        site = "" if is_loop or tag == ROOT else f"  {tag.last}"
        indent = "  " * min(depth, 20)
        return row(indent, sign, title, (site + fired, GREY), here=tag == here, tag=str(tag), do=do)

    def title(self, found: Activation) -> str:
        """A call as `fib(3) = 2`; an iteration as `loop[2]: i = 2, s = 1`."""
        given = self._given(found)
        if found.tag.site.kind == "loop":
            return f"{found.tag.last}: {', '.join(f'{self._name(node)} = {brief(value)}' for node, value in given)}"
        came = [(node, value) for node, (at, value) in sorted(found.came.items()) if at <= self.position]
        return called_so(self.callees.get(found.tag.site, "?"), self.known.gates.said(given, came))

    def _given(self, found: Activation) -> list[tuple[int, Value]]:
        """What has come in, in the order of parameters; triggers are left out."""
        given = [(node, value) for node, (at, value) in sorted(found.given.items()) if at <= self.position]
        return given if found.tag == ROOT else [each for each in given if not self._name(each[0]).startswith("trigger")]

    def _name(self, node: int) -> str:
        return short(self.graph.nodes[node].name)
