"""Prints how late runs end after their limit on seconds: by engine and op, for ops on operands for which NumPy takes
seconds, and for recursions that hold arrays (`tests/support/programs/limit_child.py` measures Ctrl-C and bytes, too).

    PYTHONPATH=tests python tests/lateness.py [ENGINE...]
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
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


def seconds_late(function: tl.Function, arguments: tuple[Any, ...], engine: str) -> float | None:
    """How late a run ends; None if it ends before its limit."""
    begin = time.perf_counter()
    outcome = function.run(*arguments, engine=engine, limits=tl.Limits(seconds=SECONDS))
    late = time.perf_counter() - begin - SECONDS
    return late if outcome.status == "Exhausted" else None


def op_function(op: Callable[[Any], Any], rank: int) -> tl.Function:
    """A function of one array of this rank that applies an op."""

    def apply_op(x: Any) -> Any:
        return op(x)

    apply_op.__annotations__ = {"x": tl.Array[(tl.float64, *[None] * rank)]}
    return tl.function(apply_op)


def main(engines: list[str]) -> None:
    print("| op, or recursion | " + " | ".join(engines) + " |")
    print("|---|" + "---|" * len(engines))
    rows: dict[str, tuple[tl.Function, tuple[Any, ...], tuple[Any, ...]]] = {}
    for name, (op, shape) in OPS.items():
        small = np.random.default_rng(0).normal(size=(4,) * len(shape))
        rows[name] = (op_function(op, len(shape)), (small,), (shape,))
    for seed in range(4):
        rows[f"recursion {seed}"] = (draw_array_recursion(seed).function, (2,), (DEPTH,))
    for name, (function, small_arguments, (large,)) in rows.items():
        cells = []
        for engine in engines:
            function.run(*small_arguments, engine=engine)  # compiles
            argument = np.random.default_rng(1).normal(size=large) if isinstance(large, tuple) else large
            late = seconds_late(function, (argument,), engine)
            cells.append("ends before" if late is None else f"{late:.2f}")
        print(f"| {name} | {' | '.join(cells)} |", flush=True)


if __name__ == "__main__":
    main(sys.argv[1:] or ["reference", "fast", "compiled", "auto"])
