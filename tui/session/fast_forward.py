"""Going far: where the fast machine goes ahead of what is known, and what a session says of it.

What is `FAR` ahead or less is stepped, event by event, and known from then on. What is further is left to the fast
machine, where it can do that; known are then the events near where one has come to.
"""

from __future__ import annotations

from math import inf
from typing import TYPE_CHECKING

from ...core.errors import Exhausted, Usage, counted
from ...interp.breakpoints.breakpoint import Breakpoints
from ...interp.history.cursor import Wanted
from ...interp.history.fast_forward import WINDOW
from ...interp.history.history import History
from .describe import why_stopped
from .run import NEAR
from .session import Session

if TYPE_CHECKING:
    from ...interp.engines.fast.stops import Stops

FAR = 200_000
"""How many events the reference machine makes before the fast one is asked: those of a second and a half."""


def on_to(history: History, wanted: Wanted, most: float = inf) -> bool:
    """On to the next event that is wanted, which is there, or to the end, or so far at most; raises KeyboardInterrupt,
    where one has come to, if somebody pressed Ctrl-C."""
    event = history.forward_to(wanted, most)
    if event is None:
        check_interrupt(history)
    return event is not None


def check_interrupt(history: History) -> None:
    """Raises KeyboardInterrupt where somebody pressed Ctrl-C on the way to where the history ends."""
    stopped = history.stopped
    if isinstance(stopped, Exhausted) and stopped.limit == "interrupt":
        raise KeyboardInterrupt


def to_event(session: Session, position: int) -> None:
    """To where so many events have happened; raises Usage where the run is over before."""
    towards(session, position)
    history = session.history
    if history.position < position:
        got = why_stopped(history) or f"the run is over after {counted(history.position, 'event')}"
        raise Usage(f"event {position:,} is never reached", got=got)


def towards(session: Session, position: int) -> None:
    """To where so many events have happened, or to the end of the run if that is before."""
    history = session.history
    if position < history.base:
        _back_before(session, position)
    elif position > len(history) + FAR and _may(session) and not _ahead(session, position):
        return
    history = session.history
    history.jump(min(position, len(history)))
    if history.position < position:
        on_to(history, lambda state, event: state.steps >= position)


def to_end(session: Session) -> None:
    """To the end of the run, which goes on until it is over."""
    history = session.history
    history.jump(len(history))
    most = len(history) + FAR
    on_to(history, _never, most)
    if len(history) == most and _may(session) and not _ahead(session):
        return
    on_to(session.history, _never)


def to_hit(session: Session) -> None:
    """On to the next hit of a breakpoint, or to the end of the run."""
    history, points = session.history, session.situation.points
    stops, most = session.run.stops.of(points), len(history) + FAR
    stops.lines.clear()
    if on_to(history, stops, most) or history.position < most:
        return
    told = _told(session, stops) if _may(session) else None
    if told is not None and not _ahead(session, None, told, stops):
        return
    on_to(session.history, session.run.stops.of(points))


def look_back(session: Session) -> None:
    """Know enough of what is before where one is, so that one may go back."""
    run, history = session.run, session.history
    if history.base and history.position - history.base < WINDOW // 4:
        run.reveal(max(history.base - WINDOW, 0))


def _never(state: object, event: object) -> bool:
    return False


def _may(session: Session) -> bool:
    """Whether the fast machine may go ahead; where it cannot, that is said."""
    if session.options.whole:
        return False
    why = session.history.refused
    if why is not None:
        session.note(f"  every event was stepped: {why}")
    return why is None


def _told(session: Session, stops: Breakpoints) -> Stops | None:
    """The breakpoints as the fast machine knows them; where it does not, that is said."""
    from ...interp.history.stop_conditions import stops_of  # which knows the machine: 20 ms of the first screen

    told = stops_of(stops, session.history.state)
    if isinstance(told, str):
        session.note(f"  every event was stepped: {told}")
        return None
    return told


def _ahead(
    session: Session, position: int | None = None, stops: Stops | None = None, shown: Breakpoints | None = None
) -> bool:
    """Let the fast machine go ahead, and know where it leads; whether the run goes on from there. `shown` are the
    breakpoints that its stops ask on the way."""
    run, start = session.run, len(session.history)
    made = run.history.far(position, stops)
    if shown is not None:
        shown.passed(start, max(made.base, start))
    if made is not run.history:
        run.know(made)
        if made.base:
            session.note(f"  the fast machine went ahead: known are the events from {made.base:,} on")
    check_interrupt(made)
    return made.stopped is None


def _back_before(session: Session, position: int) -> None:
    """Know what is before what is known: that too, or, where it is far away, instead."""
    run, history = session.run, session.history
    if history.base - position <= NEAR:
        run.reveal(max(position - WINDOW, 0))
        return
    why = history.refused
    if why is not None:
        raise Usage(
            f"event {position:,} is far before what is known of {run.name}",
            required=f"{history.base - NEAR:,} or later",
            got=why,
            hint="the run that it is a fork of goes there",
        )
    _ahead(session, position)
