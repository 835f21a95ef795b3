"""Ops that move or reduce elements have NumPy's results in machine code."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
import pytest
import tagloom as tl
from support.laws.compiled_laws import differences
from support.programs.gradient_cases import CASES, GradientCase
from tagloom.core.frontend.eager.apply import apply
from tagloom.core.graph.lower import lower
from tagloom.core.program.program import Program
from tagloom.core.types import Type, type_of
from tagloom.core.value import admit, fingerprint
from tagloom.interp.engines.compiled import codegen, data_movement
from tagloom.interp.engines.compiled.run import run_compiled
from tagloom.interp.engines.reference import run_graph

KEPT = [{"axis": axis, "keepdims": keep} for axis in ((1,), (0, 2), (0, 1, 2)) for keep in (False, True)]
SEVERAL_INDICES = (
    ((4, 3), (), -1, 1),
    ((4, 3, 2), (), 0, -1),
    ((4, 3, 2), (2,), 3, 0),
    ((4, 3, 2), (), -4, 2, 1),
)
"""The shapes of an array and of values, and the indices at which `scatter` puts them."""
MORE = [
    *(GradientCase("take", ((3, 4), at), {"axis": axis}) for at in (-1, [[0, 2], [-3, 1]]) for axis in (0, 1)),
    *(GradientCase(op, ((2, 3, 2),), each) for op in ("max", "min", "sum") for each in KEPT),
    *(
        GradientCase(op, ([[0.0, -0.0], [float("nan"), 1.0], [-0.0, 0.0]],), {"axis": axis, "keepdims": False})
        for op in ("max", "min")
        for axis in (0, 1)
    ),
    GradientCase("permute_dims", ([list(range(at, at + 19)) for at in range(20)],), {"axes": (1, 0)}),
    *(GradientCase("size", ((2, 3),), {"axis": axis}) for axis in (None, 0, -1)),
    *(GradientCase("scatter", ((4, *row), values, -1)) for row in ((), (3,), (2, 3)) for values in ((), row)),
    *(GradientCase("scatter", (shape, values, *at)) for shape, values, *at in SEVERAL_INDICES),
]
RULES = {op: [case for case in (*CASES, *MORE) if case.op == op] for op in data_movement.MOVE_EMITTERS}
LEFT = {
    "reshape": 0,
    "reshape_like": 0,
    "scatter": 10,
    "scatter_add": 9,
    "scatter_index": 0,
    "max": 2,
    "min": 2,
}
"""How many of these are left to Python where sizes are known: scalars, integers, several of float32."""
QUICK = ("permute_dims", "index", "sum_like", "broadcast_like")


def annotation(type_: Type, is_open: bool) -> Any:
    shape = type_.shape or ()
    return tl.Array[(type_.dtype, *(None if is_open else size for size in shape))] if shape else type_.dtype


def program_of(cases: list[GradientCase], dtype: Any, is_open: bool) -> tuple[Program, list[Any]]:
    """A program of several ops, each with its own operands."""
    dice, given, counts = np.random.default_rng(5), list[Any](), list[int]()
    for case in cases:
        values = [np.asarray(each)[()] for each in case.values(dice)]
        given += [admit(each.astype(dtype) if each.dtype == np.float64 else each) for each in values]
        counts.append(len(values))

    def main(*operands: Any) -> Any:
        left, results = list(operands), []
        for case, count in zip(cases, counts, strict=True):
            taken, left = left[:count], left[count:]
            results.append(apply(case.op, *taken, **case.attributes))
        return tuple(results)

    names = [f"x{at}" for at in range(len(given))]
    function = eval(f"lambda {', '.join(names)}: main({', '.join(names)})", {"main": main})
    types = [annotation(type_of(each), is_open) for each in given]
    function.__annotations__ = dict(zip(names, types, strict=True))
    return tl.function(function).program, given


def differing_cases(op: str, dtype: Any, is_open: bool) -> list[str]:
    """The cases of an op that differ from the reference: in a bit, or for sums by more than rounding."""
    program, given = program_of(RULES[op], dtype, is_open)
    graph = lower(program)
    compiled, reference = run_compiled(program, graph, given), run_graph(graph, given)
    assert compiled is not None and compiled.status == reference.status == "Returned", (compiled, reference)
    results = []
    for case, one, other in zip(RULES[op], compiled.results, reference.results, strict=True):
        if op.startswith("sum"):
            same = np.shape(one) == np.shape(other) and np.allclose(one, other, rtol=1e-6)  # type: ignore[arg-type]
        else:
            same = fingerprint(one) == fingerprint(other)
        results += [] if same else [f"{case}: {one}, not {other}"]
    return results


@pytest.mark.full(first=4)
@pytest.mark.parametrize("is_open", [False, True])
@pytest.mark.parametrize(
    "op", [op if op in QUICK else pytest.param(op, marks=pytest.mark.heavy) for op in data_movement.MOVE_EMITTERS]
)
def test_moves_and_reductions_agree(op: str, is_open: bool) -> None:
    """Moves and reductions agree with the reference, for fixed and open sizes."""
    for dtype in (np.float64, np.float32)[: 2 - is_open]:
        assert not differing_cases(op, dtype, is_open)


@pytest.mark.heavy
@pytest.mark.parametrize("op", data_movement.MOVE_EMITTERS)
def test_machine_code_computes_moves(op: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Machine code computes such ops if their sizes are fixed."""
    left, right = Counter[str](), codegen.emit_host_call

    def noted(writer: Any, node: Any, inputs: Any) -> str:
        left[node.op] += 1
        return right(writer, node, inputs)

    monkeypatch.setattr(codegen, "emit_host_call", noted)
    program, given = program_of(RULES[op], np.float64, False)
    run_compiled(program, lower(program), given)
    assert left[op] <= LEFT.get(op, 0)


