"""Cells, effects, random numbers and bounds in the text and JSON forms: they survive a round trip, and mistakes are
reported."""

from __future__ import annotations

import json
import random
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import tagloom as tl
from hypothesis import given, settings
from support.generators.effect_programs import act_cases
from support.generators.generator import Case
from support.generators.json_edits import FILL, PROGRAMS, TWICE
from support.observe.event_text import check_words
from tagloom.core.graph.graph import Graph
from tagloom.core.graph.lower import lower
from tagloom.core.graph.validate import graph_problems
from tagloom.core.json.cursor import JsonCursor
from tagloom.core.json.value import (
    read_literal,
    read_token_value,
    read_type,
    type_to_json,
    value_to_json,
    value_to_json_text,
)
from tagloom.core.ops.effects import EFFECT_OPS
from tagloom.core.ops.type_rules import TYPE_ATTRIBUTES
from tagloom.core.program.program import Program
from tagloom.core.program.validate import program_problems
from tagloom.core.tag import ROOT, Site
from tagloom.core.text import parse, print_document
from tagloom.core.types import Handle, handle_type
from tagloom.core.value import is_same_value

EFFECTS = tl.parse_program("""
entry main
func told(n: int64, c: cells[float64[2]]) -> int64 {
  d = put c, n, [0.5, nan]
  p = print n, n, text="{} \\"of\\" {{{}}} é"
  x = callback n, function="f", returns=float64[2, ?]
  y = callback function="g", returns=bool[...]
  return n
}
func main(n: int64) -> float64[?, 2], int64[2, 0], float64 {
  c = cells n, element=float64[2]
  r = while_loop n, parallel_iterations=3 {
    while(n: int64) {
      p = greater n, 0
      b = breakpoint p
      yield b
    }
    do(n: int64) {
      m = subtract n, 1
      yield m
    }
  }
  t = call told r, c
  v = get c, t
  a = collect c
  z = cell_zeros c
  i = integers 0, 10, shape=[2, 0]
  o = permutation n
  w = normal shape=[]
  return a, i, w
}
""")
MADE = (FILL, TWICE, EFFECTS)


def test_every_effect_op_occurs() -> None:
    """These programs and their graphs contain every effect op, and every attribute that is a type."""
    ops = {node.op for program in MADE for f in program.functions for node in f.body.walk()}
    ops |= {node.op for program in MADE for node in lower(program).nodes}
    assert ops >= set(EFFECT_OPS)
    assert {name for row in EFFECT_OPS.values() for name in row.attributes} >= set(TYPE_ATTRIBUTES)


@pytest.mark.parametrize("program", MADE, ids=lambda program: program.entry)
def test_effect_ops_survive_a_round_trip(program: Program) -> None:
    """parse(print(x)) == x and from_json(to_json(x)) == x, for each program and its graph, which are valid."""
    graph = lower(program)
    assert program_problems(program) == [] and graph_problems(graph) == []
    assert tl.parse_program(tl.print_program(program)) == program
    assert tl.parse_graph(tl.print_graph(graph)) == graph
    for subject in (program, graph):
        assert tl.from_json(json.dumps(tl.to_json(subject), allow_nan=False)) == subject


STRANGE: list[Any] = [
    tl.int64, tl.Type(tl.int64), tl.Type(tl.float64, (2, None)), tl.Type(tl.bool, None), handle_type(tl.Type(tl.int8)),
    handle_type(handle_type(tl.Type(tl.int8))), "", "abc", "{}", "{0.__class__}", "{", "a\nb", 0, -1, 3, 2**60, 2**80,
    True, None, 0.5, float("nan"), (), (2, 3), (-1,), (0, "x"), ((1,),), (2**40, 2**40), object(),
]  # fmt: skip


@pytest.mark.full
def test_strange_attributes() -> None:
    """For any value as an attribute of an effect op, both forms write it and read it back, or refuse it with their own
    error; validation reports it in words, or accepts it."""
    dice, written, broken = random.Random(0), 0, 0
    for program in MADE:
        graph = lower(program)
        places = [number for number, node in enumerate(graph.nodes) if node.attributes]
        for number in places:
            for strange in STRANGE:
                node = graph.nodes[number]
                names = [
                    dice.choice([name, name, dice.choice(["dtype", "element", "k"])]) for name, _ in node.attributes
                ]
                attributes = tuple(dict.fromkeys(names, strange).items())
                nodes = (*graph.nodes[:number], replace(node, attributes=attributes), *graph.nodes[number + 1 :])
                changed = replace(graph, nodes=nodes)
                check_words(graph_problems(changed))
                broken += bool(graph_problems(changed))
                written += surviving_forms(changed)
    assert written > 200 and broken > 200


