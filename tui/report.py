"""What a run took, as text for people and as a document for programs."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ..core.errors import TagloomError, counted
from ..core.value import Value
from ..interp.outcome import Outcome
from ..viz.profile import draw_profile


def words(error: TagloomError) -> str:
    """An error with its notes."""
    return "\n".join([str(error), *getattr(error, "__notes__", [])])


def stats_report(outcome: Outcome, *, unicode: bool) -> str:
    """Firings, critical path, parallelism, store, tags, and the profile of parallelism drawn."""
    stats = outcome.stats
    unclocked = "measured under --schedule waves"
    rows = [
        ("ending", outcome.status),
        ("firings (S1)", f"{stats.firings:,}"),
        ("critical path (Sinf)", unclocked if stats.critical_path is None else counted(stats.critical_path, "wave")),
        ("average parallelism", unclocked if stats.parallelism is None else f"{stats.parallelism:.2f}"),
        ("largest store", counted(stats.largest_store, "token")),
        ("deepest tag", f"{stats.deepest_tag:,}"),
        ("activations", ", ".join(f"{name} {count:,}" for name, count in outcome.activations().items())),
        ("residue", counted(len(outcome.residue), "token")),
        ("open activations", f"{outcome.open_activations:,}"),
        ("engine, schedule", f"{outcome.engine}, {outcome.schedule}"),
    ]
    lines = [f"{name:22}{said}" for name, said in rows]
    if stats.profile:
        height = min(8, max(stats.profile))
        lines += ["", "firings in each wave", draw_profile(stats.profile, height=height, unicode=unicode)]
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
        "traps": [words(trap) for trap in outcome.traps],
        "residue": len(outcome.residue),
        "error": None if outcome.error is None else words(outcome.error),
    }


def _plain(value: Value) -> Any:
    if isinstance(value, np.ndarray):
        return [_plain(item) for item in value.tolist()]
    if isinstance(value, list):
        return [_plain(item) for item in value]
    return repr(value) if isinstance(value, float) and not math.isfinite(value) else value
