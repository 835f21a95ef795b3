"""Runs on the calling thread, after a quick run of the same program: they end as others do, and a run that is not quick
restarts on another thread."""

from __future__ import annotations

import threading
from functools import partial
from typing import Any

import numpy as np
import pytest
import tagloom as tl
from support.laws.compiled_laws import threads
from support.programs.compiled_child import PRESSED, in_a_process
from support.programs.compiled_programs import count, looped
from tagloom.core.value import admit
from tagloom.interp.engines.compiled import call_buffer, run, watchdog
from tagloom.interp.engines.compiled.engine import run_quickly
from tagloom.interp.engines.protocol import Job, RunOptions
from tagloom.interp.engines.registry import run as run_job
from tagloom.interp.function.function import trace_declared_types
from tagloom.interp.outcome.outcome import value_outcome


@tl.function
def turned(n: tl.int64) -> tl.int64:
    return tl.while_loop(lambda i, x: i < n, lambda i, x: (i + 1, x * (x + 3) + i), 0, 1)[1]


@tl.function
def averaged(x: tl.Array[tl.int64, 8], n: tl.int64) -> tl.int64:
    """A loop over elements whose missing part would divide by 0."""

    def step(i: tl.int64, y: tl.int64) -> Any:
        return i + 1, y + 1000 // tl.sum((x + i) * (x + i) + 1)

    return tl.while_loop(lambda i, y: i < n, step, 0, 0)[1]


MANY = 10**8
"""Iterations of a fifth of a second."""


def treat_runs_as_quick(monkeypatch: pytest.MonkeyPatch, often: float = 1.0) -> None:
    """Forget all programs, and treat every finished run as quick; the watchdog checks this often."""
    monkeypatch.setattr(run, "_compiled_programs", type(run._compiled_programs)())
    monkeypatch.setattr(run, "QUICK_SECONDS", 60.0)
    monkeypatch.setattr(watchdog, "POLL_SECONDS", often)
    monkeypatch.setattr(watchdog, "_watchdog", watchdog.Watchdog())  # not one that is asleep until long after


@pytest.mark.inner(first=1)
@pytest.mark.parametrize(("function", "argument"), [(count, 50), (turned, 50), (looped, 12), (looped, 3)])
def test_a_quick_program_runs_on_the_calling_thread(
    monkeypatch: pytest.MonkeyPatch, function: tl.Function, argument: int
) -> None:
    """A quick program runs on the calling thread from the second run on, with the same results and traps. It does not
    if seconds are limited, nor on threads other than the main one, which may have a small stack."""
    treat_runs_as_quick(monkeypatch)
    first = function.run(argument, engine="compiled")
    assert threads(monkeypatch, function, argument) == 0
    second = function.run(argument, engine="compiled")
    assert (first.status, first.results, str(first.error)) == (second.status, second.results, str(second.error))
    assert threads(monkeypatch, function, argument, limits=tl.Limits(seconds=9.0)) == 1
    used: list[int] = []
    user = threading.Thread(target=lambda: used.append(threads(monkeypatch, function, argument)))
    user.start()
    user.join()
    assert used == [1]


def _restarts(monkeypatch: pytest.MonkeyPatch) -> bool:
    """Whether a long run after a quick one restarts on another thread."""
    treat_runs_as_quick(monkeypatch, often=0.005)
    turned.run(5, engine="compiled")
    return threads(monkeypatch, turned, MANY) == 1


@pytest.mark.full
def test_a_slow_run_restarts_on_another_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    """A run that restarts has the right result, and the next run does not try the calling thread."""
    assert _restarts(monkeypatch)
    right = turned.run(MANY, engine="compiled", limits=tl.Limits(seconds=60.0)).value
    turned.run(5, engine="compiled")
    monkeypatch.setattr(run, "QUICK_SECONDS", 0)
    assert turned.run(MANY, engine="compiled").value == right
    tried: list[object] = []
    monkeypatch.setattr(run, "run_on_caller", lambda *given: tried.append(1))
    assert threads(monkeypatch, turned, 5) == 1 and not tried


@pytest.mark.full
def test_a_run_stopped_within_an_array_op_restarts(monkeypatch: pytest.MonkeyPatch) -> None:
    """Values and traps of a stopped run are discarded."""
    treat_runs_as_quick(monkeypatch, often=0.002)
    many, elements = 2 * 10**6, np.arange(8)
    right = averaged.run(elements, many, engine="compiled", limits=tl.Limits(seconds=60.0)).value
    for _ in range(3):
        averaged.run(elements, 5, engine="compiled")
        assert averaged.run(elements, many, engine="compiled").value == right
    averaged.run(elements, 5, engine="compiled")
    assert threads(monkeypatch, averaged, elements, many) == 1


