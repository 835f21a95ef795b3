"""The engine auto: when it requests machine code, and when a run goes on elsewhere. The code of `compiled` is compiled
in this process, and only its readiness is simulated; that results do not depend on it is in tests/laws."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from subprocess import PIPE
from tempfile import mkdtemp
from types import SimpleNamespace
from typing import Any

import pytest
import tagloom as tl
from support.laws.auto_laws import NEVER, FakeCompilation, WorkAtOnce, code_ready_after
from support.observe.lateness import is_soon
from tagloom.interp.engines import auto
from tagloom.interp.engines.fast import load
from tagloom.interp.engines.jit.compiler_process import CompileState


@tl.function
def fib(n: tl.int64) -> tl.int64:
    return tl.cond(n < 2, lambda: n, lambda: fib(n - 1) + fib(n - 2))


@tl.function
def count(n: tl.int64) -> tl.int64:
    return tl.while_loop(lambda i: i < n, lambda i: i + 1, 0)[0]


class Background:
    """The compilations of a test, which are ready when it says so."""

    def __init__(self) -> None:
        self.machine, self.code = FakeCompilation(NEVER), FakeCompilation(NEVER)
        self.are_machines_loaded = False


@pytest.fixture
def background(monkeypatch: pytest.MonkeyPatch) -> Iterator[Background]:
    """Nothing is compiled or loaded yet, and no program has run."""
    background = Background()
    monkeypatch.setattr(auto, "_warmups", {})
    monkeypatch.setattr(auto, "HelperThread", WorkAtOnce)
    monkeypatch.setattr(auto, "compiler_process", SimpleNamespace(is_enabled=lambda: True))
    monkeypatch.setattr(auto, "machine_compilation", lambda variant: background.machine)
    monkeypatch.setattr(auto, "is_machine_prepared", lambda variant: True)
    monkeypatch.setattr(load, "is_machine_loaded", lambda variant: background.are_machines_loaded)
    monkeypatch.setattr(auto.compiled_engine, "code_compilation", lambda program: background.code)
    monkeypatch.setattr(auto.compiled_engine, "has_machine_code", lambda program: False)
    monkeypatch.setattr(auto, "WARMUP_SECONDS", 1000.0)  # whatever else this machine does
    return background


def value_engine(function: tl.Function, argument: int) -> str:
    """The engine of a run whose caller wants only the value."""
    return function.run(argument, measures=False).engine


def pretend_long(function: tl.Function) -> None:
    """Let the runs of a program so far have taken long."""
    auto.find_warmup(auto.Job(function.graph, function.trace(1).structure, function.program)).seconds = 1001.0


@pytest.mark.full
def test_many_short_runs_count_as_a_long_one(background: Background) -> None:
    """Short runs request machine code when they have taken long together; the run after it is ready goes over."""
    assert [value_engine(count, 3) for _ in range(3)] == ["reference"] * 3 and not background.code.requests
    pretend_long(count)
    assert [value_engine(count, 3) for _ in range(3)] == ["reference"] * 3 and background.code.requests == 1
    background.code.looks_left = 0
    assert value_engine(count, 3) == "compiled" and not background.machine.requests


@pytest.mark.full
def test_a_long_run_goes_over_within(background: Background) -> None:
    """A run of 50,000 firings requests machine code, goes on meanwhile, and starts again when it is ready."""
    background.code.looks_left = 20
    assert value_engine(count, 12_000) == "compiled"
    assert (background.code.requests, background.machine.requests, background.code.looks_left) == (1, 0, -1)


def test_seconds_of_runs_are_added(background: Background, monkeypatch: pytest.MonkeyPatch) -> None:
    """The warm-up of a program is the time of its runs, and of no other's."""
    for _ in range(3):
        value_engine(count, 100)
    job = auto.Job(count.graph, count.trace(1).structure, count.program)
    assert 0 < auto.find_warmup(job).seconds < 100
    other = auto.Job(fib.graph, fib.trace(1).structure, fib.program)
    assert auto.find_warmup(other).seconds == 0
    monkeypatch.setattr(auto, "WARMUP_SECONDS", auto.find_warmup(job).seconds)
    value_engine(fib, 1)
    assert not background.code.requests
    value_engine(count, 1)
    assert background.code.requests == 1


@pytest.mark.full
def test_measured_runs_wait_for_no_token_machine(background: Background) -> None:
    """A run whose measures are wanted requests the token machine after 50,000 firings, and ends on the reference if it
    is not ready in time; a program that took long before moves after 1,000."""
    assert fib.run(8).engine == "reference" and not background.machine.requests
    assert fib.run(18).engine == "reference" and background.machine.requests > 0
    background.machine.looks_left = 0
    pretend_long(fib)
    assert fib.run(8).engine == "reference" and fib.run(12).engine == "fast"
    assert not background.code.requests


@pytest.mark.full
def test_a_loaded_machine_is_used_early(background: Background) -> None:
    """If the token machine is loaded, a run moves after 1,000 firings instead of 50,000, and requests nothing."""
    background.are_machines_loaded = True
    out, wanted = fib.run(12), fib.run(12, engine="reference")
    assert (out.engine, out.stats, out.value) == ("fast", wanted.stats, wanted.value)
    assert fib.run(8).engine == "reference" and not background.machine.requests


def test_what_cannot_be_compiled(background: Background) -> None:
    """If the code of a program cannot be compiled, its runs go on with tokens, and it is not requested again."""
    background.code.poll = lambda: CompileState.FAILED  # type: ignore[method-assign]
    background.are_machines_loaded = True
    pretend_long(count)
    with pytest.warns(RuntimeWarning, match="engine auto runs count on reference and fast") as warned:
        assert [value_engine(count, 1_000) for _ in range(3)] == ["fast"] * 3
    assert len(warned) == background.code.requests == 1


