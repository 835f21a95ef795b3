"""Compiled kernels in a table: one compiled function with a branch for each signature, run on columns of operands."""

from __future__ import annotations

import itertools
import struct
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
from tagloom.core import dtypes
from tagloom.core.ops.op import OPS, Op, build_kernel, trap_message
from tagloom.core.types import Type
from tagloom.core.value import admit
from tagloom.interp.engines.jit import kernels

LANES = {"b": np.bool_, "i": np.int64, "u": np.uint64, "f": np.float64}
"""The NumPy dtype of each element type."""
ELEMENTARY = {
    *("exp", "expm1", "log", "log1p", "log2", "log10", "logaddexp", "pow", "hypot"),
    *("sin", "cos", "tan", "asin", "acos", "atan", "atan2", "sinh", "cosh", "tanh", "asinh", "acosh", "atanh"),
}
"""The ops that CUDA computes with its own math library."""


class KernelSignature(NamedTuple):
    """An op on scalars of these dtypes."""

    row: Op
    operands: tuple[Type, ...]
    result: Type
    attributes: tuple[tuple[str, Any], ...] = ()

    @property
    def lanes(self) -> tuple[str, ...]:
        return tuple(kernels.lane(type_.dtype) for type_ in (self.result, *self.operands))

    def text(self, operands: Sequence[str]) -> str:
        return kernels.expression(self.row.name, self.operands, self.result, self.attributes, operands)

    def condition(self, operands: Sequence[str]) -> str | None:
        return kernels.trap_condition(self.row.name, self.operands, self.result, operands)


def signatures() -> Iterator[KernelSignature]:
    """Every op on every combination of dtypes that it takes."""
    for row in (row for row in OPS.values() if row.scalar is not None):
        choices: list[Any] = [(("dtype", dtype),) for dtype in dtypes.ALL] if "dtype" in row.attributes else [()]
        for attributes, operands in itertools.product(
            choices, itertools.product(map(Type, dtypes.ALL), repeat=row.arity)
        ):
            try:
                yield KernelSignature(row, operands, row.type_rule(*operands, **dict(attributes)), attributes)
            except Exception:
                continue


def compiled(arms: Sequence[tuple[KernelSignature, Sequence[str]]]) -> Any:
    """A compiled function of the number of a branch, of arrays for its results and traps, and of columns of operands.
    All branches have the same element types; a branch is a signature and an expression of its operands, in which `a`,
    `b` and `c` are elements of the columns."""
    count = len(arms[0][0].operands)
    names = ("a", "b", "c")[:count]
    lines = [kernels.HEADER, "@njit(error_model='numpy')"]
    lines += [f"def run(arm, out, traps, {', '.join(f'all_{name}' for name in names)}):", " for j in range(out.size):"]
    lines += [f"  {name} = all_{name}[j]" for name in names]
    for number, (signature, operands) in enumerate(arms):
        lines += [f"  {'el' * (number > 0)}if arm == {number}:", f"   out[j] = {signature.text(operands)}"]
        condition = signature.condition(operands)
        lines += [f"   traps[j] = {condition}"] if condition else []
    module: dict[str, Any] = {}
    exec("\n".join(lines), module)
    return module["run"]


def differences(
    run: Any,
    number: int,
    signature: KernelSignature,
    columns: Sequence[tuple[Any, ...]],
    operand_rows: Sequence[tuple[Any, ...]],
) -> Iterator[str]:
    """Where a branch differs from what the reference computes. `columns` are the columns `a`, `b`, `c`;
    `operand_rows` are the operands of the op."""
    result, *lanes = signature.lanes
    arrays = [
        np.array([np.asarray(row[position]).item() for row in columns], LANES[kind])
        for position, kind in enumerate(lanes)
    ]
    out, traps = np.zeros(len(columns), LANES[result]), np.zeros(len(columns), bool)
    run(number, out, traps, *arrays)
    kernel = build_kernel(signature.row, signature.operands, signature.result, signature.attributes)
    for operands, value, trapped in zip(operand_rows, out.tolist(), traps.tolist(), strict=True):
        if trapped != (trap_message(signature.row, operands) is not None):
            yield f"{signature.row.name} of {operands} {'traps' if trapped else 'does not trap'}"
        elif not trapped and not same(value, np.asarray(kernel(*operands)).item()):
            yield f"{signature.row.name} of {operands}: {value}, not {kernel(*operands)}"


def same(one: Any, other: Any) -> bool:
    """Whether arrays are equal bit for bit; all NaNs are equal."""
    if type(one) is not type(other):
        return False
    if isinstance(one, float):
        return struct.pack("d", one) == struct.pack("d", other) or (one != one and other != other)
    return bool(one == other)


def literal(value: Any, type_: Type) -> str:
    return kernels.literal_expression(admit(value, type_), type_.dtype)
