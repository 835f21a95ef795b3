"""What a node does when it fires on more than its operands: on cells, or on the world outside.

S14 An effect happens when its node fires: `print` prints a line, `callback` calls a Python function, and traps where it
    raises or returns what it may not. What it returned is in the event; replay and stepping back never repeat it.
S15 A draw of random numbers has the key splitmix64(tag ^ name, seed): of the seed of the run, the key of the tag, and
    that of the node's name. It does not depend on the schedule, nor on any other draw.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple, TypeAlias

from ...core.graph.graph import Node
from ...core.handle import Handle
from ...core.mix import word_key
from ...core.ops import cells
from ...core.ops.effect import formatted
from ...core.ops.effect_op import ACTS
from ...core.ops.random import draw_key
from ...core.tag import Tag
from ...core.types import Type, element_type
from ...core.value import Value
from ...core.world import Failed, World
from .cells import Block
from .event import Cell, Token

Outputs: TypeAlias = tuple[tuple[int, Value], ...]
Blocks: TypeAlias = dict[Handle, Block]


class Act(NamedTuple):
    """What a firing did, or that its token is parked instead."""

    outputs: Outputs = ()
    trap: str | None = None
    parked: Cell | None = None
    woken: tuple[Token, ...] = ()


Acting: TypeAlias = Callable[[Blocks, World, Token, tuple[Any, ...]], Act]
"""What an acting node does, with the cells and the world of a state, on a token that completes these operands."""


def acting(number: int, node: Node) -> Acting | None:
    """What a node does, if it acts on cells or on the world."""
    return _ACTING[node.op](number, node) if node.op in _ACTING else None


def drawing(node: Node, seed: int) -> Callable[[tuple[Any, ...], Tag], Outputs] | None:
    """S15: what a node draws, if it draws random numbers."""
    draw = ACTS[node.op].draw if node.op in ACTS else None
    if draw is None:
        return None
    name, attributes = word_key(str(node)), dict(node.attributes)
    arity = len(node.ports) - node.triggered

    def compute(inputs: tuple[Any, ...], tag: Tag) -> Outputs:
        return ((0, draw(draw_key(seed, name, tag.key), *inputs[:arity], **attributes)),)

    return compute


def _cells(number: int, node: Node) -> Acting:
    """S13: the handle; the state makes the cells."""
    dtype = node.outputs[0].type.dtype

    def act(blocks: Blocks, world: World, token: Token, inputs: tuple[Any, ...]) -> Act:
        trap = cells.size_trap(_whole(inputs[0]))
        return Act(trap=trap) if trap else Act(((0, Handle(number, token.tag, inputs[0], dtype)),))

    return act


def _whole(number: Any) -> int:
    """An int64, as it is in every graph that keeps the rules."""
    if type(number) is not int:
        raise TypeError("cells are counted in int64")
    return number


def _store(number: int, node: Node) -> Acting:
    def act(blocks: Blocks, world: World, token: Token, inputs: tuple[Any, ...]) -> Act:
        """S13."""
        handle, index, _ = inputs
        trap = cells.index_trap(handle, _whole(index))
        if trap is None and index in blocks[handle].puts:
            trap = cells.second_put_trap(index)
        return Act(trap=trap) if trap else Act(woken=blocks[handle].parked.get(index, ()))

    return act


def _get(number: int, node: Node) -> Acting:
    def act(blocks: Blocks, world: World, token: Token, inputs: tuple[Any, ...]) -> Act:
        """S13."""
        handle, index = inputs
        trap = cells.index_trap(handle, _whole(index))
        if trap is not None:
            return Act(trap=trap)
        block = blocks[handle]
        return Act(((0, block.value(index)),)) if index in block.puts else Act(parked=Cell(handle, index))

    return act


def _collect(number: int, node: Node) -> Acting:
    def act(blocks: Blocks, world: World, token: Token, inputs: tuple[Any, ...]) -> Act:
        """S13."""
        handle = inputs[0]
        block = blocks[handle]
        empty = block.first_empty()
        if empty is not None:
            return Act(parked=Cell(handle, empty))
        values = [block.value(index) for index in range(handle.size)]
        trap = cells.shapes_trap(values)
        return Act(trap=trap) if trap else Act(((0, cells.stacked(values, element_type(Type(handle.dtype)))),))

    return act


def _cell_zeros(number: int, node: Node) -> Acting:
    """S13, of the handle alone."""

    def act(blocks: Blocks, world: World, token: Token, inputs: tuple[Any, ...]) -> Act:
        return Act(((0, cells.zeros(inputs[0], element_type(Type(inputs[0].dtype)))),))

    return act


def _print(number: int, node: Node) -> Acting:
    text = dict(node.attributes)["text"]

    def act(blocks: Blocks, world: World, token: Token, inputs: tuple[Any, ...]) -> Act:
        """S14."""
        world.print(formatted(text, inputs[:-1]))
        return Act(((0, True), (1, True)))

    return act


def _callback(number: int, node: Node) -> Acting:
    given = dict(node.attributes)
    function, returns = given["function"], given["returns"]

    def act(blocks: Blocks, world: World, token: Token, inputs: tuple[Any, ...]) -> Act:
        """S14."""
        try:
            return Act(((0, world.call(function, inputs[:-1], returns)), (1, True)))
        except Failed as failed:
            return Act(trap=str(failed))

    return act


_ACTING: dict[str, Callable[[int, Node], Acting]] = {
    "cells": _cells,
    "store": _store,
    "get": _get,
    "collect": _collect,
    "cell_zeros": _cell_zeros,
    "print": _print,
    "callback": _callback,
}
