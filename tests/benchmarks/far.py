"""The time of going far: `python tests/benchmarks/far.py` measures from `goto` to the session's reply, without a
screen.

Each row is a process of its own, so that its memory at the end is that of one position, and of the events known
before."""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path

from tagloom.interp.engines.fast.load import load_machine
from tagloom.interp.engines.limits import resident_memory
from tagloom.tui.run_start import RunRequest, StartOptions
from tagloom.tui.session.commands import new_session
from tagloom.tui.session.session import Session

ROOT = Path(__file__).resolve().parents[2]
FIB = "papers_examples/recursion/fib.py"
ROWS = (
    (FIB, "28", "lifo", 5_900_000),
    (FIB, "28", "fifo", 5_900_000),
    (FIB, "28", "waves", 5_900_000),
    (FIB, "33", "lifo", 100_000_000),
)
"""A program, its argument, the schedule, and the event to go to."""
BREAKS = (
    "op == 'add' and fired and value == 514229",
    "value == 514229",
    "op == 'add' and fired and value * 2 == 1028458",
    "op == 'add' and fired ignore 514227",
    "depth == 27",
)
"""Breakpoints in fib(28), of 11,827,253 events, that are hit late in it, or at all."""
STEPS = 20


def milliseconds_of(session: Session, line: str) -> float:
    """Milliseconds of processor time of a command, which is the wait on an idle machine."""
    begun = time.process_time()
    reply = session.execute(line)
    assert reply.ok, reply.text
    return (time.process_time() - begun) * 1e3


def measure_row(target: str, argument: str, schedule: str, place: int) -> str:
    """A row of the first table."""
    session = new_session(StartOptions(schedule=schedule))
    session.load_run(RunRequest(str(ROOT / target), (argument,), session.options))
    load_machine()  # which may have to be compiled
    before = resident_memory()
    there = milliseconds_of(session, f"goto {place}")
    memory = (resident_memory() - before) / 1e6
    steps = max(milliseconds_of(session, "step") for _ in range(STEPS))
    back = max(milliseconds_of(session, "back") for _ in range(STEPS))
    opened = len(session.history.state.records)
    session.execute(f"goto {session.history.base + 100}")
    further = milliseconds_of(session, "event-back")
    name = f"{Path(target).stem}({argument})"
    return (
        f"| {name}, `{schedule}` | {place:,} | {opened:,} | {there / 1e3:.1f} s | {steps:.1f} ms | {back:.1f} ms |"
        f" {further / 1e3:.1f} s | {memory:,.0f} MB |"
    )


def measure_breakpoint(condition: str) -> str:
    """A row of the second table: from the beginning to the first hit."""
    session = new_session(StartOptions(schedule="lifo"))
    session.load_run(RunRequest(str(ROOT / FIB), ("28",), session.options))
    load_machine()
    session.execute(f"break {condition}")
    there = milliseconds_of(session, "continue")
    return f"| `{condition}` | {session.history.position:,} | {there / 1e3:.1f} s |"


def main() -> None:
    print("| run | event | open activations | `goto` | worst `step` | worst `back` | back before the base | memory |")
    print("|---|---|---|---|---|---|---|---|")
    for row in ROWS:
        command = [sys.executable, __file__, *map(str, row)]
        print(subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip(), flush=True)
    print("\n| breakpoint | is hit at | `continue` |\n|---|---|---|")
    for condition in BREAKS:
        command = [sys.executable, __file__, condition]
        print(subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip(), flush=True)


if __name__ == "__main__":
    if len(sys.argv) == 2:
        print(measure_breakpoint(sys.argv[1]))
    elif sys.argv[1:]:
        target, argument, schedule, place = sys.argv[1:]
        print(measure_row(target, argument, schedule, int(place)))
    else:
        main()
