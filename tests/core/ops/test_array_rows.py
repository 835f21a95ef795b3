"""Laws over the rows that are not elementwise: types, traps, attributes and engines."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import tagloom as tl
from hypothesis import given, settings
from hypothesis import strategies as st
from support.generators.array_rows import SHAPES, arities, attributes, operands
from tagloom.core import dtypes
from tagloom.core.json.cursor import JsonCursor
from tagloom.core.json.value import attributes_to_json, read_attributes
from tagloom.core.ops import linalg
from tagloom.core.ops.op import OPS, Op, build_kernel, trap_message
from tagloom.core.ops.type_rules import SHAPE_SIZES
from tagloom.core.text.builder import is_writable_attribute
from tagloom.core.types import Type, type_of
from tagloom.core.value import admit, is_same_value

ROWS = [row for row in OPS.values() if row.scalar is None]
each_row = pytest.mark.parametrize("row", ROWS, ids=lambda row: row.name)


def open_sizes(type_: Type) -> Type:
    """The type with every size left open."""
    return Type(type_.dtype, None if type_.shape is None else tuple(None for _ in type_.shape))


def faults(row: Op) -> Iterator[str]:
    """The promises that a row breaks."""
    for given_, more in operands(row):
        types = [type_of(each) for each in given_]
        try:
            result = row.type_rule(*types, **dict(more))
        except tl.Invalid:
            result = None
        try:
            early = row.type_rule(*map(open_sizes, types), **dict(more))
        except tl.Invalid:
            if result is not None:
                yield f"{row.name} of {types} takes known sizes, and no open ones"
            continue
        said = trap_message(row, given_, more)
        if result is None:
            if said is None:
                yield f"{row.name} of {types}, {more} does not trap where its sizes do not fit"
            continue
        if said is not None:
            continue
        made = build_kernel(row, types, result, more)(*given_)
        if isinstance(made, np.ndarray) and not (made.flags.c_contiguous and not made.flags.writeable):
            yield f"{row.name} of {types}, {more} makes no value in its one form"
        if not (result.admits(type_of(made)) and early.admits(type_of(made)) and is_same_value(made, admit(made))):
            yield f"{row.name} of {types}, {more} makes {type_of(made)}, and says {result}, {early}"
        if not is_same_value(build_kernel(row, list(map(open_sizes, types)), early, more)(*given_), made):
            yield f"{row.name} of {types}, {more} makes another value where sizes are open"


@pytest.mark.inner(first=1)
@each_row
def test_v4_s5_results_have_the_type_of_the_rule(row: Op) -> None:
    """V4, S5: a result has the type of the type rule, whatever sizes it knows. Operands that do not fit are refused if
    sizes are known, and trap if they are open."""
    assert next(faults(row), None) is None


@pytest.mark.inner(first=3)
@pytest.mark.parametrize(
    "broken",
    [
        replace(OPS["flip" if "flip" in OPS else "roll"], type_rule=lambda x, **more: Type(x.dtype, (3,))),
        replace(OPS["take"], trap_condition=None, type_rule=lambda x, i, axis: x),
        replace(OPS["reshape"], type_rule=lambda x, *_, shape: Type(x.dtype, tuple(abs(size or 1) for size in shape))),
        replace(OPS["index"], dynamic_sizes=replace(OPS["index"].dynamic_sizes, fill=lambda key, bounds: ":")),
        replace(
            OPS["broadcast_to"], dynamic_sizes=replace(SHAPE_SIZES, fill=lambda shape, sizes: (3, 3, 3)[: len(shape)])
        ),
        replace(OPS["argmax"], numpy=lambda x, axis=None, keepdims=False: np.argmax(x)),
        replace(OPS["concat"], type_rule=lambda *operands, axis: operands[0]),
    ],
    ids=lambda row: row.name,
)
def test_broken_rows_are_caught(broken: Op) -> None:
    """A wrong type rule or kernel is caught, by a complaint or by an exception of NumPy."""
    try:
        found = next(faults(broken), None)
    except (ValueError, IndexError):
        return
    assert found is not None


STRANGE = (
    None,
    True,
    0,
    -1,
    5,
    2**70,
    1.5,
    "",
    "left",
    "1:, 2",
    "0, 0, 0",
    "::0",
    "..., ...",
    "?",
    "?:, ::?",
    (),
    (None,),
    (None, -1, None),
    (0, 0),
    (-1, -1),
    (2**53,),
    2**53,
    -(2**60),
    (-(2**62), 2**62),
    (1, "a"),
)


@each_row
@settings(max_examples=100)
@given(data=st.data())
def test_v4_any_attributes_are_typed_or_refused(row: Op, data: st.DataObject) -> None:
    """V4: for any attributes and operand types, a row gives a type or a refusal in words."""
    types = st.builds(Type, st.sampled_from(dtypes.ALL), st.sampled_from([*SHAPES, None, (None,), (None, 3)]))
    given_ = {name: data.draw(st.sampled_from(STRANGE)) for name in row.attributes}
    counts = arities(row, tuple(given_.items()))
    count = data.draw(st.sampled_from([*counts, 0, 4])) if row.arity is None else counts[0]
    try:
        made = row.type_rule(*(data.draw(types) for _ in range(count)), **given_)
    except tl.Invalid as error:
        assert error.message and error.required is not None
    else:
        assert isinstance(made, Type) and all(is_writable_attribute(name, each) for name, each in given_.items())
        assert read_attributes(JsonCursor(attributes_to_json(tuple(given_.items())))) == tuple(given_.items())


@pytest.mark.full
def test_s12_results_beyond_memory_are_not_begun() -> None:
    """S12: a result that would not fit into memory is not begun; empty results are created."""
    most, times = 2**63 - 1, np.array([2**62, 2**62])
    for compute in (
        lambda: tl.arange(-1, most),
        lambda: tl.arange(np.uint64(0), np.uint64(2**64 - 1), np.uint64(1)),
        lambda: tl.repeat(np.zeros((0, 2)), times, axis=1),
        lambda: tl.repeat(np.zeros(2), times),
        lambda: tl.function(lambda n: tl.zeros(n))(most),
        lambda: tl.function(lambda n: tl.uniform((n, n)))(2**31),
        lambda: tl.function(lambda n: tl.reshape(tl.zeros(2), (n,)))(2**60),
    ):
        with pytest.raises(tl.Exhausted, match="does not fit into memory"):
            compute()
    assert tl.asarray([1, 2])[:most].shape == (2,) and tl.asarray([1, 2])[most:].shape == (0,)
    for offset in (2**31, -(2**31) - 1, 2**70, 3, -2):
        assert tl.linalg.diagonal(np.ones((2, 3)), offset=offset).shape == (0,)
    with pytest.raises(tl.Invalid, match="an index does not fit into int64"):
        tl.asarray([1, 2])[2**63]


def test_factorisations_are_of_their_own_operands() -> None:
    """The cached factorisation of one matrix is not used for another, even at the same address."""
    for seed in range(50):
        x = np.random.default_rng(seed).normal(size=(3, 3))
        assert np.allclose(tl.linalg.inv(x), np.linalg.inv(x)) and np.allclose(tl.linalg.svd(x).S, np.linalg.svd(x).S)
        q, r = tl.linalg.qr(x, mode="complete" if seed % 2 else "reduced")
        assert np.allclose(q @ r, x)
    y = np.array([[2.0, 0.0], [0.0, 4.0]])
    assert np.allclose([tl.linalg.solve(y, b) for b in (y[0], y[1], y[0])], [[1, 0], [0, 1], [1, 0]])


def test_matrices_without_rows() -> None:
    """The determinant of a matrix without rows is 1, and factors are empty or identities; NaN gives a value or a
    trap."""
    none, tall = np.zeros((0, 0)), np.zeros((3, 0))
    assert tl.linalg.det(none) == 1.0 and tuple(tl.linalg.slogdet(none)) == (1.0, 0.0)
    for function in (tl.linalg.inv, tl.linalg.cholesky, lambda x: tl.linalg.eigh(x)[1], lambda x: tl.linalg.qr(x)[0]):
        assert function(none).shape == (0, 0)
    assert np.array_equal(tl.linalg.qr(tall, mode="complete").Q, np.eye(3)) and tl.linalg.svdvals(tall).shape == (0,)
    assert np.array_equal(tl.linalg.svd(tall).U, np.eye(3)) and tl.linalg.solve(none, none).shape == (0, 0)
    for faults in (np.nan, np.inf):
        for name in ("det", "inv", "cholesky", "qr", "eigh", "svd", "pinv"):
            with suppress(tl.Trap):
                getattr(tl.linalg, name)(np.array([[faults, 1.0], [1.0, 2.0]]))


def test_factorisations_are_of_their_own_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    """Another thread's factorisation never replaces this one's."""
    known = linalg.cache_last_result(lambda x: 2.0 * x)
    other, threads = np.ones(3), [1]

    def interrupted(*_: object) -> None:
        while threads:
            threads.pop()
            known(other)

    monkeypatch.setattr(linalg.weakref, "finalize", interrupted)
    assert known(np.zeros(2)).tolist() == [0.0, 0.0]


@each_row
def test_attributes_survive_a_round_trip(row: Op) -> None:
    """Every attribute has a text form, and a JSON form that is read back unchanged."""
    for given_ in attributes(row):
        assert all(is_writable_attribute(name, each) for name, each in given_)
        assert read_attributes(JsonCursor(attributes_to_json(given_))) == given_


@pytest.mark.full(first=1)
@pytest.mark.parametrize("side", [500, 501, 640])
def test_large_determinants(side: int) -> None:
    """Matrices that are factorised by reflections have the determinants of elimination: random ones, stacks of them,
    permutations with either sign, and singular ones."""
    dice = np.random.default_rng(side)
    matrix = dice.standard_normal((side, side)) / np.sqrt(side)
    even = np.roll(np.eye(side), 2, 0) if side % 2 else np.eye(side)
    odd = even[[1, 0, *range(2, side)]]
    singular = np.diag(np.arange(side, dtype=float))
    for x in (matrix, np.stack([matrix, matrix[::-1], even, odd]), singular):
        sign, logarithm = tl.linalg.slogdet(x)
        expected = np.linalg.slogdet(x)
        np.testing.assert_array_equal(sign, expected.sign)
        np.testing.assert_allclose(logarithm, expected.logabsdet, rtol=1e-10, atol=1e-10)
        np.testing.assert_allclose(tl.linalg.det(x), np.linalg.det(x), rtol=1e-9)
    assert tl.linalg.det(np.full((side, side), np.nan)) != 0
    for zero in (tl.linalg.slogdet(np.ones((side, side))).sign, tl.linalg.det(np.ones((side, side)))):
        assert zero == 0 and not np.signbit(zero)


@pytest.mark.full
@pytest.mark.parametrize("shape", [(3, 30_000), (40, 2_000), (2, 3, 20_000), (30_000, 3), (6_000, 3, 7), (0, 5, 20)])
def test_large_matrices_with_a_short_side(shape: tuple[int, ...]) -> None:
    """Factors of wide and of tall matrices are NumPy's, with the same signs."""
    x = np.random.default_rng(1).standard_normal(shape)
    for mode in ("reduced", "complete")[: 1 + (shape[-2] < shape[-1])]:
        q, r = tl.linalg.qr(x, mode=mode)
        expected = np.linalg.qr(x, mode)
        np.testing.assert_allclose(q, expected.Q, atol=1e-10)
        np.testing.assert_allclose(r, expected.R, atol=1e-10)
        assert not np.tril(r, -1).any()
    np.testing.assert_allclose(tl.linalg.svdvals(x), np.linalg.svdvals(x), rtol=1e-10)