@pytest.mark.full
def test_a_limit_while_waiting_is_none_of_the_program(background: Background, monkeypatch: pytest.MonkeyPatch) -> None:
    """A run whose caller wants only the value, and that has too many tokens while it waits for its code, starts again
    on `compiled`; if its code cannot be compiled, on `fast`."""
    monkeypatch.setattr(auto, "MAX_TOKENS_FOR_VALUE", 200)
    assert value_engine(fib, 16) == "compiled"
    states = iter([CompileState.PENDING])
    background.code.poll = lambda: next(states, CompileState.FAILED)  # type: ignore[method-assign]
    pretend_long(fib)
    with pytest.warns(RuntimeWarning, match="engine auto runs fib on reference and fast"):
        assert value_engine(fib, 16) == "fast"


@pytest.mark.full
def test_a_run_on_fast_is_overtaken() -> None:
    """A run that moved to `fast` starts again on `compiled` when its code is ready."""
    with code_ready_after(3, 40):
        assert value_engine(fib, 12) == "compiled"
    with code_ready_after(3, NEVER):
        assert value_engine(fib, 12) == "fast"


@pytest.mark.full
@pytest.mark.parametrize("measures", [True, False])
def test_nothing_can_be_cached(background: Background, measures: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where nothing can be cached, a long run compiles in its own process, and waits."""

    def refuse(_: object) -> Any:
        raise OSError("read-only")

    monkeypatch.setattr(auto, "machine_compilation", refuse)
    monkeypatch.setattr(auto.compiled_engine, "code_compilation", refuse)
    monkeypatch.setattr(auto, "WARMUP_FIRINGS", 500)
    assert count.run(400, measures=measures).engine == ("fast" if measures else "compiled")


STEP = """
import signal
signal.signal(signal.SIGINT, signal.default_int_handler)
import time
import tagloom as tl

@tl.function
def step(x: tl.Array[tl.float64, 4]) -> tl.Array[tl.float64, 4]:
    return tl.while_loop(lambda i, x: i < 30, lambda i, x: (i + 1, tl.tanh(x) + 1.0), 0, x)[1]

"""


def child(code: str, folder: Path) -> subprocess.Popen[bytes]:
    """A process that runs this code where nothing is compiled yet. The program is in a file, as a user's."""
    file = folder / "program.py"
    file.write_text(STEP + code)
    environment = {name: value for name, value in os.environ.items() if name != "TAGLOOM_BACKGROUND"}
    return subprocess.Popen(
        [sys.executable, str(file)], stdout=PIPE, stderr=PIPE, env=environment | {"TAGLOOM_CACHE": str(folder)}
    )


@pytest.mark.heavy
def test_a_step_that_is_called_often(tmp_path: Path) -> None:
    """In a process of its own, a step that is called again and again goes over to `compiled`, no call takes as long as
    a compiler does, and none imports numba; the values are those of the reference."""
    code = """
import sys, threading

class Witness:
    imported = 0
    def find_spec(self, name, path=None, target=None):
        if name in ("numba", "llvmlite", "tagloom.interp.engines.compiled.run"):
            assert threading.current_thread() is not threading.main_thread(), name
            Witness.imported += 1

sys.meta_path.insert(0, Witness())
x = [0.0, 1.0, 2.0, 3.0]
wanted = step.run(x, engine="reference").value
slowest, start = 0.0, time.monotonic()
while time.monotonic() < start + 100:
    call = time.monotonic()
    out = step.run(x, measures=False)
    slowest = max(slowest, time.monotonic() - call)
    assert (out.value == wanted).all()
    if out.engine == "compiled":
        break
print(out.engine, slowest / (time.monotonic() - start), Witness.imported)
"""
    process = child(code, tmp_path)
    out, err = process.communicate(timeout=120)
    assert process.returncode == 0, err
    engine, slowest_part, imported = out.split()
    assert engine == b"compiled" and float(slowest_part) < 0.5 and int(imported) == 3 and err == b""


@pytest.mark.full(first=1)
@pytest.mark.parametrize("engine", ["compiled", "fast", "auto"])
def test_ctrl_c_while_anything_compiles(engine: str, tmp_path: Path) -> None:
    """Ctrl-C at any time of a compilation ends a process, with a KeyboardInterrupt or an outcome that says so. It waits
    for the import of numba, and for no compilation, which takes longer."""
    code = f"""
limits = None if {engine!r} == "compiled" else tl.Limits(seconds=600)
print("ready", flush=True)
try:
    while True:
        out = step.run([0.0, 1.0, 2.0, 3.0], engine={engine!r}, measures={engine != "auto"})
        if out.error is not None:
            break
except KeyboardInterrupt:
    pass
print("ended", flush=True)
"""

    def seconds_late(pause: float) -> float:
        process = child(code, Path(mkdtemp(dir=tmp_path)))
        assert process.stdout is not None and process.stdout.readline() == b"ready\n"
        time.sleep(pause)
        pressed = time.monotonic()
        process.send_signal(signal.SIGINT)
        assert process.stdout.readline() == b"ended\n"
        late = time.monotonic() - pressed
        out, err = process.communicate(timeout=60)
        # Python exits by SIGINT if the exception came from exec() of a text, as in numba, although it was caught
        assert process.returncode in (0, -signal.SIGINT) and (out, err) == (b"", b"")
        return late

    for pause in (0.6, 1.5, 2.6):
        assert is_soon(partial(seconds_late, pause), 2)
