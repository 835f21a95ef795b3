"""Constant folding in importers: results that depend on small constants alone become constants, from which shapes and
axes may be taken."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ...core.frontend.array_api.common import type_of
from ...core.frontend.trace.program_builder import current_region, suspend_tracing

MAX_FOLDED_ELEMENTS = 1024
"""The most elements of a constant that is folded, and of its results."""


def is_small_constant(value: Any) -> bool:
    """Whether a value is a constant of few elements."""
    return isinstance(value, np.ndarray) and value.size <= MAX_FOLDED_ELEMENTS


def is_small(value: Any) -> bool:
    """Whether a result has few elements, and a known shape."""
    shape = type_of(value).shape
    if shape is None or None in shape:
        return False
    return int(np.prod([size or 0 for size in shape])) <= MAX_FOLDED_ELEMENTS


def fold(
    compute: Callable[[], Sequence[Any]],
    *,
    is_small: Callable[[Any], bool] = is_small,
    as_constant: Callable[[Any], Any] = np.asarray,
) -> Sequence[Any]:
    """The results of `compute` on small constants, as constants if all are small.

    `compute` is traced first, to find the sizes of its results; if they are small, the traced nodes are dropped, and
    `compute` runs on the constants.
    """
    region = current_region()
    if region is None:
        return compute()
    mark = region.mark()
    results = compute()
    if not all(map(is_small, results)):
        return results
    region.reset(mark)
    with suspend_tracing():
        return list(map(as_constant, compute()))
