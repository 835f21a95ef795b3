"""Result types of functions are inferred through recursion of every kind: least fixed points, found in rounds."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
import pytest
import tagloom as tl
from hypothesis import given
from hypothesis import strategies as st
from tagloom.core.frontend.trace import program_builder as inference
from tagloom.core.program.program import FunctionDef, Program, Region
from tagloom.core.value import is_same_value

OPEN = tl.Array[tl.float64, None]


def without_locations(program: Program) -> Program:
    """A program without the lines that it comes from."""

    def region(inner: Region) -> Region:
        nodes = [replace(n, location=None, regions=tuple(map(region, n.regions))) for n in inner.nodes]
        return replace(inner, nodes=tuple(nodes))

    def function(inner: FunctionDef) -> FunctionDef:
        return replace(inner, location=None, body=region(inner.body))

    return replace(program, functions=tuple(map(function, program.functions)))


HEAD = "@tl.function\ndef {name}({parameters}){result}:\n"
SOURCES: dict[str, list[tuple[str, str, str, str]]] = {
    "fib": [("fib", "n: tl.int64", "tl.int64", "tl.cond(n <= 1, lambda: n, lambda: fib(n - 1) + fib(n - 2))")],
    "factorial of a literal": [("f", "n: tl.int64", "tl.int64", "tl.cond(n < 1, lambda: 1, lambda: n * f(n - 1))")],
    "a narrow factorial": [("f", "n: tl.int16", "tl.int16", "tl.cond(n < 1, lambda: 1, lambda: n * f(n - 1))")],
    "a power": [("f", "x: tl.float32", "tl.float32", "tl.cond(x < 1, lambda: 1, lambda: x * f(x / 2))")],
    "a literal only": [("f", "n: tl.int64", "tl.int64", "tl.cond(n < 1, lambda: 1, lambda: f(n - 1))")],
    "an int and a float": [("f", "n: tl.int64", "tl.float64", "tl.cond(n < 1, lambda: 1, lambda: 0.5 * f(n - 1))")],
    "the first branch recurs": [("f", "n: tl.int64", "tl.int64", "tl.cond(n > 0, lambda: f(n - 1) + 2, lambda: n)")],
    "a literal by way of another branch": [
        (
            "f",
            "x: tl.float32",
            "tl.float32",
            "tl.cond(x < 1, lambda: 1, lambda: tl.cond(x < 2, lambda: f(x / 2), lambda: x * f(x / 2)))",
        )
    ],
    "literals of three kinds": [
        (
            "f",
            "x: tl.float32",
            "tuple[tl.int64, tl.float64, tl.float32, tl.bool]",
            "tl.cond(x < 1, lambda: (1, 1.0, 1, True), lambda: (*f(x / 2)[:2], x * f(x / 2)[2], f(x / 2)[3]))",
        )
    ],
    "a literal that another function makes": [
        ("f", "n: tl.int8", "tl.int8", "tl.cond(n < 1, lambda: g(n), lambda: n + f(n - 1) + g(n))"),
        ("g", "n: tl.int8", "tl.int8", "tl.cond(n < 1, lambda: 1, lambda: n * g(n - 1))"),
    ],
    "ackermann": [
        (
            "ack",
            "m: tl.int64, n: tl.int64",
            "tl.int64",
            "tl.cond(m == 0, lambda: n + 1, lambda: tl.cond(n == 0, lambda: ack(m - 1, 1), "
            "lambda: ack(m - 1, ack(m, n - 1))))",
        )
    ],
    "even and odd": [
        ("even", "n: tl.int64", "tl.bool", "tl.cond(n == 0, lambda: True, lambda: odd(n - 1))"),
        ("odd", "n: tl.int64", "tl.bool", "tl.cond(n == 0, lambda: False, lambda: even(n - 1))"),
    ],
    "three in a ring, one of which ends": [
        ("f", "n: tl.int64", "tl.int64", "g(n - 1)"),
        ("g", "n: tl.int64", "tl.int64", "h(n) + 1"),
        ("h", "n: tl.int64", "tl.int64", "tl.cond(n < 0, lambda: n, lambda: f(n) * 2)"),
    ],
    "a loop in recursion in a loop": [
        (
            "f",
            "n: tl.int64",
            "tl.int64",
            "tl.while_loop(lambda i, s: i < n, lambda i, s: (i + 1, s + g(n - 1)), 0, 1)[1]",
        ),
        (
            "g",
            "n: tl.int64",
            "tl.int64",
            "tl.while_loop(lambda i, s: i < f(n - 1), lambda i, s: (i + 1, s + f(n - 1)), 0, n)[1]",
        ),
    ],
    "a condition that recurs": [
        (
            "f",
            "n: tl.int64",
            "tl.int64",
            "tl.while_loop(lambda i: i < tl.cond(n < 1, lambda: n, lambda: f(n - 1) + 1), lambda i: i + 1, 0)[0]",
        )
    ],
    "several results": [
        (
            "f",
            "n: tl.int64",
            "tuple[tl.int64, tl.bool]",
            "tl.cond(n < 1, lambda: (n, True), lambda: (f(n - 1)[0], ~f(n - 1)[1]))",
        )
    ],
    "many callees": [
        ("f", "n: tl.int64", "tl.int64", "a(n) + b(n) + a(n * 1)"),
        ("a", "n: tl.int64", "tl.int64", "c(n) + b(n)"),
        ("b", "n: tl.int64", "tl.int64", "c(n)"),
        ("c", "n: tl.int64", "tl.int64", "n + 1"),
    ],
    "a size that opens": [
        ("f", "n: tl.int64", "OPEN", "tl.cond(n < 1, lambda: np.zeros(1), lambda: f(n - 1) + np.ones(3))")
    ],
    "sizes that open one after another": [
        ("f", "n: tl.int64", "OPEN", "tl.cond(n < 1, lambda: np.zeros(1), lambda: g(n - 1))"),
        ("g", "n: tl.int64", "OPEN", "tl.cond(n < 1, lambda: np.zeros(2), lambda: h(n - 1))"),
        ("h", "n: tl.int64", "OPEN", "tl.cond(n < 1, lambda: np.zeros(3), lambda: f(n - 1))"),
    ],
    "a shape that opens": [
        (
            "f",
            "n: tl.int64",
            "tl.Type(tl.float64, None)",
            "tl.cond(n < 1, lambda: np.zeros(2), lambda: f(n - 1) + np.ones((2, 2)))",
        )
    ],
}


def first_function(name: str, *, annotated: bool) -> tl.Function:
    """The first function of a row, with or without the annotations of the results."""
    scope: dict[str, Any] = {"tl": tl, "np": np, "OPEN": OPEN}
    for function, parameters, result, body in SOURCES[name]:
        head = HEAD.format(name=function, parameters=parameters, result=f" -> {result}" if annotated else "")
        exec(f"{head}    return {body}\n", scope)
    first_function: tl.Function = scope[SOURCES[name][0][0]]
    return first_function


@pytest.mark.inner(first=9)
@pytest.mark.parametrize("name", SOURCES)
def test_inference_gives_the_annotated_program(name: str) -> None:
    """A function without result types becomes the program that it is with the right annotations, name for name."""
    inferred, annotated = first_function(name, annotated=False), first_function(name, annotated=True)
    assert without_locations(inferred.program) == without_locations(annotated.program)
    two = [2] * len(inferred.source.leaf_parameters())
    assert is_same_value(inferred.run(*two).results[0], annotated.run(*two).results[0])


NAMES = ("f", "g", "h")
GeneratedExpression = tuple[str, frozenset[str], Callable[[set[str]], bool]]
"""An expression as text, the functions that it calls, and whether it has a type when those of a set have one."""


def _sum(one: GeneratedExpression, other: GeneratedExpression) -> GeneratedExpression:
    return f"({one[0]} + {other[0]})", one[1] | other[1], lambda typed: one[2](typed) and other[2](typed)


def _cond(one: GeneratedExpression, other: GeneratedExpression) -> GeneratedExpression:
    text = f"tl.cond(n < 2, lambda: {one[0]}, lambda: {other[0]})"
    return text, one[1] | other[1], lambda typed: one[2](typed) or other[2](typed)


def _loop(one: GeneratedExpression, other: GeneratedExpression) -> GeneratedExpression:
    text = f"tl.while_loop(lambda i, s: i < {one[0]}, lambda i, s: (i + 1, s + {other[0]}), 0, 1)[1]"
    return text, one[1] | other[1], lambda typed: True


def _call(name: str) -> GeneratedExpression:
    return f"{name}(n - 1)", frozenset({name}), lambda typed: name in typed


def _compound_expressions(inner: st.SearchStrategy[GeneratedExpression]) -> st.SearchStrategy[GeneratedExpression]:
    return st.one_of(*(st.builds(combine, inner, inner) for combine in (_sum, _cond, _cond, _cond, _loop)))


SIMPLE: st.SearchStrategy[GeneratedExpression] = st.sampled_from(("n", "1")).map(
    lambda text: (text, frozenset(), lambda typed: True)
)
EXPRESSIONS = st.recursive(SIMPLE | st.sampled_from(NAMES).map(_call), _compound_expressions, max_leaves=6)


@given(st.tuples(EXPRESSIONS, EXPRESSIONS, EXPRESSIONS))
def test_generated_functions(bodies: tuple[GeneratedExpression, GeneratedExpression, GeneratedExpression]) -> None:
    """For any three functions that call each other, inference gives the program of the annotated ones. It refuses them
    exactly if one that is called has no branch that ends."""
    expression_of = dict(zip(NAMES, bodies, strict=True))
    reachable, typed = {"f"}, set[str]()
    for _ in NAMES:
        reachable |= {callee for name in reachable for callee in expression_of[name][1]}
        typed |= {name for name in NAMES if expression_of[name][2](typed)}
    scopes: list[dict[str, Any]] = []
    for result in ("", " -> tl.int64"):
        scopes.append({"tl": tl})
        for name in NAMES:
            exec(f"@tl.function\ndef {name}(n: tl.int64){result}:\n    return {expression_of[name][0]}\n", scopes[-1])
    inferred, annotated = (scope["f"] for scope in scopes)
    if reachable <= typed:
        assert without_locations(inferred.program) == without_locations(annotated.program)
    else:
        with pytest.raises(tl.Invalid, match="never returns"):
            inferred.program  # noqa: B018


def test_annotations_count_for_callers() -> None:
    """Annotated and unannotated functions call each other; an annotation counts for the functions around it."""

    @tl.function
    def half(n: tl.int64) -> tl.float64:
        return tl.cond(n < 1, lambda: 1, lambda: whole(n - 1))

    @tl.function
    def whole(n: tl.int64):  # type: ignore[no-untyped-def]
        return half(n - 1)

    assert whole.program.main.results == (tl.Type(tl.float64),) and is_same_value(whole(3), 1.0)


def test_an_endless_function_with_an_annotation() -> None:
    """An annotated function need not return."""

    @tl.function
    def endless(n: tl.int64) -> tl.int64:
        return endless(n + 1)

    assert endless.run(1, limits=tl.Limits(firings=100)).status == "Exhausted"


def test_functions_that_never_return() -> None:
    """A function of which every branch calls it again has no type, and is refused at its line."""

    @tl.function
    def ping(n: tl.int64):  # type: ignore[no-untyped-def]
        return tl.cond(n > 0, lambda: pong(n), lambda: ping(n - 1))

    @tl.function
    def pong(n: tl.int64):  # type: ignore[no-untyped-def]
        return ping(n - 1)

    @tl.function
    def caller(n: tl.int64) -> tl.int64:
        return n + ping(n)

    for function in (ping, pong, caller):
        with pytest.raises(tl.Invalid, match="never returns: no branch gives its result a type") as refused:
            function.program  # noqa: B018 - tracing is what it does
        assert str(refused.value.where).startswith("test_inference.py:")
    assert refused.value.message.startswith("ping never"), "not the caller, which only waits for it"


def test_a_user_s_except_does_not_catch_it() -> None:
    """A path without a type is ended by no Exception, so a user's `except` does not stop it."""

    @tl.function
    def f(n: tl.int64):  # type: ignore[no-untyped-def]
        def further() -> Any:
            try:
                return f(n - 1) + 1
            except Exception:
                return 0.5

        return tl.cond(n < 1, lambda: n, further)

    assert f(3) == 3


