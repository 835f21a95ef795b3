"""The functions of the C library that Python's `math` calls, under symbols that LLVM does not recognise.

LLVM replaces pow(x, 0.5) by a square root and pow(2, x) by exp2(x), and folds constants with its own library; then the
last bits of results differ from those of the reference. It cannot replace a function that it does not recognise.
Kernels find these functions in this module under their names in `math`.
"""

from __future__ import annotations

from functools import cache
from math import copysign, e, fabs, inf, isinf, isnan, nan, pi, sqrt
from typing import Any

import llvmlite.binding as llvm
from numba import float64, types

from . import kernels
from .memory import internal_njit

__all__ = ["copysign", "e", "fabs", "inf", "isinf", "isnan", "nan", "pi", "sqrt"]
assert {*__all__} == kernels.NATIVE_NAMES


@cache
def register_symbol(name: str) -> None:
    """Register a C function with LLVM: machine code from disk calls it by its symbol."""
    llvm.add_symbol(kernels.symbol_name(name), kernels.function_address(name))


for _name in kernels.c_functions():
    register_symbol(_name)


def __getattr__(name: str) -> Any:
    """A function of the C library, created on first use."""
    if name.startswith("_") or not kernels.is_c_function(name):
        raise AttributeError(f"math.{name} is not a function of the C library")
    return _external_function(name)


@cache
def _external_function(name: str) -> Any:
    register_symbol(name)
    arity = kernels.arity(name)
    external = types.ExternalFunction(kernels.symbol_name(name), float64(*[float64] * arity))
    if arity == 1:
        return internal_njit(lambda x: external(x))
    return internal_njit(lambda x, y: external(x, y))
