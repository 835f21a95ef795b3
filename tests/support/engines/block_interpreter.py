"""Blocks executed by Python: the same text that LLVM compiles, so that laws can try many programs, and broken texts."""

from __future__ import annotations

import ctypes
import re
from collections.abc import Callable
from typing import Any

from tagloom.core import dtypes
from tagloom.core.dtypes import DType
from tagloom.core.ops.op import OPS
from tagloom.interp.engines.fast.block_program import BlockProgram, LoadedBlocks
from tagloom.interp.engines.jit.native import SECOND_PART
from tagloom.interp.image.image import decode_word, encode_word, to_signed
from tagloom.interp.image.opcodes import CAST_DTYPES, FIRST_KERNEL, ScalarKernel, scalar_kernels

_loaded: dict[int, tuple[BlockProgram, LoadedBlocks, Any]] = {}
"""By the identity of the program: what must live as long as the machine may call it."""


def interpreted_blocks(program: BlockProgram) -> LoadedBlocks:
    """The blocks of a program, as a function of Python that the machine calls by its address."""
    if id(program) not in _loaded:
        words = [ctypes.c_int64] * 3
        callback = ctypes.CFUNCTYPE(ctypes.c_int64, *words)(python_function(program.text))
        address = ctypes.cast(callback, ctypes.c_void_p).value
        assert address is not None
        _loaded[id(program)] = program, LoadedBlocks(program, address), callback
    return _loaded[id(program)][1]


def python_function(text: str) -> Callable[[int, int, int], int]:
    """The function `deliver_blocks` of a text. A jump to a case is a jump to the beginning of the loop."""
    source = text.partition(SECOND_PART)[2]
    source = re.sub(r"( *)go\((\d+)\)", r"\1case_number = \2\n\1continue", source)
    source = source.replace("    while remaining", "    case_number = -1\n    while remaining")
    source = source.replace("        match port:", "        chosen, case_number = max(case_number, -1), -1\n"
                            "        match port if chosen < 0 else chosen:")  # fmt: skip
    functions = {function.__name__: function for function in (peek, poke, prefetch, compute, cast, traps)}
    namespace: dict[str, Any] = {"Any": Any, "inline_njit": lambda function: function, **functions}
    exec(compile(source, "<blocks>", "exec"), namespace)
    return namespace["deliver_blocks"]  # type: ignore[no-any-return]


def peek(address: int, index: int) -> int:
    return ctypes.c_int64.from_address(address + 8 * index).value


def poke(address: int, index: int, word: int) -> None:
    ctypes.c_int64.from_address(address + 8 * index).value = word


def prefetch(address: int, index: int) -> None:
    """Nothing: it is a hint to the processor."""


def compute(code: int, *words: int) -> int:
    """A scalar kernel, by the column of the op's row."""
    kernel = scalar_kernels()[code - FIRST_KERNEL]
    function, extra = OPS[kernel.op].scalar_kernel(kernel.operands[0], kernel.result)
    return to_word(function(*operands(kernel, words), *extra), kernel.result)


def cast(code: int, word: int) -> int:
    dtype = CAST_DTYPES[code]
    assert dtype is not None
    return to_word(decode_word(word, dtypes.float64 if dtype.kind == "f" else dtypes.int64), dtype)


def traps(code: int, *words: int) -> bool:
    kernel = scalar_kernels()[code - FIRST_KERNEL]
    condition = OPS[kernel.op].trap_condition
    assert condition is not None
    return bool(condition.predicate(*operands(kernel, words)))


def operands(kernel: ScalarKernel, words: tuple[int, ...]) -> list[Any]:
    values = [decode_word(word, dtype) for word, dtype in zip(words, kernel.operands, strict=False)]
    return [int(value) if dtype.is_integer else value for value, dtype in zip(values, kernel.operands, strict=False)]


def to_word(number: Any, dtype: DType) -> int:
    """The word of a number that is wrapped or rounded to a dtype."""
    if dtype.is_integer:
        low, high = dtype.range
        return to_signed((int(number) - low) % (high - low + 1) + low)
    return encode_word(dtype.numpy.type(number), dtype)
