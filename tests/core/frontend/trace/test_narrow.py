"""Ops that compute float32 arrays in float32: their error, and that a result depends on the number only."""

from __future__ import annotations

import numpy as np
import pytest
import tagloom as tl
from tagloom.core.ops.op import OPS, build_kernel
from tagloom.core.types import Type

NARROW = [row for row in OPS.values() if row.numpy_float32 is not None and row.arity == 1]
"""But for `nextafter`, which is exact, and of float32 another number than of float64, and products, which have a bound
(test_array_ops.py)."""


def sampled_floats() -> np.ndarray:
    """Floats of all sizes: every 4,099th one."""
    numbers = np.arange(0, 2**32, 4_099, dtype=np.uint64).astype(np.uint32).view(np.float32)
    return np.asarray(numbers[np.isfinite(numbers)])


@pytest.mark.parametrize("row", NARROW, ids=lambda row: row.name)
def test_within_two_ulp(row: object) -> None:
    """Each element is within 2 ulp of the float64 result, and NaN if that is."""
    numbers = sampled_floats()
    result = build_kernel(row, [Type(tl.float32, (None,))], Type(tl.float32, (None,)))(numbers)  # type: ignore[arg-type]
    exact = row.numpy(numbers.astype(np.float64))  # type: ignore[attr-defined]
    assert result.dtype == np.float32 and (np.isnan(result) == np.isnan(exact)).all()
    ulp = np.spacing(np.abs(exact).astype(np.float32))
    assert (np.abs(result.astype(np.float64) - exact) <= 2 * ulp).all()


@pytest.mark.parametrize("row", NARROW, ids=lambda row: row.name)
def test_results_do_not_depend_on_positions(row: object) -> None:
    """An element has the same result at the end of an array, in its middle, beside any others, and alone."""
    numbers = sampled_floats()[::50][:2000]
    result = row.numpy_float32(numbers)  # type: ignore[attr-defined]
    assert row.numpy_float32(np.repeat(numbers, 3)[::3]).tobytes() == result.tobytes()  # type: ignore[attr-defined]
    assert row.numpy_float32(numbers[::-1])[::-1].tobytes() == result.tobytes()  # type: ignore[attr-defined]
    for begin, end in ((1, 2000), (7, 24), (0, 15), (500, 501), (1999, 2000)):
        assert row.numpy_float32(numbers[begin:end].copy()).tobytes() == result[begin:end].tobytes()  # type: ignore[attr-defined]
