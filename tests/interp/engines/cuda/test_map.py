"""The engine `cuda` on maps: a thread computes an element. All on the simulator, and few elements."""

from __future__ import annotations

import doctest
import importlib.util
import os
import signal
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tagloom as tl
from hypothesis import Phase, assume, given, settings
from support.generators.generator import Case
from support.generators.map_programs import map_cases
from support.observe.kernel_tables import ELEMENTARY
from support.programs.recursions import ackermann, falling, fib, is_even, leaves, sum_of_fibs, while_even
from tagloom.core.graph.lower import lower
from tagloom.core.value import fingerprint
from tagloom.interp.engines.cuda import map_run, thread_code
from tagloom.interp.engines.cuda.device import is_simulated
from tagloom.interp.engines.cuda.element_map import find_element_map
from tagloom.interp.engines.cuda.map_run import MapRun
from tagloom.interp.engines.limits import Limits
from tagloom.interp.engines.protocol import Job, RunOptions
from tagloom.interp.engines.reference import default_structure, run_graph
from tagloom.interp.engines.registry import find_engine, run
from tagloom.interp.outcome.outcome import Outcome


def ending(out: Outcome) -> tuple[Any, ...]:
    """The part of an outcome that engines without tokens have: the status, the results, or the first trap and its
    firing."""
    results = [None if result is None else fingerprint(result) for result in out.results]
    if out.status != "Trapped":
        return out.status, results
    token, inputs = out.trap_events[0].token, out.trap_events[0].inputs or ()
    return str(out.traps[0]), token.node, token.tag, [fingerprint(value) for value in inputs]


def agree(function: tl.Function, *arguments: Any, **options: Any) -> Outcome:
    """Assert that a map ends as on the reference."""
    out = function.map(*arguments, engine="cuda", **options)
    assert out.engine == "cuda"
    assert ending(out) == ending(function.map(*arguments, engine="reference", **options))
    return out


