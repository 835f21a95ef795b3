"""Code generation for scalar ops: the source of `compute`, `cast` and `traps`, from the table of opcodes.

Arguments and results are words; each kernel reads them as its own wide dtype.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator

from ....core import dtypes
from ....core.dtypes import DType
from ....core.types import Type
from ...image.opcodes import (
    CAST_DTYPES,
    FIRST_KERNEL,
    UNCOMPILABLE_OPS,
    ScalarKernel,
    first_trapping_opcode,
    scalar_kernels,
    wide_dtype,
)
from ..jit import kernels


def text(codes: Collection[int] | None = None, casts: Collection[int] | None = None) -> str:
    """The source of the three functions, with their imports, for these opcodes and casts, or for all."""
    return "\n".join([kernels.HEADER, "import numpy as np", "", *_emit_functions(codes, casts), ""])


def scalar_kernels_text(codes: Collection[int], casts: Collection[int]) -> str:
    """The source of `scalar_kernels`, for these opcodes and casts: the three functions as one, for `word_code`."""
    function = """
def scalar_kernels(group, code, a, b, c):
    if group == 0:
        return compute(code, a, b, c)
    if group == 1:
        return cast(code, a)
    return int64(traps(code, a, b))
"""
    return "\n".join([kernels.HEADER, "import numpy as np", "", *_emit_functions(codes, casts), function])


def _emit_functions(codes: Collection[int] | None, casts: Collection[int] | None) -> Iterator[str]:
    """The three functions, for some opcodes and casts or for all."""
    computed = [(FIRST_KERNEL + n, kernel) for n, kernel in enumerate(scalar_kernels())]
    yield "@internal_njit"
    yield "def compute(code, a, b, c):"
    yield from _emit_cases((n, emit_compute(kernel)) for n, kernel in computed if codes is None or n in codes)
    yield "@internal_njit"
    yield "def cast(code, a):"
    dtypes_by_code = [(n, dtype) for n, dtype in enumerate(CAST_DTYPES) if dtype is not None]
    yield from _emit_cases((n, emit_cast(dtype)) for n, dtype in dtypes_by_code if casts is None or n in casts)
    yield "@internal_njit"
    yield "def traps(code, a, b):"
    trapping = [(n, kernel) for n, kernel in computed if n >= first_trapping_opcode()]
    yield from _emit_cases((n, emit_trap_test(kernel)) for n, kernel in trapping if codes is None or n in codes)


def _emit_cases(cases: Iterable[tuple[int, str]]) -> Iterator[str]:
    """A chain of tests, which LLVM turns into a jump table."""
    for number, (code, expression) in enumerate(cases):
        yield f"    {'elif' if number else 'if'} code == {code}:"
        yield f"        return {expression}"
    yield "    return 0"
    yield ""


def emit_compute(kernel: ScalarKernel) -> str:
    """The expression for the result of an opcode, of the words a, b and c; notes ops that cannot be compiled."""
    operands = [unpack_word(word, dtype) for word, dtype in zip("abc", kernel.operands, strict=False)]
    types, result = [Type(dtype) for dtype in kernel.operands], Type(kernel.result)
    if kernel.op in UNCOMPILABLE_OPS:
        return "0"
    try:
        return pack_word(kernels.expression(kernel.op, types, result, kernel.attributes, operands), kernel.result)
    except Exception as error:
        UNCOMPILABLE_OPS[kernel.op] = f"the column scalar is not a function that can be compiled: {error!r}"
        return "0"


def emit_trap_test(kernel: ScalarKernel) -> str:
    """The condition under which an opcode traps, of the words a and b."""
    operands = [unpack_word(word, dtype) for word, dtype in zip("ab", kernel.operands, strict=False)]
    if kernel.op in UNCOMPILABLE_OPS:
        return "False"
    condition = kernels.trap_condition(
        kernel.op, [Type(dtype) for dtype in kernel.operands], Type(kernel.result), operands
    )
    return condition or "False"


def emit_cast(dtype: DType) -> str:
    """The expression that casts the word a to a dtype."""
    source = dtypes.float64 if dtype.kind == "f" else dtypes.int64
    number = kernels.expression("astype", [Type(source)], Type(dtype), (("dtype", dtype),), [unpack_word("a", source)])
    return pack_word(number, dtype)


def unpack_word(word: str, dtype: DType) -> str:
    """A word as a number of a wide dtype."""
    match wide_dtype(dtype):
        case dtypes.bool:
            return f"({word} != 0)"
        case dtypes.uint64:
            return f"np.uint64({word})"
        case dtypes.float64:
            return f"np.int64({word}).view(np.float64)"
    return word


def pack_word(number: str, dtype: DType) -> str:
    """A number of a dtype, computed in its wide dtype, as a word."""
    return f"np.float64({number}).view(np.int64)" if dtype.kind == "f" else f"np.int64({number})"
