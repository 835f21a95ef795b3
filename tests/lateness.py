"""Prints how late runs end after their limit on seconds, from the call and from the first step: by engine and op, for
every op of the registry on large operands, and for recursions that hold arrays
(`tests/support/programs/limit_child.py` measures Ctrl-C and bytes, too).

    PYTHONPATH=tests python tests/lateness.py [-e ENGINE]... [OP...]

Without `-e`, it runs the engines of the law in `tests/interp/engines/test_lateness.py`. A row is printed as soon as it
is measured; the table at the end has the latest run of each engine, and all that miss the goal.
"""

from __future__ import annotations

import itertools
import math
import sys
import threading
import time
from collections import deque
from collections.abc import Iterator, Sequence
from functools import cache
from multiprocessing import get_context
from multiprocessing.connection import Connection
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
from tagloom.interp.engines import long_ops

ENGINES = ("reference", "fast", "compiled", "auto", "distributed")
SPAWN = get_context("spawn")
LATE_SECONDS = 0.2
"""The goal: how late a run may end, counted from its first step."""
CELL_SECONDS = 60
"""The longest time for one op or recursion on one engine, with the start of a process and three runs."""
ABANDONED_SECONDS = 5
"""How long to wait for the end of an abandoned op, rather than to start another process."""
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


@cache
def large_operands(op: str) -> tuple[Value, ...]:
    """The operands of the case that is measured."""
    return tuple(large_case(op).operands())


class Late(NamedTuple):
    """The seconds from a limit to the end of a run, counted from the call and from the first step."""

    from_call: float
    from_step: float


Lateness: TypeAlias = Late | None
"""How late a run ends; None if it ends before its limit."""


def seconds_late(function: tl.Function, arguments: tuple[Any, ...], engine: str, seconds: float) -> Lateness:
    """How late a run ends. A run whose limit is 0 seconds ends before its first step, and takes as long as the copy of
    the arguments."""
    times = []
    for limit in (0, 0, seconds):  # the first may touch memory for the first time
        begin = time.perf_counter()
        outcome = function.run(*arguments, engine=engine, limits=tl.Limits(seconds=limit))
        times.append(time.perf_counter() - begin - limit)
    *beginnings, late = times
    return Late(late, late - min(beginnings)) if outcome.status == "Exhausted" else None


def measure(name: str, engine: str) -> Lateness:
    """How late a run of an op, or of a recursion, ends."""
    if name in RECURSIONS:
        function = draw_array_recursion(int(name.split()[1])).function
        function.run(2, engine=engine)  # compiles
        return seconds_late(function, (DEPTH,), engine, RECURSION_SECONDS)
    return seconds_late(large_case(name).function(), large_operands(name), engine, SECONDS)


def measure_each(name: str, engines: Sequence[str], results: Connection) -> None:
    """Send how late a run ends on each engine. An abandoned op delays what runs beside it: wait for its end, or return
    where that takes long."""
    for engine in engines:
        results.send(measure(name, engine))
        for thread in threading.enumerate():
            if thread.name == long_ops.THREAD_NAME:
                thread.join(ABANDONED_SECONDS)
                if thread.is_alive():
                    return


def measure_apart(name: str, engines: Sequence[str]) -> Iterator[Lateness | str]:
    """How late a run ends on each engine, measured in other processes; or why that is not known."""
    remaining = deque(engines)
    while remaining:
        receiver, sender = SPAWN.Pipe(duplex=False)
        process = SPAWN.Process(target=measure_each, args=(name, tuple(remaining), sender))
        process.start()
        sender.close()
        measured = 0
        try:
            while remaining and receiver.poll(CELL_SECONDS):
                late = receiver.recv()
                measured += 1
                remaining.popleft()
                yield late
            if remaining:
                remaining.popleft()
                yield f"over {CELL_SECONDS} s"
        except EOFError:
            if not measured:
                remaining.popleft()
                yield "failed"
        finally:
            process.kill()
            process.join()
            receiver.close()


def is_late(late: Lateness | str) -> bool:
    """Whether a run misses the goal."""
    return isinstance(late, str) or (late is not None and late.from_step > LATE_SECONDS)


def measure_again(name: str, engines: Sequence[str]) -> dict[str, Lateness | str]:
    """How late a run ends on each engine, the least of three counts where one misses the goal: other processes delay
    what they share a core with."""
    lates = dict(zip(engines, measure_apart(name, engines), strict=True))
    for _ in range(2):
        missing = [engine for engine, late in lates.items() if is_late(late)]
        for engine, late in zip(missing, measure_apart(name, missing), strict=True):
            lates[engine] = min(lates[engine], late, key=_seconds)
    return lates


def _seconds(late: Lateness | str) -> float:
    """The lateness for comparisons; without a count, an infinite one."""
    return math.inf if isinstance(late, str) else -math.inf if late is None else late.from_step


def summary(table: dict[str, dict[str, Lateness | str]]) -> Iterator[str]:
    """A row for each engine: the latest run of all ops and recursions, and those that miss the goal."""
    yield "| engine | measured | ended before the limit | latest, from the first step | from the call | above 0.2 s |"
    yield "|---|---|---|---|---|---|"
    for engine in {engine: None for lates in table.values() for engine in lates}:
        lates = {name: row[engine] for name, row in table.items()}
        counts = {name: late for name, late in lates.items() if isinstance(late, Late)}
        step = max(counts, key=lambda name: counts[name].from_step, default=None)
        call = max(counts, key=lambda name: counts[name].from_call, default=None)
        yield "| {} |".format(
            " | ".join(
                (
                    f"`{engine}`",
                    str(len(lates)),
                    str(sum(late is None for late in lates.values())),
                    f"{counts[step].from_step:.2f}, `{step}`" if step else "",
                    f"{counts[call].from_call:.2f}, `{call}`" if call else "",
                    ", ".join(f"`{name}` {_cell(late, 1)}" for name, late in lates.items() if is_late(late)) or "none",
                )
            )
        )


def _cell(late: Lateness | str, first: int = 0) -> str:
    """The seconds of a cell, or of its second number alone."""
    return late if isinstance(late, str) else "; ".join(f"{each:.2f}" for each in late[first:]) if late else "before"


def main(words: list[str]) -> None:
    engines = [after for before, after in itertools.pairwise(words) if before == "-e"] or list(ENGINES)
    names = [word for word in words if word != "-e" and word not in engines]
    print("| op, or recursion | " + " | ".join(f"`{engine}`" for engine in engines) + " |")
    print("|---|" + "---|" * len(engines))
    table = {}
    for name in names or [*(row.name for row in array_rows()), *RECURSIONS]:
        lates = table[name] = measure_again(name, engines)
        print(f"| `{name}` | {' | '.join(map(_cell, lates.values()))} |", flush=True)
    print("", *summary(table), sep="\n")


if __name__ == "__main__":
    main(sys.argv[1:])
