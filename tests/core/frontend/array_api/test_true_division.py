"""True division of integers: `/` and `divide` convert integers to float64, on every engine and eagerly."""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator
from itertools import product
from typing import Any

import numpy as np
import pytest
import tagloom as tl
from tagloom.core import dtypes
from tagloom.core.frontend.eager import apply as apply_module
from tagloom.core.ops.op import OPS
from tagloom.core.value import is_same_value

INTEGERS = [dtype for dtype in dtypes.ALL if dtype.is_integer]
ENGINES = ("reference", "fast", pytest.param("compiled", marks=pytest.mark.full))
PAIRS = [*product(INTEGERS, repeat=2)]


def table(dtype: dtypes.DType) -> Any:
    """The extreme numbers of a dtype, and small ones, as a column."""
    limits = np.iinfo(dtype.numpy)
    small = [-7, -1] if limits.min else []
    return np.array([limits.min, limits.max, limits.max - 1, 0, 1, 2, 5, 7, *small], dtype.numpy)[:, None]


def numpy_quotient(x: Any, y: Any) -> Any:
    with np.errstate(all="ignore"):
        return np.true_divide(x, y, dtype=np.float64)


def is_same(one: Any, other: Any) -> bool:
    """Whether two values have the same dtype and elements, where 0.0 and -0.0 differ, and NaN is NaN."""
    return np.asarray(one).dtype == np.asarray(other).dtype and is_same_value(np.asarray(one), np.asarray(other))


def eager_differences() -> Iterator[str]:
    """The pairs of dtypes for which an eager quotient differs from NumPy's."""
    for one, other in PAIRS:
        x, y = table(one), table(other).T
        for quotient in (tl.asarray(x) / tl.asarray(y), x / tl.asarray(y), tl.divide(x, y)):
            if not is_same(quotient, numpy_quotient(x, y)):
                yield f"{one} / {other}"


def test_eager_quotients_are_those_of_numpy() -> None:
    """The quotient of two arrays of any integer dtypes, with extreme numbers and zeros, has NumPy's bits."""
    assert [*eager_differences()] == []


def test_a_conversion_to_float32_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """A twin that converts integers to float32 fails the test above."""

    def narrow(operand: Any) -> Any:
        return apply_module.apply("astype", operand, dtype=dtypes.float32)

    monkeypatch.setattr(apply_module, "promote_integer_to_float", narrow)
    assert len(set(eager_differences())) == len(PAIRS)


@tl.function
def quotients(x: Any, y: Any) -> Any:
    z = x
    z /= y
    return x / y, tl.divide(x, y), z, x / 2, 5 / y, x / 2.0, np.int8(5) / y


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("dtype", INTEGERS, ids=repr)
def test_quotients_in_a_function_are_those_of_numpy(dtype: dtypes.DType, engine: str) -> None:
    """Each way to write a quotient of integers, in a function, has NumPy's bits."""
    x, y = table(dtype), table(dtype).T
    one, two, three, half, five, other_half, other_five = quotients.run(x, y, engine=engine).value
    assert all(is_same(each, numpy_quotient(x, y)) for each in (one, two, three))
    assert is_same(half, numpy_quotient(x, 2)) and is_same(other_half, half)
    assert is_same(five, numpy_quotient(5, y)) and is_same(other_five, five)


@pytest.mark.parametrize("engine", ENGINES)
def test_quotients_of_scalars_are_those_of_python(engine: str) -> None:
    """Quotients of integers below 2^53 are Python's; by zero, they are NumPy's: infinities and NaN, and no trap."""

    @tl.function
    def quotient(n: tl.int64, m: tl.int64) -> Any:
        return n / m, n // tl.maximum(m, 1)

    for n, m in product((-(2**53), -7, 0, 1, 7, 2**53), repeat=2):
        value, floor = quotient.run(n, m, engine=engine).value
        assert is_same(value, n / m if m else numpy_quotient(n, m)), (n, m)
        assert type(floor) is int and floor == n // max(m, 1)


def test_python_numbers() -> None:
    """Python numbers alone divide as in Python, and take float64 beside an integer array, float32 beside float32."""
    assert tl.divide(7, 2) == 3.5 and type(tl.divide(7, 2)) is float
    assert (tl.asarray(7) / 2).dtype is tl.float64 and (5 / tl.asarray(8, dtype=tl.int8)).dtype is tl.float64
    assert (tl.asarray([7], dtype=tl.float32) / 2).dtype is tl.float32
    assert float(tl.asarray(7) / 10**30) == 7 / 1e30
    assert (tl.Variable(tl.asarray(7)) / 2).dtype is tl.float64


def test_a_loop_divides_its_number() -> None:
    """A loop variable that starts with a Python integer may be divided: it is a float64 from then on."""

    @tl.function
    def halved() -> Any:
        s = 64
        while s > 1:
            s /= 2
        return s

    assert halved() == 1.0 and type(halved()) is float


def test_the_program_has_a_node_for_each_conversion() -> None:
    """The program converts each integer array once, and divides floats: the op itself takes no integers."""

    @tl.function
    def both(n: tl.int64, m: tl.int32) -> Any:
        return n / m

    @tl.function
    def half(n: tl.int64) -> Any:
        return n / 2

    assert [node.op for node in both.program.functions[0].body.nodes] == ["astype", "astype", "divide"]
    assert [node.op for node in half.program.functions[0].body.nodes] == ["astype", "divide"]
    assert [row.name for row in OPS.values() if row.promotes_integers_to_float] == ["divide"]


def test_no_gradient_goes_to_integers() -> None:
    """The gradient of a quotient by an integer goes to the float operand, through the quotient."""
    assert tl.grad(lambda x: x * (tl.asarray(7) / 2))(1.0) == 3.5

    @tl.function
    def share(x: tl.float64, n: tl.int64) -> Any:
        return x * (1 / n)

    assert tl.grad(share)(3.0, 4) == 0.25


REFUSED: list[Callable[[], Any]] = [
    lambda: operator.truediv(tl.asarray(True), tl.asarray(True)),
    lambda: operator.truediv(tl.asarray(True), 2),
    lambda: operator.truediv(tl.asarray(7), True),
    lambda: operator.truediv(tl.asarray(7), tl.asarray(2.0)),
]


@pytest.mark.parametrize("divide", REFUSED)
def test_bools_and_mixed_kinds_are_refused(divide: Callable[[], Any]) -> None:
    """A bool is no number, and arrays of different kinds do not promote: the error says to convert."""
    with pytest.raises(tl.Invalid, match="V4: divide: ") as refused:
        divide()
    assert refused.value.hint is not None and "tl.astype(x, " in refused.value.hint
