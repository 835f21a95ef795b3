"""Commands for forks: runs that share the past of another and continue differently."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator
from dataclasses import replace
from itertools import count, islice, zip_longest
from typing import Any

from ...core.errors import Usage, plural
from ...core.ops.effects import resource_of
from ...core.text.literals import parse_value
from ...core.value import Value
from ...interp.history.edit import TokenSlot, port_type
from ...interp.history.history import History
from ...interp.machine.event import Token
from ...interp.machine.script import write_script
from ...interp.queries.ask import parse_tag
from .arguments import CommandArguments, parse_number
from .command import CommandGroup
from .describe import MAX_ROWS, describe_position, position_data, token_data, waiting_tokens
from .inspect_commands import describe_tokens
from .reply import CommandResult
from .run import SessionRun
from .session import Session
from .state import SessionState
from .step_commands import position_result

fork_commands = CommandGroup[Session]("forking")


def adopt_fork(session: Session, history: History, name: str | None = None) -> SessionRun:
    """Add a fork of the current run's history as a run, and switch to it."""
    since, parent = history.fork_position, session.run
    while parent.parent is not None and since < parent.fork_position:
        parent = session.find_run(parent.parent)
    told = "" if history.edit is None else history.edit.describe(history.graph)
    numbered = (f"{parent.name}.{number}" for number in count(1))
    free = next(each for each in numbered if session.snapshot.find_run(each) is None)
    run = SessionRun(name or free, history, parent.start, parent.name, since, told)
    run.share_index(parent)
    history.name = run.name
    session.enter_run(run)
    return run


def fork_result(session: Session) -> CommandResult:
    """The result of a command that made a fork."""
    said, run = position_result(session), session.run
    assert run.parent is not None
    repeats = count_effects(session.find_run(run.parent), run.fork_position)
    lines = [f"{run.name} is a fork of {run.parent}, from event {run.fork_position} on"]
    if run.edit_description:
        lines.append(f"  with {run.edit_description}")
    if repeats:
        lines.append(f"  {plural(repeats, 'effect')} of {run.parent} may happen again")
    return CommandResult([*lines, *said.text], {**said.data, "fork_of": run.parent, "repeats": repeats})


def count_effects(run: SessionRun, since: int) -> int:
    """The number of known firings from a position on that had an effect outside of the machine."""
    nodes = (number for number, node in enumerate(run.history.graph.nodes) if resource_of(node.op) is not None)
    return sum(len(fired) - bisect_left(fired, since) for fired in map(run.index.firings, nodes))


@fork_commands.register("fork", "[NAME]", key="k", help="a run with this past, that goes on by itself")
def fork(session: Session, words: CommandArguments) -> CommandResult:
    name = words.optional_word()
    words.expect_end()
    _check_name(session, name)
    adopt_fork(session, session.history.branch(), name)
    return fork_result(session)


def _check_name(session: Session, name: str | None) -> None:
    if name is not None and session.snapshot.find_run(name) is not None:
        raise Usage(f"there is a run {name!r} already", required="another name", hint="`runs` lists them")


@fork_commands.register("choose", "POSITION", key="d", help="let the token at this position of the flight go next")
def choose(session: Session, words: CommandArguments) -> CommandResult:
    wanted = words.next_number("a position of the flight")
    words.expect_end()
    history = session.history
    if wanted >= len(history.state.flight):
        got = f"{plural(len(history.state.flight), 'token')} in flight"
        raise Usage(f"no token is at position {wanted}", got=got, hint="`flight` lists them")
    if wanted == history.next_choice:
        history.forward()
        return position_result(session)
    if history.position < len(history):
        adopt_fork(session, history.choose(wanted))
        return fork_result(session)
    _deliver_by_hand(session, wanted)
    return position_result(session)


def _deliver_by_hand(session: Session, wanted: int) -> None:
    """Deliver a chosen token at the end: the run continues as a fork of itself, so that undo leaves no trace of it."""
    run = session.run
    made = replace(run, history=run.history.branch(run.history.name))
    made.share_index(run)
    made.history.deliver(wanted)
    session.update_state(runs=tuple(made if each is run else each for each in session.snapshot.runs))


@fork_commands.register(
    "schedule", "FILE", key=",c", help="save the choices of this run up to here, for --schedule hand:FILE"
)
def schedule(session: Session, words: CommandArguments) -> CommandResult:
    file = words.next_word("a file")
    words.expect_end()
    here = session.history.branch()
    write_script(here.script(), session.check_output_path(file))
    return CommandResult([f"{file} has {plural(len(here), 'choice')}"], {"file": file, "choices": list(here.choices)})


