"""Partial programs: what is needed for some values, where others are given, is left, and gives the same (P1 to P5)."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
import tagloom as tl
from hypothesis import given, settings
from hypothesis import strategies as st
from support.generators.effect_programs import act_cases
from support.generators.generator import Case, cases
from support.generators.gradient_programs import differentiated
from support.laws.partial_laws import asked, everything, needed, violations
from support.programs.partial_programs import (
    ALL,
    CALLED,
    CELLS,
    CHOSEN,
    DRAWS,
    FILLED,
    LEAN,
    MODEL,
    RECURSIVE,
    SEVERAL,
    STEP,
    TWICE,
    UNCALLED,
)
from tagloom.core.program.program import Program
from tagloom.core.program.validate import program_problems
from tagloom.core.transform.prune import enclosing_nodes, enclosing_tag, prune_program

Asked = tuple[Case, list[str] | None, list[str]]


@settings(max_examples=50)
@given(asked(cases()))
def test_parts_of_generated_programs(question: Asked) -> None:
    """What is fetched has the value that it has in a run of the whole, also where others are fed; the part keeps the
    rules, fires nothing that the whole does not fire, and nothing that is not needed (P1 to P4)."""
    assert list(violations(*question)) == []


@settings(max_examples=50)
@given(asked(act_cases(bounded=False)))
def test_parts_of_programs_with_acts(question: Asked) -> None:
    """The same, with cells, effects and random numbers (P3, P4, P5)."""
    assert list(violations(*question)) == []


@settings(max_examples=30)
@given(asked(cases(floats=True).map(differentiated)))
def test_parts_of_programs_with_gradients(question: Asked) -> None:
    """The same, with pullbacks: where nobody needs adjoints, nothing goes back (P4)."""
    assert list(violations(*question)) == []


@settings(max_examples=8)
@given(asked(cases(floats=True).map(lambda case: differentiated(case, 2))))
def test_parts_of_programs_with_second_derivatives(question: Asked) -> None:
    """The same, with four phases."""
    assert list(violations(*question)) == []


@pytest.mark.heavy
@settings(max_examples=80)
@given(asked(st.one_of(act_cases(bounded=False), cases(arrays=True), cases(floats=True).map(differentiated))))
def test_parts_of_many_programs(question: Asked) -> None:
    """The same, of more programs than a person waits for."""
    assert list(violations(*question)) == []


@pytest.mark.inner(first=1)
@pytest.mark.parametrize("name", ALL)
def test_every_value_is_fetched_and_fed(name: str) -> None:
    """The same of small programs, for each value and each two."""
    assert list(everything(ALL[name])) == []


def text(program: Program) -> str:
    return tl.print_program(program, locations=False)


def left(program: Program, fetches: Sequence[str] | None, feeds: Sequence[str] = ()) -> list[str]:
    """What is left of the main body, the parameters first."""
    part, taken = prune_program(program, fetches, feeds)
    return [*taken, *(node.name for node in part.main.body.nodes)]


def test_results_without_feeds_are_the_program() -> None:
    """P3: where all is needed, the part is the program itself."""
    assert prune_program(SEVERAL.program).program is SEVERAL.program


def test_what_is_not_needed_is_left_out() -> None:
    """P3: of a chain what comes before, and no effect that nobody fetches; that is fetched by its name."""
    assert left(MODEL.program, ["tanh"]) == ["x", "w", "multiply", "tanh"]
    assert left(MODEL.program, ["x"]) == ["x"]
    assert left(MODEL.program, ["print"]) == ["x", "w", "multiply", "tanh", "print"]
    assert "print" not in left(MODEL.program, None)


def test_what_only_makes_other_results_is_left_out() -> None:
    """P3: variables of a loop, and results of a branch in it, that what is fetched does not depend on; effects and puts
    stay."""

    def within(program: Program, *fetches: str) -> tuple[list[str], set[str]]:
        body = prune_program(program, fetches).program.main.body
        loop = next(node for node in body.nodes if node.op == "while_loop")
        return [result.name for result in loop.results], {node.op for node in body.walk()}

    branches = {"while_loop", "less", "cond", "remainder", "equal", "add", "print"}
    assert within(LEAN.program, "loop") == (["loop", "loop_n"], {"while_loop", "less", "add", "print"})
    assert within(LEAN.program, "loop_s") == (["loop", "loop_s", "loop_n", "loop_x"], branches | {"sin"})
    assert within(LEAN.program, "loop_u")[0] == ["loop", "loop_s", "loop_t", "loop_u", "loop_n", "loop_x"]
    assert within(FILLED.program, "g")[0] == ["i", "h", "m"]
    (chosen,) = (node for node in prune_program(CHOSEN.program, ["c"]).program.main.body.nodes if node.op == "cond")
    assert [result.name for result in chosen.results] == ["a", "c"] and len(list(chosen.regions[0].walk())) == 1


def test_functions_that_are_called_once_make_what_is_needed() -> None:
    """P3: results of a call that nobody takes, and arguments for these alone, as deep as calls go; effects stay, and so
    does what another call needs."""

    def within(*fetches: str) -> dict[str, tuple[int, int, set[str]]]:
        functions = prune_program(CALLED.program, fetches).program.functions
        ops = [{node.op for node in function.body.walk()} for function in functions]
        sizes = [(len(function.body.parameters), len(function.results)) for function in functions]
        return {function.name: (*size, found) for function, size, found in zip(functions, sizes, ops, strict=True)}

    printing = {"subtract", "print"}
    assert within("a")["three"] == (1, 1, {"add", "call"}) and within("a")["down"] == (1, 1, printing)
    assert within("b")["down"] == (1, 1, printing) and within("b")["called"][0] == 1
    assert within("c")["down"] == (2, 2, printing | {"multiply"})
    assert within("e")["two"] == (2, 1, {"subtract"}) and within("e", "h")["two"] == (2, 2, {"subtract", "add"})


def test_functions_have_less_to_do_where_all_of_the_main_body_is_needed() -> None:
    """P3: a result of a call that nobody takes is not made, and does not trap, whatever else stands around the call."""
    text = """func main(n: int64) -> int64 {
  a, b = call f n
  return a
}

