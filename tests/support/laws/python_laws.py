"""The law of the front end: a converted function does what Python does. The value and its type, the printed lines and
the class of the exception are the same, for concrete, symbolic and mixed arguments, on engines and under schedules."""

from __future__ import annotations

import copy
import inspect
from collections.abc import Callable, Iterator, Sequence
from contextlib import redirect_stdout
from io import StringIO
from typing import Any, NamedTuple

import numpy as np
import tagloom as tl
from support.generators.generator import Case
from support.laws import effect_laws
from tagloom.core.frontend.source.convert import convert
from tagloom.core.frontend.source.entry import OPERATORS
from tagloom.core.graph.lower import lower
from tagloom.interp.engines.limits import Limits
from tagloom.interp.engines.reference import admit_arguments

assert OPERATORS.cell_contents is not None, "converted code calls them"
RUNS: tuple[tuple[str, str], ...] = (
    ("reference", "fifo"),
    ("reference", "lifo"),
    ("reference", "random:7"),
    ("fast", "waves"),
)
"""Engines, with schedules."""
LIMITS = Limits(firings=50_000)


class Ending(NamedTuple):
    """How a call ended: what it returned or raised, and the lines that it printed before."""

    value: Any
    error: BaseException | None
    lines: tuple[str, ...]


def python_ending(function: Callable[..., Any], arguments: Sequence[Any]) -> Ending:
    """How Python ends a call."""
    output = StringIO()
    with redirect_stdout(output):
        try:
            value, error = function(*copy.deepcopy(arguments)), None
        except Exception as raised:
            value, error = None, raised
    text = output.getvalue()
    if error is not None:  # of a line that has no end yet, a program prints nothing
        text = text[: text.rfind("\n") + 1]
    return Ending(value, error, tuple(text.splitlines()))


def is_refusal(error: BaseException | None) -> bool:
    """Whether an error says in words that something cannot be part of a program."""
    if isinstance(error, tl.Usage):
        return error.where is not None and error.hint is not None
    return isinstance(error, tl.Invalid) and error.rule in ("F1", "F4", "V5", "V3", "V4") and error.where is not None


def is_same_result(one: Any, other: Any) -> bool:
    """Whether a result is what Python returned: equal, and of the same class; numbers of NumPy and arrays of one number
    have the class of their dtype.

    >>> is_same_result((np.int64(3), np.bool_(True)), (3, True)), is_same_result(np.int64(1), True)
    (True, False)
    """
    if isinstance(other, list) and isinstance(one, np.ndarray):
        return bool(np.array_equal(one, other))  # a list of known numbers is a value of a program
    if isinstance(other, tuple | list):
        return isinstance(one, tuple | list) and len(one) == len(other) and all(map(is_same_result, one, other))
    if isinstance(other, dict):
        keys = list(other)
        return isinstance(one, dict) and list(one) == keys and all(is_same_result(one[key], other[key]) for key in keys)
    if other is None or isinstance(other, str):
        return bool(one == other)
    one, other = np.asarray(one), np.asarray(other)
    same = one.dtype.kind == other.dtype.kind and one.shape == other.shape
    return same and bool(np.array_equal(one, other, equal_nan=other.dtype.kind == "f"))


def difference(ending: Ending, expected: Ending) -> str | None:
    """In what an ending differs from that of Python; None if in nothing. A trap does not stop what does not depend on
    it, so more lines may follow."""
    if expected.error is not None:
        if not isinstance(ending.error, type(expected.error)):
            return f"Python raised {expected.error!r}, the program ended with {ending.error or ending.value!r}"
        if ending.lines[: len(expected.lines)] != expected.lines:
            return f"Python printed {expected.lines} before it raised, the program {ending.lines}"
        return None
    if ending.error is not None:
        return f"Python returned {expected.value!r}, the program ended with {ending.error!r}"
    if not is_same_result(ending.value, expected.value):
        return f"Python returned {expected.value!r}, the program {ending.value!r}"
    if ending.lines != expected.lines:
        return f"Python printed {expected.lines}, the program {ending.lines}"
    return None


