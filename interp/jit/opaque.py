"""The functions of the C library that Python's `math` calls, under names that LLVM does not know.

LLVM takes pow(x, 0.5) for a square root, pow(2, x) for exp2(x), and computes what it finds constant by its own library:
correct to a bit less than what the reference computes. An unknown function is called, and so gives the same bits.
The names below are those of `math`, so that a kernel finds here what it finds there.
"""

from __future__ import annotations

import ctypes
import sys
from math import copysign, inf, isinf, nan, pi, sqrt
from typing import Any

import llvmlite.binding as llvm
from numba import float64, types

from .inner import inner

__all__ = ["copysign", "cos", "exp", "inf", "isinf", "log", "nan", "pi", "pow", "sin", "sqrt", "tanh"]


def _opaque(name: str, arity: int) -> Any:
    library = ctypes.CDLL("ucrtbase" if sys.platform == "win32" else None)
    symbol = f"tagloom_{name}"
    llvm.add_symbol(symbol, ctypes.cast(getattr(library, name), ctypes.c_void_p).value)
    called = types.ExternalFunction(symbol, float64(*[float64] * arity))
    if arity == 1:
        return inner(lambda x: called(x))
    return inner(lambda x, y: called(x, y))


exp = _opaque("exp", 1)
log = _opaque("log", 1)
sin = _opaque("sin", 1)
cos = _opaque("cos", 1)
tanh = _opaque("tanh", 1)
pow = _opaque("pow", 2)
