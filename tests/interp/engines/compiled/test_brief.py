"""Runs that are over before anybody would look: which these are, and that they end as others do."""

from __future__ import annotations

import threading
import time
from typing import Any

import numpy as np
import pytest
import tagloom as tl
from support.laws.compiled_laws import differences, threads
from support.programs.compiled_child import PRESSED, in_a_process
from tagloom.interp.engines.compiled import cost as brief
from tagloom.interp.engines.compiled import run
from tagloom.interp.engines.compiled.cost import constant_cost, elementwise_cost
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
def counted(n: tl.int64) -> tl.int64:
    return tl.while_loop(lambda i: i < n, lambda i: (i + 1,), 0)[0]


@tl.function
def twice(x: FLOATS) -> FLOATS:
    return scaled(scaled(x, 1.0), 2.0)


@tl.function
def product(x: tl.Array[tl.float64, None, None]) -> tl.Array[tl.float64, None, None]:
    return tl.matmul(x, x)


@tl.function
def drawn(n: tl.int64) -> INTS:
    return tl.permutation(n)


@tl.function
def told(x: tl.float64) -> tl.float64:
    tl.print("{}", x)
    return x


@tl.function
def layer(x: tl.Array[tl.float64, 8, 16], w: tl.Array[tl.float64, 16, 16]) -> tl.Array[tl.float64, 8, 16]:
    return tl.while_loop(lambda k, _: k < 7, lambda k, h: (k + 2, tl.tanh(tl.matmul(h, w))), 0, x)[1]


@tl.function
def recurring(x: tl.Array[tl.float64, 2], n: tl.int64) -> tl.Array[tl.float64, 2]:
    return tl.cond(n == 0, lambda: x, lambda: recurring(x * 0.5, n - 1))


slopes = tl.grad(lambda x, w: tl.sum(layer(x, w)), argnums=1)
FACTORS = np.linspace(-1.0, 1.0, 128).reshape(8, 16), np.linspace(-0.5, 0.5, 256).reshape(16, 16)


def test_which_are_straight() -> None:
    """What sizes bound: no loop, no call, no product, no draw of any size, and nothing that others see."""
    assert elementwise_cost(scaled.program) and elementwise_cost(quotients.program) and elementwise_cost(outer.program)
    assert not any(elementwise_cost(each.program) for each in (counted, twice, product, drawn, told))


def test_which_are_bounded() -> None:
    """What types and counts bound: no size that the run decides, no loop up to an argument, no recursion, no effect."""
    program = slopes.trace(*FACTORS).program
    found = constant_cost(program)
    products = 4 * (1 + 2) * 8 * 16 * 16  # in four iterations one, and two for its adjoints
    assert found is not None and products / 8 < found.work < 10 * products
    assert not any(constant_cost(each.program) for each in (counted, twice, product, drawn, told, recurring))


@pytest.mark.full
def test_bounded_runs_need_no_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    """Not on the main thread; any other may have little stack. There is no difference otherwise."""
    monkeypatch.setattr(run, "QUICK_SECONDS", 0)
    assert threads(monkeypatch, slopes, *FACTORS) == 0
    here, elsewhere = slopes.run(*FACTORS, engine="compiled").value, list[Any]()
    before = threading.stack_size(2**17)
    try:
        user = threading.Thread(target=lambda: elsewhere.append(slopes.run(*FACTORS, engine="compiled").value))
        user.start()
    finally:
        threading.stack_size(before)
    user.join()
    assert elsewhere[0].tobytes() == here.tobytes()
    monkeypatch.setattr(run, "LONG_WORK", 10)
    assert threads(monkeypatch, slopes, *FACTORS) == 1
    assert slopes.run(*FACTORS, engine="compiled").value.tobytes() == here.tobytes()


def test_sizes_bound_elements() -> None:
    """No array of a straight program has more elements than its bound, which broadcasting reaches."""
    bound = elementwise_cost(outer.program)
    assert bound is not None and bound.max_elements([np.zeros((30, 1)), np.zeros(70)]) == 30 * 70
    assert bound.max_elements([np.zeros((0, 1)), np.zeros(70)]) == 70
    assert bound.max_elements([]) == 1


@pytest.mark.inner(first=1)
@pytest.mark.parametrize(("function", "arguments"), [(scaled, [np.arange(4.0), 2.0]), (scaled, [np.arange(4.0), -2.0])])
def test_they_need_no_thread(monkeypatch: pytest.MonkeyPatch, function: tl.Function, arguments: list[Any]) -> None:
    """A run that is over at once is no other thread's; one that may last or has seconds is."""
    monkeypatch.setattr(run, "QUICK_SECONDS", 0)
    assert threads(monkeypatch, function, *arguments) == 0
    assert threads(monkeypatch, function, *arguments, limits=tl.Limits(seconds=1.0)) == 1
    monkeypatch.setattr(run, "LONG_WORK", 10)
    assert threads(monkeypatch, function, *arguments) == 1


@pytest.mark.full
def test_they_end_as_others_do() -> None:
    """The same results and traps, word for word."""
    for function, arguments in (
        (scaled, [np.arange(4.0), 2.0]),
        (quotients, [np.arange(5), np.arange(5) - 2]),
        (quotients, [np.arange(5), np.arange(4)]),
        (outer, [np.arange(3.0).reshape(3, 1), np.arange(4.0)]),
    ):
        assert not list(differences(function.program, function.graph, admit_arguments(function.graph, arguments)))  # type: ignore[attr-defined]


def test_bytes() -> None:
    """The memory that the process may have ends them before they begin."""
    out = scaled.run(np.arange(4.0), 1.0, engine="compiled", limits=tl.Limits(bytes=1000))
    assert out.status == "Exhausted" and out.error.limit == "bytes"


def test_from_any_thread() -> None:
    """They run where they were called, on threads with little stack too."""
    found: list[Any] = []
    before = threading.stack_size(2**17)
    try:
        users = [
            threading.Thread(target=lambda: found.append(scaled.run(np.arange(9.0), 1.0, engine="compiled").value))
        ]
        for user in users:
            user.start()
    finally:
        threading.stack_size(before)
    for user in users:
        user.join()
    assert found[0].tobytes() == np.exp(np.arange(9.0)).tobytes()


@pytest.mark.full
def test_none_is_long() -> None:
    """The most work that is done before anybody looks: less than a tenth of a second on this machine, or 0.2 s where
    others are at work."""
    bound = elementwise_cost(scaled.program)
    assert bound is not None
    x = np.linspace(0.0, 1.0, brief.LONG_WORK // bound.work_per_element)
    scaled.run(x, 1.0, engine="compiled")
    begin = time.process_time()
    scaled.run(x, 1.0, engine="compiled")
    assert time.process_time() - begin < 0.4


@pytest.mark.full
def test_interrupt() -> None:
    """Ctrl-C while one runs is how it ended, as anywhere."""
    code = f"""
{PRESSED}
@tl.function
def scaled(x: tl.Array[tl.float64, None]) -> tl.Array[tl.float64, None]:
    return tl.exp(x) * 2.0
scaled.run([1.0], engine="compiled")
engine._entry_call = pressed
out = scaled.run([1.0], engine="compiled")
print(out.status, out.error.limit)
"""
    assert in_a_process(code) == ["Exhausted", "interrupt"]
