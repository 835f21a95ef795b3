"""Matrix products are within their row's error bound for all sizes, with the same bits on any number of threads."""

from __future__ import annotations

import functools
import inspect
from itertools import product as product_of
from typing import Any

import numpy as np
import pytest
import tagloom as tl
from numba import float32, float64, int64, njit, void
from tagloom.core.ops.op import OPS
from tagloom.interp.engines.jit import matrices, thread_pool
from tagloom.interp.engines.jit.state import POOL_ADDRESS

ROWS = matrices._TILE_ROWS
DTYPES = np.float32, np.float64
SIZES = [
    *((ROWS, 1, 1), (ROWS - 1, 4, 64), (ROWS, 5, 32), (ROWS + 1, 300, 33), (2 * ROWS - 1, 7, 95)),
    *((3 * ROWS, 64, 16), (40, 130, 70), (64, 256, 256), (128, 16, 500)),
    *((2, 70, 5), (ROWS + 3, 40, 10), (50, 30, 1), (9, 4096, 3), (20, 9, 7), (33, 9, 17), (3, 0, 4), (0, 5, 40)),
    *((200, 784, 10), (60, 400, 12), (40, 400, 20), (300, 1000, 1)),
    *((ROWS, 4100, 1), (ROWS + 1, 4100, 19), (33 * ROWS + 3, 4100, 35)),
]


@functools.cache
def _wrapped(product: Any, real: Any) -> Any:
    return njit(real[:, ::1](int64, real[:, ::1], real[:, ::1]), nogil=True)(lambda s, x, y: product(s, x, y))


REALS = {np.float32: float32, np.float64: float64}


def factors(size: tuple[int, int, int], dtype: Any) -> tuple[Any, Any]:
    rows, inner, columns = size
    dice = np.random.default_rng(sum(size))
    return dice.normal(size=(rows, inner)).astype(dtype), dice.normal(size=(inner, columns)).astype(dtype)


def product(helping: int, x: Any, y: Any) -> Any:
    state = np.zeros(9, np.int64)
    state[POOL_ADDRESS] = helping
    return _wrapped(matrices.matmul, REALS[x.dtype.type])(state.ctypes.data, x, y)


@pytest.mark.full(first=12)
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("size", SIZES)
def test_products_are_within_their_bound(size: tuple[int, int, int], dtype: Any) -> None:
    """Every element is within the bound of its row, and equal with and without helpers."""
    x, y = factors(size, dtype)
    alone = product(0, x, y)
    exact = x.astype(np.longdouble) @ y.astype(np.longdouble)
    assert (np.abs(alone - exact) <= OPS["matmul"].error_bound(x, y)).all()  # type: ignore[misc]
    for _ in range(5):
        assert product(thread_pool.start_pool(), x, y).tobytes() == alone.tobytes()


@pytest.mark.full
@pytest.mark.parametrize("size", [(1, 2**20, 1), (2, 2**20, 3), (ROWS, 2**20, 1), (ROWS, 2**20, 2)])
def test_long_sums_are_exact(size: tuple[int, int, int]) -> None:
    """A sum of a million float32 products is about as exact as NumPy's; in sequence it would be off by a percent."""
    x, y = (np.full(shape, 0.1, np.float32) for shape in (size[:2], size[1:]))
    assert np.abs(product(0, x, y) / (2**20 * 0.01) - 1.0).max() < 1e-3


@pytest.mark.full
def test_a_request_ends_large_products() -> None:
    """Products poll the stop word before each block, and those of integers before each row: no element is computed."""
    stop = np.zeros(9, np.int64)
    x, y, product = np.ones((ROWS, 600)), np.ones((600, 64)), np.zeros((ROWS, 64))
    tiles, strides = matrices.matmul_whole_tiles, (600, 1)
    real, integer = float64[:, ::1], int64[:, ::1]
    compute = njit(void(int64, real, real, real))(
        lambda s, x, y, product: tiles(s, matrices.data_address(x), y, product, ROWS, 64, strides)
    )
    integer_product = matrices.integer_matmul
    compute_integers = njit(integer(int64, integer, integer))(lambda s, x, y: integer_product(s, x, y, np.int64))
    for is_stopped in (True, False):
        stop[0] = is_stopped
        compute(stop.ctypes.data, x, y, product)
        assert (product == (0 if is_stopped else 600)).all()
        integers = compute_integers(stop.ctypes.data, x.astype(np.int64), y.astype(np.int64))
        assert (integers == (0 if is_stopped else 600)).all()


@pytest.mark.full
def test_a_product_writes_its_elements_only() -> None:
    """A product writes all of its elements, and nothing else."""
    x, y = factors((ROWS + 3, 9, 77), np.float64)
    x[:], y[:] = 1.0, 1.0
    for _ in range(50):
        assert (product(0, x, y) == 9.0).all()


@pytest.mark.full
def test_infinities_stay_in_their_row() -> None:
    """Padding and overlapping tiles affect no other element, even with infinities."""
    x, y = factors((ROWS + 1, 6, 70), np.float32)
    x[0, 0], y[3, 1] = np.inf, np.nan
    result = product(0, x, y)
    assert np.isnan(result[:, 1]).all() and np.isfinite(np.delete(result[1:], 1, 1)).all()


