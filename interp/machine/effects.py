"""Effects: what a firing does to cells or to the outside world, and draws of random numbers.

S14 An effect happens when its node fires: `print` prints a line; `callback` calls a Python function, and traps if the
    function raises or returns a value of another type. The result is recorded in the event; replay and stepping back
    never repeat the effect.
S15 A draw of random numbers has the key splitmix64(tag ^ name, seed), of the key of the tag, the key of the node's
    name, and the seed of the run. It depends neither on the schedule nor on any other draw.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple, TypeAlias

from ...core.graph.graph import GraphNode
from ...core.hashing import name_key
from ...core.ops import effects
from ...core.ops.effects import EFFECT_OPS, format_text
from ...core.ops.random import draw_key
from ...core.tag import Tag
from ...core.types import Handle, Type, element_type
from ...core.value import Value
from ...core.world import CallbackError, World
from .cells import CellBlock
from .event import CellAddress, Token

Outputs: TypeAlias = tuple[tuple[int, Value], ...]
CellBlocks: TypeAlias = dict[Handle, CellBlock]


class EffectResult(NamedTuple):
    """The result of a firing with an effect; or, for a deferred read, the empty cell (`deferred_at`)."""

    outputs: Outputs = ()
    trap: str | None = None
    deferred_at: CellAddress | None = None
    woken_tokens: tuple[Token, ...] = ()


EffectRule: TypeAlias = Callable[[CellBlocks, World, Token, tuple[Any, ...]], EffectResult]
"""Performs the effect of a node, given the cells and the world of a state, the token that arrived last, and all
operands.
"""


def effect_rule(number: int, node: GraphNode) -> EffectRule | None:
    """The rule for a node's effect on cells or on the world; None if it has no such effect."""
    return _EFFECT_RULES[node.op](number, node) if node.op in _EFFECT_RULES else None


def draw_rule(node: GraphNode, seed: int) -> Callable[[tuple[Any, ...], Tag], Outputs] | None:
    """S15: how a node computes its random numbers, or None if it draws none."""
    row = EFFECT_OPS.get(node.op)
    if row is None or row.draw is None:
        return None
    name = name_key(str(node))
    arity = len(node.ports) - node.has_trigger

    def compute(inputs: tuple[Any, ...], tag: Tag) -> Outputs:
        return ((0, effects.draw_values(row, draw_key(seed, name, tag.key), inputs[:arity], node.attributes)),)

    return compute


def cells_rule(number: int, node: GraphNode) -> EffectRule:
    """S13: sends the handle; the state makes the cells."""
    dtype = node.outputs[0].type.dtype

    def perform(blocks: CellBlocks, world: World, token: Token, inputs: tuple[Any, ...]) -> EffectResult:
        trap = effects.size_trap_message(_checked_int64(inputs[0]))
        return EffectResult(trap=trap) if trap else EffectResult(((0, Handle(number, token.tag, inputs[0], dtype)),))

    return perform


def _checked_int64(number: Any) -> int:
    """The number itself; raises TypeError if it is not an integer, which only a graph that breaks the rules allows."""
    if type(number) is not int:
        raise TypeError("cells are counted in int64")
    return number


def store_rule(number: int, node: GraphNode) -> EffectRule:
    """S13: fills a cell and wakes its deferred reads."""

    def perform(blocks: CellBlocks, world: World, token: Token, inputs: tuple[Any, ...]) -> EffectResult:
        """S13."""
        handle, index, _ = inputs
        trap = effects.index_trap_message(handle, _checked_int64(index))
        if trap is None and index in blocks[handle].writes:
            trap = effects.second_put_trap_message(index)
        return (
            EffectResult(trap=trap) if trap else EffectResult(woken_tokens=blocks[handle].deferred_reads.get(index, ()))
        )

    return perform


def get_rule(number: int, node: GraphNode) -> EffectRule:
    """S13: reads a cell; at an empty one the read is deferred."""

    def perform(blocks: CellBlocks, world: World, token: Token, inputs: tuple[Any, ...]) -> EffectResult:
        """S13."""
        handle, index = inputs
        trap = effects.index_trap_message(handle, _checked_int64(index))
        if trap is not None:
            return EffectResult(trap=trap)
        block = blocks[handle]
        return (
            EffectResult(((0, block.read(index)),))
            if index in block.writes
            else EffectResult(deferred_at=CellAddress(handle, index))
        )

    return perform


def collect_rule(number: int, node: GraphNode) -> EffectRule:
    """S13: reads all cells of a handle; at the first empty one the read is deferred."""

    def perform(blocks: CellBlocks, world: World, token: Token, inputs: tuple[Any, ...]) -> EffectResult:
        """S13."""
        handle = inputs[0]
        block = blocks[handle]
        empty = block.first_empty()
        if empty is not None:
            return EffectResult(deferred_at=CellAddress(handle, empty))
        values = [block.read(index) for index in range(handle.size)]
        trap = effects.shapes_trap_message(values)
        return (
            EffectResult(trap=trap)
            if trap
            else EffectResult(((0, effects.stack_values(values, element_type(Type(handle.dtype)))),))
        )

    return perform


def cell_zeros_rule(number: int, node: GraphNode) -> EffectRule:
    """S13, for ops that take the handle alone."""

    def perform(blocks: CellBlocks, world: World, token: Token, inputs: tuple[Any, ...]) -> EffectResult:
        return EffectResult(((0, effects.build_zeros(inputs[0], element_type(Type(inputs[0].dtype)))),))

    return perform


def print_rule(number: int, node: GraphNode) -> EffectRule:
    """S14: prints a line."""
    text = dict(node.attributes)["text"]

    def perform(blocks: CellBlocks, world: World, token: Token, inputs: tuple[Any, ...]) -> EffectResult:
        """S14."""
        world.print(format_text(text, inputs[:-1]))
        return EffectResult(((0, True), (1, True)))

    return perform


def callback_rule(number: int, node: GraphNode) -> EffectRule:
    """S14: calls a Python function."""
    attributes = dict(node.attributes)
    function, returns = attributes["function"], attributes["returns"]

    def perform(blocks: CellBlocks, world: World, token: Token, inputs: tuple[Any, ...]) -> EffectResult:
        """S14."""
        try:
            return EffectResult(((0, world.call(function, inputs[:-1], returns)), (1, True)))
        except CallbackError as error:
            return EffectResult(trap=str(error))

    return perform


_EFFECT_RULES: dict[str, Callable[[int, GraphNode], EffectRule]] = {
    "cells": cells_rule,
    "store": store_rule,
    "get": get_rule,
    "collect": collect_rule,
    "cell_zeros": cell_zeros_rule,
    "print": print_rule,
    "callback": callback_rule,
}
