"""The pane of tags: the tree of activations, which leads from one to another, and says which alone is shown."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator
from operator import itemgetter
from typing import NamedTuple

from ...core.graph import Graph
from ...core.tag import ENVIRONMENT, ROOT, Site, Tag
from ...core.value import Value
from ...interp.state import State
from ...viz.moment import brief
from ...viz.style import GREEN, GREY, ORANGE, PURPLE, VERMILLION
from ...viz.tags import Gates, called_so
from ...viz.words import short
from ..session.known import Known
from ..session.session import Session
from .page import Lazy, Page, Row, Span, row

SIBLINGS, MOST = 12, 300
"""So many activations stand below one, around the one where one is; and so many in all."""
UNKNOWN = "…"
"""What came in before the events that are known."""


def tags(session: Session) -> Page:
    """The activations up to here: all around where one is and the one that alone is shown, and those directly below."""
    history, here = session.history, session.tag
    around = {tag.parent: tag for tag in here.steps() if tag.parent is not None}
    found = list(_Tree(session.run.known, history.state, history.position, around).entries())
    told = _Telling(history.graph, session.run.known.gates, history.position, here, session.only)
    at = next((number for number, each in enumerate(found) if isinstance(each, Entry) and each.tag == here), None)
    return Page(Lazy(len(found), lambda number: told.row(found[number])), f"{len(history.state.records):,} open", at)


class Entry(NamedTuple):
    """An activation of the tree, as it is when somebody looks: its row is made when that is seen."""

    tag: Tag
    depth: int
    tokens: int | None
    """How many are in it; None where it has closed."""
    given: dict[int, tuple[int, Value]]
    came: dict[int, tuple[int, Value]]
    """These go on to change; what they get is of later positions, which a row does not look at."""
    is_early: bool
    """Whether it opened before what is known, so that nobody knows what came in then."""


class More(NamedTuple):
    """So many activations are not listed."""

    left: int
    depth: int


_position = itemgetter(0)


class _Tree:
    def __init__(self, known: Known, state: State, position: int, around: dict[Tag, Tag]) -> None:
        self.known, self.state, self.position, self.around = known, state, position, around

    def entries(self) -> Iterator[Entry | More]:
        """Without recursion: tags may be very deep."""
        ahead: list[tuple[Tag, int] | More] = [(ROOT, 0)]
        left = MOST
        while ahead and left:
            item = ahead.pop()
            left -= 1
            if isinstance(item, More):
                yield item
                continue
            tag, depth = item
            found, record = self.known.activation(tag), self.state.records.get(tag)
            tokens, is_early = None if record is None else record.tokens, found.opened is None and tag != ROOT
            yield Entry(tag, depth, tokens, found.given, found.came, is_early)
            kept, more = self._kept(tag, found.below)
            ahead += [More(more, depth + 1)] if more else []
            ahead += [(below, depth + 1) for below in reversed(kept)]

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


class _Telling:
    """What rows say."""

    def __init__(self, graph: Graph, gates: Gates, position: int, here: Tag, only: Tag | None) -> None:
        self.graph, self.gates, self.position, self.here, self.only = graph, gates, position, here, only
        self.callees: dict[Site, str] = {**dict(graph.calls), ENVIRONMENT: graph.name}

    def row(self, entry: Entry | More) -> Row:
        indent = "  " * min(entry.depth, 20)
        if isinstance(entry, More):
            return row(indent, (f"  {entry.left:,} more", GREY))
        tag, is_open = entry.tag, entry.tokens is not None
        text, is_here, is_loop = str(tag), tag == self.here, tag.site.kind == "loop"
        is_only = self.only == tag
        sign = (f"{'◆' if is_only else '●' if is_open else '✓'} ", ORANGE if is_open else GREEN)
        title = Span(self.title(entry), VERMILLION if is_loop else PURPLE if is_open else GREY, is_here)
        site = "" if is_loop or tag == ROOT else f"  {tag.last}"
        held = f"  {entry.tokens} ○" if entry.tokens else ""
        return row(
            indent,
            sign,
            title,
            (site + held, GREY),
            here=is_here,
            tag=text,
            do="only" if is_only else f"only {text}",
        )

    def title(self, entry: Entry) -> str:
        """A call as `fib(3) = 2`; an iteration as `loop[2]: i = 2, s = 1`."""
        given, unknown = self._given(entry), UNKNOWN if entry.is_early else ""
        if entry.tag.site.kind == "loop":
            said = ", ".join(f"{self._name(node)} = {brief(value)}" for node, value in given)
            return f"{entry.tag.last}: {said or unknown}"
        came = [(node, value) for node, (at, value) in sorted(entry.came.items()) if at <= self.position]
        (taken, made), *others = self.gates.said(given, came)
        phases = [(taken or unknown, made), *others]
        return called_so(self.callees.get(entry.tag.site, "?"), phases)

    def _given(self, entry: Entry) -> list[tuple[int, Value]]:
        """What has come in, in the order of parameters; triggers are left out."""
        given = [(node, value) for node, (at, value) in sorted(entry.given.items()) if at <= self.position]
        return given if entry.tag == ROOT else [each for each in given if not self._name(each[0]).startswith("trigger")]

    def _name(self, node: int) -> str:
        return short(self.graph.nodes[node].name)