@pytest.mark.full
def test_a_watchdog_that_sleeps_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    """A twin whose watchdog sleeps is caught by the test above."""
    monkeypatch.setattr(watchdog, "call_watched", lambda words, call: call())
    assert not _restarts(monkeypatch)


def test_a_deep_run_restarts_on_another_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    """A run that needs a larger stack than the calling thread's restarts on another thread, and the next run begins
    there."""
    treat_runs_as_quick(monkeypatch)
    count.run(5, engine="compiled")
    deep = tl.Limits(depth=10**6)
    assert count.run(300_000, engine="compiled", limits=deep).value == 300_000
    assert [threads(monkeypatch, count, 5) for _ in range(2)] == [1, 1]


def test_a_run_without_stack_restarts_on_another_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    """A run whose caller has used most of the stack restarts on another thread."""
    treat_runs_as_quick(monkeypatch)
    count.run(5, engine="compiled")
    assert threads(monkeypatch, count, 5) == 0
    monkeypatch.setattr(run, "caller_stack_floor", lambda: 2**62)
    assert threads(monkeypatch, count, 5) == 1
    treat_runs_as_quick(monkeypatch)
    monkeypatch.setattr(run, "caller_stack_floor", lambda: None)
    assert [threads(monkeypatch, count, 5) for _ in range(3)] == [1, 1, 1]


def test_two_runs_with_one_buffer_are_not_one_long_run() -> None:
    """Only a run that two polls see is stopped, though two runs may have the same buffer."""
    dog, polls = watchdog.Watchdog(), [list[watchdog.WatchedRun]()]
    buffer = call_buffer.CallBuffer((), call_buffer.call_layout((), 0, 0), 0, 0)

    def poll() -> None:
        polls.append(dog.poll(polls[-1]))

    dog.call_watched(buffer, poll)
    dog.call_watched(buffer, poll)
    assert not buffer.is_stop_requested

    def poll_twice() -> None:
        poll()
        poll()

    dog.call_watched(buffer, poll_twice)
    assert buffer.is_stop_requested
    assert list(map(len, polls)) == [0, 1, 1, 1, 1]


def test_without_a_watchdog_no_run_uses_the_calling_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without a thread for the watchdog, no run uses the calling thread; later ones may."""
    dog = watchdog.Watchdog()
    with monkeypatch.context() as patch:
        patch.setattr(threading.Thread, "start", raising(RuntimeError("can't start new thread")))
        assert not dog.ensure_started()
    assert dog.ensure_started()


def check_quick_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    """A run without an outcome has the results that `compiled` has, where that run is quick and returns."""
    treat_runs_as_quick(monkeypatch)
    for function, *arguments in ((count, 50), (turned, 50), (looped, 12), (looped, 3), (averaged, np.arange(8), 5)):
        traced = trace_declared_types(function)
        job = Job(traced.graph, traced.structure, traced.program)
        assert run_quickly(job, arguments) is None  # the machine code is not in memory, or its first run is not over
        outcome = run_job(job, arguments, RunOptions(measures=False), "compiled")
        results = run_quickly(job, arguments)
        assert results == (outcome.results if outcome.error is None else None)
        with monkeypatch.context() as patch:
            patch.setattr(run, "caller_stack_floor", lambda: None)
            assert run_quickly(job, arguments) is None


@pytest.mark.full
def test_quick_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    check_quick_runs(monkeypatch)


@pytest.mark.full
def test_quick_runs_that_return_at_a_trap_are_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    """A twin whose runs return what they have where a trap ends them."""
    monkeypatch.setattr(run.CallBuffer, "exit_reason", 0)
    with pytest.raises(AssertionError):
        check_quick_runs(monkeypatch)


def check_quick_calls(monkeypatch: pytest.MonkeyPatch) -> None:
    """A call whose machine code is in memory has no outcome, but the value of others, for arguments of any form."""
    treat_runs_as_quick(monkeypatch)
    monkeypatch.setenv("TAGLOOM_ENGINE", "compiled")
    outcomes: list[object] = []
    monkeypatch.setattr(run, "value_outcome", lambda *details: outcomes.append(1) or value_outcome(*details))
    numbers = np.arange(16)
    expected = averaged(numbers[::2].copy(), 5)
    assert len(outcomes) == 1
    forms = numbers[::2], numbers[:8] * 2, list(range(0, 16, 2)), tl.asarray(numbers[::2])
    assert [averaged(form, 5) for form in forms] == [expected] * len(forms)
    assert len(outcomes) == 1
    with pytest.raises(tl.Usage):
        averaged(numbers, 5)
    monkeypatch.setenv("TAGLOOM_ENGINE", "reference")
    monkeypatch.setattr(run, "run_on_caller", raising(AssertionError("not on compiled")))
    assert averaged(numbers[::2], 5) == expected


def test_quick_calls(monkeypatch: pytest.MonkeyPatch) -> None:
    check_quick_calls(monkeypatch)


def test_quick_calls_that_read_strided_arrays_in_place_are_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    """A twin that passes on arrays as they are."""
    monkeypatch.setattr(run, "borrow", lambda value, type_: value if type(value) is np.ndarray else admit(value, type_))
    with pytest.raises(AssertionError):
        check_quick_calls(monkeypatch)


def test_a_result_cannot_be_made_writable(monkeypatch: pytest.MonkeyPatch) -> None:
    """An array that machine code allocated belongs to nobody else, and is read-only for ever, in every form."""
    treat_runs_as_quick(monkeypatch)

    @tl.function
    def forms(x):  # type: ignore[no-untyped-def]
        return x + 1, tl.reshape(x * 2, (2, 2)), tl.astype(x, tl.bfloat16), (x - 1)[1:]

    x = np.arange(4.0)
    for _ in range(2):
        results = forms.run(x, engine="compiled").results
        for result, expected in zip(results, (x + 1, (x * 2).reshape(2, 2), x, (x - 1)[1:]), strict=True):
            assert isinstance(result, np.ndarray) and (np.asarray(result, np.float64) == expected).all()
            base: Any = result
            while isinstance(base, np.ndarray):
                with pytest.raises(ValueError, match="WRITEABLE"):
                    base.setflags(write=True)
                base = base.base


def test_ctrl_c_ends_a_quick_run(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ctrl-C in a quick run raises KeyboardInterrupt, and does not start the run again."""
    treat_runs_as_quick(monkeypatch)
    traced = trace_declared_types(turned)
    job = Job(traced.graph, traced.structure, traced.program)
    run_job(job, [5], RunOptions(measures=False), "compiled")
    monkeypatch.setattr(watchdog, "call_watched", raising(KeyboardInterrupt()))
    with pytest.raises(KeyboardInterrupt):
        run_quickly(job, [5])


