"""The functions of the C library that scalar columns call through Python's `math`, and the ops that NumPy's own loops
compute. Both are derived from the rows of the registry."""

from __future__ import annotations

import ctypes
import math
import sys
from collections.abc import Callable, Iterator
from functools import cache
from types import BuiltinFunctionType, FunctionType
from typing import Any

from ....core.ops.op import OPS
from .kernels import callable_functions

NATIVE_NAMES = frozenset({"copysign", "e", "fabs", "inf", "isinf", "isnan", "nan", "pi", "sqrt"})
"""Functions that LLVM computes with the same bits."""
_COMPUTED_BY_PYTHON = frozenset({"dist", "fsum", "gamma", "hypot", "lgamma", "remainder"})
"""Float functions in `math` that are not the C library's."""


def math_names(function: Callable[..., Any]) -> Iterator[str]:
    """The functions of `math` that a scalar column calls, directly or indirectly."""
    yield from _math_names(function, set())


def _math_names(function: Any, seen: set[Any]) -> Iterator[str]:
    if isinstance(function, BuiltinFunctionType) and function.__module__ == "math":
        yield function.__name__
    if not isinstance(function, FunctionType) or function in seen:
        return
    seen.add(function)
    names, meant = function.__code__.co_names, function.__globals__
    if any(meant.get(name) is math for name in names):
        yield from (name for name in names if callable(getattr(math, name, None)))
    for name in names:
        yield from _math_names(meant.get(name), seen)


def c_functions() -> dict[str, int]:
    """The C functions that scalar columns call, with the number of float64 arguments of each; each returns one
    float64."""
    return _c_functions(len(OPS))


@cache
def _c_functions(_: int) -> dict[str, int]:
    names = {name for function in callable_functions().values() for name in math_names(function)}
    return {name: arity(name) for name in sorted(names) if is_c_function(name)}


def is_c_function(name: str) -> bool:
    """Whether a function of `math` is the C library's function of the same name."""
    return name not in NATIVE_NAMES | _COMPUTED_BY_PYTHON and hasattr(_load_library(), name)


@cache
def arity(name: str) -> int:
    """The number of operands of a function of `math` that takes one float or two."""
    try:
        getattr(math, name)(0.5)
    except ValueError:  # outside its domain
        return 1
    except TypeError:
        return 2
    return 1


UFUNC_OPS = tuple(row.name for row in OPS.values() if row.float_loop is not None)
"""The ops for which NumPy has loops of its own on float arrays."""


def symbol_name(name: str) -> str:
    """The symbol of a C function in compiled code: a name unknown to LLVM."""
    return f"tagloom_{name}"


@cache
def _load_library() -> ctypes.CDLL:
    return ctypes.CDLL("ucrtbase" if sys.platform == "win32" else None)


def function_address(name: str) -> int:
    """The address of a C function."""
    address = ctypes.cast(getattr(_load_library(), name), ctypes.c_void_p).value
    assert address is not None
    return address
