"""Ops on the fast machine: every op on scalars of every dtype, at edge values."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from random import Random
from typing import Any

import pytest
import tagloom as tl
from support.generators.array_rows import arities, attributes
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


def forms(row: Op) -> Iterator[tuple[tuple[dtypes.DType, ...], tuple[tuple[str, Any], ...]]]:
    """The operand dtypes and attributes that an op accepts."""
    for given in attributes(row):
        for operands in itertools.chain(*(itertools.product(dtypes.ALL, repeat=n) for n in arities(row, given))):
            try:
                row.type_rule(*map(Type, operands), **dict(given))
            except Invalid:
                continue
            yield operands, given


def at_edges(row: Op, operands: tuple[dtypes.DType, ...], given: Any, dice: Random) -> tuple[Graph, list[Any]]:
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


def check(name: str, operands: tuple[dtypes.DType, ...], given: Any) -> None:
    graph, values = at_edges(OPS[name], operands, given, Random(f"{name}{operands}{given}"))
    assert list(differences(graph, values, RunOptionsSample("fifo", Limits(firings=1_000)))) == []


@pytest.mark.inner(first=1, of_each=r"\w+")
@pytest.mark.parametrize("has_other_dtypes", [False, True], ids=["one of a kind", "other dtypes"])
@pytest.mark.parametrize("name", OPS)
def test_ops_at_edges(name: str, has_other_dtypes: bool) -> None:
    """On operands of one dtype each op has the reference's bits and traps."""
    for operands, given in forms(OPS[name]):
        is_of_one_dtype = len(set(operands)) == 1 or (name == "where" and len(set(operands[1:])) == 1)
        if is_of_one_dtype and (repr(operands[-1]) in OTHER_DTYPES) == has_other_dtypes:
            check(name, operands, given)


@pytest.mark.heavy
@pytest.mark.parametrize("name", OPS)
def test_ops_at_edges_of_mixed_dtypes(name: str) -> None:
    """On operands of all accepted dtypes each op has the reference's bits and traps."""
    for operands, given in forms(OPS[name]):
        check(name, operands, given)