def surviving_forms(subject: Graph) -> int:
    """The number of forms in which the subject survives a round trip; other forms must refuse it properly."""
    count = 0
    for write, read in ((tl.print_graph, tl.parse_graph), (tl.to_json, tl.from_json)):
        try:
            text = write(subject)
        except tl.Usage:
            continue
        assert repr(read(text)) == repr(subject), "by repr, since a nan equals nothing"
        count += 1
    return count


HANDLES = [
    Handle(3, ROOT, 0, handle_type(tl.Type(tl.int64)).dtype),
    Handle(0, ROOT.child(Site("f", "g", "call"), 0).child(Site("f", "l", "loop"), 2**40), 2**62,
           handle_type(tl.Type(tl.float32, (2, None))).dtype),
]  # fmt: skip


@pytest.mark.parametrize("handle", HANDLES, ids=str)
def test_handles_survive_a_round_trip(handle: Handle) -> None:
    """A token may carry a handle; a literal may not be one."""
    document = json.loads(value_to_json_text(handle))
    assert document == value_to_json(handle)
    again = read_token_value(JsonCursor(document))
    assert is_same_value(again, handle) and again == handle and again.dtype is handle.dtype
    with pytest.raises(tl.Malformed, match="no keys but"):
        read_literal(JsonCursor(document))


def test_handles_differ_by_all_fields() -> None:
    """Handles are equal if node, tag, size and type are."""
    one = HANDLES[0]
    others = [
        replace(one, node=4), replace(one, size=1),
        replace(one, tag=HANDLES[1].tag), replace(one, dtype=HANDLES[1].dtype),
    ]  # fmt: skip
    assert is_same_value(one, replace(one)) and not any(is_same_value(one, other) for other in others)


@pytest.mark.parametrize("element", [tl.Type(tl.bool), tl.Type(tl.float32, (2, None)), tl.Type(tl.int8, None)], ids=str)
def test_types_of_handles_survive_a_round_trip(element: tl.Type) -> None:
    """Types of handles have both forms; handles of handles have none."""
    type_ = handle_type(element)
    assert read_type(JsonCursor(json.loads(json.dumps(type_to_json(type_))))) == type_
    text = f"func f(c: {type_}) -> int64 {{\n  return 1\n}}"
    assert tl.parse_program(text).main.body.parameters[0].type == type_
    with pytest.raises(tl.Usage, match="cannot hold handles of cells"):
        type_to_json(handle_type(type_))


INT64 = {"dtype": "int64", "shape": []}
CELLS = {"dtype": "cells", "element": INT64}
WRONG_TYPES: list[tuple[Any, str, str]] = [
    ({"dtype": "cells"}, "$", "the key shape"),
    ({"dtype": "cells", "shape": []}, "$.dtype", "one of bool"),
    ({"dtype": "int64", "element": INT64}, "$.dtype", "one of cells"),
    ({**CELLS, "shape": []}, "$", "no keys but dtype, element"),
    ({"dtype": "cells", "element": CELLS}, "$.element", "the key shape"),
    ({"dtype": "cells", "element": None}, "$.element", "an object"),
]
STEP = {"function": "f", "name": "g", "kind": "loop", "iteration": 0}
WRONG_HANDLES: list[tuple[Any, str, str]] = [
    ({"node": -1, "tag": [], "size": 1}, "$.data.node", "an integer from 0 up"),
    ({"node": 0, "tag": 0, "size": 1}, "$.data.tag", "a list"),
    ({"node": 0, "tag": [STEP | {"iteration": -1}], "size": 1}, "$.data.tag[0].iteration", "an integer from 0 up"),
    ({"node": 0, "tag": [STEP | {"kind": "cond"}], "size": 1}, "$.data.tag[0].kind", "one of call, loop"),
    ({"node": 0, "tag": [{}], "size": 1}, "$.data.tag[0]", "the key function"),
    ({"node": 0, "tag": [], "size": True}, "$.data.size", "an integer from 0 up"),
    ({"node": 0, "tag": []}, "$.data", "the key size"),
]


