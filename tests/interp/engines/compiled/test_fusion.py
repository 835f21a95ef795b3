"""Chains of array ops become one loop, with the reference's bits for all shapes, and can be interrupted."""

from __future__ import annotations

import random
import time
from typing import Any

import numpy as np
import pytest
import tagloom as tl
from support.laws.compiled_laws import differences
from support.observe.lateness import is_soon
from support.programs.compiled_programs import elementary32, elementary64
from tagloom.core.program.program import Program
from tagloom.interp.engines.compiled.codegen import emit_module
from tagloom.interp.engines.compiled.fusion import BLOCK_ELEMENTS, FusedChain, plan_fusion
from tagloom.interp.engines.compiled.run import run_compiled
from tagloom.interp.engines.limits import Limits

OPEN = tl.Array[tl.float64, None]


@tl.function
def mixed(
    x: tl.Array[tl.float64, None], y: tl.Array[tl.float32, None], n: tl.Array[tl.int16, None], c: tl.float64
) -> tuple[OPEN, tl.Array[tl.float32, None], tl.Array[tl.int16, None], OPEN]:
    """Nested and parallel NumPy loops, all number types, values used twice, and scalars between."""
    wide = tl.tanh(x * c + tl.exp(-x)) / (x - c)
    small = tl.where(n > np.int16(5), tl.sin(y) + y, tl.pow(y, y))
    wrapped = n * n - tl.astype(small, tl.int16)
    half = c / 2.0
    return wide + half, tl.exp(small), wrapped, tl.pow(wide, half) * tl.astype(wrapped, tl.float64) - wide


@tl.function
def planes(x: tl.Array[tl.float64, None, 3], y: tl.Array[tl.float64, None, None]) -> tl.Array[tl.float64, None, 3]:
    """Arrays with two axes, of equal and unequal shapes."""
    return tl.cos(x * y + 1.0) * y - x


def of_mixed(size: int, others: int) -> list[Any]:
    dice = np.random.default_rng(size)
    special = np.array([0.0, -0.0, np.inf, -np.inf, np.nan, 1e308, 5e-324, 709.9, -745.2])
    x = np.where(dice.random(size) < 0.1, dice.choice(special, size), dice.normal(size=size) * 10.0)
    y = dice.normal(size=others).astype(np.float32)
    return [x, y, dice.integers(-300, 300, others, dtype=np.int16), 1.5]


SIZES = [(0, 0), (1, 1), (BLOCK_ELEMENTS - 1,) * 2, (2 * BLOCK_ELEMENTS + 1,) * 2, (5, 1), (1, 7), (3, 4)]


@pytest.mark.full
@pytest.mark.parametrize(("size", "others"), SIZES)
def test_chains_of_mixed_types(size: int, others: int) -> None:
    """A chain agrees with the reference on equal, broadcast and incompatible shapes."""
    assert not list(differences(mixed.program, mixed.graph, of_mixed(size, others)))


@pytest.mark.full(first=3)
@pytest.mark.parametrize(("rows", "shape"), [(4, (4, 3)), (1500, (1500, 3)), (4, (1, 3)), (1, (2, 1)), (2, (3, 3))])
def test_chains_on_two_axes(rows: int, shape: tuple[int, int]) -> None:
    """A chain on two axes agrees with the reference."""
    arguments = [np.random.default_rng(1).normal(size=(rows, 3)), np.random.default_rng(2).normal(size=shape)]
    assert not list(differences(planes.program, planes.graph, arguments))


def program(lines: str) -> Program:
    return tl.parse_program(f"func f(x: float64[?], y: float64[3], a: float64) -> float64[?] {{\n{lines}\n}}")


def chains(lines: str) -> list[tuple[list[str], list[str]]]:
    """The chains of a program, loop by loop: their nodes, and which of these are stored."""
    parts = plan_fusion(program(lines).main.body)
    loops = [loop for part in parts if isinstance(part, FusedChain) for loop in part.loops]
    return [([node.name for node in loop.nodes], list(loop.outputs)) for loop in loops]


def test_where_a_chain_ends() -> None:
    """A scalar does not end a chain; an op that may trap on its values does, and so does an array of another shape."""
    assert chains("b = multiply x, 2.0\ns = add a, 1.0\nc = add b, s\nreturn c") == [(["b", "c"], ["c"])]
    assert chains("b = add x, y\nc = exp y\nd = multiply b, c\nreturn d") == [(["b", "c", "d"], ["d"])]
    assert chains("b = add x, 1.0\nc = subtract b, b\nd = where true, b, c\nreturn b") == [(["b", "c", "d"], ["b"])]
    ints = "n = astype x, dtype=int64\nm = floor_divide n, n\nf = astype m, dtype=float64\nreturn f"
    assert chains(ints) == [(["n"], ["n"]), (["f"], ["f"])]
    lifted = "b = multiply [[1.0, 2.0, 3.0]], 2.0\nc = add y, 1.0\nreturn c"
    assert chains(lifted) == [(["b"], []), (["c"], ["c"])]


