"""S14 without tokens: effects happen once, in program order, on the calling thread."""

from __future__ import annotations

import queue
import threading
import time
from typing import Any

import numpy as np
import pytest
import tagloom as tl
from support.generators.effect_programs import Witness
from support.laws.compiled_laws import differences
from support.programs.compiled_child import in_a_process
from support.programs.compiled_programs import told
from tagloom.interp.engines import auto
from tagloom.interp.engines.compiled.support import unsupported_program

VECTOR = tl.Array[tl.float64, None]


def recorder(*operands: Any) -> Any:
    """A callback that records its operands and thread, and returns an array or fails."""
    calls.append((threading.current_thread(), operands))
    if operands[0] == 3:
        raise ValueError("three")
    return np.arange(float(operands[0]))


calls: list[tuple[threading.Thread, tuple[Any, ...]]] = []


@tl.function
def arrays(n: tl.int64, x: tl.Array[tl.float64, None]) -> tuple[VECTOR, tl.float64]:
    def body(i: tl.int64, x: VECTOR) -> Any:
        return i + 1, tl.callback(recorder, i, x, returns=VECTOR) * 2.0

    x = tl.while_loop(lambda i, x: i < n, body, 1, x)[1]
    return x, tl.sum(x)


@tl.function
def forever(n: tl.int64) -> tl.int64:
    def body(i: tl.int64) -> tl.int64:
        tl.print("at", i, np.array([1.0, 2.0]))
        return i + 1

    return tl.while_loop(lambda i: i >= 0, body, n)[0]


def lines(function: tl.Function, *arguments: Any, **options: Any) -> tuple[Any, list[str]]:
    texts: list[str] = []
    return function.run(*arguments, world=tl.World(texts.append), engine="compiled", **options), texts


@pytest.mark.full
@pytest.mark.parametrize("n", [0, 5])
def test_effects_keep_their_order(n: int) -> None:
    """Printed lines and calls, with operands, are those of a sequential evaluation."""
    assert not differences(told.program, told.graph, [n])


@pytest.mark.full
def test_callbacks_take_and_return_arrays() -> None:
    """A callback takes and returns arrays, on the calling thread."""
    calls.clear()
    outcome, expected = (arrays.run(3, [1.0, 2.0], engine=name) for name in ("compiled", "reference"))
    assert (outcome.engine, str(outcome.results)) == ("compiled", str(expected.results))
    assert {thread for thread, _ in calls} == {threading.current_thread()}
    assert str(calls[:2]) == str(calls[2:]) and len(calls) == 4


@pytest.mark.full
def test_a_failing_callback_traps() -> None:
    """A callback that raises is the trap that the reference meets first."""
    outcome, expected = (arrays.run(5, [1.0, 2.0], engine=name) for name in ("compiled", "reference"))
    assert (outcome.status, str(outcome.error)) == ("Trapped", str(expected.error))
    assert outcome.error is not None and "callback recorder raised ValueError: three" in str(outcome.error)


@pytest.mark.full
@pytest.mark.parametrize("kind", [OSError, queue.Empty, KeyboardInterrupt])
def test_a_world_that_fails(kind: type[BaseException]) -> None:
    """An error of the world itself ends the run, and is raised unchanged."""

    def full(line: str) -> None:
        raise kind(line)

    with pytest.raises(kind, match="at 7"):
        forever.run(7, engine="compiled", world=tl.World(full), limits=tl.Limits(seconds=5.0))


@pytest.mark.full
def test_no_effect_follows_a_limit() -> None:
    """A limit on seconds ends a run between two effects; no effect follows."""
    lines(forever, 0, limits=tl.Limits(seconds=0.0))
    begin = time.monotonic()
    outcome, text = lines(forever, 0, limits=tl.Limits(seconds=0.2))
    assert time.monotonic() - begin < 20 and outcome.status == "Exhausted"
    assert text == [f"at {number} [1.0, 2.0]" for number in range(len(text))] and text


@pytest.mark.full
def test_effects_free_their_arrays() -> None:
    """Operands and results of effects are freed, and so are those of effects that did not happen."""
    from numba.core.runtime import _nrt_python, rtsys

    _nrt_python.memsys_enable_stats()
    calls.clear()
    lines(forever, 0, limits=tl.Limits(seconds=0.0))
    before = rtsys.get_allocation_stats()
    for n in (2, 5):
        arrays.run(n, [1.0, 2.0], engine="compiled")
    lines(forever, 0, limits=tl.Limits(seconds=0.05))
    calls.clear()
    after = rtsys.get_allocation_stats()
    assert after.mi_alloc - after.mi_free == before.mi_alloc - before.mi_free


def test_effects_with_cells_are_refused() -> None:
    """S13, S14: effects together with cells are refused beforehand, since a run with cells may have to be restarted."""
    function = tl.function(lambda n: (tl.print(n), tl.put(tl.cells(1, tl.int64), 0, n)[0])[1])
    with pytest.raises(tl.Usage, match="restart a program with cells"):
        function.run(3, engine="compiled")
    assert unsupported_program(told.program) is None


@pytest.mark.full
def test_auto_never_restarts_effects(monkeypatch: pytest.MonkeyPatch) -> None:
    """`auto` hands a program with effects over, and never restarts it, compiled or not."""
    monkeypatch.setattr(auto, "WARMUP_FIRINGS", 30)
    for _ in "12":
        world, expected = Witness(), Witness()
        out = told.run(20, world=world, measures=False)
        told.run(20, world=expected, engine="compiled")
        assert out.engine == "fast" and (world.lines, str(world.calls)) == (expected.lines, str(expected.calls))


@pytest.mark.full
def test_ctrl_c_ends_a_run_between_effects() -> None:
    """Ctrl-C ends a run between two effects, with an outcome; a second Ctrl-C ends a callback too."""
    code = """
import test_effects
test_effects.lines(test_effects.forever, 0, limits=Limits(seconds=0.0))
def seconds_late():
    pressed = press_in_a_run(0.3)
    outcome, said = test_effects.lines(test_effects.forever, 0)
    late = time.perf_counter() - pressed[0]
    assert (outcome.status, outcome.error.limit, len(said) > 10) == ("Exhausted", "interrupt", True)
    return late
print(is_soon(seconds_late, 0.3))
slow = tl.function(lambda n: tl.callback(time.sleep, n, returns=tl.bool))
slow.run(0, engine="compiled")
press_in_a_run(0.3), press_in_a_run(0.6)
begin = time.monotonic()
try:
    slow.run(60, engine="compiled")
except KeyboardInterrupt:
    print("KeyboardInterrupt", time.monotonic() - begin < 30)
"""
    assert in_a_process(code) == ["True", "KeyboardInterrupt", "True"]
