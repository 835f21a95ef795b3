"""Delivery tables, derived from an image: a row for each port, of two cache lines, and lists of the targets of outputs.

The data of a node is repeated at each of its ports, so that a token finds all that it needs by its port number.
"""

from __future__ import annotations

from enum import IntEnum
from typing import NamedTuple
from weakref import WeakKeyDictionary

import numpy as np
import numpy.typing as npt

from ...image.image import SCRATCH_WORD, Image, NodeColumn, PortColumn, WordArray
from ...image.opcodes import FIRST_KERNEL, Opcode


class DeliveryColumn(IntEnum):
    """The columns of a port."""

    STATE = 0
    """The word of the frame that has the bits of its node."""
    CONFLICT_BITS = 1
    """The bits that break S4 where one is set: its own, and that of the firing."""
    PARTNER_BITS = 2
    """The bits of the operands that it waits for."""
    BIT = 3
    WAIT = 4
    """The word of the frame where its operand waits."""
    FIRED = 5
    CODE = 6
    """What the node does; FALLBACK, too, for what is left to `machine`."""
    NODE = 7
    """That of the node."""
    FRAME_MASK = 8
    """All bits, where the other operand lies in the frame; none, where it lies in memory."""
    PARTNER_WORD = 9
    """The word of it where the other operand lies."""
    IS_SECOND = 10
    """Whether the token that comes is operand 1, or none; and not operand 0."""
    NEEDS = 11
    FIRST_SENDS = 12
    """Where in `sends` the list begins of what output 0 feeds; of output 1, SECOND_SENDS; 0 where it feeds nothing."""
    SECOND_SENDS = 13
    SPECIAL = 14
    """1 where ROUTE or CAST of the node says something; 2 more where operands lie where PortColumn says, and not as
    above."""
    IS_SHAREABLE = 15
    """Whether it opens an activation that may be another core's."""


class DeliveryTable(NamedTuple):
    """`rows` of ports, and lists of ports in `sends`, the last one of each complemented; `routes` are where those begin
    that a site picks (S10)."""

    rows: WordArray
    sends: WordArray
    routes: WordArray


_delivery_tables: WeakKeyDictionary[Image, DeliveryTable] = WeakKeyDictionary()


def delivery_table(image: Image) -> DeliveryTable:
    """The rows of an image, made once."""
    found = _delivery_tables.get(image)
    if found is None:
        found = _delivery_tables[image] = _build_delivery_table(image)
    return found


def _build_delivery_table(image: Image) -> DeliveryTable:
    ports, number = image.ports, image.ports[:, PortColumn.NODE]
    nodes, lists = image.nodes[number], _PortListBuilder(image.edges)
    rows = np.zeros((len(ports), len(DeliveryColumn)), np.int64)
    for column, of in (
        (DeliveryColumn.STATE, NodeColumn.MASK_WORD),
        (DeliveryColumn.FIRED, NodeColumn.FIRED_BIT),
        (DeliveryColumn.NEEDS, NodeColumn.REQUIRED_TOKENS),
    ):
        rows[:, column] = nodes[:, of]
    for column, at in (
        (DeliveryColumn.BIT, PortColumn.BIT),
        (DeliveryColumn.WAIT, PortColumn.OPERAND_WORD),
        (DeliveryColumn.NODE, PortColumn.NODE),
    ):
        rows[:, column] = ports[:, at]
    rows[:, DeliveryColumn.CONFLICT_BITS] = ports[:, PortColumn.BIT] | nodes[:, NodeColumn.FIRED_BIT]
    rows[:, DeliveryColumn.PARTNER_BITS] = nodes[:, NodeColumn.OPERAND_MASK] & ~ports[:, PortColumn.BIT]
    rows[:, DeliveryColumn.CODE] = np.where(_is_scalar(image)[number], nodes[:, NodeColumn.CODE], Opcode.FALLBACK)
    for column, begin in (
        (DeliveryColumn.FIRST_SENDS, NodeColumn.EDGES_BEGIN),
        (DeliveryColumn.SECOND_SENDS, NodeColumn.SECOND_EDGES_BEGIN),
    ):
        rows[:, column] = lists.append_lists(image.nodes[:, [begin, begin + 1]])[number]
    rows[:, DeliveryColumn.SPECIAL] = (nodes[:, NodeColumn.ROUTE] >= 0) | (nodes[:, NodeColumn.CAST] != 0)
    _fill_operand_columns(rows, ports)
    routes = lists.append_lists(image.routes)
    return DeliveryTable(rows, np.array(lists.entries, np.int64), routes)


def _fill_operand_columns(rows: WordArray, ports: WordArray) -> None:
    """Where the operands lie that are not the token that comes."""
    first, second, third = (
        ports[:, PortColumn.OPERAND_0],
        ports[:, PortColumn.OPERAND_1],
        ports[:, PortColumn.OPERAND_2],
    )
    is_second = first != ~SCRATCH_WORD
    other = np.where(is_second, first, np.where(second == 0, ~0, second))
    rows[:, DeliveryColumn.IS_SECOND], rows[:, DeliveryColumn.FRAME_MASK], rows[:, DeliveryColumn.PARTNER_WORD] = (
        is_second,
        ~(other >> 63),
        other ^ (other >> 63),
    )
    is_odd, computes = (
        (is_second & (second != 0) & (second != ~SCRATCH_WORD)) | (third != 0),
        rows[:, DeliveryColumn.CODE] >= FIRST_KERNEL,
    )
    rows[is_odd & computes, DeliveryColumn.SPECIAL] |= 2
    rows[is_odd & (rows[:, DeliveryColumn.CODE] == Opcode.SWITCH), DeliveryColumn.CODE] = Opcode.FALLBACK


def _is_scalar(image: Image) -> npt.NDArray[np.bool_]:
    """Which nodes `deliver_scalar` does: not those that handle objects or leave the loop, nor rare ways to send."""
    nodes, code = image.nodes, image.nodes[:, NodeColumn.CODE]
    has_route, opens = nodes[:, NodeColumn.ROUTE] >= 0, (code == Opcode.CALL) | (code == Opcode.NEXT_ITERATION)
    is_rare = (opens & has_route) | (nodes[:, NodeColumn.ROUTE_SECOND] >= 0)
    is_rare |= (code == Opcode.EXIT) & (nodes[:, NodeColumn.EDGES_END] > nodes[:, NodeColumn.SECOND_EDGES_BEGIN])
    is_ours = (code >= FIRST_KERNEL) | np.isin(
        code, [Opcode.PASS, Opcode.SWITCH, Opcode.CALL, Opcode.RETURN, Opcode.NEXT_ITERATION, Opcode.EXIT]
    )
    is_rare[image.ports[image.ports[:, PortColumn.LINK_WORD] > 0, PortColumn.NODE]] = True
    handles_objects = nodes[:, NodeColumn.BOXED_FLAGS] & 3 != 0
    return np.asarray(is_ours & ~is_rare & ~handles_objects)


class _PortListBuilder:
    """Lists of ports, one after another, made of parts of `edges`; the first begins at 1."""

    def __init__(self, edges: WordArray) -> None:
        self._edges = edges.tolist()
        self.entries = [0]

    def append_lists(self, parts: WordArray) -> WordArray:
        """Where the lists of parts begin, which are given by their ends; 0 for one of nothing."""
        begins = []
        for begin, end in parts.tolist():
            begins.append(len(self.entries) if begin < end else 0)
            if begin < end:
                self.entries += [*self._edges[begin : end - 1], ~self._edges[end - 1]]
        return np.array(begins, np.int64)
