"""Rules V1 to V6: invalid programs are reported under the number of their rule, and edited programs that are accepted
are valid."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import pytest
import tagloom as tl
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from support.generators.generator import Case, cases
from support.observe.event_text import check_words
from tagloom.core import dtypes
from tagloom.core.graph.lower import lower
from tagloom.core.graph.validate import graph_problems
from tagloom.core.program.evaluate import evaluate
from tagloom.core.program.program import FunctionDef, Location, Node, Operand, Program, Region, Var
from tagloom.core.program.validate import program_problems
from tagloom.core.types import Type
from tagloom.core.value import is_same_value, literal
from tagloom.interp.engines.limits import Limits
from tagloom.interp.engines.reference import admit_arguments, run_graph

INT, FLOAT, BOOL = Type(dtypes.int64), Type(dtypes.float64), Type(dtypes.bool)
VECTOR = Type(dtypes.float64, (None,))
N = Var("n", INT)


def variables(names: str, type_: Type = INT) -> tuple[Var, ...]:
    return tuple(Var(name, type_) for name in names.split())


def node(op: str, inputs: Any, results: Any, *regions: Region, **attributes: Any) -> Node:
    """A node; inputs and results are words, or lists of operands and variables."""
    given = tuple(inputs.split()) if isinstance(inputs, str) else tuple(inputs)
    result = variables(results) if isinstance(results, str) else tuple(results)
    return Node(op, given, result, regions, tuple(attributes.items()), Location("user.py", 7))


def region(parameters: Any, nodes: Any, results: Any) -> Region:
    mine = variables(parameters) if isinstance(parameters, str) else tuple(parameters)
    return Region(mine, tuple(nodes), tuple(results.split()) if isinstance(results, str) else tuple(results))


def program(*nodes: Node, results: Any = "n", types: tuple[Type, ...] = (INT,), parameters: Any = "n") -> Program:
    """A program of one function, main(n: int64) -> int64, which returns n."""
    return Program((FunctionDef("main", region(parameters, nodes, results), types),), "main")


POSITIVE = node("greater", ["n", literal(0)], [Var("p", BOOL)])
SAME = region("n", [], "n")
CONDITION = region("n", [node("less", ["n", literal(3)], [Var("q", BOOL)])], "q")


def cond(then: Region = SAME, otherwise: Region = SAME, inputs: Any = "p n", results: Any = "c") -> Program:
    return program(POSITIVE, node("cond", inputs, results, then, otherwise))


def loop(condition: Region = CONDITION, body: Region = SAME, inputs: Any = "n", results: Any = "l") -> Program:
    return program(node("while_loop", inputs, results, condition, body))


def calling(call: Node, callee: FunctionDef | None = None) -> Program:
    """main, and g(a: int64, b: float64) -> int64, bool."""
    parameters = (Var("a", INT), Var("b", FLOAT))
    g = FunctionDef("g", Region(parameters, (), ("a", literal(True))), (INT, BOOL))
    return Program((*program(call).functions, callee or g), "main")


PAIR = [Var("x", INT), Var("y", BOOL)]
INTO_B = region([Var("n", BOOL)], [], "n")
BROKEN: dict[str, tuple[str, Program, str, str]] = {
    "an operand that is nowhere": ("V1", program(node("add", "n x", "y")), "n", "x"),
    "an operand that comes later": (
        "V1",
        program(node("add", "n y", "x"), node("add", "n n", "y")),
        "n",
        "y",
    ),
    "an operand of the region around": (
        "V1",
        cond(region("n", [node("logical_not", "p", [Var("x", BOOL)])], "n")),
        "n",
        "p",
    ),
    "an operand of a region inside": (
        "V1",
        program(*cond(region("n", [node("add", "n n", "x")], "x")).main.body.nodes, node("add", "n x", "y")),
        "c, n, p",
        "x",
    ),
    "a result that is nowhere": ("V1", program(results="x"), "n", "x"),
    "a region's result that is nowhere": ("V1", cond(region("n", [], "p")), "n", "p"),
    "two functions of one name": ("V2", Program(program().functions * 2, "main"), "unique names", "main"),
    "two nodes of one name": ("V2", program(node("abs", "n", "x"), node("abs", "n", "x")), "unique names", "x"),
    "a node named as a parameter": ("V2", program(node("abs", "n", "n")), "unique names", "n"),
    "two parameters of one name": ("V2", program(parameters="n n"), "unique names", "n"),
    "nodes of one name in two branches": (
        "V2",
        cond(region("n", [node("abs", "n", "x")], "x"), region("n", [node("abs", "n", "x")], "x")),
        "unique names",
        "x",
    ),
    "two parameters of a branch of one name": (
        "V2",
        cond(region("m m", [], "m"), region("a b", [], "a"), "p n n"),
        "unique names",
        "m",
    ),
    "a node named as its branch's parameter": (
        "V2",
        cond(region("m", [node("abs", "m", "m")], "m"), region("m", [], "m")),
        "unique names",
        "m",
    ),
    "an op that does not exist": ("V3", program(node("total", "n", "x")), "an op", "total"),
    "an op of graphs": ("V3", program(node("merge", "n", "x")), "an op", "merge"),
    "an operand too many": (
        "V3",
        program(node("abs", "n n", "x")),
        "1 operand and 1 result",
        "2 operands and 1 result",
    ),
    "a result too many": ("V3", program(node("abs", "n", "x y")), "1 operand and 1 result", "1 operand and 2 results"),
    "no result": ("V3", program(node("abs", "n", "")), "0 regions and at least 1 result", "0 regions and 0 results"),
    "a region too many": ("V3", program(node("abs", "n", "x", SAME)), "0 regions", "1 region and 1 result"),
    "a region too few": ("V3", program(POSITIVE, node("cond", "p n", "x", SAME)), "2 regions", "1 region and 1 result"),
    "no attribute": ("V3", program(node("astype", "n", "x")), "dtype", "none"),
    "another attribute": ("V3", program(node("abs", "n", "x", dtype=tl.int64)), "none", "dtype"),
    "operands of two dtypes": (
        "V4",
        program(node("add", ["n", literal(1.0)], "x")),
        "of one kind",
        "int64, float64",
    ),
    "an operand has the wrong kind of dtype": ("V4", program(node("sqrt", "n", "x")), "a float dtype", "int64"),
    "shapes that do not broadcast": (
        "V4",
        program(node("add", [literal([1, 2]), literal([1, 2, 3])], "x")),
        "equal sizes, or 1",
        "int64[2], int64[3]",
    ),
    "a result of another type": ("V4", program(node("less", "n n", "x")), "bool", "int64"),
    "a result of a wider type": (
        "V4",
        program(node("abs", "n", [Var("x", Type(dtypes.int64, None))])),
        "int64",
        "int64[...]",
    ),
    "a predicate that is no bool": ("V5", cond(inputs="n n"), "bool", "int64"),
    "no predicate": ("V5", cond(inputs=""), "bool", "nothing"),
    "a branch that takes fewer": ("V5", cond(region("", [], [literal(1)])), "none", "int64"),
    "a branch that takes another type": ("V5", cond(INTO_B), "bool", "int64"),
    "a branch that yields another type": ("V5", cond(region("n", [], [literal(True)])), "one dtype", "bool and int64"),
    "a branch that yields more": ("V5", cond(region("n", [], "n n")), "int64, int64", "int64"),
    "a result of a cond of a wider type than the branches yield": (
        "V5",
        cond(results=[Var("c", Type(dtypes.int64, None))]),
        "int64",
        "int64[...]",
    ),
    "a result of a call of a wider type than the function's": (
        "V6",
        calling(node("call", ["n", literal(1.0)], [Var("x", Type(dtypes.int64, None)), PAIR[1]], function="g")),
        "int64, bool",
        "int64[...], bool",
    ),
    "a loop whose condition is no bool": ("V5", loop(SAME), "bool", "int64"),
    "a loop whose condition takes another type": (
        "V5",
        loop(region([Var("n", BOOL)], [], "n")),
        "one type",
        "int64 from outside, bool in while, int64 in do, int64 as results",
    ),
    "a loop whose body yields another type": ("V5", loop(body=region("n", [], [literal(1.0)])), "int64", "float64"),
    "a loop whose body yields fewer": ("V5", loop(body=region("n", [], "")), "int64", "none"),
    "a loop with fewer results": (
        "V5",
        loop(inputs="n n"),
        "2 variables",
        "2 from outside, 1 in while, 1 in do, 1 as results",
    ),
    "a loop variable of a wider type": (
        "V5",
        loop(
            region([Var("v", VECTOR)], [], [literal(False)]),
            region([Var("v", Type(dtypes.float64, (2,)))], [], "v"),
            [literal([1.0, 2.0])],
            [Var("l", VECTOR)],
        ),
        "one type",
        "float64[2] in do",
    ),
    "a function that returns another type": ("V6", program(types=(BOOL,)), "bool", "int64"),
    "a function that returns fewer": ("V6", program(types=(INT, INT)), "int64, int64", "int64"),
    "an entry that is nowhere": ("V6", replace(program(), entry="start"), "main", "start"),
    "a call of nothing": ("V6", program(node("call", "n", "x", function="g")), "main", "g"),
    "a call that does not say of what": ("V6", program(node("call", "n", "x")), "main", "nothing"),
    "a call with fewer arguments": ("V6", calling(node("call", "n", PAIR, function="g")), "int64, float64", "int64"),
    "a call with another type": (
        "V6",
        calling(node("call", "n n", PAIR, function="g")),
        "int64, float64",
        "int64, int64",
    ),
    "a call that takes fewer results": (
        "V6",
        calling(node("call", ["n", literal(1.0)], "x", function="g")),
        "int64, bool",
        "int64",
    ),
}


@pytest.mark.parametrize("name", BROKEN)
def test_v1_to_v6_an_invalid_program_is_reported(name: str) -> None:
    """V1 to V6: a program that breaks one rule is reported under that rule alone, with the place, what is required,
    what was got, and a hint."""
    rule, broken, required, got = BROKEN[name]
    problems = program_problems(broken)
    assert [problem.rule for problem in problems[:1]] == [rule] and {p.rule for p in problems} == {rule}
    assert required in str(problems[0].required) and got in str(problems[0].got)
    assert problems[0].where in ("main", "entry start", Location("user.py", 7))
    check_words(problems)


def test_v1_to_v6_the_table_breaks_every_rule() -> None:
    """V1 to V6: the table above breaks every rule."""
    assert {rule for rule, *_ in BROKEN.values()} == {f"V{k}" for k in range(1, 7)}


@pytest.mark.parametrize(
    "valid", [program(), cond(), loop(), calling(node("call", ["n", literal(1.0)], PAIR, function="g"))]
)
def test_the_table_breaks_programs_that_are_valid(valid: Program) -> None:
    """V1 to V6: the programs are valid before the edits of the table."""
    assert program_problems(valid) == []


LOOP = """func f(x: int64) -> int64 {
  y, n = while_loop START, 9 {
    while(x: int64, n: int64) {
      p = less x, n
      yield p
    }
    do(x: int64, n: int64) {
      z = add x, 1
      yield z, n
    }
  }
  return y
}
"""
START = LOOP.replace("START", "x")
TWICE = "func g(x: int64) -> int64 {\n  y = abs x\n  return y\n}\n"
MISTAKES: dict[str, tuple[str, list[str]]] = {
    "a variable that becomes a float": (
        START.replace("add x, 1", "astype x, dtype=float64"),
        [
            "V5: loop variable x changes its type (f.tl:8)",
            "required: int64 (f.tl:2)",
            "got: float64 (f.tl:8)",
            "astype",
        ],
    ),
    "a variable that begins as another literal": (
        LOOP.replace("START", "0").replace("add x, 1", "astype x, dtype=float64"),
        ["changes its type", "hint: start it with `0.0`"],
    ),
    "a variable that is another number": (
        START.replace("yield z, n", "yield z, 0.5"),
        ["V5: loop variable n changes its type (f.tl:2)", "start it with `9.0`"],
    ),
    "a variable that a region takes as another type": (
        START.replace("do(x: int64, n: int64)", "do(x: int64, n: float64)"),
        ["V5: loop variable n has more than one type (f.tl:2)", "int64 in while, float64 in do"],
    ),
    "an operand of another type": (
        LOOP.replace("START", "0.5"),
        ["V5: loop variable x has more than one type (f.tl:2)", "float64 from outside, int64 in while"],
    ),
    "a condition that is no bool": (
        START.replace("yield p", "yield x"),
        ["V5: the condition of while_loop is not one bool", "got: int64", "as in `p = greater x, 0`"],
    ),
    "a condition of a node that makes no bool": (
        START.replace("less x, n", "add x, n"),
        ["V5: the condition of while_loop is not one bool (f.tl:4)"],
    ),
    "fewer values than variables": (
        START.replace("yield z, n", "yield z"),
        ["V5: `do` does not yield one value for each loop variable", "required: int64, int64"],
    ),
    "fewer variables than results": (
        START.replace("while_loop x, 9", "while_loop x"),
        [
            "V5: the parts of a loop have different numbers of variables",
            "got: 1 from outside, 2 in while, 2 in do, 2 as results",
        ],
    ),
    "a function that returns another type": (
        START.replace("-> int64", "-> bool"),
        ["V6: f returns different types than it declares (f.tl:1)", "required: bool", "got: int64", "after `->`"],
    ),
    "a literal of another kind": (TWICE.replace("abs x", "add x, 0.5"), ["V4: add", "int64, float64", "astype"]),
    "a literal that could be a float": (
        TWICE.replace("int64", "float64").replace("abs x", "add x, 1"),
        ["V4: add", "hint: write `1.0`"],
    ),
    "a literal that could be of another dtype": (
        TWICE.replace("int64", "uint64").replace("abs x", "add x, 1"),
        ["V4: add", "hint: write `uint64(1)`"],
    ),
    "a float that could be an integer": (TWICE.replace("abs x", "add x, 1.0"), ["V4: add", "hint: write `1`"]),
    "an integer where a float must be": (
        TWICE.replace("abs x", "sqrt x").replace("-> int64", ""),
        ["V4: sqrt", "as in `astype x, dtype=float64`"],
    ),
    "shapes": (TWICE.replace("abs x", "add [1, 2], [1, 2, 3]").replace("-> int64", ""), ["aligned from the last"]),
    "a dtype as an operand": (TWICE.replace("abs x", "astype x, float64"), ["V1", "write `dtype=float64`"]),
    "an attribute that is not a dtype": (
        TWICE.replace("abs x", "astype x, dtype=3"),
        ["V4: astype", "got: 3", "as in `y = astype a, dtype=float64`"],
    ),
    "a literal of Python's": (TWICE.replace("abs x", "add x, True"), ["V1", "hint: write `true`"]),
    "a literal in capitals": (TWICE.replace("abs x", "add x, INF"), ["V1", "hint: write `inf`"]),
    "nothing of Python's": (TWICE.replace("abs x", "add x, None"), ["V1", "a value is a number"]),
    "a function as an op": (TWICE.replace("abs x", "g x"), ["V3: there is no op 'g'", "write `call g`"]),
    "an op of graphs": (TWICE.replace("abs x", "merge x, x"), ["V3", "merge is an op of graphs"]),
    "an op misspelt": (TWICE.replace("abs x", "abss x"), ["V3", "got: abss", "did you mean abs?"]),
    "a call of nothing": (TWICE.replace("abs x", "call gg x"), ["V6", "required: g", "got: gg", "did you mean g?"]),
    "two nodes of one name": (TWICE.replace("  return", "  y = abs y\n  return"), ["V2", "values", "(f.tl:3)"]),
    "two functions of one name": (TWICE + TWICE, ["V2: two functions have the same name (f.tl:5)", "got: g"]),
    "an entry that is nowhere": (
        f"entry h\n{TWICE}",
        ["V6: the entry is not a function of the program (entry h)", "required: g"],
    ),
}


@pytest.mark.parametrize("name", MISTAKES)
def test_a_mistake_in_text_is_one_problem(name: str) -> None:
    """V1 to V6: a mistake that people make in a text is one problem, at its line, with a hint of what to write."""
    text, expected = MISTAKES[name]
    problems = program_problems(tl.parse_program(text, "f.tl"))
    assert len(problems) == 1, problems
    message = str(problems[0])
    assert all(words in message for words in expected) and "tl." not in message.replace("f.tl", ""), message
    check_words(problems)


def test_problems_of_some_functions() -> None:
    """V1 to V6: `problems` can be limited to some functions, whose calls may name the others."""
    text = TWICE.replace("abs x", "h x") + TWICE.replace("g(", "f(").replace("abs x", "call g x")
    program_ = tl.parse_program(text)
    assert [problem.rule for problem in program_problems(program_)] == ["V3"]
    assert program_problems(program_, [program_["f"]]) == []
    assert [problem.rule for problem in program_problems(program_, [program_["g"]])] == ["V3"]


def test_problems_come_in_program_order() -> None:
    """V1 to V6: all problems are reported, in program order."""
    broken = program(node("total", "n", "x"), node("sqrt", "n", "y"), results="z")
    assert [problem.rule for problem in program_problems(broken)] == ["V3", "V4", "V1"]


@settings(max_examples=15)
@given(cases())
def test_generated_programs_are_well_formed(case: Case) -> None:
    """V1 to V6: traced programs are valid."""
    assert program_problems(case.program) == []


def test_v5_regions_may_accept_wider_types() -> None:
    """V5: branches may accept wider types than they get, and a call may return a narrower one; the graph keeps the
    program's types, and a value that does not fit them is a trap of the program."""
    two, three = Type(dtypes.float64, (2,)), Type(dtypes.float64, (3,))
    body = [node("add", "a b", [Var("s", VECTOR)])]
    add = region([Var("a", VECTOR), Var("b", VECTOR)], body, "s")
    wide = node("cond", ["p", "x", "y"], [Var("c", VECTOR)], add, region([Var("a", two), Var("b", VECTOR)], [], "b"))
    parameters = [Var("p", BOOL), Var("x", two), Var("y", three)]
    subject = program(wide, parameters=parameters, results="c", types=(VECTOR,))
    assert program_problems(subject) == [] and graph_problems(lower(subject)) == []
    taken = run_graph(lower(subject), [True, [1.0, 2.0], [1.0, 2.0, 3.0]])
    assert taken.status == "Trapped" and "shapes (2,) and (3,) do not broadcast" in taken.traps[0].message
    assert run_graph(lower(subject), [False, [1.0, 2.0], [1.0, 2.0, 3.0]]).status == "Returned"