def partly_symbolic(function: Callable[..., Any], arguments: Sequence[Any], mask: Sequence[bool]) -> Callable[..., Any]:
    """The function of the arguments that the mask says are symbolic, with the others as they are."""

    def entry(*symbolic: Any) -> Any:
        rest = list(symbolic)
        return function(*[rest.pop(0) if free else value for value, free in zip(arguments, mask, strict=True)])

    return function if all(mask) else entry


def disagreements(
    function: Callable[..., Any],
    inputs: Sequence[Sequence[Any]],
    runs: Sequence[tuple[str, str]] = RUNS,
    masks: Sequence[Sequence[bool]] | None = None,
) -> Iterator[str]:
    """What a converted function does otherwise than Python. Raises the refusal, where there is one."""
    count = len(inspect.signature(function).parameters)
    if masks is None:
        masks = [[True] * count, [position % 2 == 0 for position in range(count)]][: max(count, 1)]
    for arguments in inputs:
        expected = python_ending(function, arguments)
        message = difference(python_ending(convert(function), arguments), expected)  # type: ignore[arg-type]
        if message:
            yield f"{arguments} as they are: {message}"
    for mask in masks:
        yield from _staged_disagreements(function, inputs, mask, runs)


def _staged_disagreements(
    function: Callable[..., Any], inputs: Sequence[Sequence[Any]], mask: Sequence[bool], runs: Sequence[tuple[str, str]]
) -> Iterator[str]:
    functions: dict[str, Any] = {}
    for arguments in inputs:
        expected = python_ending(function, arguments)
        fixed = repr([value for value, free in zip(arguments, mask, strict=True) if not free])
        if fixed not in functions:
            functions[fixed] = tl.function(partly_symbolic(function, arguments, mask))
        symbolic = [value for value, free in zip(arguments, mask, strict=True) if free]
        runs_of_tokens = set()
        for engine, schedule in runs:
            lines: list[str] = []
            options = {"engine": engine, "schedule": schedule, "world": tl.World(output=lines.append), "limits": LIMITS}
            try:
                out = functions[fixed].run(*symbolic, **options)
            except Exception as error:
                if is_refusal(error):
                    raise
                # raised while tracing, when nothing is printed yet
                message = difference(Ending(None, error, expected.lines), expected)
            else:
                value = out.value if out.error is None else None
                printed = tuple("".join(line + "\n" for line in lines).splitlines())
                message = difference(Ending(value, out.error, printed), expected)
                if engine != "compiled":
                    runs_of_tokens.add((out.firings, tuple(map(str, out.traps))))
            if message:
                yield f"{arguments} with {mask} symbolic on {engine}, {schedule}: {message}"
        if len(runs_of_tokens) > 1:
            yield f"{arguments} with {mask} symbolic: schedules differ in firings or traps: {runs_of_tokens}"


def evaluator_disagreements(function: Callable[..., Any], inputs: Sequence[Sequence[Any]]) -> Iterator[str]:
    """In what the big-step evaluator and the reference differ on the program of a function."""
    for arguments in inputs:
        program = tl.function(function).trace(*arguments).program
        graph = lower(program)
        case = Case(program, tuple(admit_arguments(graph, arguments)))
        yield from effect_laws.agreement(case, effect_laws.run(graph, case, limits=LIMITS), 0)


def agrees_or_is_refused(
    text: str,
    function: Callable[..., Any],
    inputs: Sequence[Sequence[Any]],
    runs: Sequence[tuple[str, str]] = RUNS[:1],
    masks: Sequence[Sequence[bool]] | None = None,
) -> bool:
    """Assert that a generated function does what Python does, or is refused with a place; whether it is converted."""
    try:
        different = list(disagreements(function, inputs, runs, masks))
    except tl.Invalid as error:
        assert error.rule in ("F4", "V5") and error.where is not None, error
        return False
    except Exception as error:
        if not isinstance(error, type(python_ending(function, inputs[0]).error)):
            raise
        return True
    assert not different, "\n".join([text, *different])
    return True
