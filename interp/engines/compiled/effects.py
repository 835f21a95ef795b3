"""What is left to Python in the text: effects, and ops that have no machine code. The operands go into slots of the
state, Python does what the node does (performing), and what that gave comes back in the first slot."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from ....core.program.program import Node
from ..jit.kernels import lane
from ..jit.state import FAILED, OPERANDS, UNFIT
from . import elementwise as arrays
from .elementwise import Value
from .layout import axes, element, numpy

NAMES = ("print", "callback")


class Writer(arrays.Writer, Protocol):
    def hold(self, inputs: Sequence[Value]) -> None: ...
    def number(self, node: Node, inputs: Sequence[Value]) -> int: ...
    def leave(self) -> None: ...


def written(writer: Writer, node: Node, inputs: Sequence[Value]) -> str:
    """An effect, or an op; it has been done when this is over, or has trapped, or the run is to end."""
    writer.hold(inputs)
    how = writer.made_of(f"m.perform(s, {writer.number(node, inputs)})")
    if node.op != "print":
        writer.trap(node, inputs, f"{how} == {FAILED}")
    if node.op not in NAMES:
        writer.too_large(node, inputs, f"{how} == {UNFIT}")
    with writer.inside(f"if {how} != 0:"):
        writer.leave()
    made = node.results[0].type
    if node.op == "print":
        return "True"
    if made.is_scalar:
        return writer.made_of(f"m.read_{lane(made.dtype)}(s, {OPERANDS})")
    return writer.made_of(f"m.taken(s, {OPERANDS}, {numpy(element(made.dtype))}, {axes(made)})")