DISAGREEING: dict[str, tuple[Callable[[Any, Any], Any], str]] = {
    "a branch": (lambda f, n: tl.cond(n < 1, lambda: n, lambda: f(n - 1) > 0), "the branches of cond"),
    "a literal and a bool": (lambda f, n: tl.cond(n < 1, lambda: 1, lambda: f(n - 1) > 0), "the branches of cond"),
    "a loop": (
        lambda f, n: tl.while_loop(lambda s: n < 1, lambda s: f(n - 1) > 0, n)[0],
        "loop variable s changes its type",
    ),
    "another structure": (
        lambda f, n: tl.cond(n < 1, lambda: n, lambda: (f(n - 1), n)),
        "the branches of cond return different structures",
    ),
    "another type in every trace": (
        lambda f, n: tl.astype(recursive(f, n), tl.float64 if len(SEEN) % 2 else tl.int64),
        "returns two different types",
    ),
    "another structure in every trace": (
        lambda f, n: (recursive(f, n),) * len(SEEN),
        "returns different structures",
    ),
}


SEEN: list[Any] = []
"""What has been traced."""


def recursive(f: Any, n: Any) -> Any:
    """An integer, returned through the function itself."""
    SEEN.append(n)

    def further() -> Any:
        value = f(n - 1)
        return tl.astype(value[0] if isinstance(value, tuple) else value, tl.int64)

    return tl.cond(n < 1, lambda: n, further)


