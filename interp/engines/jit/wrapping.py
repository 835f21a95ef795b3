"""Sums, differences and products of int64 that wrap. numba marks its own operators `nsw`: LLVM may assume that they
never overflow."""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba import int64
from numba.extending import intrinsic


def _wrapping_intrinsic(instruction: str) -> Any:
    def infer_signature(_typing: Any, _one: Any, _other: Any) -> Any:
        def build(
            _target: Any, builder: ir.IRBuilder, _signature: Any, operands: tuple[ir.Value, ir.Value]
        ) -> ir.Value:
            return getattr(builder, instruction)(*operands)

        return int64(int64, int64), build

    return intrinsic(infer_signature)


wrapping_add = _wrapping_intrinsic("add")
wrapping_sub = _wrapping_intrinsic("sub")
wrapping_mul = _wrapping_intrinsic("mul")