@tl.function
def collatz(n: tl.int64) -> tl.int64:
    def step(n: Any, steps: Any) -> Any:
        return tl.cond(n % 2 == 0, lambda: n // 2, lambda: 3 * n + 1), steps + 1

    return tl.while_loop(lambda n, _: n != 1, step, n, 0)[1]


@tl.function
def mandelbrot(x: tl.float64, y: tl.float64) -> tl.int64:
    def escapes_not(a: Any, b: Any, k: Any) -> Any:
        return (a * a + b * b <= 4.0) & (k < 30)

    return tl.while_loop(escapes_not, lambda a, b, k: (a * a - b * b + x, 2.0 * a * b + y, k + 1), 0.0, 0.0, 0)[2]


RECURSIONS: dict[str, tuple[Any, list[Any]]] = {
    "fib": (fib, [[0, 1, 7, 3, 5]]),
    "ackermann": (ackermann, [[0, 1, 2, 2], [3, 2, 1, 0]]),
    "mutual": (is_even, [np.array([0, 1, 5, 6], np.uint8)]),
    "in a loop": (leaves, [[0, 1, 2, 3], np.array([1.5, -2, 0.3, 7], np.float32)]),
    "in a condition": (while_even, [[1, 2, 3]]),
    "beside another": (sum_of_fibs, [[0, 1, 2, 3]]),
}


@pytest.mark.inner(first=2)
@pytest.mark.parametrize(("function", "arguments"), RECURSIONS.values(), ids=[*RECURSIONS])
def test_recursion(function: tl.Function, arguments: list[Any]) -> None:
    """Functions that call themselves, or each other, have the results of the reference."""
    assert agree(function, *arguments).status == "Returned"


def test_loops() -> None:
    """Collatz and Mandelbrot have the results of the reference, on 20 elements."""
    assert agree(collatz, np.arange(1, 21)).value[-3:].tolist() == [20, 20, 7]
    agree(mandelbrot, np.linspace(-2, 0.5, 20), np.linspace(-1, 1, 20))


@pytest.mark.full
def test_generated_programs() -> None:
    """Generated programs of scalars, mapped over arrays, end as on the reference, with its first trap."""
    examples, limits = (40, Limits(firings=4_000)) if is_simulated() else (150, Limits(firings=20_000))
    endings = Counter[str]()
    engine = find_engine("cuda")

    @settings(max_examples=examples, phases=[Phase.generate], deadline=None)
    @given(map_cases())
    def agrees(case: Case) -> None:
        graph = lower(case.program)
        assume(is_simulated() or ELEMENTARY.isdisjoint(node.op for node in graph.nodes))
        job = Job(graph, default_structure(graph), case.program)
        element_map = find_element_map(case.program)
        if not case.program.main.body.parameters:
            return  # nothing is mapped
        assert element_map is not None
        reason = engine.unsupported(job, RunOptions())
        if reason is not None:  # an op that makes scalars of arrays
            assert reason.startswith("it has no kernel for ") and element_map.function
            endings["Refused"] += 1
            return
        wanted = run_graph(graph, case.arguments, limits=limits)
        if wanted.status != "Exhausted":
            assert ending(run(job, case.arguments, RunOptions(), "cuda")) == ending(wanted)
        endings[wanted.status] += 1

    agrees()
    assert endings["Returned"] > endings["Refused"] and endings["Trapped"], endings


def test_the_first_trap() -> None:
    """The trap of the first element that traps is reported, with its node, operands and tag, however deep it is."""
    out = agree(falling, [0, 2, 1, 3, 0], [1, 9, 0, 3, 0])
    assert out.error and out.error.message == "integer division by zero at node falling.floor_divide"
    assert str(out.error.tag) == "main/loop[2]/falling_1/falling/loop[1]"


def test_arguments_and_results() -> None:
    """Several results of several dtypes, literals among them; scalars that are the same for all elements; constants."""
    offset = 3

    @tl.function
    def several(pair: Any, scale: Any) -> Any:
        x, small = pair
        return {"sum": x * scale + offset, "small": small + small, "is_big": x > 1, "same": 7, "x": x}

    arguments = (np.array([0.5, 1.5, 2.5]), np.array([1, 100, 200], np.uint8)), 2.0
    out = agree(several, *arguments, in_axes=(0, None))
    assert out.value["small"].tolist() == [2, 200, 144] and out.value["is_big"].tolist() == [False, True, True]
    half = tl.function(lambda x: x * x / 3)
    agree(half, np.array([1, 2.5, 1e4], np.float16))


@pytest.mark.parametrize("lengths", [(0, 0), (3, 3), (2, 3), (3, 2), (3, 0)])
def test_lengths(lengths: tuple[int, int]) -> None:
    """Arrays of sizes that only the run knows: none, as many as the other array, more, or fewer, which traps."""

    @tl.function
    def quotient(a: tl.int64, b: tl.int64) -> tl.int64:
        return a // b

    first, second = (list(range(1, length + 1)) for length in lengths)
    array = np.array(first, np.int64), np.array(second, np.int64)
    assert ending(quotient.map(*array, engine="cuda")) == ending(quotient.map(*array, engine="reference"))


def test_fuel(monkeypatch: pytest.MonkeyPatch) -> None:
    """An element that runs out of fuel is computed again with more, and only it."""
    launched = list[int]()
    launch = map_run.launch

    def count(kernel: Any, threads: int, *arguments: Any) -> None:
        launched.append(arguments[-4])
        launch(kernel, threads, *arguments)

    monkeypatch.setattr(map_run, "FIRST_FUEL", 3)
    monkeypatch.setattr(map_run, "LAUNCH_ELEMENTS", 4)
    monkeypatch.setattr(map_run, "launch", count)
    agree(collatz, [1, 2, 9, 3, 4, 27])  # 0, 1, 19, 7, 2 and 111 iterations
    assert launched == [4, 2, 3, 2, 1], launched


@pytest.mark.parametrize("depth", [0, 1, 2, 3, 5, 6, 7])
def test_the_limit_on_depth_is_exact(depth: int) -> None:
    """A map is Exhausted at the depth at which it is on the reference."""
    limits = Limits(depth=depth)
    wanted = fib.map([1, 5, 2], engine="reference", limits=limits)
    out = fib.map([1, 5, 2], engine="cuda", limits=limits)
    assert (out.status, str(out.error)) == (wanted.status, str(wanted.error))
    assert collatz.map([5], engine="cuda", limits=limits).status == (
        collatz.map([5], engine="reference", limits=limits).status
    )


def test_a_recursion_deeper_than_the_stack(monkeypatch: pytest.MonkeyPatch) -> None:
    """A recursion that is too deep for the stack of a thread ends as Exhausted, and the error says who can do it; loops
    need no stack."""
    monkeypatch.setattr(map_run, "MAX_DEPTH", 6)
    assert fib.map([3, 5], engine="cuda").status == "Returned"
    out = fib.map([3, 6], engine="cuda")
    assert out.status == "Exhausted" and "limit of 6 on nested calls" in str(out.error)
    assert 'engine cuda supports no more; engine="reference" does' in str(out.error)
    assert collatz.map([7], engine="cuda").status == "Returned"


@tl.function
def endless(n: tl.int64) -> tl.int64:
    return tl.while_loop(lambda k: k >= 0, lambda k: (k * 0,), n)[0]


def test_seconds(monkeypatch: pytest.MonkeyPatch) -> None:
    """The limit on seconds ends an endless loop, and so does the limit on bytes before a run."""
    monkeypatch.setattr(map_run, "FIRST_FUEL", 100)
    out = endless.map([-1, 1], engine="cuda", limits=Limits(seconds=0.05))
    assert (out.status, out.error and out.error.limit) == ("Exhausted", "seconds")  # type: ignore[attr-defined]
    out = fib.map([1], engine="cuda", limits=Limits(bytes=1))
    assert (out.status, out.error and out.error.limit) == ("Exhausted", "bytes")  # type: ignore[attr-defined]


def test_ctrl_c(handled: None, monkeypatch: pytest.MonkeyPatch) -> None:
    """Ctrl-C ends a run between two launches, with an outcome."""
    monkeypatch.setattr(map_run, "FIRST_FUEL", 10)
    launch = map_run.launch
    endless.map([-1], engine="cuda")  # compiled by then
    monkeypatch.setattr(map_run, "launch", lambda *args: (launch(*args), signal.raise_signal(signal.SIGINT)))
    out = endless.map([1], engine="cuda")
    assert (out.status, out.error and out.error.limit) == ("Exhausted", "interrupt")  # type: ignore[attr-defined]


def test_a_trap_that_the_host_does_not_have(monkeypatch: pytest.MonkeyPatch) -> None:
    """If an element traps on the device alone, since last bits of an elementary function differ, the host's results
    are taken, and the other elements are computed."""
    first_failure, codes_changed = map_run.first_failure, list[int]()

    def one_more(codes: Any) -> int | None:
        if not codes_changed:
            codes_changed.append(1)
            codes[1] = thread_code.EXIT_TRAP
        return first_failure(codes)

    monkeypatch.setattr(map_run, "first_failure", one_more)
    agree(tl.function(lambda x: (tl.exp(x), x)), [3.0, 4.0, 5.0])
    codes_changed.clear()
    with pytest.raises(tl.Crash, match="an element trapped on the device, and not on the host"):
        collatz.map([3, 4, 5], engine="cuda")


def test_traps_of_long_elements(monkeypatch: pytest.MonkeyPatch) -> None:
    """`compiled` finds the trap of an element that is too long for the reference."""
    monkeypatch.setattr(map_run, "REPLAY_FIRINGS", 5)
    agree(falling, [0, 1, 0], [1, 0, 0])


@tl.function
def drawn(x: tl.float64) -> tl.float64:
    return x + tl.uniform()


@tl.function
def first_of(x: tl.Array[tl.float64, 3]) -> tl.float64:
    return x[0]


@tl.function
def tripled(x: tl.float64) -> Any:
    return tl.stack([x, x, x])


REFUSALS: list[tuple[Any, dict[str, Any], str]] = [
    (fib, {"schedule": "fifo"}, "it supports only the schedule waves"),
    (fib, {"keep": "events"}, "it keeps no events"),
    (fib, {"k": 2}, "it does not support k-bounds"),
    (drawn, {}, "it has no random numbers, as uniform: frames"),
    (tripled, {}, "it has no kernel for index"),
]


@pytest.mark.parametrize(("function", "options", "why"), REFUSALS, ids=[why for _, _, why in REFUSALS])
def test_refusals(function: tl.Function, options: dict[str, Any], why: str) -> None:
    """Unsupported options and functions are refused before the run starts."""
    with pytest.raises(tl.Usage, match=f"engine cuda cannot run this\n  got: .*{why}"):
        function.map([1, 2, 3] if function is fib else [1.0, 2.0], engine="cuda", **options)


def test_programs_that_are_no_maps() -> None:
    """A map of items that are arrays, or a program that does more than a map, has no threads."""
    with pytest.raises(tl.Usage, match="engine cuda cannot run this"):
        first_of.map(np.ones((2, 3)), engine="cuda")
    more = tl.function(lambda xs: tl.vmap(collatz)(xs) + 1)
    assert find_element_map(more.trace(np.arange(3)).program) is None


def test_check_compares_results() -> None:
    """`runs_without_tokens` tells `tagloom check` that a map has no statistics."""
    traced = tl.vmap(collatz).trace(np.arange(1, 4))
    engine: Any = find_engine("cuda")
    assert engine.runs_without_tokens(Job(traced.graph, traced.structure, traced.program), RunOptions())
    job = Job(fib.graph, default_structure(fib.graph), fib.program)
    assert not engine.runs_without_tokens(job, RunOptions())
    assert engine.runs_without_tokens(job, RunOptions(schedule="lifo"))


@pytest.mark.full
def test_the_examples_of_the_page(monkeypatch: pytest.MonkeyPatch) -> None:
    """The maps on the page of engines have the results below them, computed by threads."""
    monkeypatch.setenv("TAGLOOM_ENGINE", "cuda")
    page = Path(tl.__file__).with_name("docs") / "engines.md"
    summary = doctest.testfile(str(page), module_relative=False, globs={"np": np, "tl": tl})
    assert (summary.failed, summary.attempted) == (0, 4)


COMPILE = """
from types import SimpleNamespace
import numba.cuda.dispatcher
import tagloom as tl
from numba import cuda, float64, int32, int64
from tagloom.interp.engines.cuda import kernels, map_run
from tagloom.interp.engines.cuda.element_map import find_element_map

numba.cuda.dispatcher.get_current_device = lambda: SimpleNamespace(compute_capability=(9, 0))

@tl.function
def fib(n: tl.int64) -> tl.int64:
    return tl.cond(n <= 1, lambda: n, lambda: fib(n - 1) + fib(n - 2))

@tl.function
def poly(x: tl.float64) -> tl.float64:
    return tl.while_loop(lambda k, y: k < 9, lambda k, y: (k + 1, y * x + 1.0), 0, x)[1]

def count_fma(function, arguments):
    return cuda.compile_ptx(function, arguments, device=True, cc=(9, 0))[0].count("fma.")

for function, element in ((fib, int64), (poly, float64)):
    code = map_run.map_code(find_element_map(tl.vmap(function).program))
    module = {}
    exec(map_run.kernel_text(code, is_simulated=False).replace("cache=True", ""), module)
    arguments = element[::1], element[::1], int32[::1], int64[::1], int64, int64, int64[:, ::1], int64, int64
    assert ".visible .entry" in (text := cuda.compile_ptx(module["map_elements"].py_func, arguments, cc=(9, 0))[0])
    assert "fma." not in text and ("mul.rn.f64" in text) == (function is poly)
assert count_fma(lambda x, y: x * y + y, (float64, float64)) == 1
module = dict(kernels.named_device_functions(kernels.called_functions(kernels.text())))
exec(kernels.text(), module)
cuda.compile_ptx(module["traps"].py_func, (int64,) * 3, device=True, cc=(9, 0))
"""


@pytest.mark.full
def test_kernels_compile_for_a_gpu() -> None:
    """Without a device, numba-cuda compiles the kernels of maps to PTX, which contracts no product with a sum."""
    if importlib.util.find_spec("numba_cuda") is None:
        pytest.skip("numba-cuda is not installed: pip install numba-cuda[cu12]")
    environment = {**os.environ, "NUMBA_ENABLE_CUDASIM": "0"}
    subprocess.run([sys.executable, "-c", COMPILE], check=True, env=environment)


# Twins


def test_a_stack_that_forgets_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    """A twin whose frames forget the values of a block is caught by a recursion."""
    twin = tl.function(lambda n: fib(n) - 3 * n)
    monkeypatch.setattr(
        thread_code.StateMachineEmitter,
        "define",
        lambda self, text, type_: thread_code.StackValue(type_, text, self.current),
    )
    out = twin.map([5, 6], engine="cuda")
    assert ending(out) != ending(twin.map([5, 6], engine="reference"))


def test_a_report_of_the_last_trap_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    """A twin that reports the last element that traps is caught."""

    def last_failure(codes: Any) -> int | None:
        failures = np.flatnonzero(codes)
        return int(failures[-1]) if len(failures) else None

    monkeypatch.setattr(map_run, "first_failure", last_failure)
    arguments = [0, 0, 0], [1, 0, -1]
    out = falling.map(*arguments, engine="cuda")
    assert ending(out) != ending(falling.map(*arguments, engine="reference"))


def test_products_are_rounded() -> None:
    """No product of floats is an operator in generated code: a device would contract it with a sum."""
    program = find_element_map(tl.vmap(mandelbrot).program)
    assert program is not None
    text = map_run.map_code(program).code.text
    assert "*" not in text and text.count("exact_product(") == 6
    assert "k_wrapping_mul(" in thread_code.emit_program(tl.function(lambda n: n * n).trace(3).program).text


def test_runs_share_code() -> None:
    """The code of a program is generated once."""
    element_map = find_element_map(tl.vmap(fib).program)
    assert element_map is not None
    assert map_run.map_code(element_map) is map_run.map_code(element_map)
    assert isinstance(MapRun(element_map, tl.vmap(fib).graph, [np.arange(3)], Limits()).present, int)
