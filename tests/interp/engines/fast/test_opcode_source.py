"""Ops on the fast machine: every op on scalars of every dtype, at edge values."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterable, Iterator
from random import Random
from typing import Any, TypeAlias

import pytest
import tagloom as tl
from support.generators.array_rows import Attributes, arities, attributes
from support.generators.edges import EDGES
from support.inner import OTHER_DTYPES
from support.laws.fast_laws import RunOptionsSample, differences
from tagloom.core import dtypes
from tagloom.core.errors import Invalid
from tagloom.core.graph.graph import Graph
from tagloom.core.ops.op import OPS, Op
from tagloom.core.types import Type
from tagloom.interp.engines.limits import Limits

NODES = 24


Operands: TypeAlias = tuple[dtypes.DType, ...]


def of_all_dtypes(row: Op, count: int) -> Iterable[Operands]:
    """All combinations of operand dtypes."""
    return itertools.product(dtypes.ALL, repeat=count)


def of_one_dtype(row: Op, count: int) -> Iterable[Operands]:
    """Operands of one dtype; the condition of `where` has any."""
    if row.name == "where":
        return ((condition, dtype, dtype) for condition in dtypes.ALL for dtype in dtypes.ALL)
    return ((dtype,) * count for dtype in dtypes.ALL)


def forms(row: Op, choices: Callable[[Op, int], Iterable[Operands]]) -> Iterator[tuple[Operands, Attributes]]:
    """The operand dtypes, of these choices for a number of operands, and the attributes that an op accepts."""
    for given in attributes(row):
        for operands in itertools.chain(*(choices(row, count) for count in arities(row, given))):
            try:
                row.type_rule(*map(Type, operands), **dict(given))
            except Invalid:
                continue
            yield operands, given


def at_edges(row: Op, operands: Operands, given: Attributes, dice: Random) -> tuple[Graph, list[Any]]:
    """A graph with many nodes of the same op, and operands for each from the edge values of their dtypes."""
    builder, results, values = tl.GraphBuilder("edges"), [], []
    result = row.type_rule(*map(Type, operands), **dict(given))
    for number in range(NODES):
        values += [dice.choice(_edges(row, dtype)) for dtype in operands]
        ports = [builder.argument(f"x{number}_{port}", Type(dtype)) for port, dtype in enumerate(operands)]
        results += builder.node(row.name, f"y{number}", ports, [result], attributes=given)
    return builder.build(results), values


def _edges(row: Op, dtype: dtypes.DType) -> list[Any]:
    """Edge values; for ranges and sizes, only those that end soon, or are empty."""
    if row.name != "arange" and row.dynamic_sizes is None:
        return EDGES[dtype]
    return [each for each in EDGES[dtype] if not 1_000 < abs(float(each)) < math.inf]


def check(name: str, operands: Operands, given: Attributes) -> None:
    graph, values = at_edges(OPS[name], operands, given, Random(f"{name}{operands}{given}"))
    assert list(differences(graph, values, RunOptionsSample("fifo", Limits(firings=1_000)))) == []


@pytest.mark.inner(first=5)
@pytest.mark.parametrize("has_other_dtypes", [False, True], ids=["one of a kind", "other dtypes"])
@pytest.mark.parametrize("name", OPS)
def test_ops_at_edges(name: str, has_other_dtypes: bool) -> None:
    """On operands of one dtype each op has the reference's bits and traps."""
    for operands, given in forms(OPS[name], of_one_dtype):
        if (repr(operands[-1]) in OTHER_DTYPES) == has_other_dtypes:
            check(name, operands, given)


@pytest.mark.heavy
@pytest.mark.parametrize("name", OPS)
def test_ops_at_edges_of_mixed_dtypes(name: str) -> None:
    """On operands of all accepted dtypes each op has the reference's bits and traps."""
    for operands, given in forms(OPS[name], of_all_dtypes):
        check(name, operands, given)
