"""Code generation for host calls: effects, and ops without machine code. Operands are stored in slots of the state,
Python performs the node (host_calls), and its result is returned in the first slot."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from ....core.program.program import Node
from ..jit.kernels import lane
from ..jit.state import HOST_FAILED, HOST_TOO_LARGE, OPERANDS
from . import elementwise as arrays
from .elementwise import TypedExpression
from .layout import axes_tuple, numba_dtype, numpy_dtype

EFFECT_OPS = ("print", "callback")


class EffectEmitter(arrays.ArrayEmitter, Protocol):
    def store_operands(self, inputs: Sequence[TypedExpression]) -> None: ...
    def add_trap_site(self, node: Node, inputs: Sequence[TypedExpression]) -> int: ...
    def emit_exit(self) -> None: ...


def emit_host_call(writer: EffectEmitter, node: Node, inputs: Sequence[TypedExpression]) -> str:
    """Emit a host call for an effect or an op; after it the node is done, or has trapped, or the run is stopping."""
    writer.store_operands(inputs)
    how = writer.assign(f"m.call_host(s, {writer.add_trap_site(node, inputs)})")
    if node.op != "print":
        writer.emit_trap(node, inputs, f"{how} == {HOST_FAILED}")
    if node.op not in EFFECT_OPS:
        writer.emit_memory_exit(node, inputs, f"{how} == {HOST_TOO_LARGE}")
    with writer.block(f"if {how} != 0:"):
        writer.emit_exit()
    made = node.results[0].type
    if node.op == "print":
        return "True"
    if made.is_scalar:
        return writer.assign(f"m.read_{lane(made.dtype)}(s, {OPERANDS})")
    return writer.assign(f"m.take_array(s, {OPERANDS}, {numpy_dtype(numba_dtype(made.dtype))}, {axes_tuple(made)})")
