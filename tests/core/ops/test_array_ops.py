"""Ops that are not elementwise: matrix products and sums, by themselves and on every engine."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
import tagloom as tl
from tagloom.core import dtypes
from tagloom.core.ops.op import OPS, build_kernel, trap_message
from tagloom.core.program.evaluate import evaluate
from tagloom.core.program.program import Program
from tagloom.core.types import Type, type_of
from tagloom.core.value import admit, is_same_value
from tagloom.interp.engines.protocol import Job, RunOptions
from tagloom.interp.engines.reference import default_structure
from tagloom.interp.engines.registry import run

MATMUL, SUM = OPS["matmul"], OPS["sum"]
PRODUCTS = [
    *[((3,), (3,)), ((2, 3), (3,)), ((3,), (3, 2)), ((2, 3), (3, 4)), ((0, 3), (3, 2)), ((2, 0), (0, 2)), ((0,), (0,))],
    *[((5, 2, 3), (3, 4)), ((5, 1, 2, 3), (4, 3, 2)), ((3,), (5, 3, 2)), ((5, 2, 3), (3,)), ((0, 2, 3), (3, 2))],
]
MISFITS = [((3,), (4,)), ((2, 3), (2, 3)), ((2, 2, 3), (3, 3, 2)), ((3,), (2, 4, 2)), ((1,), (2,))]
SUMS = [((), None), ((3,), None), ((0,), None), ((2, 3), None), ((2, 3), 0), ((2, 3), -1), ((2, 3, 4), 1), ((0, 3), 0)]
KINDS = [dtypes.float64, dtypes.float32, dtypes.int8, dtypes.uint64, dtypes.int64]


def drawn(shape: tuple[int, ...], dtype: dtypes.DType) -> Any:
    dice = np.random.default_rng(len(shape))
    if dtype.kind == "f":
        return admit(dice.normal(size=shape).astype(dtype.numpy))
    return admit(dice.integers(0, 127, size=shape, dtype=dtype.numpy))


def open_shape(shape: Sequence[int]) -> str:
    return f"[{', '.join('?' for _ in shape)}]" if shape else ""


def agree(op: str, one: Any, other: Any, operands: Sequence[Any], **attributes: Any) -> bool:
    """Whether two results are within twice the row's bound of each other, since each is within it of the exact
    result."""
    if type_of(one) != type_of(other):
        return False
    if type_of(one).dtype.kind != "f":
        return is_same_value(one, other)
    wide = [np.asarray(each) for each in operands]
    return bool(np.all(np.abs(np.subtract(one, other)) <= 2 * OPS[op].error_bound(*wide, **attributes)))  # type: ignore[misc]


def on_engines(program: Program, operands: Sequence[Any]) -> list[Any]:
    """The result on each engine; for a trap, its message."""
    graph, results = tl.lower(program), []
    for engine in ("reference", "fast", "compiled"):
        subject = Job(graph, default_structure(graph), program)
        outcome = run(subject, operands, RunOptions(), engine)
        results.append(outcome.results[0] if outcome.status == "Returned" else outcome.traps[0].message)
    meant = evaluate(program, [admit(each) for each in operands])
    results.append(meant.results[0] if meant.results else f"{meant.trap[1]} at node {meant.trap[0]}")  # type: ignore[index]
    return results


@pytest.mark.parametrize("dtype", KINDS, ids=repr)
def test_products(dtype: dtypes.DType) -> None:
    """Products of vectors, matrices and stacks of integers are NumPy's, with the shapes of the type rule, for known and
    open sizes."""
    for shapes in PRODUCTS:
        x, y = (drawn(shape, dtype) for shape in shapes)
        result = MATMUL.type_rule(type_of(x), type_of(y))
        value = build_kernel(MATMUL, [type_of(x), type_of(y)], result)(x, y)
        assert type_of(value) == result == Type(dtype, np.matmul(x, y).shape)
        if dtype.is_integer:
            assert is_same_value(value, admit(np.asarray(np.matmul(x, y))))
        open_ = MATMUL.type_rule(*(Type(dtype, (None,) * len(shape)) for shape in shapes))
        assert open_.admits(result) and trap_message(MATMUL, (x, y)) is None


@pytest.mark.full
@pytest.mark.parametrize("dtype", [kind for kind in KINDS if kind.kind == "f"], ids=repr)
def test_products_of_floats(dtype: dtypes.DType) -> None:
    """Each element is within the row's bound of the exact one; for operands that were rounded first, it is not."""
    for shapes in [*PRODUCTS, ((5, 300), (300, 4))]:
        x, y = (drawn(shape, dtype) for shape in shapes)
        result = build_kernel(MATMUL, [type_of(x), type_of(y)], MATMUL.type_rule(type_of(x), type_of(y)))(x, y)
        assert is_within(result, x, y)
    rounded = {"float32": np.float16, "float64": np.float32}[repr(dtype)]
    assert not is_within(np.matmul(x.astype(rounded), y.astype(rounded)), x, y)


