"""Motions: over the run, in both directions.

A motion goes to the next **stop** after where one is: to where an event of its kind has just happened; its reverse to
the last stop before. The beginning and the end are stops of every motion. So from a stop, a motion and then its reverse
lead back. Over known events nothing is computed; at the end the run goes on by its schedule, as far as limits let it.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import islice
from typing import TypeAlias

from ...core.errors import Usage
from ...interp.history.history import History
from ...interp.machine.event import Event
from ...interp.queries.ask import tag_of
from .arguments import Words, number
from .command import Group
from .describe import place_data, place_said
from .fast_forward import look_back, on_to, to_end, to_event, to_hit, towards
from .reply import Said
from .run_index import Known
from .session import MOVING, Session
from .watch_commands import watched

moving = Group(MOVING)
Kind: TypeAlias = Callable[[Event], bool]
"""Whether an event is of a kind, which makes where it has happened a stop."""
Way: TypeAlias = Callable[[History, Kind, Sequence[int] | None], bool]
"""A motion by one stop, and whether it came to one."""


Places: TypeAlias = Callable[[Known], Sequence[int]]
"""The numbers of the known events of a kind, where they are known without looking at all."""


def ahead(history: History, kind: Kind, places: Sequence[int] | None = None) -> bool:
    """To the next stop, which is there, or to the end."""
    following: int | None
    if places is None:
        following = next((at for at, event in history.ahead() if kind(event)), None)
    else:
        after = bisect_left(places, history.position)
        following = places[after] if after < len(places) else None
    if following is not None:
        history.jump(following + 1)
        return True
    history.jump(len(history))
    return on_to(history, lambda state, event: kind(event))


def behind(history: History, kind: Kind, places: Sequence[int] | None = None) -> bool:
    """To the last stop before, which is there, or to where what is known begins."""
    before: int | None
    if places is None:
        before = next((at for at, event in islice(history.behind(), 1, None) if kind(event)), None)
    else:
        count = bisect_left(places, history.position - 1)
        before = places[count - 1] if count else None
    history.jump(history.base if before is None else before + 1)
    return before is not None


def stand(session: Session) -> Said:
    """Where one is after a motion, with what is watched."""
    history, name = session.history, session.run.name
    lines, values = watched(session)
    return Said([*place_said(name, history), *lines], {**place_data(name, history), "watches": values})


def go(session: Session, way: Way, kind: Kind, times: int = 1, places: Places | None = None) -> Said:
    """Some stops on, or back. Where their places are known, the events between are not looked at."""
    if way is behind:
        look_back(session)
    known = session.run.known
    if places is not None:
        known.catch_up(session.history)
    numbers = None if places is None else places(known)
    for _ in range(times):
        if not way(session.history, kind, numbers):
            break
    return stand(session)


def is_firing(event: Event) -> bool:
    return event.fired


def is_any(event: Event) -> bool:
    return True


def ends_wave(event: Event) -> bool:
    return event.ends_wave


def is_result(event: Event) -> bool:
    return bool(event.sent) and event.sent[0].node < 0


def is_trap(event: Event) -> bool:
    return event.trap is not None


def _counted(name: str, back: str, kind: Kind, keys: tuple[str, str], what: str, places: Places | None = None) -> None:
    """A motion over events of one kind, and its reverse."""

    @moving.row(name, "[N]", key=keys[0], help=f"on to the next {what}, or the Nth", reverse=back)
    def on(session: Session, words: Words) -> Said:
        times = words.count()
        words.done()
        return go(session, ahead, kind, times, places)

    @moving.row(back, "[N]", key=keys[1], help=f"back to the last {what}, or the Nth", reverse=name)
    def off(session: Session, words: Words) -> Said:
        times = words.count()
        words.done()
        return go(session, behind, kind, times, places)


_counted("step", "back", is_firing, ("s", "S"), "firing")
_counted("event", "event-back", is_any, ("e", "E"), "event: one token is delivered")
_counted("wave", "wave-back", ends_wave, ("w", "W"), "end of a wave", lambda known: known.wave_ends)
_counted("result", "result-back", is_result, ("r", "R"), "result that leaves the program")
_counted("trap", "trap-back", is_trap, ("t", "T"), "firing that trapped", lambda known: known.traps)


def _by_node(session: Session, words: Words, way: Way) -> Said:
    name = words.maybe()
    words.done()
    node = session.node if name is None else session.find(name)
    number = -1 if node is None else node
    is_of = lambda event: event.fired and event.token.node == number  # noqa: E731
    return go(session, way, is_of, places=lambda known: known.fired(number))


@moving.row(
    "node", "[NODE]", key="n", help="on to the next firing of a node, or of the present one", reverse="node-back"
)
def node(session: Session, words: Words) -> Said:
    return _by_node(session, words, ahead)


@moving.row("node-back", "[NODE]", key="N", help="back to its last firing before", reverse="node")
def node_back(session: Session, words: Words) -> Said:
    return _by_node(session, words, behind)


def _under(session: Session, words: Words) -> Kind:
    text = words.maybe()
    words.done()
    tag = session.tag if text is None else tag_of(session.history.graph, text)
    return lambda event: event.token.tag == tag


@moving.row(
    "tag", "[TAG]", key="g", help="on to the next event under a tag, or under the present one", reverse="tag-back"
)
def tag(session: Session, words: Words) -> Said:
    return go(session, ahead, _under(session, words))


@moving.row("tag-back", "[TAG]", key="G", help="back to the last event under it", reverse="tag")
def tag_back(session: Session, words: Words) -> Said:
    return go(session, behind, _under(session, words))


@moving.row("goto", "N|@BOOKMARK|start|end", key="j", help="to where N events have happened, or to a bookmark")
def goto(session: Session, words: Words) -> Said:
    where = words.next("a place")
    words.done()
    match where:
        case "start":
            towards(session, 0)
        case "end":
            to_end(session)
        case _ if where.startswith("@"):
            _to_bookmark(session, where[1:])
        case _:
            to_event(session, number(where, 0, words.usage))
    return stand(session)


def _to_bookmark(session: Session, name: str) -> None:
    found = next((mark for mark in session.situation.bookmarks if mark.name == name), None)
    if found is None:
        known = ", ".join(f"@{mark.name}" for mark in session.situation.bookmarks)
        raise Usage(f"there is no bookmark {name!r}", required=known or None, hint="`bookmark NAME` makes one")
    session.change(current=session.named(found.run).name)
    session.run.reach(found.position)


@moving.row("run", key="$", help="on to the end of the run", reverse="start")
def run(session: Session, words: Words) -> Said:
    words.done()
    to_end(session)
    return stand(session)


@moving.row("start", key="^", help="back to the beginning", reverse="run")
def start(session: Session, words: Words) -> Said:
    words.done()
    towards(session, 0)
    return stand(session)


@moving.row(
    "continue", key="c", help="on to the next hit of a breakpoint; log points say their lines", reverse="reverse"
)
def go_on(session: Session, words: Words) -> Said:
    words.done()
    try:
        to_hit(session)
    except KeyboardInterrupt:
        for line in session.run.stops.of(session.situation.points).lines:
            session.note(line.text)
        raise
    said, stops = stand(session), session.run.stops.of(session.situation.points)
    logged = [line.text for line in stops.lines]
    hits = _hit(session)
    return replace(said, text=[*logged, *said.text, *hits], data={**said.data, "logged": logged, "hits": hits})


@moving.row("reverse", key="C", help="back to the last hit of a breakpoint", reverse="continue")
def reverse(session: Session, words: Words) -> Said:
    words.done()
    look_back(session)
    stops, history = session.run.stops.of(session.situation.points), session.history
    if history.back() is not None and history.back_to(stops) is not None:
        history.forward()
    said, hits = stand(session), _hit(session)
    return replace(said, text=[*said.text, *hits], data={**said.data, "logged": [], "hits": hits})


def _hit(session: Session) -> list[str]:
    """The breakpoints that stop where one is."""
    history, points = session.history, session.situation.points
    if history.last is None:
        return []
    seen = session.run.stops.of(points).see(history.state, history.last)
    return [f"  breakpoint {point}" for point in points if point.number in seen.stops]
