"""Write-once cells in the text: the values of all cells in one array, and in another a bit each, whether it is there.

Arrays of a size that types tell lie one after another; of others, there are references (jit.references). A handle is
the two arrays, so that it travels wherever a value does; both are freed when the last handle dies. Its text is
`(v1, v2)`, of two variables: where it was taken apart at each use, a loop took three times as long.

Sequential code knows what it has put so far and no more. What needs to know more is left to a machine with tokens: a
cell that is empty when it is wanted, all puts of one that is put twice, and what a trap says of a handle.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from ....core.program.program import Node
from ....core.types import Type, element_type
from ..jit.kernels import LANES, lane
from .chains import too_many
from .elementwise import Value, Writer, empty
from .layout import axes, element, is_open, numpy

MOST_ROWS = 2**24
"""How many references to arrays there are at most: all are written when the cells are made, and no limit is looked at
meanwhile."""


class _Cells(NamedTuple):
    """Text of the two arrays, and the type of what is in a cell."""

    values: str
    full: str
    of: Type

    def referred(self, at: str) -> str:
        """Text of the array in a cell, of those that are referred to."""
        return f"r.referred({self.values}, {at}, {numpy(element(self.of.dtype))}, {axes(self.of)})"


def _cells(handle: Value) -> _Cells:
    values, full = handle.text[1:-1].split(", ")
    return _Cells(values, full, element_type(handle.type))


def _made(writer: Writer, node: Node, inputs: Sequence[Value]) -> str:
    """More than an array may have, or than MOST_ROWS references, are made elsewhere, where only those take memory that
    are put."""
    count, of = inputs[0].text, element_type(node.results[0].type)
    writer.trap(node, inputs, f"{count} < 0")
    known = () if is_open(of) else of.shape or ()
    sizes = [count, *map(str, known)]
    writer.elsewhere(too_many(sizes))
    if is_open(of):
        writer.elsewhere(f"{count} > {MOST_ROWS}")
        values = writer.made_of(f"r.rows({count}, {axes(of)})")
    else:
        values = empty(writer, sizes, Type(of.dtype, (None, *known)))
    return f"({values}, {writer.made_of(f'np.zeros({count}, np.bool_)')})"


def _put(writer: Writer, node: Node, inputs: Sequence[Value]) -> str:
    (values, full, of), value = _cells(inputs[0]), inputs[2].text
    at = _cell(writer, full, inputs[1])
    writer.elsewhere(f"{full}[{at}]")
    if is_open(of):
        writer.line(f"r.refer({values}, int64({at}), {value})")
    elif of.is_scalar:
        writer.line(f"{values}[{at}] = {value}")
    else:
        _copy(writer, writer.made_of(f"{values}[{at}].reshape(-1)"), "0", value)
    writer.line(f"{full}[{at}] = True")
    return inputs[0].text


def _copy(writer: Writer, into: str, begin: str, array: str) -> None:
    """Copy all elements of an array, from an index on."""
    flat, index = writer.made_of(f"{array}.reshape(-1)"), writer.fresh("i")
    with writer.inside(f"for {index} in range({flat}.size):"):
        writer.line(f"{into}[{begin} + {index}] = {flat}[{index}]")


def _got(writer: Writer, node: Node, inputs: Sequence[Value]) -> str:
    """A number, or an array that is never written again."""
    cells = _cells(inputs[0])
    at = _cell(writer, cells.full, inputs[1])
    writer.elsewhere(f"not {cells.full}[{at}]")
    if is_open(cells.of):
        return writer.made_of(cells.referred(f"int64({at})"))
    text = f"{cells.values}[{at}]"
    return writer.made_of(f"{LANES[lane(cells.of.dtype)]}({text})" if cells.of.is_scalar else text)


def _cell(writer: Writer, full: str, index: Value) -> str:
    """Where a cell is: unsigned, so that numba does not ask whether that counts from the end."""
    at = writer.made_of(f"uint64({index.text})")
    writer.elsewhere(f"{at} >= uint64({full}.size)")
    return at


def _collected(writer: Writer, node: Node, inputs: Sequence[Value]) -> str:
    """The array of all values, where they are one: nothing is ever written there again."""
    cells = _cells(inputs[0])
    writer.elsewhere(f"not {cells.full}.all()")
    return _stacked(writer, node, cells) if is_open(cells.of) else cells.values


def _stacked(writer: Writer, node: Node, cells: _Cells) -> str:
    """Arrays of one shape as one array; where there are none, sizes that nobody knows are 0."""
    count, sizes, index = writer.made_of(f"{cells.full}.size"), list[str](), writer.fresh("i")
    for axis, known in enumerate(cells.of.shape or ()):
        where = f"{cells.values}[0, {2 + axis}]"
        sizes.append(str(known) if known is not None else writer.made_of(f"{where} if {count} else 0"))
    with writer.inside(f"for {index} in range({count}):"):
        for axis, size in enumerate(sizes):
            writer.elsewhere(f"{cells.values}[{index}, {2 + axis}] != {size}")
    writer.elsewhere(too_many([count, *sizes]))
    made = empty(writer, [count, *sizes], node.results[0].type)
    flat = writer.made_of(f"{made}.reshape(-1)")
    with writer.inside(f"for {index} in range({count}):"):
        array = writer.made_of(cells.referred(index))
        _copy(writer, flat, f"{index} * {array}.size", array)
    return made


def _zeros(writer: Writer, node: Node, inputs: Sequence[Value]) -> str:
    """As many zeros as there are cells."""
    made = node.results[0].type
    sizes = [f"{_cells(inputs[0]).full}.size", *map(str, (made.shape or ())[1:])]
    if too_many(sizes) != "False":
        writer.too_large(node, inputs, too_many(sizes))
    return writer.made_of(f"np.zeros(({', '.join(sizes)},), {numpy(element(made.dtype))})")


WRITTEN: dict[str, Callable[[Writer, Node, Sequence[Value]], str]] = {
    "cells": _made,
    "put": _put,
    "get": _got,
    "collect": _collected,
    "cell_zeros": _zeros,
}
"""How each op on cells is written."""
