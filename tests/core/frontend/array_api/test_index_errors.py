"""The class of the error of each wrong index: NumPy's, for arrays outside of functions and in them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import tagloom as tl
from tagloom.core.errors import TagloomError

INDICES: list[str] = [
    "x[0.5]",
    "x[1.0]",
    "x[-0.0]",
    "x[numpy.float64(1)]",
    "x[1j]",
    "x['a']",
    "x[b'a']",
    "x[int]",
    "x[{}]",
    "x[{1}]",
    "x[object()]",
    "x[range(5)]",
    "x[[0.5]]",
    "x[['a']]",
    "x[array([0.0, 1.0])]",
    "x[array(0.5)]",
    "y[0, 'a']",
    "y[0.5, 0]",
    "y[..., 0.5]",
    "y[:, 0.5]",
    "y[None, 0.5]",
    "y[array([0.5]), array([0])]",
    "x[3]",
    "x[-4]",
    "x[numpy.int8(7)]",
    "x[array([0, 5])]",
    "x[[0, -4]]",
    "y[2]",
    "y[-3]",
    "y[0, 3]",
    "y[array([0, 2]), array([0, 0])]",
    "x[0, 0]",
    "y[0, 0, 0]",
    "x[None, 0, 0]",
    "z[0]",
    "z[:]",
    "z[..., 0]",
    "y[..., ...]",
    "x[array([True, False])]",
    "x[[True, False]]",
    "x[array([[True, False, True]])]",
    "y[array([True, False, True])]",
    "y[array([0, 1]), array([0, 1, 2])]",
    "x[0.5:]",
    "x[:1.0]",
    "x[::1.5]",
    "x['a':]",
    "x[slice('a', None)]",
    "y[0, 0.5:]",
    "x[::0]",
    "y[:, ::0]",
    "y[[[0, 1], [0]]]",
]
"""Wrong indices into arrays of shapes (3,), (2, 3) and ()."""


def error_of(call: Callable[[], Any]) -> Exception:
    """The error that a call raises."""
    try:
        call()
    except Exception as error:
        return error
    raise AssertionError("no error")


@pytest.mark.inner(first=5)
@pytest.mark.parametrize("text", INDICES)
def test_wrong_indices(text: str) -> None:
    """A wrong index is an error of tagloom's, and of the class that NumPy raises: IndexError, TypeError for the bounds
    of a slice, ValueError for a step of 0 and a ragged list."""
    code = compile(text, text, "eval")

    def evaluate(array: Any, **arrays: Any) -> Any:
        return eval(code, {"numpy": np, "array": array, **arrays})

    def traced(x: Any, y: Any, z: Any) -> Any:
        return evaluate(tl.asarray, x=x, y=y, z=z)

    required = type(error_of(lambda: evaluate(np.array, x=np.zeros(3), y=np.zeros((2, 3)), z=np.zeros(()))))
    assert required in (IndexError, TypeError, ValueError)
    arrays = tl.zeros(3), tl.zeros((2, 3)), tl.zeros(())
    for call in (lambda: traced(*arrays), lambda: tl.function(traced)(*arrays)):
        error = error_of(call)
        assert isinstance(error, TagloomError) and isinstance(error, required), (type(error).__mro__, required)


def test_symbolic_floats() -> None:
    """A float of a run is no index, either; the message says how to convert it."""
    for call in (lambda: tl.function(lambda x, i: x[i])(tl.zeros(3), 0.5), lambda: tl.zeros(3)[tl.asarray([1.0])]):
        error = error_of(call)
        assert isinstance(error, IndexError) and "tl.astype(i, tl.int64)" in str(error)
