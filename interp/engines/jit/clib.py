"""The functions of the C library that compiled code calls, as Python's `math` does, and those of NumPy."""

from __future__ import annotations

import ctypes
import sys
from functools import cache

_UNARY_FUNCTIONS = "acos acosh asin asinh atan atanh cos cosh exp expm1 log log10 log1p log2 sin sinh tan tanh"
ARITY = {**dict.fromkeys(_UNARY_FUNCTIONS.split(), 1), "atan2": 2, "pow": 2}
"""How many float64 each takes; it gives one."""
UFUNC_OPS = (
    *("exp", "expm1", "log", "log1p", "log2", "log10", "logaddexp", "pow", "hypot"),
    *("sin", "cos", "tan", "asin", "acos", "atan", "atan2", "sinh", "cosh", "tanh", "asinh", "acosh", "atanh"),
)
"""Ops that NumPy computes in loops of its own, on floats."""


def symbol_name(name: str) -> str:
    """What compiled code calls a function: a name that LLVM does not know."""
    return f"tagloom_{name}"


@cache
def _load_library() -> ctypes.CDLL:
    return ctypes.CDLL("ucrtbase" if sys.platform == "win32" else None)


def function_address(name: str) -> int:
    """Where a function is."""
    found = ctypes.cast(getattr(_load_library(), name), ctypes.c_void_p).value
    assert found is not None
    return found
