"""Arrays that compiled code reads without copying, and the threads that it runs on: their ownership and lifetime."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import tagloom as tl
from tagloom.core.types import Type
from tagloom.core.value import borrow
from tagloom.interp.engines.compiled import thread
from tagloom.interp.engines.compiled.call_buffer import CallBuffer, take_value

FLOATS = tl.Array[tl.float64, None]


@tl.function
def often(x: FLOATS, n: tl.int64) -> FLOATS:
    return tl.while_loop(lambda i, x: i < n, lambda i, x: (i + 1, x * 2.0), 0, x)[1]


@tl.function
def divided(x: tl.Array[tl.int64, None], y: tl.Array[tl.int64, None]) -> tl.Array[tl.int64, None]:
    return x // y


def test_arguments_with_the_layout_of_a_value_are_borrowed() -> None:
    """An argument with the layout of a value is used without a copy; every other argument is converted."""
    array, expected = np.arange(6.0).reshape(2, 3), Type(tl.float64, (2, None))
    assert borrow(array, expected) is array
    others = [array.T.copy().T, array.astype(">f8"), array[:, ::1].tolist(), np.asfortranarray(array)]
    shifted = np.zeros(49, np.uint8)[1:].view(np.float64).reshape(2, 3)
    for other in [*others, shifted]:
        result = borrow(other, expected)
        assert result is not other and not result.flags.writeable and result.dtype == np.float64  # type: ignore[union-attr]
    with pytest.raises(tl.Usage, match="wrong type"):
        borrow(np.zeros((3, 3)), expected)


@pytest.mark.full
def test_a_result_never_shares_memory_with_an_argument() -> None:
    """A result that is an argument is copied, so that writing to the argument does not change the outcome."""
    for trips in (0, 3):
        x = np.arange(5.0)
        out = often.run(x, trips, engine="compiled")
        x[:] = -1.0
        assert out.value.tolist() == (np.arange(5.0) * 2.0**trips).tolist()
        assert not out.value.flags.writeable


@pytest.mark.full
def test_results_are_read_only() -> None:
    """A result cannot be made writable, nor can an array that a run stored in a variable."""
    state = tl.Variable(np.zeros(5))

    @tl.function
    def added(x: FLOATS) -> Any:
        state.assign(state + x)
        return state * 1.0, tl.reshape(state, (5, 1))

    first, second = added.run(np.ones(5), engine="compiled").value
    for each in (first, second, second[1:], np.asarray(state.value), np.asarray(state.value).view()):
        with pytest.raises(ValueError, match="WRITEABLE"):
            each.setflags(write=True)


@pytest.mark.full
def test_operands_of_a_trap_never_share_memory_with_arguments() -> None:
    """The operands of a trap are copies of arguments."""
    x, y = np.arange(5), np.arange(5) - 2
    out = divided.run(x, y, engine="compiled")
    x[:], y[:] = 7, 7
    inputs: Any = out.trap_events[0].inputs
    assert [inputs[0].tolist(), inputs[1].tolist()] == [[0, 1, 2, 3, 4], [-2, -1, 0, 1, 2]]


@pytest.mark.full
def test_a_twin_that_returns_its_arguments_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    """A twin whose results are the arguments themselves is caught by the tests above."""
    monkeypatch.setattr(CallBuffer, "_take_owned", lambda self, offset, type_: take_value(self.state, offset, type_))
    for law in (
        test_a_result_never_shares_memory_with_an_argument,
        test_operands_of_a_trap_never_share_memory_with_arguments,
    ):
        with pytest.raises(AssertionError):
            law()


def threads() -> int:
    return sum(each.name == "tagloom" for each in threading.enumerate())


@pytest.mark.full
def test_threads_are_reused() -> None:
    """Successive runs share one thread; concurrent runs use many, a few of which are kept."""
    often.run(np.zeros(3), 1, engine="compiled")
    before = threads()
    for _ in range(20):
        often.run(np.zeros(3), 1, engine="compiled")
    assert threads() == before
    results: list[float] = []

    def run() -> None:
        results.append(float(often.run(np.ones(3), 20, engine="compiled").value[0]))

    users = [threading.Thread(target=run) for _ in range(12)]
    for user in users:
        user.start()
    for user in users:
        user.join()
    assert results == [2.0**20] * 12 and len(thread._idle_threads) <= thread._MAX_IDLE_THREADS


@pytest.mark.full
@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system does not fork")
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
@pytest.mark.filterwarnings("ignore::RuntimeWarning", "ignore::pytest.PytestUnraisableExceptionWarning")
def test_a_child_has_threads_of_its_own() -> None:
    """After a fork both parent and child can run."""
    often.run(np.ones(3), 1, engine="compiled")
    child = os.fork()
    if not child:
        value = often.run(np.ones(3), 2, engine="compiled").value
        os._exit(int(value[0]))
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 4


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system does not fork")
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_a_child_that_is_forked_while_a_thread_starts_can_start_one() -> None:
    """The lock on the size of stacks is free in the child, and so is the size as usual."""
    is_starting = threading.Event()

    def start_slowly() -> None:
        with thread._stack_size_lock:
            previous_size = threading.stack_size(2**22)
            is_starting.set()
            time.sleep(0.05)
            threading.stack_size(previous_size)

    starter = threading.Thread(target=start_slowly)
    starter.start()
    is_starting.wait()
    child = os.fork()
    if not child:
        os._exit(bool(threading.stack_size() or thread._stack_size_lock.locked()))
    starter.join()
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


def test_a_busy_thread_is_not_reused() -> None:
    """Only an idle thread is reused for the next run."""
    going, runner = threading.Event(), thread.LargeStackThread(2**22)
    job: Callable[[], Any] = going.wait
    runner.start_job(job)
    assert not runner.wait_until_done(0.01)
    runner.recycle()
    assert runner not in thread._idle_threads
    going.set()
    assert runner.wait_until_done() and runner.wait_until_done()
