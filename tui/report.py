"""What a run took, as text for people and as a document for programs."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ..core.value import Value
from ..interp.outcome import Outcome
from ..viz.profile import draw_profile


def stats_report(outcome: Outcome, *, unicode: bool) -> str:
    """Firings, critical path, parallelism, store, tags, and the profile of parallelism drawn."""
    stats = outcome.stats
    measured = stats.critical_path is not None
    rows = [
        ("ending", outcome.status),
        ("firings (S1)", f"{stats.firings:,}"),
        ("critical path (Sinf)", f"{stats.critical_path:,} waves" if measured else "measured under --schedule waves"),
        ("average parallelism", f"{stats.parallelism:.2f}" if measured else "measured under --schedule waves"),
        ("largest store", f"{stats.largest_store:,} tokens"),
        ("deepest tag", f"{stats.deepest_tag:,}"),
        ("activations", ", ".join(f"{name} {count:,}" for name, count in outcome.activations().items())),
        ("residue", f"{len(outcome.residue):,} tokens, {outcome.open_activations:,} open activations"),
        ("engine, schedule", f"{outcome.engine}, {outcome.schedule}"),
    ]
    lines = [f"{name:22}{said}" for name, said in rows]
    if stats.profile:
        lines += ["", "firings in each wave", draw_profile(stats.profile, unicode=unicode)]
    return "\n".join(lines)


def as_json(outcome: Outcome) -> dict[str, Any]:
    """The outcome as a document: `status`, `value`, `firings`, `stats`, `traps`, `residue`, `error`.

    `value` is a list of the results, null where one did not come; what JSON has no number for is a string.
    """
    stats = outcome.stats
    return {
        "status": outcome.status,
        "value": [None if result is None else _plain(result) for result in outcome.results],
        "firings": stats.firings,
        "stats": {
            "steps": stats.steps,
            "critical_path": stats.critical_path,
            "parallelism": stats.parallelism,
            "profile": stats.profile,
            "waiting": stats.waiting,
            "largest_store": stats.largest_store,
            "largest_flight": stats.largest_flight,
            "deepest_tag": stats.deepest_tag,
            "activations": outcome.activations(),
            "by_node": {str(n): c for n, c in zip(outcome.graph.nodes, stats.by_node, strict=True)},
        },
        "engine": outcome.engine,
        "schedule": outcome.schedule,
        "traps": [str(trap) for trap in outcome.traps],
        "residue": len(outcome.residue),
        "error": None if outcome.error is None else str(outcome.error),
    }


def _plain(value: Value) -> Any:
    if isinstance(value, np.ndarray):
        return [_plain(item) for item in value.tolist()]
    if isinstance(value, list):
        return [_plain(item) for item in value]
    return repr(value) if isinstance(value, float) and not math.isfinite(value) else value
