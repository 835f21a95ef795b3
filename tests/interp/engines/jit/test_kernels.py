"""Compiled kernels give the bits that the reference gives, over the whole registry."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.generators.edges import ANY, EDGES
from support.observe.kernel_tables import KernelSignature, compiled, differences, literal, signatures
from tagloom.core import dtypes
from tagloom.core.ops.op import OPS
from tagloom.core.types import Type
from tagloom.interp.engines.jit import kernels

ALL = list(signatures())
SOME = (dtypes.bool, dtypes.int8, dtypes.int64, dtypes.uint16, dtypes.uint64, dtypes.float32, dtypes.float64)
"""Dtypes that between them have every lane, narrow and wide."""
NAMES = ("a", "b", "c")


def has_one_dtype(signature: KernelSignature) -> bool:
    """Whether an op's operands have one dtype, except for the condition of `where`."""
    return len(set(signature.operands[signature.row.name == "where" :])) == 1


def is_some(signature: KernelSignature) -> bool:
    return all(type_.dtype in SOME for type_ in (*signature.operands, signature.result))


QUICK = [signature for signature in ALL if has_one_dtype(signature) and is_some(signature)]
MIXED = [s for s in ALL if {type_.dtype.kind for type_ in s.operands} >= {"i", "u"}]
MIXED = [next(s for s in MIXED if (s.row, s.lanes) == each) for each in dict.fromkeys((s.row, s.lanes) for s in MIXED)]
"""One of each op on a signed and an unsigned integer, which promote."""


def grouped(chosen: Iterable[KernelSignature]) -> list[list[KernelSignature]]:
    """Signatures grouped by element types, in groups of limited size."""
    groups: dict[tuple[str, ...], list[KernelSignature]] = {}
    for signature in chosen:
        groups.setdefault(signature.lanes, []).append(signature)
    return [group[at : at + 40] for group in groups.values() for at in range(0, len(group), 40)]


def edge_rows(signature: KernelSignature) -> list[tuple[Any, ...]]:
    return list(itertools.product(*(EDGES[type_.dtype] for type_ in signature.operands)))


def wrong(group: Sequence[KernelSignature]) -> list[str]:
    run = compiled([(signature, NAMES[: len(signature.operands)]) for signature in group])
    results: list[str] = []
    for number, signature in enumerate(group):
        rows = edge_rows(signature)
        results += differences(run, number, signature, rows, rows)
    return results


def test_every_op_has_text() -> None:
    """Every op has a kernel text for scalars of every dtype that it accepts."""
    assert len(ALL) > 1000
    for row, operands, result, attributes in ALL:
        assert kernels.expression(row.name, operands, result, attributes, NAMES[: len(operands)])


@pytest.mark.full(first=10)
@pytest.mark.parametrize("group", grouped(QUICK), ids=lambda group: "-".join(group[0].lanes))
def test_edges(group: list[KernelSignature]) -> None:
    """Compiled kernels have the reference's bits and traps on every combination of edge values."""
    assert not wrong(group)


@pytest.mark.full
def test_promotion() -> None:
    """Operands of two dtypes are computed in the element type of their promotion."""
    for group in grouped(MIXED):
        assert not wrong(group)


@pytest.mark.heavy
@pytest.mark.parametrize("group", grouped(ALL), ids=lambda group: "-".join(group[0].lanes))
def test_edges_of_all_dtypes(group: list[KernelSignature]) -> None:
    """Compiled kernels have the reference's bits and traps for every combination of dtypes."""
    assert not wrong(group)


F64 = Type(dtypes.float64)
I64 = Type(dtypes.int64)
WIDE = [s for s in ALL if set(s.operands) == {F64} and s.result == F64]
WHOLE = [s for s in ALL if set(s.operands) == {I64} and s.result == I64]
RUNS: dict[str, Any] = {}


def cached_kernels(name: str, group: Sequence[KernelSignature]) -> Any:
    if name not in RUNS:
        RUNS[name] = compiled([(signature, NAMES[: len(signature.operands)]) for signature in group])
    return RUNS[name]


@settings(max_examples=40)
@given(data=st.data())
def test_any_values(data: st.DataObject) -> None:
    """Compiled kernels have the reference's bits on arbitrary values."""
    name, chosen, arity = data.draw(st.sampled_from([("floats", WIDE, 1), ("floats", WIDE, 2), ("integers", WHOLE, 2)]))
    group = [signature for signature in chosen if len(signature.operands) == arity]
    run = cached_kernels(f"{name} {arity}", group)
    number = data.draw(st.integers(0, len(group) - 1))
    operands = st.tuples(*(ANY[type_.dtype] for type_ in group[number].operands))
    rows = data.draw(st.lists(operands, min_size=1, max_size=20))
    assert not list(differences(run, number, group[number], rows, rows))


