"""Commands for several runs: forks, which share the past of a run and continue differently, and comparisons of runs
with other schedules, arguments or engines, or of an edited program."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator
from dataclasses import replace
from itertools import chain, count, islice, zip_longest
from pathlib import Path
from typing import Any

from ...core.errors import Usage, plural
from ...core.ops.effects import resource_of
from ...core.text.literals import parse_value
from ...core.value import Value
from ...interp.engines import reference
from ...interp.engines.registry import find_engine
from ...interp.history.edit import TokenSlot, port_type
from ...interp.history.history import History
from ...interp.machine.event import Token
from ...interp.machine.schedule import write_script
from ...interp.queries.ask import parse_tag
from ...interp.queries.difference import Difference, first_difference
from ..load import split_target
from ..run_start import RunRequest
from .command import CommandArguments, CommandGroup, CommandResult, parse_number
from .fast_forward import match_nothing, run_until
from .inspect_commands import describe_tokens
from .listing import MAX_ROWS, describe_position, position_data, results_data, token_data, waiting_tokens
from .run import SessionRun
from .session import RunDifference, Session, SessionState
from .step_commands import position_result

fork_commands = CommandGroup[Session]("forking")


def adopt_fork(session: Session, history: History, name: str | None = None) -> SessionRun:
    """Add a fork of the current run's history as a run, and switch to it."""
    position, parent = history.fork_position, session.run
    while parent.parent is not None and position < parent.fork_position:
        parent = session.find_run(parent.parent)
    edit_text = "" if history.edit is None else history.edit.describe(history.graph)
    numbered = (f"{parent.name}.{number}" for number in count(1))
    free_name = next(candidate for candidate in numbered if session.snapshot.find_run(candidate) is None)
    run = SessionRun(name or free_name, history, parent.start, parent.name, position, edit_text)
    run.share_index(parent)
    history.name = run.name
    session.enter_run(run)
    return run


def fork_result(session: Session) -> CommandResult:
    """The result of a command that made a fork."""
    result, run = position_result(session), session.run
    assert run.parent is not None
    repeats = count_effects(session.find_run(run.parent), run.fork_position)
    lines = [f"{run.name} is a fork of {run.parent}, from event {run.fork_position} on"]
    if run.edit_description:
        lines.append(f"  with {run.edit_description}")
    if repeats:
        lines.append(f"  {plural(repeats, 'effect')} of {run.parent} may happen again")
    return CommandResult([*lines, *result.text], {**result.data, "fork_of": run.parent, "repeats": repeats})


def count_effects(run: SessionRun, position: int) -> int:
    """The number of known firings from a position on that had an effect outside of the machine."""
    nodes = (number for number, node in enumerate(run.history.graph.nodes) if resource_of(node.op) is not None)
    return sum(len(numbers) - bisect_left(numbers, position) for numbers in map(run.index.firings, nodes))


@fork_commands.register("fork", "[NAME]", key="k", help="a new run with this past, which continues independently")
def fork(session: Session, words: CommandArguments) -> CommandResult:
    name = words.optional_word()
    words.expect_end()
    if name is not None and session.snapshot.find_run(name) is not None:
        raise Usage(f"there is a run {name!r} already", required="another name", hint="`runs` lists them")
    adopt_fork(session, session.history.branch(), name)
    return fork_result(session)


@fork_commands.register("choose", "POSITION", key="d", help="deliver the token at this position of the flight next")
def choose(session: Session, words: CommandArguments) -> CommandResult:
    position = words.next_number("a position of the flight")
    words.expect_end()
    history = session.history
    if position >= len(history.state.flight):
        got = f"{plural(len(history.state.flight), 'token')} in flight"
        raise Usage(f"no token is at position {position}", got=got, hint="`flight` lists them")
    if position == history.next_choice:
        history.forward()
        return position_result(session)
    if history.position < len(history):
        adopt_fork(session, history.choose(position))
        return fork_result(session)
    deliver_by_hand(session, position)
    return position_result(session)


