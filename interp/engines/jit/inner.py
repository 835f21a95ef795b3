"""Decorators for functions that only compiled code calls: numba then omits the Python and C wrappers. These were two of
the three modules that it compiled for a function, and took as long."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from numba import njit

internal_njit: Callable[..., Any] = partial(njit, no_cpython_wrapper=True, no_cfunc_wrapper=True)
kernel: Callable[..., Any] = partial(internal_njit, error_model="numpy")
"""The same, with IEEE 754 float division."""
