"""Short runs of arrays end alike on the calling thread and on others, whichever thread calls."""

from __future__ import annotations

import threading
from typing import Any

import numpy as np
import pytest
import tagloom as tl
from support.laws.compiled_laws import differences, threads
from support.programs.compiled_child import PRESSED, in_a_process
from tagloom.interp.engines.compiled import run
from tagloom.interp.engines.reference import admit_arguments

FLOATS, INTS = tl.Array[tl.float64, None], tl.Array[tl.int64, None]


@tl.function
def scaled(x: FLOATS, a: tl.float64) -> FLOATS:
    return tl.cond(a > 0, lambda: tl.exp(x) * a, lambda: x)


@tl.function
def quotients(x: INTS, y: INTS) -> INTS:
    return x // y


@tl.function
def outer(x: tl.Array[tl.float64, None, 1], y: FLOATS) -> tl.Array[tl.float64, None, None]:
    return x + y


@tl.function
def layer(x: tl.Array[tl.float64, 8, 16], w: tl.Array[tl.float64, 16, 16]) -> tl.Array[tl.float64, 8, 16]:
    return tl.while_loop(lambda k, _: k < 7, lambda k, h: (k + 2, tl.tanh(tl.matmul(h, w))), 0, x)[1]


slopes = tl.grad(lambda x, w: tl.sum(layer(x, w)), argnums=1)
FACTORS = np.linspace(-1.0, 1.0, 128).reshape(8, 16), np.linspace(-0.5, 0.5, 256).reshape(16, 16)


def treat_runs_as_quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Forget all programs, and treat every run as quick."""
    monkeypatch.setattr(run, "_compiled_programs", type(run._compiled_programs)())
    monkeypatch.setattr(run, "QUICK_SECONDS", 60.0)


@pytest.mark.full
def test_gradients_need_no_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    """A gradient uses no thread of its own from the second run on; a caller on a thread with a small stack gets the
    same bits."""
    treat_runs_as_quick(monkeypatch)
    assert [threads(monkeypatch, slopes, *FACTORS) for _ in range(2)] == [1, 0]
    here, elsewhere = slopes.run(*FACTORS, engine="compiled").value, list[Any]()
    before = threading.stack_size(2**17)
    try:
        user = threading.Thread(target=lambda: elsewhere.append(slopes.run(*FACTORS, engine="compiled").value))
        user.start()
    finally:
        threading.stack_size(before)
    user.join()
    assert elsewhere[0].tobytes() == here.tobytes()


@pytest.mark.full
@pytest.mark.parametrize(("function", "arguments"), [(scaled, [np.arange(4.0), 2.0]), (scaled, [np.arange(4.0), -2.0])])
def test_quick_runs_use_the_calling_thread(
    monkeypatch: pytest.MonkeyPatch, function: tl.Function, arguments: list[Any]
) -> None:
    """Array programs run on the calling thread from the second run on, unless they have a limit on seconds or may take
    long."""
    treat_runs_as_quick(monkeypatch)
    assert [threads(monkeypatch, function, *arguments) for _ in range(3)] == [1, 0, 0]
    assert threads(monkeypatch, function, *arguments, limits=tl.Limits(seconds=1.0)) == 1
    monkeypatch.setattr(run, "QUICK_SECONDS", 0)
    assert threads(monkeypatch, function, *arguments, limits=tl.Limits(seconds=1.0)) == 1
    assert threads(monkeypatch, function, *arguments) == 1


@pytest.mark.full
def test_short_runs_end_as_on_the_reference() -> None:
    """Short runs have the same results and traps, word for word."""
    for function, arguments in (
        (scaled, [np.arange(4.0), 2.0]),
        (quotients, [np.arange(5), np.arange(5) - 2]),
        (quotients, [np.arange(5), np.arange(4)]),
        (outer, [np.arange(3.0).reshape(3, 1), np.arange(4.0)]),
    ):
        assert not list(differences(function.program, function.graph, admit_arguments(function.graph, arguments)))  # type: ignore[attr-defined]


@pytest.mark.full
def test_a_limit_on_bytes_ends_short_runs() -> None:
    """The limit on the process's memory ends short runs before they begin."""
    out = scaled.run(np.arange(4.0), 1.0, engine="compiled", limits=tl.Limits(bytes=1000))
    assert out.status == "Exhausted" and out.error.limit == "bytes"


def test_short_runs_work_on_any_thread() -> None:
    """Short runs work on every calling thread, even one with a small stack."""
    actual: list[Any] = []
    before = threading.stack_size(2**17)
    try:
        users = [
            threading.Thread(target=lambda: actual.append(scaled.run(np.arange(9.0), 1.0, engine="compiled").value))
        ]
        for user in users:
            user.start()
    finally:
        threading.stack_size(before)
    for user in users:
        user.join()
    assert actual[0].tobytes() == np.exp(np.arange(9.0)).tobytes()


@pytest.mark.full
def test_ctrl_c_ends_a_short_run() -> None:
    """Ctrl-C during a short run is reported as in any other run."""
    code = f"""
{PRESSED}
@tl.function
def scaled(x: tl.Array[tl.float64, None]) -> tl.Array[tl.float64, None]:
    return tl.exp(x) * 2.0
engine.QUICK_SECONDS = 60.0
scaled.run([1.0], engine="compiled")
engine.entry_call = pressed
out = scaled.run([1.0], engine="compiled")
print(out.status, out.error.limit)
"""
    assert in_a_process(code) == ["Exhausted", "interrupt"]
