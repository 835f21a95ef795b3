"""Partial programs: exactly the nodes that the fetched values need remain, and give the same values (P1 to P5)."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
import tagloom as tl
from hypothesis import given, settings
from hypothesis import strategies as st
from support.generators.effect_programs import act_cases
from support.generators.generator import Case, cases
from support.generators.gradient_programs import differentiate
from support.laws.partial_laws import draw_request, each_value_violations, needed_nodes, violations
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
@given(draw_request(cases()))
def test_parts_of_generated_programs(question: Asked) -> None:
    """A fetched value is that of a run of the whole program, also with other values fed. The part is valid, fires no
    node more often than the whole, and none that is not needed (P1 to P4)."""
    assert list(violations(*question)) == []


@settings(max_examples=50)
@given(draw_request(act_cases(bounded=False)))
def test_parts_of_programs_with_effects(question: Asked) -> None:
    """The law holds with cells, effects and random numbers (P3, P4, P5)."""
    assert list(violations(*question)) == []


@settings(max_examples=30)
@given(draw_request(cases(floats=True).map(differentiate)))
def test_parts_of_programs_with_gradients(question: Asked) -> None:
    """The law holds with pullbacks: if no adjoint is needed, there is no reverse pass (P4)."""
    assert list(violations(*question)) == []


@settings(max_examples=8)
@given(draw_request(cases(floats=True).map(lambda case: differentiate(case, 2))))
def test_parts_of_programs_with_second_derivatives(question: Asked) -> None:
    """The law holds with four phases."""
    assert list(violations(*question)) == []


@pytest.mark.heavy
@settings(max_examples=80)
@given(draw_request(st.one_of(act_cases(bounded=False), cases(arrays=True), cases(floats=True).map(differentiate))))
def test_parts_of_many_programs(question: Asked) -> None:
    """The law holds for many programs."""
    assert list(violations(*question)) == []


@pytest.mark.full
@pytest.mark.parametrize("name", ALL)
def test_every_value_is_fetched_and_fed(name: str) -> None:
    """The law holds for small programs, for each value and each pair of values."""
    assert list(each_value_violations(ALL[name])) == []


def text(program: Program) -> str:
    return tl.print_program(program, locations=False)


def remaining_nodes(program: Program, fetches: Sequence[str] | None, feeds: Sequence[str] = ()) -> list[str]:
    """The remaining nodes of the main body, after the parameters."""
    part, taken = prune_program(program, fetches, feeds)
    return [*taken, *(node.name for node in part.main.body.nodes)]


def test_p3_a_part_that_needs_everything_is_the_program() -> None:
    """P3: if all nodes are needed, the part is the program itself."""
    assert prune_program(SEVERAL.program).program is SEVERAL.program


def test_p3_unneeded_nodes_are_left_out() -> None:
    """P3: of a chain, only the nodes before the fetched one remain, and no effect that is not fetched; effects are
    fetched by name."""
    assert remaining_nodes(MODEL.program, ["tanh"]) == ["x", "w", "multiply", "tanh"]
    assert remaining_nodes(MODEL.program, ["x"]) == ["x"]
    assert remaining_nodes(MODEL.program, ["print"]) == ["x", "w", "multiply", "tanh", "print"]
    assert "print" not in remaining_nodes(MODEL.program, None)


def test_p3_unneeded_results_of_loops_and_branches_are_left_out() -> None:
    """P3: loop variables, and results of branches in the loop, on which the fetched value does not depend are left out;
    effects and puts remain."""

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


def test_p3_functions_called_once_are_pruned() -> None:
    """P3: unused results of a call, and arguments for these alone, are left out, as deep as calls go; effects remain,
    and so do nodes that another call needs."""

    def within(*fetches: str) -> dict[str, tuple[int, int, set[str]]]:
        functions = prune_program(CALLED.program, fetches).program.functions
        ops = [{node.op for node in function.body.walk()} for function in functions]
        sizes = [(len(function.body.parameters), len(function.results)) for function in functions]
        return {function.name: (*size, result) for function, size, result in zip(functions, sizes, ops, strict=True)}

    printing = {"subtract", "print"}
    assert within("a")["three"] == (1, 1, {"add", "call"}) and within("a")["down"] == (1, 1, printing)
    assert within("b")["down"] == (1, 1, printing) and within("b")["called"][0] == 1
    assert within("c")["down"] == (2, 2, printing | {"multiply"})
    assert within("e")["two"] == (2, 1, {"subtract"}) and within("e", "h")["two"] == (2, 2, {"subtract", "add"})


def test_p3_functions_are_pruned_if_the_main_body_is_not() -> None:
    """P3: an unused result of a call is not computed, and does not trap, whatever surrounds the call."""
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


def test_uncalled_functions_are_left_out() -> None:
    """Functions without calls are left out, and do not keep the results of functions that they called."""
    part = prune_program(UNCALLED.program, ["a"]).program
    assert {function.name: len(function.results) for function in part.functions} == {"main": 1, "g": 1, "f": 1}
    assert not program_problems(part)


def test_p3_functions_called_twice_are_not_pruned() -> None:
    """P3: a function that is called twice runs as a whole, even if one that it calls has fewer results."""
    part = prune_program(TWICE.program, ["b"]).program
    assert [node.op for node in part["g"].body.nodes] == ["call", "floor_divide"] and len(part["f"].results) == 1


def test_p2_fed_values_need_nothing() -> None:
    """P2: the nodes before a fed value are left out, and so are parameters that only they used."""
    assert remaining_nodes(MODEL.program, None, ["tanh"]) == ["x", "tanh", "loop", "greater", "cond"]
    assert remaining_nodes(MODEL.program, ["tanh"], ["tanh"]) == ["tanh"]
    assert remaining_nodes(MODEL.program, ["multiply"], ["cond"]) == ["x", "w", "multiply"]


def test_p2_one_of_several_results_is_fed() -> None:
    """P2: the node remains for its other results, and the fed value has a name of its own."""
    part, taken = prune_program(SEVERAL.program, None, ["i"])
    assert taken == ("n", "i") and [parameter.name for parameter in part.main.body.parameters] == ["n", "i_1"]
    assert text(part).splitlines()[-2] == "  return i_1, s"


def test_a_recursive_main_function_is_copied() -> None:
    """The pruned copy of a main function that is called has a name of its own; the function that it calls is
    unchanged."""
    part, _ = prune_program(RECURSIVE.program, ["small"])
    assert (part.entry, [function.name for function in part.functions]) == ("fac", ["fac"])
    part, _ = prune_program(RECURSIVE.program, ["r"], ["small"])
    assert part.entry == "fac_1" and part["fac"] == RECURSIVE.program.main
    assert tl.run_graph(tl.lower(part), [5, False]).results == (120,)


def test_p4_there_is_no_reverse_pass_without_adjoints() -> None:
    """P4: the called function then has one phase, under its own name."""
    part, _ = prune_program(STEP.program, ["model"])
    assert [(function.name, function.pullback_result_types) for function in part.functions] == [
        ("value_and_grad_model", ()),
        ("model_split", ()),
    ]
    assert "pullback" not in text(part) and "pullback" in text(prune_program(STEP.program, ["d_x"]).program)


def test_p4_gets_need_puts() -> None:
    """P4: puts are needed even if their own results are unused; other cells are left out."""
    assert remaining_nodes(CELLS.program, ["got"]) == ["x", "a", "b", "c", "filled", "got"]


def test_p5_random_numbers_do_not_change() -> None:
    """P5: a function that draws is refused if it would have two forms."""
    assert remaining_nodes(DRAWS.program, ["again"]) == ["again"]
    with pytest.raises(tl.Usage) as raised:
        prune_program(DRAWS.program, ["more"])
    assert str(raised.value).startswith("P5: drawn is run both in part and in full, and draws random numbers")


@pytest.mark.parametrize(
    ("fetches", "feeds", "message"),
    [
        (["tanx"], [], "P1: model has no value of this name that could be fetched\n  required: x, w, multiply"),
        (["tanx"], [], "\n  got: tanx\n  hint: did you mean tanh?"),
        ([], ["tanx"], "P1: model has no value of this name that could be fed"),
        (["add"], [], "P1: add is not a value of the main body of model: it has one under each tag"),
        (["add"], [], "\n  required: a tag before the name\n  got: add\n  hint: write main/loop[0]/add"),
        (["subtract"], [], "hint: write main/subtract"),
        (["s"], [], "hint: write main/loop[0]/s"),
    ],
)
def test_p1_wrong_names_are_refused(fetches: list[str], feeds: list[str], message: str) -> None:
    """P1: the error has the name, where it was looked up, the existing names, and the likely one, with the tag if that
    is missing."""
    with pytest.raises(tl.Usage) as raised:
        prune_program(MODEL.program, fetches, feeds)
    assert message in str(raised.value)


def test_p1_cells_are_neither_fetched_nor_fed() -> None:
    """P1: a handle cannot leave a program."""
    for fetches, feeds in ((["a"], []), ([], ["b"])):
        with pytest.raises(tl.Usage, match=r"P1: . is a handle of cells, which cannot leave a program"):
            prune_program(CELLS.program, fetches, feeds)


def test_the_place_of_a_value() -> None:
    """The place has the first tag of a value, by loops and calls, and the nodes of the main body that compute it."""
    assert enclosing_tag(RECURSIVE.program, "p") == "main"
    assert enclosing_tag(STEP.program, "tanh") == "main/model"
    assert enclosing_tag(STEP.program, "add_1") == "main/model/loop[0]"
    assert enclosing_tag(STEP.program, "nothing") is None
    assert enclosing_tag(CELLS.program, "y") == enclosing_tag(CELLS.program, "h") == "main/filled"
    assert enclosing_nodes(STEP.program, "tanh") == ["model"] == enclosing_nodes(STEP.program, "add_1", "model")
    assert enclosing_nodes(STEP.program, "tanh", "loop") == []


def test_the_law_s_search_agrees_on_a_chain() -> None:
    """On a chain, the search of the law finds the nodes that the rules need."""
    assert needed_nodes(MODEL.program, ["tanh"], []) == {"multiply", "tanh"}
