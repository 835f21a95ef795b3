"""Forks: runs that have the past of another, and go on otherwise."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator
from dataclasses import replace
from itertools import count, islice, zip_longest
from typing import Any

from ...core.errors import Usage, counted
from ...core.ops.effect_op import resource_of
from ...core.text.literals import read
from ...core.value import Value
from ...interp.history.edit import Slot, type_of_port
from ...interp.history.history import History
from ...interp.machine.event import Token
from ...interp.machine.script import write_script
from ...interp.queries.ask import tag_of
from .arguments import Words, number
from .command import Group
from .describe import SOME, place_data, place_said, token_data, waiting
from .inspect_commands import tokens_said
from .reply import Said
from .run import Run
from .session import Session
from .state import Situation
from .step_commands import stand

forking = Group("forking")


def adopt(session: Session, history: History, name: str | None = None) -> Run:
    """Take a branch of the current run as a run, and go to it. It is a fork of the run whose past it shares there."""
    since, parent = history.branched_at, session.run
    while parent.parent is not None and since < parent.since:
        parent = session.named(parent.parent)
    told = "" if history.edit is None else history.edit.told(history.graph)
    numbered = (f"{parent.name}.{number}" for number in count(1))
    free = next(each for each in numbered if session.situation.named(each) is None)
    run = Run(name or free, history, parent.start, parent.name, since, told)
    run.shares(parent)
    history.name = run.name
    session.enter(run)
    return run


def announced(session: Session) -> Said:
    """What to say of a fork that has just been made."""
    said, run = stand(session), session.run
    assert run.parent is not None
    repeats = effects(session.named(run.parent), run.since)
    lines = [f"{run.name} is a fork of {run.parent}, from event {run.since} on"]
    if run.told:
        lines.append(f"  with {run.told}")
    if repeats:
        lines.append(f"  {counted(repeats, 'effect')} of {run.parent} may happen again")
    return Said([*lines, *said.text], {**said.data, "fork_of": run.parent, "repeats": repeats})


def effects(run: Run, since: int) -> int:
    """How many firings that are known from a position on did something outside of the machine."""
    nodes = (number for number, node in enumerate(run.history.graph.nodes) if resource_of(node.op) is not None)
    return sum(len(fired) - bisect_left(fired, since) for fired in map(run.known.fired, nodes))


@forking.row("fork", "[NAME]", key="k", help="a run with this past, that goes on by itself")
def fork(session: Session, words: Words) -> Said:
    name = words.maybe()
    words.done()
    _check_name(session, name)
    adopt(session, session.history.branch(), name)
    return announced(session)


def _check_name(session: Session, name: str | None) -> None:
    if name is not None and session.situation.named(name) is not None:
        raise Usage(f"there is a run {name!r} already", required="another name", hint="`runs` lists them")


@forking.row("choose", "POSITION", key="d", help="let the token at this position of the flight go next")
def choose(session: Session, words: Words) -> Said:
    wanted = words.number("a position of the flight")
    words.done()
    history = session.history
    if wanted >= len(history.state.flight):
        got = f"{counted(len(history.state.flight), 'token')} in flight"
        raise Usage(f"no token is at position {wanted}", got=got, hint="`flight` lists them")
    if wanted == history.next_choice:
        history.forward()
        return stand(session)
    if history.position < len(history):
        adopt(session, history.choose(wanted))
        return announced(session)
    _deliver(session, wanted)
    return stand(session)


def _deliver(session: Session, wanted: int) -> None:
    """By hand, at the end: the run goes on as a branch of itself, so that it never happened once it is undone."""
    run = session.run
    made = replace(run, history=run.history.branch(run.history.name))
    made.shares(run)
    made.history.deliver(wanted)
    session.change(runs=tuple(made if each is run else each for each in session.situation.runs))


@forking.row("schedule", "FILE", key=",c", help="save the choices of this run up to here, for --schedule hand:FILE")
def schedule(session: Session, words: Words) -> Said:
    file = words.next("a file")
    words.done()
    here = session.history.branch()
    write_script(here.script(), session.unused(file))
    return Said([f"{file} has {counted(len(here), 'choice')}"], {"file": file, "choices": list(here.choices)})


@forking.row(
    "change", "POSITION VALUE | NODE PORT TAG VALUE", key="=", help="a fork in which a token has another value"
)
def change(session: Session, words: Words) -> Said:
    history = session.history
    given = words.rest()
    if len(given) == 2:
        position = number(given[0], 0, words.usage)
        if position >= len(history.state.flight):
            got = f"{counted(len(history.state.flight), 'token')} there"
            raise Usage(f"no token is at position {position} of the flight", got=got)
        token = history.state.flight[position]
        adopt(session, history.change(position, _value(history, token, given[1])))
        return announced(session)
    slot, text = _slot(session, given, words)
    adopt(session, history.change((str(history.graph.nodes[slot.node]), *slot[1:]), _value(history, _at(slot), text)))
    return announced(session)


@forking.row("inject", "NODE PORT TAG VALUE", key="+", help="a fork with one token more in flight, that nobody sent")
def inject(session: Session, words: Words) -> Said:
    history = session.history
    slot, text = _slot(session, words.rest(), words)
    name = str(history.graph.nodes[slot.node])
    adopt(session, history.inject(name, slot.port, slot.tag, _value(history, _at(slot), text)))
    return announced(session)


def _slot(session: Session, given: tuple[str, ...], words: Words) -> tuple[Slot, str]:
    """NODE PORT TAG VALUE."""
    if len(given) != 4:
        raise Usage("this names no token", required=words.usage, got=" ".join(given)[:80] or None)
    name, port, tag, text = given
    graph = session.history.graph
    return Slot(session.find(name), number(port, 0, words.usage), tag_of(graph, tag)), text


def _at(slot: Slot) -> Token:
    return Token(slot.node, slot.port, slot.tag, 0)


def _value(history: History, token: Token, text: str) -> Value:
    """A literal of the type of the port; raises Malformed where it is none, Usage where no token comes there."""
    return read(text, type_of_port(history.graph, token))


@forking.row("runs", key="K", help="the runs, forks below what they are forks of")
def runs(session: Session, words: Words) -> Said:
    words.done()
    situation = session.situation
    lines = list(_tree(situation))
    rows = [{**place_data(run.name, run.history), "fork_of": run.parent} for run in situation.runs]
    return Said(lines or ["there are no runs"], {"runs": rows, "current": situation.current})


def _tree(situation: Situation) -> Iterator[str]:
    """A line for each run, its forks below it. Without recursion: there may be forks of forks of forks."""
    forks: dict[str | None, list[Run]] = {}
    for run in reversed(situation.runs):
        forks.setdefault(run.parent, []).append(run)
    ahead = [(run, 0) for run in forks.get(None, [])]
    while ahead:
        run, depth = ahead.pop()
        arrow = "->" if run.name == situation.current else "  "
        yield f"{arrow} {'  ' * depth}{_short(run)}"
        ahead += [(each, depth + 1) for each in forks.get(run.name, [])]


def _short(run: Run) -> str:
    history, edit = run.history, f", with {run.told}" if run.told else ""
    since = "" if run.parent is None else f", from {run.since} on{edit}"
    return f"{run.name}: at {history.position:,} of {counted(len(history), 'event')}{since}"


@forking.row("switch", "NAME", key="m", help="go to another run")
def switch(session: Session, words: Words) -> Said:
    name = words.next("a run")
    words.done()
    session.change(current=session.named(name).name)
    return stand(session)


WIDTH = 58


@forking.row("beside", "NAME", key="|", help="this run and another side by side, where each stands")
def beside(session: Session, words: Words) -> Said:
    name = words.next("a run")
    words.done()
    pair = (session.run, session.named(name))
    sides = [side(run) for run in pair]
    lines = list(columns(*sides))
    return Said(lines, {"sides": [_side_data(run) for run in pair]})


def side(run: Run) -> list[str]:
    """What stands in a column."""
    history = run.history
    state, graph = history.state, history.graph
    return [
        *place_said(run.name, history),
        "in flight:",
        *tokens_said(graph, state.flight, len(state.flight)),
        "waiting:",
        *tokens_said(graph, waiting(state), state.waiting),
        "results:",
        *(f"  {number}: {said}" for number, said in enumerate(place_data(run.name, history)["results"]) if said),
    ]


def _side_data(run: Run) -> dict[str, Any]:
    history = run.history
    return {
        **place_data(run.name, history),
        "in_flight": [token_data(history.graph, token) for token in islice(history.state.flight, SOME)],
        "waiting": [token_data(history.graph, token) for token in islice(waiting(history.state), SOME)],
    }


def columns(left: list[str], right: list[str]) -> Iterator[str]:
    """Two texts beside each other; what is too long for its column is cut.

    >>> list(columns(["a"], ["b", "c"]))[0].split()
    ['a', '|', 'b']
    """
    for one, other in zip_longest(left, right, fillvalue=""):
        yield f"{_fitted(one):{WIDTH}} | {_fitted(other)}".rstrip()


def _fitted(text: str) -> str:
    return text if len(text) <= WIDTH else f"{text[: WIDTH - 3]}..."
