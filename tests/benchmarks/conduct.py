"""Conducts measurements: a process for each row and module of systems; those of a row live at once, and one of them
works.

The systems of a row take turns, sample by sample, so that a slowdown of the machine affects all. Values are compared
before the timing, and a system with another value is not timed."""

from __future__ import annotations

import json
import os
import selectors
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from rows import Row, Size
from systems import FAMILIES, RECURSIVE, TRAINED

HERE = Path(__file__).resolve().parent


@dataclass(frozen=True, slots=True)
class Effort:
    """The time for a row: seconds of a run, of a run of a size that the row shows, of compiling, of a sample at least,
    and of all samples of one figure; the number of samples; the largest number of elements of arrays; and the seconds
    of rest between two samples. The threads of OpenBLAS spin for 0.11 s after a product, on cores that the next system
    needs."""

    run: float
    shown: float
    compile: float
    sample: float
    figure: float
    samples: int
    elements: int
    rest: float


FULL = Effort(run=0.25, shown=6.0, compile=20.0, sample=0.02, figure=1.5, samples=7, elements=10**7, rest=0.15)
QUICK = Effort(run=0.06, shown=0.8, compile=5.0, sample=0.01, figure=0.3, samples=3, elements=10**6, rest=0.0)


@dataclass(slots=True)
class Rung:
    """The times of one system for one size. `seconds` are the samples; before there are any, the runs of the climb."""

    size: Size
    units: int
    first: float
    seconds: list[float]
    value: Any
    firings: tuple[float, float] | None = None

    @property
    def median(self) -> float:
        return statistics.median(self.seconds)

    def each(self, seconds: float | None = None) -> float:
        """Nanoseconds per unit."""
        return 1e9 * (self.median if seconds is None else seconds) / self.units

    def firing(self, which: int = 0) -> float | None:
        """Nanoseconds per firing: of live ones, or (1) of all that are processed."""
        return 1e9 * self.median / self.firings[which] if self.firings else None


@dataclass(slots=True)
class RowResult:
    """The results of one system for one row; `unable` is the reason why it has none, or stopped."""

    rungs: list[Rung] = field(default_factory=list)
    unable: str = ""

    @property
    def top(self) -> Rung | None:
        """The largest size that was reached, among those that are compared between systems."""
        return self.rungs[-1] if self.rungs else None

    def at(self, size: Size) -> Rung | None:
        return next((rung for rung in self.rungs if rung.size == size), None)

    @property
    def compile(self) -> float | None:
        """Seconds by which a first run is longer than a later one."""
        return max((rung.first - min(rung.seconds) for rung in self.rungs), default=None)


class NoAnswer(Exception):
    """A process did not answer in time, or died."""


class Process:
    """A worker process, and the lines sent and received."""

    def __init__(self, module: str, row: str) -> None:
        self.errors = tempfile.TemporaryFile()  # noqa: SIM115
        command = [sys.executable, str(HERE / "worker.py"), module, row]
        environment = {**os.environ, "TAGLOOM_PROGRESS": "off", "PYTHONPATH": str(HERE)}
        self.process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self.errors, env=environment
        )
        self.unread = b""
        self.is_alive = True
        """Whether it has answered so far."""

    def ask(self, **question: Any) -> None:
        assert self.process.stdin is not None
        try:
            self.process.stdin.write(json.dumps(question).encode() + b"\n")
            self.process.stdin.flush()
        except OSError as error:
            raise NoAnswer("the process died") from error

    def read(self, seconds: float) -> dict[str, Any]:
        """The next line. Raises NoAnswer if there is none in time."""
        end = time.monotonic() + seconds
        assert self.process.stdout is not None
        with selectors.DefaultSelector() as selector:
            selector.register(self.process.stdout, selectors.EVENT_READ)
            while b"\n" not in self.unread:
                if not selector.select(max(0.0, end - time.monotonic())):
                    self.is_alive = False
                    raise NoAnswer(f"no answer in {seconds:.0f} s")
                some = os.read(self.process.stdout.fileno(), 2**16)
                if not some:
                    self.is_alive = False
                    raise NoAnswer(f"died: {self._last_words()}")
                self.unread += some
        line, _, self.unread = self.unread.partition(b"\n")
        answer: dict[str, Any] = json.loads(line)
        return answer

    def _last_words(self) -> str:
        self.errors.seek(0)
        lines = self.errors.read().decode(errors="replace").strip().splitlines()
        return f"{lines[-1] if lines else 'nothing said'}, {self.process.wait()}"[:80]

    def close(self) -> None:
        self.process.kill()
        self.process.communicate()
        self.errors.close()


