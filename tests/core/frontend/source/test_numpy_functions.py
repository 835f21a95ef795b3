"""Functions of NumPy in converted code compute what NumPy computes, or are refused by name."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import tagloom as tl
from support.laws.python_laws import RUNS, disagreements
from support.twins.broken_twin import broken
from tagloom.core.frontend.source import numpy_functions

FLOATS = np.array([0.5, -1.25, 3.0, 0.1, 0.7, -0.3, 1e-3, 2.0, 0.9])
INTEGERS = np.array([3, -1, 4, 1, -5, 9, 2, 6, -2])
BOOLS = np.array([True, False, True])
MATRIX = np.array([[2.0, 1.0, 0.5], [0.25, 3.0, -1.0]])
UNIT = np.array([0.1, 0.5, 0.9])
SHORT = np.array([3, -1, 4], np.int32)
SINGLE = np.array([0.5, 2.0], np.float32)
OTHERS: dict[str, tuple[Callable[..., Any], tuple[Any, ...]]] = {
    "where": (lambda x: np.where(x > 1, x, 0), (INTEGERS,)),
    "where of a kind": (lambda x: np.where(x > 1, x, 0.5), (INTEGERS,)),
    "where of a number": (lambda x: np.where(x, 1, 2), (3,)),
    "clip": (lambda x: np.clip(x, 0, 2), (FLOATS,)),
    "round": (lambda x: np.round(x), (FLOATS,)),
    "dot": (lambda a, x: np.dot(a, x), (MATRIX, UNIT)),
    "dot by a number": (lambda a, x: np.dot(a, x), (MATRIX, 2.0)),
    "matmul": (lambda a, x: np.matmul(a, x), (MATRIX, UNIT)),
    "inner": (lambda x: np.inner(x, x), (FLOATS,)),
    "vdot": (lambda x: np.vdot(x, x), (FLOATS,)),
    "outer": (lambda x, y: np.outer(x, y), (UNIT, INTEGERS)),
    "norm": (lambda a: np.linalg.norm(a), (MATRIX,)),
    "norm of a vector": (lambda x: np.linalg.norm(x), (FLOATS,)),
    "transpose": (lambda a: np.transpose(a), (MATRIX,)),
    "reshape": (lambda a: np.reshape(a, (3, 2)), (MATRIX,)),
    "ravel": (lambda a: np.ravel(a), (MATRIX,)),
    "expand_dims": (lambda x: np.expand_dims(x, axis=1), (UNIT,)),
    "squeeze": (lambda x: np.squeeze(x, axis=0), (np.ones((1, 3)),)),
    "flip": (lambda x: np.flip(x), (MATRIX,)),
    "sort": (lambda x: np.sort(x), (FLOATS,)),
    "pad": (lambda x: np.pad(x, 1), (MATRIX,)),
    "pad by widths": (lambda x: np.pad(x, ((0, 1), (2, 0)), constant_values=0.5), (MATRIX,)),
    "concatenate": (lambda x, y: np.concatenate([x, y, [1, 2]]), (FLOATS, INTEGERS)),
    "stack": (lambda x: np.stack([x, 2 * x]), (UNIT,)),
    "array": (lambda x, y: np.array([x, y, 1]), (3, 0.5)),
    "array of rows": (lambda x, y: np.array([[x, y], [1, 2]]), (3, 4)),
    "array of a dtype": (lambda x: np.array([x, 2], dtype=float), (3,)),
    "asarray": (lambda x: np.asarray(x), (INTEGERS,)),
    "array of a list": (lambda n: np.array([k * k for k in range(n)]), (4,)),
    "zeros": (lambda n: np.zeros(n), (3,)),
    "zeros of integers": (lambda n: np.zeros((n, 2), dtype=int), (3,)),
    "ones": (lambda n: np.ones(n), (3,)),
    "eye": (lambda n: np.eye(n), (3,)),
    "identity": (lambda n: np.identity(n), (2,)),
    "full": (lambda n: np.full(n, 7), (3,)),
    "full of a symbol": (lambda n, x: np.full(n, x), (3, 0.5)),
    "arange": (lambda n: np.arange(1, n, 2), (8,)),
    "zeros_like": (lambda x: np.zeros_like(x), (INTEGERS,)),
    "ones_like": (lambda x: np.ones_like(x), (FLOATS,)),
    "float64": (lambda n: np.float64(n) / 2, (3,)),
    "sum along an axis": (lambda a: np.sum(a, axis=0), (MATRIX,)),
    "sum with its axis": (lambda a: np.sum(a, axis=1, keepdims=True), (MATRIX,)),
    "sum of a list": (lambda x: np.sum([x, 2, 3]), (4,)),
    "deviation of a sample": (lambda x: np.std(x, ddof=1), (FLOATS,)),
    "deviation of integers": (lambda x: np.std(x), (INTEGERS,)),
    "cumsum of a matrix": (lambda a: np.cumsum(a), (MATRIX,)),
    "position in a row": (lambda a: np.argmax(a, axis=1), (MATRIX,)),
    "position of a truth": (lambda x: np.argmax(x > 0.6), (FLOATS,)),
    "count of truths": (lambda x: np.count_nonzero(x > 0), (FLOATS,)),
    "mean of truths": (lambda x: np.mean(x > 0), (FLOATS,)),
    "sum of a range": (lambda n: np.sum(range(2, n)), (6,)),
    "array of a range": (lambda n: np.array(range(n)), (4,)),
    "sort of all items": (lambda a: np.sort(a, axis=None), (MATRIX,)),
    "round to digits": (lambda x: (np.round(x, 2), np.round(x * 1000, -1)), (FLOATS,)),
    "diff": (lambda x: (np.diff(x), np.diff(x, n=2)), (INTEGERS,)),
    "diff along an axis": (lambda a: np.diff(a, axis=0), (MATRIX,)),
    "median": (lambda x: np.median(x), (FLOATS,)),
    "median of an even number": (lambda a: np.median(a), (MATRIX,)),
    "median of integers": (lambda x: np.median(x[1:]), (INTEGERS,)),
    "median with NaN": (lambda x: np.median(x), (np.array([1.0, np.nan, 2.0]),)),
    "median of float32": (lambda x: np.median(x), (SINGLE,)),
    "trapezoid": (lambda x, y: (np.trapezoid(y), np.trapezoid(y, x), np.trapezoid(y, dx=0.1)), (INTEGERS, FLOATS)),
    "isclose": (lambda x, y: np.isclose(x, y), (np.array([1.0, np.inf, 0.0]), np.array([1.000001, np.inf, np.nan]))),
    "allclose": (lambda x, y: np.allclose(x, y, atol=0.1), (FLOATS, FLOATS + 0.05)),
    "append": (lambda x, n: np.append(x, [n, 2]), (FLOATS, 7)),
    "append of rows": (lambda a: np.append(a, a, axis=0), (MATRIX,)),
    "hstack": (lambda x, a: (np.hstack([x, x]), np.hstack([x, 1]), np.hstack([a, a])), (FLOATS, MATRIX)),
    "vstack": (lambda x, a: (np.vstack([x, x]), np.vstack((a, x[:3]))), (FLOATS, MATRIX)),
    "repeat": (lambda x: (np.repeat(x, 2), np.repeat(x, 0)), (INTEGERS,)),
    "repeat of rows": (lambda a: np.repeat(a, 2, axis=0), (MATRIX,)),
    "roll": (lambda x, n: (np.roll(x, 1), np.roll(x, n)), (INTEGERS, -3)),
    "tile": (lambda x: (np.tile(x, 2), np.tile(x, (2, 1))), (INTEGERS,)),
    "full_like": (lambda x, n: (np.full_like(x, 0.1), np.full_like(x, n, dtype=int)), (FLOATS, 3)),
    "full_like of integers": (lambda x, y: np.full_like(x, y), (INTEGERS, 2.7)),
    "linspace": (lambda x, y: np.linspace(x, y), (0.1, 0.7)),
    "linspace of a symbolic number": (lambda x, n: (np.linspace(x, 1, n), np.linspace(x, 1, n - 4)), (-3, 5)),
    "linspace of no points": (lambda n: np.linspace(0.0, 1.0, n), (0,)),
    "linspace without its end": (lambda x, n: np.linspace(x, 3, num=n, endpoint=False), (0.3, 7)),
    "linspace of equal ends": (lambda x: np.linspace(x, x, 3), (0.3,)),
    "linspace of a tiny step": (lambda x: np.linspace(0.0, x, 5), (5e-324,)),
    "quantile": (lambda x, q: (np.quantile(x, q), np.quantile(x, 0.5), np.quantile(x, [0.1, q])), (FLOATS, 0.3)),
    "quantile outside": (lambda x, q: np.quantile(x, q), (FLOATS, 1.5)),
    "quantile with NaN": (lambda x: np.quantile(x, 0.2), (np.array([1.0, np.nan, 2.0]),)),
    "percentile": (lambda a, q: (np.percentile(a, q), np.percentile(a, [25, 50, 75])), (MATRIX, 33)),
    "percentile of integers": (lambda x: (np.percentile(x, 90), np.percentile(x, 100)), (INTEGERS,)),
    "ptp": (lambda a: (np.ptp(a), np.ptp(a, axis=0)), (MATRIX,)),
    "bincount": (lambda x: (np.bincount(x % 4), np.bincount(x % 3, minlength=5)), (INTEGERS,)),
    "bincount of none": (lambda x: np.bincount(x[x > 99]), (INTEGERS,)),
    "bincount of a negative number": (lambda x: np.bincount(x), (INTEGERS,)),
    "bincount with weights": (lambda x, w: np.bincount(x % 4, weights=w), (INTEGERS, FLOATS)),
    "unique": (lambda x: (np.unique(x % 4), np.unique(x % 4, return_counts=True)), (INTEGERS,)),
    "bincount with fewer weights": (lambda x: np.bincount(x, weights=[5.0]), (np.array([1, 1]),)),
    "bincount with weights of a mask": (lambda x: np.bincount(x[x > 0], weights=x[x > 0]), (INTEGERS,)),
    "bincount with weights of another mask": (lambda x: np.bincount(x[x > 0], weights=x[x > 1]), (np.array([1, 2]),)),
    "bincount of nothing with weights": (lambda x: np.bincount(x, weights=x), (np.zeros(0, int),)),
    "bincount with a negative length": (lambda x: np.bincount(x, minlength=-1), (np.array([1]),)),
    "unique of NaN": (lambda x: (np.unique(x), np.unique(x, return_counts=True)), (np.array([np.nan, 2.0, np.nan]),)),
    "unique of floats": (lambda x: np.unique(np.round(x)), (FLOATS,)),
    "argsort": (lambda x: (np.argsort(x, kind="stable"), np.argsort(-x, stable=True)), (INTEGERS,)),
    "argsort of all items": (lambda a: np.argsort(a, axis=None, kind="mergesort"), (MATRIX,)),
    "searchsorted": (lambda x, y: (np.searchsorted(x, y), np.searchsorted(x, 0.1, side="right")), (UNIT, FLOATS)),
    "nonzero": (lambda x: (np.nonzero(x > 0)[0], np.where(x < 0), (x > 2).nonzero()), (INTEGERS,)),
    "nonzero of a matrix": (lambda a: np.nonzero(a > 1), (MATRIX,)),
    "flatnonzero": (lambda a: np.flatnonzero(a > 1), (MATRIX,)),
    "diag": (lambda x: (np.diag(x), np.diag(x, 1), np.diag(x, k=-2)), (INTEGERS[:3],)),
    "diag of bools": (lambda x: np.diag(x), (BOOLS,)),
    "diag of a matrix": (lambda a: (np.diag(a), np.diag(a, 1)), (MATRIX,)),
    "diagonal": (lambda a: (np.diagonal(a), np.diagonal(a, -1), a.diagonal()), (MATRIX,)),
    "trace": (lambda a: (np.trace(a), a.trace(), np.trace(a > 0)), (MATRIX,)),
    "triu": (lambda a: (np.triu(a), np.triu(a, 1)), (MATRIX,)),
    "tril": (lambda a: (np.tril(a), np.tril(a, -1)), (MATRIX,)),
    "det": (lambda a: np.linalg.det(a[:, :2]), (MATRIX,)),
    "inv": (lambda a: np.linalg.inv(a[:, :2]), (MATRIX,)),
    "inv of integers": (lambda x: np.linalg.inv(x[:4].reshape(2, 2)), (INTEGERS,)),
    "solve": (lambda a, x: np.linalg.solve(a[:, :2], x[:2]), (MATRIX, FLOATS)),
    "column_stack": (lambda x, a: (np.column_stack((x, x)), np.column_stack([a, [1, 2]])), (FLOATS, MATRIX)),
    "array_equal": (lambda x: (np.array_equal(x, x), np.array_equal(x, x[1:]), np.array_equal(x, x + 1)), (FLOATS,)),
    "fliplr": (lambda a: np.fliplr(a), (MATRIX,)),
    "flipud": (lambda a: np.flipud(a), (MATRIX,)),
    "degrees of float32": (lambda x: (np.radians(x), np.degrees(x)), (FLOATS.astype(np.float32),)),
    "degrees": (lambda x: (np.deg2rad(x), np.radians(x), np.degrees(x), np.rad2deg(x)), (FLOATS,)),
    "average": (lambda x, w: (np.average(x), np.average(x, weights=w), np.average(w, weights=x)), (INTEGERS, FLOATS)),
    "average with weights of sum 0": (lambda x: np.average(x, weights=[1, 2, -3]), (INTEGERS[:3],)),
    "average with fewer weights": (lambda x: np.average(x, weights=[5.0]), (FLOATS,)),
    "average with weights of a mask": (lambda x: np.average(x[x > 0], weights=x[x > 0]), (INTEGERS,)),
    "inv of a singular matrix": (lambda a: np.linalg.inv(a), (np.ones((2, 2)),)),
    "solve with a singular matrix": (lambda a: np.linalg.solve(a, [1.0, 2.0]), (np.ones((2, 2)),)),
    "average along an axis": (lambda a: np.average(a, axis=0), (MATRIX,)),
    "empty": (lambda n: np.empty(n).shape[0], (3,)),
    "empty_like": (lambda x: np.empty_like(x).shape, (FLOATS,)),
    "identity of integers": (lambda n: np.identity(n, int), (2,)),
}
"""Functions with parameters of their own, and arguments."""


DTYPES: dict[str, tuple[Callable[..., Any], tuple[Any, ...]]] = {
    "array of int32 and int": (lambda x: np.array([x[0], 1]), (SHORT,)),
    "array of float32 and float": (lambda x: np.array([x[0], 1.0]), (SINGLE,)),
    "stack of int32 and int": (lambda x: np.stack([x[0], 1]), (SHORT,)),
    "dot of float32 and int": (lambda x: np.dot(x, 2), (SINGLE,)),
    "outer of int32 and list": (lambda x: np.outer(x, [1, 2]), (SHORT,)),
    "sum of int32": (lambda x: np.sum(x), (SHORT,)),
    "cumprod of int32": (lambda x: np.cumprod(x), (SHORT,)),
    "mean of int8": (lambda x: np.mean(x), (SHORT.astype(np.int8),)),
    "norm of int16": (lambda x: np.linalg.norm(x), (SHORT.astype(np.int16),)),
    "add of float32 and float": (lambda x: np.add(x, 1.0), (SINGLE,)),
    "where of float32 and float": (lambda x: np.where(x > 1, x, 0.5), (SINGLE,)),
    "isnan of int8": (lambda x: np.isnan(x), (SHORT.astype(np.int8),)),
    "exp of int32": (lambda x: np.exp(x), (SHORT,)),
}
"""Functions of which NumPy's dtype depends on the dtype of an array, and arguments."""


