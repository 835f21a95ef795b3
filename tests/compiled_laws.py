"""What the compiled engine must never do: differ from the reference where that becomes quiet."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from tagloom.core.evaluate import evaluate
from tagloom.core.graph import Graph
from tagloom.core.op import OPS
from tagloom.core.program import Program
from tagloom.core.value import fingerprint, same
from tagloom.interp.compiled.run import run_compiled
from tagloom.interp.outcome import Outcome
from tagloom.interp.record import record, words
from tagloom.interp.reference import Limits, run_graph

LIMITS = Limits(firings=50_000)
SHORT = Limits(seconds=20.0)


def differences(program: Program, graph: Graph, arguments: Sequence[Any], seed: int = 0) -> Iterator[str]:
    """Where the compiled engine differs: in results, or in all that is said of the first trap. Where the reference
    needs too long, the evaluator says what is meant."""
    compiled = run_compiled(program, graph, arguments, limits=SHORT, seed=seed)
    reference = run_graph(graph, arguments, limits=LIMITS, seed=seed)
    if compiled is None:
        return
    record(compiled)
    if reference.status == "Exhausted":
        meant = evaluate(program, arguments, max_steps=200_000, seed=seed)
        if meant.status == "Returned" and not _alike(compiled, meant.results or ()):
            yield f"the evaluator returned {meant.results}, compiled {compiled.status} {compiled.results}"
        if meant.trap is not None and _said(compiled)[:1] != [f"{meant.trap[1]} at node {meant.trap[0]}"]:
            yield f"the evaluator met {meant.trap}, compiled {compiled.status} {compiled.traps}"
    elif compiled.status != reference.status:
        yield f"the reference {reference.status}, compiled {compiled.status}: {compiled.error}"
    elif reference.status == "Returned" and not _alike(compiled, reference.results):
        yield f"the reference returned {reference.results}, compiled {compiled.results}"
    elif reference.status == "Trapped":
        yield from _first_trap(reference, compiled)


def _alike(compiled: Outcome, results: Sequence[Any]) -> bool:
    if compiled.status != "Returned":
        return False
    assert compiled.value is not None or not results
    return all(map(same, compiled.results, results))


def _said(outcome: Outcome) -> list[str]:
    return [trap.message for trap in outcome.traps]


def _first_trap(reference: Outcome, compiled: Outcome) -> Iterator[str]:
    one, other = words(reference.traps[0]), words(compiled.traps[0])
    if one != other or reference.traps[0].tag != compiled.traps[0].tag:
        yield f"the reference met\n{one}\ncompiled\n{other}"
    first, second = reference.trapped[0], compiled.trapped[0]
    if list(map(fingerprint, first.inputs or ())) != list(map(fingerprint, second.inputs or ())):
        yield f"the operands were {first.inputs}, and compiled {second.inputs}"
