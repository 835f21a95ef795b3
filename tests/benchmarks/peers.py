"""tagloom's engines compared with their alternatives: `python tests/benchmarks/peers.py [--quick] [--only NAME...]`.

One run measures everything that is compared. Each row runs in processes of its own and is printed when it is done;
peers that are not installed are named and left out. `--json FILE` writes all samples."""

from __future__ import annotations

import argparse
import json
import os
import sys
import textwrap
import time
from dataclasses import asdict
from pathlib import Path
from typing import Any

import starts
from conduct import FULL, QUICK, RowResult, measure, plain
from promises import PROMISES, asides, report_promises, summary_line
from rows import ROWS
from surroundings import installed, machine
from systems import FAMILIES
from table import tables

EXTRAS = ("starts", "memory")
"""What is measured besides rows."""


def parsed() -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="smaller sizes, fewer samples")
    parser.add_argument("--only", nargs="+", choices=[*ROWS, *EXTRAS], metavar="NAME", help=" ".join([*ROWS, *EXTRAS]))
    parser.add_argument("--systems", nargs="+", choices=list(FAMILIES), help="these only")
    parser.add_argument("--json", type=Path, metavar="FILE", help="all samples")
    parser.add_argument("--cores", type=int, help="run on so many processors, 1 say; otherwise all")
    return parser.parse_args()


def main() -> int:
    """Measures and prints; returns 1 if a system computes a wrong value."""
    asked, begun = parsed(), time.monotonic()
    if asked.cores:
        os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[: asked.cores])
    modules, missing = installed(asked.systems)
    effort = QUICK if asked.quick else FULL
    rows = [name for name, row in ROWS.items() if row.group != "training" and (row.is_quick or not asked.quick)]
    names = asked.only or [*EXTRAS, *rows]
    about = machine()
    results: dict[str, dict[str, RowResult]] = {}
    versions: dict[str, str] = {}
    first: list[dict[str, Any]] = []
    nested: list[dict[str, Any]] = []
    if "starts" in names:
        _progress("starts", begun)
        first = list(starts.starts(modules, 1 if asked.quick else 2))
    if "memory" in names:
        _progress("memory", begun)
        nested = list(starts.memory(modules))
    for name in names:
        if name in ROWS:
            _progress(name, begun)
            results[name], text = measure(ROWS[name], modules, effort)
            versions |= text
    about |= {"seconds": round(time.monotonic() - begun), "quick": asked.quick, "missing": missing}
    _print(about, versions, first, nested, results)
    if asked.json:
        promises = [dict(zip(("promise", "measured", "is"), each.line(results), strict=True)) for each in PROMISES]
        document = {"machine": about, "versions": versions, "effort": asdict(effort), "promises": promises}
        document |= {"rows": {name: plain(each) for name, each in results.items()}, "starts": first, "memory": nested}
        asked.json.write_text(json.dumps(document, indent=1) + "\n")
    return int(any(each.unable.startswith("WRONG") for row in results.values() for each in row.values()))


def _progress(name: str, begun: float) -> None:
    print(f"[{time.monotonic() - begun:.0f} s] {name}", file=sys.stderr, flush=True)


def _print(about: dict[str, Any], versions: dict[str, str], first: Any, nested: Any, found: Any) -> None:
    texts = [
        about["date"],
        about["processor"],
        f"{about['processors']} processors",
        f"load {about['load']:.1f} at first",
    ]
    texts += [f"Python {about['python']}", *versions.values(), f"{about['seconds']} s" + " --quick" * about["quick"]]
    parts = [textwrap.fill(", ".join(texts), 120)]
    if about["missing"]:
        parts.append(f"Not installed: {', '.join(about['missing'])}.")
    parts += tables(found)
    if first:
        parts += ["## To the first result", "A loop of 1,000 iterations, imports included.", starts.starts_table(first)]
    if nested:
        parts += ["## Memory", starts.memory_table(nested)]
    if found:
        parts += ["## Promises", report_promises(found), asides(found), f"Promises: {summary_line(found)}."]
    print("\n\n".join(parts))


if __name__ == "__main__":
    sys.exit(main())
