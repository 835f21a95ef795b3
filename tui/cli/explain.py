"""`tagloom explain`: a rule by its number, with its text, a right and a wrong example, and the error for the wrong one.

The text of a rule is in the docstring of the module that implements it. RULE_EXAMPLES has the examples, in the
text form; tests/tui/cli/test_explain.py proves that the right ones break no rule, and each wrong one its own rule.
"""

from __future__ import annotations

import inspect
import re
import textwrap
from typing import Annotated, NamedTuple

import typer

from ...core import autodiff, frontend, tag
from ...core.errors import TagloomError, Usage
from ...core.graph import contexts, lower
from ...core.graph import validate as validate_graph
from ...core.graph.graph import Graph
from ...core.graph.validate import graph_problems
from ...core.program import validate
from ...core.program.program import Program
from ...core.program.validate import program_problems
from ...core.text import parse
from ...core.transform import prune
from ...interp.engines.reference import run_graph
from ...interp.machine import cells, dead_tokens, effects, fire, k_bounds, state, step
from ...interp.outcome import outcome
from ...interp.records.documents import error_text
from .terminal import print_text

_RULE_MODULES = (
    tag,
    validate,
    validate_graph,
    contexts,
    lower,
    step,
    fire,
    state,
    outcome,
    cells,
    effects,
    k_bounds,
    dead_tokens,
    frontend,
    autodiff,
    prune,
)
_RULE = re.compile(r"^([TVLSFDP][0-9]+) +(\S.*(?:\n +\S.*)*)", re.MULTILINE)


def rule_texts() -> dict[str, str]:
    """The text of every rule, in numerical order."""
    docs = [inspect.getdoc(module) or "" for module in _RULE_MODULES]
    texts = {number: textwrap.dedent(" " * 5 + text) for doc in docs for number, text in _RULE.findall(doc)}
    return dict(sorted(texts.items(), key=lambda rule: ("TVLSFDP".index(rule[0][0]), int(rule[0][1:]))))


def explain(
    rule: Annotated[str | None, typer.Argument(metavar="RULE", help="V3, S4, ...; without it, list all rules.")] = None,
) -> None:
    """Explain a numbered rule, with a right and a wrong example."""
    print_text(list_rules() if rule is None else describe_rule(rule))


def describe_rule(number: str) -> str:
    """A rule with its examples, as text; raises Usage if no rule has this number."""
    texts, key = rule_texts(), number.upper()
    if key not in texts:
        raise Usage(f"there is no rule {number!r}", required=", ".join(texts))
    text = f"{key:5}{textwrap.indent(texts[key], ' ' * 5).lstrip()}"
    example = RULE_EXAMPLES.get(key)
    if example is None:
        return text
    right, wrong = (textwrap.indent(text.rstrip(), "    ") for text in (example.right, example.wrong))
    problem = textwrap.indent(describe_problem(example), "  ")
    return f"{text}\n\nright:\n{right}\n\nwrong:\n{wrong}\n\n{problem}"


def list_rules() -> str:
    """Every rule, a line for each."""
    return "\n".join(
        f"{number:4} {textwrap.shorten(text, 95, placeholder=' ...')}" for number, text in rule_texts().items()
    )


def describe_problem(example: RuleExample) -> str:
    """The error for the wrong example: its first problem, or how its run breaks."""
    subject = parse_one(example.wrong)
    error: TagloomError | None = rule_problems(subject)[0]
    if example.arguments and isinstance(subject, Graph):
        error = run_graph(subject, example.arguments, unchecked=True).error
    assert error is not None
    return error_text(error)


def rule_problems(subject: Program | Graph) -> list[TagloomError]:
    """Every rule that a program or graph breaks."""
    return list(program_problems(subject) if isinstance(subject, Program) else graph_problems(subject))


def parse_one(text: str) -> Program | Graph:
    """The one program or graph of a text."""
    document = parse(text)
    return document[document.names[0]]


class RuleExample(NamedTuple):
    """A right and a wrong example. With `arguments`, the wrong one breaks its rule when it is run on them."""

    right: str
    wrong: str
    arguments: tuple[int, ...] = ()