Edit = Callable[[random.Random, Program, tuple[Node, ...], int], Any]
TYPES = (INT, FLOAT, BOOL, VECTOR, Type(dtypes.float64, (3,)), Type(dtypes.float64, None))
LITERALS = (literal(1), literal(2.5), literal(True))


def regions(subject: Program) -> Iterator[Region]:
    """Every region of a program, bodies first."""
    for function in subject.functions:
        yield function.body
        yield from (inner for result in function.body.walk() for inner in result.regions)


def replace_region(subject: Any, old: Region, new: Region) -> Any:
    """A program, function, region or node with one region replaced."""
    match subject:
        case Program():
            return replace(
                subject, functions=tuple(replace_region(function, old, new) for function in subject.functions)
            )
        case FunctionDef():
            return replace(subject, body=replace_region(subject.body, old, new))
        case Region():
            return (
                new
                if subject is old
                else replace(subject, nodes=tuple(replace_region(n, old, new) for n in subject.nodes))
            )
        case Node():
            return replace(subject, regions=tuple(replace_region(inner, old, new) for inner in subject.regions))


def put(items: tuple[Any, ...], position: int, *new: Any) -> tuple[Any, ...]:
    return (*items[:position], *new, *items[position + 1 :])


def operands(inside: Region) -> list[Operand]:
    results = [result.name for each in inside.nodes for result in each.results]
    return [*(parameter.name for parameter in inside.parameters), *results, *LITERALS]


