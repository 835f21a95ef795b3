"""Activations, layers, `einsum`, scans and searches: their values are those of NumPy and SciPy, eagerly, as programs
and on `compiled`, and their gradients are those of finite differences."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import tagloom as tl
from hypothesis import given
from hypothesis import strategies as st
from scipy import special

DICE = np.random.default_rng(11)
MATRIX, STACK = DICE.normal(size=(3, 4)), DICE.normal(size=(2, 5, 3))
QUERY, KEY, VALUE = DICE.normal(size=(2, 5, 4)), DICE.normal(size=(2, 6, 4)), DICE.normal(size=(2, 6, 3))
MASK = DICE.random((5, 6)) < 0.7
MASK[:, 0] = True


def attention(query: Any, key: Any, value: Any, mask: Any, scale: float) -> Any:
    products = np.where(mask, np.einsum("bnd,bmd->bnm", query, key) * scale, -np.inf)
    return special.softmax(products, axis=-1) @ value


def program(function: Callable[..., Any], arity: int) -> tl.Function:
    """A program that calls a function of this many operands."""
    return tl.function(
        {
            1: lambda a: function(a),
            2: lambda a, b: function(a, b),
            3: lambda a, b, c: function(a, b, c),
            4: lambda a, b, c, d: function(a, b, c, d),
        }[arity]
    )


def normalized(x: Any, axis: Any) -> Any:
    return (x - x.mean(axis, keepdims=True)) / np.sqrt(x.var(axis, keepdims=True) + 1e-5)


CASES: dict[str, tuple[Callable[..., Any], list[Any], Any]] = {
    "relu": (tl.relu, [MATRIX], np.maximum(MATRIX, 0.0)),
    "softplus": (tl.softplus, [MATRIX], np.logaddexp(MATRIX, 0.0)),
    "sigmoid": (tl.sigmoid, [MATRIX], special.expit(MATRIX)),
    "silu": (tl.silu, [MATRIX], MATRIX * special.expit(MATRIX)),
    "gelu": (tl.gelu, [MATRIX], MATRIX * special.ndtr(MATRIX)),
    "gelu by tanh": (
        lambda x: tl.gelu(x, approximate=True),
        [MATRIX],
        0.5 * MATRIX * (1.0 + np.tanh(math.sqrt(2.0 / math.pi) * (MATRIX + 0.044715 * MATRIX**3))),
    ),
    "logsumexp": (lambda x: tl.logsumexp(x, axis=1), [STACK], special.logsumexp(STACK, axis=1)),
    "logsumexp, axes kept": (
        lambda x: tl.logsumexp(x, axis=(0, 2), keepdims=True),
        [STACK],
        special.logsumexp(STACK, axis=(0, 2), keepdims=True),
    ),
    "layer_norm": (tl.layer_norm, [STACK], normalized(STACK, -1)),
    "layer_norm of two axes, with weights": (
        lambda x, w, b: tl.layer_norm(x, axis=(1, 2), scale=w, offset=b),
        [STACK, STACK[0], STACK[1]],
        normalized(STACK, (1, 2)) * STACK[0] + STACK[1],
    ),
    "attention": (
        tl.dot_product_attention,
        [QUERY, KEY, VALUE],
        attention(QUERY, KEY, VALUE, np.True_, 0.5),
    ),
    "attention with a mask": (
        lambda q, k, v, m: tl.dot_product_attention(q, k, v, mask=m, scale=0.25),
        [QUERY, KEY, VALUE, MASK],
        attention(QUERY, KEY, VALUE, MASK, 0.25),
    ),
    "causal attention": (
        lambda q, k, v: tl.dot_product_attention(q, k, v, causal=True),
        [QUERY, KEY, VALUE],
        attention(QUERY, KEY, VALUE, np.tri(5, 6, dtype=bool), 0.5),
    ),
    "cummax": (lambda x: tl.cummax(x, axis=1), [STACK], np.maximum.accumulate(STACK, axis=1)),
    "cummin": (lambda x: tl.cummin(x, axis=-1), [STACK], np.minimum.accumulate(STACK, axis=-1)),
    "cumlogsumexp": (lambda x: tl.cumlogsumexp(x, axis=0), [MATRIX], np.logaddexp.accumulate(MATRIX, axis=0)),
    "topk": (lambda x: tl.topk(x, 2).values, [MATRIX], -np.sort(-MATRIX)[:, :2]),
    "topk, indices": (lambda x: tl.topk(x, 3, axis=0).indices, [MATRIX], np.argsort(-MATRIX, axis=0)[:3]),
    "isin": (
        lambda x, y: tl.isin(x, y),
        [np.arange(6).reshape(2, 3), np.array([4, 1, 9])],
        np.array([[0, 1, 0], [0, 1, 0]]),
    ),
    "softmax of nothing": (tl.softmax, [np.zeros((2, 0))], np.zeros((2, 0))),
    "log_softmax of nothing": (tl.log_softmax, [np.zeros((2, 0))], np.zeros((2, 0))),
    "logsumexp of nothing": (lambda x: tl.logsumexp(x, axis=1), [np.zeros((2, 0))], np.full(2, -np.inf)),
    "logsumexp of infinities": (
        lambda x: tl.logsumexp(x, axis=1),
        [np.array([[-np.inf] * 2, [1.0, np.inf]])],
        np.array([-np.inf, np.inf]),
    ),
    "cummax after NaN": (tl.cummax, [np.array([1.0, np.nan, 2.0])], np.array([1.0, np.nan, np.nan])),
}  # fmt: skip
SMOOTH = [
    name for name, (_, arguments, _) in CASES.items()
    if not any(word in name for word in ("isin", "indices", "nothing", "infinities", "NaN"))
    and all(each.dtype == np.float64 for each in arguments)
]  # fmt: skip


@pytest.mark.inner(first=13)
@pytest.mark.parametrize("name", CASES)
def test_values(name: str) -> None:
    """Values are right for plain values, for concrete arrays, as a program, and in float32."""
    function, arguments, expected = CASES[name]
    for results in (
        function(*arguments),
        function(*map(tl.asarray, arguments)),
        program(function, len(arguments))(*arguments),
    ):
        assert np.shape(results) == np.shape(expected)
        np.testing.assert_allclose(np.asarray(results), expected, rtol=1e-12, atol=1e-12)
    narrow = [each.astype(np.float32) if each.dtype == np.float64 else each for each in arguments]
    result = np.asarray(function(*map(tl.asarray, narrow)))
    assert result.dtype in (np.float32, np.int64, np.bool_)
    np.testing.assert_allclose(result, expected, rtol=1e-4, atol=1e-5)


@pytest.mark.full(first=8)
@pytest.mark.parametrize("name", CASES)
def test_compiled_agrees(name: str) -> None:
    function, arguments, expected = CASES[name]
    out = program(function, len(arguments)).run(*arguments, engine="compiled")
    np.testing.assert_allclose(np.asarray(out.value), expected, rtol=1e-12, atol=1e-12)


@pytest.mark.inner(first=8)
@pytest.mark.parametrize("name", SMOOTH)
def test_gradients(name: str) -> None:
    """The derivative along a random direction is the difference quotient."""
    function, arguments, expected = CASES[name]
    weights = DICE.normal(size=np.shape(expected))
    loss = program(lambda *operands: tl.sum(tl.multiply(function(*operands), weights)), len(arguments))
    direction = [DICE.normal(size=np.shape(each)) for each in arguments]
    gradients = tl.grad(loss, tuple(range(len(arguments))))(*arguments)
    step = 1e-6
    ahead, behind = ([x + sign * step * d for x, d in zip(arguments, direction, strict=True)] for sign in (1, -1))
    slope = (float(loss(*ahead)) - float(loss(*behind))) / (2 * step)
    product = sum(float(np.sum(np.asarray(g) * d)) for g, d in zip(gradients, direction, strict=True))
    assert math.isclose(product, slope, rel_tol=1e-6, abs_tol=1e-7)


def test_gradients_at_edges() -> None:
    """If exponentials overflow or underflow, derivatives are neither NaN nor wrong; relu has slope 0 at 0."""
    edges = np.array([-800.0, -40.0, 0.0, 40.0, 800.0])

    def slopes(function: Callable[[Any], Any]) -> Any:
        return np.asarray(tl.grad(tl.function(lambda x: tl.sum(function(x))))(edges))

    np.testing.assert_array_equal(slopes(tl.relu), [0.0, 0.0, 0.0, 1.0, 1.0])
    sigmoid = special.expit(edges)
    np.testing.assert_allclose(slopes(tl.softplus), sigmoid, rtol=1e-12)
    np.testing.assert_allclose(slopes(tl.sigmoid), sigmoid * special.expit(-edges), rtol=1e-12)
    np.testing.assert_array_equal(
        np.asarray(tl.grad(tl.function(lambda x: tl.logsumexp(x)))([1000.0, -1000.0])), [1, 0]
    )


def test_dropout() -> None:
    """About the share `rate` is 0, and the others are scaled; the draw depends on the seed only."""
    function = tl.function(lambda x: tl.dropout(x, 0.25))
    ones = np.ones((50, 40))
    first, again, other = (np.asarray(function.run(ones, seed=seed).value) for seed in (1, 1, 2))
    np.testing.assert_array_equal(first, again)
    assert (first != other).any() and set(first.ravel().tolist()) == {0.0, 1.0 / 0.75}
    assert 0.2 < float((first == 0.0).mean()) < 0.3


SUBSCRIPTS = (
    "ij,jk->ik", "ij,jk", "ii", "ii->i", "ij->ji", "i,i", "i,k->ik", "bij,bjk->bik", "...ij,...jk->...ik",
    "ab,bc,cd->ad", "ij,ij->", "a,ab,abc->abc", "...a->a...", "iij->j", "i->", "->", "ab,bc,ca->", "b...,b...->...",
    "ij , jk -> k i", "iii->i", "ab,ab,b->a",
)  # fmt: skip


@pytest.mark.parametrize("subscripts", SUBSCRIPTS)
def test_einsum(subscripts: str) -> None:
    parts = subscripts.replace(" ", "").partition("->")[0].split(",")
    sizes = dict.fromkeys("ijkabcd", 3) | {"k": 2, "d": 4}
    operands = []
    for part in parts:
        before, dots, after = part.partition("...")
        shape = [*(sizes[label] for label in before), *([2, 1] * bool(dots)), *(sizes[label] for label in after)]
        operands.append(DICE.normal(size=shape))
    expected = np.einsum(subscripts, *operands)
    for result in (
        tl.einsum(subscripts, *operands),
        program(lambda *x: tl.einsum(subscripts, *x), len(operands))(*operands),
    ):
        assert np.shape(result) == expected.shape
        np.testing.assert_allclose(np.asarray(result), expected, rtol=1e-12, atol=1e-12)


LABELS = st.text("abcd", min_size=0, max_size=3)


@given(LABELS, LABELS, st.data())
def test_einsum_of_any_labels(first: str, second: str, data: st.DataObject) -> None:
    """The result is NumPy's, for any labels of two operands and of the result, with sizes 0 and 1."""
    sizes = {label: data.draw(st.integers(0, 3), label) for label in "abcd"}
    present = sorted({*first, *second})
    output = "".join(data.draw(st.lists(st.sampled_from(present), unique=True)) if present else [])
    operands = [DICE.normal(size=[sizes[label] for label in labels]) for labels in (first, second)]
    subscripts = f"{first},{second}->{output}"
    expected = np.einsum(subscripts, *operands)
    result = np.asarray(tl.einsum(subscripts, *operands))
    assert result.shape == expected.shape
    np.testing.assert_allclose(result, expected, rtol=1e-12, atol=1e-12)


