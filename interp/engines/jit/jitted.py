"""The scalar columns of the registry as functions that compiled code may call: `pow_ii` is that of pow on a signed
integer with such a result. Made when they are asked for.

Generated modules import this one, and compile the same Python that the reference runs. What differs is only where the
names in it lead: `math` to the C library, and functions of `core` to what is compiled of them.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dis import get_instructions
from functools import cache
from types import BuiltinFunctionType, FunctionType
from typing import Any

from ....core.ops import guarded
from . import opaque, wrapping
from .inner import kernel
from .kernels import callable_functions

_REGISTRY_FUNCTIONS = callable_functions()


def __getattr__(name: str) -> Any:
    """What is compiled of a column, or one of `wrapping`."""
    if name.startswith("wrapping_"):
        return getattr(wrapping, name)
    if name not in _REGISTRY_FUNCTIONS:
        raise AttributeError(name)
    return compile_function(_REGISTRY_FUNCTIONS[name])


@cache
def compile_function(function: Callable[..., Any]) -> Any:
    """What compiled code calls for a function of `core`: the same source, or the C function that it stands for."""
    if function is guarded.power:
        return opaque.pow
    if isinstance(function, BuiltinFunctionType):
        return getattr(opaque, function.__name__)
    assert isinstance(function, FunctionType)
    copied = FunctionType(function.__code__, _compiled_globals(function), function.__name__, function.__defaults__)
    return kernel(copied)


def _compiled_globals(function: FunctionType) -> dict[str, Any]:
    """What the names in a function's source mean where it is compiled."""
    meant: dict[str, Any] = {"__name__": __name__}
    for name in {line.argval for line in get_instructions(function) if line.opname == "LOAD_GLOBAL"}:
        value = function.__globals__.get(name)
        if value is math:
            meant[name] = opaque
        elif isinstance(value, FunctionType):
            meant[name] = compile_function(value)
        elif value is not None:
            meant[name] = value
    return meant
