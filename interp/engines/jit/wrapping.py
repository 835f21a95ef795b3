"""Sums, differences and products of int64 that wrap. Those of numba's operators are `nsw`: where they overflow, LLVM
may make of them what it likes."""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba import int64
from numba.extending import intrinsic


def _wrapping(instruction: str) -> Any:
    def typed(_typing: Any, _one: Any, _other: Any) -> Any:
        def made(_target: Any, builder: ir.IRBuilder, _signature: Any, operands: tuple[ir.Value, ir.Value]) -> ir.Value:
            return getattr(builder, instruction)(*operands)

        return int64(int64, int64), made

    return intrinsic(typed)


wrapping_add = _wrapping("add")
wrapping_sub = _wrapping("sub")
wrapping_mul = _wrapping("mul")
