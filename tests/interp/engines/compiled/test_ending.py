"""How compiled runs end: at traps, at every limit, and at Ctrl-C; none crashes the process."""

from __future__ import annotations

import time
from typing import Any

import numpy as np
import pytest
import tagloom as tl
from support.laws.compiled_laws import differences
from support.observe.lateness import is_soon
from support.programs.compiled_child import in_a_process
from support.programs.compiled_programs import count, counting, divided, drawing, forever, looped, nested, tree
from tagloom.interp.engines.compiled import engine
from tagloom.interp.engines.compiled.run import run_compiled
from tagloom.interp.engines.limits import Limits
from tagloom.interp.outcome.outcome import Outcome
from tagloom.interp.records.documents import to_outcome_record

DEEP = Limits(depth=10**9)


def run(function: tl.Function, *arguments: Any, **options: Any) -> Outcome:
    return run_compiled(function.program, function.graph, arguments, **options)


@pytest.mark.full
@pytest.mark.parametrize(
    ("function", "inputs"),
    [(divided, [0, 8, 5]), (looped, [3, 100, 12]), (drawing, [3])],
    ids=lambda v: getattr(v, "name", ""),
)
def test_the_first_trap_is_reported(function: tl.Function, inputs: list[int]) -> None:
    """S5: the first trap, its operands and its calls are reported in the reference's words."""
    for argument in inputs:
        assert not list(differences(function.program, function.graph, [argument]))