_CALLER = """func main(n: int64) -> int64 {
  y = call double n
  return y
}
func double(x: int64) -> int64 {
  y = add x, x
  return y
}
"""
_BRANCH = """func size(n: int64) -> int64 {
  negative = less n, 0
  r = cond negative, n {
    then(m: int64) {
      opposite = negative m
      yield opposite
    }
    else(m: int64) { yield m }
  }
  return r
}
"""
_SWITCH = """graph size(n: int64) -> int64 {
  small = less n, 0
  sw = switch n, small
  opposite = negative sw:0
  r = merge opposite, sw:1
  return r
}
"""
_LOOP = """graph count(n: int64) -> int64 {
  enter_i = enter[count.loop] 0 @ n
  enter_n = enter[count.loop] n
  i = merge enter_i, next_i
  m = merge enter_n, next_n
  more = less i, m
  sw_i = switch i, more
  sw_n = switch m, more
  j = add sw_i:0, 1
  next_i = next_iteration[count.loop] j
  next_n = next_iteration[count.loop] sw_n:0
  left = exit[count.loop] sw_i:1
  unused = exit[count.loop] sw_n:1
  return left:0
}
"""
_CALLS = """graph twice(n: int64) -> int64 {
  site twice.one calls f
  site twice.two calls f
  first = call[twice.one] n
  second = call[twice.two] back
  f.x = merge first, second
  f.y = add f.x, f.x
  back = return[twice.one] f.y
  end = return[twice.two] f.y
  return end
}
"""
_BACK = """graph power(x: float64, d: float64) -> float64, float64 {
  enter_y = enter[power.loop] x
  y = merge enter_y, next_y
  more = less y, 9.0
  sw = switch y, more
  twice = add sw:0, sw:0
  next_y = next_iteration[power.loop] twice
  left = exit[power.loop] sw:1
  again = reenter[power.loop] d, left:1, phase=1
  dy = merge again, dtwice
  before = back[power.loop] dy, phase=1
  dtwice = add before:0, before:0
  return left:0, before:1
}
"""
_PULLBACK = """func slope(x: float64) -> float64 {
  y = call square x
  dx = pullback y 1.0
  return dx
}
func square(x: float64) -> float64 {
  y = multiply x, x
  return y
} pullback(dy: float64) -> float64 {
  a = multiply x, dy
  dx = add a, a
  return dx
}
"""
_RACE = """graph race(x: int64) -> int64 {
  m = merge x, x
  return m
}
"""

RULE_EXAMPLES: dict[str, RuleExample] = {
    "V1": RuleExample(_BRANCH, _BRANCH.replace("opposite = negative m", "opposite = negative n")),
    "V2": RuleExample(_CALLER, _CALLER.replace("  y = add x, x\n", "  y = add x, x\n  y = add x, 1\n")),
    "V3": RuleExample(_CALLER, _CALLER.replace("add x, x", "add x")),
    "V4": RuleExample(_CALLER, _CALLER.replace("add x, x", "add 0.5, x")),
    "V5": RuleExample(_BRANCH, _BRANCH.replace("else(m: int64) { yield m }", "else(m: int64) { yield 0.5 }")),
    "V6": RuleExample(_CALLER, _CALLER.replace("call double n", "call double n, n")),
    "V7": RuleExample(_SWITCH, _SWITCH.replace("switch n, small", "switch n")),
    "V8": RuleExample(_SWITCH, _RACE.replace("merge x, x", "add x | x, 1")),
    "V9": RuleExample(_SWITCH, _SWITCH.replace("small = less n, 0", "small = add n, 0")),
    "V10": RuleExample(_SWITCH, _SWITCH.replace("r = merge opposite, sw:1", "r = add opposite, n")),
    "V11": RuleExample(_SWITCH, _RACE),
    "V12": RuleExample(_CALLS, _CALLS.replace("  f.x = merge first, second\n", "  f.x = merge first\n")),
    "V13": RuleExample(
        _LOOP, _LOOP.replace("next_n = next_iteration[count.loop] sw_n:0", "next_n = next_iteration[count.loop] sw_n:1")
    ),
    "V14": RuleExample(_LOOP, _RACE.replace("merge x, x", "add x, m")),
    "V15": RuleExample(_SWITCH, _SWITCH.replace("return r", "results r")),
    "V16": RuleExample(_BACK, _BACK.replace("reenter[power.loop] d, left:1", "reenter[power.loop] d, 3")),
    "V17": RuleExample(_PULLBACK, _PULLBACK.replace("  dx = pullback y 1.0\n  return dx", "  return y")),
    "S4": RuleExample(_SWITCH, _RACE, arguments=(1,)),
}
