"""Moves to far positions, where the fast machine skips ahead of the known events.

Up to `FAST_FORWARD_THRESHOLD` events ahead, the reference machine steps the run, and all these events become known. For
positions farther ahead the fast machine runs, if it supports the program; then only the events near the destination are
known. An interrupted fast machine continues immediately.
"""

from __future__ import annotations

from math import inf
from typing import TYPE_CHECKING

from ...core.errors import Exhausted, Usage, plural
from ...interp.breakpoints.breakpoint import Breakpoints
from ...interp.history.advance import EventSelector
from ...interp.history.fast_forward import WINDOW
from ...interp.history.history import History
from .run import REVEAL_LIMIT
from .session import Session, describe_paused_machine

if TYPE_CHECKING:
    from ...interp.engines.fast.stops import StopConditions

FAST_FORWARD_THRESHOLD = 200_000
"""The number of events that the reference machine steps before the fast machine takes over: about 1.5 seconds."""


def run_until(history: History, is_match: EventSelector, most: float = inf) -> bool:
    """Step to the position after the next matching event, to the end, or until `most` events have happened; return
    whether an event matched. On Ctrl-C it raises KeyboardInterrupt and leaves the history at the position reached."""
    event = history.forward_to(is_match, most)
    if event is None:
        check_interrupt(history)
    return event is not None


def check_interrupt(history: History) -> None:
    """Raise KeyboardInterrupt if Ctrl-C stopped the history."""
    error = history.stop_error
    if isinstance(error, Exhausted) and error.limit == "interrupt":
        raise KeyboardInterrupt


def goto_event(session: Session, position: int) -> None:
    """Go to the position after this many events; raises Usage if the run ends, or is stopped, before."""
    goto_event_or_end(session, position)
    history = session.history
    if history.position < position:
        error = history.stop_error
        if error is not None:
            raise Usage(f"event {position:,} was not reached", got=error.message)
        got = f"the run is over after {plural(history.position, 'event')}"
        raise Usage(f"event {position:,} is never reached", got=got)


def goto_event_or_end(session: Session, position: int) -> None:
    """Go to the position after this many events, or to the end of the run if that comes first."""
    history = session.history
    if position < history.base:
        _reveal_before(session, position)
    elif (
        position > len(history) + FAST_FORWARD_THRESHOLD
        and _can_fast_forward(session)
        and not _fast_forward(session, position)
    ):
        return
    history = session.history
    history.jump(min(position, len(history)))
    if history.position < position:
        run_until(history, lambda state, event: state.steps >= position)


def goto_end(session: Session) -> None:
    """Go to the end of the run."""
    history = session.history
    history.jump(len(history))
    most = len(history) + (0 if history.can_continue() else FAST_FORWARD_THRESHOLD)
    run_until(history, match_nothing, most)
    if len(history) == most and _can_fast_forward(session) and not _fast_forward(session):
        return
    run_until(session.history, match_nothing)


def match_nothing(state: object, event: object) -> bool:
    """An event selector that matches no event, so that a run is stepped to its end."""
    return False


def goto_next_hit(session: Session) -> None:
    """Go to the next hit of a breakpoint, or to the end of the run."""
    history, points = session.history, session.snapshot.breakpoints
    stops = session.run.breakpoints.compile_all(points)
    most = len(history) + (0 if history.can_continue(points) else FAST_FORWARD_THRESHOLD)
    stops.lines.clear()
    if run_until(history, stops, most) or history.position < most:
        return
    if _can_fast_forward(session):
        # imported late: it takes 20 ms, and the first screen does not need it
        from ...interp.history.fast_forward import build_stop_conditions

        conditions = build_stop_conditions(stops, history.state)
        if isinstance(conditions, str):
            session.note(f"  every event was stepped: {conditions}")
        elif not _fast_forward(session, None, conditions, stops):
            return
    run_until(session.history, session.run.breakpoints.compile_all(points))


def reveal_past(session: Session, *, is_search: bool = False) -> None:
    """Make earlier events known, if only a few are known before the position, so that the run can be stepped back: a
    window of them for a search; for a step a quarter of it, which takes some 30 ms."""
    run, history, fewest = session.run, session.history, WINDOW // 4
    if history.base and history.position - history.base < fewest:
        run.reveal(max(history.base - (WINDOW if is_search else fewest), 0))


def _can_fast_forward(session: Session) -> bool:
    """Whether the fast machine can skip ahead; if it does not support the run, a note says why."""
    if session.options.whole:
        return False
    reason = session.history.unsupported_reason
    if reason is not None:
        session.note(f"  every event was stepped: {reason}")
    return reason is None


def _fast_forward(
    session: Session,
    position: int | None = None,
    stops: StopConditions | None = None,
    points: Breakpoints | None = None,
) -> bool:
    """Let the fast machine skip ahead, and make the events at its destination known; return whether the run continues
    from there. On the way the fast machine evaluates `stops`, a translation of the breakpoints `points`."""
    run, start = session.run, len(session.history)
    stops_key = None if stops is None else session.snapshot.breakpoints
    history = run.history.fast_forward(position, stops, stops_key=stops_key)
    if points is not None:
        points.mark_observed(start, max(history.base, start))
    if history is not run.history:
        run.replace_history(history)
        if history.base:
            session.note(f"  the fast machine skipped ahead: events are known from {history.base:,} on")
    check_interrupt(history)
    if history.stop_error is not None and history.paused_position is not None:
        session.note(describe_paused_machine(history.paused_position))
    return history.stop_error is None


def _reveal_before(session: Session, position: int) -> None:
    """Make earlier events known: in addition to the known ones, or, if the position is far away, instead of them."""
    run, history = session.run, session.history
    if history.base - position <= REVEAL_LIMIT:
        run.reveal(max(position - WINDOW, 0))
        return
    reason = history.unsupported_reason
    if reason is not None:
        raise Usage(
            f"event {position:,} is far before the known events of {run.name}",
            required=f"{history.base - REVEAL_LIMIT:,} or later",
            got=reason,
            hint="`switch` to the run that it is a fork of, and go there",
        )
    _fast_forward(session, position)
