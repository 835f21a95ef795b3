"""The line that says where one is, and what a key does that wants more words."""

from __future__ import annotations

from ...viz.style import GREEN, GREY, ORANGE, SKY, VERMILLION
from ..session.command import Command
from ..session.reply import Reply
from ..session.said import event_said, is_over, last_event, results_data, why_stopped
from ..session.session import Session
from .page import Row, Span, row
from .source import condition_of


def status(session: Session) -> Row:
    """Where one is, on one line."""
    if session.situation.current is None:
        return row(("no program yet: : load FILE ARGS", ORANGE))
    history = session.history
    state, results = history.state, [each for each in results_data(history) if each is not None]
    pieces: list[Span | tuple[str, str]] = [
        Span(f" {session.run.name} ", SKY, True),
        (f"{history.schedule} ", GREY),
        Span(f"{history.position:,}", "", True),
        (f"/{len(history):,} events ", GREY),
        (f"{state.firings:,}", ""),
        (" fired ", GREY),
        (f"{len(state.flight):,}", ""),
        (" in flight ", GREY),
        (f"{state.waiting:,}", ""),
        (" waiting ", GREY),
    ]
    if state.traps:
        pieces.append(Span(f"✗ {len(state.traps)} trapped ", VERMILLION, True))
    if results:
        pieces.append(Span(f"✓ {', '.join(results)} ", GREEN, True))
    stopped = why_stopped(history)
    if stopped is not None:
        pieces.append((f"{stopped} ", ORANGE))
    elif is_over(history):
        pieces.append(("over ", GREEN))
    return row(*pieces)


def refused(reply: Reply) -> Row:
    """Why a command could not be done, on one line."""
    return row(Span(f" {' · '.join(line.strip() for line in reply.text)}", VERMILLION, True))


def noted(reply: Reply) -> Row:
    """The first line of an answer."""
    return row((f" {reply.text[0].strip()}", GREEN))


def happened(session: Session) -> Row:
    """The last event, in words."""
    if session.situation.current is None:
        return row("")
    history = session.history
    event = last_event(history)
    if event is None:
        return row((" at the beginning: s steps, S steps back, ? asks why not, F1 explains", GREY))
    said = event_said(history.graph, history.position - 1, event)
    return row((f" {said}", VERMILLION if event.trap is not None else ""))


def wants_words(command: Command) -> bool:
    """Whether nothing can be done by the name of a command alone."""
    return bool(command.words) and not command.words.startswith("[")


def line_for(session: Session, command: Command, about: Row | None) -> str:
    """The line that a command is probably meant as, for the row where the cursor is: `change 3 `."""
    node, tag = _subject(session, about)
    position = about.position if about is not None else None
    if position is None and session.situation.current is not None:
        position = session.history.next_choice
    words = command.words.split(" ")
    match words[0].strip("[]"):
        case "NODE" if node:
            with_tag = tag and any(word.startswith("[TAG") for word in words)
            return f"{command.name} {node}{f' {tag}' if with_tag else ''}"
        case "POSITION" if position is not None:
            return f"{command.name} {position}{' ' if len(words) > 1 else ''}"
        case "TAG" if tag:
            return f"{command.name} {tag}"
        case "CONDITION" if about is not None and about.line is not None:
            return f"{command.name} {condition_of(about.line)}"
        case "CONDITION" if node:
            return f"{command.name} node == '{node}' and fired"
    return f"{command.name} "


def _subject(session: Session, about: Row | None) -> tuple[str, str]:
    """The node and the tag that a row is about, else those that are inspected."""
    if about is not None and (about.node or about.tag):
        return about.node, about.tag
    if session.situation.current is None:
        return "", ""
    if session.focus.node is not None:
        return session.focus.node, session.focus.node_tag or ""
    graph, number = session.history.graph, session.node
    return ("" if number is None else str(graph.nodes[number])), str(session.tag)
