"""Concrete arrays: the standard's operators, attributes and methods on known values; the result has the operands'
kind."""

from __future__ import annotations

import operator

import numpy as np
import pytest
import tagloom as tl
from support.generators.edges import EDGES
from tagloom.core import dtypes
from tagloom.core.frontend.eager.array import ConcreteArray
from tagloom.core.value import is_same_value

BINARY = ["add", "sub", "mul", "truediv", "floordiv", "mod", "pow", "lt", "le", "gt", "ge", "eq", "ne"]


@pytest.mark.parametrize("name", BINARY)
def test_operators_compute(name: str) -> None:
    """An operator agrees with NumPy, with an array, a number or a NumPy array on the other side."""
    apply, one, other = getattr(operator, name), np.array([1.5, 2.0, -0.5]), np.array([2.0, 2.0, 4.0])
    x, y = tl.asarray(one), tl.asarray(other)
    with np.errstate(all="ignore"):
        pairs = [(apply(x, y), apply(one, other)), (apply(x, 2.0), apply(one, 2.0)), (apply(2.0, x), apply(2.0, one))]
        pairs += [(apply(x, other), apply(one, other)), (apply(one, y), apply(one, other))]
    for result, expected in pairs:
        assert isinstance(result, ConcreteArray) and np.array_equal(np.asarray(result), expected, equal_nan=True)


def test_unary_and_matrix_operators() -> None:
    """Unary operators, and those of matrices and truth values, agree with NumPy."""
    x, p = tl.asarray([[1, -2], [3, 4]]), tl.asarray([True, False])
    assert np.array_equal(-x, -np.asarray(x)) and np.array_equal(abs(x), abs(np.asarray(x)))
    assert np.array_equal(x @ x, np.asarray(x) @ np.asarray(x)) and np.array_equal(np.asarray(x) @ x, x @ np.asarray(x))
    assert np.array_equal(~p, [False, True]) and np.array_equal(p & True, [True, False])
    assert np.array_equal(p | ~p, [True, True]) and np.array_equal(p ^ p, [False, False])


def test_augmented_assignment_creates_another_array() -> None:
    """x += y binds x to another array, and leaves the old one unchanged."""
    x = before = tl.asarray([1, 2])
    x += 1
    assert np.array_equal(x, [2, 3]) and np.array_equal(before, [1, 2]) and x is not before
    with pytest.raises(tl.Usage, match="arrays are immutable") as refused:
        x[0] = 5  # type: ignore[index]
    assert refused.value.hint is not None and "tl.scatter" in refused.value.hint
    with pytest.raises(ValueError, match="read-only"):
        np.asarray(x)[0] = 5


@pytest.mark.parametrize("dtype", dtypes.ALL, ids=repr)
def test_attributes(dtype: dtypes.DType) -> None:
    """An array has its dtype, shape, axes, elements, device and transposed array."""
    x = tl.zeros((2, 3), dtype=dtype)
    assert (x.dtype, x.shape, x.ndim, x.size, x.device) == (dtype, (2, 3), 2, 6, "cpu")
    assert x.T.shape == x.mT.shape == (3, 2) and tl.zeros((4, 2, 3)).mT.shape == (4, 3, 2)
    assert (
        x.to_device("cpu") is x and x.__array_namespace__() is tl and x.__array_namespace__(api_version="2024.12") is tl
    )
    assert repr(tl.full((), 1, dtype=dtype)).endswith(f"dtype={dtype!r})")


def test_wrong_uses_are_refused() -> None:
    """Operations that arrays lack are refused in words, at the user's line."""
    x = tl.asarray([1.0, 2.0])
    for wrong in (
        lambda: x.T,
        lambda: x.mT,
        lambda: x.to_device("gpu"),
        lambda: bool(x),
        lambda: int(x),
        lambda: float(x),
    ):
        with pytest.raises(tl.Usage) as refused:
            wrong()
        assert "test_array.py" in str(refused.value.where)
    with pytest.raises(tl.Usage, match="this version of the standard is not supported"):
        x.__array_namespace__(api_version="2019.01")
    with pytest.raises(TypeError):
        hash(x)
    with pytest.raises(tl.Usage, match="this is not an integer"):
        operator.index(tl.asarray(1.0))


@pytest.mark.parametrize("dtype", dtypes.ALL, ids=repr)
def test_python_numbers(dtype: dtypes.DType) -> None:
    """A 0-d array becomes a Python number, and agrees with it in what Python asks of numbers."""
    for value in EDGES[dtype]:
        x, number = tl.asarray(np.asarray(value)[()], dtype=dtype), np.asarray(value).item()
        assert (bool(x) is bool(number) and complex(x) == complex(number)) or number != number
        assert float(x) == float(number) or number != number
        if dtype.kind != "f":
            assert int(x) == int(number)
        if dtype.is_integer:
            assert operator.index(x) == number


def test_numbers_are_formatted() -> None:
    """A 0-d array is formatted as a Python number is; other arrays accept the empty format only."""
    assert f"{tl.asarray(2.0):.3f} {tl.asarray(7):>3d} {tl.asarray([1])}" == "2.000   7 asarray([1], dtype=int64)"
    with pytest.raises(tl.Usage, match="a format needs an array without axes"):
        format(tl.asarray([1.0]), ".3f")


