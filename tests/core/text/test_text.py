"""The printed forms of programs and graphs, character by character."""

from __future__ import annotations

from dataclasses import replace
from textwrap import dedent

import pytest
import tagloom as tl
from hypothesis import given, settings
from support.generators.generator import Case, cases
from tagloom.core.graph.graph import Edge
from tagloom.core.graph.lower import lower
from tagloom.core.program.program import Location, Node, Program, Region, Var
from tagloom.core.tag import ENVIRONMENT, Site

INT, BOOL = tl.Type(tl.int64), tl.Type(tl.bool)


@tl.function
def fib(n: tl.int64) -> tl.int64:
    return tl.cond(n <= 1, lambda: 1, lambda: fib(n - 1) + fib(n - 2))


@tl.function
def table(n: tl.int64, x: tl.Array[tl.float64, 2, None]) -> tuple[tl.int64, tl.Array[tl.float64, 2, None]]:
    def row(i: tl.int64, s: tl.int64) -> tuple[tl.int64, tl.int64]:
        return i + 1, tl.while_loop(lambda j, t: j < i, lambda j, t: (j + 1, t + 1), 0, s)[1]

    total = tl.while_loop(lambda i, s: i < n, row, 0, 0)[1]
    return tl.astype(tl.astype(total, tl.bool), tl.int64), x * [[0.5], [float("nan")]]


def text(written: str) -> str:
    return dedent(written).lstrip("\n")


def test_the_text_of_a_program() -> None:
    """A program is printed as a student would write it, a node on each line, with regions indented."""
    assert tl.print_program(fib.program, locations=False) == text("""
        func fib(n: int64) -> int64 {
          less_equal = less_equal n, 1
          cond = cond less_equal, n {
            then(n: int64) { yield 1 }
            else(n: int64) {
              subtract = subtract n, 1
              fib = call fib subtract
              subtract_1 = subtract n, 2
              fib_1 = call fib subtract_1
              add = add fib, fib_1
              yield add
            }
          }
          return cond
        }
        """)


def test_the_text_of_nested_loops() -> None:
    """Nested loops, several results, arrays as literals, and attributes."""
    assert tl.print_program(table.program, locations=False) == text("""
        func table(n: int64, x: float64[2, ?]) -> int64, float64[2, ?] {
          loop, loop_s, loop_n = while_loop 0, 0, n {
            while(i: int64, s: int64, n: int64) {
              less = less i, n
              yield less
            }
            do(i: int64, s: int64, n: int64) {
              add = add i, 1
              loop_1, loop_1_t, loop_1_i = while_loop 0, s, i {
                while(j: int64, t: int64, i: int64) {
                  less_1 = less j, i
                  yield less_1
                }
                do(j: int64, t: int64, i: int64) {
                  add_1 = add j, 1
                  add_2 = add t, 1
                  yield add_1, add_2, i
                }
              }
              yield add, loop_1_t, n
            }
          }
          astype = astype loop_s, dtype=bool
          astype_1 = astype astype, dtype=int64
          multiply = multiply x, [[0.5], [nan]]
          return astype_1, multiply
        }
        """)


def test_source_lines_in_text() -> None:
    """`from` names the file of the nodes; each node has its line in a column on the right, and its own file if that
    differs."""
    program = tl.parse_program("func f(x: int64) {\n  y = abs x\n  r = negative y\n  return r\n}", "some/f.tl")
    one, two = program.main.body.nodes
    nodes = (one, replace(two, location=Location("other.py", 9)))
    main = replace(program.main, body=replace(program.main.body, nodes=nodes))
    assert tl.print_program(replace(program, functions=(main,))) == text("""
        from "some/f.tl"
        func f(x: int64) -> int64 {  at 1
          y = abs x                  at 2
          r = negative y             at "other.py":9
          return r
        }
        """)


def test_types_that_inference_does_not_find_are_printed() -> None:
    """Types that inference finds are left out; a result with another type, which breaks a rule, has it."""
    program = Program((replace(fib.program.main, name="f"),), "f")
    less, cond = program.main.body.nodes
    odd = replace(less, results=(Var("less_equal", INT),))
    changed = replace(program.main, body=replace(program.main.body, nodes=(odd, cond)))
    lines = tl.print_program(replace(program, functions=(changed,)), locations=False).splitlines()
    assert lines[1] == "  less_equal: int64 = less_equal n, 1"
    assert sum(": int64 =" in line for line in lines) == 1


def test_the_text_of_a_graph() -> None:
    """A graph is printed with a node on each line and the sources of its ports: an output, a literal, or a trigger
    behind an @. The body is printed once, with its sites above it, in program order, and the last line creates the
    returns."""
    assert tl.print_graph(fib.graph, locations=False) == text("""
        graph fib(n: int64) -> int64 {
          site fib.fib calls fib
          site fib.fib_1 calls fib
          fib.n = merge n, fib.fib.call_n, fib.fib_1.call_n
          fib.less_equal = less_equal fib.n, 1
          fib.cond.switch_trigger = switch fib.less_equal, fib.less_equal
          fib.literal = identity 1 @ fib.cond.switch_trigger:0
          fib.cond.switch_n = switch fib.n, fib.less_equal
          fib.subtract = subtract fib.cond.switch_n:1, 1
          fib.fib.call_n = call[fib.fib] fib.subtract
          fib.fib = return[fib.fib] fib.cond
          fib.subtract_1 = subtract fib.cond.switch_n:1, 2
          fib.fib_1.call_n = call[fib.fib_1] fib.subtract_1
          fib.fib_1 = return[fib.fib_1] fib.cond
          fib.add = add fib.fib, fib.fib_1
          fib.cond = merge fib.literal, fib.add
          return fib.cond
        }
        """)


