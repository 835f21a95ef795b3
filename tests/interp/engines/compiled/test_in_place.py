"""Sums that are computed in place have the reference's bits, and never overwrite an array that is still needed.

All numbers are small integers, so the order of additions does not change results.
"""

from __future__ import annotations

import math
import re
from typing import Any

import numpy as np
import pytest
import tagloom as tl
from hypothesis import Phase, given, settings
from support.generators.generator import Case
from support.generators.sum_cases import sum_cases
from support.laws.compiled_laws import differences, function_differences
from support.twins.compiled_twins import afresh, broken
from tagloom.core.graph.lower import lower
from tagloom.interp.engines.compiled import codegen, emitter
from tagloom.interp.engines.compiled import matrix_products as sums

Weights = tl.Array[tl.float32, 32, 32]
Rows = tl.Array[tl.float32, 8, 32]
ZERO = np.float32(0.0)


@tl.function
def needed_later(x: Weights, y: Weights) -> Any:
    """The array that is added to is also an operand and a result."""
    product = tl.matmul(x, y)
    total = product + tl.matmul(y, x)
    return total + product, product


@tl.function
def viewed(x: Weights, y: Weights) -> Any:
    """The array that is added to has a view."""
    product = tl.matmul(x, y)
    return product[0:16], product + tl.matmul(y, x)


@tl.function
def identity(x: Weights, n: tl.int64) -> Weights:
    """A function that returns its argument, or the result of its recursive call."""
    return tl.cond(n == 0, lambda: x, lambda: identity(x, n - 1))


@tl.function
def returned_operand(x: Weights, y: Weights) -> Any:
    """The result of a call belongs to someone else."""
    product = tl.matmul(x, y)
    return identity(product, 2) + tl.matmul(y, x), product


@tl.function
def added_to_zeros(x: Weights, p: tl.bool) -> Weights:
    """Zeros are added to -0.0 on one side."""
    return x + tl.cond(p, lambda: tl.broadcast_to(ZERO, (32, 32)), lambda: tl.matmul(x, x))


@tl.function
def assigned(x: Weights, p: tl.bool) -> Weights:
    """Values put into zeros may be -0.0."""
    result = tl.scatter_index(tl.broadcast_to(ZERO, (32, 32)), x[0:16], "0:16")
    return result + tl.cond(p, lambda: tl.broadcast_to(ZERO, (32, 32)), lambda: tl.matmul(x, x))


@tl.function
def replaced_rows(x: Weights, y: Weights, i: tl.int64) -> Any:
    """The array in which a row is replaced is needed later, or has a view, or is a value itself."""
    product, other = tl.matmul(x, y), tl.matmul(y, x)
    row = tl.take(other, i, axis=0)
    first = tl.scatter(tl.scatter(product, row, i), tl.take(x, i, axis=0), 3)
    return first, product, tl.scatter(other, 1.0, i), row


@tl.function
def its_own_factor(x: Weights, y: Weights) -> Any:
    """The array that is added to is a factor of the product that is added, plain and transposed; some sums are
    unused."""
    one, other = tl.matmul(x, y), tl.matmul(y, x)
    _ = x + y, tl.permute_dims(x, (1, 0))
    return one + tl.matmul(y, one), other + tl.matmul(tl.permute_dims(other, (1, 0)), y)


@tl.function
def passed_zeros(x: Weights, y: Weights, p: tl.bool) -> Any:
    """A sum with zeros may be its other operand, which is added to again."""
    total = tl.broadcast_to(ZERO, (32, 32)) + tl.matmul(x, y)
    other = tl.cond(p, lambda: tl.broadcast_to(ZERO, (32, 32)), lambda: tl.matmul(y, x))
    return total + other, total + tl.matmul(x, x)


@tl.function
def doubled_sums(x: Weights, y: Weights) -> Weights:
    """Each sum is used twice."""
    for _ in range(300):
        x, y = y, x + y
    return y


@tl.function
def tree(n: tl.int64, x: Rows, w: Weights) -> Rows:
    below = lambda: tree(n - 1, tl.matmul(x, w), w) + tree(n - 2, x, w)  # noqa: E731
    return tl.cond(n <= 0, lambda: x, below)


@tl.function
def repeated(n: tl.int64, x: Rows, w: Weights) -> Rows:
    return tl.while_loop(lambda k, _: k < n, lambda k, h: (k + 1, tl.matmul(h, w) - x), 0, x)[1]


@tl.function
def mismatched(
    x: tl.Array[tl.float64, 8, 16], y: tl.Array[tl.float64, None, 64], z: tl.Array[tl.float64, 8, 64]
) -> tl.Array[tl.float64, 8, 64]:
    """A product whose open sizes do not match."""
    return z + tl.matmul(x, y)


def _slopes(function: tl.Function) -> Any:
    return tl.grad(lambda n, x, w: tl.sum(function(n, x, w)), argnums=(1, 2))


def _numbers(seed: int, *shape: int) -> Any:
    return np.random.default_rng(seed).integers(-1, 2, shape).astype(np.float32)


