"""The phases of functions and loops to which the nodes of a graph belong, and names of reverse passes."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from support.programs.gradient_functions import GRADIENTS, grad_power
from tagloom.core.graph.nesting import PhaseMap, primal_phase
from tagloom.core.ops.op import OPS
from tagloom.core.program.program import ADJOINT_PREFIX, REVERSE_PREFIX, Region, original_name, unique_name
from tagloom.interp.outcome.program_order import program_order


def phases_of(region: Region) -> Iterator[tuple[str, int]]:
    """The computing nodes of a region and their phases; in split functions, conds belong to the phase that they stand
    in."""
    for phase, part in enumerate(region.phases()):
        for node in part.nodes:
            if node.op in OPS:
                yield node.name, phase
            for inner in node.regions:
                yield from phases_of(inner)


@pytest.mark.parametrize("name", GRADIENTS)
def test_l11_phases_of_a_graph_are_those_of_the_program(name: str) -> None:
    """L11: the phases that lowering numbers are found again in the graph."""
    function, _ = GRADIENTS[name]
    known, graph = PhaseMap(function.graph), function.graph
    actual = {(node.function, node.name): known.phase_of(number) for number, node in enumerate(graph.nodes)}
    expected = {(each.name, node): phase for each in function.program.functions for node, phase in phases_of(each.body)}
    assert expected and {key: actual[key] for key in expected} == expected
    assert max(expected.values()) == (3 if name == "second" else 1)


def test_each_derivation_doubles_the_phases() -> None:
    """Each derivation doubles the number of phases, and the last phase reverses the first."""
    assert [primal_phase(phase) for phase in range(1, 8)] == [0, 1, 0, 3, 2, 1, 0]


def test_program_order_of_reverse_passes() -> None:
    """Iterations rank from the first to the last, and those of a reverse pass from the last to the first."""
    out = grad_power.run(3.0, 3, keep="events", schedule="random:3")
    fired = [event for event in out.events if event.is_firing]
    ranks = program_order(out.graph, [(event.token.tag, event.token.node) for event in fired])
    in_order = sorted(fired, key=lambda event: ranks[event.token.tag, event.token.node])
    names = [(out.graph.nodes[event.token.node].name, event.token.tag.iteration) for event in in_order]
    texts = [(name, iteration) for name, iteration in names if name in ("multiply", "back_multiply", "loop_p")]
    forwards, back = [("multiply", k) for k in range(3)], [("back_multiply", k) for k in (2, 1, 0)]
    assert texts == [*forwards, ("loop_p", 3), *back]


def test_names_tell_what_they_reverse() -> None:
    """Each name tells what the node was created for, however names are numbered, and no other name looks like one."""
    known = ["add", "add_1", "back_add", "x", "x_1", "x_1_1"]
    taken = set(known)
    for beginning in (REVERSE_PREFIX, ADJOINT_PREFIX):
        for of in known * 3:
            name = unique_name(beginning, of, taken)
            assert name not in taken and original_name(beginning, name, known) == of
            taken.add(name)
    assert original_name(REVERSE_PREFIX, "back_sub_1", known) is None
