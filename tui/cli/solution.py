"""`tagloom check FILE --against SOLUTION`: compares a program with a correct one, and explains the first difference.

Results are compared up to rounding, because `x * x * x` is not `x ** 3` to the last bit. Floats are close if they
differ by at most TOLERANCES of the larger of 1 and the required one; NaN is close to NaN, an infinity only to itself.
Everything else must be equal.
"""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Iterator, Sequence
from contextlib import redirect_stdout
from dataclasses import dataclass, replace
from itertools import islice, product
from pathlib import Path

import numpy as np

from ...core.dtypes import DType, float32, float64
from ...core.dtypes import bool as bool_
from ...core.errors import Deadlock, Exhausted, TagloomError, Usage, plural
from ...core.files import read_file
from ...core.graph.graph import Graph
from ...core.graph.lower import lower
from ...core.types import Type, type_of
from ...core.value import Value, abbreviate, is_same_value
from ...core.world import World
from ...interp.engines.limits import Limits
from ...interp.history.history import History
from ...interp.outcome.critical_path import critical_path
from ...interp.outcome.outcome import Outcome
from ...interp.queries.calls import CallTree
from ...interp.queries.wrong_call import CorrectCalls, WrongCall, find_wrong_call
from ...interp.queries.wrong_call import describe_call as describe_function_call
from ..load import Runnable, find_program, parameters, program_and_graph, split_target
from ..run_start import StartOptions, begin_history
from .terminal import print_diagnostic, print_text

MAX_ARGUMENT_LISTS = 24
"""The most argument lists to try when none is given."""

DEFAULT_FIRINGS = 100_000
"""The default limit: an exercise that takes more firings counts as one that does not end."""

_INTEGERS = ("0", "1", "2", "3", "5", "8", "-1")
_FLOATS = ("0.0", "1.0", "2.5", "-3.0")
_BOOLEANS = ("true", "false")


@dataclass(frozen=True, slots=True)
class ExerciseOptions:
    """The options of `check --against`: the limits of a run, how many times as long as the solution's the critical path
    may be (None for any length), and the number of the hint to print (0 for none)."""

    limits: Limits
    max_span: float | None = None
    hint: int = 0


def check_against(target: str, solution: str, words: Sequence[str], options: ExerciseOptions) -> int:
    """Run both programs on the arguments, or on several small ones if there are none, and print a line for each run.
    Return 1 if they differ, and explain the first difference; also 1 if the solution never ends within the limits, so
    that nothing is decided.

    Each file is loaded once; output of its Python while it is loaded and traced goes to stderr. Raises Usage if there
    are no such programs, or if arguments are needed.
    """
    with redirect_stdout(sys.stderr):
        subjects = find_program(target), find_program(solution)
    check_parameters(*subjects)
    limits, agreement_count = options.limits, 0
    for arguments in [tuple(words)] if words else list(small_arguments(subjects[1])):
        with redirect_stdout(sys.stderr):
            runs, printed_lines = zip(*(run_program(subject, arguments, limits) for subject in subjects), strict=True)
        own, right = (history.outcome() for history in runs)
        if right.status == "Exhausted":
            print_text(f"{'undecided':9} {describe_call(runs[1])}: the solution {describe_limit(right, limits)}")
            continue
        difference = describe_difference(own, right, printed_lines, limits)
        if difference:
            print_text(f"{'differs':9} {describe_call(runs[1])} the solution: {describe_ending(right, limits)}")
            mistake = first_mistake(runs[0], runs[1], subjects[1], limits)
            difference += [] if mistake is None else ["", str(mistake)]
        elif options.max_span is not None and own.stats.span > options.max_span * right.stats.span:
            print_text(f"{'slow':9} {describe_call(runs[1])} {describe_ending(right, limits)}")
            difference = describe_span(runs[0], right, options.max_span)
        if difference:
            print_diagnostic("\n".join([*difference, *describe_hints(solution, options.hint)]))
            return 1
        print_text(f"{'agrees':9} {describe_call(runs[1])} {describe_ending(right, limits)}")
        agreement_count += 1
    agreeing_runs = f"{plural(agreement_count, 'run')} agree{'s' * (agreement_count == 1)}"
    print_text(agreeing_runs if agreement_count else "no run could be compared")
    return int(not agreement_count)


