"""The kernel of a wave, compiled from the source of `wave_kernels` and from `compute`, `cast` and `traps`, which
`opcode_source` generates from the same table of opcodes as `fast`.

Only the library behind `math` differs: the C library in the reference and in `fast`, CUDA's libdevice on a GPU. There
INEXACT_OPS may differ in the last bits. The simulator uses Python's functions.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Collection, Mapping
from dis import get_instructions
from functools import cache
from pathlib import Path
from types import BuiltinFunctionType, FunctionType, ModuleType
from typing import Any

from ....core.ops import scalar_kernels
from ....core.ops.scalar_kernels import div, floor
from ...image import image
from ...image import opcodes as opcode
from ...image.image import Image, NodeColumn
from ..fast import layout, opcode_source
from ..fast.load import inline_constants, int_enums
from ..jit import kernels
from ..jit.cache import load_module
from . import round_kernels, wave_kernels
from .device import describe_device, is_simulated, numba_cuda

HEADER = """\
from math import inf, nan
import numpy as np
from numba import boolean, cuda, float32, float64, int8, int16, int32, int64, uint8, uint16, uint32, uint64
""" + "".join(
    f"""\
@cuda.jit(device=True)
def k_wrapping_{name}(a, b):
    return int64(uint64(a) {operator} uint64(b))
"""
    for name, operator in (("add", "+"), ("sub", "-"), ("mul", "*"))
)
_CALL = re.compile(r"\bk\.(\w+)")


@cache
def text(codes: frozenset[int] | None = None, casts: frozenset[int] | None = None) -> str:
    """The source of `compute`, `cast` and `traps` for the device, with their imports, for these opcodes and casts, or
    for all."""
    source = opcode_source.text(codes, casts).replace(kernels.HEADER, HEADER)
    source = source.replace("@internal_njit\n", "@cuda.jit(device=True)\n")
    return _CALL.sub(r"k_\1", source)


def called_functions(source: str) -> list[str]:
    """The names of the functions of `jit.kernels` that a text for the device calls."""
    return sorted(set(re.findall(r"\bk_(\w+)", source)))


def named_device_functions(names: Collection[str]) -> dict[str, Any]:
    """The device functions for those of the functions of `jit.kernels` that have one of these names: `pow_ff` is
    `k_pow_ff`."""
    return {
        f"k_{name}": to_device_function(function)
        for name, function in kernels.callable_functions().items()
        if name in names
    }


def mod(x: float, y: float) -> float:
    """CPython's `%` of floats, from the exact fmod; numba's on a device, x - y * floor(x / y), rounds."""
    if y == 0.0 or math.isinf(x):
        return math.nan
    remainder = math.fmod(x, y)
    if remainder == 0.0:
        return math.copysign(0.0, y)
    return remainder + y if (remainder < 0.0) != (y < 0.0) else remainder


def floordiv(x: float, y: float) -> float:
    """CPython's `//` of floats."""
    if y == 0.0:
        return div(x, y)
    if math.isinf(x):
        return math.nan
    remainder = math.fmod(x, y)
    quotient = (x - remainder) / y
    if remainder != 0.0 and (remainder < 0.0) != (y < 0.0):
        quotient -= 1.0
    if quotient == 0.0:
        return math.copysign(0.0, x) * math.copysign(1.0, y)
    floor_value = floor(quotient)
    return floor_value + 1.0 if quotient - floor_value > 0.5 else floor_value


INEXACT_OPS = frozenset({
    *("pow", "cbrt", "exp", "expm1", "log", "log1p", "log2", "log10", "logaddexp", "hypot"),
    *("sin", "cos", "tan", "asin", "acos", "atan", "atan2", "sinh", "cosh", "tanh", "asinh", "acosh", "atanh"),
    *("erf", "erfc", "ndtri", "lgamma", "digamma", "polygamma"),
})  # fmt: skip
"""The ops whose results on a GPU may differ in the last bits: its own library computes them, or they add products,
which it contracts. The PTX of any other op has no `fma`."""

_DEVICE_OVERRIDES: dict[Callable[..., Any], Callable[..., Any]] = {
    scalar_kernels.mod: mod,
    scalar_kernels.floordiv: floordiv,
}
"""Replacements for functions that numba computes otherwise on a device than CPython does."""


