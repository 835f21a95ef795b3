"""Ops on large operands: a limit and Ctrl-C end a run while NumPy computes one."""

from __future__ import annotations

import ctypes
import gc
import subprocess
import sys
import threading
import time
import weakref
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import tagloom as tl
from support.observe.ctrl_c import default_ctrl_c, press_in_a_run
from tagloom.core.dtypes import float64
from tagloom.core.ops.op import trap_message
from tagloom.core.types import Type
from tagloom.interp.engines import long_ops, reference
from tagloom.interp.engines.compiled import thread
from tagloom.interp.engines.fast import host_firings
from tagloom.interp.engines.long_ops import OpAbandoned, compute_abandonable, may_take_long
from tagloom.interp.machine import fire

LATE_SECONDS = 0.2


@tl.function
def sorted_values(x: tl.Array[tl.float64, None]) -> tl.Array[tl.float64, None]:
    return tl.sort(x)


def slow(job: Callable[[], Any], stop_reason: Callable[[], str | None]) -> Any:
    """`compute_abandonable` of a job that takes three seconds, and does not hold Python's lock meanwhile, as NumPy's
    kernels on large arrays."""

    def slow_job() -> Any:
        time.sleep(3)
        return job()

    return compute_abandonable(slow_job, stop_reason)


@pytest.mark.parametrize("kind", ["seconds", "interrupt"])
@pytest.mark.parametrize(
    "engine", ["reference", *(pytest.param(each, marks=pytest.mark.full) for each in ("fast", "compiled"))]
)
def test_a_run_ends_while_an_op_computes(engine: str, kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """S12: an op that takes three seconds delays the end of a run by at most 0.2 s."""
    monkeypatch.setattr(long_ops, "MIN_ELEMENTS", 100)
    sorted_values.run(np.ones(3), engine=engine)
    for module in (reference, host_firings, thread):
        monkeypatch.setattr(module, "compute_abandonable", slow)
    limits = tl.Limits(seconds=0.3) if kind == "seconds" else None
    with default_ctrl_c():
        if kind == "interrupt":
            pressed = press_in_a_run(0.3)
        begin = time.perf_counter()
        outcome = sorted_values.run(np.ones(200), engine=engine, limits=limits)
        late = time.perf_counter() - (pressed[0] if kind == "interrupt" else begin + 0.3)
    assert outcome.error is not None and outcome.error.limit == kind  # type: ignore[attr-defined]
    assert late < 5 * LATE_SECONDS, "0.2 s, and what other processes take"


def test_long_ops_have_the_same_results(monkeypatch: pytest.MonkeyPatch) -> None:
    """A helper thread computes the same bits, with the floating-point error state of the caller; its exceptions are
    raised in the caller."""
    monkeypatch.setattr(long_ops, "MIN_ELEMENTS", 1)
    monkeypatch.setattr(long_ops, "MIN_SUPERLINEAR_ELEMENTS", 1)
    x = np.array([3.0, np.nan, -0.0, 1.0])
    out = sorted_values.run(x, engine="reference")
    assert np.array_equal(np.asarray(out.value), np.sort(x), equal_nan=True)
    with np.errstate(divide="ignore"):
        assert compute_abandonable(lambda: np.float64(1.0) / np.zeros(1), lambda: None) == [np.inf]
    with pytest.raises(MemoryError):
        compute_abandonable(_raise_memory_error, lambda: None)


def _raise_memory_error() -> None:
    raise MemoryError


def test_which_ops_take_long() -> None:
    """Ops whose work grows faster than their operands count as long from fewer elements on, and others by their
    operands or their result; routing never does."""
    vectors, squares = Type(float64, (None,)), Type(float64, (None, None))
    square, vector = np.broadcast_to(1.0, (256, 256)), np.broadcast_to(1.0, long_ops.MIN_ELEMENTS)
    assert may_take_long("solve", (square, square), squares) and may_take_long("matmul", (square, square), squares)
    assert may_take_long("sort", (square,), squares)
    assert not may_take_long("sin", (square,), squares) and may_take_long("sin", (vector,), vectors)
    assert not may_take_long("merge", (vector,), vectors) and not may_take_long("add", (1, 2), Type(float64))
    column, row = np.broadcast_to(1.0, (2000, 1)), np.broadcast_to(1.0, (1, 2000))
    assert may_take_long("add", (column, row), squares) and not may_take_long("add", (column, column), squares)
    assert not may_take_long("add", (vector[:2000], vector[:2001]), vectors), "it traps"
    assert may_take_long("broadcast_to", (1.0,), Type(float64, (2000, 2000)))


@tl.function
def inverse(x: tl.Array[tl.float64, None, None]) -> tl.Array[tl.float64, None, None]:
    return tl.linalg.inv(x)


@pytest.mark.parametrize(
    "engine", ["reference", *(pytest.param(each, marks=pytest.mark.full) for each in ("fast", "compiled"))]
)
def test_conditions_of_traps_are_abandonable(engine: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The condition on which a factorization traps computes it: the helper thread evaluates that, too."""
    names: list[str] = []

    def recorded_trap_message(*arguments: Any) -> str | None:
        names.append(threading.current_thread().name)
        return trap_message(*arguments)

    monkeypatch.setattr(long_ops, "MIN_SUPERLINEAR_ELEMENTS", 1)
    monkeypatch.setattr(long_ops, "MIN_ELEMENTS", 1)
    for module in (fire, thread):
        monkeypatch.setattr(module, "trap_message", recorded_trap_message)
    assert np.array_equal(np.asarray(inverse.run(2 * np.eye(3), engine=engine).value), np.eye(3) / 2)
    assert "singular" in str(inverse.run(np.zeros((3, 3)), engine=engine).error)
    assert names and set(names) == {"tagloom long op"}


def test_an_exception_keeps_its_traceback_and_no_operands() -> None:
    """An exception of the helper thread has the frames of the job, and no cycle that keeps the operands alive."""
    operand = np.zeros(3)
    alive = weakref.ref(operand)

    def fail(operand: Any = operand) -> None:
        raise MemoryError

    gc.disable()
    try:
        with pytest.raises(MemoryError) as failure:
            compute_abandonable(fail, lambda: None)
        assert [entry.name for entry in failure.traceback][-1] == "fail"
        del failure, fail, operand
        assert alive() is None
    finally:
        gc.enable()


@pytest.mark.full(first=1)
@pytest.mark.parametrize("engine", ["compiled", "reference", "fast"])
def test_an_abandoned_op_keeps_its_operands(engine: str) -> None:
    """The arrays that an abandoned op reads live until it ends, although the caller has dropped them; then they are
    freed."""

    @tl.function
    def singular_values(x: tl.Array[tl.float64, None, None]) -> tl.Array[tl.float64, None]:
        return tl.linalg.svdvals(x)

    singular_values.run(np.eye(2), engine=engine)
    operand = np.random.default_rng(0).normal(size=(800, 800))
    alive = weakref.ref(operand)
    outcome = singular_values.run(operand, engine=engine, limits=tl.Limits(seconds=0.02))
    assert outcome.status == "Exhausted"
    abandoned = [each for each in threading.enumerate() if each.name == "tagloom long op"]
    assert abandoned
    del operand, outcome
    if engine == "compiled":  # the others compute on copies of arguments
        assert alive() is not None
    for helper in abandoned:
        helper.join(60)
    gc.collect()
    assert alive() is None


def test_an_op_is_abandoned() -> None:
    """A reason to stop ends the wait at once; the helper thread ends later."""
    release, endings = threading.Event(), list[bool]()
    try:
        with pytest.raises(OpAbandoned, match="seconds"):
            compute_abandonable(lambda: endings.append(release.wait(60)), lambda: "seconds")
        assert not endings
    finally:
        release.set()


@pytest.mark.full
@pytest.mark.parametrize(("ending", "exit_code"), [("", 0), ("raise SystemExit(7)", 7)])
def test_a_process_exits_although_an_abandoned_op_goes_on(ending: str, exit_code: int) -> None:
    """A product that was abandoned delays the end of the process by some seconds at most, and the exit code is kept
    where the C library can call a function with it."""
    code = f"""
import atexit, numpy as np, time
atexit.register(print, "exit functions run")
from tagloom.interp.engines.long_ops import OpAbandoned, compute_abandonable
x = np.ones((9000, 9000))
try:
    compute_abandonable(lambda: x @ x, lambda: "seconds")
except OpAbandoned:
    print(time.time())
{ending}
"""
    child = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    printed = child.stdout.split("\n")
    assert time.time() - float(printed[0]) < long_ops.EXIT_SECONDS + 3
    if hasattr(ctypes.CDLL(None), "on_exit"):
        assert (child.returncode, printed[1:]) == (exit_code, ["exit functions run", ""])


@pytest.mark.full
@pytest.mark.parametrize(("inner", "count"), [(40_000, 900), (700, 50_000)])
def test_parts_of_large_right_factors_add_up(inner: int, count: int) -> None:
    """`compiled` splits the rows and columns of a right factor that is too large for one block: the product is that of
    NumPy."""
    dice = np.random.default_rng(0)
    x, y = dice.random((16, inner)), dice.random((inner, count))
    out = tl.function(lambda x, y: x @ y).run(x, y, engine="compiled")
    np.testing.assert_allclose(out.value, x @ y, rtol=1e-12)
