"""Going far: where the fast machine goes ahead of what is known, and what a session says of it.

What is `FAST_FORWARD_THRESHOLD` ahead or less is stepped, event by event, and known from then on. What is further is
left to the fast machine, where it can do that; known are then the events near where one has come to.
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
"""How many events the reference machine makes before the fast one is asked: those of a second and a half."""


def run_until(history: History, wanted: EventSelector, most: float = inf) -> bool:
    """On to the next event that is wanted, which is there, or to the end, or so far at most; raises KeyboardInterrupt,
    where one has come to, if somebody pressed Ctrl-C."""
    event = history.forward_to(wanted, most)
    if event is None:
        check_interrupt(history)
    return event is not None


def check_interrupt(history: History) -> None:
    """Raises KeyboardInterrupt where somebody pressed Ctrl-C on the way to where the history ends."""
    stopped = history.stop_error
    if isinstance(stopped, Exhausted) and stopped.limit == "interrupt":
        raise KeyboardInterrupt


def goto_event(session: Session, position: int) -> None:
    """To where so many events have happened; raises Usage where the run is over before."""
    goto_event_or_end(session, position)
    history = session.history
    if history.position < position:
        got = why_stopped(history) or f"the run is over after {plural(history.position, 'event')}"
        raise Usage(f"event {position:,} is never reached", got=got)


def goto_event_or_end(session: Session, position: int) -> None:
    """To where so many events have happened, or to the end of the run if that is before."""
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
    """To the end of the run, which goes on until it is over."""
    history = session.history
    history.jump(len(history))
    most = len(history) + FAST_FORWARD_THRESHOLD
    run_until(history, _is_never_hit, most)
    if len(history) == most and _can_fast_forward(session) and not _fast_forward(session):
        return
    run_until(session.history, _is_never_hit)


def goto_next_hit(session: Session) -> None:
    """On to the next hit of a breakpoint, or to the end of the run."""
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
    """Know enough of what is before where one is, so that one may go back."""
    run, history = session.run, session.history
    if history.base and history.position - history.base < WINDOW // 4:
        run.reveal(max(history.base - WINDOW, 0))


def _is_never_hit(state: object, event: object) -> bool:
    return False


def _can_fast_forward(session: Session) -> bool:
    """Whether the fast machine may go ahead; where it cannot, that is said."""
    if session.options.whole:
        return False
    why = session.history.unsupported_reason
    if why is not None:
        session.note(f"  every event was stepped: {why}")
    return why is None


def _stop_conditions(session: Session, stops: Breakpoints) -> StopConditions | None:
    """The breakpoints as the fast machine knows them; where it does not, that is said."""
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
    """Let the fast machine go ahead, and know where it leads; whether the run goes on from there. `shown` are the
    breakpoints that its stops ask on the way."""
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
    """Know what is before what is known: that too, or, where it is far away, instead."""
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
