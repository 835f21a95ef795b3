"""`tagloom explain`: a rule by its number, with its text, a right and a wrong example, and the error for the wrong one.

The text is that of the docstring of the module that keeps the rule; nothing is written twice.
"""

from __future__ import annotations

import inspect
import re
import textwrap
from types import ModuleType

from ...core import autodiff as derive
from ...core import frontend, tag
from ...core.errors import TagloomError, Usage
from ...core.graph import contexts as place
from ...core.graph import lower
from ...core.graph import validate as validate_graph
from ...core.graph.graph import Graph
from ...core.graph.validate import graph_problems
from ...core.program import validate
from ...core.program.program import Program
from ...core.program.validate import program_problems
from ...core.text import parse
from ...core.transform import prune as partial
from ...interp.engines.reference import run_graph
from ...interp.machine import cells, fire, state, step
from ...interp.machine import effects as acts
from ...interp.machine import k_bounds as bounds
from ...interp.outcome import outcome
from ...interp.records.outcome_json import error_text
from .lessons import RULE_EXAMPLES, RuleExample

_RULE_MODULES = (
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


def rule_texts() -> dict[str, str]:
    """The text of every rule, in numerical order."""
    found = {number: textwrap.dedent(" " * 5 + said) for m in _RULE_MODULES for number, said in _RULE.findall(_doc(m))}
    return dict(sorted(found.items(), key=lambda rule: ("TVLSFDP".index(rule[0][0]), int(rule[0][1:]))))


def _doc(module: ModuleType) -> str:
    return inspect.getdoc(module) or ""


def explain(number: str) -> str:
    """A rule with its examples, as text; raises Usage if no rule has this number."""
    known = rule_texts()
    wanted = number.upper()
    if wanted not in known:
        raise Usage(f"no rule is called {number!r}", required=", ".join(known))
    said = f"{wanted:5}{textwrap.indent(known[wanted], ' ' * 5).lstrip()}"
    lesson = RULE_EXAMPLES.get(wanted)
    return said if lesson is None else "\n\n".join([said, *_example_sections(lesson)])


def list_rules() -> str:
    """Every rule, a line for each."""
    return "\n".join(
        f"{number:4} {textwrap.shorten(said, 95, placeholder=' ...')}" for number, said in rule_texts().items()
    )


def _example_sections(lesson: RuleExample) -> list[str]:
    return [
        f"right:\n{textwrap.indent(lesson.right.rstrip(), '    ')}",
        f"wrong:\n{textwrap.indent(lesson.wrong.rstrip(), '    ')}",
        textwrap.indent(describe_problem(lesson), "  "),
    ]


def describe_problem(lesson: RuleExample) -> str:
    """The error for the wrong example: its first problem, or how its run breaks."""
    subject = parse_one(lesson.wrong)
    error: TagloomError | None = rule_problems(subject)[0]
    if lesson.arguments and isinstance(subject, Graph):
        error = run_graph(subject, lesson.arguments, unchecked=True).error
    assert error is not None
    return error_text(error)


def rule_problems(subject: Program | Graph) -> list[TagloomError]:
    """Every rule that a program or graph breaks."""
    return list(program_problems(subject) if isinstance(subject, Program) else graph_problems(subject))


def parse_one(text: str) -> Program | Graph:
    """The one program or graph of a text."""
    document = parse(text)
    return document[document.names[0]]
