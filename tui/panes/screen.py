"""The presenter: runs commands, and takes snapshots of everything that the screen shows of a session. Also the status
line, and the lines that keys suggest for commands with arguments."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from itertools import zip_longest
from typing import NamedTuple

import numpy as np

from ...core.types import OPAQUE_CLASSES
from ...core.value import Value, format_value
from ...interp.history.history import History
from ...viz.labels import abbreviate_list
from ...viz.state_view import abbreviate_tag, abbreviate_value
from ...viz.style import GREEN, GREY, ORANGE, SKY, VERMILLION
from ..session.activation_mark import mark_activation
from ..session.command import Command, CommandReply
from ..session.listing import is_over, is_position, why_stopped
from ..session.session import Session
from .arrange import OTHER_PANES
from .call import call_page
from .code import code_page
from .events import answers_page, event_spans, events_page
from .graph import GraphLayout, GraphPicture, LayoutRequest, draw_tokens
from .inspector import inspector_page
from .page import PageRow, PageSpan, PanePage, build_row, empty_page, mark_span
from .source import breakpoint_condition, source_page
from .timeline import Timeline, build_timeline
from .tokens import cells_page, flight_page, tags_page, waiting_page

PAGE_BUILDERS: Mapping[str, Callable[[Session], PanePage]] = {
    "flight": flight_page,
    "waiting": waiting_page,
    "tags": tags_page,
    "events": events_page,
    "cells": cells_page,
    "call": call_page,
}
"""The function that builds the page of each pane of lines."""

WRAPPED_PAGE_BUILDERS: Mapping[str, Callable[[Session, int], PanePage]] = {
    "source": source_page,
    "code": code_page,
    "inspector": inspector_page,
}
"""The same for panes whose lines are wrapped, given the columns of the pane."""


def has_page(pane: str) -> bool:
    """Whether a pane shows a page of the session's state."""
    return pane in PAGE_BUILDERS or pane in WRAPPED_PAGE_BUILDERS


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
    "beside": "tags",
    "difference": "tags",
}
"""The pane that shows the effect of each of these commands."""

_STATUS_LINE_GROUPS = ("moving", "focus")

STOPPED_ROW = build_row((" stopped: the panes still show the state before; the next command updates them", ORANGE))
"""The message after the user has interrupted a snapshot."""

MAX_REPLIES = 50
"""The number of answers that are kept."""


class PaneSize(NamedTuple):
    """Columns and rows of a pane."""

    width: int
    height: int


class ScreenSnapshot(NamedTuple):
    """The content of the screen."""

    pages: Mapping[str, PanePage]
    status: PageRow
    last_event: PageRow
    picture: GraphPicture | None = None
    timeline: Timeline | None = None
    reply: CommandReply | None = None
    """The reply to the command after which the snapshot was taken."""
    layout_requests: Mapping[str, LayoutRequest] = {}
    """The layouts that are still to be made, by pane."""
    other_picture: GraphPicture | None = None
    """The graph of the run beside the current one."""
    other_run: str | None = None
    """The name of the run beside the current one, if there is one."""
    front_pane: str | None = None
    """The pane with the answer to the command."""
    is_stopped: bool = False
    """Whether the user interrupted the command or the snapshot; then it has no panes."""


