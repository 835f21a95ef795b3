"""A corpus as a suite for backends: the programs of the cases of texts that return, trap, deadlock, or are refused."""

from __future__ import annotations

from collections.abc import Iterator

from ...core.graph.lower import lower
from ...core.program.program import Program
from ...core.program.validate import program_problems
from ...core.text import Case, Document, print_case
from ...core.text.literals import parse_value, read_argument_words
from .backend_process import Backend
from .judge import Judgement, judge, judge_refusal, run_reference


def run_corpus(backend: Backend, document: Document) -> Iterator[tuple[str, Program, Judgement]]:
    """Run the cases of a text that apply to a backend; yields the words, the program and the judgement of each. Cases
    that must be refused apply only to backends that refuse invalid programs. Cases of graphs, and cases that break a
    rule or exhaust a limit, apply only to the reference."""
    backend.start()
    for case in document.cases:
        program = document[case.name]
        if isinstance(program, Program):
            judgement = judge_corpus_case(backend, case, program)
            if judgement is not None:
                yield print_case(case).removeprefix("case "), program, judgement


def judge_corpus_case(backend: Backend, case: Case, program: Program) -> Judgement | None:
    """The judgement on a case of a program; None if the case does not apply to this backend."""
    problems = program_problems(program)
    if case.kind == "refused":
        rule = case.details[0]
        if "invalid" not in backend.endings or not any(problem.rule == rule for problem in problems):
            return None
        return judge_refusal(rule, backend.run(program, None))
    if case.kind not in ("returns", "traps", "deadlocks") or problems:
        return None
    parameters = [(parameter.name, parameter.type) for parameter in program.main.body.parameters]
    values = read_argument_words(
        program.entry, parameters, case.arguments, lambda _, type_, word: parse_value(word, type_)
    )
    outcome = run_reference(program, values, graph=lower(program))
    return judge(program, values, outcome, backend.run(program, values), backend.endings)