def deliver_by_hand(session: Session, position: int) -> None:
    """Deliver a chosen token at the end of the known events. The run is replaced by a fork, so that `undo` can restore
    it."""
    run = session.run
    continuation = replace(run, history=run.history.branch(run.history.name))
    continuation.share_index(run)
    continuation.history.deliver(position)
    session.update_state(
        runs=tuple(
            continuation if run_of_snapshot is run else run_of_snapshot for run_of_snapshot in session.snapshot.runs
        )
    )


@fork_commands.register(
    "schedule", "FILE", key=",c", help="save the choices of this run up to here, for --schedule hand:FILE"
)
def schedule(session: Session, words: CommandArguments) -> CommandResult:
    file = words.next_word("a file")
    words.expect_end()
    fork = session.history.branch()
    write_script(fork.script(), session.check_output_path(file))
    return CommandResult([f"{file} has {plural(len(fork), 'choice')}"], {"file": file, "choices": list(fork.choices)})


@fork_commands.register(
    "change", "POSITION VALUE | NODE PORT TAG VALUE", key="=", help="a fork in which a token has another value"
)
def change(session: Session, words: CommandArguments) -> CommandResult:
    history = session.history
    parts = words.remaining_words()
    if len(parts) == 2:
        position = parse_number(parts[0], 0, words.usage)
        if position >= len(history.state.flight):
            got = f"{plural(len(history.state.flight), 'token')} there"
            raise Usage(f"no token is at position {position} of the flight", got=got)
        token = history.state.flight[position]
        # parse_value raises Malformed for a literal of another type, port_type Usage for a port that takes no tokens.
        adopt_fork(session, history.change(position, parse_value(parts[1], port_type(history.graph, token))))
        return fork_result(session)
    slot, value = parse_slot_and_value(session, parts, words.usage)
    adopt_fork(session, history.change((str(history.graph.nodes[slot.node]), *slot[1:]), value))
    return fork_result(session)


@fork_commands.register("inject", "NODE PORT TAG VALUE", key="+", help="a fork with one more token in flight")
def inject(session: Session, words: CommandArguments) -> CommandResult:
    history = session.history
    slot, value = parse_slot_and_value(session, words.remaining_words(), words.usage)
    adopt_fork(session, history.inject(str(history.graph.nodes[slot.node]), slot.port, slot.tag, value))
    return fork_result(session)


def parse_slot_and_value(session: Session, parts: tuple[str, ...], usage: str) -> tuple[TokenSlot, Value]:
    """Parse NODE PORT TAG VALUE, where VALUE is a literal of the port's type; raises Malformed if it is not, and Usage
    if no token can arrive there."""
    if len(parts) != 4:
        raise Usage("this does not identify a token", required=usage, got=" ".join(parts)[:80] or None)
    name, port, tag, text = parts
    graph = session.history.graph
    slot = TokenSlot(session.find_node(name), parse_number(port, 0, usage), parse_tag(graph, tag))
    return slot, parse_value(text, port_type(graph, Token(slot.node, slot.port, slot.tag, 0)))


@fork_commands.register("runs", key="K", help="the runs, each fork below its parent")
def runs(session: Session, words: CommandArguments) -> CommandResult:
    words.expect_end()
    state = session.snapshot
    lines = list(describe_runs(state))
    rows = [{**position_data(run.name, run.history), "fork_of": run.parent} for run in state.runs]
    return CommandResult(lines or ["there are no runs"], {"runs": rows, "current": state.current})


def describe_runs(state: SessionState) -> Iterator[str]:
    """A line for each run, its forks below it. Without recursion, because forks may nest deeply."""
    forks: dict[str | None, list[SessionRun]] = {}
    for run in reversed(state.runs):
        forks.setdefault(run.parent, []).append(run)
    stack = [(run, 0) for run in forks.get(None, [])]
    while stack:
        run, depth = stack.pop()
        arrow = "->" if run.name == state.current else "  "
        edit = f", with {run.edit_description}" if run.edit_description else ""
        origin = "" if run.parent is None else f", from {run.fork_position} on{edit}"
        position = f"at {run.history.position:,} of {plural(len(run.history), 'event')}"
        yield f"{arrow} {'  ' * depth}{run.name}: {position}{origin}"
        stack += [(fork, depth + 1) for fork in forks.get(run.name, [])]


