"""The laws of tapes: on a program, run eagerly or traced, a tape gives the adjoints that its derivative gives.

`violations` takes the class of the tape, so that broken ones can be tested.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import ExitStack
from typing import Any, TypeAlias

import numpy as np
import tagloom as tl
from support.generators.generator import Case
from support.generators.gradient_programs import differentiate
from support.generators.retraced_programs import InTrace, as_function
from support.programs.eager_run import MOST_STEPS, EagerRun, TooLong
from tagloom.core.frontend.eager.apply import apply
from tagloom.core.frontend.eager.array import ConcreteArray
from tagloom.core.program.evaluate import evaluate
from tagloom.core.types import Type
from tagloom.core.value import is_same_value, literal

Way: TypeAlias = Callable[[Case, int, type[tl.Tape]], list[Any]]
"""Computes a program's results and the adjoints of its float arguments, with 0.5, 1.5 and so on as the adjoints of its
results; higher orders differentiate all of that again, by nested tapes of the class."""


def eagerly(case: Case, order: int, tape: type[tl.Tape]) -> list[Any]:
    """Results and adjoints, run op by op."""
    return _plain(
        _taped(EagerRun(case.program), [ConcreteArray(literal(value)) for value in case.arguments], order, tape)
    )


def in_trace(case: Case, order: int, tape: type[tl.Tape]) -> list[Any]:
    """Results and adjoints, traced and run on the reference."""

    def python(*arguments: Any) -> Any:
        return tuple(_taped(InTrace(case.program), arguments, order, tape))

    outcome = as_function(case.program.main, python).run(*case.arguments, engine="reference")
    if outcome.error is not None:
        raise outcome.error
    return list(outcome.value)


def _taped(run: Callable[..., list[Any]], arguments: Sequence[Any], order: int, tape: type[tl.Tape]) -> list[Any]:
    sources = tuple(each for each in arguments if each.dtype.kind == "f")
    with ExitStack() as stack:
        tapes = [stack.enter_context(tape()) for _ in range(order)]
        for each in tapes:
            each.watch(sources)
        results = run(*arguments)
        for each in reversed(tapes):
            floats = [result for result in results if result.dtype.kind == "f"]
            weights = [_filled(0.5 + nth, result) for nth, result in enumerate(floats)]
            results += each.gradient(tuple(floats), sources, tuple(weights))
    return results


def _plain(results: Sequence[Any]) -> list[Any]:
    return [each._tagloom_literal.value for each in results]


def _filled(weight: float, like: Any) -> Any:
    return apply("broadcast_like", ConcreteArray(literal(weight, Type(like.dtype))), like)


def violations(case: Case, order: int, tape: type[tl.Tape] = tl.Tape, way: Way = eagerly) -> list[str]:
    """How a tape differs from the derivative of a program that returns: in any bit for a program of ops alone,
    otherwise by more than the order of additions explains. At higher orders the adjoints of results are pulled back
    together with those of adjoints, and the tape adds the former first."""
    derived = differentiate(case, order)
    expected = evaluate(derived.program, derived.arguments, max_steps=20 * MOST_STEPS).results if derived else None
    if expected is None:
        return []
    try:
        result = way(case, order, tape)
    except (TooLong, RecursionError):
        return []
    except tl.TagloomError as error:
        return [f"the derivative of the program returns, and the tape raises {error}"]
    alike = is_same_value if order == 1 and is_straight(case) else _is_near
    return [
        f"result {at} is {value!r} by the tape, and {required!r} by the program"
        for at, (value, required) in enumerate(zip(result, expected, strict=True))
        if not alike(value, required)
    ]


def is_straight(case: Case) -> bool:
    """Whether a program consists of ops alone."""
    return len(case.program.functions) == 1 and not any(node.regions for node in case.program.main.body.walk())


def _is_near(one: Any, other: Any) -> bool:
    """Whether numbers are equal up to the order of additions; numbers that are not finite are skipped."""
    value, required = np.asarray(one), np.asarray(other)
    if value.dtype.kind != "f":
        return is_same_value(one, other)
    finite = np.isfinite(value) & np.isfinite(required)
    largest = np.max(np.abs(required[finite]), initial=1.0)
    bound = 1e-12 if value.dtype == np.float64 else 1e-4
    return value.dtype == required.dtype and bool(np.all(np.abs(value[finite] - required[finite]) <= bound * largest))
