"""Adjoints by rows: for a table that is only gathered, the indices of the gathered rows and an adjoint for each,
instead of a dense array (TensorFlow's IndexedSlices).

This module decides which tables have such adjoints, and adds them, in programs and on tapes. In a program each is two
values. Calls and branches return them; a loop copies them at every iteration, since their number grows.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

from .. import dtypes
from ..errors import Invalid
from ..ops.indexing import row_adjoint
from ..ops.op import OpBuilder
from ..program.program import Location, Node, Operand, Var
from ..types import Type
from .activity import ActivityAnalysis, RegionActivity, adjoint_type, region_operands


class Rows(NamedTuple):
    """The gradient with respect to an array by rows: `values[k]` is the adjoint of row `indices[k]`. Repeated rows add
    up."""

    indices: Any
    """Integers from 0, of shape (n,)."""
    values: Any
    """Floats, of shape (n, ...)."""


def row_adjoint_types(table: Type) -> tuple[Type, Type]:
    """The types of the two values of a row adjoint. The number of rows is known only at run time."""
    shape = None if table.shape is None else (None, *table.shape[1:])
    return Type(dtypes.int64, (None,)), Type(table.dtype, shape)


def adjoint_types(activity: RegionActivity, variable: Var) -> tuple[Type, ...]:
    """The types of the values that make up the adjoint of a parameter."""
    return (
        row_adjoint_types(variable.type)
        if variable.name in activity.row_tables
        else (adjoint_type(variable.type) or variable.type,)
    )


def declared_adjoint_types(
    activity: RegionActivity, variables: Iterable[Var], inferred_types: Iterable[Type]
) -> list[Type]:
    """The types that a function declares for the adjoints of its parameters: row adjoints have an unknown number of
    rows."""
    types = iter(inferred_types)
    return [
        declared_type if variable.name in activity.row_tables else inferred_type
        for variable in variables
        for declared_type, inferred_type in zip(adjoint_types(activity, variable), types, strict=False)
    ]


def gathered_rows(builder: OpBuilder, node: Node, adjoint: Operand) -> Rows | None:
    """The row adjoint that a gather contributes; None for other ops."""
    rows = row_adjoint(builder, node.op, adjoint, node.inputs, dict(node.attributes))
    return rows and Rows(*rows)


def propagate_rows(analysis: ActivityAnalysis, requests: Iterable[tuple[str, Iterable[int]]]) -> None:
    """Give these parameters row adjoints, and also the parameters of called functions and branches to which they are
    passed."""
    worklist = list(requests)
    for name, positions in worklist:  # a worklist: the loop appends to it
        parameters = analysis.program[name].body.parameters
        worklist += _mark_tables(
            analysis, analysis.regions[name], {parameters[position].name for position in positions}
        )


def _mark_tables(
    analysis: ActivityAnalysis, activity: RegionActivity, names: set[str]
) -> Iterator[tuple[str, Iterable[int]]]:
    """Mark tables among the values of a region; yields the functions that receive them, with the positions."""
    if names <= activity.row_tables:
        return
    activity.row_tables |= names
    for node in (
        node for phase in activity.phases for node in phase.nodes if node.op in ("call", "cond", "while_loop")
    ):
        positions = {
            position
            for position, operand in enumerate(region_operands(node))
            if isinstance(operand, str) and operand in activity.row_tables
        }
        if node.op == "call":
            callee = node.attribute("function")
            if callee in analysis.regions and analysis.program[callee].gradient_rule is None:
                yield callee, analysis.active_parameters[callee] & positions
            continue
        for inner in activity.inner_regions[node.name]:
            if node.op == "while_loop":
                positions &= _invariant_positions(inner)
                inner.invariant_positions |= positions
                activity.row_tables |= {node.results[position].name for position in positions}
            yield from _mark_tables(
                analysis, inner, {inner.phases[0].parameters[position].name for position in positions}
            )


def _invariant_positions(body: RegionActivity) -> set[int]:
    """The positions of the loop variables that the body returns unchanged."""
    phase = body.phases[0]
    return {position for position, variable in enumerate(phase.parameters) if phase.results[position] == variable.name}


def empty_rows(builder: OpBuilder, table: Any) -> Rows:
    """A row adjoint without rows: zero."""
    count = builder("size", table, axis=0)
    indices = builder("arange", count, count, 1)
    return Rows(indices, builder("take", table, indices, axis=0))


def add_rows(builder: OpBuilder, first: Rows, second: Rows) -> Rows:
    """The sum of two row adjoints: their rows, concatenated."""
    return Rows(*(builder("concat", *pair, axis=0) for pair in zip(first, second, strict=True)))


def to_dense(builder: OpBuilder, adjoint: Rows, table: Any) -> Any:
    """The row adjoint as a dense array of the shape of the table."""
    return builder("scatter_add", builder("multiply_no_nan", table, 0.0), adjoint.values, adjoint.indices)


def row_use_error(table: str, user: str, where: Location | None) -> Invalid:
    """The error where an op other than a gather uses a table that is differentiated by rows."""
    return Invalid(
        f"{table} is differentiated by rows, but {user} uses more than its rows",
        rule="D6",
        where=where or table,
        required="tl.take(x, i, axis=0), or x[i]",
        hint="leave it out of `rows`: then its gradient is an array of its shape",
    )
