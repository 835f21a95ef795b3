"""The machine of live pages under Node, started once for a batch of runs.

Tests that need it skip where Node is not installed, or fail if TAGLOOM_REQUIRE_NODE is set.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import pytest
import tagloom as tl
from tagloom.core.graph.graph import Graph
from tagloom.core.json.value import value_to_json
from tagloom.core.ops.op import OPS
from tagloom.core.value import admit
from tagloom.core.world import World
from tagloom.interp.engines.limits import Limits
from tagloom.interp.engines.reference import run_graph
from tagloom.interp.outcome.outcome import Outcome
from tagloom.interp.records.documents import outcome_differences, to_outcome_record

SOURCES = Path(__file__).parents[3] / "viz/player"
MODULES = ("scalars.js", "keys.js", "machine.js")
COMMAND = Path(__file__).with_name("live_machine.js")
_INEXACT_OPS = """cbrt exp log sin cos tanh tan asin acos atan sinh cosh asinh acosh atanh expm1 log1p log2 log10 pow
    atan2 logaddexp erf erfc ndtri lgamma digamma polygamma normal"""
INEXACT = frozenset(_INEXACT_OPS.split())
READS_NAN_BITS = frozenset({"signbit", "copysign", "bitcast"})
"""The ops whose result depends on the bits of a NaN, which the processor chooses."""
"""The ops whose last bits differ between libraries; integers to a power are exact."""


class Run(NamedTuple):
    """A run, for both machines."""

    graph: Graph
    arguments: Sequence[Any]
    schedule: str = "waves"
    limits: Limits = Limits()
    seed: int = 0
    bound: int | None = None
    log: Path | None = None
    sources: Path = SOURCES
    """The folder of the JavaScript machine's modules."""


def node_binary() -> str:
    """The path of Node; skips or fails the test if there is none."""
    binary = shutil.which("node")
    if binary is None:
        if os.environ.get("TAGLOOM_REQUIRE_NODE"):
            pytest.fail("Node is required here, and is not there: apt-get install nodejs")
        pytest.skip("Node is not there")
    return binary


def run_batch(runs: Sequence[Run]) -> list[dict[str, Any]]:
    """The outcomes of runs as JSON data, with the printed lines; or {"unsupported": why}, or {"failed": error}."""
    tasks = "".join(f"{json.dumps(task(run))}\n" for run in runs)
    ran = subprocess.run([node_binary(), str(COMMAND)], input=tasks, capture_output=True, text=True, check=True)
    return [json.loads(line) for line in ran.stdout.splitlines()]


def task(run: Run) -> dict[str, Any]:
    types = [output.type for _, output in run.graph.arguments[run.graph.hidden_count :]]
    values = [value_to_json(admit(value, type_)) for value, type_ in zip(run.arguments, types, strict=True)]
    limits = {name: getattr(run.limits, name) for name in ("firings", "depth", "tokens")}
    log = None if run.log is None else str(run.log)
    return {
        "graph": tl.to_json(run.graph), "arguments": values, "schedule": run.schedule, "limits": limits,
        "seed": str(run.seed), "bound": run.bound, "log": log, "sources": str(run.sources),
    }  # fmt: skip


def run_reference(run: Run, lines: list[str] | None = None) -> Outcome:
    """The same run on the reference; `lines` gets what it prints."""
    printed = [] if lines is None else lines
    options: dict[str, Any] = {"schedule": run.schedule, "limits": run.limits, "seed": run.seed, "k": run.bound}
    return run_graph(run.graph, run.arguments, unchecked=True, world=World(printed.append), **options)


def differences(run: Run, form: dict[str, Any]) -> list[Any]:
    """Where the outcome of the JavaScript machine differs from that of the reference, in any field."""
    printed: list[str] = []
    expected = to_outcome_record(run_reference(run, printed))
    outcome = tl.from_json(json.dumps({key: part for key, part in form.items() if key != "printed"}))
    assert isinstance(outcome, tl.OutcomeRecord) and outcome.firings is not None and outcome.stats is not None
    lines = [] if printed == form["printed"] else [("printed", printed, form["printed"])]
    return [*outcome_differences(expected, outcome), *lines]


def is_exact(graph: Graph) -> bool:
    """Whether all results of a graph's ops are determined to the last bit."""
    return not any(
        node.op in INEXACT and (node.op not in OPS or node.outputs[0].type.dtype.kind == "f") for node in graph.nodes
    )