def test_a_chain_is_one_loop() -> None:
    """A chain without NumPy's loops is a loop over blocks with an inner loop, and allocates its result only."""
    text = "\n".join(emit_module(program("b = multiply x, 2.0\nc = add b, a\nd = divide c, x\nreturn d")).lines)
    assert text.count("for ") == 2 and text.count("e.empty((") == 1


@pytest.mark.full
def test_a_limit_ends_a_run_within_a_chain() -> None:
    """A limit on seconds ends a run in the middle of a chain."""
    lines = "\n".join(f"v{at + 1} = pow v{at}, a" for at in range(12))
    slow = tl.parse_program(f"func f(v0: float64[?], a: float64) -> float64[?] {{\n{lines}\nreturn v12\n}}")
    graph, array = tl.lower(slow), np.full(8_000_000, 1.1)
    run_compiled(slow, graph, [array[:100_000], 0.99])  # which starts the thread pool

    def seconds_of_a_run() -> float:
        begin = time.monotonic()
        assert run_compiled(slow, graph, [array, 0.99], limits=Limits(seconds=0.1)).status == "Exhausted"
        return time.monotonic() - begin

    assert is_soon(seconds_of_a_run, 0.6)


def generated(seed: int) -> tuple[Program, list[Any]]:
    """A program of many ops on arrays of fixed or open sizes, and arguments of equal or unequal shapes."""
    dice = random.Random(seed)
    size = dice.choice([0, 1, 2, 3, BLOCK_ELEMENTS + 1])
    types = {f"x{at}": dice.choice(["float64", "float32", "int8", "uint32"]) for at in range(4)}
    sizes = [dice.choice(["?", "?", str(size), "1"]) for _ in types]
    nodes, kinds = [], dict(types)
    for at in range(dice.randrange(2, 16)):
        one = dice.choice(list(kinds))
        like = [name for name, kind in kinds.items() if kind == kinds[one]]
        name, two = f"n{at}", dice.choice(like)
        of_floats = ["exp", "log", "sin", "cos", "tanh", "sqrt"] if kinds[one].startswith("f") else ["negative", "abs"]
        binary = ["add", "subtract", "multiply", "maximum", *(["divide", "pow"] if kinds[one].startswith("f") else [])]
        op = dice.choice([*of_floats, *binary, *binary, "astype"])
        kinds[name] = dice.choice(["float64", "float32", "int8"]) if op == "astype" else kinds[one]
        extra = f", dtype={kinds[name]}" if op == "astype" else ""
        nodes.append(f"{name} = {op} {one}{f', {two}' if op in binary else ''}{extra}")
    expected = dice.sample([name for name in kinds if name[0] == "n"], min(3, len(nodes)))
    parameters = ", ".join(f"{name}: {type_}[{size}]" for (name, type_), size in zip(types.items(), sizes, strict=True))
    result = tl.parse_program("\n".join([f"func f({parameters}) {{", *nodes, f"return {', '.join(expected)}", "}"]))
    numbers = np.random.default_rng(seed)
    given = [int(each) if each != "?" else dice.choice([size, size, size, 1, 5]) for each in sizes]
    drawn = [
        numbers.integers(0, 100, each) - (50 if "u" not in t else 0)
        for each, t in zip(given, types.values(), strict=True)
    ]
    return result, [array.astype(t) / (1 if "int" in t else 7) for array, t in zip(drawn, types.values(), strict=True)]


@pytest.mark.full
@pytest.mark.parametrize("seed", [pytest.param(seed, marks=[pytest.mark.heavy] * (seed > 1)) for seed in range(80)])
def test_generated_chains(seed: int) -> None:
    """Generated chains have the reference's bits, or its first trap."""
    result, arguments = generated(seed)
    typed = [np.asarray(a, p.type.dtype.numpy) for a, p in zip(arguments, result.main.body.parameters, strict=True)]
    assert not list(differences(result, tl.lower(result), typed))


@pytest.mark.full
@pytest.mark.parametrize("dtype", ["float64", pytest.param("float32", marks=pytest.mark.heavy)])
def test_functions_with_numpy_loops(dtype: str) -> None:
    """Every function with a NumPy loop has the reference's bits, at edge values too."""
    edges = np.array([0.5, -0.0, 1.5, -2.0, 0.0, np.inf, -np.inf, np.nan, 1e30, 1e-30, 3.0, 88.0], dtype)
    function = elementary64 if dtype == "float64" else elementary32
    traced = function.trace(edges, edges[::-1])
    assert differences(traced.program, traced.graph, [edges, edges[::-1].copy()]) == []
