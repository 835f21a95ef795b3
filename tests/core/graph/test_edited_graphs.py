"""The law of rules V7 to V15: a valid graph cannot go wrong, and an invalid one can always be printed."""

from __future__ import annotations

import random
from collections.abc import Iterator

import pytest
import tagloom as tl
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from support.generators.generator import Case, cases
from support.generators.graph_edits import EDITS, Edit, Wire, insert_on_wire, wires
from tagloom.core.graph.graph import Edge, Graph
from tagloom.core.graph.lower import lower
from tagloom.core.graph.validate import graph_problems
from tagloom.core.value import fingerprint
from tagloom.interp.engines.limits import Limits
from tagloom.interp.engines.reference import run_graph
from tagloom.interp.outcome.outcome import Outcome

LIMITS = Limits(firings=2_000)
SHORT = Limits(firings=200)
SHAPE = ("V7", "V15")
"""The rules about the shape of a graph: where one is broken there is nothing to run."""


def problems_of(graph: Graph, edit: Edit) -> str:
    return f"after {edit.__name__}:\n{tl.print_graph(graph)}"


def comparable(run: Outcome) -> tuple[object, ...]:
    return run.status, [None if value is None else fingerprint(value) for value in run.results], run.stats.by_node


def keeps_the_laws(graph: Graph, case: Case) -> bool:
    """A valid graph ends well, leaves no residue, and has the same ending under every schedule."""
    try:
        ideal = run_graph(graph, case.arguments, limits=LIMITS)
    except tl.Usage:
        return True  # the edit changed what arguments the graph takes
    if ideal.status == "Exhausted":
        return True
    if ideal.status == "Returned" and (ideal.residue or ideal.open_activations):
        return False
    others = [run_graph(graph, case.arguments, limits=LIMITS, schedule=name) for name in ("lifo", "random:1")]
    return ideal.status in ("Returned", "Trapped") and all(comparable(run) == comparable(ideal) for run in others)


def runs_to_an_ending(graph: Graph, case: Case) -> bool:
    """A graph that breaks rules runs to an ending that is data, or is refused for its shape."""
    try:
        ran = run_graph(graph, case.arguments, unchecked=True, limits=SHORT)
    except tl.Invalid as refused:
        return refused.rule in SHAPE
    except tl.Usage:
        return True
    return ran.status in ("Returned", "Trapped", "Exhausted", "Deadlocked", "Broken")


def check(graph: Graph, case: Case, edit: Edit) -> None:
    if graph_problems(graph):
        assert runs_to_an_ending(graph, case), problems_of(graph, edit)
    else:
        assert keeps_the_laws(graph, case), problems_of(graph, edit)


@settings(max_examples=16, suppress_health_check=list(HealthCheck), phases=[Phase.generate])
@given(cases(), st.integers(0, 2**32))
def test_v7_to_v15_edited_graphs_are_refused_or_run(case: Case, seed: int) -> None:
    """V7 to V15: a lowered graph after any one edit is either reported as invalid, or runs to Returned, Trapped or
    Exhausted, never Broken or Deadlocked, without residue and alike under every schedule. An invalid graph that runs
    unchecked has some ending (S12), and raises nothing but a refusal of its shape."""
    graph, dice = lower(case.program), random.Random(seed)
    for edit in EDITS:
        for _ in range(2):
            check(edit(dice, graph), case, edit)


@settings(max_examples=10, suppress_health_check=list(HealthCheck), phases=[Phase.generate])
@given(cases(), st.integers(0, 2**32))
def test_v7_to_v15_a_node_on_an_edge_changes_nothing(case: Case, seed: int) -> None:
    """V7 to V15: the rules do not demand the shapes that lowering makes: an identity, or a merge of one, on any edge
    that does not enter a function or loop keeps the graph valid and its results unchanged. On the predicate of a switch
    this holds for an identity."""
    graph, dice = lower(case.program), random.Random(seed)
    expected = run_graph(graph, case.arguments, limits=LIMITS)
    for source, edge in dice.sample(inner := list(inner_edges(graph)), min(8, len(inner))):
        function = graph.nodes[source.node].function
        op = "identity" if carries_a_predicate(graph, edge) else dice.choice(["identity", "merge"])
        longer = insert_on_wire(graph, (source, edge), op, function)
        assert graph_problems(longer) == [], tl.print_graph(longer)
        run = run_graph(longer, case.arguments, limits=LIMITS)
        if "Exhausted" not in (run.status, expected.status):
            assert comparable(run)[:2] == comparable(expected)[:2], tl.print_graph(longer)


def inner_edges(graph: Graph) -> Iterator[Wire]:
    """All edges but those of arguments, calls, enters and next_iterations, which end on merges of their own."""
    for source, edge in wires(graph):
        if source.node >= 0 and graph.nodes[source.node].op not in ("call", "enter", "next_iteration"):
            yield source, edge


def carries_a_predicate(graph: Graph, edge: Edge) -> bool:
    """Whether a predicate comes along this edge; control contexts depend on it."""
    return graph.nodes[edge.node].op == "switch" and edge.port == 1


@pytest.mark.heavy
@pytest.mark.timeout(1800)
@settings(max_examples=25, suppress_health_check=list(HealthCheck), phases=[Phase.generate])
@given(cases(), st.integers(0, 2**32))
def test_many_edited_graphs_are_refused_or_run(case: Case, seed: int) -> None:
    """The same, for more graphs and for two edits at once."""
    graph, dice = lower(case.program), random.Random(seed)
    for edit in EDITS:
        for _ in range(4):
            once = edit(dice, graph)
            check(once, case, edit)
            if all(problem.rule not in SHAPE for problem in graph_problems(once)):
                check(dice.choice(EDITS)(dice, once), case, edit)


@pytest.mark.full
def test_edits_give_valid_and_invalid_graphs() -> None:
    """The law is not vacuous: many edited graphs are valid, and each rule is broken by some edit."""
    actual: dict[str, int] = {}

    @settings(max_examples=30, derandomize=True, database=None, suppress_health_check=list(HealthCheck))
    @given(cases())
    def count(case: Case) -> None:
        graph, dice = lower(case.program), random.Random(1)
        for edit in EDITS:
            result = edit(dice, graph)
            rule = next(
                (str(problem.rule) for problem in graph_problems(result)), "valid" if result != graph else "same"
            )
            actual[rule] = actual.get(rule, 0) + 1

    count()
    assert actual["valid"] >= 20 and set(actual) >= {f"V{k}" for k in range(7, 16)}, actual
