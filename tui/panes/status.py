"""The status line, and the line that a key suggests for a command that needs arguments."""

from __future__ import annotations

from ...interp.history.history import History
from ...viz.style import GREEN, GREY, ORANGE, SKY, VERMILLION
from ..session.command import Command, CommandReply
from ..session.listing import is_over, results_data, why_stopped
from ..session.session import Session
from .events import event_spans
from .page import PageRow, PageSpan, build_row
from .source import breakpoint_condition


def status_row(session: Session) -> PageRow:
    """The current position, on one line."""
    if session.snapshot.current is None:
        return build_row(("no program yet: : load FILE ARGS", ORANGE))
    history = session.history
    state, results = history.state, [each for each in results_data(history) if each is not None]
    pieces: list[PageSpan | tuple[str, str]] = [
        PageSpan(f" {session.run.name} ", SKY, True),
        (f"{history.schedule} ", GREY),
        PageSpan(f"{history.position:,}", "", True),
        (f"/{len(history):,} events ", GREY),
    ]
    if results:
        pieces.append(PageSpan(f"✓ {', '.join(results)} ", GREEN, True))
    if state.trap_events:
        pieces.append(PageSpan(f"✗ {len(state.trap_events)} trapped ", VERMILLION, True))
    stopped = why_stopped(history)
    if stopped is not None:
        pieces.append((f"{stopped} ", ORANGE))
    elif is_over(history):
        pieces.append(_ending_span(history))
    pieces += [
        (f"{state.firings:,}", ""),
        (" fired ", GREY),
        (f"{len(state.flight):,}", ""),
        (" in flight ", GREY),
        (f"{state.waiting_count:,}", ""),
        (" waiting ", GREY),
    ]
    return build_row(*pieces)


def _ending_span(history: History) -> PageSpan:
    """How the run ended, if nothing else shows it."""
    if len(results_data(history)) == len(history.state.results):
        return PageSpan("over ", GREEN)
    return PageSpan("over " if history.state.trap_events else "deadlocked ", VERMILLION, not history.state.trap_events)


def failure_row(reply: CommandReply) -> PageRow:
    """Why a command failed, on one line."""
    return build_row(PageSpan(f" {' · '.join(line.strip() for line in reply.text)}", VERMILLION, True))


def answer_row(reply: CommandReply) -> PageRow:
    """The first line of an answer."""
    return build_row((f" {reply.text[0].strip()}", GREEN))


def last_event_row(session: Session, reply: CommandReply | None = None) -> PageRow:
    """The last event; before it the breakpoints that stopped the last step, after it what that step printed."""
    if session.snapshot.current is None:
        return build_row("")
    history = session.history
    event = history.last_event
    if event is None and history.base:
        return build_row((" what is known begins here: S goes further back, s steps on", GREY))
    if event is None:
        return build_row((" at the beginning: s steps, S steps back, ? asks why not, F1 explains", GREY))
    data = {} if reply is None else reply.data
    node, printed = history.graph.nodes[event.token.node], data.get("printed", ())
    return build_row(
        *(PageSpan(f" ● {hit.strip().partition(':')[0]} ", VERMILLION, True) for hit in data.get("hits", ())),
        (f" {history.position - 1:,} ", GREY),
        *event_spans(history.graph, event),
        PageSpan(f"  printed: {printed[-1]}" if printed else "", GREEN),
        (f"  under {event.token.tag}", GREY),
        (f"  {node.location}" if node.location else "", GREY),
    )


def needs_arguments(command: Command[Session]) -> bool:
    """Whether a command cannot run without arguments."""
    return bool(command.parameters) and not command.parameters.startswith("[")


def suggest_line(session: Session, command: Command[Session], about: PageRow | None) -> str:
    """The probable line for a command on the row at the cursor: `change 3 `."""
    node, tag = _command_subject(session, about)
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
        case "N" if command.group == "stopping" and (point := _find_breakpoint(session, about)) is not None:
            return f"{command.name} {point}{' ' if len(words) > 1 else ''}"
        case "CONDITION" if about is not None and about.line is not None:
            return f"{command.name} {breakpoint_condition(about.line)}"
        case "CONDITION" if node:
            return f"{command.name} node == '{node}' and fired"
    return f"{command.name} "


def _find_breakpoint(session: Session, about: PageRow | None) -> int | None:
    """The breakpoint on a row's line, or else the most recent one."""
    points = session.snapshot.breakpoints
    line = about.line if about is not None else None
    here = [] if line is None else [each.number for each in points if each.condition == breakpoint_condition(line)]
    found = here or [each.number for each in points[-1:]]
    return found[0] if found else None


def _command_subject(session: Session, about: PageRow | None) -> tuple[str, str]:
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
