"""A recording has, after each event, the machine's tokens."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

import pytest
import tagloom as tl
from hypothesis import HealthCheck, given, settings
from support.laws.view_laws import runs
from support.pictures.drawings import fib
from tagloom.core.value import fingerprint
from tagloom.interp.history.history import History
from tagloom.interp.machine.event import Token
from tagloom.interp.machine.state import State
from tagloom.interp.queries.why_not import could_fire
from tagloom.viz.player import recording as recordings
from tagloom.viz.player.recording import TokenPlace, TokenRecording, apply_moves, live_tokens, record_tokens

FLYING = (TokenPlace.IN_FLIGHT, TokenPlace.READY)


def alike(token: Token) -> tuple[object, ...]:
    return (*token[:3], fingerprint(token.value))


def differences(state: State, recording: TokenRecording, live: dict[int, TokenPlace]) -> Iterator[str]:
    """Differences of a recording from a state."""
    tokens = recording.tokens
    if list(map(alike, state.flight)) != [alike(tokens[each]) for each, place in live.items() if place in FLYING]:
        yield "the flight differs"
    waiting = Counter(
        (node, port, tag, fingerprint(value))
        for tag, record in state.records.items()
        for node, held in record.waiting_operands.items()
        for port, value in held.items()
    )
    deferred = Counter(
        alike(token)
        for block in state.cells.blocks.values()
        for each in block.deferred_reads.values()
        for token in each
    )
    held = Counter(alike(token) for entries in state.throttled_tokens.values() for _, token in entries)
    for place, expected in (
        (TokenPlace.WAITING, waiting),
        (TokenPlace.DEFERRED, deferred),
        (TokenPlace.THROTTLED, held),
    ):
        if Counter(alike(tokens[each]) for each, there in live.items() if there is place) != expected:
            yield f"{place.name} differs"
    came = {
        tokens[each].port: fingerprint(tokens[each].value)
        for each, place in live.items()
        if place is TokenPlace.RETURNED
    }
    if came != {position: fingerprint(value) for position, value in state.results.items()}:
        yield "the results differ"
    flight = [each for each, place in live.items() if place in FLYING]
    if [ready.position for ready in could_fire(state)] != [
        position for position, each in enumerate(flight) if live[each] is TokenPlace.READY
    ]:
        yield "what could fire differs"


def violations(history: History) -> Iterator[str]:
    """Differences of the recording of a run from its history."""
    recording = record_tokens(history.graph, history[:], history.arguments)
    live: dict[int, TokenPlace] = {}
    apply_moves(live, recording.initial_moves)
    for position in range(len(history) + 1):
        yield from differences(history.jump(position), recording, live)
        if position < len(history):
            apply_moves(live, recording.moves[position])
    if live != live_tokens(recording, len(history)):
        yield "the end is otherwise than what the moves lead to"


@settings(max_examples=60, suppress_health_check=list(HealthCheck))
@given(runs())
def test_a_recording_is_the_history(history: History) -> None:
    """After every event the recording has the flight in order, the waiting, deferred and throttled tokens, the results,
    and the nodes that could fire."""
    assert list(violations(history)) == []


def test_a_run_that_breaks_a_rule_is_recorded() -> None:
    """A run that breaks a rule is recorded up to that event."""
    text = "graph race(x: int64, y: int64) -> int64 {\n  m = merge x, y\n  return m\n}\n"
    history = History(tl.parse_graph(text), [1, 2], unchecked=True)
    assert history.run().status == "Broken"
    assert list(violations(history)) == []


@pytest.mark.parametrize("forgotten", ["update_readiness", "place_token", "record_delivery"])
def test_forgetful_recorders_are_caught(monkeypatch: pytest.MonkeyPatch, forgotten: str) -> None:
    """Twins are caught that do not see which nodes can fire, leave new tokens out, or keep delivered ones."""
    right = getattr(recordings._TokenRecorder, forgotten)
    wrong = {
        "update_readiness": lambda self, numbers: [],
        "place_token": lambda self, number, held: (right(self, number, held)[0], TokenPlace.CONSUMED),
        "record_delivery": lambda self, number, event: [
            (number, TokenPlace.IN_FLIGHT),
            *right(self, number, event)[1:],
        ],
    }
    history = fib.history(3)
    history.run()
    monkeypatch.setattr(recordings._TokenRecorder, forgotten, wrong[forgotten])
    assert list(violations(history))