def edit_variables(dice: random.Random, names: list[Operand], items: tuple[Var, ...]) -> tuple[Var, ...]:
    """Another type, another name, one variable fewer, or another order."""
    position, new = dice.randrange(len(items)), dice.choice([*filter(lambda n: isinstance(n, str), names), "trigger"])
    return dice.choice(
        [
            put(items, position, items[position]._replace(type=dice.choice(TYPES))),
            put(items, position, items[position]._replace(name=str(new))),
            put(items, position),
            tuple(dice.sample(items, len(items))),
        ]
    )


def edit_node(dice: random.Random, subject: Program, inside: Region, old: Node) -> Node:
    names = operands(inside)
    position = dice.randrange(max(len(old.inputs), 1))
    choices = [
        replace(old, inputs=put(old.inputs, position, dice.choice(names))),
        replace(old, inputs=tuple(dice.sample(old.inputs, len(old.inputs)))),
        replace(old, inputs=put(old.inputs, position)),
        replace(old, results=edit_variables(dice, names, old.results)),
        replace(old, op=dice.choice(["add", "less", "logical_and", "abs", "where", "cond", "while_loop", "call"])),
        replace(old, regions=old.regions[::-1]),
        replace(old, attributes=(("function", dice.choice(subject.functions).name),)),
    ]
    return dice.choice(choices)