@pytest.mark.parametrize("name", DISAGREEING)
def test_functions_that_never_agree(name: str) -> None:
    """If no type fits, tracing ends soon with an error that has both types and the user's line."""
    python, text = DISAGREEING[name]
    SEEN.clear()
    began = time.process_time()

    @tl.function
    def f(n: tl.int64):  # type: ignore[no-untyped-def]
        return python(f, n)

    with pytest.raises(tl.Invalid, match=text) as refused:
        f.program  # noqa: B018
    assert time.process_time() - began < 2
    assert "test_inference.py:" in str(refused.value.where)
    assert refused.value.rule in ("V5", "V6") and refused.value.hint is not None
    for side in (refused.value.required, refused.value.got):
        assert "test_inference.py:" in str(side) or refused.value.rule == "V5"


def test_numbers_of_changing_kind() -> None:
    """A function that returns a Python int in one branch and a float in another returns a float."""

    @tl.function
    def f(n: tl.int64):  # type: ignore[no-untyped-def]
        r = tl.cond(n < 1, lambda: 1, lambda: tl.astype(f(n - 1), tl.int64))
        SEEN.append(r)
        return 1 if len(SEEN) % 2 else 1.5

    SEEN.clear()
    assert f.program.main.results == (tl.Type(tl.float64),)


