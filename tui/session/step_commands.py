"""Step commands: through the run, in both directions.

A step goes to the next **stop** after the current position: the position right after an event of its kind; the reverse
step goes to the last stop before. The beginning and the end are stops of every step. So from a stop, a step and then
its reverse lead back. Known events are not recomputed; at the end the run continues by its schedule, within its limits.
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
from ...interp.queries.ask import parse_tag
from .arguments import CommandArguments, parse_number
from .command import CommandGroup
from .describe import describe_position, position_data
from .fast_forward import goto_end, goto_event, goto_event_or_end, goto_next_hit, reveal_past, run_until
from .reply import CommandResult
from .run_index import RunIndex
from .session import STEP_GROUP, Session
from .watch_commands import describe_watches

step_commands = CommandGroup[Session](STEP_GROUP)
EventFilter: TypeAlias = Callable[[Event], bool]
"""Whether an event is of a kind, so that the position after it is a stop."""
StepFunction: TypeAlias = Callable[[History, EventFilter, Sequence[int] | None], bool]
"""A step to one stop; returns whether it reached one."""


EventNumbersLookup: TypeAlias = Callable[[RunIndex], Sequence[int]]
"""The numbers of the known events of a kind, from the index without a scan."""


def step_forward(history: History, kind: EventFilter, places: Sequence[int] | None = None) -> bool:
    """Step to the next stop, which has then happened, or to the end."""
    following: int | None
    if places is None:
        following = next((at for at, event in history.events_after() if kind(event)), None)
    else:
        after = bisect_left(places, history.position)
        following = places[after] if after < len(places) else None
    if following is not None:
        history.jump(following + 1)
        return True
    history.jump(len(history))
    return run_until(history, lambda state, event: kind(event))


def step_backward(history: History, kind: EventFilter, places: Sequence[int] | None = None) -> bool:
    """Step back to the last stop before, or to the first known position."""
    before: int | None
    if places is None:
        before = next((at for at, event in islice(history.events_before(), 1, None) if kind(event)), None)
    else:
        count = bisect_left(places, history.position - 1)
        before = places[count - 1] if count else None
    history.jump(history.base if before is None else before + 1)
    return before is not None


def position_result(session: Session) -> CommandResult:
    """The position after a step, with the watches."""
    history, name = session.history, session.run.name
    lines, values = describe_watches(session)
    return CommandResult(
        [*describe_position(name, history), *lines], {**position_data(name, history), "watches": values}
    )


def repeat_step(
    session: Session, way: StepFunction, kind: EventFilter, times: int = 1, places: EventNumbersLookup | None = None
) -> CommandResult:
    """Take several steps forwards or backwards. If the stops are indexed, the events between are not scanned."""
    if way is step_backward:
        reveal_past(session)
    known = session.run.index
    if places is not None:
        known.catch_up(session.history)
    numbers = None if places is None else places(known)
    for _ in range(times):
        if not way(session.history, kind, numbers):
            break
    return position_result(session)


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


def _register_step(
    name: str, back: str, kind: EventFilter, keys: tuple[str, str], what: str, places: EventNumbersLookup | None = None
) -> None:
    """Register the step over events of one kind, and its reverse."""

    @step_commands.register(name, "[N]", key=keys[0], help=f"on to the next {what}, or the Nth", reverse=back)
    def on(session: Session, words: CommandArguments) -> CommandResult:
        times = words.next_count()
        words.expect_end()
        return repeat_step(session, step_forward, kind, times, places)

    @step_commands.register(back, "[N]", key=keys[1], help=f"back to the last {what}, or the Nth", reverse=name)
    def off(session: Session, words: CommandArguments) -> CommandResult:
        times = words.next_count()
        words.expect_end()
        return repeat_step(session, step_backward, kind, times, places)


_register_step("step", "back", is_firing, ("s", "S"), "firing")
_register_step("event", "event-back", is_any, ("e", "E"), "event: one token is delivered")
_register_step("wave", "wave-back", ends_wave, ("w", "W"), "end of a wave", lambda known: known.wave_ends)
_register_step("result", "result-back", is_result, ("r", "R"), "result that leaves the program")
_register_step("trap", "trap-back", is_trap, ("t", "T"), "firing that trapped", lambda known: known.traps)


def _step_by_node(session: Session, words: CommandArguments, way: StepFunction) -> CommandResult:
    name = words.optional_word()
    words.expect_end()
    node = session.current_node if name is None else session.find_node(name)
    number = -1 if node is None else node
    is_of = lambda event: event.fired and event.token.node == number  # noqa: E731
    return repeat_step(session, way, is_of, places=lambda known: known.firings(number))


@step_commands.register(
    "node", "[NODE]", key="n", help="on to the next firing of a node, or of the present one", reverse="node-back"
)
def node(session: Session, words: CommandArguments) -> CommandResult:
    return _step_by_node(session, words, step_forward)


@step_commands.register("node-back", "[NODE]", key="N", help="back to its last firing before", reverse="node")
def node_back(session: Session, words: CommandArguments) -> CommandResult:
    return _step_by_node(session, words, step_backward)


def _tag_filter(session: Session, words: CommandArguments) -> EventFilter:
    text = words.optional_word()
    words.expect_end()
    tag = session.current_tag if text is None else parse_tag(session.history.graph, text)
    return lambda event: event.token.tag == tag


@step_commands.register(
    "tag", "[TAG]", key="g", help="on to the next event under a tag, or under the present one", reverse="tag-back"
)
def tag(session: Session, words: CommandArguments) -> CommandResult:
    return repeat_step(session, step_forward, _tag_filter(session, words))


@step_commands.register("tag-back", "[TAG]", key="G", help="back to the last event under it", reverse="tag")
def tag_back(session: Session, words: CommandArguments) -> CommandResult:
    return repeat_step(session, step_backward, _tag_filter(session, words))


@step_commands.register(
    "goto", "N|@BOOKMARK|start|end", key="j", help="to where N events have happened, or to a bookmark"
)
def goto(session: Session, words: CommandArguments) -> CommandResult:
    where = words.next_word("a place")
    words.expect_end()
    match where:
        case "start":
            goto_event_or_end(session, 0)
        case "end":
            goto_end(session)
        case _ if where.startswith("@"):
            _goto_bookmark(session, where[1:])
        case _:
            goto_event(session, parse_number(where, 0, words.usage))
    return position_result(session)


def _goto_bookmark(session: Session, name: str) -> None:
    found = next((mark for mark in session.snapshot.bookmarks if mark.name == name), None)
    if found is None:
        known = ", ".join(f"@{mark.name}" for mark in session.snapshot.bookmarks)
        raise Usage(f"there is no bookmark {name!r}", required=known or None, hint="`bookmark NAME` makes one")
    session.update_state(current=session.find_run(found.run).name)
    session.run.goto(found.position)


@step_commands.register("run", key="$", help="on to the end of the run", reverse="start")
def run(session: Session, words: CommandArguments) -> CommandResult:
    words.expect_end()
    goto_end(session)
    return position_result(session)


@step_commands.register("start", key="^", help="back to the beginning", reverse="run")
def start(session: Session, words: CommandArguments) -> CommandResult:
    words.expect_end()
    goto_event_or_end(session, 0)
    return position_result(session)


@step_commands.register(
    "continue", key="c", help="on to the next hit of a breakpoint; log points say their lines", reverse="reverse"
)
def continue_command(session: Session, words: CommandArguments) -> CommandResult:
    words.expect_end()
    try:
        goto_next_hit(session)
    except KeyboardInterrupt:
        for line in session.run.breakpoints.compile_all(session.snapshot.breakpoints).lines:
            session.note(line.text)
        raise
    said, stops = position_result(session), session.run.breakpoints.compile_all(session.snapshot.breakpoints)
    logged = [line.text for line in stops.lines]
    hits = _describe_hits(session)
    return replace(said, text=[*logged, *said.text, *hits], data={**said.data, "logged": logged, "hits": hits})


@step_commands.register("reverse", key="C", help="back to the last hit of a breakpoint", reverse="continue")
def reverse(session: Session, words: CommandArguments) -> CommandResult:
    words.expect_end()
    reveal_past(session)
    stops, history = session.run.breakpoints.compile_all(session.snapshot.breakpoints), session.history
    if history.back() is not None and history.back_to(stops) is not None:
        history.forward()
    said, hits = position_result(session), _describe_hits(session)
    return replace(said, text=[*said.text, *hits], data={**said.data, "logged": [], "hits": hits})


def _describe_hits(session: Session) -> list[str]:
    """The breakpoints that stop at the current position."""
    history, points = session.history, session.snapshot.breakpoints
    if history.last_event is None:
        return []
    seen = session.run.breakpoints.compile_all(points).see(history.state, history.last_event)
    return [f"  breakpoint {point}" for point in points if point.number in seen.stops]
