"""The tree of activations up to where one is, open and closed ones, with what went in and what came out."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator
from operator import itemgetter
from typing import NamedTuple

from ...core.graph.graph import Graph
from ...core.tag import ENVIRONMENT, ROOT, Site, Tag
from ...core.value import Value
from ...interp.machine.state import State
from ...viz.activation_tree import Gates, called_so
from ...viz.labels import short
from ...viz.state_view import brief
from .run_index import Known
from .session import Session

SIBLINGS, MOST = 12, 300
"""So many activations stand below one, around the one where one is; and so many in all."""
UNKNOWN = "…"
"""What came in before the events that are known."""


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


def activations(session: Session) -> list[Entry | More]:
    """The activations up to here: all around where one is, and those directly below."""
    around = {tag.parent: tag for tag in session.tag.steps() if tag.parent is not None}
    history = session.history
    return list(_Tree(session.run.known, history.state, history.position, around).entries())


class Titles:
    """What activations are called."""

    def __init__(self, graph: Graph, gates: Gates, position: int) -> None:
        self.graph, self.gates, self.position = graph, gates, position
        self.callees: dict[Site, str] = {**dict(graph.calls), ENVIRONMENT: graph.name}

    def of(self, entry: Entry) -> str:
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
