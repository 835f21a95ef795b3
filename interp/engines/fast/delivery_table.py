"""Delivery tables, derived from an image: one row per port, of two cache lines, and lists of the targets of outputs.

A node's data is repeated at each of its ports, so that delivering a token reads one row.
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

    MASK_WORD = 0
    """The offset in the frame of the word with the bits of the node."""
    CONFLICT_BITS = 1
    """The bits of this operand and of the firing: by S4, none of them may be set."""
    PARTNER_BITS = 2
    """The bits of the other operands."""
    BIT = 3
    OPERAND_WORD = 4
    """The offset in the frame at which the operand waits."""
    FIRED_BIT = 5
    CODE = 6
    """The opcode of the node; FALLBACK for nodes that only `machine` handles."""
    NODE = 7
    """The number of the node."""
    FRAME_MASK = 8
    """A mask of the frame address: -1 if the other operand is in the frame, 0 if it is at an address of memory."""
    PARTNER_WORD = 9
    """The offset, or address, of the other operand."""
    IS_SECOND = 10
    """Whether the delivered token is not operand 0."""
    REQUIRED_TOKENS = 11
    FIRST_SEND_LIST = 12
    """The start in `send_lists` of the list of targets of output 0; 0 if there are none."""
    SECOND_SEND_LIST = 13
    """The same of output 1."""
    SPECIAL = 14
    """Flags: 1 if the node has a ROUTE or CAST; 2 if the columns above do not describe the operands, which must then be
    read by PortColumn."""
    PLACE = 15
    """The `NodePlace` of the node; of an activation, if the node opens one."""


class NodePlace(IntEnum):
    """The core on which a node fires, or on which the activation is that it opens."""

    HERE = 0
    ANY = 1
    """Another core may get the activation if it asks."""
    FIRST_CORE = 2
    """Another core: the number of that core counts from here."""


class DeliveryTable(NamedTuple):
    """`rows` by port and DeliveryColumn; `send_lists`, lists of target ports, each with its last entry complemented;
    `send_routes`, the starts of the lists that are selected by site (S10)."""

    rows: WordArray
    send_lists: WordArray
    send_routes: WordArray


_delivery_tables: WeakKeyDictionary[Image, DeliveryTable] = WeakKeyDictionary()


def delivery_table(image: Image) -> DeliveryTable:
    """The delivery table of an image, cached."""
    table = _delivery_tables.get(image)
    if table is None:
        table = _delivery_tables[image] = build_delivery_table(image)
    return table


def build_delivery_table(image: Image) -> DeliveryTable:
    """The delivery table of an image."""
    ports, nodes_of_ports = image.ports, image.ports[:, PortColumn.NODE]
    nodes, lists = image.nodes[nodes_of_ports], _PortListBuilder(image.edges)
    rows = np.zeros((len(ports), len(DeliveryColumn)), np.int64)
    for column, node_column in (
        (DeliveryColumn.MASK_WORD, NodeColumn.MASK_WORD),
        (DeliveryColumn.FIRED_BIT, NodeColumn.FIRED_BIT),
        (DeliveryColumn.REQUIRED_TOKENS, NodeColumn.REQUIRED_TOKENS),
    ):
        rows[:, column] = nodes[:, node_column]
    for column, port_column in (
        (DeliveryColumn.BIT, PortColumn.BIT),
        (DeliveryColumn.OPERAND_WORD, PortColumn.OPERAND_WORD),
        (DeliveryColumn.NODE, PortColumn.NODE),
    ):
        rows[:, column] = ports[:, port_column]
    rows[:, DeliveryColumn.CONFLICT_BITS] = ports[:, PortColumn.BIT] | nodes[:, NodeColumn.FIRED_BIT]
    rows[:, DeliveryColumn.PARTNER_BITS] = nodes[:, NodeColumn.OPERAND_MASK] & ~ports[:, PortColumn.BIT]
    rows[:, DeliveryColumn.CODE] = np.where(
        scalar_path_nodes(image)[nodes_of_ports], nodes[:, NodeColumn.CODE], Opcode.FALLBACK
    )
    for column, edges_column in (
        (DeliveryColumn.FIRST_SEND_LIST, NodeColumn.EDGES_BEGIN),
        (DeliveryColumn.SECOND_SEND_LIST, NodeColumn.SECOND_EDGES_BEGIN),
    ):
        rows[:, column] = lists.append_lists(image.nodes[:, [edges_column, edges_column + 1]])[nodes_of_ports]
    rows[:, DeliveryColumn.SPECIAL] = (nodes[:, NodeColumn.ROUTE] >= 0) | (nodes[:, NodeColumn.CAST] != 0)
    fill_operand_columns(rows, ports)
    routes = lists.append_lists(image.routes)
    return DeliveryTable(rows, np.array(lists.entries, np.int64), routes)


def fill_operand_columns(rows: WordArray, ports: WordArray) -> None:
    """Fill in the columns that locate the operands other than the delivered token."""
    first, second = ports[:, PortColumn.OPERAND_0], ports[:, PortColumn.OPERAND_1]
    third = ports[:, PortColumn.OPERAND_2]
    is_second = first != ~SCRATCH_WORD
    other = np.where(is_second, first, np.where(second == 0, ~0, second))
    rows[:, DeliveryColumn.IS_SECOND] = is_second
    rows[:, DeliveryColumn.FRAME_MASK] = ~(other >> 63)
    rows[:, DeliveryColumn.PARTNER_WORD] = other ^ (other >> 63)
    has_other_operands = (is_second & (second != 0) & (second != ~SCRATCH_WORD)) | (third != 0)
    codes = rows[:, DeliveryColumn.CODE]
    rows[has_other_operands & (codes >= FIRST_KERNEL), DeliveryColumn.SPECIAL] |= 2
    rows[has_other_operands & (codes == Opcode.SWITCH), DeliveryColumn.CODE] = Opcode.FALLBACK


def scalar_path_nodes(image: Image) -> npt.NDArray[np.bool_]:
    """By node, whether `deliver_scalar` delivers its tokens: not if it has objects, fires on the host, or sends in a
    rare way."""
    nodes, code = image.nodes, image.nodes[:, NodeColumn.CODE]
    has_route, opens = nodes[:, NodeColumn.ROUTE] >= 0, (code == Opcode.CALL) | (code == Opcode.NEXT_ITERATION)
    is_rare = (opens & has_route) | (nodes[:, NodeColumn.ROUTE_SECOND] >= 0)
    is_rare |= (code == Opcode.EXIT) & (nodes[:, NodeColumn.EDGES_END] > nodes[:, NodeColumn.SECOND_EDGES_BEGIN])
    is_supported = (code >= FIRST_KERNEL) | np.isin(
        code, [Opcode.PASS, Opcode.SWITCH, Opcode.CALL, Opcode.RETURN, Opcode.NEXT_ITERATION, Opcode.EXIT]
    )
    is_rare[image.ports[image.ports[:, PortColumn.LINK_WORD] > 0, PortColumn.NODE]] = True
    handles_objects = nodes[:, NodeColumn.BOXED_FLAGS] & 3 != 0
    return np.asarray(is_supported & ~is_rare & ~handles_objects)


class _PortListBuilder:
    """Concatenates parts of `edges` into one array of lists, each with its last entry complemented; the first list
    begins at 1."""

    def __init__(self, edges: WordArray) -> None:
        self._edges = edges.tolist()
        self.entries = [0]

    def append_lists(self, spans: WordArray) -> WordArray:
        """Append a list of edges for each (begin, end) of `spans`; returns where each begins, 0 for an empty one."""
        begins = []
        for begin, end in spans.tolist():
            begins.append(len(self.entries) if begin < end else 0)
            if begin < end:
                self.entries += [*self._edges[begin : end - 1], ~self._edges[end - 1]]
        return np.array(begins, np.int64)
