"""Checking a program against itself: every schedule, and the big-step evaluator, on the same arguments.

The reference machine under `waves` is the standard; the first difference from it is a Disagreement.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from ..core.errors import Disagreement
from ..core.evaluate import evaluate
from ..core.graph import Graph
from ..core.program import Program
from ..core.value import Value, same, show
from .outcome import Outcome
from .reference import Limits, admit_arguments, run_graph

SCHEDULES = ("waves", "fifo", "lifo", *(f"random:{seed}" for seed in range(5)))


class Verdict(NamedTuple):
    """What one way of running a program gave, and how it differs from the standard, if it does."""

    way: str
    said: str
    difference: Disagreement | None


def check(
    graph: Graph, program: Program | None, arguments: Sequence[Value], limits: Limits | None = None
) -> Iterator[Verdict]:
    """Run a graph under every schedule, and its program by the evaluator; a verdict each, the standard's first.

    Where the standard does not become quiet, only what others return is compared: such runs may differ otherwise.
    """
    standard = run_graph(graph, arguments, limits=limits)
    for name in SCHEDULES:
        run = standard if name == "waves" else run_graph(graph, arguments, schedule=name, limits=limits)
        yield Verdict(name, _said(run), _difference(graph, standard, run))
    if program is not None:
        yield _evaluated(program, standard, arguments)


def _said(run: Outcome) -> str:
    values = ", ".join("-" if value is None else show(value) for value in run.results)
    return f"{run.status} {values} after {run.firings:,} firings"


def _difference(graph: Graph, standard: Outcome, run: Outcome) -> Disagreement | None:
    where = f"{graph.name} under {run.schedule}"
    if "Exhausted" in (standard.status, run.status):
        pairs = zip(standard.results, run.results, strict=True)
        if all(one is None or other is None or same(one, other) for one, other in pairs):
            return None
        return Disagreement("the results differ", where=where, required=_said(standard), got=_said(run))
    if standard.status != run.status or not all(map(_equal, standard.results, run.results)):
        return Disagreement("the endings differ", where=where, required=_said(standard), got=_said(run))
    pairs = zip(standard.stats.by_node, run.stats.by_node, strict=True)
    for node, (wanted, got) in zip(graph.nodes, pairs, strict=True):
        if wanted != got:
            what = f"node {node} fires another number of times"
            return Disagreement(what, where=where, required=wanted, got=got)
    if list(map(str, standard.traps)) != list(map(str, run.traps)):
        return Disagreement("the traps differ", where=where, required=standard.traps, got=run.traps)
    return None


def _equal(one: Value | None, other: Value | None) -> bool:
    return one is other if one is None or other is None else same(one, other)


def _evaluated(program: Program, standard: Outcome, arguments: Sequence[Value]) -> Verdict:
    """The evaluator is sequential: it is compared where the machine became quiet, at a trap on the first one."""
    said = evaluate(program, admit_arguments(standard.graph, arguments))
    values = ", ".join(map(show, said.results or ()))
    trap = f" {said.trap[1]} at node {said.trap[0]}" if said.trap else ""
    text = f"{said.status} {values}{trap}".rstrip()
    agrees = standard.status == "Exhausted" or said.status == "Exhausted"
    if said.results is not None and standard.status == "Returned":
        agrees = all(map(_equal, standard.results, said.results))
    if said.trap is not None and standard.traps:
        agrees = standard.traps[0].message == trap.strip()
    where = f"{program.entry}, evaluated without tokens"
    required = str(standard.traps[0]) if standard.traps else _said(standard)
    difference = None if agrees else Disagreement("the results differ", where=where, required=required, got=text)
    return Verdict("evaluator", text, difference)