def is_within(product: Any, x: Any, y: Any) -> bool:
    """Whether a product is within the bound; operands are floats, whose products are exact as fractions."""
    exact = np.matmul(*(np.vectorize(Fraction, otypes=[object])(each.astype(float)) for each in (x, y)))
    far = np.abs(np.vectorize(Fraction, otypes=[object])(np.asarray(product, float)) - exact)
    return bool(np.all(far <= MATMUL.error_bound(x, y)))  # type: ignore[misc]


@pytest.mark.parametrize("shapes", MISFITS, ids=str)
def test_v4_s5_shapes_that_do_not_multiply(shapes: tuple[tuple[int, ...], tuple[int, ...]]) -> None:
    """V4, S5: shapes that do not multiply are refused if they are known, and trap if they are not."""
    x, y = (np.ones(shape) for shape in shapes)
    with pytest.raises(tl.Invalid, match="do not"):
        tl.matmul(x, y)
    text = f"shapes {shapes[0]} and {shapes[1]} do not multiply"
    assert trap_message(MATMUL, (x, y)) == text


def test_v4_scalars_have_no_matrix_product() -> None:
    """V4: a matrix product of scalars is refused."""
    with pytest.raises(tl.Invalid, match="do not multiply"):
        tl.matmul(2.0, [1.0])
    assert trap_message(MATMUL, (2.0, 3.0)) == "shapes () and () do not multiply"


@pytest.mark.parametrize("dtype", KINDS, ids=repr)
def test_sums_agree_with_numpy(dtype: dtypes.DType) -> None:
    """Sums along an axis or all are NumPy's; integers become wide."""
    for (shape, axis), keepdims in itertools.product(SUMS, (False, True)):
        x = drawn(shape, dtype)
        attributes = (("axis", axis), ("keepdims", keepdims))
        result = SUM.type_rule(type_of(x), axis=axis, keepdims=keepdims)
        value = build_kernel(SUM, [type_of(x)], result, attributes)(x)
        wide = np.asarray(x).astype(np.float64) if dtype.kind == "f" else np.asarray(x)
        expected = np.asarray(np.sum(wide, axis=axis, keepdims=keepdims))
        assert type_of(value) == result and result.shape == expected.shape
        assert is_same_value(value, admit(expected.astype(result.dtype.numpy)))


