"""Gradients on the compiled engine: later phases of a function read the records of earlier ones."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest
import tagloom as tl
from hypothesis import Phase, given, settings
from hypothesis import strategies as st
from support.generators.effect_programs import act_cases
from support.generators.generator import Case, cases
from support.generators.gradient_programs import differentiate
from support.laws.compiled_laws import function_differences, run_trial
from support.programs.gradient_functions import GRADIENTS, nested, power
from support.twins.compiled_twins import broken
from tagloom.core.errors import Invalid
from tagloom.core.graph.lower import lower
from tagloom.interp.engines.compiled import call_buffer
from tagloom.interp.engines.compiled.call_buffer import CallBuffer
from tagloom.interp.engines.compiled.support import unsupported_program
from tagloom.interp.engines.jit.state import TAPE_HIGH_WATER, TAPE_NEXT
from tagloom.interp.engines.limits import resident_memory

KINDS: dict[str, st.SearchStrategy[Case]] = {
    "plain": cases(floats=True, exact=True),
    "arrays": cases(floats=True, exact=True, arrays=True),
    "cells": act_cases(exact=True, without=frozenset({"effects"}), early=False),
    "effects": act_cases(exact=True, without=frozenset({"cells"})),
}


def check(case: Case, order: int) -> str:
    """What the derivative of a program was compared with; fails if it differs."""
    try:
        derived = differentiate(case, order)
    except Invalid as error:
        assert error.rule in ("D1", "D4")
        return "refused"
    if derived is None:
        return "no floats"
    assert unsupported_program(derived.program) is None
    by, actual = run_trial(derived.program, lower(derived.program), derived.arguments)
    assert not actual
    return by


@settings(max_examples=2, phases=[Phase.generate])
@given(KINDS["plain"])
def test_gradients_of_generated_programs(case: Case) -> None:
    """Values and adjoints are the reference's bit for bit, or its first trap word for word."""
    check(case, 1)


@pytest.mark.heavy
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("order", [1, 2])
@pytest.mark.parametrize("kind", KINDS)
def test_gradients_of_many_generated_programs(kind: str, order: int) -> None:
    """First and second derivatives of all kinds of generated programs agree; most can be compared."""
    by = Counter[str]()

    @settings(max_examples={"cells": 50, "effects": 30}.get(kind, 5))
    @given(KINDS[kind])
    def compared(case: Case) -> None:
        by[check(case, order)] += 1

    compared()
    assert by["reference"] and not by["nothing"]


@tl.function
def cube(x: tl.float64) -> tl.float64:
    return x * x * x


@tl.function
def both_ways(n: tl.int64) -> tl.float64:
    """Calls whose pullbacks run in another order than a stack's, repeatedly."""

    def step(k: Any, s: Any) -> Any:
        x = tl.astype(k, tl.float64) * 0.25 + 0.5
        (y, back), (z, again) = tl.vjp(cube, x), tl.vjp(cube, x + 2.0)
        (dy,), (dz,) = back(s), again(y)
        return k + 1, s + 0.01 * (dy * z + dz)

    return tl.while_loop(lambda k, s: k < n, step, 0, 1.0)[1]


@tl.function
def descent(x: tl.float64, n: tl.int64) -> tl.float64:
    """Gradients inside a loop that is differentiated itself."""
    return tl.while_loop(lambda k, x: k < n, lambda k, x: (k + 1, x - 0.05 * tl.grad(nested)(x, 3)), 0, x)[1]


@tl.function
def scanned(x: tl.Array[tl.float64, 3]) -> tl.float64:
    """Arrays of fixed sizes in records, and cells."""

    def step(state: Any, y: Any) -> Any:
        result = state * y + x
        return result, result * state

    last, states = tl.scan(step, tl.ones(3), tl.stack([x, x * 0.5, x + 1.0]))
    return tl.sum(states * last)


