"""Whether the run is to stop before a step at which it may, in the part of Python that numba compiles: one comparison
says no to most of them. What else has to hold is asked in Python. `machine` says how this is compiled."""

# mypy: ignore-errors
from __future__ import annotations

from typing import Any

import numpy as np

from ...image.image import PORT, PORT_BITS
from ..jit.memory import peek
from .frames import depth_of, iteration_of, operand
from .registers import NEED, A, Sign, What

PORT_MASK = (1 << PORT_BITS) - 1
PORT_BYTES = 8 * len(PORT)
NEED_BYTES = 8 * len(NEED)


def compares(sign: Any, left: Any, right: Any) -> Any:
    if sign == Sign.EQUAL:
        return left == right
    if sign == Sign.OTHER:
        return left != right
    if sign == Sign.LESS:
        return left < right
    if sign == Sign.MOST:
        return left <= right
    if sign == Sign.MORE:
        return left > right
    return left >= right


def is_needed(a: Any, mem: Any, token: Any, number: Any, stays: Any, out: Any, firings: Any, steps: Any) -> Any:
    """Whether the run stops before the step that delivers this token to this node: where it fires, and gives `out`, or
    where the token stays. The counts are those before it."""
    need = peek(a, A.NEEDS) + (2 * (token & PORT_MASK) + stays) * NEED_BYTES
    what = peek(need, NEED.WHAT)
    if what == What.ANY or what == What.NONE:
        return what == What.ANY
    frame, port = token >> PORT_BITS, peek(a, A.PORTS) + (token & PORT_MASK) * PORT_BYTES
    found = out
    if what == What.FIRST:
        found = operand(mem, frame, peek(port, PORT.A))
    elif what == What.SECOND:
        found = operand(mem, frame, peek(port, PORT.B))
    elif what == What.THIRD:
        found = operand(mem, frame, peek(port, PORT.C))
    elif what == What.DEPTH:
        found = depth_of(mem, frame)
    elif what == What.ITERATION:
        found = iteration_of(mem, frame)
    elif what == What.COUNT:
        found = peek(peek(a, A.COUNTS), number) + 1 - stays
    elif what == What.FIRINGS:
        found = firings + 1 - stays
    elif what == What.STEP:
        found = steps + 1
    sign, word = peek(need, NEED.SIGN), peek(need, NEED.WORD)
    if peek(need, NEED.IS_FLOAT):
        return compares(sign, np.int64(found).view(np.float64), np.int64(word).view(np.float64))
    return compares(sign, found, word)
