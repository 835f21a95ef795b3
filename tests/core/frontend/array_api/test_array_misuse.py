"""Wrong arguments of array functions are refused in words, at the user's line; no exception of Python's own is
raised."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import tagloom as tl

V, M = tl.asarray([1.0, 2.0, 3.0]), tl.asarray([[1.0, 2.0], [3.0, 4.0]])
MISUSED: list[Callable[[], Any]] = [
    lambda: tl.arange(1, 3, dtype="a"),  # type: ignore[arg-type]
    lambda: tl.can_cast(tl.int8, None),  # type: ignore[arg-type]
    lambda: tl.isdtype(tl.int8, ["bool"]),
    lambda: tl.eye((2, 3)),  # type: ignore[arg-type]
    lambda: tl.eye(2, dtype="a"),  # type: ignore[arg-type]
    lambda: tl.eye(-1),
    lambda: tl.one_hot([0], (2, 3)),  # type: ignore[arg-type]
    lambda: tl.broadcast_shapes("a"),
    lambda: tl.broadcast_shapes((2, -1)),
    lambda: tl.std(V, correction="a"),  # type: ignore[arg-type]
    lambda: tl.function(lambda x: tl.var(x, correction=tl.size(x))).run(np.ones(3)),
    lambda: tl.linalg.vector_norm(V, ord="a"),  # type: ignore[arg-type]
    lambda: tl.linalg.matrix_norm(M, ord=[1]),
    lambda: tl.tensordot(M, M, axes=(0, 1)),
    lambda: tl.tensordot(M, M, axes=((0,),)),
    lambda: tl.tensordot(M, M, axes=((0,), (0,), (1,))),
    lambda: tl.pad(V, ((),)),
    lambda: tl.pad(V, ((1, 2, 3),)),
    lambda: pow(tl.asarray([2]), 3, 5),
    lambda: round(tl.asarray(2.5)),
    lambda: math.floor(tl.asarray(2.5)),
    lambda: math.ceil(tl.asarray(2.5)),
    lambda: math.trunc(tl.asarray(2.5)),
    lambda: tl.roll(M, (1, 2), axis=(0, 1, 0)),
    lambda: tl.linalg.cross(V, V, axis=0),
]


@pytest.mark.parametrize("misuse", MISUSED)
def test_misuse(misuse: Callable[[], Any]) -> None:
    """Each wrong call raises a tagloom error with its place."""
    with pytest.raises((tl.Usage, tl.Invalid)) as refused:
        misuse()
    assert "test_array_misuse.py" in str(refused.value.where)


@pytest.mark.parametrize(("x", "required"), [(1.0, "an array with axes"), (V, "1 to 1 indices")])
def test_indices_of_axes_that_do_not_exist(x: Any, required: str) -> None:
    """`gather` and the scatters need an axis for each index; otherwise the error is an IndexError, as in NumPy."""
    for call in (lambda: tl.gather(x, [0], [0]), lambda: tl.scatter_add(x, 1.0, [0], [0])):
        with pytest.raises(IndexError, match=required):
            call()


def test_shapes_as_lists() -> None:
    """Shapes that broadcast may be lists."""
    assert tl.broadcast_shapes([2, 1], (3,)) == (2, 3) and tl.broadcast_shapes((None, 1), 4) == (None, 4)


def _hint(function: Callable[[Any], Any], type_: Any) -> str:
    def f(x):  # type: ignore[no-untyped-def]
        return function(x)

    f.__annotations__["x"] = type_
    with pytest.raises((tl.Usage, tl.Invalid)) as refused:
        tl.function(f).program  # noqa: B018 - tracing is what refuses
    return refused.value.hint or ""


def test_hints() -> None:
    """The hint says what to write for symbolic values."""
    assert "tl.stack" in _hint(lambda x: tl.asarray([x[0], x[1]]), tl.Array[tl.float64, 3])
    assert "tl.zeros_like(x)" in _hint(lambda x: tl.zeros((None,)), tl.Array[tl.float64, None])


def test_a_grid_can_be_returned() -> None:
    """A function may return the result of `meshgrid`."""
    result = tl.function(lambda x, y: tl.meshgrid(x, y))(np.arange(2), np.arange(3))
    assert all(map(np.array_equal, result, np.meshgrid(np.arange(2), np.arange(3))))


def test_traced_programs_can_be_written() -> None:
    """A traced program has a text and a JSON form, even with very large shifts or diagonals."""

    @tl.function
    def f(m: tl.Array[tl.float64, 2, 3]):  # type: ignore[no-untyped-def]
        return tl.roll(m, 2**62 + 1, axis=0), tl.roll(m, -(2**70)), tl.linalg.diagonal(m, offset=2**70)

    m = np.arange(6.0).reshape(2, 3)
    program = f.program
    assert tl.parse_program(tl.print_program(program)) == program and tl.from_json(tl.to_json(program))
    result = f(m)
    assert np.array_equal(result[0], m[::-1]) and result[2].shape == (0,)
    assert np.array_equal(result[1], np.roll(m, -(2**70) % 6))

    @tl.function
    def g(x: tl.Array[tl.float64, None]):  # type: ignore[no-untyped-def]
        return tl.roll(x, 2**62)

    with pytest.raises(tl.Invalid, match="the number of shifts is not the number of axes"):
        g.program  # noqa: B018 - tracing is what refuses
