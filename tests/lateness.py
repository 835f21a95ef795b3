"""Prints how late runs end after their limit on seconds, from the call and from the first step: by engine and op, for
every op of the registry on large operands, and for recursions that hold arrays
(`tests/support/programs/limit_child.py` measures Ctrl-C and bytes, too).

    PYTHONPATH=tests python tests/lateness.py [-e ENGINE]... [OP...]

Without `-e`, it runs the engines of the law in `tests/interp/engines/test_lateness.py`.
"""

from __future__ import annotations

import itertools
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from functools import cache
from multiprocessing import get_context
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import tagloom as tl
from support.generators.array_recursions import DEPTH, draw_array_recursion
from support.generators.array_rows import Attributes, choices
from tagloom.core import dtypes
from tagloom.core.errors import Invalid
from tagloom.core.frontend.eager.apply import apply
from tagloom.core.ops.op import OPS, Op, dynamic_size_count
from tagloom.core.types import Type
from tagloom.core.value import Value

ENGINES = ("reference", "fast", "compiled", "auto")
SECONDS = 0.05
"""The limit of the runs of ops; ops that take less end before."""
RECURSION_SECONDS = 0.3
LENGTH, SIDE, SQUARE = 10**7, 4000, 1500
"""The elements of a vector, and the sides of matrices and of those whose work grows faster than their elements."""
RECURSIONS = tuple(f"recursion {seed}" for seed in range(4))


class LargeCase(NamedTuple):
    """An op with attributes, and the types of its large operands."""

    op: str
    types: tuple[Type, ...]
    attributes: Attributes

    def operands(self) -> list[Value]:
        """Operands of these types: random numbers, those of square matrices with a large diagonal."""
        dice = np.random.default_rng(0)
        values: list[Any] = []
        for type_ in self.types:
            shape = tuple(size or 0 for size in type_.shape or ())
            value = np.resize(dice.random(2**16 + 1), shape) * (1 if type_.dtype.kind == "f" else 2)
            if len(shape) == 2 and shape[0] == shape[1] and OPS[self.op].has_superlinear_work:
                value += value.T + 2 * len(value) * np.eye(len(value))
            values.append(value.astype(type_.dtype.numpy) if shape else type_.dtype.numpy.type(1))
        return values

    def function(self) -> tl.Function:
        """A function of these operands that applies the op."""
        return tl.function(lambda *operands: apply(self.op, *operands, **dict(self.attributes)))


def array_rows() -> Iterator[Op]:
    """The ops of the registry that take arrays."""
    return (row for row in OPS.values() if next(large_cases(row), None) is not None)


def large_cases(row: Op) -> Iterator[LargeCase]:
    """Cases of a row with operands of LENGTH elements or so, all of which have axes."""
    matrix = (SQUARE, SQUARE) if row.has_superlinear_work and row.name != "matmul" else (SIDE, SIDE)
    large = {(3,): (LENGTH,), (3, 3): matrix, (1, 3): (1, LENGTH), (2, 3): (2, LENGTH // 2)}
    first = ((3, 3),) if row.name == "matmul" else ((3,),)
    for shapes, kinds, attributes in sorted(choices(row), key=lambda each: each[0] != first * len(each[0])):
        if not all(shape in large for shape in shapes) or dynamic_size_count(row, dict(attributes)):
            continue
        types = tuple(Type(kind, large[shape]) for kind, shape in zip(kinds, shapes, strict=True))
        try:
            result = row.type_rule(*types, **dict(attributes))
        except Invalid:
            continue
        if result.dtype in dtypes.ALL:
            yield LargeCase(row.name, types, attributes)


@cache
def large_case(op: str) -> LargeCase:
    """The case of an op that is measured: of float64 where the op takes that."""
    every = list(large_cases(OPS[op]))
    return next((each for each in every if each.types[0].dtype is dtypes.float64), every[0])


Lateness: TypeAlias = tuple[float, float] | None
"""The seconds from a limit to the end of a run, from the call and from the first step; None if it ends before."""


def seconds_late(function: tl.Function, arguments: tuple[Any, ...], engine: str, seconds: float) -> Lateness:
    """How late a run ends, from the call and from its first step; None if it ends before its limit. A run whose limit
    is 0 seconds ends before its first step, and takes as long as the copy of the arguments."""
    times = []
    for limit in (0, 0, seconds):  # the first may touch memory for the first time
        begin = time.perf_counter()
        outcome = function.run(*arguments, engine=engine, limits=tl.Limits(seconds=limit))
        times.append(time.perf_counter() - begin - limit)
    *beginnings, late = times
    return (late, late - min(beginnings)) if outcome.status == "Exhausted" else None


def measure(name: str, engine: str) -> Lateness:
    """How late a run of an op, or of a recursion, ends; None if it ends before."""
    if name in RECURSIONS:
        function = draw_array_recursion(int(name.split()[1])).function
        function.run(2, engine=engine)  # compiles
        return seconds_late(function, (DEPTH,), engine, RECURSION_SECONDS)
    case = large_case(name)
    return seconds_late(case.function(), tuple(case.operands()), engine, SECONDS)


def measure_alone(name: str, engine: str) -> Lateness:
    """`measure` in a new process: an abandoned op goes on, and delays what runs beside it."""
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as processes:
        return processes.submit(measure, name, engine).result()


def main(words: list[str]) -> None:
    engines = [after for before, after in itertools.pairwise(words) if before == "-e"] or list(ENGINES)
    names = [word for word in words if word != "-e" and word not in engines]
    print("| op, or recursion | " + " | ".join(f"`{engine}`" for engine in engines) + " |")
    print("|---|" + "---|" * len(engines))
    worst = dict.fromkeys(engines, ("", 0.0))
    for name in names or [*(row.name for row in array_rows()), *RECURSIONS]:
        cells = []
        for engine in engines:
            late = measure_alone(name, engine)
            cells.append("ends before" if late is None else "{:.2f}; {:.2f}".format(*late))
            worst[engine] = max(worst[engine], (name, 0.0 if late is None else late[1]), key=lambda each: each[1])
        print(f"| `{name}` | {' | '.join(cells)} |", flush=True)
    print(*(f"{engine}: {name} is the latest, {late:.2f} s" for engine, (name, late) in worst.items()), sep="\n")


if __name__ == "__main__":
    main(sys.argv[1:])
