"""Segments: nodes that need the same tokens fire together, and make the firings of the reference."""

from __future__ import annotations

from pathlib import Path

import pytest
import tagloom as tl
from hypothesis import given, settings
from support.engines.segment_machine import SegmentMachine, TooManyFirings
from support.generators.generator import Case, cases
from support.laws.segment_laws import segment_violations
from support.programs.not_strict import NOT_STRICT
from support.twins.broken_twin import Break, broken, caught
from tagloom.core.graph import segments
from tagloom.core.graph.graph import Graph
from tagloom.core.graph.lower import lower
from tagloom.core.graph.segments import Segmentation, format_segments, segment_graph
from tagloom.core.text import parse_program
from tagloom.interp.engines.limits import Limits
from tagloom.interp.engines.reference import run_graph

CORPUS = Path(__file__).parents[2] / "corpus"


def corpus_graph(name: str) -> Graph:
    return lower(parse_program((CORPUS / f"{name}.tl").read_text()))


@settings(max_examples=12)
@given(cases())
def test_segments_make_the_firings_of_the_reference(case: Case) -> None:
    """Every node is in a segment, once for each guard; the machine that fires segments gives the same results, multiset
    of firings, waves, waiting tokens, residue and activations as the reference."""
    assert list(segment_violations(case)) == []


@settings(max_examples=6)
@given(cases(arrays=True))
def test_segments_of_programs_of_arrays(case: Case) -> None:
    """So it does on arrays, whose ops trap more often."""
    assert list(segment_violations(case)) == []


@pytest.mark.full
def test_pullbacks_have_no_segments() -> None:
    """A graph with pullbacks is refused, by the node."""

    @tl.function
    def cube(x: tl.float64) -> tl.float64:
        return x * x * x

    @tl.function
    def slope(x: tl.float64) -> tl.float64:
        return tl.grad(cube)(x)

    graph = lower(slope.program)
    with pytest.raises(tl.Usage, match="a graph with pullbacks has no segments"):
        segment_graph(graph)


@pytest.mark.parametrize(
    ("name", "arguments", "firings", "segment_firings"),
    [
        ("fibonacci", [10], 1325, 265),
        ("takeuchi", [6, 4, 2], 672, 317),
        ("ackermann", [2, 3], 601, 175),
        ("collatz", [27], 1491, 223),
    ],
)
def test_firings_of_segments(name: str, arguments: list[int], firings: int, segment_firings: int) -> None:
    """A firing of a segment does the work of several firings of nodes."""
    machine = SegmentMachine(corpus_graph(name), limit=firings)
    machine.run(arguments)
    assert (sum(machine.by_node), machine.segment_firings) == (firings, segment_firings)


def test_alternatives_are_bounded() -> None:
    """A merge becomes an inlet where nodes behind many conds would have a copy for each of their outcomes."""
    conds = "\n".join(
        f"""
  p{n} = less x, {n}
  r{n} = cond p{n}, x {{
    then(m: int64) {{ yield m }}
    else(m: int64) {{
      a{n} = call half m
      yield a{n}
    }}
  }}"""
        for n in range(8)
    )
    sums = "\n".join(f"  s{n} = add s{n - 1}, r{n}" if n else "  s0 = add r0, 0" for n in range(8))
    text = f"func main(x: int64) -> int64 {{{conds}\n{sums}\n  return s7\n}}\n"
    text += "func half(n: int64) -> int64 {\n  h = floor_divide n, 2\n  return h\n}\n"
    graph = lower(parse_program(text))
    segmentation = segment_graph(graph)
    copies = [len(segmentation.segments_of(number)) for number in range(len(graph.nodes))]
    assert max(copies) <= segments.MAX_ALTERNATIVES
    machine, run = SegmentMachine(graph, segmentation), run_graph(graph, [5])
    machine.run([5])
    assert (machine.results, tuple(machine.by_node)) == ([*run.results], run.stats.by_node)


def test_text_form() -> None:
    """The text form lists bundles and segments; a node of a branch has its guard."""
    lines = format_segments(segment_graph(corpus_graph("collatz"))).splitlines()
    assert lines[0].startswith("bundle 0: ") and any(" where " in line for line in lines)


def returns_before_its_argument_comes() -> bool:
    """Whether f(2, 0) returns, although the inner call never does: only if f(1, y) does not wait for y."""
    machine = SegmentMachine(lower(parse_program(NOT_STRICT)), limit=1_000)
    try:
        machine.run([2, 0], until_results=True)
    except (TooManyFirings, AssertionError):
        return False
    return machine.results == [1]


def joins_nodes_of_a_scope(patch: pytest.MonkeyPatch) -> None:
    """All nodes of a scope are one segment, which waits for what any of them needs."""
    build = segments._Partitioner._build

    def joined(self: segments._Partitioner, bundles: list[list[segments.OutputRef]]) -> Segmentation:
        right = build(self, bundles)
        scopes = dict.fromkeys(segment.scope for segment in right.segments)
        parts = [[segment for segment in right.segments if segment.scope == scope] for scope in scopes]
        joint = tuple(
            segments.Segment(
                part[0].scope,
                tuple(sorted({need for segment in part for need in segment.needs})),
                tuple(copy for segment in part for copy in segment.copies),
            )
            for part in parts
        )
        return Segmentation(right.graph, right.bundles, right.bundle_of, joint)

    patch.setattr(segments._Partitioner, "_build", joined)


def sends_arguments_together(patch: pytest.MonkeyPatch) -> None:
    """All arguments of a call are one bundle, as in a strict language; they are never split."""
    patch.setattr(segments._Partitioner, "_split", lambda self, bundle: [list(bundle)])


def forgets_guards(patch: pytest.MonkeyPatch) -> None:
    """A segment fires the copies of a node for other outcomes, too."""
    simplified = segments._simplify

    def unguarded(alternatives: object) -> segments.Alternatives:
        return tuple(segments.Alternative(frozenset(), needs) for _, needs in simplified(alternatives))  # type: ignore

    patch.setattr(segments, "_simplify", unguarded)


TWINS = [joins_nodes_of_a_scope, sends_arguments_together, forgets_guards]


def is_wrong(how: Break, case: Case) -> bool:
    with broken(how):
        return any(segment_violations(case, Limits(firings=500)))


@pytest.mark.full
@pytest.mark.parametrize("how", TWINS, ids=lambda how: how.__name__)
def test_the_laws_catch_broken_segments(how: Break) -> None:
    """Every partition with one fault breaks a law, on a program on which the true one keeps the laws."""
    case = caught(cases(), lambda case: is_wrong(how, case), how.__doc__, 300)
    assert list(segment_violations(case)) == []


def test_segments_are_not_strict() -> None:
    """f(x, y) = 1 if x <= 1 else f(x - 1, f(x, y)) returns by true segments; not if nodes of different needs are
    joined."""
    assert returns_before_its_argument_comes()
    with broken(joins_nodes_of_a_scope):
        assert not returns_before_its_argument_comes()
