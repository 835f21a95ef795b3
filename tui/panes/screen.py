"""All that a screen shows of a session, in one look."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping
from typing import NamedTuple

from ...viz.style import ORANGE
from ..session.describe import is_place
from ..session.reply import Reply
from ..session.session import Session
from .events import answers, events
from .graph import Draft, Paper, Picture, picture
from .inspector import inspector
from .page import Page, Row, empty, row
from .source import source
from .status import happened, noted, refused, status
from .tags import tags
from .timeline import Timeline, timeline
from .tokens import cells, flight, store

PAGES: Mapping[str, Callable[[Session], Page]] = {
    "source": source,
    "flight": flight,
    "waiting": store,
    "tags": tags,
    "inspector": inspector,
    "events": events,
    "cells": cells,
}
"""What the panes of lines show."""

ANSWERED: Mapping[str, str] = {
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
"""The panes that show what commands are asked for."""

_SAID_SHORTLY = ("moving", "focus")

STOPPED = row((" the panes show what was: looking was stopped, and goes on at the next command", ORANGE))
"""What is said where somebody stopped a look."""

KEPT = 50
"""So many answers are kept."""


class Size(NamedTuple):
    """Columns and rows."""

    width: int
    height: int


class Seen(NamedTuple):
    """What is to be shown."""

    pages: Mapping[str, Page]
    status: Row
    happened: Row
    picture: Picture | None = None
    timeline: Timeline | None = None
    reply: Reply | None = None
    """The answer to the command after which this is seen."""
    wanted: Paper | None = None
    """The layout that is not there yet."""
    front: str | None = None
    """The pane that has the answer to the command."""
    is_stopped: bool = False
    """Whether somebody stopped the look: then nothing is known of the panes."""


class Looker:
    """Looks at a session: knows the answers so far, and the layout of the graph."""

    def __init__(self, session: Session) -> None:
        self.session = session
        self.replies: deque[Reply] = deque(maxlen=KEPT)
        self.draft: Draft | None = None
        self._said: Row | None = None
        """What is said of the last command, if it was no motion."""
        self._last: Reply | None = None
        self.zoom = 0
        """Of the graph, as papers have it."""

    def do(self, line: str, panes: Callable[[str | None], Mapping[str, Size]]) -> Seen:
        """Do a command, and look at what has become of it; `panes` gives those that are shown, once the one that has
        the answer is."""
        reply = self.session.do(line)
        self.replies.append(reply)
        has_answer = bool(reply.text) and not is_place(reply.data)
        self._said = refused(reply) if not reply.ok else noted(reply) if has_answer else None
        self._last, front = reply, self._front(reply)
        return self.look(panes(front))._replace(reply=reply, front=front)

    def _front(self, reply: Reply) -> str | None:
        """Which pane shows what a command answered; none, where it is said in the line of what happened."""
        word = reply.command.partition(" ")[0]
        command = next((each for each in self.session.commands.values() if word in (each.name, each.key)), None)
        if command is None or not reply.ok:
            return None
        return ANSWERED.get(command.name, None if command.group in _SAID_SHORTLY else "answers")

    def look(self, panes: Mapping[str, Size]) -> Seen:
        """What these panes, of these sizes, show; where somebody stops that, where one is all the same."""
        session = self.session
        line, last = status(session), self._said or happened(session, self._last)
        if session.situation.current is None:
            nothing = empty("no program yet: type :load FILE ARGS")
            return Seen({pane: nothing for pane in panes if pane in PAGES} | self._answers(panes), line, last)
        try:
            return self._whole(panes, line, last)
        except KeyboardInterrupt:
            return Seen({}, line, STOPPED, is_stopped=True)

    def _whole(self, panes: Mapping[str, Size], line: Row, last: Row) -> Seen:
        """All that there is to be seen of a run."""
        session = self.session
        session.run.known.catch_up(session.history)
        pages = {pane: self._page(pane, size) for pane, size in panes.items() if pane in PAGES} | self._answers(panes)
        wanted = self._paper(panes.get("graph"))
        drawn = self.draft is not None and self._is_of(self.draft.paper)
        return Seen(
            pages,
            line,
            last,
            picture(self.draft, session) if "graph" in panes and drawn and self.draft is not None else None,
            timeline(session, *_bars(panes["timeline"])) if "timeline" in panes else None,
            None,
            wanted if wanted is not None and (self.draft is None or self.draft.paper != wanted) else None,
        )

    def _page(self, pane: str, size: Size) -> Page:
        """What a pane shows, which beside its scroll bar has a column less."""
        return inspector(self.session, size.width - 1) if pane == "inspector" else PAGES[pane](self.session)

    def _answers(self, panes: Mapping[str, Size]) -> dict[str, Page]:
        return {"answers": answers(self.replies, panes["answers"].width - 1)} if "answers" in panes else {}

    def _paper(self, size: Size | None) -> Paper | None:
        """How the graph is to be laid out for a pane."""
        if size is None:
            return None
        session = self.session
        width, height = max(size.width, 10), max(size.height, 5)
        focus = session.focus
        return Paper(session.history.graph, focus.folded, width, height, self.zoom, focus.opened)

    def _is_of(self, paper: Paper) -> bool:
        focus = self.session.focus
        return paper.is_of(self.session.history.graph, focus.folded, focus.opened)


def _bars(size: Size) -> tuple[int, int]:
    return size.width, max(size.height - 1, 1)
