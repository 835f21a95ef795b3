"""A separate process that runs array recursions to a limit, or presses Ctrl-C, and prints how late they end, and how
much memory they take.

    python limit_child.py ENGINE SEED...

Prints a line of JSON for each run: the seed, what ended it, the seconds that it was late, and the peak of the resident
memory over the limit on bytes, without one allocation.
"""

from __future__ import annotations

import json
import os
import resource
import signal
import sys
import threading
import time
from pathlib import Path
from typing import Any

import tagloom as tl
from support.generators.array_recursions import DEPTH, draw_array_recursion
from tagloom.interp.engines.limits import resident_memory

SECONDS = 0.2
"""When a run with a limit on seconds, or with Ctrl-C, is to end."""
BYTES = 100 * 2**20
"""The memory of a run with a limit on bytes, besides what the process has."""


def reset_peak_memory() -> None:
    """Begin to measure the peak again, where the system allows it: earlier runs have no limit on bytes."""
    clear = Path("/proc/self/clear_refs")
    if clear.exists():
        clear.write_text("5")  # see proc_pid_clear_refs(5)


def peak_memory() -> int:
    """The peak of the resident memory of this process since it was reset, in bytes."""
    status = Path("/proc/self/status")
    if status.exists():  # `ru_maxrss` begins with the peak of the parent
        return next(int(line.split()[1]) for line in status.read_text().splitlines() if line.startswith("VmHWM")) * 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)


def run_to_limit(engine: str, seed: int, kind: str) -> dict[str, Any]:
    """Run a recursion until it ends by this limit."""
    recursion = draw_array_recursion(seed)
    recursion.function.run(2, engine=engine)  # compiles
    limit = resident_memory() + BYTES
    limits = {"seconds": tl.Limits(seconds=SECONDS), "bytes": tl.Limits(bytes=limit)}.get(kind)
    if kind == "interrupt":
        threading.Timer(SECONDS, lambda: os.kill(os.getpid(), signal.SIGINT)).start()
    reset_peak_memory()
    begin = time.perf_counter()
    outcome = recursion.function.run(DEPTH, engine=engine, limits=limits)
    late = 0.0 if kind == "bytes" else time.perf_counter() - begin - SECONDS
    ratio = (peak_memory() - recursion.array_bytes) / limit if kind == "bytes" else 0.0
    ended_by = getattr(outcome.error, "limit", None)
    return {"seed": seed, "kind": kind, "ended_by": ended_by, "late": round(late, 3), "bytes": round(ratio, 3)}


if __name__ == "__main__":
    signal.signal(signal.SIGINT, signal.default_int_handler)  # not ignored, as in the background of a shell
    for number in sys.argv[2:]:
        for kind in ("seconds", "interrupt", "bytes"):
            print(json.dumps(run_to_limit(sys.argv[1], int(number), kind)), flush=True)
