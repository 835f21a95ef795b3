"""Runs that are ended from outside: by seconds, bytes, and Ctrl-C, in this process and in a separate one."""

from __future__ import annotations

import ctypes
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from pathlib import Path
from subprocess import PIPE
from typing import Any

import numpy as np
import pytest
import tagloom as tl
from support.observe.ctrl_c import default_ctrl_c, press_in_a_run
from support.observe.lateness import is_soon
from tagloom.interp.engines.fast.run import FastRun
from tagloom.interp.engines.interrupt import (
    Interrupt,
    block_interrupt,
    interrupt_at_once,
    interrupt_between_steps,
    interrupt_thread,
)
from tagloom.interp.engines.limits import (
    LARGE_RESULT_BYTES,
    MEMORY_CHECK_STEPS,
    LimitMonitor,
    machine_memory,
    resident_memory,
    result_bytes,
)
from tagloom.interp.machine.event import Event
from tagloom.interp.machine.state import State


@tl.function
def endless(n: tl.int64) -> tl.int64:
    return tl.while_loop(lambda i: i >= 0, lambda i: i * 0, n)[0]


@tl.function
def short(n: tl.int64) -> tl.int64:
    return n + 1


@pytest.mark.full
def test_seconds() -> None:
    """S12: a run ends soon after its seconds; with 0 it does not begin; with enough it is not affected."""
    begun = time.perf_counter()
    out = endless.run(1, limits=tl.Limits(seconds=0.2))
    assert 0.2 <= time.perf_counter() - begun < 20
    assert (out.status, out.error and out.error.limit) == ("Exhausted", "seconds")  # type: ignore[attr-defined]
    assert str(out.error).startswith("S12: the run exceeds the limit of 0.2 on ")
    assert "--timeout N, or limits=tl.Limits(seconds=N)" in str(out.error)
    none = short.run(1, limits=tl.Limits(seconds=0))
    assert (none.status, none.firings) == ("Exhausted", 0)
    assert short.run(1, limits=tl.Limits(seconds=60)).value == 2


def test_bytes() -> None:
    """S12: with a limit of one byte no run begins; the default is half of the machine's memory."""
    out = endless.run(1, limits=tl.Limits(bytes=1))
    assert (out.status, out.firings, out.error and out.error.limit) == (  # type: ignore[attr-defined]
        "Exhausted",
        0,
        "bytes",
    )
    assert str(out.error).startswith("S12: the run exceeds the limit of 1 on bytes of memory")
    assert tl.Limits().bytes == machine_memory() // 2
    assert 2**20 < resident_memory() < machine_memory()