@pytest.mark.parametrize("shape", [(1,), (12,), (3, 4), (32, 32), (1025,), (0,)])
def test_sums_of_float32_do_not_depend_on_known_sizes(shape: tuple[int, ...]) -> None:
    """A sum of all elements has the same bits, before rounding too, whether sizes, their number, or the axes are known;
    it is never -0.0, since it begins with 0."""
    open_, closed = (tl.Type(tl.float32, each) for each in ((None,) * len(shape), shape))
    ways = [(tl.Type(tl.float32, None), None), (open_, None), (closed, None), (closed, tuple(range(len(shape))))]
    rng, number = np.random.default_rng(len(shape)), tl.Type(tl.float32)
    results = [rng.standard_normal(shape), np.full(shape, -0.0), np.full(shape, 3e38), np.full(shape, np.inf)]
    if shape != (0,):
        results += [np.resize([1e30, -1e30, 1.0], shape), np.resize([np.inf, -np.inf], shape)]
        close = np.resize([1.0, 2.0**-24, *[2.0**-55] * 4094], shape)  # in which order decides how the sum is rounded
        results += [rng.permutation(close.ravel()).reshape(shape) for _ in range(20)]
    for each in results:
        x = each.astype(np.float32)
        one, *others = (build_kernel(SUM, [type_], number, (("axis", axis),))(x) for type_, axis in ways)
        assert all(is_same_value(one, other) for other in others) and not (one == 0 and np.signbit(one))
        with np.errstate(all="ignore"):
            first, *more = (float(SUM.specialize_numpy(type_, axis=axis)(x)) for type_, axis in ways)  # type: ignore[misc]
        assert all(is_same_value(first, each) for each in more)
        if np.isfinite(x).all():
            wide, most = x.astype(np.float64), float(np.finfo(np.float32).max)
            exact = math.fsum(wide.ravel().tolist())
            bound = x.size * 2.0**-53 * float(np.abs(wide).sum()) + abs(exact) * 2.0**-24
            assert abs(float(one) - exact) <= bound or (np.isinf(one) and abs(exact) > most)
        else:
            assert str(one) == ("inf" if (x > 0).all() else "nan")


@pytest.mark.parametrize("dtype", [dtypes.float32, dtypes.float64], ids=repr)
def test_sums_along_broadcast_axes(dtype: dtypes.DType) -> None:
    """Sums along the axes along which another array is broadcast are within the row's bound of the exact ones."""
    x, row = drawn((40, 3), dtype), OPS["sum_like"]
    for other in (np.zeros(3), np.zeros((40, 1)), np.zeros((1, 1)), 0.0, np.zeros((40, 3))):
        array, bound = np.asarray(tl.sum_like(x, other)), row.error_bound(x, other)  # type: ignore[misc]
        assert array.shape == np.shape(bound) == np.shape(other)
        for at in np.ndindex(array.shape):
            place = tuple(slice(None) if size == 1 else k for k, size in zip(at, array.shape, strict=True))
            exact = sum(map(Fraction, np.ravel(x[(..., *place)]).tolist()))
            assert abs(Fraction(array[at].item()) - exact) <= Fraction(float(bound[at]))


@pytest.mark.parametrize("axis", [2, -3, True, "a", 1.0])
def test_v4_wrong_axes_are_refused(axis: Any) -> None:
    """V4: an axis is an integer, and one of the array's."""
    with (
        pytest.raises(tl.Invalid, match="no such axis")
        if type(axis) is int
        else pytest.raises(tl.Usage, match="not an integer")
    ):
        tl.sum([[1, 2]], axis=axis)
    with pytest.raises(tl.Invalid, match="no such axis"):
        SUM.type_rule(Type(dtypes.int64, (1, 2)), axis=axis)
    with pytest.raises(tl.Invalid, match="is not a bool"):
        tl.sum([[1, 2]], keepdims=1)  # type: ignore[arg-type]
    with pytest.raises(tl.Invalid, match="no such axis"):
        SUM.type_rule(Type(dtypes.int64, None), axis=0)


def test_operators() -> None:
    """`@` is the matrix product, of NumPy arrays and symbols too."""

    @tl.function
    def f(x: tl.Array[tl.float64, 2, None]) -> tl.Array[tl.float64, 2]:
        return np.ones((2, 2)) @ (x @ np.array([1.0, 2.0, 3.0]))

    assert f(np.ones((2, 3))).tolist() == [12.0, 12.0]
    assert [node.op for node in f.program.main.body.nodes] == ["matmul", "matmul"]


