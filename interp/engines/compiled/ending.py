"""The outcome of a compiled run, built from its call buffer."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ....core.errors import Crash, TagloomError
from ....core.frontend.trace.pytree import TreeDef
from ....core.graph.graph import Graph
from ....core.ops.effects import EFFECT_OPS, size_trap_message
from ....core.ops.op import OPS, build_kernel, trap_message
from ....core.program.program import Node
from ....core.tag import ROOT
from ....core.types import type_of
from ....core.value import Literal, Value
from ...machine.event import Event, Token
from ...outcome.outcome import Outcome, build_trap, value_outcome
from .call_buffer import CallBuffer
from .chains import FusedChain
from .text import GeneratedModule


def build_outcome(
    text: GeneratedModule,
    graph: Graph,
    words: CallBuffer,
    results: tuple[Value, ...] | None,
    stopped: TagloomError | None,
    structure: TreeDef,
    failed: str | None,
) -> Outcome:
    """The outcome of a run: with results, or ended by `stopped`. With neither, the run trapped: the call buffer says
    where, and `failed` why, if an effect trapped."""
    if stopped is not None:
        return value_outcome(graph, structure, "compiled", None, stopped)
    if results is not None:
        return value_outcome(graph, structure, "compiled", results)
    event = _build_trap_event(text, graph, words, failed)
    return value_outcome(graph, structure, "compiled", None, build_trap(graph, event), (event,))


def _build_trap_event(text: GeneratedModule, graph: Graph, words: CallBuffer, failed: str | None) -> Event:
    """The firing that trapped: the first that a sequential evaluation meets."""
    function, node, types = text.trap_sites[words.trap_number]
    operands = tuple(words.take_operand(at, type_) for at, type_ in enumerate(types))
    if isinstance(node, FusedChain):
        node, operands = _find_trapping_node(node, operands)
    tag = ROOT
    for site, iteration in words.tag_steps():
        tag = tag.child(text.sites[site], iteration)
    (number,) = (at for at, each in enumerate(graph.nodes) if str(each) == f"{function}.{node.name}")
    trigger: tuple[Value, ...] = (True,) * graph.nodes[number].has_trigger
    inputs = (*operands, *trigger)
    message = _trap_message(node, operands) if failed is None else failed
    return Event(Token(number, 0, tag, inputs[0]), 0, inputs, (), (), message, (), False)


def _find_trapping_node(chain: FusedChain, given: Sequence[Value]) -> tuple[Node, tuple[Value, ...]]:
    """The node of a chain that trapped, and its operands, found by evaluating the chain on its inputs."""
    values = dict(zip(chain.inputs, given, strict=True))
    for node in chain.nodes:
        operands = tuple(each.value if isinstance(each, Literal) else values[each] for each in node.inputs)
        row = OPS[node.op]
        if trap_message(row, operands, node.attributes) is not None:
            return node, operands
        values[node.name] = build_kernel(row, list(map(type_of, operands)), node.results[0].type, node.attributes)(
            *operands
        )
    raise Crash("a chain of ops traps, and none of them does", where=chain.nodes[0].location)


def _trap_message(node: Node, operands: tuple[Any, ...]) -> str | None:
    if node.op in OPS:
        return trap_message(OPS[node.op], operands, node.attributes)
    undefined = size_trap_message if node.op == "cells" else EFFECT_OPS[node.op].trap_reason
    return undefined(*operands) if undefined else None