@fork_commands.register("switch", "NAME", key="m", help="go to another run")
def switch(session: Session, words: CommandArguments) -> CommandResult:
    name = words.next_word("a run")
    words.expect_end()
    enter_run(session, session.find_run(name))
    return position_result(session)


def enter_run(session: Session, run: SessionRun) -> None:
    """Make a run the current one; if it is shown beside the current one, the two change places."""
    previous, other = session.run, session.other_run
    session.update_state(current=run.name)
    if other is run:
        session.focus = replace(session.focus, other_run=previous.name)


COLUMN_WIDTH = 58
"""The characters of a line in one of two columns."""


@fork_commands.register(
    "beside", "[NAME]", key="|", help="show another run beside this one, each at its position; again: this one alone"
)
def beside_command(session: Session, words: CommandArguments) -> CommandResult:
    name = words.optional_word()
    words.expect_end()
    if name is None and session.other_run is not None:
        session.focus = replace(session.focus, other_run=None)
        return CommandResult([f"{session.run.name} is shown alone"], {"sides": []})
    pair = (session.run, latest_other_run(session) if name is None else session.find_run(name))
    if pair[0] is pair[1]:
        raise Usage("this run is the current one", got=pair[0].name, hint="`runs` lists them")
    session.focus = replace(session.focus, other_run=pair[1].name)
    sides = [describe_side(run) for run in pair]
    lines = list(columns(*sides))
    return CommandResult(lines, {"sides": [side_data(run) for run in pair]})


def latest_other_run(session: Session) -> SessionRun:
    """The run that the current one was compared with, or else the newest other one; raises Usage if there is none."""
    state, current = session.snapshot, session.run.name
    last = state.difference
    compared = [] if last is None or current not in (last.first, last.second) else [last.first, last.second]
    names = [*compared, *reversed(list(state.run_names))]
    other = next((run for run in map(state.find_run, names) if run is not None and run.name != current), None)
    if other is None:
        raise Usage("there is no other run yet", hint="compare --schedule lifo, or fork")
    return other


def describe_side(run: SessionRun) -> list[str]:
    """The text of a run's column in `beside`."""
    history = run.history
    state, graph = history.state, history.graph
    return [
        *describe_position(run.name, history),
        "in flight:",
        *describe_tokens(graph, state.flight, len(state.flight)),
        "waiting:",
        *describe_tokens(graph, waiting_tokens(state), state.waiting_count),
        "results:",
        *(f"  {number}: {value}" for number, value in enumerate(results_data(history)) if value),
    ]


def side_data(run: SessionRun) -> dict[str, Any]:
    """A run's column in `beside` as data."""
    history = run.history
    return {
        **position_data(run.name, history),
        "in_flight": [token_data(history.graph, token) for token in islice(history.state.flight, MAX_ROWS)],
        "waiting": [token_data(history.graph, token) for token in islice(waiting_tokens(history.state), MAX_ROWS)],
    }


def columns(left: list[str], right: list[str]) -> Iterator[str]:
    """Two texts side by side; lines too long for their column are cut.

    >>> list(columns(["a"], ["b", "c"]))[0].split()
    ['a', '|', 'b']
    """
    for pair in zip_longest(left, right, fillvalue=""):
        first, second = (text if len(text) <= COLUMN_WIDTH else f"{text[: COLUMN_WIDTH - 3]}..." for text in pair)
        yield f"{first:{COLUMN_WIDTH}} | {second}".rstrip()


# Comparison

comparison_commands = CommandGroup[Session]("comparing")