def test_einsum_of_unknown_sizes() -> None:
    """Masks have results of unknown size: products of these are summed without `matmul`."""
    function = tl.function(lambda x, m: tl.einsum("i,i->", x[m], x[m]))
    assert float(function(np.arange(4.0), np.array([True, False, True, True]))) == 13.0


@pytest.mark.parametrize(
    "wrong",
    [
        lambda: tl.einsum("ij,jk->iz", MATRIX, MATRIX.T),
        lambda: tl.einsum("ij", MATRIX[0]),
        lambda: tl.einsum("i1", MATRIX),
        lambda: tl.einsum("ij,jk", MATRIX, MATRIX),
        lambda: tl.einsum("i,i", MATRIX[0]),
        lambda: tl.einsum("i->ii", MATRIX[0]),
        lambda: tl.einsum("i->j->k", MATRIX[0]),
        lambda: tl.einsum("ij"),
        lambda: tl.topk(MATRIX, 5),
        lambda: tl.topk(MATRIX, -1),
        lambda: tl.dropout(MATRIX, 1.0),
        lambda: tl.relu([1, 2]),
        lambda: tl.layer_norm([1, 2]),
        lambda: tl.dot_product_attention(MATRIX[0], MATRIX, MATRIX),
        lambda: tl.cummax(MATRIX),
        lambda: tl.cumlogsumexp([1, 2]),
    ],
)  # fmt: skip
def test_wrong_operands_are_refused(wrong: Callable[[], Any]) -> None:
    with pytest.raises((tl.Invalid, tl.Usage)) as refused:
        wrong()
    assert "test_network_functions.py" in str(refused.value.where)
