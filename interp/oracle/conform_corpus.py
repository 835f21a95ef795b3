"""A corpus as a suite for backends: the programs of the cases of texts that return or trap."""

from __future__ import annotations

from collections.abc import Iterator

from ...core.graph.lower import lower
from ...core.program.program import Program
from ...core.program.validate import program_problems
from ...core.text import Document, print_case
from ...core.text.literals import parse_value
from .backend_process import Backend
from .corpus import read_argument_words
from .judge import Judgement, judge, run_reference


def run_corpus(backend: Backend, document: Document) -> Iterator[tuple[str, Program, Judgement]]:
    """Each case of a text that returns or traps: its words, its program, and the judgement on it. Cases of graphs, and
    those that must be refused, break or not end, are the reference's own."""
    for case in document.cases:
        program = document[case.name]
        if not isinstance(program, Program) or case.kind not in ("returns", "traps") or program_problems(program):
            continue
        parameters = [(each.name, each.type) for each in program.main.body.parameters]
        values = read_argument_words(
            program.entry, parameters, case.arguments, lambda _, type_, word: parse_value(word, type_)
        )
        outcome = run_reference(program, values, graph=lower(program))
        judgement = judge(program, values, outcome, backend.run(program, values))
        yield print_case(case).removeprefix("case "), program, judgement