def outcome(function: Callable[..., Any], *arguments: Any) -> str:
    """In what the converted function differs from NumPy: empty if in nothing."""
    with np.errstate(all="ignore"):
        return "\n".join(disagreements(function, [arguments], RUNS[:1]))


def operand_count(function: Any) -> int:
    """The number of arrays that a function of the table takes."""
    return function.nin if isinstance(function, np.ufunc) else 1


TAKE_BOOLS = {
    "logical_and", "logical_or", "logical_not", "logical_xor", "equal", "not_equal", "all", "any", "count_nonzero",
    "sum", "prod", "cumsum", "cumprod", "mean", "std", "var", "norm", "argmax", "argmin", "transpose", "ravel", "flip",
    "array", "asarray", "zeros_like", "ones_like",
    "isnan", "isinf", "isfinite",
}  # fmt: skip
"""The functions that take bools. NumPy makes float16 of these in others, and `Symbol` refuses them there."""
REFUSE_INTEGERS = {"floor", "ceil", "trunc", "rint", "round", "floor_divide", "remainder", "power"}
"""The functions that refuse integers: their dtype depends on the version of NumPy, or they fail on some values."""


WITH_PARAMETERS = {"where", "clip", "reshape", "expand_dims", "squeeze", "concatenate", "stack", "zeros", "ones",
                   "eye", "identity", "full", "arange", "dot", "matmul", "inner", "vdot", "outer", "diff", "median",
                   "isclose", "allclose", "append", "hstack", "vstack", "repeat", "roll", "tile", "full_like",
                   "linspace", "pad", "trapezoid", "quantile", "percentile", "ptp", "bincount", "unique", "argsort",
                   "searchsorted", "nonzero", "flatnonzero", "diag", "diagonal", "trace", "tril", "triu", "det", "inv",
                   "solve", "column_stack", "array_equal", "fliplr", "flipud", "empty", "empty_like"}  # fmt: skip
