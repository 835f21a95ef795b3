"""Functions that only compiled code calls: numba puts no wrapper for Python around them, and none for C. Those were two
of three modules that it made of a function, and as long as that took."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from numba import njit

internal_njit: Callable[..., Any] = partial(njit, no_cpython_wrapper=True, no_cfunc_wrapper=True)
kernel: Callable[..., Any] = partial(internal_njit, error_model="numpy")
"""The same, where floats are divided as IEEE 754 says."""