def edit(dice: random.Random, subject: Program) -> Program:
    """A program with one part changed."""
    inside = dice.choice(list(regions(subject)))
    names, nodes = operands(inside), inside.nodes
    edits = [replace(inside, results=put(inside.results, dice.randrange(len(inside.results)), dice.choice(names)))]
    if inside.parameters:
        edits.append(replace(inside, parameters=edit_variables(dice, names, inside.parameters)))
    if nodes:
        position = dice.randrange(len(nodes))
        changed = edit_node(dice, subject, inside, nodes[position])
        edits += [replace(inside, nodes=put(nodes, position, changed))] * 5
        edits.append(replace(inside, nodes=put(nodes, position)))
        edits.append(replace(inside, nodes=put(nodes, position, nodes[position], nodes[position])))
        edits.append(replace(inside, nodes=tuple(dice.sample(nodes, len(nodes)))))
    number, function = dice.choice(list(enumerate(subject.functions)))
    types = put(function.results, dice.randrange(len(function.results)), dice.choice(TYPES))
    elsewhere = replace(subject, functions=put(subject.functions, number, replace(function, results=types)))
    return dice.choice([*(replace_region(subject, inside, new) for new in edits), elsewhere])


@settings(max_examples=16, suppress_health_check=list(HealthCheck), phases=[Phase.generate])
@given(cases(), st.integers(0, 2**32))
def test_edited_programs_are_refused_or_run(case: Case, seed: int) -> None:
    """V1 to V6: a program with any one part changed is refused by a rule, or is lowered to a valid graph, on which the
    machine agrees with the evaluator (L1 to L8)."""
    dice = random.Random(seed)
    for _ in range(40):
        subject = edit(dice, case.program)
        if program_problems(subject):
            continue
        graph = lower(subject)
        assert graph_problems(graph) == [], tl.print_program(subject)
        try:
            arguments = admit_arguments(graph, case.arguments)
        except tl.Usage:
            continue
        run, evaluation = (
            run_graph(graph, arguments, limits=Limits(firings=1_000)),
            evaluate(subject, arguments, max_steps=1_000),
        )
        assert run.status in ("Returned", "Trapped", "Exhausted"), tl.print_program(subject)
        if "Exhausted" not in (run.status, evaluation.status):
            agreed = run.status == evaluation.status == "Trapped" or all(
                map(is_same_value, run.results, evaluation.results or ())
            )
            assert agreed and run.status == evaluation.status, tl.print_program(subject)