@pytest.mark.full
def test_types_that_grow_without_end() -> None:
    """A recursion through ever new functions or types is refused before Python's stack ends."""

    def first_function() -> tl.Function:
        @tl.function
        def f(n: tl.int64):  # type: ignore[no-untyped-def]
            return tl.cond(n < 1, lambda: n, lambda: first_function()(n - 1))

        return f

    class Around(NamedTuple):
        inner: Any

    @tl.function
    def wrapping(n):  # type: ignore[no-untyped-def]
        return tl.cond(True, lambda: 1, lambda: wrapping(Around(n)))

    @tl.function
    def doubling(n):  # type: ignore[no-untyped-def]
        return tl.cond(True, lambda: 1, lambda: doubling((n, n)))

    @tl.function
    def collecting(xs, n):  # type: ignore[no-untyped-def]
        return tl.cond(n < 1, lambda: 0, lambda: collecting((*xs, n), n - 1))

    began = time.process_time()
    with pytest.raises(tl.Invalid, match="more than 10,000 leaves") as refused:
        doubling.trace(1)
    assert time.process_time() - began < 10 and "test_inference.py" in str(refused.value.where)
    with pytest.raises(tl.Invalid, match="more than 1,000 functions"):
        first_function().program  # noqa: B018
    with pytest.raises(tl.Invalid, match="nested deeper than 64"):
        wrapping.trace(1)
    with pytest.raises(tl.Invalid, match="collecting calls itself with larger arguments, 101 times in a row"):
        collecting.trace((), 1)