def libdevice_cbrt() -> Any:
    """The cube root of a device, for which numba does not know `math.cbrt`."""
    from numba.cuda import libdevice

    return numba_cuda().jit(device=True)(lambda x: libdevice.cbrt(x))  # type: ignore[no-untyped-call]


@cache
def to_device_function(function: Callable[..., Any]) -> Any:
    """The device function for a function of `core`: compiled from its source, or a function of `math`."""
    function = _DEVICE_OVERRIDES.get(function, function)
    if function is scalar_kernels.power and not is_simulated():
        # A device has no exceptions; its pow returns the value of C's.
        return math.pow
    if function is math.cbrt and not is_simulated():
        return libdevice_cbrt()
    if isinstance(function, BuiltinFunctionType):
        return function
    assert isinstance(function, FunctionType)
    copy = FunctionType(function.__code__, device_globals(function), function.__name__, function.__defaults__)
    return numba_cuda().jit(device=True)(copy)


def device_globals(function: FunctionType) -> dict[str, Any]:
    """The globals of a function on the device."""
    names: dict[str, Any] = {"__name__": __name__, "__builtins__": __builtins__}
    for name in {line.argval for line in get_instructions(function) if line.opname == "LOAD_GLOBAL"}:
        value = function.__globals__.get(name)
        if isinstance(value, FunctionType):
            names[name] = to_device_function(value)
        elif value is not None:
            names[name] = value
    return names


_COMPILED_MARK = "# Compiled from here on.\n"
_ENUMS = int_enums(image, opcode, layout, wave_kernels, round_kernels)
_IMAGE_CONSTANTS = "PORT_BITS", "SCRATCH_WORD", "LOW_BITS", "ARGUMENT_UNIT", "RESULT_UNIT", "TAG_BUILT"
_BLOCK_CONSTANTS = "BLOCK_COUNTERS", "BLOCK_TOTALS"
_CONSTANTS = {
    **{name: getattr(image, name) for name in _IMAGE_CONSTANTS},
    **{name: getattr(wave_kernels, name) for name in _BLOCK_CONSTANTS},
    "FIRST_KERNEL": opcode.FIRST_KERNEL,
}
_DEFINITION = re.compile(r"(?m)^def (\w+)")


def opcodes_of(graph_image: Image) -> tuple[frozenset[int] | None, frozenset[int] | None]:
    """The opcodes and the casts of the nodes of an image; None stands for all."""
    codes, casts = (frozenset(graph_image.nodes[:, column].tolist()) for column in (NodeColumn.CODE, NodeColumn.CAST))
    return codes, casts


def wave_source(graph_image: Image) -> str:
    """The source to compile for waves of an image, with the opcodes of its nodes only. A kernel with all opcodes needs
    138 registers instead of 80 for fib, and eight times as long to compile."""
    computing, source = text(*opcodes_of(graph_image)), kernel_source("wave_kernels", wave_kernels.KERNELS, _CONSTANTS)
    prelude = f"""\
import {__name__} as called
globals().update(called.named_device_functions({called_functions(computing)}))"""
    return "\n".join([f"# {describe_device()}", prelude, computing, source])


def kernel_source(module: str, names: Collection[str], constants: Mapping[str, int]) -> str:
    """The source of the kernels of these names and of the device functions in a module of this folder, after its mark,
    with constants. Names of columns become numbers, with which numba is faster."""
    body = Path(__file__).with_name(f"{module}.py").read_text(encoding="utf-8").partition(_COMPILED_MARK)[2]
    body = inline_constants(body, _ENUMS).replace(": Any", "").replace(" -> Any", "")
    body = _DEFINITION.sub(
        lambda match: f"@cuda.jit({'cache=True' if match[1] in names else 'device=True'})\n{match[0]}", body
    )
    return "\n".join([*(f"{name} = {number}" for name, number in constants.items()), body])


def load_wave_kernels(graph_image: Image, launch_all: Callable[[dict[str, Any]], None]) -> dict[str, Any]:
    """The kernels for an image, by name. `launch_all` must launch each of the kernels that it gets: numba compiles a
    kernel, or reads it from disk, at its first launch."""
    source = wave_source(graph_image)
    return _kernels_of(load_module("wave", source, lambda module: launch_all(_kernels_of(module))))


def _kernels_of(module: ModuleType) -> dict[str, Any]:
    return {name: getattr(module, name) for name in wave_kernels.KERNELS}
