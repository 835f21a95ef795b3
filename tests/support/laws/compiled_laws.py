"""The laws of the compiled engine: it agrees with the reference where that becomes quiescent; it leaves no program to
another engine that it could run; it has only the effects of a sequential evaluation."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Literal, NamedTuple

import pytest
from support.generators.effect_programs import Witness
from tagloom.core.graph.graph import Graph
from tagloom.core.graph.lower import lower
from tagloom.core.program.evaluate import Evaluation, evaluate
from tagloom.core.program.program import Program
from tagloom.core.value import fingerprint, is_same_value
from tagloom.interp.engines.compiled import run
from tagloom.interp.engines.compiled.run import run_compiled
from tagloom.interp.engines.limits import Limits
from tagloom.interp.engines.reference import admit_arguments, run_graph
from tagloom.interp.function.function import Function
from tagloom.interp.outcome.outcome import Outcome
from tagloom.interp.records.documents import error_text, to_outcome_record

LIMITS = Limits(firings=50_000)
SHORT = Limits(seconds=20.0)
STEPS = 200_000


class Trial(NamedTuple):
    """How one program was compared, and where it differed. It is compared with the reference, or with the evaluator if
    the reference takes too long; it is not compared if both take too long, or if the engine rightly leaves it to
    another."""

    by: Literal["reference", "evaluator", "nothing", "left"]
    differences: list[str]


def differences(program: Program, graph: Graph, arguments: Sequence[Any], seed: int = 0) -> list[str]:
    """Where the compiled engine differs: in results, in the description of the first trap, or in effects."""
    return run_trial(program, graph, arguments, seed).differences


def function_differences(function: Function, arguments: Sequence[Any]) -> list[str]:
    """Where the compiled engine differs on a function, traced for these arguments."""
    program = function.trace(*arguments).program
    graph = lower(program)
    return differences(program, graph, admit_arguments(graph, arguments))


def run_trial(program: Program, graph: Graph, arguments: Sequence[Any], seed: int = 0) -> Trial:
    """Run a program on the compiled engine, and compare."""
    worlds = Witness(), Witness(), Witness()
    compiled = run_compiled(program, graph, arguments, limits=SHORT, seed=seed, world=worlds[0])
    evaluation = evaluate(program, arguments, max_steps=STEPS, seed=seed, world=worlds[1])
    if compiled is None and evaluation.status == "Exhausted":
        return Trial("nothing", [])
    if (compiled is None) != needs_tokens(program, evaluation):
        return Trial("left", [f"the evaluator says {evaluation}, and compiled {compiled}"])
    if compiled is None:
        return Trial("left", [])
    to_outcome_record(compiled)
    reference = run_graph(graph, arguments, limits=LIMITS, seed=seed, world=worlds[2])
    result = [] if evaluation.status == "Exhausted" else list(_effect_differences(worlds[1], worlds[0]))
    if reference.status != "Exhausted":
        return Trial("reference", [*result, *differences_from_reference(reference, compiled)])
    if evaluation.status == "Exhausted":
        return Trial("nothing", result)
    return Trial("evaluator", [*result, *_against_evaluator(evaluation, compiled)])


def needs_tokens(program: Program, evaluation: Evaluation) -> bool:
    """Whether only a token machine can tell how a program ends: the evaluation waits for a cell, or a cell op
    trapped."""
    if evaluation.trap is None:
        return evaluation.status == "Waiting"
    function, _, name = evaluation.trap[0].rpartition(".")
    (node,) = (node for node in program[function].body.walk() if node.name == name)
    return node.op in ("put", "get", "collect")


def _effect_differences(evaluated: Witness, compiled: Witness) -> Iterator[str]:
    """Where the effects on the two worlds differ."""
    for one, other in ((evaluated.lines, compiled.lines), (_calls(evaluated), _calls(compiled))):
        if one != other:
            yield f"the evaluator did {one}, and compiled {other}"


def _calls(world: Witness) -> list[Any]:
    return [(name, *map(fingerprint, operands)) for name, operands in world.calls]


def _against_evaluator(evaluation: Evaluation, compiled: Outcome) -> Iterator[str]:
    if evaluation.status == "Returned" and not _has_same_results(compiled, evaluation.results or ()):
        yield f"the evaluator returned {evaluation.results}, compiled {compiled.status} {compiled.results}"
    if evaluation.trap is not None and _error_lines(compiled)[:1] != [
        f"{evaluation.trap[1]} at node {evaluation.trap[0]}"
    ]:
        yield f"the evaluator met {evaluation.trap}, compiled {compiled.status} {compiled.traps}"


def differences_from_reference(reference: Outcome, compiled: Outcome) -> Iterator[str]:
    """Where an outcome of the compiled engine differs: in the ending, the results, or the first trap."""
    if compiled.status != reference.status:
        yield f"the reference {reference.status}, compiled {compiled.status}: {compiled.error}"
    elif reference.status == "Returned" and not _has_same_results(compiled, reference.results):
        yield f"the reference returned {reference.results}, compiled {compiled.results}"
    elif reference.status == "Trapped":
        yield from _first_trap(reference, compiled)


def _has_same_results(compiled: Outcome, results: Sequence[Any]) -> bool:
    if compiled.status != "Returned":
        return False
    assert compiled.value is not None or not results
    return all(map(is_same_value, compiled.results, results))


def _error_lines(outcome: Outcome) -> list[str]:
    return [trap.message for trap in outcome.traps]


def _first_trap(reference: Outcome, compiled: Outcome) -> Iterator[str]:
    one, other = error_text(reference.traps[0]), error_text(compiled.traps[0])
    if one != other or reference.traps[0].tag != compiled.traps[0].tag:
        yield f"the reference met\n{one}\ncompiled\n{other}"
    first, second = _operands(reference), _operands(compiled)
    if list(map(fingerprint, first)) != list(map(fingerprint, second)):
        yield f"the operands were {first}, and compiled {second}"


def _operands(outcome: Outcome) -> tuple[Any, ...]:
    """The operands of the first trap, without the trigger."""
    trapped = outcome.trap_events[0]
    inputs = trapped.inputs or ()
    return inputs[: len(inputs) - outcome.graph.nodes[trapped.token.node].has_trigger]


def threads(monkeypatch: pytest.MonkeyPatch, function: Function, *arguments: Any, **options: Any) -> int:
    """The number of threads, besides this one, on which a function ran."""
    used: list[object] = []
    right = run.run_on_thread
    with monkeypatch.context() as patch:
        patch.setattr(run, "run_on_thread", lambda *given, **more: used.append(1) or right(*given, **more))
        function.run(*arguments, engine="compiled", **options)
    return len(used)