@pytest.mark.full
def test_bytes_are_seen_while_a_run_grows() -> None:
    """S12: a run that keeps ever more large arrays ends soon after the limit."""

    @tl.function
    def growing(x: tl.Array[tl.float64, None]) -> tl.Array[tl.float64, None]:
        return growing(x + 1.0) + x

    room = 40 * LARGE_RESULT_BYTES
    out = growing.run(np.zeros(LARGE_RESULT_BYTES // 8), limits=tl.Limits(bytes=resident_memory() + room, depth=10_000))
    assert (out.status, out.error and out.error.limit) == ("Exhausted", "bytes")  # type: ignore[attr-defined]
    assert resident_memory() < machine_memory() and out.firings < 10 * 200


@pytest.mark.parametrize("seconds", [-1, -0.5, float("nan"), float("inf"), True, "1"])
def test_bad_seconds_are_refused(seconds: Any) -> None:
    """A limit on seconds is a number of at least 0."""
    with pytest.raises(tl.Usage, match="the limit on seconds must be a number from 0 up"):
        tl.Limits(seconds=seconds)


@pytest.mark.parametrize("number", [-1, 1.5, True, "10", None])
def test_bad_bytes_are_refused(number: Any) -> None:
    """A limit on bytes is an integer of at least 0."""
    with pytest.raises(tl.Usage, match="limit on bytes"):
        tl.Limits(bytes=number)


def test_the_order_of_limits() -> None:
    """Ctrl-C comes before seconds, and these before bytes, which are checked now and then, or at a large result."""
    pressed, now = Interrupt(), time.monotonic
    alarm = LimitMonitor(0, 1, pressed)
    assert alarm.exceeded_limit(0, None) == "seconds" and now() >= (alarm.deadline or 0)
    pressed.handle_signal(2, None)
    assert alarm.exceeded_limit(0, None) == "interrupt"
    patient = LimitMonitor(None, 1, Interrupt())
    assert [patient.exceeded_limit(steps, None) for steps in (0, 1, MEMORY_CHECK_STEPS - 1, MEMORY_CHECK_STEPS)] == [
        "bytes",
        None,
        None,
        "bytes",
    ]
    events = [
        short.run(1, keep="events").events[-1]._replace(outputs=((0, value),))
        for value in (1, np.zeros(LARGE_RESULT_BYTES))
    ]
    assert [result_bytes(event) for event in (None, *events)] == [0, 0, 8 * LARGE_RESULT_BYTES]
    assert patient.exceeded_limit(1, events[1]) == "bytes"
    small = events[1]._replace(outputs=((0, np.zeros(LARGE_RESULT_BYTES // 24)),))
    assert [patient.exceeded_limit(1, small) for _ in range(4)] == [None, None, None, "bytes"]


@pytest.mark.full
def test_ctrl_c_ends_a_run_as_data(handled: None) -> None:
    """`f.run` returns what was done before Ctrl-C, and restores the handler of Ctrl-C."""
    press_in_a_run(0.2)
    out = endless.run(1, keep="events")
    assert (out.status, out.error and out.error.limit) == ("Exhausted", "interrupt")  # type: ignore[attr-defined]
    assert str(out.error) == "S12: the run was interrupted\n  hint: the outcome has the results so far"
    assert out.firings == sum(event.is_firing for event in out.events) > 0
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


@pytest.mark.full
def test_ctrl_c_raises_in_a_call(handled: None) -> None:
    """`f(...)` raises KeyboardInterrupt, as Python's own functions do."""
    press_in_a_run(0.2)
    with pytest.raises(KeyboardInterrupt):
        endless(1)
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


@pytest.mark.full
def test_a_second_ctrl_c_ends_a_callback(handled: None) -> None:
    """A blocked callback continues after the first Ctrl-C, and is ended by the second."""

    @tl.function
    def blocking(n: tl.int64) -> tl.int64:
        return tl.callback(lambda x: time.sleep(30) or 1, n, returns=tl.int64)

    press_in_a_run(0.2)
    press_in_a_run(0.5)
    begun = time.perf_counter()
    with pytest.raises(KeyboardInterrupt):
        blocking.run(1)
    assert 0.4 < time.perf_counter() - begun < 25
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


@pytest.mark.full
def test_other_handlers_of_ctrl_c_are_kept() -> None:
    """Another handler of Ctrl-C is kept, and runs outside the main thread install none."""
    mine: list[int] = []
    before = signal.signal(signal.SIGINT, lambda number, frame: mine.append(number))
    press = threading.Timer(0.1, lambda: os.kill(os.getpid(), signal.SIGINT))
    try:
        press.start()
        out = endless.run(1, limits=tl.Limits(seconds=0.5))
        press.join()
        assert (mine, out.error and out.error.limit) == ([signal.SIGINT], "seconds")  # type: ignore[attr-defined]
    finally:
        signal.signal(signal.SIGINT, before)
    seen: list[Any] = []
    thread = threading.Thread(target=lambda: seen.append(short.run(1).value))
    thread.start()
    thread.join()
    with interrupt_between_steps() as pressed:
        assert (seen, pressed.is_requested) == ([2], False)


ENDLESS = """
import signal
signal.signal(signal.SIGINT, signal.default_int_handler)
import tagloom as tl

@tl.function
def endless(n: tl.int64) -> tl.int64:
    return tl.while_loop(lambda i: i >= 0, lambda i: i * 0, tl.callback(ready, n, returns=tl.int64))[0]

def ready(n):
    print("ready", flush=True)
    return n
"""


@pytest.mark.full
def test_ctrl_c_ends_a_process(tmp_path: Path) -> None:
    """`python -m tagloom run` says that it was interrupted, and exits with 1: no traceback. That takes half a second
    with the exit of Python, on a machine that does nothing else."""
    (tmp_path / "endless.py").write_text(ENDLESS)

    def seconds_until_it_ends() -> float:
        command = [sys.executable, "-m", "tagloom", "run", "endless.py", "1"]
        with subprocess.Popen(command, stdout=PIPE, stderr=PIPE, cwd=tmp_path) as process:
            assert process.stdout is not None and process.stdout.readline() == b"ready\n"
            time.sleep(0.2)
            begun = time.perf_counter()
            process.send_signal(signal.SIGINT)
            out, err = process.communicate(timeout=60)
            took = time.perf_counter() - begun
        assert (process.returncode, out) == (1, b"")
        assert err.startswith(b"S12: the run was interrupted") and b"Traceback" not in err
        return took

    assert is_soon(seconds_until_it_ends, 5)


@tl.function
def divided(n: tl.int64) -> tl.int64:
    return 1 // (n - n) + n


@tl.function
def pressing(n: tl.int64) -> tl.int64:
    return tl.callback(lambda n: (os.kill(os.getpid(), signal.SIGINT), time.sleep(0), n)[-1], n, returns=tl.int64)


def is_reported(run: Callable[[], tl.Outcome]) -> bool:
    """Whether a run reports the interruption, or raises KeyboardInterrupt."""
    try:
        error = run().error
    except KeyboardInterrupt:
        return True
    return isinstance(error, tl.Exhausted) and error.limit == "interrupt"


def time_until_reported(run: Callable[[], tl.Outcome], seconds: float) -> float:
    """The time until one of several successive runs reports a Ctrl-C that is sent after this many seconds. It is lost
    if none does so for 20 s."""
    pressed: list[float] = []

    def press() -> None:
        pressed.append(time.monotonic())
        os.kill(os.getpid(), signal.SIGINT)

    with default_ctrl_c():
        try:
            threading.Timer(seconds, press).start()
            while not is_reported(run):
                assert not pressed or time.monotonic() < pressed[0] + 20, "Ctrl-C is lost"
        except KeyboardInterrupt:
            pass
    return time.monotonic() - pressed[0]


ENGINES = ("reference", "fast", "compiled", "auto")
TIMED, SMALL = {"limits": tl.Limits(seconds=60)}, {"limits": tl.Limits(firings=1)}
LOOPS: list[tuple[tl.Function, str, dict[str, Any]]] = [
    *((function, engine, {}) for function in (short, divided) for engine in ENGINES),
    *((short, engine, SMALL) for engine in ("reference", "fast")),
    (short, "compiled", TIMED),
]


@pytest.mark.inner(first=2)
@pytest.mark.parametrize(("function", "engine", "asked"), LOOPS)
def test_no_ctrl_c_is_lost(function: tl.Function, engine: str, asked: dict[str, Any]) -> None:
    """A Ctrl-C during short runs is reported within 0.2 s whenever it comes."""

    def run() -> tl.Outcome:
        return function.run(1, engine=engine, **asked)

    run()
    for at in range(1, 9):
        assert is_soon(partial(time_until_reported, run, at / 997), 0.2)


@pytest.mark.inner(first=2)
@pytest.mark.parametrize("engine", ENGINES)
def test_ctrl_c_while_an_effect_happens(engine: str, handled: None) -> None:
    """Ctrl-C during an effect is reported after it."""
    assert is_reported(lambda: pressing.run(1, engine=engine))
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def pressed_at_the_end(patch: pytest.MonkeyPatch) -> None:
    """Send Ctrl-C when the run has nothing left to do."""
    apply, burst = State.apply, FastRun._run_burst

    def applied(state: State, event: Event) -> None:
        apply(state, event)
        if not state.flight:
            signal.raise_signal(signal.SIGINT)

    patch.setattr(State, "apply", applied)
    patch.setattr(
        FastRun, "_run_burst", lambda self, steps: (burst(self, steps), signal.raise_signal(signal.SIGINT))[0]
    )


@pytest.mark.parametrize("engine", ["reference", "fast"])
def test_ctrl_c_at_the_end_of_a_run(engine: str, handled: None, monkeypatch: pytest.MonkeyPatch) -> None:
    """Ctrl-C at the end of a run is raised; a twin that checks only while tokens remain is caught."""
    pressed_at_the_end(monkeypatch)
    with pytest.raises(KeyboardInterrupt):
        short.run(1, engine=engine)
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    monkeypatch.setattr(Interrupt, "raise_unacknowledged", lambda self: None)
    assert not is_reported(lambda: short.run(1, engine=engine))


@tl.function
def counted() -> tl.int64:
    return tl.while_loop(lambda i: i < 1000, lambda i: i + 1, 0)[0]


@pytest.mark.full
def test_ctrl_c_is_reported_once(handled: None, monkeypatch: pytest.MonkeyPatch) -> None:
    """Ctrl-C in a run that restarted as `compiled` ends that run, and raises nothing else."""
    monkeypatch.setattr("tagloom.interp.engines.auto.WARMUP_FIRINGS", 10)
    press = lambda: signal.raise_signal(signal.SIGINT)  # noqa: E731
    monkeypatch.setattr("tagloom.interp.engines.compiled.run.entry_call", lambda *_: press)
    out = counted.run(measures=False)
    assert out.engine == "compiled" and isinstance(out.error, tl.Exhausted) and out.error.limit == "interrupt"


def test_other_errors_do_not_hide_ctrl_c(handled: None) -> None:
    """Ctrl-C is reported after any other error too, with that error as its context."""
    with pytest.raises(KeyboardInterrupt) as raised, interrupt_between_steps():
        os.kill(os.getpid(), signal.SIGINT)
        time.sleep(0.01)
        raise ValueError("something else")
    assert isinstance(raised.value.__context__, ValueError)
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_another_thread_is_interrupted_until_its_end() -> None:
    """An interruption of a run in another thread is raised there, even when nothing is left to do."""
    seen: list[str] = []

    def work() -> None:
        try:
            with interrupt_between_steps():
                interrupt_thread(threading.get_ident())
            seen.append("lost")
        except KeyboardInterrupt:
            seen.append("told")

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert seen == ["told"]


def test_swallowed_ctrl_c_is_raised_later(handled: None, monkeypatch: pytest.MonkeyPatch) -> None:
    """Ctrl-C in a callback from C, which cannot raise, is raised again later; imports in progress are completed."""
    monkeypatch.setattr(sys, "unraisablehook", lambda told: None)
    swallow = ctypes.CFUNCTYPE(None)(lambda: signal.raise_signal(signal.SIGINT))
    done = []
    with pytest.raises(KeyboardInterrupt), interrupt_at_once():
        swallow()
        done.append("compiled")
    with pytest.raises(KeyboardInterrupt), interrupt_at_once(), block_interrupt():
        signal.raise_signal(signal.SIGINT)
        done.append("imported")
    with pytest.raises(KeyboardInterrupt), interrupt_at_once():
        signal.raise_signal(signal.SIGINT)
        done.append("late")
    assert done == ["compiled", "imported"] and signal.getsignal(signal.SIGINT) is signal.default_int_handler


def swallow_ctrl_c(patch: pytest.MonkeyPatch) -> None:
    """Send Ctrl-C, and drop it, when a token machine starts."""
    right = State.__init__

    def made(self: State, *given: Any, **options: Any) -> None:
        with suppress(KeyboardInterrupt):
            signal.raise_signal(signal.SIGINT)
        right(self, *given, **options)

    patch.setattr(State, "__init__", made)


@pytest.mark.parametrize("engine", ["reference", "fast", "auto"])
def test_ctrl_c_that_numpy_drops_is_raised(engine: str, handled: None, monkeypatch: pytest.MonkeyPatch) -> None:
    """Ctrl-C that NumPy drops while it looks up methods, as with an Enum index, is raised again."""
    swallow_ctrl_c(monkeypatch)
    with pytest.raises(KeyboardInterrupt):
        short.run(1, engine=engine)
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


@pytest.mark.parametrize(
    ("name", "patched", "asked"),
    [
        ("run.run_compiled", lambda *_, **__: None, {"engine": "compiled"}),  # only a machine with tokens can tell
        ("engine.ran_out_of_stack", lambda _: True, {"measures": False}),
    ],
)
def test_ctrl_c_dropped_while_compiled_gives_up_ends_the_run(
    name: str, patched: Any, asked: dict[str, Any], handled: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Ctrl-C that is dropped while `compiled` gives up ends the run on `fast`."""
    assert short.run(1, engine="compiled").engine == "compiled"
    monkeypatch.setattr(f"tagloom.interp.engines.compiled.{name}", patched)
    assert short.run(1, **asked).engine == "fast"
    swallow_ctrl_c(monkeypatch)
    with pytest.raises(KeyboardInterrupt):
        short.run(1, **asked)
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_ctrl_c_waits_for_operations_without_restart(handled: Any) -> None:
    """Ctrl-C waits for an operation that cannot be restarted, and is reported afterwards."""
    done = False
    with pytest.raises(KeyboardInterrupt), block_interrupt():
        os.kill(os.getpid(), signal.SIGINT)
        time.sleep(0.01)
        done = True
    assert done and signal.getsignal(signal.SIGINT) is signal.default_int_handler


@pytest.mark.full
@pytest.mark.parametrize("engine", ["fast", "compiled"])
def test_ctrl_c_during_the_import_of_numba(engine: str, tmp_path: Path) -> None:
    """After Ctrl-C during the import of numba, the program can run in the same process."""
    compiled = os.environ.get("TAGLOOM_CACHE", "")  # by other tests
    code = f"""
import builtins, os, signal, sys
import tagloom as tl

@tl.function
def twice(n: tl.int64) -> tl.int64:
    return n + n

signal.signal(signal.SIGINT, signal.default_int_handler)
once = []
class Finder:
    def find_spec(self, name, path=None, target=None):
        if name == "numba.core.typing" and not once:
            once.append(os.kill(os.getpid(), signal.SIGINT))
sys.meta_path.insert(0, Finder())
try:
    twice.run(1, engine={engine!r})
except KeyboardInterrupt:
    os.environ["TAGLOOM_CACHE"] = {compiled!r}
    print(len(once), twice.run(2, engine={engine!r}).value)
"""
    ran = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, env=os.environ | {"TAGLOOM_CACHE": str(tmp_path)}
    )
    assert ran.stdout == "1 4\n", ran.stderr