SQUARES = _numbers(1, 32, 32), _numbers(2, 32, 32)
RUNS: dict[str, tuple[Any, tuple[Any, ...]]] = {
    "needed later": (needed_later, SQUARES),
    "viewed": (viewed, SQUARES),
    "given back": (returned_operand, SQUARES),
    "replaced rows": (replaced_rows, (*SQUARES, -2)),
    "its own factor": (its_own_factor, SQUARES),
    "handed on": (passed_zeros, (*SQUARES, True)),
    "zeros": (added_to_zeros, (-np.zeros((32, 32), np.float32), True)),
    "put into zeros": (assigned, (-np.zeros((32, 32), np.float32), True)),
    "no zeros": (added_to_zeros, (SQUARES[0], False)),
    "opened": (mismatched, (np.ones((8, 16)), np.ones((5, 64)), np.zeros((8, 64)))),
    "tree": (_slopes(tree), (3, _numbers(3, 8, 32), _numbers(4, 32, 32) * (_numbers(5, 32, 32) > 0))),
    "repeated": (_slopes(repeated), (3, _numbers(3, 8, 32), _numbers(4, 32, 32) * (_numbers(5, 32, 32) > 0))),
}
SLOW = ("given back", "its own factor", "needed later", "no zeros", "repeated", "replaced rows")


@pytest.mark.full(first=2)
@pytest.mark.parametrize("name", [pytest.param(each, marks=[pytest.mark.heavy] * (each in SLOW)) for each in RUNS])
def test_sums_in_place_are_exact(name: str) -> None:
    """Sums in place have the reference's bits, with zeros of either sign."""
    assert not function_differences(*RUNS[name])


@pytest.mark.heavy
@settings(max_examples=7, phases=[Phase.generate])
@given(sum_cases())
def test_generated_sums(case: Case) -> None:
    """Generated sums have the reference's bits, or its trap."""
    assert not differences(case.program, lower(case.program), case.arguments)


def test_which_sums_are_in_place() -> None:
    """Products are added to results of deeper calls, which may be zeros that are never written; no matrix is
    transposed."""
    function, given = RUNS["tree"]
    text = "\n".join(codegen.emit_module(function.trace(*given).program).lines)
    assert "matmul_accumulate_float32" in text and "e.is_lazy" in text and "matmul_transposed_left_float32" not in text
    assert not re.search(r"strided_op\(0, .*, 32, 8, ", text)  # the transposition of x


@pytest.mark.full
def test_each_node_is_analyzed_once() -> None:
    """The analysis visits each node once, however deeply sums are nested."""
    assert len(sums.plan_accumulation(doubled_sums.program.main.body).sums) == 300


class AllVariables(set[str]):
    """An analysis that has facts about all variables."""

    def __contains__(self, text: object) -> bool:
        return True


def _spent(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sums.AccumulationPlan, "is_last_use", lambda plan, operand, node: isinstance(operand, str))


def _known(monkeypatch: pytest.MonkeyPatch) -> None:
    sizes = lambda type_: [8 if size is None else size for size in type_.shape or ()]  # noqa: E731
    monkeypatch.setattr(
        sums, "static_element_count", lambda type_: None if type_.is_scalar else math.prod(sizes(type_))
    )


def _not_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(codegen, "weaken_facts", lambda assumed, found: assumed)


def _clean(monkeypatch: pytest.MonkeyPatch) -> None:
    right = emitter.ArrayFactTable.__init__

    def known(self: emitter.ArrayFactTable, *given: Any) -> None:
        right(self, *given)
        self.no_negative_zero = AllVariables()

    monkeypatch.setattr(emitter.ArrayFactTable, "__init__", known)


def _texts(pattern: str, instead: str) -> Any:
    return lambda patch: broken(patch, pattern, instead)


TWINS: dict[str, tuple[Any, str]] = {
    "an operand that is needed later is written to": (_spent, "needed later"),
    "what there is a view of is written to": (
        lambda patch: patch.setattr(codegen, "is_fresh", lambda op: op != "call"),
        "viewed",
    ),
    "what is multiplied is written to": (
        lambda patch: patch.setattr(sums, "operands_read", lambda uses, product: set()),
        "its own factor",
    ),
    "factors that do not fit are multiplied": (_known, "opened"),
    "a sum is written to by another name": (
        lambda patch: patch.setattr(emitter.ArrayFactTable, "mark_shared", lambda known, texts: None),
        "handed on",
    ),
    "what recurs hands on only what is its own": (_not_asked, "given back"),
    "zeros change no sign": (_clean, "zeros"),
    "what is added to zeros is lost": (
        _texts(r"(e\.is_lazy\((\w+)\)): (\w+) = \w+", r"\1: \3 = \2"),
        "tree",
    ),
    "sums so far are lost": (_texts(r"2 if (e\.is_lazy\(\w+\)) else 1", "2"), "tree"),
    "loops begin with what they made": (
        lambda patch: patch.setattr(codegen, "emit_loop_variables", _shared_variables(codegen.emit_loop_variables)),
        "repeated",
    ),
}
QUICK = ("an operand that is needed later is written to", "zeros change no sign", "sums so far are lost")


def _shared_variables(right: Any) -> Any:
    """All loop variables of one type begin as one array."""

    def variables(writer: Any, types: Any, texts: Any) -> Any:
        first: dict[Any, str] = {}
        return right(writer, types, [first.setdefault(type_, text) for type_, text in zip(types, texts, strict=True)])

    return variables


@pytest.mark.full
@pytest.mark.parametrize(
    "twin", [twin if twin in QUICK else pytest.param(twin, marks=pytest.mark.heavy) for twin in TWINS]
)
def test_twin_is_caught(twin: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """An engine that writes where it must not, or omits an addition, differs from the reference."""
    change, name = TWINS[twin]
    afresh(monkeypatch)
    change(monkeypatch)
    assert function_differences(*RUNS[name])
