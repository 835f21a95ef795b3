"""Explaining a rule by its number: its words, a right and a wrong example, and what is said of the wrong one.

The words are those of the docstring of the module that keeps the rule; nothing is written twice.
"""

from __future__ import annotations

import inspect
import re
import textwrap
from types import ModuleType

from ..core import derive, frontend, lower, partial, place, tag, validate, validate_graph
from ..core.errors import TagloomError, Usage
from ..core.graph import Graph
from ..core.program import Program
from ..core.text import parse
from ..core.validate import program_problems
from ..core.validate_graph import graph_problems
from ..interp import acts, bounds, cells, fire, outcome, state, step
from ..interp.record import words
from ..interp.reference import run_graph
from .lessons import LESSONS, Lesson

_KEEPERS = (
    tag,
    validate,
    validate_graph,
    place,
    lower,
    step,
    fire,
    state,
    outcome,
    cells,
    acts,
    bounds,
    frontend,
    derive,
    partial,
)
_RULE = re.compile(r"^([TVLSFDP][0-9]+) +(\S.*(?:\n +\S.*)*)", re.MULTILINE)


def rules() -> dict[str, str]:
    """The words of every rule, by number, in the order in which they are numbered."""
    found = {number: textwrap.dedent(" " * 5 + said) for m in _KEEPERS for number, said in _RULE.findall(_doc(m))}
    return dict(sorted(found.items(), key=lambda rule: ("TVLSFDP".index(rule[0][0]), int(rule[0][1:]))))


def _doc(module: ModuleType) -> str:
    return inspect.getdoc(module) or ""


def explain(number: str) -> str:
    """A rule with its examples, as text; raises Usage where no rule has this number."""
    known = rules()
    wanted = number.upper()
    if wanted not in known:
        raise Usage(f"no rule is called {number!r}", required=", ".join(known))
    said = f"{wanted:5}{textwrap.indent(known[wanted], ' ' * 5).lstrip()}"
    lesson = LESSONS.get(wanted)
    return said if lesson is None else "\n\n".join([said, *_examples(lesson)])


def listing() -> str:
    """Every rule, a line each."""
    return "\n".join(f"{number:4} {textwrap.shorten(said, 95, placeholder=' ...')}" for number, said in rules().items())


def _examples(lesson: Lesson) -> list[str]:
    return [
        f"right:\n{textwrap.indent(lesson.right.rstrip(), '    ')}",
        f"wrong:\n{textwrap.indent(lesson.wrong.rstrip(), '    ')}",
        textwrap.indent(complaint(lesson), "  "),
    ]


def complaint(lesson: Lesson) -> str:
    """What is said of the wrong example: its first problem, or how its run breaks."""
    subject = parse_one(lesson.wrong)
    error: TagloomError | None = problems(subject)[0]
    if lesson.run and isinstance(subject, Graph):
        error = run_graph(subject, lesson.run, unchecked=True).error
    assert error is not None
    return words(error)


def problems(subject: Program | Graph) -> list[TagloomError]:
    """Every rule that a program or graph breaks."""
    return list(program_problems(subject) if isinstance(subject, Program) else graph_problems(subject))


def parse_one(text: str) -> Program | Graph:
    """The one program or graph of a text."""
    document = parse(text)
    return document[document.names[0]]