class ScreenPresenter:
    """Takes snapshots of a session; keeps the answers so far and the layout of the graph."""

    def __init__(self, session: Session) -> None:
        self.session = session
        self.replies: deque[CommandReply] = deque(maxlen=MAX_REPLIES)
        self.graph_layouts: dict[str, GraphLayout] = {}
        """The layouts of graphs, by pane."""
        self._last_message: PageRow | None = None
        """The row about the last command, if it was not a step."""
        self._last_reply: CommandReply | None = None
        self.zoom = 0
        """The zoom of the graph, as in LayoutRequest."""

    def do(self, line: str, panes: Callable[[str | None], Mapping[str, PaneSize]]) -> ScreenSnapshot:
        """Run a command and take a snapshot; `panes` returns the visible panes, given the pane that has the answer.
        After an interrupt it has no panes: they may take long, and the user must see at once that the command has
        stopped."""
        reply = self.session.execute(line)
        self.replies.append(reply)
        has_answer = bool(reply.text) and not is_position(reply.data)
        self._last_message = (
            failure_row(reply)
            if not reply.ok
            else deadlock_row(reply.data["deadlock"])
            if "deadlock" in reply.data
            else answer_row(reply)
            if has_answer
            else None
        )
        self._last_reply, front = reply, self.answer_pane(reply)
        if reply.data.get("error") == "interrupted" and self.session.snapshot.current is not None:
            row = self._last_message or build_row("")
            return ScreenSnapshot({}, status_row(self.session), row, reply=reply, is_stopped=True)
        return self.snapshot(panes(front))._replace(reply=reply, front_pane=front)

    def answer_pane(self, reply: CommandReply) -> str | None:
        """The pane that shows a command's answer; None if the answer is shown below the panes."""
        word = reply.command.partition(" ")[0]
        command = next(
            (command for command in self.session.commands.values() if word in (command.name, command.key)), None
        )
        if command is None or not reply.ok:
            return None
        if "deadlock" in reply.data:
            return "answers"
        return ANSWER_PANES.get(command.name, None if command.group in _STATUS_LINE_GROUPS else "answers")

    def snapshot(self, panes: Mapping[str, PaneSize]) -> ScreenSnapshot:
        """A snapshot of these panes at these sizes; if the user interrupts it, only the position."""
        session = self.session
        line = status_row(session)
        if session.snapshot.current is None:
            last = self._last_message or build_row("")
            nothing = empty_page("no program yet: type :load FILE ARGS")
            return ScreenSnapshot(
                {pane: nothing for pane in panes if has_page(pane)} | self._answers_page(panes), line, last
            )
        try:
            session.run.index.catch_up(session.history)  # first: it numbers the activations
            last = self._last_message or last_event_row(session, self._last_reply)
            return self.full_snapshot(panes, line, last)
        except KeyboardInterrupt:
            return ScreenSnapshot({}, line, STOPPED_ROW, is_stopped=True)

    def full_snapshot(self, panes: Mapping[str, PaneSize], line: PageRow, last: PageRow) -> ScreenSnapshot:
        """A snapshot with all panes of a run, and of the run beside it."""
        session = self.session
        pages = {
            pane: self.build_page(pane, size) for pane, size in panes.items() if has_page(pane)
        } | self._answers_page(panes)
        picture, request = self.draw_graph("graph", panes)
        timeline = build_timeline(session, *_timeline_size(panes["timeline"])) if "timeline" in panes else None
        requests = {} if request is None else {"graph": request}
        snapshot = ScreenSnapshot(pages, line, last, picture, timeline, None, requests)
        return snapshot if session.other_run is None else self.add_other_run(snapshot, panes)

    def draw_graph(self, pane: str, panes: Mapping[str, PaneSize]) -> tuple[GraphPicture | None, LayoutRequest | None]:
        """The picture of the current run's graph for a pane, if it has a layout, and the pending layout."""
        request = self._layout_request(panes.get(pane))
        if request is None:
            return None, None
        layout = self.find_layout(pane, request)
        picture = draw_tokens(layout, self.session) if layout is not None and self.has_layout(pane) else None
        return picture, None if layout is not None and layout.request == request else request

    def find_layout(self, pane: str, request: LayoutRequest) -> GraphLayout | None:
        """The layout of a pane; if that is another one than requested, one of an equal graph, if there is one."""
        own = self.graph_layouts.get(pane)
        if own is None or own.request.graph is not request.graph or own.request != request:
            layouts = [*self.graph_layouts.values()]  # a copy: the app adds layouts in another thread
            equal = next((layout for layout in layouts if layout.request == request), None)
            if equal is not None:
                own = self.graph_layouts[pane] = replace(equal, request=request)
        return own

    def add_other_run(self, snapshot: ScreenSnapshot, panes: Mapping[str, PaneSize]) -> ScreenSnapshot:
        """The snapshot with the panes of the run beside the current one."""
        session, (graph_pane, tags_pane) = self.session, OTHER_PANES
        with session.swap_runs():
            other_run = session.run.name
            session.run.index.catch_up(session.history)
            picture, request = self.draw_graph(graph_pane, panes)
            pages = {tags_pane: tags_page(session)} if tags_pane in panes else {}
        requests = {**snapshot.layout_requests, **({} if request is None else {graph_pane: request})}
        return snapshot._replace(
            pages={**snapshot.pages, **pages},
            layout_requests=requests,
            other_picture=picture,
            other_run=other_run,
        )

    def build_page(self, pane: str, size: PaneSize) -> PanePage:
        """The page of a pane, which loses one column to its scroll bar."""
        if pane in WRAPPED_PAGE_BUILDERS:
            return WRAPPED_PAGE_BUILDERS[pane](self.session, size.width - 1)
        return PAGE_BUILDERS[pane](self.session)

    def _answers_page(self, panes: Mapping[str, PaneSize]) -> dict[str, PanePage]:
        return {"answers": answers_page(self.replies, panes["answers"].width - 1)} if "answers" in panes else {}

    def _layout_request(self, size: PaneSize | None) -> LayoutRequest | None:
        """The layout request of the graph for a pane."""
        if size is None:
            return None
        session = self.session
        width, height = max(size.width, 10), max(size.height, 5)
        focus = session.focus
        return LayoutRequest(
            session.history.graph, focus.folded_names, width, height, self.zoom, focus.unfolded_names, focus.is_full
        )

    def has_layout(self, pane: str = "graph") -> bool:
        """Whether there is a layout of the current run's graph in its current folding, of any size, for a pane."""
        layout = self.graph_layouts.get(pane)
        return layout is not None and layout.request.matches(self.session.history.graph, self.session.focus)


