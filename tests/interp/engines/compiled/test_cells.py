"""Cells without tokens: every type, every reason to leave a run to another engine, and no memory leaks."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import tagloom as tl
from support.generators.edges import EDGES
from support.laws.compiled_laws import run_trial
from support.programs.compiled_programs import exchanged, late, planted, prefix, ragged, rows, twice
from support.programs.papers import of_paper
from tagloom.core import dtypes
from tagloom.core.graph.lower import lower
from tagloom.core.value import is_same_value
from tagloom.interp.engines.compiled.run import run_compiled
from tagloom.interp.engines.reference import admit_arguments

RUN: list[tuple[tl.Function, list[list[Any]]]] = [
    (prefix, [[6], [1]]),
    (exchanged, [[4], [0]]),
    (planted, [[9], [0]]),
    (ragged, [[4, 0], [4, 4]]),
    (rows, [[5], [1]]),
    (late, [[2]]),
    (twice, [[3]]),
]
LEFT: list[tuple[tl.Function, list[list[Any]]]] = [
    (late, [[4]]),
    (twice, [[2]]),
    (prefix, [[0]]),
    (ragged, [[4, 2], [0, 0]]),
    (rows, [[0]]),
]


def each(programs: list[tuple[tl.Function, list[list[Any]]]]) -> Any:
    cases = [(function, arguments) for function, inputs in programs for arguments in inputs]
    names = [f"{function.name}{arguments}" for function, arguments in cases]
    return pytest.mark.parametrize(("function", "arguments"), cases, ids=names)


def compare(function: tl.Function, arguments: list[Any]) -> Any:
    return run_trial(function.program, function.graph, admit_arguments(function.graph, arguments))


@pytest.mark.full
@each(RUN)
def test_puts_before_gets_need_no_tokens(function: tl.Function, arguments: list[Any]) -> None:
    """S13: a program whose puts all come before their gets needs no tokens; handles may pass loops, conds and calls."""
    assert compare(function, arguments) == ("reference", [])
    assert function.run(*arguments, engine="compiled").engine == "compiled"


@pytest.mark.full
@each(LEFT)
def test_other_programs_run_on_a_token_machine(function: tl.Function, arguments: list[Any]) -> None:
    """A program whose ending only tokens can tell runs on a token machine; its outcome is the reference's, and names
    that engine."""
    assert compare(function, arguments) == ("left", [])
    outcome, expected = (function.run(*arguments, engine=name) for name in ("compiled", "reference"))
    assert outcome.engine == "fast" and outcome.status == expected.status
    assert str(outcome.error) == str(expected.error) and all(map(is_same_value, outcome.results, expected.results))


@pytest.mark.full
def test_a_negative_number_of_cells_traps() -> None:
    """A negative number of cells is a trap."""
    outcome, expected = (prefix.run(-3, engine=name) for name in ("compiled", "reference"))
    assert outcome.engine == "compiled" and str(outcome.error) == str(expected.error)


SHAPES = {"": (), "[2]": (2,), "[?]": (3,), "[2, ?]": (2, 5)}


FEW = (dtypes.bool, dtypes.uint8, dtypes.int64, dtypes.float32)
CELL_DTYPES = tuple(dtype for dtype in dtypes.ALL if dtype not in dtypes.FLOAT_FORMATS)
"""The dtypes of the scalars that machine code keeps in cells."""


@pytest.mark.full
@pytest.mark.parametrize(
    "dtype", [each if each in FEW else pytest.param(each, marks=pytest.mark.heavy) for each in CELL_DTYPES], ids=repr
)
def test_every_type(dtype: tl.DType) -> None:
    """Values that are got or collected have the bits that were put: scalars, and arrays of fixed and open sizes."""
    parameters, nodes, results = [], [], []
    for at, shape in enumerate(SHAPES):
        type_ = f"{dtype!r}{shape}"
        parameters += [f"x{at}: {type_}", f"y{at}: {type_}"]
        nodes += [f"a{at} = cells 3, element={type_}", f"b{at} = put a{at}, 1, x{at}", f"c{at} = put b{at}, 2, y{at}"]
        nodes += [f"d{at} = put c{at}, 0, x{at}", f"g{at} = get a{at}, 2", f"e{at} = collect a{at}"]
        results += [f"g{at}", f"e{at}"]
    lines = [f"func f({', '.join(parameters)}) {{", *nodes, f"return {', '.join(results)}", "}"]
    program = tl.parse_program("\n".join(lines))
    edges = np.array(EDGES[dtype], dtype.numpy)
    given = [np.resize(each, shape)[()] for shape in SHAPES.values() for each in (edges[::-1], edges)]
    assert run_trial(program, lower(program), admit_arguments(lower(program), given)) == ("reference", [])


@pytest.mark.full
def test_too_many_cells_move_to_another_engine() -> None:
    """A run with more cells than memory moves to a machine that allocates only cells that are put."""
    text = "func f(n: int64) {\n a = cells n, element=int64\n b = put a, 7, n\n g = get b, 7\n return g\n}"
    program = tl.parse_program(text)
    assert run_compiled(program, lower(program), [2**40]) is None
    function = tl.function(lambda n: tl.put(tl.cells(n, tl.int64), 7, n)[7])
    assert function.run(2**40, engine="compiled").value == 2**40


@pytest.mark.full
def test_too_many_array_cells_move_to_another_engine() -> None:
    """Cells of arrays allocate their references before any put, so a run with too many of them moves to `fast`."""
    vector = tl.Array[tl.float64, None]
    function = tl.function(lambda n, x: tl.put(tl.cells(n, vector), 7, x)[7])
    for count, engine in ((2**10, "compiled"), (2**28, "fast")):
        outcome = function.run(count, np.ones(3), engine="compiled", limits=tl.Limits(bytes=2**32))
        assert (outcome.engine, outcome.value.tolist()) == (engine, [1.0] * 3)


@pytest.fixture
def held_blocks() -> Callable[[], int]:
    """The number of memory blocks that compiled code has not freed."""
    from numba.core.runtime import _nrt_python, rtsys

    _nrt_python.memsys_enable_stats()

    def count() -> int:
        stats = rtsys.get_allocation_stats()
        return int(stats.mi_alloc - stats.mi_free)

    return count


@pytest.mark.full
@each(RUN + LEFT)
def test_all_memory_is_freed(function: tl.Function, arguments: list[Any], held_blocks: Callable[[], int]) -> None:
    """When the last handle and the last array are gone, all their memory is freed."""
    given = admit_arguments(function.graph, arguments)
    before = held_blocks()
    for _ in range(3):
        outcome = run_compiled(function.program, function.graph, given)
        del outcome
    assert held_blocks() == before


PAPERS = [
    ("inner_product", "main", [20], "compiled"),
    ("inner_product", "phases", [20], "compiled"),
    ("wavefront", "main", [6], "compiled"),
    ("wavefront", "flat", [6], "compiled"),
    ("wavefront", "backward", [6], "fast"),
    ("manchester_matmult", "main", [5], "compiled"),
    ("bounded_deadlock", "main", [5], "fast"),
]


@pytest.mark.full(first=3)
@pytest.mark.parametrize(("file", "name", "arguments", "engine"), PAPERS)
def test_programs_of_the_papers(file: str, name: str, arguments: list[Any], engine: str) -> None:
    """Programs of cells from the papers that read only what they have put run without tokens."""
    function = getattr(of_paper("roots", file), name)
    assert not compare(function, arguments).differences
    outcome, expected = (function.run(*arguments, engine=name) for name in ("compiled", "reference"))
    assert outcome.engine == engine and is_same_value(outcome.value, expected.value)