@tl.function
def halved(x: tl.Array[tl.float64, None]) -> tl.float64:
    """Arrays of open sizes in the records of a recursion."""
    middle = tl.size(x) // 2

    def apart() -> Any:
        first, last = tl.arange(0, middle, 1), tl.arange(middle, tl.size(x), 1)
        return halved(tl.take(x, first, axis=0)) * tl.sum(x) + halved(tl.take(x, last, axis=0))

    return tl.cond(tl.size(x) <= 1, lambda: tl.sum(x * x), apart)


@tl.function
def even_part(x: tl.float64, n: tl.int64) -> tl.float64:
    return tl.cond(n == 0, lambda: x, lambda: odd_part(x * x * 0.5, n - 1) * x)


@tl.function
def odd_part(x: tl.float64, n: tl.int64) -> tl.float64:
    return tl.cond(n == 0, lambda: tl.sin(x), lambda: x + even_part(tl.cos(x), n - 1))


@tl.function
def falling(x: tl.float64, n: tl.int64) -> tl.float64:
    """A loop that traps in the third iteration of its reverse pass."""

    def step(k: Any, y: Any) -> Any:
        back = lambda adjoint: adjoint * tl.astype(12 // (k - 2), tl.float64)  # noqa: E731
        return k + 1, tl.custom_gradient(lambda z: (z * 0.5, back))(y)

    return tl.while_loop(lambda k, y: k < n, step, 0, x)[1]


@tl.function
def falling_slope(x: tl.float64, n: tl.int64) -> tl.float64:
    return tl.cond(n <= 2, lambda: falling(x, 3), lambda: falling_slope(x * x, n - 1) + x)


GRADS: dict[str, tuple[tl.Function, tuple[Any, ...]]] = {
    **GRADIENTS,
    "both ways": (both_ways, (4,)),
    "descent": (tl.grad(descent), (0.7, 3)),
    "mutual": (tl.grad(tl.grad(even_part)), (0.4, 3)),
    "falls": (tl.grad(falling_slope), (0.4, 5)),
    "scanned": (tl.value_and_grad(scanned), ([0.5, -0.25, 2.0],)),
    "halved": (tl.value_and_grad(halved), ([0.5, -0.25, 2.0, 1.5, 3.0],)),
}
SLOW = ("nested", "descent", "mutual", "scanned", "halved")
"""Those that take the longest to compile."""


@pytest.mark.full(first=3)
@pytest.mark.parametrize("name", [pytest.param(each, marks=[pytest.mark.heavy] * (each in SLOW)) for each in GRADS])
def test_gradients(name: str) -> None:
    """Gradients agree with the reference: recursion, loops, branches, second orders, gradients in differentiated loops,
    traps in the reverse pass, arrays, and pullbacks in any order."""
    assert not function_differences(*GRADS[name])


TWINS = {
    "records lie upon each other": (
        r"(v\d+) = (m\.allocate_words\(s, 4\))",
        r"\1 = \2; m.write(s, 9, \1)",
        "power",
    ),
    "a record ends with its first phase": (
        r"(v\d+ = f\d+_cube_split\(s, left - \d, int64\((v\d+)\), .*\))",
        r"\1; m.write(s, 9, \2)",
        "both ways",
    ),
    "a value is read from the place of another": (r"m\.read_f\((\w+), (\d+)\)", r"m.read_f(\1, \2 + 1)", "power"),
    "all that goes back is in the last iteration": (r"(v\d+) = m\.read_i\(\1, 0\)", r"\1 = \1", "power"),
    "the first iteration does not go back": (r"while (n\d+) >= 0:", r"while \1 >= 1:", "power"),
    "a branch is forgotten": (r"= m\.read_b\(.*\)", "= True", "nested"),
    "all that goes forth again is in the first": (r"(v\d+) = m\.read_i\(\1, 1\)", r"\1 = \1", "second"),
    "trips back are miscounted": (
        r"m\.record_tag_step\(s, (\d+), (n\d+)\)",
        r"m.record_tag_step(s, \1, \2 + 1)",
        "falls",
    ),
}


QUICK = ("a record ends with its first phase", "all that goes back is in the last iteration", "a branch is forgotten")


@pytest.mark.full
@pytest.mark.parametrize(
    "twin", [twin if twin in QUICK else pytest.param(twin, marks=pytest.mark.heavy) for twin in TWINS]
)
def test_twin_is_caught(twin: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every twin with broken records differs from the reference."""
    pattern, instead, name = TWINS[twin]
    broken(monkeypatch, pattern, instead)
    assert function_differences(*GRADS[name])


def peak_of_records(monkeypatch: pytest.MonkeyPatch, function: tl.Function, *arguments: Any) -> int:
    """The most bytes of records during a run."""
    words: list[tuple[CallBuffer, int]] = []
    lent = call_buffer.RecordArena

    def noted(of: CallBuffer, size: int) -> Any:
        result = lent(of, size)
        words.append((of, size))
        return result

    monkeypatch.setattr(call_buffer, "RecordArena", noted)
    assert function.run(*arguments, engine="compiled").status == "Returned"
    ((results, _),) = words
    return int(results.state[TAPE_HIGH_WATER] - results.state[TAPE_NEXT])


@pytest.mark.full
@pytest.mark.parametrize("twin", ["", r"m\.release\(s, v.*\)"])
def test_records_are_freed_in_each_iteration(twin: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The records of a loop's gradients are freed in each iteration; a twin that frees none is caught."""
    if twin:
        broken(monkeypatch, twin, "pass")
    with monkeypatch.context() as patch:
        few = peak_of_records(patch, both_ways, 2)
    with monkeypatch.context() as patch:
        many = peak_of_records(patch, both_ways, 200)
    assert (many > 10 * few) == bool(twin)


@pytest.mark.full
def test_arrays_in_records_are_freed() -> None:
    """Arrays in records are freed, whether the run ends with results, a trap or a limit."""
    from numba.core.runtime import _nrt_python, rtsys

    _nrt_python.memsys_enable_stats()
    gradient = tl.grad(rows)
    gradient.run([1.0, 2.0], 5, engine="compiled")
    before = alive(rtsys)
    for count, limits, status in ((5, None, "Returned"), (30, None, "Trapped"), (30, tl.Limits(depth=4), "Exhausted")):
        assert gradient.run([1.0, 2.0], count, engine="compiled", limits=limits).status == status
        assert alive(rtsys) == before


def alive(runtime: Any) -> int:
    """The number of memory blocks that compiled code holds."""
    stats = runtime.get_allocation_stats()
    return int(stats.mi_alloc - stats.mi_free)


@tl.function
def rows(x: tl.Array[tl.float64, None], n: tl.int64) -> tl.float64:
    """A recursion that traps at its deepest call."""
    return tl.cond(n == 0, lambda: tl.sum(x), lambda: rows(x * tl.astype(60 // (25 - n), tl.float64), n - 1))


@pytest.mark.full
def test_records_count_for_the_limit_on_bytes() -> None:
    """Records count for the limit on bytes, which ends the run before memory does."""
    gradient, limits = tl.grad(power), tl.Limits(bytes=resident_memory() + 2**27)
    ended = gradient.run(0.5, 10**9, engine="compiled", limits=limits)
    assert (ended.status, getattr(ended.error, "limit", None)) == ("Exhausted", "bytes")
    assert gradient.run(1.0, 10**5, engine="compiled", limits=limits).value == 10**5


@pytest.mark.full
def test_auto_compiles_gradients() -> None:
    """`auto` runs gradients on `compiled` if only a value is requested."""
    gradient = tl.grad(power)
    assert gradient.run(1.0, 10, engine="compiled").value == gradient(1.0, 10) == 10.0
    assert gradient(1.0, 10**6) == 10**6
