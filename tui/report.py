"""What a run took, as text for people."""

from __future__ import annotations

from ..core.errors import counted
from ..interp.outcome import Outcome
from ..viz.profile import draw_profile


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