def test_the_result_has_the_kind_of_the_operands() -> None:
    """A function of plain values gives plain values. If an operand is a concrete array, so is the result, in traced
    functions and nested results too."""
    plain = (tl.add(1, 2), tl.add([1, 2], 3), tl.sum(np.ones(3)), tl.mean([1.0, 3.0]), tl.take([1, 2], [0]))
    assert [type(each) for each in plain] == [int, np.ndarray, np.float64, float, np.ndarray]
    square = [[1.0, 2.0], [3.0, 4.0]]
    made_with = (tl.tril(square), tl.zeros_like(square), tl.cumulative_sum([1], include_initial=True), tl.pad([1], 1))
    made_with += (
        tl.one_hot([1], 3),
        tl.segment_sum([1], [0], 2),
        tl.linalg.pinv(square),
        tl.linalg.matrix_power(square, 0),
    )
    assert {type(each) for each in made_with} == {np.ndarray}
    x = tl.asarray([1.0, 2.0])
    for result in (
        tl.add(x, 1.0),
        tl.sum(x),
        tl.mean(x),
        tl.where(x > 1.0, x, 0.0),
        x[0],
        x[:1],
        x[x > 1.0],
        tl.zeros(2),
    ):
        assert isinstance(result, ConcreteArray)

    @tl.function
    def f(p):  # type: ignore[no-untyped-def]
        return {"sum": tl.sum(p["x"]), "rest": (p["x"][1:],)}

    assert f({"x": np.ones(2)})["sum"] == 2.0 and type(f({"x": np.ones(2)})["sum"]) is float
    result = f({"x": tl.asarray([1.0, 2.0])})
    assert (
        isinstance(result["sum"], ConcreteArray)
        and isinstance(result["rest"][0], ConcreteArray)
        and float(result["sum"]) == 3.0
    )


def test_in_a_trace() -> None:
    """A concrete array that a function closes over is another argument of its program. An array that is created in the
    function is a constant, and so is a short range; a long range, and results of constants, are nodes."""
    kept = tl.asarray([1, 2, 3])

    @tl.function
    def f(n: tl.int64):  # type: ignore[no-untyped-def]
        return kept + n, tl.arange(3) + n, tl.sum(tl.arange(1000)) + n, tl.zeros(3)

    first, second, third, zeros = f(10)
    actual = [np.asarray(each).tolist() for each in (first, second, third, zeros)]
    assert actual == [[11, 12, 13], [10, 11, 12], 499510, [0.0, 0.0, 0.0]]
    assert [name for name, _ in f.program.main.body.parameters] == ["n", "kept"]
    results = [node.op for node in f.program.main.body.nodes]
    assert results == ["add", "add", "arange", "reshape", "sum", "add", "broadcast_to"]


def test_bfloat16_has_no_dlpack() -> None:
    """NumPy has no bfloat16 for DLPack; the error says how to export the bits."""
    with pytest.raises(BufferError, match=r"tl\.bitcast"):
        np.from_dlpack(tl.asarray([1.0], dtype=tl.bfloat16))


@pytest.mark.parametrize("dtype", [each for each in dtypes.ALL if each is not dtypes.bfloat16], ids=repr)
def test_other_libraries(dtype: dtypes.DType) -> None:
    """NumPy and DLPack convert both ways, bit by bit, and neither can change the array."""
    for shape in ((), (3,), (2, 0), (2, 2)):
        x = tl.asarray(np.resize(np.array(EDGES[dtype], dtype.numpy), shape))
        value = np.asarray(x)
        assert is_same_value(np.asarray(np.from_dlpack(x)), value) and x.__dlpack_device__() == (1, 0)
        lent = np.asarray(np.from_dlpack(x))
        if lent.size and lent.flags.writeable:
            lent[...] = 0
        back = tl.from_dlpack(np.resize(np.array(EDGES[dtype], dtype.numpy), shape))
        assert (
            isinstance(back, ConcreteArray)
            and is_same_value(np.asarray(back), value)
            and is_same_value(np.asarray(x), value)
        )
    with pytest.raises(tl.Usage, match="cannot be imported by DLPack"):
        tl.from_dlpack([1, 2])


def test_elements_cannot_be_borrowed() -> None:
    """A request for the elements without a copy is refused with DLPack's error, and nobody can make them writable."""
    x = tl.asarray([1.0])
    for lend, python in (
        (lambda: np.from_dlpack(x, copy=False), BufferError),
        (lambda: x.__dlpack__(copy=False), BufferError),
        (lambda: tl.from_dlpack(np.ones(1), copy=False), ValueError),
    ):
        with pytest.raises(python) as refused:
            lend()
        assert isinstance(refused.value, tl.Usage) and "test_array.py" in str(refused.value.where)
    assert tl.from_dlpack(x, copy=False) is x and np.asarray(x, dtype=np.float32).tolist() == [1.0]
    with pytest.raises(ValueError, match="WRITEABLE"):
        np.asarray(x).flags.writeable = True
    copied = np.array(x)
    copied[0] = 9.0
    assert float(x[0]) == 1.0


def test_functions_of_numpy_compute() -> None:
    """NumPy's functions accept concrete arrays."""
    x = tl.asarray([1.0, 4.0])
    assert np.sqrt(x).tolist() == [1.0, 2.0] and np.add.reduce(x) == 5.0 and len(x) == 2
    assert [float(each) for each in x] == [1.0, 4.0]


def test_capabilities() -> None:
    """The library's capabilities are as the standard requires."""
    info = tl.__array_namespace_info__()
    assert info.devices() == [info.default_device()] == ["cpu"]
    assert info.dtypes() == {repr(dtype): dtype for dtype in dtypes.ALL}
    assert set(info.dtypes(kind="unsigned integer")) == {"uint8", "uint16", "uint32", "uint64"}
    assert info.default_dtypes()["real floating"] is tl.float64 and info.default_dtypes()["complex floating"] is None
    assert info.capabilities() == {"boolean indexing": True, "data-dependent shapes": True, "max dimensions": 64}
    assert tl.__array_api_version__ == "2024.12" and (tl.newaxis, tl.inf) == (None, float("inf"))
