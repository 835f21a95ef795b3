"""Runs that are over before anybody would look at them: they need no thread of their own.

A program is straight if it is one function without loops, whose ops compute element by element, or add up all of an
array. Then no result has more elements than the arguments' sizes say, and what a run takes is known beforehand.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import zip_longest
from typing import Any, NamedTuple

import numpy as np

from ...core.op import OPS
from ...core.program import STRUCTURED, Node, Program
from ...core.value import Literal
from .chains import by_numpy

LONG = 2**27
"""How much work makes a run long; a unit takes 0.1 ns to 1 ns."""
_MOST_NODES = 1000
"""How many nodes a straight program has: its frame is on whichever stack it is called from."""
_NUMPY_S = 16
"""The work of an element of one of NumPy's loops."""
_WORK = {"pow": 64, "floor_divide": 8, "remainder": 8}
"""That of other ops, where it is not 1; `pow` is that of integers."""


class Straight(NamedTuple):
    """The work of a program for an element, its arrays, and the sizes of its literals from the last axis on."""

    work: int
    arrays: int
    sizes: tuple[int, ...]

    def elements(self, given: Sequence[Any]) -> int:
        """How many elements an array has at most."""
        return math.prod(_largest([self.sizes, *(each.shape[::-1] for each in given)]))


def straight(program: Program) -> Straight | None:
    """What a program takes; None where that depends on more than sizes."""
    nodes = list(program.main.body.walk())
    if len(list(program.reachable())) > 1 or len(nodes) > _MOST_NODES or not all(map(_is_straight, nodes)):
        return None
    literals = [np.shape(each.value) for node in nodes for each in node.inputs if isinstance(each, Literal)]  # type: ignore[arg-type]
    arrays = sum(not var.type.is_scalar for node in nodes for var in node.results)
    return Straight(sum(map(_work, nodes)), arrays, _largest([shape[::-1] for shape in literals]))


def _largest(sizes: Sequence[Sequence[int]]) -> tuple[int, ...]:
    """For each axis, from the last one on, the largest size."""
    return tuple(max(each) for each in zip_longest(*sizes, fillvalue=1))


def _is_straight(node: Node) -> bool:
    if node.op in STRUCTURED:
        return node.op == "cond"
    if node.op == "sum":
        return node.attribute("axis") is None
    return node.op in OPS and OPS[node.op].scalar is not None


def _work(node: Node) -> int:
    return _NUMPY_S if by_numpy(node) else _WORK.get(node.op, 1)