def raising(error: BaseException) -> Any:
    def fail(*_: Any) -> None:
        raise error

    return fail


@pytest.mark.full
def test_ctrl_c_ends_a_run_on_the_calling_thread() -> None:
    """Ctrl-C ends a run on the calling thread as any other: right after it if it is quick, or in its restart."""
    code = f"""
{PRESSED}
@tl.function
def turned(n: tl.int64) -> tl.int64:
    return tl.while_loop(lambda i, x: i < n, lambda i, x: (i + 1, x * (x + 3) + i), 0, 1)[1]
engine.QUICK_SECONDS = 60.0
turned.run(5, engine="compiled")
engine.entry_call, running = pressed, engine.run_on_thread
del engine.run_on_thread
out = turned.run(5, engine="compiled")
print(out.status, out.error.limit)
engine.entry_call, engine.run_on_thread = right, running
def press():
    time.sleep(0.5)
    os.kill(os.getpid(), signal.SIGINT)
threading.Thread(target=press).start()
out = turned.run(10**12, engine="compiled")
print(out.status, out.error.limit)
"""
    assert in_a_process(code) == ["Exhausted", "interrupt"] * 2


@pytest.mark.full
def test_a_child_has_a_watchdog_of_its_own() -> None:
    """A forked child has its own watchdog."""
    code = """
from tagloom.interp.engines.compiled import run as engine
engine.QUICK_SECONDS = 60.0
turned = tl.function(lambda n: tl.while_loop(lambda i, x: i < n, lambda i, x: (i + 1, x * (x + 3) + i), 0, 1)[1])
for _ in range(3):
    turned.run(5, engine="compiled")
child = os.fork()
if not child:
    right, used = engine.run_on_thread, []
    engine.run_on_thread = lambda *given, **more: used.append(1) or right(*given, **more)
    value = turned.run(10**8, engine="compiled").status
    os._exit(0 if value == "Returned" and used else 1)
print(os.waitpid(child, 0)[1])
"""
    assert in_a_process(code) == ["0"]


def test_an_idle_watchdog_sleeps(monkeypatch: pytest.MonkeyPatch) -> None:
    """A watchdog without a run to watch sleeps, and wakes up for the next run."""
    dog = watchdog.Watchdog()
    monkeypatch.setattr(watchdog, "_MAX_IDLE_POLLS", 2)
    monkeypatch.setattr(watchdog, "POLL_SECONDS", 0.005)
    stopped: list[Any] = []

    class Words:
        def request_stop(self) -> None:
            stopped.append(self)

    def assert_stopped(words: Words) -> None:
        assert _becomes_true(lambda: words in stopped)

    for _ in range(3):
        words = Words()
        assert dog.ensure_started()
        dog.call_watched(words, partial(assert_stopped, words))  # type: ignore[arg-type]
        assert _becomes_true(lambda: dog._is_asleep)


def _becomes_true(is_so: Any) -> bool:
    """Whether this becomes true within a short time."""
    return any(is_so() or threading.Event().wait(0.01) for _ in range(1000))
