"""Probes change no result, see what the reference does, and name the first wrong token of backends that are wrong."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import tagloom as tl
from support.twins.wrong_backends import (
    AtLeastOneTrip,
    BothBranches,
    LooseBound,
    OneTripLess,
    RightBackend,
    SwappedCarry,
)
from tagloom.core.program.program import Node, Program
from tagloom.core.program.validate import program_problems
from tagloom.core.value import admit
from tagloom.interp.exchange.export.walker import Refusal
from tagloom.interp.oracle.fuzz import judge_case
from tagloom.interp.oracle.generate import generate_case
from tagloom.interp.oracle.probe import (
    ProbeReport,
    add_probe,
    compare_firings,
    find_wrong_token,
    probed_values,
    reference_firings,
)

NESTED = """
func square(x: int64) -> int64 {
  y = multiply x, x
  return y
}

func squares(n: int64) -> int64 {
  count, total, bound = while_loop 0, 0, n {
    while(i: int64, s: int64, m: int64) {
      more = less i, m
      yield more
    }
    do(i: int64, s: int64, m: int64) {
      q = call square i
      big = greater q, 3
      s3 = cond big, s, q {
        then(s: int64, i: int64) {
          c = add s, i
          yield c
        }
        else(s: int64, i: int64) { yield s }
      }
      next = add i, 1
      yield next, s3, m
    }
  }
  return total
}
"""
"""The loop and its branches use one name for several parameters."""

FIB = """
func fib(n: int64) -> int64 {
  small = less_equal n, 1
  r = cond small, n {
    then(n1: int64) { yield n1 }
    else(n2: int64) {
      n3 = subtract n2, 1
      one = call fib n3
      n4 = subtract n2, 2
      two = call fib n4
      sum = add one, two
      yield sum
    }
  }
  return r
}
"""


SLOPE = """
func slope(width: float64) -> float64 {
  count, last = while_loop 0, width {
    while(i: int64, w: float64) {
      more = less i, 2
      yield more
    }
    do(i: int64, w: float64) {
      opposite = negative w
      run = where true, opposite, w
      quotient = divide 1.0, run
      next = add i, 1
      yield next, quotient
    }
  }
  return last
}
"""


class UnsignedSelection(RightBackend):
    """`where` gives 0.0 in place of -0.0."""

    def op(self, node: Node, operands: list[Any]) -> Any:
        result = super().op(node, operands)
        return admit(np.asarray(result) + 0.0) if node.op == "where" else result


def parse_entry(text: str, entry: str) -> Program:
    """The program of a text, with this entry."""
    program = tl.parse(text).program
    assert program is not None
    return Program(program.functions, entry)


def probe_backend(program: Program, arguments: tuple[Any, ...], backend: RightBackend) -> ProbeReport:
    """What the probes of a program say of a backend."""
    return find_wrong_token(
        program, arguments, backend.run(program, arguments), lambda probe: backend.run(probe, arguments)
    )


@pytest.mark.parametrize(("text", "entry", "argument"), [(NESTED, "squares", 4), (FIB, "fib", 6)])
def test_a_probe_sees_the_firings_of_the_reference(text: str, entry: str, argument: int) -> None:
    """A probe keeps the results, counts the firings and has the values of the reference in program order, through
    loops, conds, calls and recursion. Only what a condition computes has none."""
    program = parse_entry(text, entry)
    firings, count = reference_firings(program, (argument,)), 0
    for value in probed_values(program):
        try:
            probe = add_probe(program, value, len(firings[value.sender]) + 1)
        except Refusal as refusal:
            assert value.variable.name == "more" and "the condition of a loop" in refusal.message
            continue
        assert not program_problems(probe)
        result, *state = RightBackend().run(probe, (argument,)).results
        assert result == {"squares": 13, "fib": 8}[entry]
        assert compare_firings(value, firings, *state) is None
        count += len(firings[value.sender])
    assert count == {"squares": 29, "fib": 110}[entry]


@pytest.mark.full
@pytest.mark.parametrize("first", range(4))
def test_probes_of_generated_programs(first: int) -> None:
    """The same for generated programs."""
    probes = 0
    for number in range(first, 24, 4):
        program, arguments = generate_case(5, number)
        judgement = judge_case(RightBackend(), generate_case(5, number))  # type: ignore[arg-type]
        if judgement is None:
            continue
        firings = reference_firings(program, arguments)
        for value in probed_values(program):
            try:
                probe = add_probe(program, value, len(firings[value.sender]) + 1)
            except Refusal:
                continue
            assert not program_problems(probe)
            *results, count, buffer = RightBackend().run(probe, arguments).results
            assert tuple(map(repr, results)) == tuple(map(repr, judgement.answer.results)), value
            assert compare_firings(value, firings, count, buffer) is None
            probes += 1
    assert probes > 20


def test_a_probe_that_records_wrongly_does_not_count() -> None:
    """If the op that records values is itself wrong, no token is called wrong that only the recording changes, but a
    node of that op is."""
    report = probe_backend(parse_entry(SLOPE, "slope"), (0.0,), UnsignedSelection())
    assert report.first is not None and report.first.node == "slope.run"
    assert (report.first.required, report.first.actual) == ("-0.0", "0.0")
    assert report.refusals[-1] == ("slope.opposite", "the backend changes -0.0 where a probe records it")


@pytest.mark.parametrize(
    ("twin", "node", "tag", "required", "actual"),
    [
        (OneTripLess, "squares.i", "main/count[3]", "3", "no token"),
        (AtLeastOneTrip, "squares.i", "a tag inside squares.count under main/count[0]", "no token", "0"),
        (SwappedCarry, "squares.count", "main/count[4]", "4", "13"),
        (LooseBound, "squares.i", "a tag behind main/count[3]", "no token", "4"),
    ],
    ids=lambda twin: getattr(twin, "__name__", None),
)
def test_the_first_wrong_token(twin: type[RightBackend], node: str, tag: str, required: str, actual: str) -> None:
    """The first wrong token is that of the construct that the backend gets wrong: a trip that is missing or too many, a
    result of a loop."""
    argument = 0 if twin is AtLeastOneTrip else 4
    first = probe_backend(parse_entry(NESTED, "squares"), (argument,), twin()).first
    assert first is not None
    assert (first.node, first.tag, first.required, first.actual) == (node, tag, required, actual)


def test_a_right_backend_has_no_wrong_token() -> None:
    """If all tokens are right, the report says so, and names what has no probe."""
    report = probe_backend(parse_entry(NESTED, "squares"), (3,), RightBackend())
    assert report.first is None and not report.unfaithful_probes
    assert str(report).splitlines() == [
        "all tokens of the probed nodes are right: the fault is in a node that only passes tokens on",
        "squares.more has no probe: it is computed in the condition of a loop",
    ]


class RightWhenProbed(BothBranches):
    """Right on every program but the one that it was made for."""

    def run(self, program: Program, arguments: Any) -> Any:
        backend = super() if "probe" not in program.entry else RightBackend()
        return backend.run(program, arguments)


def test_a_probe_that_moves_the_fault_does_not_count() -> None:
    """Where probing cures a backend, no token is blamed, and the probed values are listed."""
    text = "func main() -> int64 {\n  a, b = cond false {\n    then() { yield 0, 0 }\n    else() { yield 1, 1 }\n  }\n"
    program = parse_entry(f"{text}  return b\n}}", "main")
    assert RightWhenProbed().run(program, ()).results != RightBackend().run(program, ()).results
    report = probe_backend(program, (), RightWhenProbed())
    assert report.first is None and report.faithful_count == 0 and report.unfaithful_probes == ("main.a", "main.b")
    assert str(report).startswith("the wrong results disappear under every probe")