@pytest.mark.parametrize(("document", "where", "required"), WRONG_TYPES)
def test_wrong_types_of_handles(document: Any, where: str, required: str) -> None:
    """A wrong type is refused with its place."""
    with pytest.raises(tl.Malformed) as raised:
        read_type(JsonCursor(document))
    assert raised.value.where == where and str(raised.value.required).startswith(required)


@pytest.mark.parametrize(("data", "where", "required"), WRONG_HANDLES)
def test_wrong_handles(data: Any, where: str, required: str) -> None:
    """A wrong handle is refused with its place."""
    with pytest.raises(tl.Malformed) as raised:
        read_token_value(JsonCursor({**CELLS, "data": data}))
    assert raised.value.where == where and str(raised.value.required).startswith(required)


def test_attributes_of_json_are_checked() -> None:
    """A wrong type is refused when it is read; a wrong shape breaks a rule."""
    text = json.dumps(tl.to_json(FILL))
    for strange in ('"int64"', "3", "null", "{}", '{"dtype": "int64"}'):
        with pytest.raises(tl.Malformed) as raised:
            tl.from_json(text.replace('{"element": {"dtype": "int64", "shape": []}}', f'{{"element": {strange}}}'))
        assert "attributes[" in str(raised.value.where)
    for strange in ("[-1]", "[0.5]", "[[1]]", '["x"]', "3", "null", f"[{2**53 + 1}]"):
        try:
            program = tl.from_json(text.replace('{"shape": [2]}', f'{{"shape": {strange}}}'))
        except tl.Malformed:
            continue
        assert isinstance(program, Program)
        problems = program_problems(program)
        check_words(problems)
        assert [problem.rule for problem in problems] == ["V4"]


LOOP = "while_loop n{} {{\n  while(n: int64) {{\n p = less n, 3\n yield p\n }}\n do(n: int64) {{ yield n }}\n}}"
COND = "cond true, n, k=1 {\n then(n: int64) { yield n }\n else(n: int64) { yield n }\n}"
CELL = "c = cells 3, element=int64\n  y = "
BROKEN: list[tuple[str, str, str, str, str]] = [
    ("c = cells 3\n  y = get c, 0", "V3", "element", "none", "`y = cells a, element=float64`"),
    ("c = cells 3, int64\n  y = get c, 0", "V1", "n", "int64", "write `element=int64`"),
    ("c = cells 3, dtype=int64\n  y = get c, 0", "V3", "element", "dtype", "element=float64"),
    ('c = cells 3, element="x"\n  y = get c, 0', "V4", "the type of an element", '"x"', "element=float64"),
    ("c = cells 3, element=[2]\n  y = get c, 0", "V4", "the type of an element", "[2]", "element=float64"),
    ("c = cells 3, element=cells[bool]\n  y = get c, 0", "V4", "of a number or an array", "cells[bool]", "element="),
    ("c = cells 3.5, element=int64\n  y = get c, 0", "V4", "int64", "float64", "cells a"),
    (CELL + "store c, 0, 1", "V3", "an op", "store", "`b = put a, i, v`"),
    (CELL + "get c, 0.5", "V4", "int64", "cells[int64], float64", "dtype=int64"),
    (CELL + "get 0, c", "V4", "cells[...]", "int64, cells[int64]", "the first operand is a handle"),
    ("y = collect n", "V4", "cells[...]", "int64", "`c = cells 3, element=float64`"),
    (CELL + "add c, 1", "V4", "integers that fit into a signed dtype", "cells[int64], int64", "get and collect"),
    (CELL + 'print c, text="{}"', "V4", "numbers or arrays", "cells[int64]", "print a"),
    ('y = print n, text="{} of {}"', "V4", "{} for each operand", '1 operand and the text "{} of {}"', "print a"),
    ('y = print n, text="{0}"', "V4", "{{ and }} for braces", '1 operand and the text "{0}"', "print a"),
    ("y = print n, text=3", "V4", "{} for each operand", "1 operand and the text 3", "print a"),
    ("y = print n", "V3", "text", "none", 'text="a is {}"'),
    ('y = callback n, function="f"', "V3", "function, returns", "function", 'function="f", returns=float64'),
    ('y = callback n, function="f", returns="int64"', "V4", "a name and a type", 'returns="int64"', "returns=float64"),
    ("y = callback n, function=3, returns=int64", "V4", "a name and a type", "function=3", 'function="f"'),
    ("y = breakpoint n", "V4", "bool", "int64", "dtype=bool"),
    ("y = uniform shape=3", "V4", "sizes", "3", "shape=[2, 3]"),
    ("y = uniform shape=[-1]", "V4", "sizes", "[-1]", "shape=[2, 3]"),
    ("y = uniform", "V3", "shape", "none", "shape=[2, 3]"),
    ("y = integers 0.0, n, shape=[]", "V4", "two int64", "float64, int64", "integers a, b"),
    ("y = permutation 2.0", "V4", "int64", "float64", "write `2`"),
    ("y = " + LOOP.format(", parallel_iterations=0"), "V3", "an integer from 1 up", "parallel_iterations=0", "leave"),
    ("y = " + LOOP.format(', parallel_iterations="x"'), "V3", "an integer from 1 up", '="x"', "parallel_iterations=10"),
    ("y = " + LOOP.format(", parallel=2"), "V3", "an integer from 1 up", "parallel=2", "parallel_iterations=10"),
    ("y = " + COND, "V3", "none", "k", "while_loop alone"),
    ("y = call f n, k=3", "V3", "the name of a function", "k", "leave it out"),
]  # fmt: skip


