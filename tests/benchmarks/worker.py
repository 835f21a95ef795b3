"""A process that measures one row on the systems of one module: `python worker.py MODULE ROW`.

It is told what to do in lines of JSON, and answers so:

    {"climb": SYSTEM, "ladder": SIZES, "seconds": S, "compile": C, "shown": L}
        climbs a ladder: for each size a line {"size", "first", "seconds", "value", "firings"}, until the next would
        take longer than S seconds (L for sizes that the row shows), or longer than C to compile; then {"done": true}
    {"sample": SYSTEM, "size": SIZE, "times": K}
        runs K times, {"seconds"}: those of one

Where a system cannot do the row: {"unable": why}.
"""

from __future__ import annotations

import contextlib
import importlib
import io
import json
import os
import sys
import time
from collections.abc import Iterator
from typing import Any

import numpy as np
from rows import ROWS, Row, Size
from systems import Built, Unable


def digest(value: Any) -> Any:
    """The digest of a value: all of a scalar; of an array its shape, some elements and their sum; of several values,
    each."""
    if isinstance(value, tuple | list):
        return list(map(digest, value))
    array = np.asarray(value)
    if not array.shape:
        return array.item()
    flat = array.ravel()
    picked = flat[[0, flat.size // 3, flat.size // 2, -1]]
    return [list(array.shape), *map(float, picked), float(flat.sum(dtype=np.float64))]


def version(module: Any) -> str:
    """The version of the package that a module measures."""
    package = {"plain": "numpy", "onnx": "onnxruntime"}.get(module.__name__.rpartition(".")[2])
    name = package or module.__name__.rpartition(".")[2]
    return f"{name} {importlib.import_module(name).__version__}"


def _steady(built: Built, seconds: float) -> float:
    """Seconds of a run after the first; the least of a few, if they are short."""
    results: list[float] = []
    while len(results) < 3 and sum(results) < seconds:
        results.append(time_runs(built, 1))
    return min(results)


def time_runs(built: Built, times: int) -> float:
    """Seconds of one of this many runs in a row."""
    begun = time.perf_counter()
    for _ in range(times):
        built.run()
    return (time.perf_counter() - begun) / times


class Worker:
    """The runs of one row that have been built."""

    def __init__(self, module: Any, row: Row) -> None:
        self.module, self.row = module, row
        self.built: dict[tuple[str, Size], Built] = {}

    def climb(
        self, system: str, ladder: list[Size], seconds: float, compile: float, shown: float
    ) -> Iterator[dict[str, Any]]:
        """Runs ever larger sizes."""
        climbed: list[tuple[int, float, float]] = []
        for size in ladder:
            units = self.row.units(*size)
            if climbed and self._is_too_far(climbed, units, max(seconds, shown * (size in self.row.shown)), compile):
                continue
            begun = time.perf_counter()
            built = self.module.build(system, self.row.name, size)
            value = digest(built.run())
            first = time.perf_counter() - begun
            steady = _steady(built, seconds)
            self.built[system, size] = built
            firings = built.firings() if built.firings else None
            yield {"size": size, "first": first, "seconds": steady, "value": value, "firings": firings}
            climbed.append((units, steady, first))

    def _is_too_far(self, climbed: list[tuple[int, float, float]], units: int, limit: float, compile: float) -> bool:
        """Whether a size would take longer than permitted, if times continue to grow as before."""
        last, steady, first = climbed[-1]
        if self.row.group == "training":  # an op takes hardly longer on more examples
            return steady > limit
        if self.row.is_text and first * (units / last) ** 1.5 > compile:
            return True
        if len(climbed) == 1:  # most of it may be what each run takes
            return steady * units / last > max(limit, 1.0)
        before, less, _ = climbed[-2]
        return steady + max(0.0, steady - less) / (last - before) * (units - last) > limit

    def answer(self, asked: dict[str, Any]) -> Iterator[dict[str, Any]]:
        """Does what a line says."""
        if "sample" in asked:
            yield {"seconds": time_runs(self.built[asked["sample"], tuple(asked["size"])], asked["times"])}
            return
        try:
            ladder = [tuple(size) for size in asked["ladder"]]
            yield from self.climb(asked["climb"], ladder, asked["seconds"], asked["compile"], asked["shown"])
        except Unable as why:
            yield {"unable": str(why)}
        except Exception as error:
            yield {"unable": f"{type(error).__name__}: {str(error).splitlines()[0] if str(error) else ''}"[:100]}
        yield {"done": True}


def main(module: str, row: str) -> None:
    """Answers until the input ends. Other output goes to stderr."""
    out = os.fdopen(os.dup(1), "w", buffering=1)
    os.dup2(2, 1)

    def say(line: dict[str, Any]) -> None:
        print(json.dumps(line), file=out)

    try:
        with contextlib.redirect_stdout(io.StringIO()):
            loaded = importlib.import_module(f"systems.{module}")
        say({"version": version(loaded)})
    except Exception as error:
        say({"unable": f"{type(error).__name__}: {error}"[:100]})
        return
    worker = Worker(loaded, ROWS[row])
    for line in sys.stdin:
        for answer in worker.answer(json.loads(line)):
            say(answer)


if __name__ == "__main__":
    main(*sys.argv[1:])