UNIFORM = {
    function.__name__: function
    for function in numpy_functions.FUNCTIONS
    if function.__name__ not in WITH_PARAMETERS and function is not np.float64
}


@pytest.mark.inner(first=8)
@pytest.mark.parametrize("name", UNIFORM)
def test_functions_of_arrays(name: str) -> None:
    """Each function of the table gives the value, dtype and shape of NumPy's, bit by bit, or is refused by name."""
    function, count = UNIFORM[name], operand_count(UNIFORM[name])
    taken = [FLOATS, *[INTEGERS] * (name not in REFUSE_INTEGERS), *[BOOLS] * (name in TAKE_BOOLS)]
    for operand in (FLOATS, INTEGERS, BOOLS):
        operands = [operand, operand[::-1].copy()][:count]
        try:
            found = outcome((lambda x: function(x)) if count == 1 else (lambda x, y: function(x, y)), *operands)
        except tl.Invalid as error:
            assert not any(operand is each for each in taken), error
            assert error.rule in ("F1", "V4"), error
            continue
        assert found == "", found


@pytest.mark.inner(first=8)
@pytest.mark.parametrize("name", OTHERS)
def test_functions_with_parameters(name: str) -> None:
    """Functions with shapes, axes, dtypes and several operands do what NumPy does."""
    function, arguments = OTHERS[name]
    assert outcome(function, *arguments) == ""