@pytest.mark.full
@pytest.mark.parametrize(
    "dtype", [dtypes.float32, *(pytest.param(each, marks=pytest.mark.heavy) for each in (dtypes.float64, dtypes.int8))]
)
@pytest.mark.parametrize("at", [pytest.param(k, marks=[pytest.mark.heavy] * (k != 8)) for k in range(12)])
def test_s5_engines_multiply(at: int, dtype: dtypes.DType) -> None:
    """Every engine multiplies within the row's bound, and traps alike."""
    shapes = PRODUCTS[at]
    kinds = [f"{dtype!r}{open_shape(shape)}" for shape in shapes]
    program = tl.parse_program(f"func f(x: {kinds[0]}, y: {kinds[1]}) {{\n z = matmul x, y\n return z\n}}")
    operands = [drawn(shape, dtype) for shape in shapes]
    first, *others = on_engines(program, operands)
    assert all(agree("matmul", first, other, operands) for other in others), [first, *others]
    wrong = [np.ones((*shape[:-1], 7), dtype.numpy) for shape in shapes]
    first, *others = on_engines(program, [wrong[0], np.ones(shapes[1], dtype.numpy)])
    assert "do not multiply" in first and others == [first] * 3


@pytest.mark.full
@pytest.mark.parametrize("axis", [None, 1, *(pytest.param(axis, marks=pytest.mark.heavy) for axis in (0, -1))])
@pytest.mark.parametrize(
    "dtype", ["float32", *(pytest.param(dtype, marks=pytest.mark.heavy) for dtype in ("float64", "uint8"))]
)
def test_engines_sum(axis: int | None, dtype: str) -> None:
    """Every engine sums within the row's bound."""
    text = "none" if axis is None else axis
    lines = [f"a{k} = sum x, axis={text}, keepdims={k}" for k in ("false", "true")]
    for kept, line in zip((False, True), lines, strict=True):
        program = tl.parse_program(f"func f(x: {dtype}[?, 3, ?]) {{\n {line}\n return {line[: line.index(' ')]}\n}}")
        operands = [drawn((5, 3, 7), dtypes.BY_NAME[dtype])]
        first, *others = on_engines(program, operands)
        assert all(agree("sum", first, other, operands, axis=axis, keepdims=kept) for other in others), [first, *others]


@pytest.mark.full
@pytest.mark.parametrize("name", ["max", "min"])
@pytest.mark.parametrize("dtype", [dtypes.float64, dtypes.float32], ids=repr)
def test_maxima_of_zeros_take_the_first(name: str, dtype: dtypes.DType) -> None:
    """The largest and the smallest of zeros is the first of them, however many there are, along any axes."""
    dice = np.random.default_rng(3)
    for shape, axis in itertools.product(((1,), (7,), (33,), (4, 5), (3, 2, 9)), (None, 0, -1, (0, -1))):
        if isinstance(axis, tuple) and len(shape) == 1:
            continue
        x = dice.choice(np.array([0.0, -0.0, 1.0 if name == "min" else -1.0], dtype.numpy), shape)
        array = np.asarray(getattr(tl, name)(tl.asarray(x), axis=axis, keepdims=True))
        gone = [at % x.ndim for at in (range(x.ndim) if axis is None else np.atleast_1d(axis).tolist())]
        for at in np.ndindex(*array.shape):
            part = x[tuple(slice(None) if k in gone else each for k, each in enumerate(at))].ravel()
            zeros = part[part == 0]
            assert is_same_value(array[at], zeros[0] if zeros.size else part[0])
    for count in (8, 100):
        x = np.full(count, -0.0)
        x[-1] = 0.0
        assert all(is_same_value(array, -0.0) for array in on_engines(_reduced(name), [x]))


def _reduced(name: str) -> Program:
    return tl.parse_program(f"func f(x: float64[?]) {{\n a = {name} x, axis=none, keepdims=false\n return a\n}}")


@pytest.mark.parametrize("name", ["eigvalsh", "eigh", "svdvals", "svd"])
@pytest.mark.parametrize("number", [float("inf"), float("nan")])
def test_factorizations_of_infinities_trap(name: str, number: float) -> None:
    """Eigenvalues and singular values of a matrix with an infinity or NaN trap; LAPACK would search those of diag(inf,
    1, 1) for ever."""
    with pytest.raises(tl.Trap, match="an iteration did not converge"):
        getattr(tl.linalg, name)(np.diag([number, 1.0, 1.0]))
