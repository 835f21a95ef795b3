"""Prints how late runs end after their limit on seconds, from the call and from the first step: by engine and op, for
ops on operands for which NumPy takes seconds, and for recursions that hold arrays
(`tests/support/programs/limit_child.py` measures Ctrl-C and bytes, too).

    PYTHONPATH=tests python tests/lateness.py [ENGINE...]
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from typing import Any

import numpy as np
import tagloom as tl
from support.generators.array_recursions import DEPTH, draw_array_recursion

SECONDS = 0.3
LENGTH, SIDE, SQUARE = 3 * 10**7, 5000, 1500
"""The elements of a vector, and the sides of the matrices of products and of decompositions."""
OPS: dict[str, tuple[Callable[[Any], Any], tuple[int, ...]]] = {
    "matmul": (lambda x: tl.matmul(x, x), (SIDE, SIDE)),
    "sort": (tl.sort, (LENGTH,)),
    "argsort": (tl.argsort, (LENGTH,)),
    "unique_values": (tl.unique_values, (LENGTH,)),
    "cumulative_sum": (tl.cumulative_sum, (LENGTH,)),
    "svdvals": (tl.linalg.svdvals, (SQUARE, SQUARE)),
    "eigvalsh": (lambda x: tl.linalg.eigvalsh(x + x.T), (SQUARE, SQUARE)),
    "inv": (tl.linalg.inv, (SQUARE, SQUARE)),
}


def seconds_late(function: tl.Function, arguments: tuple[Any, ...], engine: str) -> tuple[float, float] | None:
    """How late a run ends, from the call and from its first step; None if it ends before its limit. A run whose limit
    is 0 seconds ends before its first step, and takes as long as the copy of the arguments."""
    times = []
    for seconds in (0, 0, SECONDS):  # the first may touch memory for the first time
        begin = time.perf_counter()
        outcome = function.run(*arguments, engine=engine, limits=tl.Limits(seconds=seconds))
        times.append(time.perf_counter() - begin - seconds)
    *beginnings, late = times
    return (late, late - min(beginnings)) if outcome.status == "Exhausted" else None


def op_function(op: Callable[[Any], Any], rank: int) -> tl.Function:
    """A function of one array of this rank that applies an op."""

    def apply_op(x: Any) -> Any:
        return op(x)

    apply_op.__annotations__ = {"x": tl.Array[(tl.float64, *[None] * rank)]}
    return tl.function(apply_op)


def measure(name: str, engine: str) -> str:
    """A cell of the table."""
    if name in OPS:
        op, shape = OPS[name]
        function, small = op_function(op, len(shape)), np.random.default_rng(0).normal(size=(4,) * len(shape))
        large: Any = np.random.default_rng(1).normal(size=shape)
    else:
        function, small, large = draw_array_recursion(int(name.split()[1])).function, 2, DEPTH
    function.run(small, engine=engine)  # compiles
    late = seconds_late(function, (large,), engine)
    return "ends before" if late is None else "{:.2f}; {:.2f}".format(*late)


def main(engines: list[str]) -> None:
    print("| op, or recursion | " + " | ".join(engines) + " |")
    print("|---|" + "---|" * len(engines))
    # each cell in a new process: an abandoned op goes on, and delays what runs beside it
    with ProcessPoolExecutor(1, mp_context=get_context("spawn"), max_tasks_per_child=1) as processes:
        for name in (*OPS, *(f"recursion {seed}" for seed in range(4))):
            cells = [processes.submit(measure, name, engine).result() for engine in engines]
            print(f"| {name} | {' | '.join(cells)} |", flush=True)


if __name__ == "__main__":
    main(sys.argv[1:] or ["reference", "fast", "compiled", "auto"])
