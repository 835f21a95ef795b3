"""Rules V1 to V6: programs that break them, each reported by its number, and edited programs that do not."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import pytest
import tagloom as tl
from generator import Case, cases
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from tagloom.core import dtypes
from tagloom.core.evaluate import evaluate
from tagloom.core.lower import lower
from tagloom.core.program import Function, Location, Node, Operand, Program, Region, Var
from tagloom.core.types import Type
from tagloom.core.validate import program_problems
from tagloom.core.validate_graph import graph_problems
from tagloom.core.value import literal, same
from tagloom.interp.reference import Limits, admit_arguments, run_graph

INT, FLOAT, BOOL = Type(dtypes.int64), Type(dtypes.float64), Type(dtypes.bool)
VECTOR = Type(dtypes.float64, (None,))
N = Var("n", INT)


def variables(names: str, type_: Type = INT) -> tuple[Var, ...]:
    return tuple(Var(name, type_) for name in names.split())


def node(op: str, inputs: Any, results: Any, *regions: Region, **attributes: Any) -> Node:
    """A node; inputs and results are words, or lists of operands and variables."""
    given = tuple(inputs.split()) if isinstance(inputs, str) else tuple(inputs)
    made = variables(results) if isinstance(results, str) else tuple(results)
    return Node(op, given, made, regions, tuple(attributes.items()), Location("user.py", 7))


def region(parameters: Any, nodes: Any, results: Any) -> Region:
    mine = variables(parameters) if isinstance(parameters, str) else tuple(parameters)
    return Region(mine, tuple(nodes), tuple(results.split()) if isinstance(results, str) else tuple(results))


def program(*nodes: Node, results: Any = "n", types: tuple[Type, ...] = (INT,), parameters: Any = "n") -> Program:
    """A program of one function, main(n: int64) -> int64, which returns n."""
    return Program((Function("main", region(parameters, nodes, results), types),), "main")


POSITIVE = node("greater", ["n", literal(0)], [Var("p", BOOL)])
SAME = region("n", [], "n")
CONDITION = region("n", [node("less", ["n", literal(3)], [Var("q", BOOL)])], "q")


def cond(then: Region = SAME, otherwise: Region = SAME, inputs: Any = "p n", results: Any = "c") -> Program:
    return program(POSITIVE, node("cond", inputs, results, then, otherwise))


def loop(condition: Region = CONDITION, body: Region = SAME, inputs: Any = "n", results: Any = "l") -> Program:
    return program(node("while_loop", inputs, results, condition, body))


def calling(call: Node, callee: Function | None = None) -> Program:
    """main, and g(a: int64, b: float64) -> int64, bool."""
    parameters = (Var("a", INT), Var("b", FLOAT))
    g = Function("g", Region(parameters, (), ("a", literal(True))), (INT, BOOL))
    return Program((*program(call).functions, callee or g), "main")


PAIR = [Var("x", INT), Var("y", BOOL)]
INTO_B = region([Var("n", BOOL)], [], "n")
BROKEN: dict[str, tuple[str, Program, str, str]] = {
    "an operand that is nowhere": ("V1", program(node("add", "n x", "y")), "['n']", "x"),
    "an operand that comes later": (
        "V1",
        program(node("add", "n y", "x"), node("add", "n n", "y")),
        "['n']",
        "y",
    ),
    "an operand of the region around": (
        "V1",
        cond(region("n", [node("logical_not", "p", [Var("x", BOOL)])], "n")),
        "['n']",
        "p",
    ),
    "an operand of a region inside": (
        "V1",
        program(*cond(region("n", [node("add", "n n", "x")], "x")).main.body.nodes, node("add", "n x", "y")),
        "['c', 'n', 'p']",
        "x",
    ),
    "a result that is nowhere": ("V1", program(results="x"), "['n']", "['x']"),
    "a region's result that is nowhere": ("V1", cond(region("n", [], "p")), "['n']", "['p']"),
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
    "an op that does not exist": ("V3", program(node("sum", "n", "x")), "an op", "None"),
    "an op of graphs": ("V3", program(node("merge", "n", "x")), "an op", "None"),
    "an operand too many": ("V3", program(node("abs", "n n", "x")), "1 and 1", "2 and 1"),
    "a result too many": ("V3", program(node("abs", "n", "x y")), "1 and 1", "1 and 2"),
    "no result": ("V3", program(node("abs", "n", "")), "0 regions and at least one", "0 and 0"),
    "a region too many": ("V3", program(node("abs", "n", "x", SAME)), "0 regions", "1 and 1"),
    "a region too few": ("V3", program(POSITIVE, node("cond", "p n", "x", SAME)), "2 regions", "1 and 1"),
    "no attribute": ("V3", program(node("astype", "n", "x")), "('dtype',)", "()"),
    "another attribute": ("V3", program(node("abs", "n", "x", dtype=tl.int64)), "()", "dtype"),
    "operands of two dtypes": (
        "V4",
        program(node("add", ["n", literal(1.0)], "x")),
        "promote to one",
        "int64, float64",
    ),
    "an operand of the wrong kind": ("V4", program(node("sqrt", "n", "x")), "float64", "int64"),
    "shapes that do not broadcast": (
        "V4",
        program(node("add", [literal([1, 2]), literal([1, 2, 3])], "x")),
        "equal sizes, or 1",
        "['2', '3']",
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
        "int64",
        "bool",
    ),
    "a loop whose body yields another type": ("V5", loop(body=region("n", [], [literal(1.0)])), "int64", "float64"),
    "a loop whose body yields fewer": ("V5", loop(body=region("n", [], "")), "int64", "none"),
    "a loop with fewer results": ("V5", loop(inputs="n n"), "int64", "int64, int64"),
    "a loop variable of a wider type": (
        "V5",
        loop(
            region([Var("v", VECTOR)], [], [literal(False)]),
            region([Var("v", Type(dtypes.float64, (2,)))], [], "v"),
            [literal([1.0, 2.0])],
            [Var("l", VECTOR)],
        ),
        "float64[?]",
        "float64[2]",
    ),
    "a function that returns another type": ("V5", program(types=(BOOL,)), "bool", "int64"),
    "a function that returns fewer": ("V5", program(types=(INT, INT)), "int64, int64", "int64"),
    "an entry that is nowhere": ("V6", replace(program(), entry="start"), "['main']", "start"),
    "a call of nothing": ("V6", program(node("call", "n", "x", function="g")), "None", "g"),
    "a call that does not say of what": ("V6", program(node("call", "n", "x")), "None", "None"),
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
def test_a_broken_program_is_reported(name: str) -> None:
    """V1 to V6: a program that breaks one rule is reported under that rule alone: where, what it requires, what it
    got."""
    rule, broken, required, got = BROKEN[name]
    problems = program_problems(broken)
    assert [problem.rule for problem in problems[:1]] == [rule] and {p.rule for p in problems} == {rule}
    assert required in str(problems[0].required) and got in str(problems[0].got)
    assert problems[0].where in (None, "main", Location("user.py", 7))
    at_node = name not in ("two functions of one name", "an entry that is nowhere")
    assert (problems[0].where is not None) == at_node


def test_every_rule_of_programs_is_broken_once() -> None:
    """V1 to V6: the table above leaves none out."""
    assert {rule for rule, *_ in BROKEN.values()} == {f"V{k}" for k in range(1, 7)}


@pytest.mark.parametrize(
    "valid", [program(), cond(), loop(), calling(node("call", ["n", literal(1.0)], PAIR, function="g"))]
)
def test_the_table_breaks_programs_that_are_valid(valid: Program) -> None:
    """V1 to V6: what the table edits has no problem before."""
    assert program_problems(valid) == []


def test_problems_come_in_program_order() -> None:
    """V1 to V6: all problems are reported, each where it is."""
    broken = program(node("sum", "n", "x"), node("sqrt", "n", "y"), results="z")
    assert [problem.rule for problem in program_problems(broken)] == ["V3", "V4", "V1"]


@settings(max_examples=15)
@given(cases())
def test_generated_programs_are_well_formed(case: Case) -> None:
    """V1 to V6: what tracing makes keeps the rules."""
    assert program_problems(case.program) == []


def test_regions_may_be_wider_than_what_they_get() -> None:
    """V5: branches may take, and a call may give, less than all of a type; the graph keeps to what the program says,
    and what then does not fit is a trap of the program."""
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
        yield from (inner for made in function.body.walk() for inner in made.regions)


def swap(subject: Any, old: Region, new: Region) -> Any:
    """A program, function, region or node with one region in place of another."""
    match subject:
        case Program():
            return replace(subject, functions=tuple(swap(function, old, new) for function in subject.functions))
        case Function():
            return replace(subject, body=swap(subject.body, old, new))
        case Region():
            return new if subject is old else replace(subject, nodes=tuple(swap(n, old, new) for n in subject.nodes))
        case Node():
            return replace(subject, regions=tuple(swap(inner, old, new) for inner in subject.regions))


def put(items: tuple[Any, ...], position: int, *new: Any) -> tuple[Any, ...]:
    return (*items[:position], *new, *items[position + 1 :])


def operands(inside: Region) -> list[Operand]:
    made = [result.name for each in inside.nodes for result in each.results]
    return [*(parameter.name for parameter in inside.parameters), *made, *LITERALS]


def edit_variables(dice: random.Random, names: list[Operand], items: tuple[Var, ...]) -> tuple[Var, ...]:
    """Another type, another name, one fewer, or another order."""
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


def edited(dice: random.Random, subject: Program) -> Program:
    """A program with one thing in it changed."""
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
    return dice.choice([*(swap(subject, inside, new) for new in edits), elsewhere])


@settings(max_examples=16, suppress_health_check=list(HealthCheck), phases=[Phase.generate])
@given(cases(), st.integers(0, 2**32))
def test_edited_programs_are_refused_or_run(case: Case, seed: int) -> None:
    """V1 to V6: a program with any one thing changed is refused by a rule, or is lowered to a graph without
    problems, on which the machine agrees with the evaluator (L1 to L8)."""
    dice = random.Random(seed)
    for _ in range(40):
        subject = edited(dice, case.program)
        if program_problems(subject):
            continue
        graph = lower(subject)
        assert graph_problems(graph) == [], tl.print_program(subject)
        try:
            arguments = admit_arguments(graph, case.arguments)
        except tl.Usage:
            continue
        run, said = (
            run_graph(graph, arguments, limits=Limits(firings=1_000)),
            evaluate(subject, arguments, max_steps=1_000),
        )
        assert run.status in ("Returned", "Trapped", "Exhausted"), tl.print_program(subject)
        if "Exhausted" not in (run.status, said.status):
            agreed = run.status == said.status == "Trapped" or all(map(same, run.results, said.results or ()))
            assert agreed and run.status == said.status, tl.print_program(subject)