def _timeline_size(size: PaneSize) -> tuple[int, int]:
    return size.width, max(size.height - 1, 1)


# The status line


def status_row(session: Session) -> PageRow:
    """The current position, on one line."""
    if session.snapshot.current is None:
        return build_row(("no program yet: : load FILE ARGS", ORANGE))
    history = session.history
    state = history.state
    results = [describe_scalar(value) for _, value in sorted(state.results.items())]
    pieces: list[PageSpan | tuple[str, str]] = [
        PageSpan(f" {session.run.name} ", SKY, True),
        (f"{history.schedule} ", GREY),
        PageSpan(f"{history.position:,}", "", True),
        (f"/{len(history):,} events ", GREY),
    ]
    if results:
        pieces.append(PageSpan(f"✓ {abbreviate_list(results)} ", GREEN, True))
    if state.trap_events:
        pieces.append(PageSpan(f"✗ {len(state.trap_events)} trapped ", VERMILLION, True))
    stopped = why_stopped(history)
    if stopped is not None:
        pieces.append((f"{stopped} ", ORANGE))
    elif is_over(history):
        pieces.append(ending_span(history))
    pieces += [
        (f"{state.firings:,}", ""),
        (" fired ", GREY),
        (f"{len(state.flight):,}", ""),
        (" in flight ", GREY),
        (f"{state.waiting_count:,}", ""),
        (" waiting ", GREY),
    ]
    return build_row(*pieces)


def describe_scalar(value: Value) -> str:
    """A scalar in full, an array abbreviated."""
    is_array = not isinstance(value, OPAQUE_CLASSES) and np.ndim(value) > 0
    return abbreviate_value(value) if is_array else format_value(value)


def ending_span(history: History) -> PageSpan:
    """The ending of a run, if the rest of the status line does not show it."""
    if len(history.graph.results) == len(history.state.results):
        return PageSpan("over ", GREEN)
    return PageSpan("over " if history.state.trap_events else "deadlocked ", VERMILLION, not history.state.trap_events)


def failure_row(reply: CommandReply) -> PageRow:
    """Why a command failed, on one line, without the excerpt of a text and the caret below it; if the line is too long,
    the hint at its end stays.

    >>> lines = ("there is no such node in this program", "hint: `search` finds nodes")
    >>> row = failure_row(CommandReply("node x", False, lines, {}))
    >>> "".join(span.text for span in row.fit(60))
    ' there is no such node in this\u2026 · hint: `search` finds nodes'
    """
    texts = [line.strip() for line in reply.text]
    lines = [line for line, below in zip_longest(texts, texts[1:]) if "^" not in (line, below)]
    hint = f" · {lines.pop()}" if len(lines) > 1 and lines[-1].startswith("hint: ") else ""
    spans = (PageSpan(text, VERMILLION, True) for text in (f" {' · '.join(lines)}", hint) if text)
    return build_row(*spans, tail_count=int(bool(hint)))


