"""Corpora: the cases of a text, each tried under every schedule and by the evaluator.

A case says how a run ends. What a run that becomes quiet took, in firings, is the same under every schedule; of one
that a limit or a breach ends, `in N firings` is what it takes under `waves`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from ..core.errors import Disagreement, Invalid, TagloomError, Usage, counted
from ..core.graph import Graph
from ..core.literals import read
from ..core.lower import lower
from ..core.program import Program
from ..core.text import Case, Document, print_ending, quoted
from ..core.validate import program_problems
from ..core.validate_graph import graph_problems
from ..core.value import Value, same, show
from .oracle import SCHEDULES, check
from .outcome import Outcome
from .reference import Limits, run_graph

ENDINGS = {
    "returns": "Returned",
    "traps": "Trapped",
    "exhausts": "Exhausted",
    "breaks": "Broken",
    "deadlocks": "Deadlocked",
}
"""The status of a run that ends as a case says."""


class Trial(NamedTuple):
    """A case that was tried, and how what happened differs from what it says, if it does."""

    case: Case
    difference: TagloomError | None


def try_cases(document: Document, limits: Limits | None = None) -> Iterator[Trial]:
    """Try the cases of a text, in their order. A case that cannot be tried at all, since it names nothing, or its
    arguments do not fit, differs by that error."""
    for case in document.cases:
        try:
            yield Trial(case, _tried(case, document[case.name], limits or Limits()))
        except TagloomError as error:
            error.where = error.where or case.location
            yield Trial(case, error)


def _tried(case: Case, subject: Program | Graph, limits: Limits) -> Disagreement | None:
    program = subject if isinstance(subject, Program) else None
    problems = program_problems(program) if program else []
    if isinstance(subject, Graph):
        graph = subject
        problems = graph_problems(graph)
    elif not problems:
        graph = lower(subject)
    if case.kind == "refused":
        return _refused(case, problems)
    if problems and (program is not None or case.kind not in ("breaks", "deadlocks")):
        return _differs(case, f"refused {', '.join(sorted({str(problem.rule) for problem in problems}))}")
    values = _arguments(case, graph)
    if case.kind == "exhausts":
        number, limit = case.details
        limits = Limits(**{limit: int(number)})
    if not problems:
        for verdict in check(graph, program, values, limits):
            if verdict.difference is not None:
                verdict.difference.add_note(f"  in case {case.name}, under {verdict.way}")
                return verdict.difference
    for schedule in SCHEDULES if problems or case.kind == "exhausts" else ("waves",):
        run = run_graph(graph, values, schedule=schedule, limits=limits, unchecked=True)
        if not _ends_so(case, run):
            return _differs(case, _said(run), schedule)
    return None


def _refused(case: Case, problems: Sequence[Invalid]) -> Disagreement | None:
    rules = sorted({str(problem.rule) for problem in problems})
    if case.details[0] in rules:
        return None
    return _differs(case, f"refused {', '.join(rules)}" if rules else "it keeps all rules")


def _arguments(case: Case, graph: Graph) -> list[Value]:
    wanted = graph.arguments[graph.hidden :]
    if len(wanted) != len(case.arguments):
        signature = ", ".join(f"{name}: {output.type}" for name, output in wanted)
        what = f"{graph.name} takes {counted(len(wanted), 'argument')}"
        raise Usage(what, where=case.location, required=f"{graph.name}({signature})", got=", ".join(case.arguments))
    return [read(text, output.type) for text, (_, output) in zip(case.arguments, wanted, strict=True)]


def _ends_so(case: Case, run: Outcome) -> bool:
    """Whether a run ends as the case says."""
    if run.status != ENDINGS[case.kind]:
        return False
    quiet = case.kind not in ("breaks", "exhausts")
    if case.firings not in (None, run.firings) and (quiet or run.schedule == "waves"):
        return False
    match case.kind:
        case "returns":
            types = [run.graph.nodes[number].outputs[0].type for number in run.graph.results]
            if len(types) != len(case.details):
                return False
            wanted = [read(text, type_) for text, type_ in zip(case.details, types, strict=True)]
            return all(same(mine, theirs) for mine, theirs in zip(wanted, run.results, strict=True))
        case "traps":
            return run.trapped[0].trap == case.details[0]
        case "breaks":
            return run.error is not None and run.error.rule == case.details[0]
        case "exhausts":
            return f"--max-{case.details[1]} " in str(run.error)
    return True


def _said(run: Outcome) -> str:
    """How a run ended, in the words of a case."""
    words = {status: word for word, status in ENDINGS.items()}
    said = [words[run.status]]
    match run.status:
        case "Returned":
            said.append(", ".join(show(value) for value in run.results))
        case "Trapped":
            said.append(quoted(str(run.trapped[0].trap)))
        case "Broken":
            said.append(str(run.error.rule if run.error else None))
    return " ".join([*said, f"in {counted(run.firings, 'firing')}"])


def _differs(case: Case, got: str, schedule: str | None = None) -> Disagreement:
    what = f"{case.name} does not end as its case says"
    wanted = print_ending(case)
    return Disagreement(what, where=case.location, required=wanted, got=f"{got}, under {schedule}" if schedule else got)