@comparison_commands.register(
    "compare",
    "NAME | --schedule S | --k K | --seed N | --args ARGS | --engine E | FILE[:NAME] [ARGS]",
    key="%",
    help="run both to their ends, and show the first difference",
)
def compare(session: Session, words: CommandArguments) -> CommandResult:
    run = session.run
    run.history.all_events()
    other = resolve_other_run(session, words)
    other.history.all_events()
    positions = [run.history.position, other.history.position]
    for shown_run in (run, other):
        shown_run.history.jump(len(shown_run.history))
        run_until(shown_run.history, match_nothing)
    first = first_difference(run.history.ask.index, other.history.ask.index)
    for shown_run, position in zip((run, other), positions, strict=True):
        shown_run.history.jump(position)
    if first is None:
        session.update_state(difference=None, current=run.name)
        return CommandResult([f"{run.name} and {other.name} do the same"], {"with": other.name, "differs": False})
    # The positions right after the firings that differ; the end of a run without such a firing.
    ends = (len(run.history), len(other.history))
    one, two = (
        end if side is None else side.number + 1 for side, end in zip((first.first, first.second), ends, strict=True)
    )
    place = ("", "") if first.firing is None else (str(first.firing.node), str(first.firing.tag))
    session.update_state(difference=RunDifference(run.name, other.name, (one, two), *place), current=run.name)
    lines = [*str(first).split("\n"), f"first is {run.name}, second is {other.name}; `difference` goes there"]
    return CommandResult(lines, {"with": other.name, "differs": True, **difference_data(first)})


def resolve_other_run(session: Session, words: CommandArguments) -> SessionRun:
    """The run to compare with, started if it does not exist yet."""
    options, engine, remaining = words.take_run_options(), words.take_option("--engine"), words.remaining_words()
    if engine is not None and find_engine(engine) is not reference.ENGINE:
        raise Usage("the debugger can only step the reference machine", required=reference.ENGINE.name, got=engine)
    if len(remaining) == 1 and not options and engine is None:
        existing_run = session.snapshot.find_run(remaining[0])
        if existing_run is not None:
            return existing_run
    run = session.run
    start = other_start(run.start, remaining)
    if not options and engine is None and not remaining:
        raise Usage("compare needs another run", required=words.usage)
    start = start.with_options(**options)
    suffixes = [value if name == "schedule" else f"{name}-{value}" for name, value in options.items()]
    if suffix := "-".join([*suffixes, *([engine] if engine else [])]):
        name = f"{run.name}-{Path(suffix).name}".replace(":", "-")
    elif remaining[0] == "--args":
        name = f"{run.name}({','.join(remaining[1:])})".replace(" ", "")[:40]
    else:
        name = Path(split_target(remaining[0])[0]).stem
    other = session.add_run(start.history(session.world), start, name)
    session.update_state(current=run.name)
    return other


def other_start(start: RunRequest | None, remaining: tuple[str, ...]) -> RunRequest:
    """The start of the other run: with other arguments, or from another file with the same arguments."""
    if remaining and remaining[0] != "--args":
        if start is None:
            return RunRequest(remaining[0], remaining[1:])
        return RunRequest(remaining[0], remaining[1:] or start.words, start.options)
    if start is None:
        raise Usage("this run has no program file", hint="compare FILE[:NAME] ARGS")
    return RunRequest(start.target, remaining[1:], start.options) if remaining else start


def difference_data(difference: Difference) -> dict[str, Any]:
    """The first difference of two runs as data."""
    firing = difference.firing
    return {
        "kind": difference.kind,
        "node": None if firing is None else str(firing.node),
        "tag": None if firing is None else str(firing.tag),
        "events": [None if side is None else side.number for side in (difference.first, difference.second)],
        "arguments": [str(argument) for argument in difference.arguments],
    }


@comparison_commands.register(
    "difference", key="D", help="go to the first difference of the compared runs, in both, side by side"
)
def difference(session: Session, words: CommandArguments) -> CommandResult:
    words.expect_end()
    last = session.snapshot.difference
    if last is None:
        raise Usage("no comparison has shown a difference yet", hint="compare NAME")
    pair = (session.find_run(last.first), session.find_run(last.second))
    for run, position in zip(pair, last.positions, strict=True):
        run.goto(position)
    session.update_state(current=last.first)
    session.focus = replace(session.focus, other_run=last.second)
    title = f"the first difference: {last.node} under {last.tag}" if last.node else "the arguments differ"
    positions = chain.from_iterable(describe_position(run.name, run.history) for run in pair)
    return CommandResult([title, *positions], {"sides": [position_data(run.name, run.history) for run in pair]})
