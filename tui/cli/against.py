"""`tagloom check FILE --against REFERENCE`: comparison with a correct program, and the first difference explained."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from contextlib import redirect_stdout
from itertools import islice, product

from ...core.dtypes import DType, float32, float64
from ...core.dtypes import bool as bool_
from ...core.errors import Exhausted, Usage, plural
from ...core.types import Type
from ...core.value import format_value
from ...core.world import World
from ...interp.engines.limits import Limits
from ...interp.history.history import History
from ...interp.outcome.outcome import Outcome
from ..load import Runnable, find_program, parameters
from ..run_start import StartOptions, begin_history
from .tolerance import are_lines_close, is_close

MAX_ARGUMENT_LISTS = 24
"""The most argument lists to try when none is given."""

DEFAULT_FIRINGS = 100_000
"""The default limit: an exercise that takes more firings counts as one that does not end."""

_INTEGERS = ("0", "1", "2", "3", "5", "8", "-1")
_FLOATS = ("0.0", "1.0", "2.5", "-3.0")
_BOOLEANS = ("true", "false")


def check_against(target: str, reference: str, words: Sequence[str], limits: Limits) -> int:
    """Run both programs on the arguments, or on small ones if there are none, and print a line for each list; return 1
    if they differ, with the first difference explained, and also if the reference does not end, so that nothing was
    decided.

    Each file is loaded once; what its Python prints while it is loaded and traced goes to stderr. Raises Usage if there
    are no such programs, or if arguments are needed.
    """
    with redirect_stdout(sys.stderr):
        both = find_program(target), find_program(reference)
    _check_parameters(*both)
    agreed = 0
    for each in [tuple(words)] if words else list(small_arguments(both[1])):
        with redirect_stdout(sys.stderr):
            runs, printed = zip(*(_run_program(subject, each, limits) for subject in both), strict=True)
        mine, right = (history.outcome() for history in runs)
        if right.status == "Exhausted":
            print(f"{'undecided':9} {_describe_call(runs[1])}: the reference {_describe_limit(right, limits)}")
            continue
        said = _describe_difference(mine, right, printed, limits)
        if not said:
            print(f"{'agrees':9} {_describe_call(runs[1])} {_describe_ending(right, limits)}")
        else:
            print(f"{'differs':9} {_describe_call(runs[1])} the reference: {_describe_ending(right, limits)}")
            print("\n".join([*said, *_explain_difference(*runs)]), file=sys.stderr)
            return 1
        agreed += 1
    print(f"{plural(agreed, 'run')} agree{'s' * (agreed == 1)}" if agreed else "nothing was decided")
    return int(not agreed)


def _check_parameters(mine: Runnable, right: Runnable) -> None:
    """Raise Usage if the two take different parameters, as far as they declare them."""
    got, required = parameters(mine), parameters(right)
    kinds = zip((type_ for _, type_ in got), (type_ for _, type_ in required), strict=False)
    if len(got) != len(required) or any(one and other and one.dtype is not other.dtype for one, other in kinds):
        raise Usage(
            "the two take different arguments",
            required=_describe_parameters(required),
            got=_describe_parameters(got),
        )


def _describe_parameters(takes: Sequence[tuple[str, Type | None]]) -> str:
    return f"({', '.join(each if type_ is None else f'{each}: {type_}' for each, type_ in takes)})"


def _run_program(subject: Runnable, words: tuple[str, ...], limits: Limits) -> tuple[History, list[str]]:
    """The history of a completed run, and the lines that it printed."""
    lines: list[str] = []
    history = begin_history(subject, words, StartOptions(limits=limits), World(lines.append))
    history.run()
    return history, lines


def small_arguments(subject: Runnable) -> Iterator[tuple[str, ...]]:
    """Small argument lists for a program, the smallest first, as words; raises Usage if it takes anything but
    numbers."""
    choices = [_candidate_words(name, type_) for name, type_ in parameters(subject)]
    ranked = sorted(product(*map(enumerate, choices)), key=lambda each: sum(rank for rank, _ in each))
    return islice((tuple(word for _, word in each) for each in ranked), MAX_ARGUMENT_LISTS)


def _candidate_words(name: str, type_: Type | None) -> tuple[str, ...]:
    if type_ is None or type_.shape != ():
        raise Usage(f"nobody says what the argument {name} may be", hint="name ARGS to run both on")
    kind: DType = type_.dtype
    if kind is bool_:
        return _BOOLEANS
    if kind in (float32, float64):
        return _FLOATS
    return _INTEGERS[:-1] if kind.__name__.startswith("u") else _INTEGERS


def _describe_difference(mine: Outcome, right: Outcome, printed: Sequence[Sequence[str]], limits: Limits) -> list[str]:
    """How the outcomes differ, as text; empty if they do not."""
    if mine.status != right.status or len(mine.results) != len(right.results):
        return [
            "the runs end differently",
            f"  required: {_describe_ending(right, limits)}",
            f"  got: {_describe_ending(mine, limits)}",
        ]
    pairs = zip(mine.results, right.results, strict=True)
    if not all(a is b is None or (a is not None and b is not None and is_close(a, b)) for a, b in pairs):
        return [
            "the results differ",
            f"  required: {_describe_ending(right, limits)}",
            f"  got: {_describe_ending(mine, limits)}",
        ]
    for number, (got, wanted) in enumerate(zip(*printed, strict=False), 1):
        if not are_lines_close(got, wanted):
            return [f"line {number} that is printed differs", f"  required: {wanted}", f"  got: {got}"]
    if len(printed[0]) != len(printed[1]):
        required, got = (plural(len(lines), "line") for lines in reversed(printed))
        return ["they print more or less", f"  required: {required}", f"  got: {got}"]
    return []


def _explain_difference(mine: History, right: History) -> list[str]:
    """The first difference of the two runs, explained."""
    found = mine.ask.first_difference(right)
    if found is None:
        return []
    return ["", "first is what was checked, second the reference:", str(found)]


def _describe_call(history: History) -> str:
    return f"{history.graph.name}({', '.join(map(format_value, history.arguments))})"


def _describe_ending(outcome: Outcome, limits: Limits) -> str:
    if outcome.status == "Exhausted":
        return f"Exhausted: it {_describe_limit(outcome, limits)}"
    if outcome.missing or outcome.status != "Returned":
        trap = f": {outcome.traps[0].message}" if outcome.traps else ""
        return f"{outcome.status}{trap}"
    return ", ".join("-" if value is None else format_value(value) for value in outcome.results)


def _describe_limit(outcome: Outcome, limits: Limits) -> str:
    """The limit that a run reached."""
    if isinstance(outcome.error, Exhausted) and outcome.error.limit != "firings":
        return f"did not end: {outcome.error.message}"
    return f"did not end within {plural(limits.firings, 'firing')}"
