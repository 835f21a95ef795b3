"""The presenter: everything that the screen shows of a session, in one snapshot."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping
from typing import NamedTuple

from ...viz.style import ORANGE
from ..session.command import CommandReply
from ..session.listing import is_position
from ..session.session import Session
from .events import answers_page, events_page
from .graph import GraphLayout, GraphPicture, LayoutRequest, draw_tokens
from .inspector import inspector_page
from .page import PageRow, PanePage, build_row, empty_page
from .source import source_page
from .status import answer_row, failure_row, last_event_row, status_row
from .tags import tags_page
from .timeline import Timeline, build_timeline
from .tokens import cells_page, flight_page, waiting_page

PAGE_BUILDERS: Mapping[str, Callable[[Session], PanePage]] = {
    "source": source_page,
    "flight": flight_page,
    "waiting": waiting_page,
    "tags": tags_page,
    "inspector": inspector_page,
    "events": events_page,
    "cells": cells_page,
}
"""The function for the page of each pane of lines."""

ANSWER_PANES: Mapping[str, str] = {
    "flight": "flight",
    "enabled": "flight",
    "state": "waiting",
    "tags": "tags",
    "source": "source",
    "select": "inspector",
    "slice": "inspector",
    "watch": "inspector",
    "events": "events",
}
"""The pane that shows the effect of each of these commands."""

_STATUS_LINE_GROUPS = ("moving", "focus")

STOPPED_ROW = build_row((" the panes show what was: looking was stopped, and goes on at the next command", ORANGE))
"""The message when the user stopped a snapshot."""

MAX_REPLIES = 50
"""The number of answers that are kept."""


class PaneSize(NamedTuple):
    """Columns and rows of a pane."""

    width: int
    height: int


class ScreenSnapshot(NamedTuple):
    """What the screen shows."""

    pages: Mapping[str, PanePage]
    status: PageRow
    last_event: PageRow
    picture: GraphPicture | None = None
    timeline: Timeline | None = None
    reply: CommandReply | None = None
    """The reply to the command after which it was taken."""
    layout_request: LayoutRequest | None = None
    """The layout that is still to be made."""
    front_pane: str | None = None
    """The pane with the answer to the command."""
    is_stopped: bool = False
    """Whether the user stopped the snapshot; then it has no panes."""


class ScreenPresenter:
    """Takes snapshots of a session; keeps the answers so far and the layout of the graph."""

    def __init__(self, session: Session) -> None:
        self.session = session
        self.replies: deque[CommandReply] = deque(maxlen=MAX_REPLIES)
        self.graph_layout: GraphLayout | None = None
        self._last_message: PageRow | None = None
        """The row about the last command, if it was not a step."""
        self._last_reply: CommandReply | None = None
        self.zoom = 0
        """The zoom of the graph, as in LayoutRequest."""

    def do(self, line: str, panes: Callable[[str | None], Mapping[str, PaneSize]]) -> ScreenSnapshot:
        """Run a command and take a snapshot; `panes` returns the visible panes, given the one that has the answer."""
        reply = self.session.execute(line)
        self.replies.append(reply)
        has_answer = bool(reply.text) and not is_position(reply.data)
        self._last_message = failure_row(reply) if not reply.ok else answer_row(reply) if has_answer else None
        self._last_reply, front = reply, self._answer_pane(reply)
        return self.snapshot(panes(front))._replace(reply=reply, front_pane=front)

    def _answer_pane(self, reply: CommandReply) -> str | None:
        """The pane that shows a command's answer; None if the line below the panes does."""
        word = reply.command.partition(" ")[0]
        command = next((each for each in self.session.commands.values() if word in (each.name, each.key)), None)
        if command is None or not reply.ok:
            return None
        return ANSWER_PANES.get(command.name, None if command.group in _STATUS_LINE_GROUPS else "answers")

    def snapshot(self, panes: Mapping[str, PaneSize]) -> ScreenSnapshot:
        """A snapshot of these panes at these sizes; if the user stops it, only the position."""
        session = self.session
        line, last = status_row(session), self._last_message or last_event_row(session, self._last_reply)
        if session.snapshot.current is None:
            nothing = empty_page("no program yet: type :load FILE ARGS")
            return ScreenSnapshot(
                {pane: nothing for pane in panes if pane in PAGE_BUILDERS} | self._answers_page(panes), line, last
            )
        try:
            return self._full_snapshot(panes, line, last)
        except KeyboardInterrupt:
            return ScreenSnapshot({}, line, STOPPED_ROW, is_stopped=True)

    def _full_snapshot(self, panes: Mapping[str, PaneSize], line: PageRow, last: PageRow) -> ScreenSnapshot:
        """A snapshot of everything visible of a run."""
        session = self.session
        session.run.index.catch_up(session.history)
        pages = {
            pane: self._build_page(pane, size) for pane, size in panes.items() if pane in PAGE_BUILDERS
        } | self._answers_page(panes)
        wanted = self._layout_request(panes.get("graph"))
        drawn = self.graph_layout is not None and self._is_current(self.graph_layout.request)
        return ScreenSnapshot(
            pages,
            line,
            last,
            draw_tokens(self.graph_layout, session)
            if "graph" in panes and drawn and self.graph_layout is not None
            else None,
            build_timeline(session, *_timeline_size(panes["timeline"])) if "timeline" in panes else None,
            None,
            wanted
            if wanted is not None and (self.graph_layout is None or self.graph_layout.request != wanted)
            else None,
        )

    def _build_page(self, pane: str, size: PaneSize) -> PanePage:
        """The page of a pane, which loses one column to its scroll bar."""
        return (
            inspector_page(self.session, size.width - 1) if pane == "inspector" else PAGE_BUILDERS[pane](self.session)
        )

    def _answers_page(self, panes: Mapping[str, PaneSize]) -> dict[str, PanePage]:
        return {"answers": answers_page(self.replies, panes["answers"].width - 1)} if "answers" in panes else {}

    def _layout_request(self, size: PaneSize | None) -> LayoutRequest | None:
        """The layout request of the graph for a pane."""
        if size is None:
            return None
        session = self.session
        width, height = max(size.width, 10), max(size.height, 5)
        focus = session.focus
        return LayoutRequest(session.history.graph, focus.folded_names, width, height, self.zoom, focus.unfolded_names)

    def _is_current(self, paper: LayoutRequest) -> bool:
        focus = self.session.focus
        return paper.matches(self.session.history.graph, focus.folded_names, focus.unfolded_names)


def _timeline_size(size: PaneSize) -> tuple[int, int]:
    return size.width, max(size.height - 1, 1)
