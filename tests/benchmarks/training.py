"""Training steps beside those of others: `python tests/benchmarks/training.py [--only NAME...] [--json FILE]`.

A step is the loss, its gradients and the new parameters. Systems take turns, each in a process of its own; medians.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from pathlib import Path
from typing import Any

from conduct import FULL, Found, measure, plain
from peers import installed, machine
from rows import ROWS
from systems import TRAINED
from table import markdown, number, size_said, tables

NAMES = [name for name, row in ROWS.items() if row.group == "training"]
OURS = "compiled"


def ratios(found: dict[str, dict[str, Found]]) -> str:
    """How many times as long the best of the others takes, and who that is."""
    lines = []
    for name, systems in found.items():
        for size in ROWS[name].ladder:
            medians = {system: rung.median for system, each in systems.items() if (rung := each.at(size))}
            ours = medians.pop(OURS, None)
            if ours and medians:
                best = min(medians, key=lambda system: medians[system])
                lines.append([name, size_said(size), number(1e3 * ours), best, f"{medians[best] / ours:.2f}"])
    return markdown(["row", "batch", "compiled, ms", "best of the others", "takes times as long"], lines)


def main() -> int:
    """Measure and print; 1 where a system computes what it should not."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", nargs="+", choices=NAMES, default=NAMES, metavar="NAME", help=" ".join(NAMES))
    parser.add_argument("--json", type=Path, metavar="FILE", help="all samples")
    asked, about, begun = parser.parse_args(), machine(), time.monotonic()
    modules, missing = installed(list(TRAINED))
    found: dict[str, dict[str, Found]] = {}
    versions: dict[str, Any] = {}
    for name in asked.only:
        print(f"[{time.monotonic() - begun:.0f} s] {name}", file=sys.stderr, flush=True)
        found[name], said = measure(ROWS[name], modules, FULL)
        versions |= said
    where = f"{about['processor']}, {about['processors']} processors, load {about['load']:.1f} at first"
    parts = [f"{about['date']}, {where}", ", ".join(versions.values())]
    parts += [f"Not installed: {', '.join(missing)}."] * bool(missing)
    print("\n\n".join([*parts, *tables(found), ratios(found)]))
    if asked.json:
        rows = {name: plain(each) for name, each in found.items()}
        asked.json.write_text(json.dumps({"machine": about, "versions": versions, "rows": rows}, indent=1) + "\n")
    return int(any(each.unable.startswith("WRONG") for row in found.values() for each in row.values()))


if __name__ == "__main__":
    sys.exit(main())