func f(x: int64) -> int64, int64 {
  s = add x, 1
  t = floor_divide 1, x
  return s, t
}
"""
    for fetches in (None, ["a"]):
        part = prune_program(tl.parse_program(text), fetches).program
        assert [node.op for node in part["f"].body.nodes] == ["add"]
        assert tl.run_graph(tl.lower(part), [0]).value == 1


def test_functions_that_nobody_calls_any_more() -> None:
    """They are left out, so that what one place is left to call has what that needs."""
    part = prune_program(UNCALLED.program, ["a"]).program
    assert {function.name: len(function.results) for function in part.functions} == {"main": 1, "g": 1, "f": 1}
    assert not program_problems(part)


def test_functions_that_are_called_twice_run_as_a_whole() -> None:
    """P3: also where what one of them calls has fewer results."""
    part = prune_program(TWICE.program, ["b"]).program
    assert [node.op for node in part["g"].body.nodes] == ["call", "floor_divide"] and len(part["f"].results) == 1


def test_what_is_fed_needs_nothing() -> None:
    """P2: what comes before it is left out, and so are parameters that only that took."""
    assert left(MODEL.program, None, ["tanh"]) == ["x", "tanh", "loop", "greater", "cond"]
    assert left(MODEL.program, ["tanh"], ["tanh"]) == ["tanh"]
    assert left(MODEL.program, ["multiply"], ["cond"]) == ["x", "w", "multiply"]


def test_one_of_several_results_is_fed() -> None:
    """P2: the node stays for its other results, and what is fed has a name of its own."""
    part, taken = prune_program(SEVERAL.program, None, ["i"])
    assert taken == ("n", "i") and [parameter.name for parameter in part.main.body.parameters] == ["n", "i_1"]
    assert text(part).splitlines()[-2] == "  return i_1, s"


def test_a_function_that_calls_itself_stays_whole() -> None:
    """What is pruned of a main function that is called has a name of its own; what it calls is as it was."""
    part, _ = prune_program(RECURSIVE.program, ["small"])
    assert (part.entry, [function.name for function in part.functions]) == ("fac", ["fac"])
    part, _ = prune_program(RECURSIVE.program, ["r"], ["small"])
    assert part.entry == "fac_1" and part["fac"] == RECURSIVE.program.main
    assert tl.run_graph(tl.lower(part), [5, False]).results == (120,)


def test_nothing_goes_back_where_no_adjoint_is_needed() -> None:
    """P4: the function that is called has one phase then, and goes by its name."""
    part, _ = prune_program(STEP.program, ["model"])
    assert [(function.name, function.pullbacks) for function in part.functions] == [
        ("value_and_grad_model", ()),
        ("model_split", ()),
    ]
    assert "pullback" not in text(part) and "pullback" in text(prune_program(STEP.program, ["d_x"]).program)


def test_puts_are_needed_by_gets() -> None:
    """P4: also those whose own result nobody takes; other cells are left out."""
    assert left(CELLS.program, ["got"]) == ["x", "a", "b", "c", "filled", "got"]


def test_random_numbers_stay() -> None:
    """P5: a function in two forms that draws is refused."""
    assert left(DRAWS.program, ["again"]) == ["again"]
    with pytest.raises(tl.Usage) as raised:
        prune_program(DRAWS.program, ["more"])
    assert str(raised.value).startswith("P5: drawn is needed both as a part and as a whole, and draws random numbers")


@pytest.mark.parametrize(
    ("fetches", "feeds", "said"),
    [
        (["tanx"], [], "P1: model has no value that could be fetched by this name\n  required: x, w, multiply"),
        (["tanx"], [], "\n  got: tanx\n  hint: do you mean tanh?"),
        ([], ["tanx"], "P1: model has no value that could be fed by this name"),
        (["add"], [], "P1: add is no value of the main body of model: it has one under each tag"),
        (["add"], [], "\n  required: a tag before the name\n  got: add\n  hint: write main/loop[0]/add"),
        (["subtract"], [], "hint: write main/subtract"),
        (["s"], [], "hint: write main/loop[0]/s"),
    ],
)
def test_wrong_names(fetches: list[str], feeds: list[str], said: str) -> None:
    """P1: the name, where it is looked for, what there is, and what was meant, with the tag where that is missing."""
    with pytest.raises(tl.Usage) as raised:
        prune_program(MODEL.program, fetches, feeds)
    assert said in str(raised.value)


def test_cells_are_neither_fetched_nor_fed() -> None:
    """P1: a handle is no value that leaves a program."""
    for fetches, feeds in ((["a"], []), ([], ["b"])):
        with pytest.raises(tl.Usage, match=r"P1: . is a handle of cells, which cannot leave a program"):
            prune_program(CELLS.program, fetches, feeds)


def test_where_a_value_stands() -> None:
    """The first tag under which a value stands, by loops and calls; and the nodes of the main body that make it."""
    assert enclosing_tag(RECURSIVE.program, "p") == "main"
    assert enclosing_tag(STEP.program, "tanh") == "main/model"
    assert enclosing_tag(STEP.program, "add_1") == "main/model/loop[0]"
    assert enclosing_tag(STEP.program, "nothing") is None
    assert enclosing_tag(CELLS.program, "y") == enclosing_tag(CELLS.program, "h") == "main/filled"
    assert enclosing_nodes(STEP.program, "tanh") == ["model"] == enclosing_nodes(STEP.program, "add_1", "model")
    assert enclosing_nodes(STEP.program, "tanh", "loop") == []


def test_what_is_needed_is_found_by_the_law_too() -> None:
    """The search of the law is that of the rules on a chain."""
    assert needed(MODEL.program, ["tanh"], []) == {"multiply", "tanh"}
