"""The result type of a function depends on the function and its callees, and not on its callers or on the order of
traces."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest
import tagloom as tl
from hypothesis import example, given, settings
from hypothesis import strategies as st
from tagloom.interp.function.function import TracedProgram

NAMES = ("f", "g", "h")
ARGUMENTS = np.int64(3), np.float32(1)
Types = dict[str, str]

LEAVES = st.sampled_from(["0", "1", "0.5", "x"]) | st.sampled_from(NAMES).map(lambda name: f"{name}(n - 1, x)")


def _grown(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    joined = st.sampled_from(["({} + {})", "({} * {})", "tl.cond(n < 3, lambda: {}, lambda: {})"])
    return st.builds(str.format, joined, inner, inner)


BODIES = st.tuples(
    *[st.tuples(st.sampled_from(["0", "1", "0.5", "x"]), st.recursive(LEAVES, _grown, max_leaves=5))] * 3
)


def source(bodies: tuple[tuple[str, str], ...], results: Types) -> str:
    """Three functions that call each other."""
    return "".join(
        f"@tl.function\ndef {name}(n, x){f' -> tl.{results[name]}' if name in results else ''}:\n"
        f"    return tl.cond(n <= 0, lambda: {end}, lambda: {further})\n"
        for name, (end, further) in zip(NAMES, bodies, strict=True)
    )


def result_types(text: str, names: tuple[str, ...]) -> Types | None:
    """The result types of functions in a program that calls them in this order; None if it is refused."""
    scope: dict[str, Any] = {"tl": tl}
    exec(f"{text}@tl.function\ndef main(n, x):\n    return ({', '.join(f'{name}(n, x)' for name in names)},)\n", scope)
    try:
        traced: TracedProgram = scope["main"].trace(*ARGUMENTS)
    except tl.Invalid:
        return None
    return dict(zip(names, map(str, traced.program.main.results), strict=True))


TURNS = (
    ("x", "1"),
    ("0", "((f(n - 1, x) + h(n - 1, x)) * 0.5)"),
    ("1", "(tl.cond(n < 3, lambda: 1, lambda: 1) * (g(n - 1, x) * 0.5))"),
)
"""Each of g and h is a number only as long as the other is not known: once settled, a type has to stand."""


@settings(max_examples=40)
@given(BODIES)
@example(TURNS)
def test_types_do_not_depend_on_the_order(bodies: tuple[tuple[str, str], ...]) -> None:
    """Whichever function is traced first, all have the same types, which each also has alone, and which are accepted as
    annotations. If one order is refused, all are, and so is one function alone."""
    text = source(bodies, {})
    together = [result_types(text, order) for order in itertools.permutations(NAMES)]
    alone = [result_types(text, (name,)) for name in NAMES]
    assert all(types == together[0] for types in together)
    if together[0] is None:
        assert None in alone
    else:
        assert alone == [{name: together[0][name]} for name in NAMES]
        assert result_types(source(bodies, together[0]), NAMES) == together[0]


@settings(max_examples=40)
@given(BODIES)
def test_unannotated_functions_are_accepted(bodies: tuple[tuple[str, str], ...]) -> None:
    """If annotated functions are accepted, so are the same ones without annotations, unless a function returns Python
    numbers only and the annotation has another type."""
    text = source(bodies, {})
    if result_types(text, NAMES) is not None:
        return
    alone = {name: types[name] for name in NAMES if (types := result_types(text, (name,))) is not None}
    for dtypes in itertools.product(("int64", "float32", "float64"), repeat=len(NAMES)):
        annotated = dict(zip(NAMES, dtypes, strict=True))
        if result_types(source(bodies, annotated), NAMES) is not None:
            assert any(annotated[name] != type_ for name, type_ in alone.items())


CASES: dict[str, tuple[str, Types]] = {
    "a sum of numbers": ("f(n-1, x) + f(n-1, x) + x", {"f": "float32"}),
    "the same in another order": ("x + f(n-1, x) + f(n-1, x)", {"f": "float32"}),
    "a product with a scalar": ("f(n-1, x) * f(n-1, x) * np.float32(1.5)", {"f": "float32"}),
    "by way of a function": ("same(f(n-1, x)) * x", {"f": "float32"}),
    "by a loop": ("tl.while_loop(lambda s: s < 3, lambda s: s * x, f(n-1, x))[0]", {"f": "float32"}),
    "by a loop of numbers": ("tl.while_loop(lambda s: s < 3, lambda s: s * 2, f(n-1, x))[0] * x", {"f": "float32"}),
    "by way of where": ("tl.where(n < 3, f(n-1, x), 2) * x", {"f": "float32"}),
    "a comparison is no number": ("tl.where(f(n-1, x) < f(n-1, x), 1, 2)", {"f": "int64"}),
    "a conversion is no number": ("tl.astype(f(n-1, x), tl.int64)", {"f": "int64"}),
    "a function of numbers only": ("k(n) + 1", {"f": "int64"}),
    "an int that becomes a float": ("f(n-1, x) * 0.5", {"f": "float64"}),
    "a dtype that is narrow while a number is not settled": ("tl.astype(n, tl.int8) + k(n)", {"f": "int64"}),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_python_numbers_take_dtypes_on_their_way(name: str) -> None:
    """A returned Python number takes the dtype that it meets on its way, through operations, calls and loops; without
    one, it has its own."""
    body, types = CASES[name]
    helpers = "@tl.function\ndef same(y): return y\n"
    helpers += "@tl.function\ndef k(n): return tl.cond(n < 1, lambda: 1, lambda: k(n - 1))\n"
    text = (
        f"import numpy as np\n{helpers}@tl.function\ndef f(n, x): return tl.cond(n <= 0, lambda: 0, lambda: {body})\n"
    )
    assert result_types(text, ("f",)) == types
    result = types["f"]
    assert result_types(text.replace("def f(n, x)", f"def f(n, x) -> tl.{result}"), ("f",)) == types


def test_an_int_and_a_float_in_mutual_recursion() -> None:
    """Two functions that call each other have the same types, whichever is called first."""

    @tl.function
    def f(n: tl.int64):  # type: ignore[no-untyped-def]
        return tl.cond(n <= 0, lambda: 0.5, lambda: g(n - 1) + g(n - 1))

    @tl.function
    def g(n: tl.int64):  # type: ignore[no-untyped-def]
        return tl.cond(n <= 0, lambda: 0, lambda: f(n - 1))

    assert f.program.main.results == g.program.main.results == (tl.Type(tl.float64),)
    assert (f(2), f(3), g(2), g(3)) == (1.0, 0.0, 0.0, 1.0)


def test_the_error_is_the_users() -> None:
    """A refusal is at the line of the mistake, and not at its consequences."""

    @tl.function
    def f(n: tl.int64):  # type: ignore[no-untyped-def]
        further = tl.cond(n <= 0, lambda: 1, lambda: g(n - 1))
        return further + 1

    @tl.function
    def g(n: tl.int64):  # type: ignore[no-untyped-def]
        return tl.cond(n <= 0, lambda: f(n - 1), lambda: tl.sqrt(n))  # the mistake

    line = g._python.__code__.co_firstlineno + 2
    for function in (f, g):
        with pytest.raises(tl.Invalid, match="sqrt") as refused:
            function.program  # noqa: B018 - tracing is what it does
        assert refused.value.rule == "V4" and str(refused.value.where) == f"test_inference_laws.py:{line}"


def test_an_exception_after_a_mistake() -> None:
    """A mistake in types is reported instead of the Python exception that followed from it."""

    @tl.function
    def f(n: tl.int64):  # type: ignore[no-untyped-def]
        kept: list[Any] = []
        tl.cond(n > 0, lambda: kept.append(tl.sqrt(n)) or 1, lambda: 1)  # type: ignore[func-returns-value]
        return kept[0]

    with pytest.raises(tl.Invalid, match="sqrt"):
        f.program  # noqa: B018