@pytest.mark.parametrize("name", DTYPES)
def test_dtypes_are_those_of_numpy(name: str) -> None:
    """A number of Python takes the dtype of the array beside it only where NumPy does not first make an array of it."""
    function, arguments = DTYPES[name]
    found, expected = np.asarray(tl.function(function)(*arguments)), np.asarray(function(*arguments))
    assert (found.dtype, found.tolist()) == (expected.dtype, expected.tolist())


METHODS: dict[str, tuple[Callable[..., Any], tuple[Any, ...]]] = {
    "sums": (lambda x: (x.sum(), x.prod(), x.mean(), x.var(), x.std(ddof=1)), (FLOATS,)),
    "sums along an axis": (lambda a: (a.sum(axis=0), a.mean(1), a.max(axis=1, keepdims=True)), (MATRIX,)),
    "order": (lambda x: (x.min(), x.max(), x.argmin(), x.argmax()), (INTEGERS,)),
    "truths": (lambda x: ((x > 0).all(), (x > 0).any(), (x > 0).sum(), (x > 0).mean()), (INTEGERS,)),
    "scans": (lambda x: (x.cumsum(), x.cumprod()), (INTEGERS,)),
    "dot": (lambda a, x: a.dot(x), (MATRIX, UNIT)),
    "shapes": (lambda a: (a.reshape(3, 2), a.reshape((6,)), a.ravel(), a.flatten(), a.transpose(), a.T), (MATRIX,)),
    "axes": (lambda a: (a.reshape(2, 1, 3).transpose(1, 0, 2), a.reshape(1, -1).squeeze(axis=0)), (MATRIX,)),
    "astype": (lambda x: (x.astype(int), x.astype(np.float32), x.astype("int32")), (FLOATS,)),
    "clip": (lambda x: (x.clip(0, 2), x.clip(0), x.clip(max=1), np.clip(x, None, 1)), (FLOATS,)),
    "copies": (lambda x: (x.copy(), x.round(1), x.repeat(2)), (FLOATS,)),
    "item": (lambda x: (x[2].item(), x[:1].item(), x.sum().item()), (FLOATS,)),
    "tolist": (lambda x: x.tolist()[::-1], (INTEGERS,)),
    "tolist of int8": (lambda x: [k + k for k in x.tolist()], (np.array([100, -3], np.int8),)),
    "item of int16": (lambda x: x[0].item() * 1000, (np.array([100], np.int16),)),
    "tolist of float32": (lambda x: [k / 7 for k in x.tolist()], (SINGLE,)),
    "tolist of rows": (lambda a: [sum(row) for row in a.tolist()], (MATRIX,)),
    "of a symbolic length": (lambda n: (np.arange(n).sum(), (np.arange(n) * 2).tolist()), (5,)),
    "dtype": (
        lambda x, a: (
            [(y.dtype == np.float64, y.dtype != int, y.dtype in (np.float32, float)) for y in (x, a)],
            (np.issubdtype(x.dtype, np.floating), np.int64 == a.dtype, np.dtype(int) == x.dtype),
            np.zeros_like(a, dtype=x.dtype),
        ),
        (FLOATS, MATRIX),
    ),
    "in a loop": (lambda x, n: [x.sum() * k for k in range(n)], (FLOATS, 3)),
}
"""Methods of arrays, and arguments."""


