"""Gradients of generated programs: a new entry function calls the old one and pulls adjoints of its results back."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, TypeAlias

import numpy as np
from support.generators.effect_programs import Witness
from support.generators.generator import Case
from support.generators.smooth_programs import SEEN
from tagloom.core import dtypes
from tagloom.core.autodiff.resolve import resolve_pullbacks
from tagloom.core.graph.lower import lower
from tagloom.core.program.evaluate import evaluate
from tagloom.core.program.program import PULLBACK_TARGET, FunctionDef, Node, Operand, Program, Region, Var
from tagloom.core.types import Type
from tagloom.core.value import literal
from tagloom.interp.engines.limits import Limits
from tagloom.interp.engines.reference import run_graph

Running: TypeAlias = Callable[[list[Any]], Sequence[Any] | None]
"""A function from a program's arguments to its results; None if it does not return."""


def differentiate(case: Case, order: int = 1) -> Case | None:
    """The derivative of a program: it returns the program's results and the adjoints of its float arguments, with small
    constants as the adjoints of the results. Orders above 1 differentiate again. None if no argument or no result is a
    float."""
    program: Program | None = case.program
    for nth in range(order):
        program = pull_back_entry(program, f"derivative_{nth + 1}") if program else None
    return Case(resolve_pullbacks(program), case.arguments) if program else None


def pull_back_entry(program: Program, name: str) -> Program | None:
    """The program with a new entry, which calls the old one and pulls back through that call."""
    entry = program.main
    float_parameters = [var for var in entry.body.parameters if _is_float(var.type)]
    seeds = [(f"r{at}", type_) for at, type_ in enumerate(entry.results) if _is_float(type_)]
    if not float_parameters or not seeds:
        return None
    results = tuple(Var(f"r{at}", type_) for at, type_ in enumerate(entry.results))
    operands = tuple(var.name for var in entry.body.parameters)
    nodes = [Node("call", operands, results, (), (("function", entry.name),))]
    inputs: list[Operand] = []
    for nth, (of, type_) in enumerate(seeds):
        weight = literal(0.5 + nth, Type(type_.dtype))
        if not type_.is_scalar:
            nodes.append(Node("broadcast_like", (weight, of), (Var(f"w{nth}", type_),)))
        inputs.append(weight if type_.is_scalar else f"w{nth}")
    result = tuple(Var(f"d_{var.name}", var.type) for var in float_parameters)
    nodes.append(Node("pullback", tuple(inputs), result, (), ((PULLBACK_TARGET, "r0"),)))
    leaving = (*(var.name for var in results), *(var.name for var in result))
    body = Region(entry.body.parameters, tuple(nodes), leaving)
    types = (*entry.results, *(var.type for var in result))
    return replace(program, functions=(FunctionDef(name, body, types), *program.functions), entry=name)


def _is_float(type_: Type) -> bool:
    return type_.dtype.kind == "f"


def result_adjoints(program: Program) -> list[float]:
    """The adjoints of the float results, which are pulled back."""
    return [0.5 + nth for nth, type_ in enumerate(t for t in program.main.results if _is_float(t))]


def total(case: Case, results: Any) -> float:
    """The weighted sum of all float results: the function whose gradient the adjoints are."""
    floats = [each for each, type_ in zip(results, case.program.main.results, strict=True) if _is_float(type_)]
    return float(sum(weight * np.sum(each) for weight, each in zip(result_adjoints(case.program), floats, strict=True)))


def run_on_evaluator(case: Case, most: int = 10_000_000) -> Running:
    """Runs the program with the evaluator, in `most` steps at most."""
    return lambda arguments: evaluate(case.program, arguments, max_steps=most).results


def run_on_machine(case: Case, schedule: str) -> Running:
    """Runs the program on the machine, with the bounds of its loops, so gets may be deferred and effects happen."""
    graph = lower(case.program)

    def run(arguments: list[Any]) -> Sequence[Any] | None:
        out = run_graph(graph, arguments, schedule=schedule, limits=Limits(firings=20_000), world=Witness(SEEN))
        return out.results if out.status == "Returned" else None

    return run


def finite_difference(case: Case, step: float, run: Running | None = None) -> float | None:
    """The derivative of `total` along one direction, by a central difference; None if the program does not return
    finite numbers on both sides. `run` runs it, and may return more values than the program has results."""
    ends, run = [], run or run_on_evaluator(case, 20_000)
    for side in (step, -step):
        shifted = [_moved(value, side * (1 + 0.1 * at)) for at, value in enumerate(case.arguments)]
        results = run(shifted)
        if results is None or not np.isfinite(result := total(case, results[: len(case.program.main.results)])):
            return None
        ends.append(result)
    return (ends[0] - ends[1]) / (2 * step)


def _moved(value: Any, by: float) -> Any:
    return value + by if isinstance(value, float) or np.asarray(value).dtype == np.float64 else value


def directional_derivative(case: Case, adjoints: list[Any]) -> float:
    """The derivative along the same direction, by the adjoints of all float arguments."""
    floats = [
        (at, type_) for at, type_ in enumerate(v.type for v in case.program.main.body.parameters) if _is_float(type_)
    ]
    pairs = zip(floats, adjoints, strict=True)
    wide = [(at, adjoint) for (at, type_), adjoint in pairs if type_.dtype is dtypes.float64]
    return float(sum((1 + 0.1 * at) * np.sum(adjoint) for at, adjoint in wide))


def gradient_difference(case: Case, derived: Case, run: Running | None = None) -> str | None:
    """How the adjoints of a program differ from finite differences; "" if they agree. None if the differences of three
    step sizes disagree, or if the program contains `stop_gradient`, which differences cannot see. With `run`, the
    derivative is run for the differences too, since it draws its own random numbers."""
    if any(node.op == "stop_gradient" for each in case.program.functions for node in each.body.walk()):
        return None
    slopes = [finite_difference(case, step, run) for step in (1e-4, 1e-5, 1e-6)]
    if None in slopes or max(slopes) - min(slopes) > 1e-4 * (1e-3 + max(map(abs, slopes))):  # type: ignore[type-var,operator,arg-type]
        return None
    results = (run or run_on_evaluator(derived))(derived.arguments)
    if results is None:
        return "the program returns, and its derivative does not"
    adjoints = list(results[len(case.program.main.results) :])
    result, expected = directional_derivative(case, adjoints), slopes[1]
    if abs(result - expected) > 1e-3 * (1e-2 + abs(expected)):  # type: ignore[operator,arg-type]
        return f"adjoints {adjoints} say {result}, differences {slopes}"
    return ""
