"""What a delivery reads, made of an image: a row for each port, of two lines of the processor's cache, and lists of
where outputs go.

The image keeps what is of a node with the node; here it stands at each of its ports, so that a token finds all that it
needs by its own number.
"""

from __future__ import annotations

from enum import IntEnum
from typing import NamedTuple
from weakref import WeakKeyDictionary

import numpy as np
import numpy.typing as npt

from ...image.image import NODE, PORT, SCRATCH, Image, Words
from ...image.opcodes import FIRST, Code


class ROW(IntEnum):
    """The columns of a port."""

    STATE = 0
    """The word of the frame that has the bits of its node."""
    CLASH = 1
    """The bits that break S4 where one is set: its own, and that of the firing."""
    OTHERS = 2
    """The bits of the operands that it waits for."""
    BIT = 3
    WAIT = 4
    """The word of the frame where its operand waits."""
    FIRED = 5
    CODE = 6
    """What the node does; LEAVE, too, for what is left to `machine`."""
    NUMBER = 7
    """That of the node."""
    FRAME = 8
    """All bits, where the other operand lies in the frame; none, where it lies in memory."""
    OTHER = 9
    """The word of it where the other operand lies."""
    IS_SECOND = 10
    """Whether the token that comes is operand 1, or none; and not operand 0."""
    NEEDS = 11
    FIRST = 12
    """Where in `sends` the list begins of what output 0 feeds; of output 1, SECOND; 0 where it feeds nothing."""
    SECOND = 13
    SPECIAL = 14
    """1 where ROUTE or CAST of the node says something; 2 more where operands lie where PORT says, and not as above."""
    GIVES = 15
    """Whether it opens an activation that may be another core's."""


class Rows(NamedTuple):
    """`rows` of ports, and lists of ports in `sends`, the last one of each complemented; `routes` are where those begin
    that a site picks (S10)."""

    rows: Words
    sends: Words
    routes: Words


_kept: WeakKeyDictionary[Image, Rows] = WeakKeyDictionary()


def rows_of(image: Image) -> Rows:
    """The rows of an image, made once."""
    found = _kept.get(image)
    if found is None:
        found = _kept[image] = _rows(image)
    return found


def _rows(image: Image) -> Rows:
    ports, number = image.ports, image.ports[:, PORT.NODE]
    nodes, lists = image.nodes[number], _Lists(image.edges)
    rows = np.zeros((len(ports), len(ROW)), np.int64)
    for column, of in ((ROW.STATE, NODE.STATE), (ROW.FIRED, NODE.FIRED), (ROW.NEEDS, NODE.NEEDS)):
        rows[:, column] = nodes[:, of]
    for column, at in ((ROW.BIT, PORT.BIT), (ROW.WAIT, PORT.WAIT), (ROW.NUMBER, PORT.NODE)):
        rows[:, column] = ports[:, at]
    rows[:, ROW.CLASH] = ports[:, PORT.BIT] | nodes[:, NODE.FIRED]
    rows[:, ROW.OTHERS] = nodes[:, NODE.FULL] & ~ports[:, PORT.BIT]
    rows[:, ROW.CODE] = np.where(_is_plain(image)[number], nodes[:, NODE.CODE], Code.LEAVE)
    for column, begin in ((ROW.FIRST, NODE.FIRST), (ROW.SECOND, NODE.SECOND)):
        rows[:, column] = lists.of(image.nodes[:, [begin, begin + 1]])[number]
    rows[:, ROW.SPECIAL] = (nodes[:, NODE.ROUTE] >= 0) | (nodes[:, NODE.CAST] != 0)
    _operands(rows, ports)
    routes = lists.of(image.routes)
    return Rows(rows, np.array(lists.found, np.int64), routes)


def _operands(rows: Words, ports: Words) -> None:
    """Where the operands lie that are not the token that comes."""
    first, second, third = ports[:, PORT.A], ports[:, PORT.B], ports[:, PORT.C]
    is_second = first != ~SCRATCH
    other = np.where(is_second, first, np.where(second == 0, ~0, second))
    rows[:, ROW.IS_SECOND], rows[:, ROW.FRAME], rows[:, ROW.OTHER] = is_second, ~(other >> 63), other ^ (other >> 63)
    is_odd, computes = (is_second & (second != 0) & (second != ~SCRATCH)) | (third != 0), rows[:, ROW.CODE] >= FIRST
    rows[is_odd & computes, ROW.SPECIAL] |= 2
    rows[is_odd & (rows[:, ROW.CODE] == Code.SWITCH), ROW.CODE] = Code.LEAVE


def _is_plain(image: Image) -> npt.NDArray[np.bool_]:
    """Which nodes `plain` does: not those that handle objects or leave the loop, nor rare ways to send."""
    nodes, code = image.nodes, image.nodes[:, NODE.CODE]
    has_route, opens = nodes[:, NODE.ROUTE] >= 0, (code == Code.CALL) | (code == Code.NEXT)
    is_rare = (opens & has_route) | (nodes[:, NODE.ROUTE_SECOND] >= 0)
    is_rare |= (code == Code.EXIT) & (nodes[:, NODE.END] > nodes[:, NODE.SECOND])
    is_ours = (code >= FIRST) | np.isin(code, [Code.PASS, Code.SWITCH, Code.CALL, Code.RETURN, Code.NEXT, Code.EXIT])
    is_rare[image.ports[image.ports[:, PORT.LINK] > 0, PORT.NODE]] = True
    handles_objects = nodes[:, NODE.BOXED] & 3 != 0
    return np.asarray(is_ours & ~is_rare & ~handles_objects)


class _Lists:
    """Lists of ports, one after another, made of parts of `edges`; the first begins at 1."""

    def __init__(self, edges: Words) -> None:
        self._edges = edges.tolist()
        self.found = [0]

    def of(self, parts: Words) -> Words:
        """Where the lists of parts begin, which are given by their ends; 0 for one of nothing."""
        begins = []
        for begin, end in parts.tolist():
            begins.append(len(self.found) if begin < end else 0)
            if begin < end:
                self.found += [*self._edges[begin : end - 1], ~self._edges[end - 1]]
        return np.array(begins, np.int64)
