"""Calls that are replayed for their pullbacks: with the same values, and without their effects."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import tagloom as tl
from tagloom.core.world import World
from tagloom.interp.function import function
from tagloom.interp.function import trace_cache as made


def queued() -> tuple[Any, list[Any], Callable[[Any], Any]]:
    """A queue of two numbers, and a function that multiplies by one of them, with other effects."""
    queue, calls = tl.FIFOQueue(3, tl.float64), list[Any]()
    queue.enqueue_many([2.0, 5.0])

    def factor(x: float) -> float:
        calls.append(x)
        return 10.0

    @tl.function
    def scaled(x: Any) -> Any:
        tl.print("scaling", x)
        first = tl.stop_gradient(tl.callback(factor, x, returns=tl.float64))
        return tl.cond(x > 0.0, lambda: first * (x * queue.dequeue()) ** 2, lambda: x)

    return queue, calls, scaled


def by_tape(scaled: Callable[[Any], Any]) -> Any:
    x = tl.Variable(3.0)
    with tl.Tape() as tape:
        y = scaled(x)
    return float(tape.gradient(y, x))


def by_tapes(scaled: Callable[[Any], Any]) -> Any:
    """Gradients by tapes: of the second order, and again of the first."""
    x = tl.asarray(3.0)
    with tl.Tape() as outer:
        outer.watch(x)
        with tl.Tape(persistent=True) as tape:
            tape.watch(x)
            y = scaled(x)
        slope = tape.gradient(y, x)
    return float(outer.gradient(slope, x)), float(tape.gradient(y, x))


WAYS: dict[str, tuple[Callable[[Any], Any], Any]] = {
    "tape": (by_tape, 240.0),
    "tapes": (by_tapes, (80.0, 240.0)),
    "vjp": (lambda scaled: [tl.vjp(scaled, 3.0)[1](1.0)], [(240.0,)]),
    "pullback twice": (lambda scaled: [*map(tl.vjp(scaled, 3.0)[1], (1.0, 2.0))], [(240.0,), (480.0,)]),
    "jvp": (lambda scaled: tl.jvp(scaled, (3.0,), (0.5,)), (360.0, 120.0)),
    "grad": (lambda scaled: tl.grad(scaled)(3.0), 240.0),
}


@pytest.mark.parametrize("way", WAYS)
def test_effects_happen_once(way: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Prints, callbacks and dequeues happen in the call and not in its replay; the gradient uses the dequeued value."""
    queue, calls, scaled = queued()
    asks, expected = WAYS[way]
    assert asks(scaled) == expected
    assert (capsys.readouterr().out, calls, int(queue.size())) == ("scaling 3.0\n", [3.0], 1)


def test_effects_before_a_trap_stay() -> None:
    """An element that was dequeued before a trap is gone, and the tape has no entry for the call."""
    queue, _, scaled = queued()
    failing = tl.function(lambda x: scaled(x) + tl.callback(lambda: 1 / 0, returns=tl.float64))
    with tl.Tape() as tape, pytest.raises(tl.Trap, match="ZeroDivisionError"):
        tape.watch(x := tl.asarray(3.0))
        failing(x)
    assert int(queue.size()) == 1 and "0 steps" in repr(tape)


def gradients_after_overwriting() -> list[Any]:
    """Gradients with respect to factors in arguments that are overwritten after the call: 2 and not 18."""
    w, batch, rows = tl.Variable(2.0), np.ones(2), [1.0, 1.0]

    @tl.function
    def annotated(x: tl.Array[tl.float64, None]) -> tl.float64:
        return tl.sum(w * x)

    nested = tl.function(lambda p: tl.sum(w * p["x"][0]))
    with tl.Tape(persistent=True) as tape:
        values = [annotated(batch), annotated(rows), nested({"x": (batch,)}), nested({"x": (batch, rows)})]
    _, pullback = tl.vjp(lambda w, x: tl.sum(w * x), 2.0, batch)
    batch[:] = rows[:] = [9.0, 9.0]
    results = [float(tape.gradient(value, w)) for value in values]
    return [*results, pullback(1.0)[0]]


def test_arguments_may_be_overwritten_after_the_call() -> None:
    """A gradient uses the arguments as they were at the call: NumPy arrays and lists may be overwritten after it."""
    assert gradients_after_overwriting() == [2.0] * 5


def repeat_effects(patch: pytest.MonkeyPatch) -> None:
    """A replayed call repeats its effects."""

    def world_of(traced: Any, *_: Any) -> World:
        return World(callbacks=traced.callbacks)

    patch.setattr(function, "call_world", world_of)


def reverse_results(patch: pytest.MonkeyPatch) -> None:
    """Callbacks replay their results in reverse order."""
    right = made.callback_replay_world
    patch.setattr(made, "callback_replay_world", lambda given: right(given[::-1]))


def borrow_arguments(patch: pytest.MonkeyPatch) -> None:
    """Arguments are not copied."""
    patch.setattr(function, "snapshot_leaf", lambda leaf, type_: leaf)


@pytest.mark.parametrize("broken", [repeat_effects, reverse_results])
def test_broken_worlds_are_caught(broken: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every broken replay gives another gradient, or another size of the queue."""
    broken(monkeypatch)
    queue, _, scaled = queued()
    assert (by_tape(scaled), int(queue.size())) != (240.0, 1)


def test_borrowed_arguments_are_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    """A twin that does not copy arguments gives gradients of their new values."""
    borrow_arguments(monkeypatch)
    assert gradients_after_overwriting() != [2.0] * 5