@fork_commands.register(
    "change", "POSITION VALUE | NODE PORT TAG VALUE", key="=", help="a fork in which a token has another value"
)
def change(session: Session, words: CommandArguments) -> CommandResult:
    history = session.history
    given = words.remaining_words()
    if len(given) == 2:
        position = parse_number(given[0], 0, words.usage)
        if position >= len(history.state.flight):
            got = f"{plural(len(history.state.flight), 'token')} there"
            raise Usage(f"no token is at position {position} of the flight", got=got)
        token = history.state.flight[position]
        adopt_fork(session, history.change(position, _parse_value(history, token, given[1])))
        return fork_result(session)
    slot, text = _parse_slot(session, given, words)
    adopt_fork(
        session,
        history.change(
            (str(history.graph.nodes[slot.node]), *slot[1:]), _parse_value(history, _placeholder_token(slot), text)
        ),
    )
    return fork_result(session)


@fork_commands.register(
    "inject", "NODE PORT TAG VALUE", key="+", help="a fork with one token more in flight, that nobody sent"
)
def inject(session: Session, words: CommandArguments) -> CommandResult:
    history = session.history
    slot, text = _parse_slot(session, words.remaining_words(), words)
    name = str(history.graph.nodes[slot.node])
    adopt_fork(
        session, history.inject(name, slot.port, slot.tag, _parse_value(history, _placeholder_token(slot), text))
    )
    return fork_result(session)


def _parse_slot(session: Session, given: tuple[str, ...], words: CommandArguments) -> tuple[TokenSlot, str]:
    """Parse NODE PORT TAG VALUE."""
    if len(given) != 4:
        raise Usage("this names no token", required=words.usage, got=" ".join(given)[:80] or None)
    name, port, tag, text = given
    graph = session.history.graph
    return TokenSlot(session.find_node(name), parse_number(port, 0, words.usage), parse_tag(graph, tag)), text


def _placeholder_token(slot: TokenSlot) -> Token:
    return Token(slot.node, slot.port, slot.tag, 0)


def _parse_value(history: History, token: Token, text: str) -> Value:
    """A literal of the type of the port; raises Malformed if it is none, Usage if no token can arrive there."""
    return parse_value(text, port_type(history.graph, token))


@fork_commands.register("runs", key="K", help="the runs, forks below what they are forks of")
def runs(session: Session, words: CommandArguments) -> CommandResult:
    words.expect_end()
    situation = session.snapshot
    lines = list(_describe_runs(situation))
    rows = [{**position_data(run.name, run.history), "fork_of": run.parent} for run in situation.runs]
    return CommandResult(lines or ["there are no runs"], {"runs": rows, "current": situation.current})


def _describe_runs(situation: SessionState) -> Iterator[str]:
    """A line for each run, its forks below it. Without recursion, because forks may nest deeply."""
    forks: dict[str | None, list[SessionRun]] = {}
    for run in reversed(situation.runs):
        forks.setdefault(run.parent, []).append(run)
    ahead = [(run, 0) for run in forks.get(None, [])]
    while ahead:
        run, depth = ahead.pop()
        arrow = "->" if run.name == situation.current else "  "
        yield f"{arrow} {'  ' * depth}{_describe_run(run)}"
        ahead += [(each, depth + 1) for each in forks.get(run.name, [])]


def _describe_run(run: SessionRun) -> str:
    history, edit = run.history, f", with {run.edit_description}" if run.edit_description else ""
    since = "" if run.parent is None else f", from {run.fork_position} on{edit}"
    return f"{run.name}: at {history.position:,} of {plural(len(history), 'event')}{since}"


@fork_commands.register("switch", "NAME", key="m", help="go to another run")
def switch(session: Session, words: CommandArguments) -> CommandResult:
    name = words.next_word("a run")
    words.expect_end()
    session.update_state(current=session.find_run(name).name)
    return position_result(session)


COLUMN_WIDTH = 58


@fork_commands.register("beside", "NAME", key="|", help="this run and another side by side, where each stands")
def beside_command(session: Session, words: CommandArguments) -> CommandResult:
    name = words.next_word("a run")
    words.expect_end()
    pair = (session.run, session.find_run(name))
    sides = [describe_side(run) for run in pair]
    lines = list(columns(*sides))
    return CommandResult(lines, {"sides": [_side_data(run) for run in pair]})


def describe_side(run: SessionRun) -> list[str]:
    """The text of one column."""
    history = run.history
    state, graph = history.state, history.graph
    return [
        *describe_position(run.name, history),
        "in flight:",
        *describe_tokens(graph, state.flight, len(state.flight)),
        "waiting:",
        *describe_tokens(graph, waiting_tokens(state), state.waiting_count),
        "results:",
        *(f"  {number}: {said}" for number, said in enumerate(position_data(run.name, history)["results"]) if said),
    ]


def _side_data(run: SessionRun) -> dict[str, Any]:
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
    for one, other in zip_longest(left, right, fillvalue=""):
        yield f"{_fit(one):{COLUMN_WIDTH}} | {_fit(other)}".rstrip()


def _fit(text: str) -> str:
    return text if len(text) <= COLUMN_WIDTH else f"{text[: COLUMN_WIDTH - 3]}..."
