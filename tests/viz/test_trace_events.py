"""Traces for viewers of profiles: they follow the rules of the Trace Event Format, and lose no firing and no token."""

from __future__ import annotations

import json
from typing import Any

import pytest
import tagloom as tl
from support.laws.trace_laws import FIELDS, breaches, imported_arrows
from tagloom.interp.history.history import History
from tagloom.viz import trace_events
from tagloom.viz.trace_events import trace_document


@tl.function
def fib(n: tl.int64) -> tl.int64:
    return 1 if n <= 1 else fib(n - 1) + fib(n - 2)


@tl.function
def harmonic(n: tl.int64) -> tl.float64:
    total, cells = 0.0, tl.cells(8, tl.float64)
    for i in range(n):
        cells[i] = 1.0 / (i + 1)
        total = total + cells[i]
    return total


@tl.function
def divided(n: tl.int64) -> tl.int64:
    return 6 // n


RUNS = [(fib, (5,), "waves"), (fib, (4,), "lifo"), (harmonic, (4,), "random:1"), (divided, (0,), "fifo")]


def run_history(function: Any, arguments: tuple[Any, ...], schedule: str) -> History:
    """The history of a whole run."""
    history: History = function.history(*arguments, schedule=schedule)
    history.run()
    return history


@pytest.mark.full
@pytest.mark.parametrize(("function", "arguments", "schedule"), RUNS)
def test_traces_follow_the_format(function: Any, arguments: tuple[Any, ...], schedule: str) -> None:
    """A trace breaks no rule of the format, and each of its lines between the first and the last is one event."""
    text = trace_document(run_history(function, arguments, schedule)).decode()
    assert list(breaches(json.loads(text))) == []
    for line in text.splitlines()[1:-1]:
        assert json.loads(line.rstrip(","))["ph"] in FIELDS


@pytest.mark.full
@pytest.mark.parametrize(("function", "arguments", "schedule"), RUNS)
def test_traces_lose_nothing(function: Any, arguments: tuple[Any, ...], schedule: str) -> None:
    """A trace has a slice for each firing, a track for each activation, an arrow for each token that a firing sent and
    another consumed, and at its end the tokens that are in flight."""
    history = run_history(function, arguments, schedule)
    events = json.loads(trace_document(history))["traceEvents"]
    firings = [each for each in events if each["ph"] == "X" and each["cat"] != "activation"]
    assert [each["args"]["event"] for each in firings] == [at for at, event in enumerate(history) if event.is_firing]
    tags = {event.token.tag for event in history}
    assert sum(each["name"] == "thread_name" for each in events) == len(tags)
    consumed = {(event.token.node, event.token.tag) for event in history if event.is_firing}
    ports = [(event.token.node, event.token.tag) for event in history]
    sent = [token for event in history for token in event.sent if token.node >= 0]
    arrows = sum(each["ph"] == "s" for each in events)
    assert arrows == sum((token.node, token.tag) in consumed for token in sent) <= len(ports)
    assert [each["args"]["tokens"] for each in events if each["ph"] == "C"][-1] == len(history.state.flight)


@pytest.mark.full
@pytest.mark.parametrize(("function", "arguments", "schedule"), RUNS)
def test_arrows_as_perfetto_imports_them(
    monkeypatch: pytest.MonkeyPatch, function: Any, arguments: tuple[Any, ...], schedule: str
) -> None:
    """Each arrow leads from the firing that sent an operand to the firing that has it; a twin whose arrows begin before
    their firings does not."""
    history = run_history(function, arguments, schedule)
    index = history.ask.index
    firings = [number for number, event in enumerate(history) if event.is_firing]
    operands = ((number, *operand) for number in firings for operand in index.operands(number))
    expected = sorted((sender, number) for number, port, sender in operands if port >= 0 and sender >= 0)

    def arrows() -> list[tuple[int, int]]:
        ends = imported_arrows(json.loads(trace_document(history)))
        return sorted((start.get("event", -1), end.get("event", -1)) for start, end in ends)

    assert arrows() == expected
    monkeypatch.setattr(trace_events, "FIRING_LENGTH", -1.0)
    assert arrows() != expected


def test_a_trace_of_fib() -> None:
    """The call fib(2) of fib(2) has three activations, each named with its result, and waves."""
    events = json.loads(trace_document(run_history(fib, (2,), "waves")))["traceEvents"]
    names = [each["args"]["name"] for each in events if each["name"] == "thread_name"]
    assert names == ["#1 fib(2) = 2", "#2 fib(1) = 1", "#3 fib(0) = 1"]
    last = [each for each in events if each["ph"] == "X"][-1]
    assert last["name"] == "return" and last["args"]["results"] == ["2"] and last["args"]["wave"] > 0


@pytest.mark.full
@pytest.mark.parametrize(
    ("name", "value"),
    [("FIRING_LENGTH", 1.5), ("TRACE_PROCESS", "1"), ("token_arrows", lambda tracks, events: [{"ph": "s"}])],
)
def test_broken_traces_are_caught(monkeypatch: pytest.MonkeyPatch, name: str, value: Any) -> None:
    """Twins: slices that overlap, arrows that do not end."""
    monkeypatch.setattr(trace_events, name, value)
    found = list(breaches(json.loads(trace_document(run_history(fib, (3,), "waves")))))
    assert bool(found) == (name != "TRACE_PROCESS")
