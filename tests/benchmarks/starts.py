"""The time of a process before its first result, and the memory of a live activation.

`python starts.py first MODULE SYSTEM`, in a process of its own, prints the seconds of importing, and of everything up
to the first result of a loop of 1,000 iterations. `python starts.py depth MODULE SYSTEM N` prints the bytes for each of
N nested calls that are live at once."""

from __future__ import annotations

import gc
import importlib
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from systems import FAMILIES
from table import markdown, number

HERE = Path(__file__).resolve().parent
DEPTH = {"reference": 20_000, "fast, lifo": 200_000, "fast, waves": 200_000, "compiled": 1_000_000}
DEPTH |= {"CPython": 200_000, "numba": 1_000_000}
SHALLOW = 1000


def first(module: str, system: str) -> None:
    """In a process of its own: import, and the first result."""
    begun = time.perf_counter()
    loaded = importlib.import_module(f"systems.{module}")
    imported = time.perf_counter() - begun
    loaded.build(system, "scalar", (1000,)).run()
    print(json.dumps([imported, time.perf_counter() - begun]))


def depth(module: str, system: str, n: int) -> None:
    """In a process of its own: how far memory rises above that of a short run."""
    loaded = importlib.import_module(f"systems.{module}")
    loaded.build(system, "halves", (SHALLOW,)).run()
    gc.collect()
    before = _memory("VmRSS")
    Path("/proc/self/clear_refs").write_text("5")  # forget the peak
    value, right = loaded.build(system, "halves", (n,)).run(), 0
    peak = _memory("VmHWM")
    for each in range(1, n + 1):
        right = each + right // 2
    assert value == right, (value, right)
    print(json.dumps((peak - before) / n))


def _memory(name: str) -> int:
    """Bytes, as Linux counts them."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(1024 * int(line.split()[1]) for line in lines if line.startswith(name))


def _output_of(*arguments: str, **environment: str) -> Any:
    """The output of a process; None if it fails."""
    command = [sys.executable, str(HERE / "starts.py"), *arguments]
    process = subprocess.run(
        command, capture_output=True, text=True, timeout=300, env={**os.environ, "PYTHONPATH": str(HERE), **environment}
    )
    return json.loads(process.stdout.splitlines()[-1]) if process.returncode == 0 and process.stdout.strip() else None


def starts(modules: Sequence[str], runs: int) -> Iterator[dict[str, Any]]:
    """For each system: seconds with nothing on disk, and with the files of the process before. With one run, one system
    represents all of a peer's module."""
    for module in modules:
        for system in FAMILIES[module] if runs > 1 or module == "tagloom" else FAMILIES[module][-1:]:
            if system == "fast, waves":  # one machine, whatever the schedule
                continue
            with tempfile.TemporaryDirectory() as folder:
                environment = {"TAGLOOM_CACHE": folder, "NUMBA_CACHE_DIR": folder}
                cold = _output_of("first", module, system, **environment)
                if cold is None:
                    continue
                warm = [_output_of("first", module, system, **environment) for _ in range(runs)]
                imported, result = (statistics.median(each) for each in zip(*warm, strict=True))
                yield {"system": system, "cold": cold[1], "import": imported, "warm": result}


def memory(modules: Sequence[str]) -> Iterator[dict[str, Any]]:
    """For each system with recursion: bytes of an activation."""
    for module in modules:
        for system in FAMILIES[module]:
            if system in DEPTH:
                taken = _output_of("depth", module, system, str(DEPTH[system]))
                yield {"system": system, "depth": DEPTH[system], "bytes": taken}


def starts_table(found: Sequence[dict[str, Any]]) -> str:
    """Seconds to a first result, as a table."""
    header = ["system", "nothing on disk, s", "second process, s", "of which import, s"]
    lines = [[row["system"], *(number(row[key]) for key in ("cold", "warm", "import"))] for row in found]
    return markdown(header, lines)


def memory_table(found: Sequence[dict[str, Any]]) -> str:
    """Bytes of an activation, as a table."""
    lines = [[row["system"], f"{row['depth']:,}", number(row["bytes"]) or "failed"] for row in found]
    return markdown(["system", "nested calls", "bytes of a live activation"], lines)


if __name__ == "__main__":
    if sys.argv[1] == "first":
        first(*sys.argv[2:4])
    else:
        depth(*sys.argv[2:4], int(sys.argv[4]))