def first_mistake(own: History, right: History, solution: Runnable, limits: Limits) -> WrongCall | None:
    """The first mistake of a run, by comparison with the solution's run: its innermost wrong call."""
    program = None if isinstance(solution, Graph) else program_and_graph(solution, right.arguments)[0]

    def run_call(function: str, arguments: tuple[Value, ...]) -> CallTree | None:
        """A run of one function of the solution; None if it cannot be run alone, or reaches a limit."""
        if program is None:
            return None
        try:
            history = History(lower(replace(program, entry=function)), arguments, limits=limits, world=World(len))
            history.run()
        except TagloomError:
            return None
        return None if history.stop_error else CallTree(history.graph, history.arguments, history.all_events())

    calls = CorrectCalls(CallTree(right.graph, right.arguments, right.all_events()), is_close, run_call)
    is_endless = own.outcome().status == "Exhausted"
    return find_wrong_call(own.ask.index, right.ask.index, calls, is_endless=is_endless)


MAX_PATH_CALLS = 6
"""The most calls of a critical path that are listed."""


def describe_span(history: History, right: Outcome, max_span: float) -> list[str]:
    """That the critical path of a run is too long, and the calls on it, in order."""
    events = list(history.all_events())
    tree = CallTree(history.graph, history.arguments, events)
    tags = (firing.tag for firing in critical_path(history.graph, events))
    calls = list(dict.fromkeys(CallTree.call_tag(tag) for tag in tags))
    names = [describe_function_call(tree.calls[tag]) for tag in calls[:MAX_PATH_CALLS]]
    remaining_count = len(calls) - len(names)
    return [
        "the critical path is too long",
        f"  required: at most {max_span:g} times the {right.stats.span:,} firings of the solution",
        f"  got: {history.outcome().stats.span:,} firings",
        f"  its calls: {', '.join([*names, f'and {remaining_count:,} more'] if remaining_count > 0 else names)}",
    ]


def describe_hints(solution: str, number: int) -> list[str]:
    """The hint of this number, or how many hints the solution has; empty if it has none."""
    hints = read_hints(Path(split_target(solution)[0]))
    if not 0 <= number <= len(hints):
        raise Usage(
            "there is no such hint", required=f"1 to {len(hints)}" if hints else "a solution with HINTS", got=number
        )
    if number:
        return ["", f"hint {number} of {len(hints)}: {hints[number - 1]}"]
    return ["", f"{plural(len(hints), 'hint')}: --hint 1"] if hints else []


def read_hints(file: Path) -> tuple[str, ...]:
    """The strings of `HINTS = (...)` in a Python file; empty for other files."""
    if file.suffix != ".py":
        return ()
    for statement in ast.parse(read_file(file)).body:
        match statement:
            case ast.Assign(targets=[ast.Name(id="HINTS")], value=ast.Tuple() | ast.List() as hints):
                return tuple(str(hint) for hint in ast.literal_eval(hints))
    return ()


def check_parameters(own: Runnable, right: Runnable) -> None:
    """Raise Usage if the declared parameters of the two programs differ."""
    got, required = parameters(own), parameters(right)
    kinds = zip((type_ for _, type_ in got), (type_ for _, type_ in required), strict=False)
    if len(got) != len(required) or any(
        first and second and first.dtype is not second.dtype for first, second in kinds
    ):
        raise Usage(
            "the two programs take different arguments",
            required=describe_parameters(required),
            got=describe_parameters(got),
        )


def describe_parameters(parameters: Sequence[tuple[str, Type | None]]) -> str:
    """Parameters as text, with the types that are declared."""
    return f"({', '.join(name if type_ is None else f'{name}: {type_}' for name, type_ in parameters)})"


def run_program(subject: Runnable, words: tuple[str, ...], limits: Limits) -> tuple[History, list[str]]:
    """The history of a completed run, and the lines that it printed."""
    lines: list[str] = []
    history = begin_history(subject, words, StartOptions(limits=limits), World(lines.append))
    history.run()
    return history, lines


def small_arguments(subject: Runnable) -> Iterator[tuple[str, ...]]:
    """Small argument lists for a program, the smallest first, as words; raises Usage if it takes anything but
    numbers."""
    choices = [candidate_words(name, type_) for name, type_ in parameters(subject)]
    ranked = sorted(product(*map(enumerate, choices)), key=lambda choice: sum(rank for rank, _ in choice))
    return islice((tuple(word for _, word in choice) for choice in ranked), MAX_ARGUMENT_LISTS)


