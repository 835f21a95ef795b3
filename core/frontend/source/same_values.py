"""Which values of a program are the same for certain: one value, also where a region captures it, or values that the
same pure ops compute from the same values."""

from __future__ import annotations

from ...ops.op import OPS
from ...program.program import Node, Operand
from ...value import Literal
from ..trace.program_builder import RegionBuilder, TracedOperand, TracedValue


def is_same_value(left: TracedOperand | None, right: TracedOperand | None, depth: int = 4) -> bool:
    """Whether two operands are one value, or pure ops compute both from the same values."""
    if not isinstance(left, TracedValue) or not isinstance(right, TracedValue):
        return isinstance(left, Literal) and left == right
    left, right = origin_of(left), origin_of(right)
    if left is right:
        return True
    nodes = defining_node(left), defining_node(right)
    if depth == 0 or nodes[0] is None or nodes[1] is None or nodes[0].op not in OPS:
        return False
    is_alike = nodes[0].op == nodes[1].op and nodes[0].attributes == nodes[1].attributes
    return (
        is_alike
        and len(nodes[0].inputs) == len(nodes[1].inputs)
        and all(
            (left.region is right.region and first == second)
            or is_same_value(input_value(left.region, first), input_value(right.region, second), depth - 1)
            for first, second in zip(nodes[0].inputs, nodes[1].inputs, strict=True)
        )
    )


def origin_of(value: TracedValue) -> TracedValue:
    """The value that this one captures, in the region that computes it."""
    outer = next((outer for outer, inner in value.region.captures.items() if inner is value), None)
    return value if outer is None else origin_of(outer)


def defining_node(value: TracedValue) -> Node | None:
    return next(
        (node for node in value.region.nodes if any(result.name == value.name for result in node.results)), None
    )


def input_value(region: RegionBuilder, operand: Operand) -> TracedOperand | None:
    if isinstance(operand, Literal):
        return operand
    captured = (value for value in region.captures.values() if value.name == operand)
    return region.values.get(operand) or next(captured, None)