@pytest.mark.full(first=1)
@pytest.mark.parametrize("shape", [(700, 300), (3, 600, 120)])
def test_complete_factors_of_tall_matrices(shape: tuple[int, ...], monkeypatch: pytest.MonkeyPatch) -> None:
    """They are NumPy's, though NumPy factorises matrices with so many columns that it releases Python's lock."""
    results = []

    def qr_of_extended(x: Any, mode: Any) -> Any:
        results.append(x.size // x.shape[-2])
        return numpy_qr(x, mode)

    numpy_qr = np.linalg.qr
    x = np.random.default_rng(3).standard_normal(shape)
    expected = numpy_qr(x, "complete")
    monkeypatch.setattr(np.linalg, "qr", qr_of_extended)
    q, r = tl.linalg.qr(x, mode="complete")
    assert q.shape == expected.Q.shape and r.shape == expected.R.shape
    np.testing.assert_allclose(q, expected.Q, atol=1e-10)
    np.testing.assert_allclose(r, expected.R, atol=1e-10)
    assert min(results) > linalg.MAX_LOCKED_RESULT


@pytest.mark.full(first=1)
@pytest.mark.parametrize("shape", [(2, 100_000, 3), (200_000, 5), (10_000, 120)])
def test_tall_matrices_in_blocks(shape: tuple[int, ...], monkeypatch: pytest.MonkeyPatch) -> None:
    """The factors of a tall matrix that is factorised by blocks of rows are NumPy's but for the signs of columns of Q
    and of rows of R; NumPy factorises no block whose factorisation takes long."""
    heights = []

    def qr_of_block(x: Any, mode: Any = "reduced") -> Any:
        heights.append(x.shape[-2])
        return numpy_qr(x, mode)

    numpy_qr = np.linalg.qr
    x = np.random.default_rng(2).standard_normal(shape)
    expected = numpy_qr(x)
    monkeypatch.setattr(np.linalg, "qr", qr_of_block)
    q, r = tl.linalg.qr(x)
    np.testing.assert_allclose(np.abs(r), np.abs(expected.R), atol=1e-10)
    np.testing.assert_allclose(np.abs(q), np.abs(expected.Q), atol=1e-10)
    np.testing.assert_allclose(q @ r, x, atol=1e-10)
    assert not np.tril(r, -1).any() and len(heights) > 1 and max(heights) < shape[-2]


@pytest.mark.full
def test_stacks_of_determinants_in_parts() -> None:
    """The determinants of a stack that is factorised part by part have the bits of NumPy's."""
    x = np.random.default_rng(3).standard_normal((4, 100, 100, 100))
    assert len(linalg._blocks_of_stack(x)) == 4
    np.testing.assert_array_equal(tl.linalg.det(x), np.linalg.det(x))
    for ours, numpy in zip(tl.linalg.slogdet(x), np.linalg.slogdet(x), strict=True):
        np.testing.assert_array_equal(ours, numpy)


@pytest.mark.parametrize(("shape", "has_vectors"), [((3, 30_000), True), ((300, 3, 100), False), ((2, 3), False)])
def test_singular_vectors_are_computed_only_for_the_lock(
    shape: tuple[int, ...], has_vectors: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Singular vectors are computed where NumPy would keep the lock for the values alone. That is not so
    for small matrices, and for stacks with more than 500 singular values."""
    calls = list[bool]()

    def decompose(x: Any, full_matrices: bool = True, compute_uv: bool = True) -> Any:
        calls.append(compute_uv)
        return svd(x, full_matrices, compute_uv)

    svd = np.linalg.svd
    monkeypatch.setattr(linalg, "_svd", decompose)
    monkeypatch.setattr(np.linalg, "svd", decompose)
    linalg.singular_values(np.ones(shape))
    assert calls == [has_vectors]
