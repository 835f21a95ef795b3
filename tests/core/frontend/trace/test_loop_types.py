"""Loop variables that start with Python numbers have the dtypes that the body gives them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import tagloom as tl
from tagloom.core import dtypes

NUMBERS = [dtype for dtype in dtypes.ALL if dtype.kind != "b"]


@pytest.mark.parametrize("dtype", NUMBERS, ids=repr)
def test_loops_cond_and_recursion_agree(dtype: dtypes.DType) -> None:
    """A sum that starts with 0 or 0.0 has the dtype of what is added, in a loop as in a recursion and a branch."""
    start, x = (0.0 if dtype.kind == "f" else 0), dtype.numpy.type(3)

    def recurse(n: Any, x: Any) -> Any:
        return tl.cond(n <= 0, lambda: start, lambda: recursion(n - 1, x) + x)

    recursion = tl.function(recurse)
    loop = tl.function(lambda x: tl.while_loop(lambda i, _: i < 2, lambda i, total: (i + 1, total + x), 0, start)[1])
    branch = tl.function(lambda x: tl.cond(x > 0, lambda: x + x, lambda: start))
    called = tl.function(lambda x: recursion(2, x))
    for function in (loop, branch, called):
        assert function.trace(x).program.main.results[0].dtype is dtype
        assert function(x) == 6


@tl.function
def chained(x: tl.float32) -> Any:
    """Each variable gets its dtype from the one before."""
    return tl.while_loop(lambda i, y, z: i < 3, lambda i, y, z: (i + 1, y + x, z + y), 0, 0.0, 0.0)


@tl.function
def nested(x: tl.float32) -> Any:
    def body(i: Any, y: Any) -> Any:
        return i + 1, tl.while_loop(lambda j, z: j < 2, lambda j, z: (j + 1, z + x), 0, y)[1]

    return tl.while_loop(lambda i, y: i < 3, body, 0, 0.0)


@tl.function
def branching(x: tl.float32) -> Any:
    """The branches have different dtypes where y is float64."""
    return tl.while_loop(lambda i, y: i < 4, lambda i, y: (i + 1, tl.cond(y > 1.0, lambda: y * x, lambda: x)), 0, 0.5)


@pytest.mark.parametrize("function, value", [(chained, 7.5), (nested, 15.0), (branching, 39.0625)])
def test_dtypes_spread_through_loops(function: Any, value: float) -> None:
    """The dtype reaches variables that depend on others, inner loops and branches; counters stay int64."""
    types = [type_.dtype for type_ in function.program.main.results]
    assert types == [dtypes.int64] + [dtypes.float32] * (len(types) - 1)
    assert function(np.float32(2.5))[-1] == value


def test_loops_of_default_dtypes_are_traced_once() -> None:
    """A loop without other dtypes than int64 and float64 is traced as often as without Python numbers."""
    traced = list[Any]()

    def body(i: Any, y: Any) -> Any:
        traced.append(y)
        return i + 1, y * 2.0

    assert tl.function(lambda n: tl.while_loop(lambda i, y: i < n, body, 0, 1.0)[1])(3) == 8.0
    assert len(traced) == 1


@pytest.mark.parametrize("start, following", [(0, 0.5), (0.0, np.ones(1, np.float32)), (300, np.int8(1))])
def test_other_kinds_shapes_and_ranges_are_refused(start: Any, following: Any) -> None:
    """V5: a number does not become one of another kind, an array, or a dtype that does not hold it."""
    with pytest.raises((tl.Invalid, tl.Usage), match=r"changes its type|does not fit into int8"):
        tl.function(lambda n: tl.while_loop(lambda i, y: i < n, lambda i, y: (i + 1, following), 0, start))(3)
