"""Training steps compared with other systems: `python tests/benchmarks/training.py [--only NAME...] [--json FILE]`.

A step is the loss, its gradients and the new parameters. Systems take turns, with a process for each module; figures
are medians. tagloom runs each step op by op, and as one graph on each engine; the gain of staging has a table of its
own. The promises come last, each met, missed or not measured."""

from __future__ import annotations

import argparse
import json
import sys
import time
from pathlib import Path
from typing import Any

from conduct import FULL, RowResult, measure, plain
from promises import TRAINING, report_promises, summary_line
from rows import ROWS, Size
from surroundings import installed, machine
from systems import TRAINED
from table import format_size, markdown, number, tables

NAMES = [name for name, row in ROWS.items() if row.group == "training"]
OURS = "compiled"
STAGED = {"reference": "eager", "fast": "eager", "compiled": "eager", "tf.function": "TF eager"}
"""What runs a step as a graph, and what runs it op by op."""


def _medians(systems: dict[str, RowResult], size: Size) -> dict[str, float]:
    return {system: rung.median for system, each in systems.items() if (rung := each.at(size))}


def gains(found: dict[str, dict[str, RowResult]]) -> str:
    """How many times as long a step takes op by op as in a graph."""
    lines = []
    for name, systems in found.items():
        for size in ROWS[name].ladder:
            medians = _medians(systems, size)
            pairs = [(medians.get(eager), medians.get(staged)) for staged, eager in STAGED.items()]
            cells = [number(one / other if one and other else None) for one, other in pairs]
            eager = medians.get("eager")
            lines.append([name, format_size(size), number(eager and 1e3 * eager), *cells])
    return markdown(["row", "batch", "eager, ms", *STAGED], lines)


def ratios(found: dict[str, dict[str, RowResult]]) -> str:
    """How many times as long the best of the others takes, and its name."""
    lines = []
    for name, systems in found.items():
        for size in ROWS[name].ladder:
            medians = _medians(systems, size)
            ours = medians.get(OURS)
            medians = {system: median for system, median in medians.items() if system not in TRAINED["tagloom"]}
            if ours and medians:
                best = min(medians, key=lambda system: medians[system])
                lines.append([name, format_size(size), number(1e3 * ours), best, f"{medians[best] / ours:.2f}"])
    return markdown(["row", "batch", "compiled, ms", "best of the others", "takes times as long"], lines)


def main() -> int:
    """Measures and prints; returns 1 if a system computes a wrong value."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", nargs="+", choices=NAMES, default=NAMES, metavar="NAME", help=" ".join(NAMES))
    parser.add_argument("--json", type=Path, metavar="FILE", help="all samples")
    asked, about, begun = parser.parse_args(), machine(), time.monotonic()
    modules, missing = installed(list(TRAINED))
    results: dict[str, dict[str, RowResult]] = {}
    versions: dict[str, Any] = {}
    for name in asked.only:
        print(f"[{time.monotonic() - begun:.0f} s] {name}", file=sys.stderr, flush=True)
        results[name], text = measure(ROWS[name], modules, FULL)
        versions |= text
    where = f"{about['processor']}, {about['processors']} processors, load {about['load']:.1f} at first"
    parts = [f"{about['date']}, {where}", ", ".join(versions.values())]
    parts += [f"Not installed: {', '.join(missing)}."] * bool(missing)
    parts += [*tables(results), "### What staging gains", gains(results), "### The best of the others", ratios(results)]
    parts += ["### Promises", report_promises(results, TRAINING), f"Promises: {summary_line(results, TRAINING)}."]
    print("\n\n".join(parts))
    if asked.json:
        rows = {name: plain(each) for name, each in results.items()}
        asked.json.write_text(json.dumps({"machine": about, "versions": versions, "rows": rows}, indent=1) + "\n")
    return int(any(each.unable.startswith("WRONG") for row in results.values() for each in row.values()))


if __name__ == "__main__":
    sys.exit(main())
