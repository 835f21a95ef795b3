"""The results and statistics of a run, as text for people."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

from ..core.errors import plural
from ..core.frontend.trace.pytree import LEAF, label_leaves
from ..core.value import abbreviate
from ..interp.outcome.critical_path import time_by_waves
from ..interp.outcome.outcome import Outcome
from ..interp.outcome.statistics import firings_by_function, firings_by_op, shares_by_site, unique_site_names
from ..viz.profile import draw_profile

MAX_RESULT_ELEMENTS = 1000
"""Results of up to this many elements are printed in full."""


def result_lines(outcome: Outcome) -> list[str]:
    """The results of a completed run, one line each: named if they nest; and the values of variables, named. Results of
    more than MAX_RESULT_ELEMENTS elements are abbreviated, and variables earlier."""
    structure = outcome.structure
    flat = structure.container in (None, tuple) and all(part == LEAF for _, part in structure.children)
    rows, lines = label_leaves(structure, outcome.results), []
    for number, (name, value) in enumerate(rows):
        if number >= len(rows) - len(structure.assigned_names):
            lines.append(f"{name}: {abbreviate(value)}")
        else:
            text = "[]" if type(value) is list and not value else abbreviate(value, MAX_RESULT_ELEMENTS)
            lines.append(text if flat or not name else f"{name}: {text}")
    return lines


def stats_report(outcome: Outcome, *, unicode: bool) -> str:
    """The statistics of a run, and a drawing of the parallelism profile; only the ending and the engine for an engine
    that does not count."""
    if outcome.measured_stats is None:
        text = f"{outcome.engine}; this run counted nothing"
        return f"{'ending':22}{outcome.status}\n{'engine':22}{text}"
    stats = outcome.stats
    unclocked = "measured under --schedule waves"
    on_cores = f" on {outcome.cores} cores" if outcome.cores > 1 else ""
    if outcome.cluster is not None:
        on_cores = f" on {plural(outcome.cluster.workers, 'worker')}"
    rows = [
        ("ending", outcome.status),
        ("work", plural(stats.firings, "firing")),
        ("span", unclocked if stats.span is None else plural(stats.span, "wave")),
        ("average parallelism", unclocked if stats.parallelism is None else f"{stats.parallelism:.2f}"),
        ("time by waves", unclocked if stats.profile is None else _describe_times(stats.profile)),
        ("largest store", plural(stats.largest_store, "token")),
        ("deepest tag", f"{stats.deepest_tag:,}"),
        ("activations", ", ".join(f"{name} {count:,}" for name, count in outcome.activations().items())),
        ("residue", plural(len(outcome.residue), "token")),
        ("open activations", f"{outcome.open_activations:,}"),
        ("engine, schedule", f"{outcome.engine}{on_cores}, {outcome.schedule}"),
    ]
    if outcome.cluster is not None and outcome.cluster.devices:
        rows.append(("devices", ", ".join(outcome.cluster.devices)))
        rows += [("not kept", constraint) for constraint in outcome.cluster.unmet_constraints]
    lines = [f"{name:22}{text}" for name, text in rows]
    if stats.firings:
        lines += ["", *share_lines(outcome)]
    if stats.profile:
        height = min(8, max(stats.profile))
        lines += ["", "firings in each wave", draw_profile(stats.profile, height=height, unicode=unicode)]
    return "\n".join(lines)


def share_lines(outcome: Outcome) -> list[str]:
    """A table of firings by function, op and site, at most ten rows. The firings of a site are the firings of its calls
    and returns, or of its iterations."""
    graph, stats, entered = outcome.graph, outcome.stats, outcome.activations()
    names = unique_site_names(graph)
    functions = [(name, count, entered.get(name, 0)) for name, count in firings_by_function(graph, stats).items()]
    ops = [(name, count, None) for name, count in firings_by_op(graph, stats).items()]
    sites = [(names[site], share.firings, share.activations) for site, share in shares_by_site(graph, stats).items()]
    tables = (("function", functions, 3), ("op", ops, 4), ("site", sites, 3))
    rows = [(kind, *row) for kind, listed, most in tables for row in limit_rows(listed, most)]
    width = min(36, max(len(name) for _, name, _, _ in rows))
    lines = [f"{'':10}{'':{width}}{'firings':>12}{'':7}{'activations':>13}"]
    for kind, name, count, activations in rows:
        part = f"{count:12,}{100 * count / stats.firings:5.0f} %"
        lines.append(f"{kind:10}{name[:width]:{width}}{part}{'' if activations is None else f'{activations:13,}'}")
    return lines


ShareRow: TypeAlias = tuple[str, int, int | None]


def limit_rows(rows: Sequence[ShareRow], most: int) -> list[ShareRow]:
    """At most `most` rows; if some are omitted, the last row has their number and sum."""
    if len(rows) <= most:
        return list(rows)
    omitted = rows[most - 1 :]
    return [*rows[: most - 1], (f"{len(omitted)} more", sum(count for _, count, _ in omitted), None)]


def _describe_times(profile: Sequence[int]) -> str:
    times = (f"{time_by_waves(profile, processors):,} on {processors}" for processors in (2, 4, 8, 16))
    return f"{', '.join(times)} processors"