@pytest.mark.inner(first=4)
@pytest.mark.parametrize("name", METHODS)
def test_methods_of_arrays(name: str) -> None:
    """A method of a symbolic array does what it does to NumPy's."""
    function, arguments = METHODS[name]
    assert outcome(function, *arguments) == ""


def test_the_median_of_no_items_is_nan() -> None:
    """NumPy warns, too."""
    assert np.isnan(tl.function(lambda n: np.median(np.arange(n)))(0))


def test_every_function_has_a_case() -> None:
    """The table has no function that no test calls."""
    assert {name.partition(" ")[0] for name in OTHERS} >= WITH_PARAMETERS


@pytest.mark.parametrize(
    ("function", "argument", "name"),
    [
        (lambda x: np.histogram(x), FLOATS, "np.histogram"),
        (lambda x: np.sum(x, dtype=np.float32), FLOATS, "np.sum"),
        (lambda x: x.sum(dtype=np.float32), FLOATS, r"x\.sum"),
        (lambda x: x.max(), BOOLS, r"x\.max"),
        (lambda x: x.tolist(), np.array([1], np.uint64), r"x\.tolist"),
        (lambda x: np.sqrt(x), BOOLS, "np.sqrt"),
        (lambda x: np.argsort(x), FLOATS, "np.argsort"),
        (lambda x: np.argsort(x, kind="quicksort", stable=True), FLOATS, "np.argsort"),
        (lambda x: np.percentile(x, 50), BOOLS, "np.percentile"),
        (lambda x: np.quantile(x, 0), INTEGERS, "np.quantile"),
        (lambda x: np.sqrt(x), np.array([4], np.int8), "np.sqrt"),
        (lambda n: np.full(n, 2**63), 2, "np.full"),
        (lambda x: np.logical_not(x, np.zeros(3, bool)), BOOLS, "np.logical_not"),
    ],
)
def test_other_functions_are_refused_by_name(function: Any, argument: Any, name: str) -> None:
    """A function that tagloom does not compute exactly is refused, with its name and a hint."""
    with pytest.raises(tl.Invalid, match=f"F1: {name} needs") as refused:
        tl.function(function)(argument)
    assert refused.value.hint


