"""The library that programs on arrays call: the end of a run, the accounting of memory, tape records, the thread pool,
and sums of all elements.

Generated code takes these functions from here, by the names that they have in their own modules. Programs on scalars
are loaded without numba, so they contain copies.
"""

from __future__ import annotations

from functools import partial
from typing import Any

from numba import boolean, float32, float64, int64, void

from . import intrinsics as m
from . import numpy_loops as n
from . import parallel_loops as w
from .memory import kernel
from .shared_library import SharedLibrary
from .state import SHARED_FUNCTIONS

_array_at: Any = w.array_at
_sum_kernel: Any = partial(kernel, fastmath={"reassoc"})


@_sum_kernel
def sum_elements(elements):  # type: ignore[no-untyped-def]
    """The sum of all elements in float64, accumulated in vector registers, which takes a sixth of the time."""
    sum_ = 0.0
    for i in range(elements.size):
        sum_ += elements[i]
    return sum_


@kernel
def round_elements(source, target):  # type: ignore[no-untyped-def]
    """Round the elements of an array into another one."""
    for i in range(source.size):
        target[i] = source[i]


_TWO, _THREE = void(int64, int64), void(int64, int64, int64)
LIBRARY = SharedLibrary(
    "runtime",
    {
        "abort_run": (_THREE, lambda s, reason, node: m.abort_run(s, reason, node)),
        "abort_at_guard": (void(int64, boolean), lambda s, is_too_deep: m.abort_at_guard(s, is_too_deep)),
        "set_stack_guard": (_TWO, lambda s, lowest: m.set_stack_guard(s, lowest)),
        "record_tag_step": (_THREE, lambda s, site, iteration: m.record_tag_step(s, site, iteration)),
        "charge_memory": (_TWO, lambda s, size: m.charge_memory(s, size)),
        "allocate_words": (int64(int64, int64), lambda s, words: m.allocate_words(s, words)),
        "release": (_THREE, lambda s, begin, row: m.release(s, begin, row)),
        "parallel_for": (
            boolean(*[int64] * 5),
            lambda s, body, words, count, size: w.parallel_for(s, body, words, count, size),
        ),
        "parallel_for_large": (
            boolean(*[int64] * 4),
            lambda s, body, words, count: w.parallel_for_large(s, body, words, count),
        ),
        "advise_huge_pages": (_TWO, lambda address, size: n.advise_huge_pages(address, size)),
        "sum_float32": (float64(int64, int64), lambda address, count: sum_elements(_array_at(address, count, float32))),
        "sum_float64": (float64(int64, int64), lambda address, count: sum_elements(_array_at(address, count, float64))),
        "round_to_float32": (
            _THREE,
            lambda source, target, count: round_elements(
                _array_at(source, count, float64), _array_at(target, count, float32)
            ),
        ),
    },
)


def __getattr__(name: str) -> Any:
    """A function of the library, for generated code to call, after loading its machine code."""
    if name not in SHARED_FUNCTIONS:
        raise AttributeError(name)
    LIBRARY.load()
    return LIBRARY.declare(name)
