"""Step commands: through the run, in both directions.

A step command moves to the next **stop** after the current position, that is, to the position right after an event of
its kind; its reverse moves to the last stop before the position. The beginning and the end are stops of every step. So
from a stop, a step and its reverse return there. Known events are not recomputed; after them the run continues by its
schedule, within its limits.

The current activation is the activation of the last event or, if that has closed, the innermost open activation around
it. The iterations of a loop count as one scope: so `over` goes from one iteration to the next, and `out` leaves all of
them.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import islice, takewhile
from typing import NamedTuple, TypeAlias

from ...core.errors import Usage
from ...core.tag import ROOT, Site, Tag
from ...interp.breakpoints.expression import EventPredicate
from ...interp.history.history import History
from ...interp.machine.event import Event
from ...interp.machine.state import State
from ...interp.queries.adjoints import nearest_adjoints
from ...interp.queries.answers import FiringOrigin
from ...interp.queries.ask import parse_tag
from .command import CommandArguments, CommandGroup, CommandResult, parse_number, truncate_lines
from .fast_forward import goto_end, goto_event, goto_event_or_end, goto_next_hit, reveal_past, run_until
from .listing import MAX_LINES, describe_deadlock, describe_position, position_data
from .mark_commands import describe_watches
from .node import parse_node_and_tag
from .run_index import RunIndex
from .session import STEP_GROUP, Session

step_commands = CommandGroup[Session](STEP_GROUP)
EventFilter: TypeAlias = Callable[[Event], bool]
"""A predicate: whether an event is of a kind, so that the position after it is a stop."""
StepFunction: TypeAlias = Callable[[History, EventFilter, Sequence[int] | None], bool]
"""A step to one stop; returns whether it reached one."""
EventNumbersLookup: TypeAlias = Callable[[RunIndex], Sequence[int]]
"""Looks up the numbers of the known events of a kind in the index, without a scan."""


def step_forward(history: History, kind: EventFilter, numbers: Sequence[int] | None = None) -> bool:
    """Step to the next stop, or to the end. `numbers` are those of the known events of this kind, if they are
    indexed."""
    next_event: int | None
    if numbers is None:
        next_event = next((number for number, event in history.events_after() if kind(event)), None)
    else:
        at = bisect_left(numbers, history.position)
        next_event = numbers[at] if at < len(numbers) else None
    if next_event is not None:
        history.jump(next_event + 1)
        return True
    history.jump(len(history))
    return run_until(history, lambda state, event: kind(event))


def step_backward(history: History, kind: EventFilter, numbers: Sequence[int] | None = None) -> bool:
    """Step back to the last stop before the position, or to the first known position."""
    last_event: int | None
    if numbers is None:
        last_event = next((number for number, event in islice(history.events_before(), 1, None) if kind(event)), None)
    else:
        count = bisect_left(numbers, history.position - 1)
        last_event = numbers[count - 1] if count else None
    history.jump(history.base if last_event is None else last_event + 1)
    return last_event is not None


def position_result(session: Session) -> CommandResult:
    """The position after a step, with the watches. Where the run has deadlocked, also its cause; the read that waits is
    then shown."""
    history, name = session.history, session.run.name
    lines, values = describe_watches(session)
    deadlock = describe_deadlock(history)
    data = {**position_data(name, history), "watches": values}
    position = describe_position(name, history)
    if deadlock is None:
        return CommandResult([*position, *lines], data)
    if deadlock.node is not None:
        session.show_node(deadlock.node)
    return CommandResult([*position, *deadlock.lines, *lines], {**data, "deadlock": deadlock.lines})


def repeat_step(
    session: Session, step: StepFunction, kind: EventFilter, times: int = 1, lookup: EventNumbersLookup | None = None
) -> CommandResult:
    """Take several steps forwards or backwards. With a `lookup` in the index, events between stops are not scanned."""
    if step is step_backward:
        reveal_past(session)
    numbers = None if lookup is None else lookup(current_index(session))
    for _ in range(times):
        if not step(session.history, kind, numbers):
            break
    return position_result(session)


def current_index(session: Session) -> RunIndex:
    """The index of the current run, caught up with all known events."""
    session.run.index.catch_up(session.history)
    return session.run.index


def is_firing(event: Event) -> bool:
    return event.is_firing


def is_any(event: Event) -> bool:
    return True


def ends_wave(event: Event) -> bool:
    return event.ends_wave


def is_result(event: Event) -> bool:
    return bool(event.sent) and event.sent[0].node < 0


def is_trap(event: Event) -> bool:
    return event.trap is not None


def register_step(
    name: str, back: str, kind: EventFilter, keys: tuple[str, str], what: str, lookup: EventNumbersLookup | None = None
) -> None:
    """Register the step over events of one kind, and its reverse."""

    @step_commands.register(name, "[N]", key=keys[0], help=f"on to the next {what}, or the Nth", reverse=back)
    def step_on(session: Session, words: CommandArguments) -> CommandResult:
        times = words.next_count()
        words.expect_end()
        return repeat_step(session, step_forward, kind, times, lookup)

    @step_commands.register(back, "[N]", key=keys[1], help=f"back to the previous {what}, or the Nth", reverse=name)
    def step_back(session: Session, words: CommandArguments) -> CommandResult:
        times = words.next_count()
        words.expect_end()
        return repeat_step(session, step_backward, kind, times, lookup)


register_step("step", "back", is_firing, ("s", "S"), "firing")
register_step("event", "event-back", is_any, ("e", "E"), "event (a token is delivered)")
register_step("wave", "wave-back", ends_wave, ("w", "W"), "end of a wave", lambda index: index.wave_ends)
register_step("result", "result-back", is_result, ("r", "R"), "result that leaves the program")
register_step("trap", "trap-back", is_trap, ("t", "T"), "firing that trapped", lambda index: index.traps)


def step_by_node(session: Session, words: CommandArguments, step: StepFunction) -> CommandResult:
    """Step to a firing of the given node, or of the inspected one."""
    name = words.optional_word()
    words.expect_end()
    node = session.inspected_node if name is None else session.find_node(name)
    number = -1 if node is None else node
    is_of = lambda event: event.is_firing and event.token.node == number  # noqa: E731
    return repeat_step(session, step, is_of, lookup=lambda index: index.firings(number))


@step_commands.register(
    "node", "[NODE]", key="n", help="on to the next firing of a node, or of the inspected one", reverse="node-back"
)
def node(session: Session, words: CommandArguments) -> CommandResult:
    return step_by_node(session, words, step_forward)


@step_commands.register("node-back", "[NODE]", key="N", help="back to the previous firing of that node", reverse="node")
def node_back(session: Session, words: CommandArguments) -> CommandResult:
    return step_by_node(session, words, step_backward)


def step_by_tag(session: Session, words: CommandArguments, step: StepFunction) -> CommandResult:
    """Step to an event under the given tag, or under the tag of the current activation."""
    text = words.optional_word()
    words.expect_end()
    tag = session.current_tag if text is None else parse_tag(session.history.graph, text)
    return repeat_step(session, step, lambda event: event.token.tag == tag)


@step_commands.register(
    "tag", "[TAG]", key="g", help="on to the next event under a tag, or under the current one", reverse="tag-back"
)
def tag(session: Session, words: CommandArguments) -> CommandResult:
    return step_by_tag(session, words, step_forward)


@step_commands.register("tag-back", "[TAG]", key="G", help="back to the previous event under that tag", reverse="tag")
def tag_back(session: Session, words: CommandArguments) -> CommandResult:
    return step_by_tag(session, words, step_backward)


@step_commands.register(
    "goto", "N|@BOOKMARK|start|end", key="j", help="to the position after N events, or to a bookmark"
)
def goto(session: Session, words: CommandArguments) -> CommandResult:
    target = words.next_word("a position")
    words.expect_end()
    match target:
        case "start":
            goto_event_or_end(session, 0)
        case "end":
            goto_end(session)
        case _ if target.startswith("@"):
            goto_bookmark(session, target[1:])
        case _:
            goto_event(session, parse_number(target, 0, words.usage))
    return position_result(session)


def goto_bookmark(session: Session, name: str) -> None:
    """Switch to the run of a bookmark, and go to its position; raises Usage if there is no such bookmark."""
    bookmark = next((mark for mark in session.snapshot.bookmarks if mark.name == name), None)
    if bookmark is None:
        names = ", ".join(f"@{mark.name}" for mark in session.snapshot.bookmarks)
        raise Usage(f"there is no bookmark {name!r}", required=names or None, hint="`bookmark NAME` makes one")
    session.update_state(current=session.find_run(bookmark.run).name)
    session.run.goto(bookmark.position)


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
    "continue", key="c", help="on to the next hit of a breakpoint; logpoints print their lines", reverse="reverse"
)
def continue_command(session: Session, words: CommandArguments) -> CommandResult:
    words.expect_end()
    try:
        goto_next_hit(session)
    except KeyboardInterrupt:
        for line in session.run.breakpoints.compile_all(session.snapshot.breakpoints).lines:
            session.note(line.text)
        raise
    stops = session.run.breakpoints.compile_all(session.snapshot.breakpoints)
    return hits_result(session, [line.text for line in stops.lines])


@step_commands.register("reverse", key="C", help="back to the previous hit of a breakpoint", reverse="continue")
def reverse(session: Session, words: CommandArguments) -> CommandResult:
    words.expect_end()
    reveal_past(session, is_search=True)
    stops, history = session.run.breakpoints.compile_all(session.snapshot.breakpoints), session.history
    if history.back() is not None and history.back_to(stops) is not None:
        history.forward()
    return hits_result(session, [])


def hits_result(session: Session, logged: list[str]) -> CommandResult:
    """The position after a step to a hit, with the lines logged on the way and the breakpoints that stop here."""
    history, points, hits = session.history, session.snapshot.breakpoints, list[str]()
    result = position_result(session)
    if history.last_event is not None:
        observation = session.run.breakpoints.compile_all(points).evaluate(history.state, history.last_event)
        hits = [f"  breakpoint {point}" for point in points if point.number in observation.stops]
    return replace(result, text=[*logged, *result.text, *hits], data={**result.data, "logged": logged, "hits": hits})


# Steps by activation: over a call, and out of the current activation


class ActivationScope(NamedTuple):
    """An activation of a function, or all iterations of a loop under one tag."""

    parent: Tag | None
    site: Site
    tag: Tag

    def contains(self, tag: Tag) -> bool:
        """Whether a tag belongs to this scope."""
        if self.site.kind == "call":
            return tag == self.tag
        return tag.site == self.site and tag.parent == self.parent

    def is_open(self, state: State) -> bool:
        if self.site.kind == "call":
            return self.tag in state.records
        record = state.records.get(self.parent) if self.parent is not None else None
        return record is not None and any(site == self.site for site, _ in record.child_tags)

    def includes_firing(self, event: Event) -> bool:
        """Whether an event is a firing in this scope."""
        return event.inputs is not None and self.contains(event.token.tag)

    def open_position(self, index: RunIndex) -> int:
        """The position at which it opened."""
        first = self.tag if self.site.kind == "call" or self.parent is None else self.parent.child(self.site)
        return index.activation(first).open_position or 0


def scope_of(tag: Tag) -> ActivationScope:
    return ActivationScope(tag.parent, tag.site, tag)


def current_scope(session: Session) -> ActivationScope:
    """The innermost open scope around the last event."""
    history = session.history
    last = history.last_event.token.tag if history.last_event is not None else ROOT
    scopes = map(scope_of, last.self_and_ancestors())
    return next((scope for scope in scopes if scope.is_open(history.state)), scope_of(ROOT))


def step_over(history: History, scope: ActivationScope) -> None:
    """Step to the next firing in a scope, or to the position at which it has closed."""
    advance_until(
        history,
        lambda state, event: scope.includes_firing(event) or (bool(event.closed) and not scope.is_open(state)),
        scope,
    )


def step_out(history: History, scope: ActivationScope) -> None:
    """Step to the position at which a scope has closed."""
    advance_until(history, lambda state, event: bool(event.closed) and not scope.is_open(state), scope)


def advance_until(history: History, is_match: EventPredicate, scope: ActivationScope) -> None:
    """Step to the next matching event. Among known events, states are built only for events in the scope `scope`: a
    million other events take 0.3 s instead of 7 s."""
    for number, event in history.events_after():
        if scope.includes_firing(event) or any(scope.contains(record.tag) for record in event.closed):
            history.jump(number + 1)
            if is_match(history.state, event):
                return
    history.jump(len(history))
    run_until(history, is_match)


def reverse_step_over(history: History, index: RunIndex, scope: ActivationScope) -> None:
    """Step back to the last firing in a scope, or to the event that opened it."""
    opened = max(scope.open_position(index), history.base)
    events = takewhile(lambda numbered: numbered[0] >= opened, islice(history.events_before(), 1, None))
    history.jump(next((number + 1 for number, event in events if scope.includes_firing(event)), opened))


def reverse_step_out(history: History, index: RunIndex, scope: ActivationScope) -> None:
    """Step back to the position before a scope opened."""
    history.jump(max(scope.open_position(index) - 1, history.base))


@step_commands.register(
    "over", "[N]", key="o", help="on to the next firing of this activation, over its calls", reverse="over-back"
)
def over_command(session: Session, words: CommandArguments) -> CommandResult:
    times = words.next_count()
    words.expect_end()
    for _ in range(times):
        step_over(session.history, current_scope(session))
    return position_result(session)


@step_commands.register(
    "over-back", "[N]", key="O", help="back to its previous firing, or to the event that opened it", reverse="over"
)
def over_back_command(session: Session, words: CommandArguments) -> CommandResult:
    times = words.next_count()
    words.expect_end()
    reveal_past(session)
    history = session.history
    for _ in range(times):
        if history.last_event is not None:
            reverse_step_over(history, current_index(session), scope_of(history.last_event.token.tag))
    return position_result(session)


@step_commands.register("out", key="f", help="on to the position where this activation has closed", reverse="out-back")
def out_command(session: Session, words: CommandArguments) -> CommandResult:
    words.expect_end()
    step_out(session.history, current_scope(session))
    return position_result(session)


@step_commands.register("out-back", key="F", help="back to the position before this activation opened", reverse="out")
def out_back_command(session: Session, words: CommandArguments) -> CommandResult:
    words.expect_end()
    reveal_past(session)
    reverse_step_out(session.history, current_index(session), current_scope(session))
    return position_result(session)


# Steps between a firing and the firings that reverse it, under the same tag


@step_commands.register(
    "adjoint", "[NODE [TAG]]", key="(", help="to the adjoint of this firing, under the same tag",
    reverse="forward",
)  # fmt: skip
def adjoint(session: Session, words: CommandArguments) -> CommandResult:
    event = parse_firing(session, words)
    partners = nearest_adjoints(session.run.adjoints, event)
    if not partners:
        got = f"{session.history.graph.nodes[event.token.node]} under {event.token.tag}"
        hint = "no float that is differentiated depends on it"
        raise Usage("this firing has no adjoint", got=got, hint=hint)
    return goto_partner(session, partners)


@step_commands.register(
    "forward", "[NODE [TAG]]", key=")", help="to the firing that this one is the adjoint of",
    reverse="adjoint",
)  # fmt: skip
def forward(session: Session, words: CommandArguments) -> CommandResult:
    event, adjoints = parse_firing(session, words), session.run.adjoints
    nodes = adjoints.primal_nodes(event.token.node)
    if not nodes:
        got = f"{session.history.graph.nodes[event.token.node]} under {event.token.tag}"
        raise Usage("this firing is not an adjoint", got=got, hint="`adjoint` starts from a forward firing")
    return goto_partner(session, [(node, adjoints.activation_of(event)) for node in nodes])


@step_commands.register(
    "origin",
    "[NODE [TAG [PORT]]]",
    key="J",
    help="to the firing that made the value on a port, behind nodes that only pass it on",
)
def origin(session: Session, words: CommandArguments) -> CommandResult:
    parts = words.text.split()
    port = parse_number(parts.pop(), 0, words.usage) if len(parts) == 3 else None
    event = parse_firing(session, CommandArguments(words.usage, " ".join(parts)))
    history, node = session.history, session.history.graph.nodes[event.token.node]
    made_by = history.ask.origin(str(node), event.token.tag, port)
    if not isinstance(made_by, FiringOrigin):
        return CommandResult([f"{node} under {event.token.tag} has the value of {made_by}"], {"event": None})
    goto_event(session, made_by.number + 1)
    result = position_result(session)
    return CommandResult(result.text, {**result.data, "event": made_by.number})


def parse_firing(session: Session, words: CommandArguments) -> Event:
    """Take [NODE [TAG]] from a command: the firing of that node, at any known position; without NODE, the last one."""
    history = session.history
    if words:
        name, tag = parse_node_and_tag(session, words)
        events = (history[number] for number in current_index(session).firings(session.find_node(name)))
        firing = next((event for event in events if event.token.tag == tag), None)
        if firing is None:
            raise Usage(f"{name} has not fired under {tag}", hint=f"`why-not {name} {tag}` says why")
        return firing
    last = next((number for number in range(history.position - 1, -1, -1) if history[number].is_firing), None)
    if last is None:
        raise Usage("nothing has fired yet", hint="`step` goes to the next firing")
    return history[last]


def goto_partner(session: Session, partners: Sequence[tuple[int, Tag]]) -> CommandResult:
    """Go to the first firing of one of these nodes under its tag: a known firing, or, if there is none, one that
    the run reaches by stepping on."""
    history, adjoints, index = session.history, session.run.adjoints, current_index(session)

    def is_partner(event: Event) -> bool:
        return event.inputs is not None and (event.token.node, adjoints.activation_of(event)) in partners

    candidates = (number for node, _ in dict.fromkeys(partners) for number in index.firings(node))
    numbers = [number for number in dict.fromkeys(candidates) if is_partner(history[number])]
    if numbers:
        history.jump(numbers[0] + 1)
    else:
        history.jump(len(history))
        if not run_until(history, lambda state, event: is_partner(event)):
            result = position_result(session)
            return CommandResult([*result.text, "  it has no partner in this run"], {**result.data, "partners": []})
        numbers = [history.position - 1]
    result, graph = position_result(session), history.graph
    others = [f"  also {graph.nodes[history[number].token.node]} at event {number}" for number in numbers[1:]]
    return CommandResult([*result.text, *truncate_lines(others, MAX_LINES)], {**result.data, "partners": numbers})
