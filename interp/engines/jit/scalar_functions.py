"""The scalar columns of the registry as compiled functions: `pow_ii` is the column of pow for a signed integer operand
and result. Each is compiled on first use.

Generated modules import this module. It compiles the same Python functions that the reference calls, with other
globals: `math` is the C library, and functions of `core` are compiled.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dis import get_instructions
from functools import cache
from types import BuiltinFunctionType, FunctionType
from typing import Any

from llvmlite import ir
from numba import int64

from ....core.ops import scalar_kernels
from ....core.ops.op import OPS
from . import c_math, kernels
from .intrinsic import intrinsic
from .kernels import callable_functions
from .memory import kernel


@cache
def _registry_functions(_: int) -> dict[str, Callable[..., Any]]:
    return callable_functions()


def __getattr__(name: str) -> Any:
    """The compiled form of a scalar column."""
    functions = _registry_functions(len(OPS))
    if name not in functions:
        raise AttributeError(name)
    return compile_function(functions[name])


@cache
def compile_function(function: Callable[..., Any]) -> Any:
    """The compiled form of a function of `core`: the same source, or the C function that it calls."""
    if function is scalar_kernels.power:
        return c_math.pow
    if isinstance(function, BuiltinFunctionType):
        return getattr(c_math, function.__name__)
    assert isinstance(function, FunctionType)
    for name in kernels.math_names(function):
        if kernels.is_c_function(name):
            c_math.register_symbol(name)
    copy = FunctionType(function.__code__, _compiled_globals(function), function.__name__, function.__defaults__)
    return kernel(copy)


def _compiled_globals(function: FunctionType) -> dict[str, Any]:
    """The globals of a function in its compiled form."""
    globals_: dict[str, Any] = {"__name__": __name__}
    for name in {line.argval for line in get_instructions(function) if line.opname == "LOAD_GLOBAL"}:
        value = function.__globals__.get(name)
        if value is math:
            globals_[name] = c_math
        elif isinstance(value, FunctionType):
            globals_[name] = compile_function(value)
        elif value is not None:
            globals_[name] = value
    return globals_


def _wrapping_intrinsic(instruction: str) -> Any:
    """An operator on int64 that wraps. numba marks its own operators `nsw`, so that LLVM assumes that they never
    overflow."""

    def infer_signature(_typing: Any, _left: Any, _right: Any) -> Any:
        def build(
            _target: Any, builder: ir.IRBuilder, _signature: Any, operands: tuple[ir.Value, ir.Value]
        ) -> ir.Value:
            return getattr(builder, instruction)(*operands)

        return int64(int64, int64), build

    return intrinsic(infer_signature)


wrapping_add = _wrapping_intrinsic("add")
wrapping_sub = _wrapping_intrinsic("sub")
wrapping_mul = _wrapping_intrinsic("mul")
