"""Corpora: texts with cases. Each case is run under the schedules of `check`, and by the evaluator.

A case says how a run must end. If the run becomes quiescent, its number of firings is the same under every schedule; if
a limit or a broken rule ends it, `in N firings` applies to `waves` only.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from ...core.errors import Disagreement, Exhausted, Invalid, TagloomError, plural
from ...core.graph.graph import Graph
from ...core.graph.lower import lower
from ...core.graph.validate import graph_problems
from ...core.program.program import Program
from ...core.program.validate import program_problems
from ...core.text import Case, Document, print_ending, quote_string
from ...core.text.literals import parse_value, read_argument_words
from ...core.value import format_value, is_same_value
from ...core.world import World
from ..engines.limits import Limits
from ..engines.reference import run_graph
from ..outcome.outcome import Outcome
from .check import SCHEDULES, check

STATUS_OF_ENDING = {
    "returns": "Returned",
    "traps": "Trapped",
    "exhausts": "Exhausted",
    "breaks": "Broken",
    "deadlocks": "Deadlocked",
}
"""The status of a run, by the ending that a case expects."""


class Trial(NamedTuple):
    """A case that was tried, and the difference between its run and its expectation, if any."""

    case: Case
    difference: TagloomError | None


def try_cases(document: Document, limits: Limits | None = None) -> Iterator[Trial]:
    """Try the cases of a text, in order. If a case cannot run, since its name is unknown or its arguments do not fit,
    that error is its difference."""
    for case in document.cases:
        try:
            yield Trial(case, try_case(case, document[case.name], limits or Limits()))
        except TagloomError as error:
            error.where = error.where or case.location
            yield Trial(case, error)


def try_case(case: Case, subject: Program | Graph, limits: Limits) -> Disagreement | None:
    """The first difference between the runs of a case and its expectation; None if there is none."""
    program = subject if isinstance(subject, Program) else None
    problems = program_problems(program) if program else []
    if isinstance(subject, Graph):
        graph = subject
        problems = graph_problems(graph)
    elif not problems:
        graph = lower(subject)
    if case.kind == "refused":
        rules = _rule_names(problems)
        return None if case.details[0] in rules else case_disagreement(case, describe_refusal(rules), problems=problems)
    if problems and (program is not None or case.kind not in ("breaks", "deadlocks")):
        return case_disagreement(case, describe_refusal(_rule_names(problems)), problems=problems)
    parameters = [(name, output.type) for name, output in graph.arguments[graph.hidden_count :]]
    values = read_argument_words(
        graph.name, parameters, case.arguments, lambda _, type_, word: parse_value(word, type_)
    )
    if case.kind == "exhausts":
        number, limit = case.details
        limits = Limits(**{limit: int(number)})
    if not problems:
        for verdict in check(graph, program, values, limits):
            if verdict.difference is not None:
                verdict.difference.add_note(f"  in case {case.name}, under {verdict.variant}")
                return verdict.difference
    for schedule in SCHEDULES if problems or case.kind == "exhausts" else ("waves",):
        world = World(lambda line: None)
        run = run_graph(graph, values, schedule=schedule, limits=limits, unchecked=True, world=world)
        if not matches_case(case, run):
            return case_disagreement(case, describe_ending(run), schedule)
    return None


def unexpected_problems(document: Document) -> list[Invalid]:
    """The problems of the functions and graphs of a text, except of those that a case expects to be refused or runs
    unchecked, and of the functions that these call."""
    excluded: set[str] = set()
    for case in document.cases:
        if case.kind in ("refused", "breaks", "deadlocks") and case.name in document.names:
            subject = document[case.name]
            excluded |= {case.name} if isinstance(subject, Graph) else {function.name for function in subject.functions}
    program = document.program
    functions = [function for function in program.functions if function.name not in excluded] if program else []
    problems = program_problems(program, functions) if program else []
    return problems + [
        problem for graph in document.graphs if graph.name not in excluded for problem in graph_problems(graph)
    ]


def _rule_names(problems: Sequence[Invalid]) -> list[str]:
    return sorted({str(problem.rule) for problem in problems})


def describe_refusal(rules: Sequence[str]) -> str:
    """The broken rules in the words of a case, or that there are none."""
    return f"refused {', '.join(rules)}" if rules else "it breaks no rule"


def matches_case(case: Case, run: Outcome) -> bool:
    """Whether a run ends as the case expects."""
    if run.status != STATUS_OF_ENDING[case.kind]:
        return False
    is_quiescent = case.kind not in ("breaks", "exhausts")
    if case.firings not in (None, run.firings) and (is_quiescent or run.schedule == "waves"):
        return False
    match case.kind:
        case "returns":
            types = [run.graph.nodes[number].outputs[0].type for number in run.graph.results]
            if len(types) != len(case.details):
                return False
            expected = [parse_value(text, type_) for text, type_ in zip(case.details, types, strict=True)]
            return all(is_same_value(value, result) for value, result in zip(expected, run.results, strict=True))
        case "traps":
            return run.trap_events[0].trap == case.details[0]
        case "breaks":
            return run.error is not None and run.error.rule == case.details[0]
        case "exhausts":
            return isinstance(run.error, Exhausted) and run.error.limit == case.details[1]
    return True


def describe_ending(run: Outcome) -> str:
    """How a run ended, in the words of a case."""
    words = {status: word for word, status in STATUS_OF_ENDING.items()}
    parts = [words[run.status]]
    match run.status:
        case "Returned":
            parts.append(", ".join(format_value(value) for value in run.results))
        case "Trapped":
            parts.append(quote_string(str(run.trap_events[0].trap)))
        case "Broken":
            parts.append(str(run.error.rule if run.error else None))
    return " ".join([*parts, f"in {plural(run.firings, 'firing')}"])


def case_disagreement(
    case: Case, ending_text: str, schedule: str | None = None, *, problems: Sequence[Invalid] = ()
) -> Disagreement:
    """The disagreement of a case; for a refused graph, with the first problem as a note."""
    message, ending = f"{case.name} does not end as its case says", print_ending(case)
    description = f"{ending_text}, under {schedule}" if schedule else ending_text
    difference = Disagreement(message, where=case.location, required=ending, got=description)
    for problem in problems[:1]:
        difference.add_note(f"  {problem}".replace("\n", "\n  "))
    return difference