def test_functions_made_within_functions() -> None:
    """A recursive function that each trace of its caller creates again is inferred like any other."""

    @tl.function
    def outer(n: tl.int64):  # type: ignore[no-untyped-def]
        @tl.function
        def down(k):  # type: ignore[no-untyped-def]
            return tl.cond(k < 1, lambda: 1, lambda: down(k - 1))

        @tl.function
        def fib(k):  # type: ignore[no-untyped-def]
            return tl.cond(k < 2, lambda: k, lambda: fib(k - 1) + fib(k - 2))

        return tl.cond(n < 0, lambda: outer(n + 1), lambda: down(n) + fib(n))

    assert outer(10) == 56 and [f.name for f in outer.program.functions] == ["outer", "down", "fib"]


@pytest.mark.full
def test_a_long_chain() -> None:
    """Functions that call one another are inferred, even deeper than traces can nest."""
    functions: list[Any] = []

    def link(k: int) -> tl.Function:
        def f(n):  # type: ignore[no-untyped-def]
            return functions[k + 1](n) + 1 if k + 1 < len(functions) else n

        f.__name__ = f"f{k}"
        return tl.function(f)

    functions += [link(k) for k in range(inference.MAX_NESTED_TRACES * 5)]
    assert functions[0](1) == len(functions)
    assert [f.name for f in functions[0].trace(1).program.functions] == [f"f{k}" for k in range(len(functions))]


def test_functions_are_traced_few_times() -> None:
    """An annotated function is traced once, and a recursive one once more than its types change."""
    counts = dict.fromkeys(("annotated", "plain", "recursive"), 0)

    @tl.function
    def annotated(n: tl.int64) -> tl.int64:
        counts["annotated"] += 1
        return tl.cond(n < 1, lambda: plain(n), lambda: annotated(n - 1))

    @tl.function
    def plain(n):  # type: ignore[no-untyped-def]
        counts["plain"] += 1
        return n + 1

    @tl.function
    def recursive(n: tl.int64):  # type: ignore[no-untyped-def]
        counts["recursive"] += 1
        return tl.cond(n < 1, lambda: plain(n), lambda: recursive(n - 1))

    assert annotated(3) == recursive(3) == 1
    assert counts == {"annotated": 1, "plain": 2, "recursive": 2}


def test_f1_unknown_results_are_symbolic() -> None:
    """F1: the result of a function is symbolic even if little is known of it yet."""

    @tl.function
    @tl.autograph.do_not_convert
    def f(n: tl.int64):  # type: ignore[no-untyped-def]
        return tl.cond(n < 1, lambda: 1, lambda: 1 if f(n - 1) > 0 else 2)

    with pytest.raises(tl.Invalid, match="needs a concrete value") as refused:
        f.program  # noqa: B018
    assert refused.value.rule == "F1"


def test_d3_used_variables_are_known_after_tracing() -> None:
    """D3: that an annotated function depends on a variable is known after its trace. A function that depends on no
    float remains an error."""
    slope = tl.Variable(3.0, name="slope")

    @tl.function
    def along(n: tl.int64) -> tl.float64:
        return slope * tl.astype(n, tl.float64)

    @tl.function
    def flat(n: tl.int64) -> tl.float64:
        return tl.astype(n, tl.float64)

    assert tl.value_and_grad(along, slope)(5) == (15.0, 5.0)
    with pytest.raises(tl.Invalid, match="D3: flat has no float among its arguments"):
        tl.value_and_grad(flat, slope)(5)
