"""The report of `tagloom check --every-schedule`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ...core.errors import Disagreement, TagloomError, plural
from ...core.graph.graph import Graph
from ...core.value import Value, format_value
from ...interp.oracle.all_schedules import ChooseTokens, Exploration, ScheduleEnding, explore

_MAX_ENDINGS = 8
"""The most endings that are listed."""


def explore_schedules(
    graph: Graph, arguments: Sequence[Value], choices: ChooseTokens, states: int, **options: Any
) -> tuple[str, TagloomError | None]:
    """Run a graph under every schedule: the report, and an error if there are several endings or all are Broken."""
    found = explore(graph, arguments, choices=choices, states=states, **options)
    first, *others = found.endings
    if not others:
        said = (
            f"{'every':10} {'agrees':8} {first.outcome.status:10} {_describe_ending(first)}\n{_describe_counts(found)}"
        )
        return said, first.outcome.error if first.outcome.status == "Broken" else None
    lines = [
        f"{'every':10} {'differs':8} {each.outcome.status:10} {_describe_ending(each)}, {_describe_schedules(each)}"
        for each in found.endings[:_MAX_ENDINGS]
    ]
    twice = all(each.outcome.has_double_write for each in found.endings)
    difference = Disagreement(
        "a cell is put more than once, and which value comes first is the schedule's choice"
        if twice
        else "the endings differ",
        where=f"{graph.name} under every schedule",
        required=f"{first.outcome.status} {_describe_ending(first)}, {_describe_schedules(first)}",
        got=f"{others[0].outcome.status} {_describe_ending(others[0])}, {_describe_schedules(others[0])}",
        hint="the numbers are the positions in the flight of the tokens that are delivered, as a tl.Script has them",
    )
    return "\n".join([*lines, _describe_counts(found)]), difference


def _describe_ending(ending: ScheduleEnding) -> str:
    run = ending.outcome
    results = ", ".join("-" if value is None else format_value(value) for value in run.results)
    return f"{results} after {plural(run.firings, 'firing')}"


def _describe_schedules(ending: ScheduleEnding) -> str:
    """The number of schedules with this ending, and the positions that the first of them chooses."""
    return f"{_format_number(ending.schedules)} as by {' '.join(map(str, ending.script))}"


def _describe_counts(found: Exploration) -> str:
    counts = (
        f"{_format_number(found.schedules)} schedule{'s' * (found.schedules != 1)}",
        plural(found.states, "state"),
    )
    return ", ".join([*counts, plural(len(found.endings), "ending")])


def _format_number(number: int) -> str:
    """A number that may have thousands of digits.

    >>> _format_number(12345), _format_number(10**5000)
    ('12,345', 'about 10^5000')
    """
    return f"{number:,}" if number < 10**50 else f"about 10^{round((number.bit_length() - 0.5) * 0.30102999566)}"
