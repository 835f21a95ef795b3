"""Converted Python runs on other operators, without another converter: S-expressions, and JAX where it is installed."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tagloom as tl
from hypothesis import given, settings
from hypothesis import strategies as st
from support.programs.plain_functions import CASES
from tagloom.core.frontend.source import passes
from tagloom.core.frontend.source.operators import Operators
from tagloom.core.frontend.source.program_operators import ProgramOperators
from tagloom.interp.exchange.sexpr.expressions import read_expression
from tagloom.interp.exchange.sexpr.operators import SexprBackend, SexprProgram

PASSES = Path(passes.__file__).parent
NO_RANGES = {"sums_of_ranges": "a range with a symbolic bound"}
NO_SEXPR = {
    "isinstance_and_type": "the class of a symbolic value",
    "identity": "`is` does not compare numbers",
    **NO_RANGES,
}
NO_JAX = {
    "mutual_recursion": "recursion of odd",
    "ackermann": "recursion of ackermann",
    "identity": "`is` does not compare numbers",
    **NO_RANGES,
}
NAMES = [function.__name__ for function, _ in CASES]


def test_every_backend_has_all_operators() -> None:
    """What converted code may call, by the templates of the passes, is an operator; generators become functions only
    for programs."""
    called = {
        path.stem: set(re.findall(r"\bag__\.([a-z_]+)", path.read_text())) - {"NAME"} for path in PASSES.glob("*.py")
    }
    assert called.pop("generators") <= set(dir(ProgramOperators))
    assert set.union(*called.values()) <= set(dir(Operators))


@pytest.mark.inner(first=6)
@pytest.mark.parametrize(("function", "inputs"), CASES, ids=NAMES)
def test_s_expressions_do_what_python_does(function: Any, inputs: Any) -> None:
    """A staged function returns what the function returns, or is refused in words; its text is read as itself."""
    try:
        program = tl.autograph.to_sexpr(function)
    except tl.TagloomError as error:
        assert NO_SEXPR.get(function.__name__, "?") in error.message
        return
    text = str(program)
    assert str(SexprProgram.parse(text)) == text
    for arguments in inputs:
        assert np.array_equal(np.asarray(program(*arguments)), np.asarray(function(*arguments))), arguments


class _Swapped(SexprBackend):
    """Exchanges the branches of a conditional."""

    def branch(self, predicate: Any, then: Any, otherwise: Any) -> Any:
        return super().branch(predicate, otherwise, then)


def test_exchanged_arms_are_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tagloom.interp.exchange.sexpr.operators.SexprBackend", _Swapped)
    with pytest.raises((AssertionError, tl.TagloomError, RecursionError)):
        for function, inputs in CASES[:12]:
            test_s_expressions_do_what_python_does(function, inputs)


@pytest.mark.full
def test_changes_of_an_arm_that_are_not_undone_are_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tagloom.core.frontend.source.state.Journal.undo", lambda self: None)
    with pytest.raises((AssertionError, tl.TagloomError)):
        for function, inputs in CASES:
            test_s_expressions_do_what_python_does(function, inputs)


@dataclass
class Tree:
    """A tree; one without a value is empty."""

    value: float | None = None
    left: Any = None
    right: Any = None

    @property
    def is_empty(self) -> bool:
        return self.value is None

    @property
    def values(self) -> list[float]:
        return [] if self.value is None else [*self.left.values, self.value, *self.right.values]


def tree_prod(base, tree):  # type: ignore[no-untyped-def]
    if tree.is_empty:
        return base
    return tree_prod(base, tree.left) * tree_prod(base, tree.right) * tree.value


def trees() -> Any:
    """Trees of up to some twenty values."""
    values = st.floats(0.5, 2.0)
    return st.recursive(st.just(Tree()), lambda part: st.builds(Tree, values, part, part), max_leaves=20)


@given(trees(), st.floats(0.5, 1.5))
@settings(max_examples=30)
def test_a_product_over_a_tree_and_its_gradient(tree: Tree, base: float) -> None:
    """`tree_prod` is base^k times the product of the values, for k empty trees, and its derivative is k base^(k-1)
    times that product."""
    program = tl.autograph.to_sexpr(tree_prod)
    product, k = math.prod(tree.values), len(tree.values) + 1
    assert float(program(base, tree)) == pytest.approx(base**k * product)
    assert float(program.gradient()(base, tree)) == pytest.approx(k * base ** (k - 1) * product)


def test_the_text_of_the_product() -> None:
    """The function is defined once, and calls itself."""
    text = str(tl.autograph.to_sexpr(tree_prod))
    assert text.startswith("(def tree_prod (base tree)\n  (let* ((v1 (get tree is_empty)))\n    (if v1\n        base\n")
    assert text.count("(def ") == 1 and text.count("(call tree_prod base ") == 2


def poly(x, n):  # type: ignore[no-untyped-def]
    total = 0.0
    for k in range(n):
        if k % 2 == 1:
            continue
        total += x**2.0 * tl.exp(-x) / 3.0
        if total > 3.0:
            break
    return total * x if total > 1.0 else x - total


def power(x, n):  # type: ignore[no-untyped-def]
    if n == 0:
        return 1.0
    half = power(x, n // 2)
    return half * half * x if n % 2 else half * half


def descend(x, n):  # type: ignore[no-untyped-def]
    def step(y, k):  # type: ignore[no-untyped-def]
        return y if k == 0 else step(y - 0.1 * (y * y - x), k - 1)

    return step(1.0, n)


@pytest.mark.inner(first=1)
@pytest.mark.parametrize("function", [poly, power, descend], ids=lambda function: function.__name__)
@pytest.mark.parametrize("x", [0.5, 1.25, 3.0])
def test_gradients_are_those_of_programs(function: Any, x: float) -> None:
    """The gradient by continuations is the gradient of the program that `tl.function` makes."""
    n = 7
    program = tl.autograph.to_sexpr(function)
    expected = tl.grad(tl.function(function))(x, n)
    assert float(program(x, n)) == pytest.approx(float(tl.function(function)(x, n)))
    assert float(program.gradient()(x, n)) == pytest.approx(float(expected))
    text = str(program.gradient())
    assert str(SexprProgram.parse(text)) == text


@pytest.mark.parametrize("is_parsed", [False, True])
def test_a_call_that_does_not_fit(is_parsed: bool) -> None:
    """A program takes keywords, also one that was read from a text; an error of a call names its parameters."""
    program = tl.autograph.to_sexpr(power)
    program = SexprProgram.parse(str(program)) if is_parsed else program
    names = list(program.signature.parameters)
    assert float(program(**dict(zip(names, (2.0, 3), strict=True)))) == 8.0
    for arguments, keywords in [((2.0,), {}), ((2.0, 3, 4), {}), ((2.0, 3), {"z": 1}), ((2.0,), {names[0]: 1.0})]:
        with pytest.raises(tl.Usage, match="the call does not fit") as raised:
            program(*arguments, **keywords)
        assert isinstance(raised.value, TypeError) and f"({', '.join(names)})" in str(raised.value)


@pytest.mark.full
def test_calls_in_tail_position_and_deep_recursion_need_no_stack_of_python() -> None:
    def depth(n):  # type: ignore[no-untyped-def]
        return 0 if n == 0 else 1 + depth(n - 1)

    assert int(tl.autograph.to_sexpr(depth)(3000)) == 3000


def test_exceptions_and_assertions_are_those_of_python() -> None:
    def check(n):  # type: ignore[no-untyped-def]
        assert n != 3, "three"
        if n < 0:
            raise ValueError("negative")
        return n

    program = tl.autograph.to_sexpr(check)
    assert int(program(2)) == 2
    with pytest.raises(ValueError, match="negative"):
        program(-1)
    with pytest.raises(AssertionError, match="three"):
        program(3)


def always(n):  # type: ignore[no-untyped-def]
    return always(n + 1)


def counts(n, seen):  # type: ignore[no-untyped-def]
    seen.append(n)
    return n if n == 0 else counts(n - 1, seen)


def prints(n):  # type: ignore[no-untyped-def]
    print(n)
    return n


SEEN: list[Any] = []


def changes_a_list(n):  # type: ignore[no-untyped-def]
    return counts(n, SEEN)


@pytest.mark.parametrize(
    ("function", "words"),
    [
        (always, "always calls itself on every path"),
        (prints, "print of a symbolic value"),
        (changes_a_list, "arguments have a different structure in each recursive call"),
        (eval("lambda n: n"), "<lambda> cannot be staged"),
    ],
)
def test_refusals_are_in_words(function: Any, words: str) -> None:
    with pytest.raises(tl.TagloomError, match=re.escape(words)):
        tl.autograph.to_sexpr(function)
    assert SEEN == []


@pytest.mark.parametrize("text", ["(a", ")", '("a)', "(add 1.2.3 x)"])
def test_bad_texts_are_refused(text: str) -> None:
    with pytest.raises(tl.Malformed):
        read_expression(text)


def test_unknown_operators_are_refused() -> None:
    with pytest.raises(tl.Usage, match="no such operators"):
        tl.autograph.convert(power, "theano")


def test_jax_says_how_to_install_it() -> None:
    if _has_jax():
        pytest.skip("JAX is installed")
    with pytest.raises(tl.Usage, match=r"JAX is not installed[\s\S]*pip install"):
        tl.autograph.convert(power, "jax")


def _has_jax() -> bool:
    try:
        import jax  # noqa: F401
    except ImportError:
        return False
    return True


@pytest.mark.inner(first=8)
@pytest.mark.parametrize(("function", "inputs"), CASES, ids=NAMES)
def test_jax_does_what_python_does(function: Any, inputs: Any) -> None:
    """Compiled by JAX, a converted function returns what the function returns, or is refused in words."""
    jax = pytest.importorskip("jax")
    with jax.enable_x64(True):
        compiled = jax.jit(tl.autograph.convert(function, "jax"))
        for arguments in inputs:
            try:
                result = compiled(*arguments)
            except tl.TagloomError as error:
                assert NO_JAX.get(function.__name__, "?") in error.message
                return
            assert np.array_equal(np.asarray(result), np.asarray(function(*arguments))), arguments


def test_jax_differentiates_and_vectorizes_converted_functions() -> None:
    """The derivative of a function with an `if`, and a loop over a batch, whose trips differ."""
    jax = pytest.importorskip("jax")

    def halve(x):  # type: ignore[no-untyped-def]
        while x > 1.0:
            x = x / 2.0
        return x if x > 0.6 else x * x

    def square_if_positive(x):  # type: ignore[no-untyped-def]
        return x * x if x > 0 else 0.0 * x

    xs = jax.numpy.asarray([0.5, 1.5, 5.0])
    batch = jax.vmap(tl.autograph.convert(halve, "jax"))(xs)
    assert np.allclose(batch, [halve(float(x)) for x in xs])
    gradient = jax.grad(tl.autograph.convert(square_if_positive, "jax"))
    assert float(gradient(3.0)) == 6.0 and float(gradient(-3.0)) == 0.0