@pytest.mark.parametrize(("body", "rule", "required", "got", "hint"), BROKEN)
def test_a_broken_rule_is_named(body: str, rule: str, required: str, got: str, hint: str) -> None:
    """One mistake is one problem, with rule, required, got and hint; the invalid program survives a round trip through
    text."""
    document = parse(f"func f(n: int64) -> int64 {{\n  {body}\n  return n\n}}", "f.tl")
    assert document.program is not None
    problems = program_problems(document.program)
    check_words(problems)
    (problem,) = problems
    assert problem.rule == rule and str(problem.where).startswith("f.tl:")
    assert required in str(problem.required) and got in str(problem.got) and hint in str(problem.hint)
    assert parse(print_document(document), "f.tl") == document


BROKEN_GRAPHS = [
    ("p = put c, 0, n", "V7", "an op", "put", "`s = store a, i, v`, which has no output"),
    ("p: int64 = store c, 0, n", "V7", "3 ports and 0 outputs", "3 ports and 1 output", "store a, b, c"),
    ('p = print n, text="{}"', "V8", "a trigger", "no trigger", "its second output orders the next one"),
    ("p = get c, 1.0", "V9", "int64", "cells[int64], float64", "write `1`"),
    ("p = cells n", "V7", "element", "none", "element=float64"),
    ("p = uniform shape=[2]", "V8", "a trigger", "no trigger", "`@ x`"),
    ("p = next_iteration[f.l] n, parallel_iterations=0", "V7", "an integer from 1", "parallel_iterations=0", "leave"),
    ("p = enter[f.l] n, parallel_iterations=1", "V7", "none", "parallel_iterations", "enter[f.loop]"),
]


@pytest.mark.parametrize(("line", "rule", "required", "got", "hint"), BROKEN_GRAPHS)
def test_a_broken_rule_of_graphs_is_named(line: str, rule: str, required: str, got: str, hint: str) -> None:
    """One mistake in a graph is one problem, too."""
    graph = tl.parse_graph(f"graph f(n: int64) {{\n  c = cells n, element=int64\n  {line}\n  return n\n}}")
    problems = graph_problems(graph)
    check_words(problems)
    problem = next(problem for problem in problems if "f.p" in str(problem.where) or "f.p" in problem.message)
    assert problem.rule == rule
    assert required in str(problem.required) and got in str(problem.got) and hint in str(problem.hint)
    assert tl.parse_graph(tl.print_graph(graph)) == graph