@tl.function
def nothing_added(x: tl.Array[tl.float64, 2], y: tl.Array[tl.float32, None], z: tl.Array[tl.float32, None]):  # type: ignore[no-untyped-def]
    return apply("sum_like", x, x), apply("sum_like", y, z)


@pytest.mark.full
def test_sum_like_of_equal_shapes_keeps_negative_zeros() -> None:
    """A sum to the shape that an array has is that array, to the sign of its zeros; fixed and open sizes."""
    zeros = np.array([-0.0, 0.0])
    for size in (2, 1):
        given = [zeros, zeros.astype(np.float32), np.ones(size, np.float32)]
        assert not differences(nothing_added.program, nothing_added.graph, list(map(admit, given)))
    outcome = nothing_added.run(zeros, zeros.astype(np.float32), np.ones(2, np.float32), engine="compiled")
    assert [np.signbit(each).tolist() for each in outcome.results] == [[True, False]] * 2


HUGE = f"{2**40}, {2**40}"
TRAPS: dict[str, tuple[str, list[Any]]] = {
    "take": ("x: float64[?], i: int64) -> float64 {\n y = take x, i, axis=0", [np.arange(3.0), 3]),
    "take a row": ("x: float64[?, 2], i: int64) -> float64[2] {\n y = take x, i, axis=0", [np.ones((3, 2)), -4]),
    "take several": (
        "x: float64[?], i: int64[?]) -> float64[?] {\n y = take x, i, axis=0",
        [np.arange(3.0), np.array([0, 3])],
    ),
    "scatter": ("x: float64[?], i: int64) -> float64[?] {\n y = scatter x, 1.0, i", [np.arange(3.0), 3]),
    "scatter of an element": (
        "x: float64[?, 2], i: int64) -> float64[?, 2] {\n y = scatter x, 1.0, 0, i",
        [np.ones((3, 2)), -3],
    ),
    "scatter_add": (
        "x: float64[3], i: int64[1]) -> float64[3] {\n y = scatter_add x, [1.0], i",
        [np.arange(3.0), np.array([-4])],
    ),
    "sum_like": ("x: float64[?], z: float64[?]) -> float64[?] {\n y = sum_like x, z", [np.arange(3.0), np.arange(2.0)]),
    "broadcast_like": (
        "x: float64[?], z: float64[?]) -> float64[?] {\n y = broadcast_like x, z",
        [np.arange(3.0), np.arange(2.0)],
    ),
    "reshape_like": (
        "x: float64[?], z: float64[?, 1]) -> float64[?, 1] {\n y = reshape_like x, z",
        [np.arange(3.0), np.ones((2, 1))],
    ),
    "reshape": (f"x: float64[?]) -> float64[{HUGE}] {{\n y = reshape x, shape=[{HUGE}]", [np.arange(3.0)]),
    "squeeze": ("x: float64[?, 2]) -> float64[2] {\n y = squeeze x, axis=0", [np.ones((2, 2))]),
    "max": ("x: float64[?, 2]) -> float64[2] {\n y = max x, axis=0, keepdims=false", [np.ones((0, 2))]),
}


@pytest.mark.parametrize(
    "name", [pytest.param(each, marks=[pytest.mark.heavy] * (each != "take a row")) for each in TRAPS]
)
def test_traps(name: str) -> None:
    """Mismatched operands have the reference's message."""
    text, given = TRAPS[name]
    program = tl.parse_program(f"func f({text}\n return y\n}}")
    graph = lower(program)
    assert not differences(program, graph, given)
    assert run_graph(graph, given).status == "Trapped"


@pytest.mark.full
@pytest.mark.parametrize("op", ["broadcast_to 1.0", "reshape [1.0]"])
def test_a_negative_size_beside_an_impossible_one_traps(op: str) -> None:
    """A negative size traps, even after a size that no array can have; otherwise that one does not fit into memory."""
    text = f"func f(n: int64, m: int64) -> float64[?, ?] {{\n y = {op}, n, m, shape=[?, ?]\n return y\n}}"
    program = tl.parse_program(text)
    graph = lower(program)
    assert not differences(program, graph, [2**62, -3])
    assert run_graph(graph, [2**62, -3]).status == "Trapped"


@pytest.mark.full
def test_wrong_strides_are_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    """A twin that always reads the first element is caught."""
    monkeypatch.setattr(data_movement, "broadcast_strides", lambda value, rank: ["0"] * rank)
    assert differing_cases("broadcast_like", np.float64, False)
