"""What the machine computes, made from the table of opcodes: the text of `compute`, `cast` and `traps`.

Words come in and go out; each arm takes them as the wide dtype that it is for.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from ....core import dtypes
from ....core.dtypes import DType
from ....core.types import Type
from ...image.opcodes import CASTS, FIRST, Arm, arms, first_trapping, wide
from ..jit import kernels


def text() -> str:
    """The source of the three functions, with the imports that they need."""
    return "\n".join([kernels.HEADER, "import numpy as np", "", *_functions(), ""])


def _functions() -> Iterator[str]:
    yield "@inner"
    yield "def compute(code, a, b, c):"
    yield from _cases((FIRST + n, _computed(arm)) for n, arm in enumerate(arms()))
    yield "@inner"
    yield "def cast(code, a):"
    yield from _cases((n, _cast(dtype)) for n, dtype in enumerate(CASTS) if dtype is not None)
    yield "@inner"
    yield "def traps(code, a, b):"
    trapping = arms()[first_trapping() - FIRST :]
    yield from _cases((first_trapping() + n, _traps(arm)) for n, arm in enumerate(trapping))


def _cases(cases: Iterable[tuple[int, str]]) -> Iterator[str]:
    """A chain of tests, which LLVM makes a jump table of."""
    for number, (code, said) in enumerate(cases):
        yield f"    {'elif' if number else 'if'} code == {code}:"
        yield f"        return {said}"
    yield "    return 0"
    yield ""


def _computed(arm: Arm) -> str:
    operands = [_lane(word, dtype) for word, dtype in zip("abc", arm.operands, strict=False)]
    types, result = [Type(dtype) for dtype in arm.operands], Type(arm.result)
    return _word(kernels.expression(arm.op, types, result, arm.attributes, operands), arm.result)


def _traps(arm: Arm) -> str:
    operands = [_lane(word, dtype) for word, dtype in zip("ab", arm.operands, strict=False)]
    condition = kernels.trap_condition(arm.op, [Type(dtype) for dtype in arm.operands], Type(arm.result), operands)
    return condition or "False"


def _cast(dtype: DType) -> str:
    source = dtypes.float64 if dtype.kind == "f" else dtypes.int64
    said = kernels.expression("astype", [Type(source)], Type(dtype), (("dtype", dtype),), [_lane("a", source)])
    return _word(said, dtype)


def _lane(word: str, dtype: DType) -> str:
    """A word as a number of a wide dtype."""
    match wide(dtype):
        case dtypes.bool:
            return f"({word} != 0)"
        case dtypes.uint64:
            return f"np.uint64({word})"
        case dtypes.float64:
            return f"np.int64({word}).view(np.float64)"
    return word


def _word(said: str, dtype: DType) -> str:
    """A number of a dtype, in the wide one, as a word."""
    return f"np.float64({said}).view(np.int64)" if dtype.kind == "f" else f"np.int64({said})"