@pytest.mark.parametrize(
    ("function", "argument"),
    [(lambda x: np.add(x, 300), np.array([1], np.int8)), (lambda n: np.array([n, 2**63]), 1)],
)
def test_integers_that_do_not_fit_are_refused(function: Any, argument: Any) -> None:
    """An integer that NumPy does not represent in the dtype of the array does not wrap."""
    with pytest.raises(tl.TagloomError):
        tl.function(function)(argument)


@pytest.mark.parametrize(
    ("attribute", "fault", "name"),
    [
        ("_to_real", lambda value: numpy_functions._to_operand(value), "deviation of integers"),
        ("_result_dtype", lambda values: np.dtype(int), "where of a kind"),
        ("_to_bool", lambda value: numpy_functions._to_operand(value), "where of a number"),
    ],
)
def test_broken_promotions_are_caught(attribute: str, fault: Any, name: str) -> None:
    """Without one of NumPy's promotions, a case differs or is refused."""
    function, arguments = OTHERS[name]
    with broken(lambda patch: patch.setattr(numpy_functions, attribute, fault)):
        try:
            found = outcome(function, *arguments)
        except Exception as error:
            found = str(error)
    assert found


def test_broken_arrays_of_numbers_are_caught() -> None:
    """If a number in a list takes the dtype beside it, the dtype of the array is not NumPy's."""
    function, arguments = DTYPES["array of int32 and int"]
    with broken(lambda patch: patch.setattr(numpy_functions, "_promote_arrays", numpy_functions._promote)):
        found = tl.function(function)(*arguments)
    assert np.asarray(found).dtype != function(*arguments).dtype