CONSTANTS = {
    "pow": [2.0, 0.5, -0.5, 3.0, -1.0, 0.0, 1.0, 4.0, 0.25, 1e300],
    "divide": [2.0, 10.0, 0.0, -0.0, 1.0, math.inf],
    "multiply": [0.0, 1.0, -1.0, 2.0],
    "add": [0.0, -0.0],
    "subtract": [0.0, -0.0],
    "floor_divide": [2.0, 1.0, 0.1, math.inf],
    "remainder": [2.0, 1.0, 0.1, math.inf],
}
WHOLE_CONSTANTS = {"pow": [0, 1, 2, 3, -1], "floor_divide": [-1, 1, 2, 3, 0], "remainder": [-1, 1, 2, 3, 0]}


@pytest.mark.full
def test_constants_are_not_folded_to_other_bits() -> None:
    """Constant operands, one or both, have the same result as variable ones."""
    for type_, group, constants in ((F64, WIDE, CONSTANTS), (I64, WHOLE, WHOLE_CONSTANTS)):
        dice, arms = np.random.default_rng(3), []
        for signature in (s for s in group if s.row.name in constants):
            for number in constants[signature.row.name]:
                for at in (0, 1):
                    operands = ["a", "a"]
                    operands[at] = literal(number, type_)
                    arms.append((signature, operands, at, number))
        run = compiled([(signature, operands) for signature, operands, _, _ in arms])
        for arm, (signature, _, at, number) in enumerate(arms):
            values = EDGES[type_.dtype]
            if type_ is F64:
                values = [*values, *(dice.standard_normal(50) * 10.0 ** dice.integers(-5, 5, 50)).tolist()]
            rows = [(value, number) if at else (number, value) for value in values]
            columns = [(value, value) for value in values]
            assert not list(differences(run, arm, signature, columns, rows))


@pytest.mark.full
def test_constant_functions() -> None:
    """sin(1e22), exp(1) and the like are the C library's, although LLVM could fold them."""
    arms, rows = [], []
    for signature in (s for s in WIDE if len(s.operands) == 1):
        for number in (1.0, 0.5, 1e22, 3.7, 700.1, -0.3):
            arms.append((signature, [literal(number, F64)]))
            rows.append((number,))
    run = compiled(arms)
    for arm, (signature, _) in enumerate(arms):
        assert not list(differences(run, arm, signature, [(0.0,)], [rows[arm]]))


def test_no_fused_multiply_add() -> None:
    """x * y + z is rounded twice."""
    (multiply,), (add,) = ([s for s in WIDE if s.row.name == name] for name in ("multiply", "add"))
    text = add.text([multiply.text(["x", "y"]), "z"])
    module: dict[str, Any] = {}
    exec(f"{kernels.HEADER}\n@njit\ndef run(x, y, z):\n return {text}", module)
    dice = np.random.default_rng(1)
    for x, y, z in dice.standard_normal((1000, 3)).tolist():
        assert module["run"](x, y, z) == x * y + z


@pytest.mark.inner(first=2)
@pytest.mark.parametrize("dtype", dtypes.ALL, ids=repr)
def test_literals(dtype: dtypes.DType) -> None:
    """The text of a scalar evaluates to that scalar, in its element type."""
    module: dict[str, Any] = {}
    values = [kernels.literal_expression(value, dtype) for value in EDGES[dtype]]
    exec(f"{kernels.HEADER}\n@njit\ndef run():\n return ({', '.join(values)},)", module)
    result = module["run"].py_func()
    module["run"]()
    (kind,) = module["run"].nopython_signatures
    lane = {"b": "bool", "i": "int", "u": "uint64", "f": "float64"}[dtype.kind]
    assert all(lane in str(type_) for type_ in kind.return_type.types)
    for one, other in zip(result, EDGES[dtype], strict=True):
        assert repr(np.asarray(one).item()) == repr(np.asarray(other).item())


def test_no_op_is_missing() -> None:
    """These tests compare every elementwise op."""
    assert {signature.row.name for signature in QUICK} == {row.name for row in OPS.values() if row.scalar is not None}
