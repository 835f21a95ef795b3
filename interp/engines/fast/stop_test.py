"""The stop test, compiled by numba: one comparison rules out most possible stops; Python evaluates the rest of the
condition. `machine` says how this is compiled."""

# mypy: ignore-errors
from __future__ import annotations

from typing import Any

import numpy as np

from ...image.image import PORT_BITS, PortColumn
from ..jit.memory import peek
from .frames import depth_of, iteration_of, operand
from .registers import Address, ComparisonColumn, StopOperator, StopQuantity

PORT_MASK = (1 << PORT_BITS) - 1
PORT_BYTES = 8 * len(PortColumn)
COMPARISON_BYTES = 8 * len(ComparisonColumn)


def compare(sign: Any, left: Any, right: Any) -> Any:
    if sign == StopOperator.EQUAL:
        return left == right
    if sign == StopOperator.NOT_EQUAL:
        return left != right
    if sign == StopOperator.LESS:
        return left < right
    if sign == StopOperator.LESS_EQUAL:
        return left <= right
    if sign == StopOperator.GREATER:
        return left > right
    return left >= right


def should_stop(a: Any, mem: Any, token: Any, number: Any, stays: Any, out: Any, firings: Any, steps: Any) -> Any:
    """Whether the run stops before the step that delivers this token to this node: where it fires, and gives `out`, or
    where the token stays. The counts are those before it."""
    need = peek(a, Address.COMPARISONS) + (2 * (token & PORT_MASK) + stays) * COMPARISON_BYTES
    what = peek(need, ComparisonColumn.QUANTITY)
    if what == StopQuantity.ALWAYS or what == StopQuantity.NEVER:
        return what == StopQuantity.ALWAYS
    frame, port = token >> PORT_BITS, peek(a, Address.PORTS) + (token & PORT_MASK) * PORT_BYTES
    found = out
    if what == StopQuantity.OPERAND_0:
        found = operand(mem, frame, peek(port, PortColumn.OPERAND_0))
    elif what == StopQuantity.OPERAND_1:
        found = operand(mem, frame, peek(port, PortColumn.OPERAND_1))
    elif what == StopQuantity.OPERAND_2:
        found = operand(mem, frame, peek(port, PortColumn.OPERAND_2))
    elif what == StopQuantity.DEPTH:
        found = depth_of(mem, frame)
    elif what == StopQuantity.ITERATION:
        found = iteration_of(mem, frame)
    elif what == StopQuantity.NODE_FIRINGS:
        found = peek(peek(a, Address.FIRING_COUNTS), number) + 1 - stays
    elif what == StopQuantity.FIRINGS:
        found = firings + 1 - stays
    elif what == StopQuantity.STEP:
        found = steps + 1
    sign, word = peek(need, ComparisonColumn.OPERATOR), peek(need, ComparisonColumn.NUMBER)
    if peek(need, ComparisonColumn.IS_FLOAT):
        return compare(sign, np.int64(found).view(np.float64), np.int64(word).view(np.float64))
    return compare(sign, found, word)