@pytest.mark.full
def test_products_in_a_loop_agree() -> None:
    """A recurrent cell agrees with the reference."""

    @tl.function
    def cell(
        h: tl.Array[tl.float32, None, None], w: tl.Array[tl.float32, None, None], n: tl.int64
    ) -> tl.Array[tl.float32, None, None]:
        return tl.while_loop(lambda i, h: i < n, lambda i, h: (i + 1, tl.tanh(tl.matmul(h, w))), 0, h)[1]

    h, w = factors((32, 128, 128), np.float32)
    compiled, meant = (cell.run(h, w * np.float32(0.05), 5, engine=each).value for each in ("compiled", "reference"))
    np.testing.assert_allclose(compiled, meant, rtol=0, atol=1e-5)


@pytest.mark.full(first=1)
@pytest.mark.parametrize("dtype", DTYPES)
def test_transposed_and_added_products_are_within_their_bound(dtype: Any) -> None:
    """Products with transposed operands, and products added to an array or to zeros, are within the bound; an addition
    rounds once."""
    real = float32 if dtype is np.float32 else float64
    matrix = real[:, ::1]
    turned, few, added = matrices.matmul_transposed_left, matrices.matmul_transposed_right, matrices.matmul_accumulate
    left = njit(matrix(int64, matrix, matrix))(lambda s, x, y: turned(s, x, y))
    right = njit(matrix(matrix, matrix))(lambda x, y: few(x, y))
    plus = njit(void(int64, matrix, matrix, matrix, int64, int64))(lambda s, z, x, y, t, how: added(s, z, x, y, t, how))
    state = np.zeros(9, np.int64)
    for size in ((16, 40, 64), (5, 3, 70), (16, 40, 7), (16, 1, 7), (5, 0, 3)):
        x, y = factors(size, dtype)
        exact, bound = x.astype(np.longdouble) @ y, OPS["matmul"].error_bound(x, y)  # type: ignore[misc]
        assert (np.abs(left(state.ctypes.data, x.T.copy(), y) - exact) <= bound).all()
        assert (np.abs(right(x[:3], y.T.copy()) - exact[:3]) <= bound[:3]).all()
    for inner, begin in product_of((40, 1), (0.1, -0.0)):
        x, y = factors((16, inner, 64), dtype)
        x[::3] *= dtype(-0.0)
        alone = product(0, x, y)
        for is_turned, given in ((0, x), (1, x.T.copy())):
            to = np.full((16, 64), dtype(begin))
            plus(state.ctypes.data, to, given, y, is_turned, matrices.ADD_TO_TARGET)
            assert to.tobytes() == (alone + dtype(begin)).tobytes()
            plus(state.ctypes.data, to, given, y, is_turned, matrices.ADD_TO_ZEROS)
            assert to.tobytes() == (alone + dtype(0.0)).tobytes()


TWINS = {
    "tiles begin one late": (
        "compute_strips",
        "number * tile_columns",
        "number * tile_columns + (number == 1)",
    ),
    "the last columns are left out": (
        "compute_strips",
        "for number in range(first, last)",
        "for number in range(first, last - (last > 1))",
    ),
    "the last rows are left out": (
        "compute_strips",
        "range(0, rows, _TILE_ROWS)",
        "range(0, rows - _TILE_ROWS + 1, _TILE_ROWS)",
    ),
    "rows of another matrix": ("compute_strips", "row * row_stride * size", "row * count * size"),
    "only the last block of terms": ("matmul_whole_tiles", "if term == 0", "if term >= 0"),
    "the rows of the first block": ("matmul_whole_tiles", "(row * row_stride +", "(0 * row_stride +"),
    "columns that fill no tile are left out": ("matmul_by_blocks", "= tiles[:rows", "= 0 * tiles[:rows"),
}


@pytest.mark.full(first=1)
@pytest.mark.parametrize("twin", TWINS)
def test_twin_is_caught(twin: str) -> None:
    """Tiles and blocks that omit or misplace a part exceed the bound."""
    function, right, wrong = TWINS[twin]
    assert right in inspect.getsource(vars(matrices)[function].py_func)
    scope = dict(vars(matrices))
    exec("@kernel\ndef _strips_body_address(x): return parallel_loops.function_address(_compute_strips64)", scope)
    is_blocked = function != "compute_strips"
    names = ["compute_strips", "_compute_strips64"]
    if is_blocked:
        exec(
            "@kernel\ndef compute(s, x, y):\n"
            "    product = np.empty((x.shape[0], y.shape[1]), x.dtype)\n"
            "    matmul_by_blocks(s, x, y, product, x.shape[1], 1)\n"
            "    return product",
            scope,
        )
        names += ["matmul_whole_tiles", "matmul_by_blocks"]
    else:
        names += ["matmul_by_strips", "matmul_narrow", "matmul_tiled", "matmul"]
    for name in names:
        text = inspect.getsource(vars(matrices)[name].py_func)
        exec(text.replace(right, wrong) if name == function else text, scope)
    x, y = factors((33 * ROWS + 3, 600, 19) if is_blocked else (4 * ROWS + 1, 90, 83), np.float64)
    state = np.zeros(9, np.int64)
    result = _wrapped(scope["compute" if is_blocked else "matmul"], float64)(state.ctypes.data, x, y)
    assert not (np.abs(result - x @ y) <= 2 * OPS["matmul"].error_bound(x, y)).all()  # type: ignore[misc]