def candidate_words(name: str, type_: Type | None) -> tuple[str, ...]:
    """Small values of a scalar parameter, as words; raises Usage for a parameter of another type."""
    if type_ is None or type_.shape != ():
        raise Usage(f"argument {name} is not declared as a number", hint="give ARGS to run both on")
    kind: DType = type_.dtype
    if kind is bool_:
        return _BOOLEANS
    if kind in (float32, float64):
        return _FLOATS
    return _INTEGERS[:-1] if kind.__name__.startswith("u") else _INTEGERS


def describe_difference(
    own: Outcome, right: Outcome, printed_lines: Sequence[Sequence[str]], limits: Limits
) -> list[str]:
    """How the outcomes differ, as text; empty if they do not."""
    if own.status != right.status or len(own.results) != len(right.results):
        cause = [own.error.excerpt] if isinstance(own.error, Deadlock) and own.error.excerpt else []
        return [
            "the runs end differently",
            f"  required: {describe_ending(right, limits)}",
            f"  got: {describe_ending(own, limits)}",
            *cause,
        ]
    pairs = zip(own.results, right.results, strict=True)
    if not all(a is b is None or (a is not None and b is not None and is_close(a, b)) for a, b in pairs):
        return [
            "the results differ",
            f"  required: {describe_ending(right, limits)}",
            f"  got: {describe_ending(own, limits)}",
        ]
    for number, (line, right_line) in enumerate(zip(*printed_lines, strict=False), 1):
        if not are_lines_close(line, right_line):
            return [f"printed line {number} differs", f"  required: {right_line}", f"  got: {line}"]
    if len(printed_lines[0]) != len(printed_lines[1]):
        required, got = (plural(len(lines), "line") for lines in reversed(printed_lines))
        return ["they print different numbers of lines", f"  required: {required}", f"  got: {got}"]
    return []


def describe_call(history: History) -> str:
    """The function and its arguments, such as `fib(3)`, without what it captures."""
    return f"{history.graph.name}({', '.join(map(abbreviate, history.graph.without_captures(history.arguments)))})"


def describe_ending(outcome: Outcome, limits: Limits) -> str:
    """The results of a run, or why it has none."""
    if outcome.status == "Exhausted":
        return f"Exhausted: it {describe_limit(outcome, limits)}"
    if outcome.missing or outcome.status != "Returned":
        trap = f": {outcome.traps[0].message}" if outcome.traps else ""
        return f"{outcome.status}{trap}"
    return ", ".join("-" if value is None else abbreviate(value) for value in outcome.results)


def describe_limit(outcome: Outcome, limits: Limits) -> str:
    """The limit that a run reached."""
    if isinstance(outcome.error, Exhausted) and outcome.error.limit != "firings":
        return f"did not end: {outcome.error.message}"
    return f"did not end within {plural(int(limits.max_firings), 'firing')}"


TOLERANCES: dict[DType, float] = {float64: 1e-9, float32: 1e-5}

_DECIMAL = re.compile(r"(-?\d+(?:\.\d+(?:e[-+]?\d+)?|e[-+]?\d+))")


def is_close(got: Value, required: Value) -> bool:
    """Whether two values have the same type and are equal, floats up to rounding.

    >>> is_close(0.1 + 0.2, 0.3), is_close(1, 1.0), is_close(float("nan"), float("nan")), is_close(0.0, float("inf"))
    (True, False, True, False)
    """
    kind = type_of(required)
    if kind.dtype not in TOLERANCES or type_of(got) != kind:
        return is_same_value(got, required)
    return _are_all_close(got, required, TOLERANCES[kind.dtype])


def are_lines_close(got: str, required: str) -> bool:
    """Whether two printed lines are equal, floats in them up to rounding.

    >>> are_lines_close("x is 0.30000000000000004", "x is 0.3"), are_lines_close("x is 3", "x is 3.0")
    (True, False)
    """
    tolerance = TOLERANCES[float32 if "float32(" in required else float64]
    parts, required_parts = _DECIMAL.split(got), _DECIMAL.split(required)
    numbers, required_numbers = (np.array(words[1::2], dtype=np.float64) for words in (parts, required_parts))
    return parts[::2] == required_parts[::2] and _are_all_close(numbers, required_numbers, tolerance)


def _are_all_close(got: Value, required: Value, tolerance: float) -> bool:
    first, second = (np.asarray(array, dtype=np.float64) for array in (got, required))
    with np.errstate(all="ignore"):
        close = np.isfinite(second) & (np.abs(first - second) <= tolerance * np.maximum(1, np.abs(second)))
    return bool(np.all(close | (first == second) | (np.isnan(first) & np.isnan(second))))
