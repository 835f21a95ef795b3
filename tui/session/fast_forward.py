"""Going far: how the fast machine skips ahead of the known events, and what the session reports about it.

Up to `FAST_FORWARD_THRESHOLD` events ahead, a run is stepped event by event, and the events are known from then on.
Farther positions are left to the fast machine, if it can handle the run; then only the events near the destination are
known.
"""

from __future__ import annotations

from math import inf
from typing import TYPE_CHECKING

from ...core.errors import Exhausted, Usage, plural
from ...interp.breakpoints.breakpoint import Breakpoints
from ...interp.history.cursor import EventSelector
from ...interp.history.fast_forward import WINDOW
from ...interp.history.history import History
from .describe import why_stopped
from .run import REVEAL_LIMIT
from .session import Session

if TYPE_CHECKING:
    from ...interp.engines.fast.stops import StopConditions

FAST_FORWARD_THRESHOLD = 200_000
"""The number of events that the reference machine steps before the fast one takes over: about a second and a half."""


def run_until(history: History, wanted: EventSelector, most: float = inf) -> bool:
    """Step to the next matching event, which has then happened, to the end, or by at most `most` events; raises
    KeyboardInterrupt, at the position reached, on Ctrl-C."""
    event = history.forward_to(wanted, most)
    if event is None:
        check_interrupt(history)
    return event is not None


def check_interrupt(history: History) -> None:
    """Raise KeyboardInterrupt if Ctrl-C was pressed on the way to the history's end."""
    stopped = history.stop_error
    if isinstance(stopped, Exhausted) and stopped.limit == "interrupt":
        raise KeyboardInterrupt


def goto_event(session: Session, position: int) -> None:
    """Go to the position after this many events; raises Usage if the run ends before."""
    goto_event_or_end(session, position)
    history = session.history
    if history.position < position:
        got = why_stopped(history) or f"the run is over after {plural(history.position, 'event')}"
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
    """Go to the end of the run, stepping it until it is over."""
    history = session.history
    history.jump(len(history))
    most = len(history) + FAST_FORWARD_THRESHOLD
    run_until(history, _is_never_hit, most)
    if len(history) == most and _can_fast_forward(session) and not _fast_forward(session):
        return
    run_until(session.history, _is_never_hit)


def goto_next_hit(session: Session) -> None:
    """Go to the next hit of a breakpoint, or to the end of the run."""
    history, points = session.history, session.snapshot.breakpoints
    stops, most = session.run.breakpoints.compile_all(points), len(history) + FAST_FORWARD_THRESHOLD
    stops.lines.clear()
    if run_until(history, stops, most) or history.position < most:
        return
    told = _stop_conditions(session, stops) if _can_fast_forward(session) else None
    if told is not None and not _fast_forward(session, None, told, stops):
        return
    run_until(session.history, session.run.breakpoints.compile_all(points))


def reveal_past(session: Session) -> None:
    """Make enough of the events before the position known for stepping back."""
    run, history = session.run, session.history
    if history.base and history.position - history.base < WINDOW // 4:
        run.reveal(max(history.base - WINDOW, 0))


def _is_never_hit(state: object, event: object) -> bool:
    return False


def _can_fast_forward(session: Session) -> bool:
    """Whether the fast machine can skip ahead; if not, a note says so."""
    if session.options.whole:
        return False
    why = session.history.unsupported_reason
    if why is not None:
        session.note(f"  every event was stepped: {why}")
    return why is None


def _stop_conditions(session: Session, stops: Breakpoints) -> StopConditions | None:
    """The breakpoints as stop conditions of the fast machine; if it cannot handle them, a note says so."""
    from ...interp.history.stop_conditions import (
        build_stop_conditions,  # which knows the machine: 20 ms of the first screen
    )

    told = build_stop_conditions(stops, session.history.state)
    if isinstance(told, str):
        session.note(f"  every event was stepped: {told}")
        return None
    return told


def _fast_forward(
    session: Session, position: int | None = None, stops: StopConditions | None = None, shown: Breakpoints | None = None
) -> bool:
    """Let the fast machine skip ahead, and make the events at its destination known; return whether the run continues
    from there. `shown` are the breakpoints to evaluate at its stops on the way."""
    run, start = session.run, len(session.history)
    made = run.history.far(position, stops)
    if shown is not None:
        shown.mark_observed(start, max(made.base, start))
    if made is not run.history:
        run.replace_history(made)
        if made.base:
            session.note(f"  the fast machine went ahead: known are the events from {made.base:,} on")
    check_interrupt(made)
    return made.stop_error is None


def _reveal_before(session: Session, position: int) -> None:
    """Make earlier events known: in addition to the known ones, or, if they are far away, instead of them."""
    run, history = session.run, session.history
    if history.base - position <= REVEAL_LIMIT:
        run.reveal(max(position - WINDOW, 0))
        return
    why = history.unsupported_reason
    if why is not None:
        raise Usage(
            f"event {position:,} is far before what is known of {run.name}",
            required=f"{history.base - REVEAL_LIMIT:,} or later",
            got=why,
            hint="the run that it is a fork of goes there",
        )
    _fast_forward(session, position)
