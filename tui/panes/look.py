"""All that a screen shows of a session, in one look."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping
from typing import NamedTuple

from ..session.reply import Reply
from ..session.session import Session
from .events import answers, events
from .graph import Draft, Paper, Picture, picture
from .inspector import inspector
from .page import Page, Row, empty
from .source import source
from .status import happened, status
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


class Looker:
    """Looks at a session: knows the answers so far, and the layout of the graph."""

    def __init__(self, session: Session) -> None:
        self.session = session
        self.replies: deque[Reply] = deque(maxlen=KEPT)
        self.draft: Draft | None = None
        self.zoom = 1.0
        """How much larger than its pane the graph may be."""

    def do(self, line: str, panes: Mapping[str, Size]) -> Seen:
        """Do a command, and look at what has become of it."""
        reply = self.session.do(line)
        self.replies.append(reply)
        return self.look(panes)._replace(reply=reply)

    def look(self, panes: Mapping[str, Size]) -> Seen:
        """What these panes, of these sizes, show."""
        session = self.session
        line, last = status(session), happened(session)
        if session.situation.current is None:
            nothing = empty("no program yet: type :load FILE ARGS")
            return Seen(dict.fromkeys(panes, nothing) | self._answers(), line, last)
        session.run.known.catch_up(session.history)
        pages = {pane: PAGES[pane](session) for pane in panes if pane in PAGES} | self._answers()
        wanted = self._paper(panes.get("graph"))
        drawn = self.draft is not None and self.draft.paper.is_of(session.history.graph, session.focus.folded)
        return Seen(
            pages,
            line,
            last,
            picture(self.draft, session) if "graph" in panes and drawn and self.draft is not None else None,
            timeline(session, *_bars(panes["timeline"])) if "timeline" in panes else None,
            None,
            wanted if wanted is not None and (self.draft is None or self.draft.paper != wanted) else None,
        )

    def _answers(self) -> dict[str, Page]:
        return {"answers": answers(self.replies)}

    def _paper(self, size: Size | None) -> Paper | None:
        """How the graph is to be laid out for a pane."""
        if size is None:
            return None
        session = self.session
        width, height = round(size.width * self.zoom), round(size.height * self.zoom)
        return Paper(session.history.graph, session.focus.folded, max(width, 10), max(height, 5))


def _bars(size: Size) -> tuple[int, int]:
    return size.width, max(size.height - 1, 1)
