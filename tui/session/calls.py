"""The tree of activations up to the current position, open and closed, with arguments and results."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator
from operator import itemgetter
from typing import NamedTuple

from ...core.graph.graph import Graph
from ...core.tag import ENVIRONMENT, ROOT, Site, Tag
from ...core.value import Value
from ...interp.machine.state import State
from ...viz.activation_tree import Gates, describe_call
from ...viz.labels import short_name
from ...viz.state_view import abbreviate_value
from .run_index import RunIndex
from .session import Session

MAX_SIBLINGS, MAX_ENTRIES = 12, 300
"""The most activations listed below one, around the current one; and the most in all."""
UNKNOWN_MARK = "…"
"""Stands for arguments from before the first known event."""


class ActivationEntry(NamedTuple):
    """An activation of the tree at the current position; its row of text is built when it becomes visible."""

    tag: Tag
    depth: int
    tokens: int | None
    """The number of tokens in it; None if it has closed."""
    arguments: dict[int, tuple[int, Value]]
    results: dict[int, tuple[int, Value]]
    """Shared with the index, so it grows; a row ignores later positions."""
    opened_before_base: bool
    """Whether it opened before the first known event, so that its arguments are unknown."""


class OmittedActivations(NamedTuple):
    """A number of activations that are not listed."""

    remaining_count: int
    depth: int


_position_of = itemgetter(0)


class _CallTree:
    def __init__(self, known: RunIndex, state: State, position: int, around: dict[Tag, Tag]) -> None:
        self.run_index, self.state, self.position, self.enclosing = known, state, position, around

    def entries(self) -> Iterator[ActivationEntry | OmittedActivations]:
        """Iterates without recursion, because tags may be very deep."""
        ahead: list[tuple[Tag, int] | OmittedActivations] = [(ROOT, 0)]
        left = MAX_ENTRIES
        while ahead and left:
            item = ahead.pop()
            left -= 1
            if isinstance(item, OmittedActivations):
                yield item
                continue
            tag, depth = item
            found, record = self.run_index.activation(tag), self.state.records.get(tag)
            tokens, is_early = (
                None if record is None else record.token_count,
                found.open_position is None and tag != ROOT,
            )
            yield ActivationEntry(tag, depth, tokens, found.arguments, found.results, is_early)
            kept, more = self._visible_children(tag, found.children)
            ahead += [OmittedActivations(more, depth + 1)] if more else []
            ahead += [(below, depth + 1) for below in reversed(kept)]

    def _visible_children(self, parent: Tag, below: list[tuple[int, Tag]]) -> tuple[list[Tag], int]:
        """Those of the children, in the order in which they opened, that are listed around the current one; and the
        number of others that are open at this position."""
        count = bisect_right(below, self.position, key=_position_of)
        first, around = 0, self.enclosing.get(parent)
        if count > MAX_SIBLINGS:
            opened = None if around is None else self.run_index.activation(around).open_position
            middle = count - 1 if opened is None else bisect_right(below, opened, key=_position_of) - 1
            first = max(0, min(middle - MAX_SIBLINGS // 2, count - MAX_SIBLINGS))
        kept = below[first : min(first + MAX_SIBLINGS, count)]
        return [tag for _, tag in kept], count - len(kept)


def list_activations(session: Session) -> list[ActivationEntry | OmittedActivations]:
    """The activations up to the current position: all around the current one, and those directly below."""
    around = {tag.parent: tag for tag in session.current_tag.self_and_ancestors() if tag.parent is not None}
    history = session.history
    return list(_CallTree(session.run.index, history.state, history.position, around).entries())


class ActivationTitles:
    """The titles of activations."""

    def __init__(self, graph: Graph, gates: Gates, position: int) -> None:
        self.graph, self.gates, self.position = graph, gates, position
        self.callees: dict[Site, str] = {**dict(graph.calls), ENVIRONMENT: graph.name}

    def title(self, entry: ActivationEntry) -> str:
        """A call as `fib(3) = 2`; an iteration as `loop[2]: i = 2, s = 1`."""
        given, unknown = self._arguments(entry), UNKNOWN_MARK if entry.opened_before_base else ""
        if entry.tag.site.kind == "loop":
            said = ", ".join(f"{self._node_name(node)} = {abbreviate_value(value)}" for node, value in given)
            return f"{entry.tag.last_step}: {said or unknown}"
        came = [(node, value) for node, (at, value) in sorted(entry.results.items()) if at <= self.position]
        (taken, made), *others = self.gates.describe_phases(given, came)
        phases = [(taken or unknown, made), *others]
        return describe_call(self.callees.get(entry.tag.site, "?"), phases)

    def _arguments(self, entry: ActivationEntry) -> list[tuple[int, Value]]:
        """The arguments that have arrived, in the order of parameters, without triggers."""
        given = [(node, value) for node, (at, value) in sorted(entry.arguments.items()) if at <= self.position]
        return (
            given
            if entry.tag == ROOT
            else [each for each in given if not self._node_name(each[0]).startswith("trigger")]
        )

    def _node_name(self, node: int) -> str:
        return short_name(self.graph.nodes[node].name)
