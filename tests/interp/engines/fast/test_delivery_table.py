"""Delivery rows of ports agree with the image, and leave to the general loop only what they must."""

from __future__ import annotations

import numpy as np
import tagloom as tl
from hypothesis import given, settings
from support.generators.generator import Case, cases
from tagloom.core.graph.lower import lower
from tagloom.interp.engines.fast.delivery_table import DeliveryColumn, delivery_table
from tagloom.interp.image.image import NodeColumn, PortColumn, build_image
from tagloom.interp.image.opcodes import Opcode


@tl.function
def fib(n: tl.int64) -> tl.int64:
    return tl.cond(n <= 1, lambda: 1, lambda: fib(n - 1) + fib(n - 2))


@tl.function
def rounds(n: tl.int64, x: tl.int32) -> tl.int32:
    return tl.while_loop(lambda i, y: i < n, lambda i, y: (i + 1, tl.where(y > 3, y // 2, 3 * y + 1)), 0, x)[1]


@settings(max_examples=20)
@given(cases())
def test_rows_are_the_edges_of_outputs(case: Case) -> None:
    """A list of sends has the ports that the node's outputs feed, in order."""
    image = build_image(lower(case.program))
    rows, sends, _ = delivery_table(image)
    assert delivery_table(image)[0] is rows
    for row, port in zip(rows, image.ports, strict=True):
        node = image.nodes[port[PortColumn.NODE]]
        for begin, first, end in (
            (DeliveryColumn.FIRST_SEND_LIST, NodeColumn.EDGES_BEGIN, NodeColumn.SECOND_EDGES_BEGIN),
            (DeliveryColumn.SECOND_SEND_LIST, NodeColumn.SECOND_EDGES_BEGIN, NodeColumn.EDGES_END),
        ):
            actual, at = [], int(row[begin])
            while at and (not actual or sends[at - 1] >= 0):
                actual.append(max(int(sends[at]), ~int(sends[at])))
                at += 1
            assert actual == image.edges[node[first] : node[end]].tolist()


def test_programs_of_scalars_run_in_the_scalar_loop() -> None:
    """A program of scalars runs entirely in the loop for scalars, except for returning its results."""
    for function in (fib, rounds):
        image = build_image(lower(function.program))
        left = np.unique(
            delivery_table(image).rows[
                delivery_table(image).rows[:, DeliveryColumn.CODE] == Opcode.FALLBACK, DeliveryColumn.NODE
            ]
        )
        assert left.tolist() == np.flatnonzero(image.nodes[:, NodeColumn.CODE] == Opcode.RESULT).tolist()