def test_the_text_of_the_graph_of_a_loop() -> None:
    """A loop is its enters, merges, switches, next_iterations and exits; a hidden argument has an @."""

    @tl.function
    def total(n: tl.int64) -> tl.int64:
        return tl.while_loop(lambda s: s < n, lambda s: s + tl.astype(True, tl.int64), 0)[0]

    assert tl.print_graph(total.graph, locations=False) == text("""
        graph total(@trigger, n: int64) -> int64 {
          total.trigger = merge trigger
          total.n = merge n
          total.loop.enter_s = enter[total.loop] 0 @ total.trigger
          total.loop.s = merge total.loop.enter_s, total.loop.next_s
          total.loop.enter_n = enter[total.loop] total.n
          total.loop.n = merge total.loop.enter_n, total.loop.next_n
          total.less = less total.loop.s, total.loop.n
          total.loop.switch_s = switch total.loop.s, total.less
          total.loop.switch_n = switch total.loop.n, total.less
          total.astype = astype true, dtype=int64 @ total.loop.switch_s:0
          total.add = add total.loop.switch_s:0, total.astype
          total.loop.next_s = next_iteration[total.loop] total.add
          total.loop.next_n = next_iteration[total.loop] total.loop.switch_n:0
          total.loop = exit[total.loop] total.loop.switch_s:1
          total.loop_n = exit[total.loop] total.loop.switch_n:1
          return total.loop:0
        }
        """)


def test_the_text_of_an_invalid_graph() -> None:
    """An invalid graph is printed too, with several sources of a port, or none. Nodes of a graph with one function need
    not name it."""
    builder = tl.GraphBuilder("race")
    x, y = builder.argument("x", INT), builder.argument("y", tl.Array[tl.int64, 2])
    (less,) = builder.node("less", "less", [x, None], [BOOL])
    taken, other = builder.node("switch", "switch", [y, less], [INT, INT])
    (node,) = builder.node("add", "add", [taken, other], [INT])
    builder.connect(x, node.node, 0)
    assert tl.print_graph(builder.build([node])) == text("""
        graph race(x: int64, y: int64[2]) -> int64 {
          less = less x, ?
          switch: int64, int64 = switch y, less
          add = add x | switch:0, switch:1
          return add
        }
        """)


def test_odd_sites_and_results() -> None:
    """A site of the wrong kind has its kind, a missing site is [], and the environment is @; results that are no
    returns are `results`."""
    builder = tl.GraphBuilder("odd")
    x = builder.argument("x", INT)
    site = Site("odd", "s", "loop")
    builder.calls[site] = "odd"
    (a,) = builder.node("call", "a", [x], [INT], site=site)
    (b,) = builder.node("return", "b", [a], [INT])
    (c,) = builder.node("enter", "c", [b], [INT], site=ENVIRONMENT)
    builder.node("abs", "d", [c], [], site=Site("f", "g.h", "call"))
    graph = builder.build(return_nodes=[c.node])
    written = text("""
        graph odd(x: int64) {
          site loop odd.s calls odd
          a = call[loop odd.s] x
          b = return[] a
          c = enter[@] b
          d: () = abs[call f.g.h] c
          results c
        }
        """)
    assert tl.print_graph(graph) == written and tl.parse_graph(written) == graph


def test_an_entry_that_is_not_the_first() -> None:
    """Functions are printed in their order; if the first is not the entry, a line names the entry."""
    program = Program((*fib.program.functions, *table.program.functions), "table")
    lines = tl.print_program(program, locations=False).splitlines()
    assert lines[0] == "entry table"
    assert [line.split("(")[0] for line in lines if line.startswith("func")] == ["func fib", "func table"]


@settings(max_examples=20)
@given(cases())
def test_printing_is_stable(case: Case) -> None:
    """Equal programs and graphs print alike. Every node has a line of its own, except the returns that the last line
    creates."""
    graph = lower(case.program)
    assert tl.print_program(case.program) == tl.print_program(Program(case.program.functions, case.program.entry))
    lines = tl.print_graph(graph).splitlines()
    assert lines == tl.print_graph(lower(case.program)).splitlines()
    assert len({line for line in lines if " = " in line}) == len(graph.nodes) - len(graph.results)


@pytest.mark.parametrize("edge", [Edge(99, 0), Edge(0, 99)])
def test_edges_to_nowhere_are_refused(edge: Edge) -> None:
    """A graph that could not be read back is not printed."""
    builder = tl.GraphBuilder("lost")
    x = builder.argument("x", INT)
    (result,) = builder.node("abs", "abs", [x], [INT])
    graph = builder.build([result])
    (name, output), *_ = graph.arguments
    broken = replace(graph, arguments=((name, replace(output, edges=tuple(sorted((*output.edges, edge))))),))
    with pytest.raises(tl.Usage, match="an edge to a port that does not exist"):
        tl.print_graph(broken)


@pytest.mark.parametrize(
    "node",
    [
        Node("abs", ("x",), ()),
        Node("abs", ("x",), (Var("a b", INT),)),
        Node("abs", ("x",), (Var("true", BOOL),)),
        Node("a-b", ("x",), (Var("y", INT),)),
        Node("call", ("x",), (Var("y", INT),)),
        Node("abs", ("x",), (Var("y", INT),), attributes=(("axis", object()),)),
    ],
    ids=["no result", "no name", "a literal's name", "no op's name", "no function", "an attribute that is no value"],
)
def test_programs_without_text_are_refused(node: Node) -> None:
    """A program with a part that the form cannot express is refused, with that part."""
    body = Region((Var("x", INT),), (node,), ("x",))
    program = Program((replace(fib.program.main, body=body),), "fib")
    with pytest.raises(tl.Usage, match="the text form cannot write"):
        tl.print_program(program)
