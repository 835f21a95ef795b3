"""The laws of histories, as one function: how a history agrees with replay after any walk over a run, with forks and
edits."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import tagloom as tl
from support.observe.event_bits import bits
from tagloom.core.graph.graph import Graph
from tagloom.core.types import Handle
from tagloom.core.world import World
from tagloom.interp.engines.limits import Limits
from tagloom.interp.engines.reference import run_graph
from tagloom.interp.history.edit import Edit, TokenInjection, TokenPlace, TokenSlot
from tagloom.interp.history.history import History
from tagloom.interp.machine.event import Token
from tagloom.interp.machine.state import State
from tagloom.interp.machine.step import step
from tagloom.interp.records.documents import to_outcome_record

NOTHING: Mapping[str, Callable[..., Any]] = {}
MOST_EVENTS, MOST_HISTORIES = 60, 5


def state_fields(state: State) -> Any:
    """All fields of a state; events by their bits."""
    flight, records, results, traps, *rest = state.snapshot()
    return flight, records, results, [bits(event) for event in traps], rest


def replay_state(history: History, position: int) -> State:
    """The state at a position, computed by the machine alone: from the arguments, by the schedule's choices, with the
    edits."""
    choices, clocked, quiet = history.choices, history.schedule == "waves", _quiet(history.world.callbacks)
    state = State(
        history.graph, history.arguments, seed=history.seed, bound=history.bound, is_clocked=clocked, world=quiet
    )
    for number in range(position + 1):
        for at, edit in history.edits:
            if at == number:
                _make(state, edit)
        if number < position:
            event = step(state, choices[number])
            assert bits(event) == bits(history[number])
            state.apply(event)
    return state


def _quiet(callbacks: Mapping[str, Callable[..., Any]]) -> World:
    return World(lambda line: None, callbacks)


def _make(state: State, edit: Edit) -> None:
    if isinstance(edit, TokenInjection):
        _inject(state, edit.token)
    else:
        _put(state, edit.place, edit.value)


def _inject(state: State, token: Token) -> None:
    """Add a token; which iterations are busy is counted anew from the whole state."""
    if not state.flight:
        state.wave_remaining = 1
    state.flight.append(token)
    state.records[token.tag].token_count += 1
    if state.loop_bounds:
        _count_busy(state)


def _count_busy(state: State) -> None:
    throttled = {tag: len(entries) for tag, entries in state.throttled_tokens.items()}
    for tag in sorted(state.records, key=lambda tag: -tag.depth):
        record = state.records[tag]
        below = [other for other in state.records.values() if other.tag.parent == tag]
        throttled_below = sum(count for each, count in throttled.items() if each.parent == tag)
        record.busy_count = (
            record.token_count - throttled.get(tag, 0) + sum(other.busy_count > 0 for other in below) + throttled_below
        )


def _put(state: State, place: TokenPlace, value: Any) -> None:
    if isinstance(place, TokenSlot):
        state.records[place.tag].waiting_operands[place.node][place.port] = value
    else:
        state.flight[place] = state.flight[place]._replace(value=value)


def walk_violations(
    graph: Graph,
    arguments: Sequence[Any],
    schedule: str = "fifo",
    seed: int = 0,
    spacing: int = 3,
    moves: int = 25,
    unchecked: bool = False,
    callbacks: Mapping[str, Callable[..., Any]] = NOTHING,
) -> Iterator[str]:
    """The violations on a random walk: a history differs from replay, or one history changes another."""
    dice = random.Random(seed)
    result = History(graph, arguments, schedule=schedule, spacing=spacing, unchecked=unchecked, world=_quiet(callbacks))
    try:
        histories = [result]
        for _ in range(moves):
            moved_history = dice.choice(histories)
            others = [
                (other, len(other), state_fields(other.state)) for other in histories if other is not moved_history
            ]
            before = moved_history.position
            did, branch = _move(moved_history, dice)
            if branch is not None:
                others.append((moved_history, len(moved_history), state_fields(moved_history.at(before))))
                histories = [*histories, branch][-MOST_HISTORIES:]
            for history in (moved_history, *([branch] if branch else [])):
                yield from position_violations(history, did, dice)
            for other, length, fields in others:
                if len(other) != length or state_fields(other.state) != fields:
                    yield f"{did} on {moved_history} disturbed {other}"
        for history in histories:
            yield from position_violations(history, "the walk", dice, 5)
    except Exception as error:
        yield f"the walk failed: {type(error).__name__}: {error}"


def position_violations(history: History, did: str, dice: random.Random, places: int = 1) -> Iterator[str]:
    """Where a history at event i differs from replay to i: at its own position, and at positions that it is asked
    about."""
    if state_fields(history.state) != state_fields(replay_state(history, history.position)):
        yield f"after {did}, {history} is not where replay is"
    for position in (dice.randint(0, len(history)) for _ in range(places)):
        if state_fields(history.at(position)) != state_fields(replay_state(history, position)):
            yield f"after {did}, {history} gives another state at {position} than replay"


def _move(history: History, dice: random.Random) -> tuple[str, History | None]:
    """One random move: its description, and the fork that it made, if any."""
    match dice.randrange(9):
        case 0 | 1:
            steps = dice.randint(1, 12)
            for _ in range(steps):
                if history.position < MOST_EVENTS:
                    history.forward()
            return f"{steps} forward", None
        case 2:
            steps = dice.randint(1, 12)
            for _ in range(steps):
                history.back()
            return f"{steps} back", None
        case 3 | 4:
            position = dice.randint(0, len(history))
            history.jump(position)
            return f"a jump to {position}", None
        case 5:
            return "branch", history.branch()
        case 6 if history.state.flight:
            return "a choice", history.choose(dice.randrange(len(history.state.flight)))
        case 7:
            return _injected(history, dice)
        case _:
            places = _places(history.state)
            if not places:
                return "nothing", None
            place, value = dice.choice(places)
            try:
                return f"an edit of {place}", history.change(place, other_value(value))
            except tl.Usage:
                assert history.is_invalid  # where types do not agree along edges, a value of the token's is refused
                return "nothing", None


def _injected(history: History, dice: random.Random) -> tuple[str, History | None]:
    """A fork with a copy of an earlier token: if that was consumed, or waits, the run will break."""
    known_tokens = [history[number].token for number in range(history.position)]
    tokens = [token for token in [*known_tokens, *history.state.flight] if token.tag in history.state.records]
    if not tokens or history.is_invalid:
        return "nothing", None
    node, port, tag, value = dice.choice(tokens)
    if isinstance(value, Handle):
        return "nothing", None
    result = history.inject(str(history.graph.nodes[node]), port, tag, other_value(value))
    return f"an injection at port {port} of {history.graph.nodes[node]} under {tag}", result


def _places(state: State) -> list[tuple[TokenPlace, Any]]:
    """The positions and values of numeric tokens."""
    flying: list[tuple[TokenPlace, Any]] = [(position, token.value) for position, token in enumerate(state.flight)]
    waiting: list[tuple[TokenPlace, Any]] = [
        (TokenSlot(node, port, tag), value)
        for tag, record in state.records.items()
        for node, held in record.waiting_operands.items()
        for port, value in held.items()
    ]
    return [(place, value) for place, value in flying + waiting if not isinstance(value, Handle)]


def other_value(value: Any) -> Any:
    """Another value of the same type."""
    array = np.asarray(value)
    result = ~array if array.dtype.kind == "b" else array ^ 1 if array.dtype.kind in "iu" else array + 1
    return result if array.ndim else array.dtype.type(result)


def outcome_violations(
    graph: Graph, arguments: Sequence[Any], schedule: str, seed: int, limits: Limits
) -> Iterator[str]:
    """A history ends as a run does, wherever it has been meanwhile; so does a fork, and a history that follows the same
    choices."""
    dice = random.Random(seed)
    expected = to_outcome_record(run_graph(graph, arguments, schedule=schedule, limits=limits))
    history = History(graph, arguments, schedule=schedule, limits=limits, spacing=3)
    for _ in range(dice.randint(0, 30)):
        history.forward()
    history.jump(dice.randint(0, len(history)))
    branch = history.branch()
    for each in (history, branch):
        if to_outcome_record(each.run()) != expected:
            yield f"{each} ends otherwise than the run"
    history.jump(dice.randint(0, len(history)))
    fork = history.branch()
    if to_outcome_record(fork.run()) != expected or to_outcome_record(history.outcome()) != expected:
        yield f"{fork} ends otherwise than the run"
    scripted = History(graph, arguments, schedule=history.script())
    for _ in history:
        scripted.forward()
    if [bits(event) for event in scripted] != [bits(event) for event in history]:
        yield "the choices lead elsewhere"