MALFORMED = [
    ("func f(c: cells) -> int64 {", 11, "the type of the cells is missing", "as in cells[float64]"),
    ("func f(c: cells[]) -> int64 {", 11, "the type of the cells is missing", "as in cells[float64]"),
    ("func f(c: cells[cells[int64]]) -> int64 {", 11, "the type of the cells is missing", "of a number or an array"),
    ("func f(c: cells[int]) -> int64 {", 11, "no dtype 'int'", "did you mean int64?"),
    ("func f(c: cell[int64]) -> int64 {", 11, "no dtype 'cell'", "did you mean cells[...]?"),
    ("func f(c: cells[int64[-1]]) -> int64 {", 11, "is not a type", "? for an unknown one"),
    ("func f(c: cells[int64[3]) -> int64 {", 16, "unexpected `[`", "sizes end with `]`"),
    ("  u = uniform shape=[1.5]", 21, "this is not a valid attribute", "integers in brackets"),
    ("  u = uniform shape=[[2]]", 21, "this is not a valid attribute", "integers in brackets"),
    ("  u = uniform shape=[n]", 22, "unexpected `n`", "a literal"),
    ("  c = cells 3, element=int", 24, "no dtype 'int'", "did you mean int64?"),
    ("  c = cells 3, element=cells[cells[bool]]", 24, "the type of the cells is missing", "of a number or an array"),
    ("  x = callback function=g, returns=bool", 25, "'g' is not a dtype", "float64"),
    ("  x = add n, cells[3](1)", 14, "no such dtype", "float64"),
]


@pytest.mark.parametrize(("line", "column", "message", "help_"), MALFORMED)
def test_syntax_errors_show_their_place(line: str, column: int, message: str, help_: str) -> None:
    """The error has the line with a caret, what is required, and a hint if a similar word exists."""
    head = line if line.startswith("func") else "func f(n: int64) -> int64 {\n" + line
    with pytest.raises(tl.Malformed) as raised:
        parse(f"{head}\n  return 1\n}}")
    assert str(raised.value.where).endswith(f"column {column}")
    assert message in raised.value.message and help_ in f"{raised.value.required} {raised.value.hint}"


def test_a_store_has_no_output() -> None:
    """A use of the output of a store is refused, with the hint to use the handle."""
    with pytest.raises(tl.Malformed, match="s has no output") as raised:
        tl.parse_graph("graph f(n: int64) {\n  c = cells n, element=int64\n  s = store c, 0, n\n  return s\n}")
    assert raised.value.hint == "a store has no result: use the handle that it takes"


PAGE = Path(__file__).parents[3] / "docs" / "text.md"
BLOCKS = re.findall(r"^```\n((?:func|graph|entry) .*?)^```", PAGE.read_text(encoding="utf-8"), re.M | re.S)


@pytest.mark.parametrize("block", BLOCKS, ids=lambda block: block.split("(")[0])
def test_examples_of_the_page_are_valid(block: str) -> None:
    """The examples in docs/text.md are read, are valid except for the race, and survive a round trip."""
    document = parse(block)
    assert parse(print_document(document)) == document
    problems = program_problems(document.program) if document.program else []
    problems += [problem for graph in document.graphs for problem in graph_problems(graph)]
    assert [problem.rule for problem in problems] == (["V11"] if "race" in block else [])


def test_mutated_documents_have_effect_ops() -> None:
    """The documents that other tests mutate contain the effect ops."""
    assert FILL in PROGRAMS and TWICE in PROGRAMS


@given(act_cases())
@settings(max_examples=40)
def test_generated_programs_with_effects_survive_a_round_trip(case: Case) -> None:
    """parse(print(x)) == x and from_json(to_json(x)) == x, for a generated program with effects and for its graph."""
    graph = lower(case.program)
    assert tl.parse_program(tl.print_program(case.program)) == case.program
    assert tl.parse_graph(tl.print_graph(graph)) == graph
    for subject in (case.program, graph):
        assert tl.from_json(json.dumps(tl.to_json(subject), allow_nan=False)) == subject


REFUSED_HANDLES = ["b = astype a, dtype=int64", "b = astype a, dtype=bool", "b = where true, a, a", "b = add a, a"]


@pytest.mark.parametrize("line", REFUSED_HANDLES)
def test_ops_refuse_handles(line: str) -> None:
    """All ops but identity refuse handles."""
    program = tl.parse_program(f"func f(n: int64) -> int64 {{\n  a = cells n, element=int64\n  {line}\n  return n\n}}")
    assert "V4" in [problem.rule for problem in program_problems(program)]


@pytest.mark.parametrize("line", [f"u = uniform shape={[1] * 65}", "u = collect a"])
def test_too_many_axes(line: str) -> None:
    """An array has at most 64 axes, whatever creates it."""
    element = f"float64[{', '.join(['1'] * 64)}]"
    text = f"func f(n: int64) -> int64 {{\n  a = cells n, element={element}\n  {line}\n  return n\n}}"
    assert "V4" in [problem.rule for problem in program_problems(tl.parse_program(text))]
