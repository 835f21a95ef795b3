"""The functions of the C library that Python's `math` calls, under names that LLVM does not know.

LLVM takes pow(x, 0.5) for a square root, pow(2, x) for exp2(x), and computes what it finds constant by its own library:
correct to a bit less than what the reference computes. An unknown function is called, and so gives the same bits.
The names here are those of `math`, so that a kernel finds here what it finds there.
"""

from __future__ import annotations

from functools import cache
from math import copysign, fabs, inf, isinf, nan, pi, sqrt
from typing import Any

import llvmlite.binding as llvm
from numba import float64, types

from . import clib
from .inner import internal_njit

__all__ = ["copysign", "fabs", "inf", "isinf", "nan", "pi", "sqrt"]


for _name in clib.ARITY:  # all of them: machine code from disk finds them by their symbols
    llvm.add_symbol(clib.symbol_name(_name), clib.function_address(_name))


def __getattr__(name: str) -> Any:
    """A function of the C library; what each is, is made when it is asked for."""
    if name not in clib.ARITY:
        raise AttributeError(name)
    return _external_function(name)


@cache
def _external_function(name: str) -> Any:
    arity = clib.ARITY[name]
    called = types.ExternalFunction(clib.symbol_name(name), float64(*[float64] * arity))
    if arity == 1:
        return internal_njit(lambda x: called(x))
    return internal_njit(lambda x, y: called(x, y))