def measure(row: Row, modules: Sequence[str], effort: Effort) -> tuple[dict[str, RowResult], dict[str, str]]:
    """All systems of these modules on one row, and the versions of those that are installed."""
    those = {"recursion": RECURSIVE, "training": TRAINED}.get(row.group, modules)
    systems = TRAINED if row.group == "training" else FAMILIES
    able = [module for module in modules if module in those]
    processes = {module: Process(module, row.name) for module in able}
    results, versions, owners = dict[str, RowResult](), dict[str, str](), dict[str, Process]()
    try:
        for module, process in processes.items():
            reply = _first(process)
            if "version" in reply:
                versions[module] = reply["version"]
            for system in systems[module]:
                results[system], owners[system] = RowResult(unable=reply.get("unable", "")), process
        for system, process in owners.items():
            if not results[system].unable and process.is_alive:
                _climb(process, system, row, results[system], effort)
        _compare(results)
        _sample(results, owners, row, effort)
    finally:
        for process in processes.values():
            process.close()
    return results, versions


def _first(process: Process) -> dict[str, Any]:
    try:
        return process.read(120)
    except NoAnswer as why:
        return {"unable": str(why)}


def _climb(process: Process, system: str, row: Row, found: RowResult, effort: Effort) -> None:
    try:
        ladder = [size for size in row.ladder if row.group != "arrays" or size[0] <= effort.elements]
        process.ask(climb=system, ladder=ladder, seconds=effort.run, compile=effort.compile, shown=effort.shown)
        while True:
            # A first answer may have to wait for a compiler with an empty cache.
            patience = 20 + 5 * effort.shown + 2 * effort.compile
            more = 300 if row.group == "training" else 0 if found.rungs else 100
            reply = process.read(patience + more)
            if "done" in reply:
                return
            if "unable" in reply:
                found.unable = reply["unable"]
                continue
            size, firings = tuple(reply["size"]), reply["firings"] and tuple(reply["firings"])
            rung = Rung(size, row.units(*size), reply["first"], [reply["seconds"]], reply["value"], firings)
            found.rungs.append(rung)
    except NoAnswer as why:
        found.unable = str(why)


def _compare(found: dict[str, RowResult]) -> None:
    """Removes results that differ from the first system with a value of this size, which is CPython if it got there."""
    judges = sorted(found, key=lambda system: system != "CPython")
    for system, mine in found.items():
        for rung in mine.rungs:
            judge = next(other for name in judges if (other := found[name].at(rung.size)) is not None)
            if not same(judge.value, rung.value):
                mine.unable = f"WRONG at {rung.size}: {str(rung.value)[:40]}, not {str(judge.value)[:40]}"
                break
        if mine.unable.startswith("WRONG"):
            print(f"{system}: {mine.unable}", file=sys.stderr)
    for mine in found.values():
        if mine.unable.startswith("WRONG"):
            mine.rungs.clear()


def same(left: Any, right: Any) -> bool:
    """Whether two digests are those of one value: integers exactly, and others up to rounding."""
    if isinstance(left, int) and isinstance(right, int):
        return left == right
    flat_left, flat_right = list(_flat(left)), list(_flat(right))
    return len(flat_left) == len(flat_right) and bool(np.allclose(flat_left, flat_right, rtol=1e-3, atol=1e-4))


def _flat(value: Any) -> Iterator[float]:
    if isinstance(value, list):
        for each in value:
            yield from _flat(each)
    else:
        yield float(value)


def _sample(found: dict[str, RowResult], owners: dict[str, Process], row: Row, effort: Effort) -> None:
    """The systems take turns, with a rest after each for threads that still run."""
    due: list[tuple[str, Rung, int, int]] = []
    for system, mine in found.items():
        for rung in mine.rungs:
            if rung is not mine.top and rung.size not in row.shown:
                continue
            times = max(1, round(effort.sample / max(rung.median, 1e-9)))
            each = times * rung.median
            due.append((system, rung, times, max(1, min(effort.samples, int(effort.figure / each)))))
    taken: dict[int, list[float]] = {}
    for turn in range(effort.samples):
        for system, rung, times, samples in due:
            if turn < samples and owners[system].is_alive:
                time.sleep(effort.rest)
                try:
                    owners[system].ask(sample=system, size=rung.size, times=times)
                    seconds = owners[system].read(60 + 100 * times * rung.median)["seconds"]
                    taken.setdefault(id(rung), []).append(seconds)
                except NoAnswer as why:
                    found[system].unable = str(why)
    for _, rung, _, _ in due:
        rung.seconds = taken.get(id(rung), rung.seconds)


def plain(found: dict[str, RowResult]) -> dict[str, Any]:
    """The results as JSON data."""
    return {system: asdict(mine) for system, mine in found.items()}