def deadlock_row(lines: Sequence[str]) -> PageRow:
    """The cause of a deadlock, and the hint, on one line."""
    return build_row(
        PageSpan(f" deadlock: {lines[0].strip()}", VERMILLION, True),
        (f"  {lines[-1].strip()}", GREY),
        tail_count=1,
    )


def answer_row(reply: CommandReply) -> PageRow:
    """The first line of an answer."""
    return build_row((f" {reply.text[0].strip()}", GREEN))


def last_event_row(session: Session, reply: CommandReply | None = None) -> PageRow:
    """The last event, preceded by the breakpoints that stopped the last step, and followed by its printed lines."""
    history = session.history
    event = history.last_event
    if event is None and history.base:
        return build_row((" earlier events are not known yet: S reveals some, s steps on", GREY))
    if event is None:
        return build_row((" at the beginning: s steps, S steps back, ? asks why not, F1 explains", GREY))
    data = {} if reply is None else reply.data
    node, printed = history.graph.nodes[event.token.node], data.get("printed", ())
    return build_row(
        *(PageSpan(f" ● {hit.strip().partition(':')[0]} ", VERMILLION, True) for hit in data.get("hits", ())),
        (f" {history.position - 1:,} ", GREY),
        mark_span(mark_activation(session, event.token.tag), 0),
        *event_spans(history.graph, event),
        PageSpan(f"  printed: {printed[-1]}" if printed else "", GREEN),
        (f"  under {abbreviate_tag(event.token.tag)}", GREY),
        (f"  {node.location}" if node.location else "", GREY),
        tail_count=2,
    )


def needs_arguments(command: Command[Session]) -> bool:
    """Whether a command cannot run without arguments."""
    return bool(command.parameters) and not command.parameters.startswith("[")


def suggest_line(session: Session, command: Command[Session], about: PageRow | None) -> str:
    """The probable line for a command on the row at the cursor: `change 3 `."""
    node, tag = command_subject(session, about)
    position = about.position if about is not None else None
    if position is None and session.snapshot.current is not None:
        position = session.history.next_choice
    words = command.parameters.split(" ")
    match words[0].strip("[]"):
        case "NODE" if node:
            with_tag = tag and any(word.startswith("[TAG") for word in words)
            return f"{command.name} {node}{f' {tag}' if with_tag else ''}"
        case "POSITION" if position is not None:
            return f"{command.name} {position}{' ' if len(words) > 1 else ''}"
        case "TAG" if tag:
            return f"{command.name} {tag}"
        case "NAME" if command.name == "switch" and session.other_run is not None:
            return f"{command.name} {session.other_run.name}"
        case "N" if command.group == "stopping" and (point := find_breakpoint(session, about)) is not None:
            return f"{command.name} {point}{' ' if len(words) > 1 else ''}"
        case "CONDITION" if about is not None and about.line is not None:
            return f"{command.name} {breakpoint_condition(about.line)}"
        case "CONDITION" if node:
            return f"{command.name} node == '{node}' and fired"
    return f"{command.name} "


def find_breakpoint(session: Session, about: PageRow | None) -> int | None:
    """The breakpoint on a row's line, or else the most recent one."""
    points = session.snapshot.breakpoints
    line = about.line if about is not None else None
    here = [] if line is None else [point.number for point in points if point.condition == breakpoint_condition(line)]
    numbers = here or [point.number for point in points[-1:]]
    return numbers[0] if numbers else None


def command_subject(session: Session, about: PageRow | None) -> tuple[str, str]:
    """The node and the tag of a row, or else the inspected ones."""
    if about is not None and about.node:
        return about.node, about.tag
    if session.snapshot.current is None:
        return "", ""
    number, tag = session.inspected_node, str(session.current_tag)
    node = "" if number is None else str(session.history.graph.nodes[number])
    if node == session.focus.node_name:
        tag = session.focus.node_tag or ""
    return node, about.tag if about is not None and about.tag else tag