@pytest.mark.full
def test_trap_at_the_bottom() -> None:
    """The tag of a trap is as deep as the calls."""

    @tl.function
    def deep(n: tl.int64) -> tl.int64:
        return tl.cond(n <= 0, lambda: 1 // n, lambda: deep(n - 1) + 1)

    outcome = run(deep, 20_000)
    assert outcome.status == "Trapped" and outcome.trap_events[0].token.tag.depth == 20_000
    assert str(outcome.error) == str(deep.run(20_000, engine="reference").error)


@pytest.mark.inner(first=1)
@pytest.mark.parametrize(("function", "depth"), [(count, 100), (nested, 201)], ids=["calls", "loops"])
def test_depth_is_exact(function: tl.Function, depth: int) -> None:
    """S12: a run one level deeper than the limit is Exhausted, as on the reference; calls and loops count."""
    for limit in (depth - 1, depth, depth + 1):
        limits = Limits(depth=limit)
        one, other = function.run(100, limits=limits, engine="reference"), run(function, 100, limits=limits)
        assert (one.status, one.results) == (other.status, other.results)
        assert str(one.error) == str(other.error)
    assert run(function, 100, limits=Limits(depth=depth - 1)).error.limit == "depth"  # type: ignore[union-attr]


@pytest.mark.full
@pytest.mark.parametrize("function", [forever, counting, tree], ids=lambda function: function.name)
def test_a_limit_on_seconds_ends_any_run(function: tl.Function) -> None:
    """A limit on seconds ends a run anywhere: in counting loops, in other loops, and in calls."""
    run(function, 1, limits=Limits(seconds=0.0))
    begin = time.monotonic()
    outcome = run(function, 2**40, limits=Limits(seconds=0.1, depth=60))
    assert time.monotonic() - begin < 20
    assert outcome.status == "Exhausted" and outcome.error is not None
    assert outcome.error.limit == ("depth" if function is tree else "seconds")  # type: ignore[attr-defined]
    tall = run(tree, 50, limits=Limits(seconds=0.1))
    assert tall.error.limit == "seconds"  # type: ignore[union-attr]


@pytest.mark.full
def test_a_limit_on_seconds_ends_a_loop_of_products() -> None:
    """A counting loop with matrix products checks its seconds after each product, not after thousands."""

    @tl.function
    def powers(x: tl.Array[tl.float64, None, None], n: tl.int64) -> tl.Array[tl.float64, None, None]:
        return tl.while_loop(lambda i, y: i < n, lambda i, y: (i + 1, tl.matmul(x, y)), 0, x)[1]

    x = np.full((500, 500), 0.001)
    powers.run(x, 1, engine="compiled")

    def seconds_of_a_run() -> float:
        begin = time.monotonic()
        assert powers.run(x, 4000, engine="compiled", limits=Limits(seconds=0.2)).status == "Exhausted"
        return time.monotonic() - begin

    assert is_soon(seconds_of_a_run, 3.0)


@tl.function
def table(x: tl.Array[tl.float64, None, 1], y: tl.Array[tl.float64, None]) -> tl.Array[tl.float64, None, None]:
    return (x + y) * y


@pytest.mark.full
def test_a_limit_on_seconds_ends_a_broadcast() -> None:
    """Broadcasting to another shape checks the seconds on the way."""
    x, y = np.zeros((20_000, 1)), np.zeros(20_000)
    run(table, x[:2], y[:2])

    def seconds_of_a_run() -> float:
        begin = time.monotonic()
        outcome = run(table, x, y, limits=Limits(seconds=0.05, bytes=2**50))
        assert outcome.status == "Exhausted" and outcome.error.limit == "seconds"  # type: ignore[union-attr]
        return time.monotonic() - begin

    assert is_soon(seconds_of_a_run, 0.6)


@tl.function
def waiting(n: tl.int64) -> tl.int64:
    """A loop, then a get before its put; the loop decides of which cell."""
    last = tl.while_loop(lambda i, x: i < n, lambda i, x: (i + 1, x * (x + 3) + 1), 0, 1)[1]
    a = tl.cells(2, tl.int64)
    got = a[tl.where(last < 0, 1, 0)]
    tl.put(tl.put(a, 0, n), 1, n)
    return got


@pytest.mark.full
def test_a_restarted_run_has_the_remaining_seconds() -> None:
    """A run that restarts on `fast` has only the remaining seconds."""
    n = 40_000_000
    assert waiting.run(3, engine="compiled").engine == "fast"
    spent: list[float] = []
    right = engine.run_on_one_core

    def noted(subject: Any, arguments: Any, options: Any, seconds: float) -> Outcome:
        spent.append(seconds)
        return right(subject, arguments, options, seconds)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(engine, "run_on_one_core", noted)
        outcome = waiting.run(n, engine="compiled", limits=Limits(seconds=1.0, firings=10**12))
    assert outcome.error.limit == "seconds" and 0.01 < spent[0] < 1.0  # type: ignore[union-attr]


def test_disabled_numba_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    """If the environment disables numba, the engine says so, even for compiled programs, which may need to compile
    more; `auto` runs on the reference."""
    assert count.run(3, engine="compiled").value == 3
    monkeypatch.setenv("NUMBA_DISABLE_JIT", "1")
    for name in ("fast", "compiled"):
        with pytest.raises(tl.Usage, match="NUMBA_DISABLE_JIT"):
            count.run(3, engine=name)
    assert count.run(3).engine == "reference"
    monkeypatch.setenv("NUMBA_DISABLE_JIT", "0")
    assert count.run(3, engine="compiled").value == 3


def test_a_limit_on_bytes_ends_a_run() -> None:
    """The limit on the process's memory ends a run before it begins."""
    outcome = run(count, 10, limits=Limits(bytes=1000))
    assert outcome.status == "Exhausted" and outcome.error.limit == "bytes"  # type: ignore[union-attr]


def test_the_outcome_says_what_is_unknown() -> None:
    """The outcome has the usual fields, and says which of them are unknown."""
    outcome = run(count, 10)
    assert (outcome.status, outcome.value, outcome.engine, outcome.schedule) == (
        "Returned",
        10,
        "compiled",
        "sequential",
    )
    assert outcome.residue == () and outcome.traps == () and outcome.missing == ()
    with pytest.raises(tl.Usage, match="measured nothing"):
        _ = outcome.firings
    with pytest.raises(tl.Usage, match="kept no events"):
        _ = outcome.events
    reply = to_outcome_record(outcome)
    assert reply.firings is None and reply.stats is None and reply.results[0] is not None


@pytest.mark.full
def test_ctrl_c_ends_a_run() -> None:
    """Ctrl-C ends a run within 0.2 s, with an outcome; the process continues."""
    code = """
for function in (forever, counting):
    run(function, 1, limits=Limits(seconds=0.0))
    def seconds_late():
        pressed = press_in_a_run(0.3)
        outcome = run(function, 2**60)
        late = time.perf_counter() - pressed[0]
        assert (outcome.status, outcome.error.limit) == ("Exhausted", "interrupt")
        return late
    print(is_soon(seconds_late, 0.2))
"""
    assert in_a_process(code) == ["True"] * 2


BIG = """
import random
def wide(size, seed):
    '''A recursion on many arguments, all alive across two calls.'''
    dice = random.Random(seed)
    names = [f"x{k}" for k in range(size)]
    lines = ["func wide(n: int64, " + ", ".join(f"{x}: float64" for x in names) + ") -> float64 {"]
    lines += [" small = less_equal n, 0", f" r = cond small, n, {', '.join(names)} " + "{"]
    typed = ", ".join(f"{x}: float64" for x in names)
    lines += [f"  then(m: int64, {typed}) {{ yield x0 }}", f"  else(m: int64, {typed}) {{", "   k = subtract m, 1"]
    lines += [f"   y{k} = add x{k}, x{dice.randrange(size)}" for k in range(size)]
    lines += [f"   a = call wide k, {', '.join(f'y{k}' for k in range(size))}"]
    lines += [f"   z{k} = {dice.choice(['add', 'multiply', 'maximum'])} y{k}, a" for k in range(size)]
    lines += [f"   b = call wide k, {', '.join(f'z{k}' for k in range(size))}", "   s0 = add a, b"]
    lines += [f"   s{k + 1} = add s{k}, z{k}" for k in range(size)]
    lines += [f"   yield s{size}", "  }", " }", " return r", "}"]
    return tl.parse_program("\\n".join(lines))
def deep(size, seed, depth):
    program = wide(size, seed)
    graph = tl.lower(program)
    outcome = run_compiled(program, graph, [10**9] + [1.0] * size, limits=Limits(depth=depth, seconds=60.0))
    print(outcome.status, outcome.error.limit)
"""


@pytest.mark.full
def test_deep_recursion_never_crashes() -> None:
    """A recursion ends Exhausted, and never in a crash, for every frame size and limit on depth."""
    code = f"{BIG}\nfor size in (1, 50):\n    deep(size, 1, 10**9)\nprint(run(count, 10**9, limits=DEEP).status)"
    assert in_a_process(code) == ["Exhausted", "stack"] * 2 + ["Exhausted"]


@pytest.mark.heavy
@pytest.mark.timeout(1200)
@pytest.mark.parametrize("seed", range(2))
def test_recursion_with_any_frame_never_crashes(seed: int) -> None:
    """Recursions with frames of all sizes never crash, on threads with less stack than requested too."""
    code = f"{BIG}\nfor size in (2, 7, 30, 80, 400):\n    deep(size + {seed}, {seed}, 10**9)"
    assert in_a_process(code, 600.0) == ["Exhausted", "stack"] * 5
