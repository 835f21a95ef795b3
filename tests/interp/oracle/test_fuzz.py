"""Fuzzing finds every backend that is wrong on purpose, and shrinks what it finds; it finds nothing in a right one."""

from __future__ import annotations

import json
import shlex
import subprocess
import sys
from pathlib import Path
from random import Random
from threading import Lock
from typing import Any

import pytest
import tagloom as tl
from support.twins.wrong_backends import (
    FAULTY_OPS,
    WRONG_BACKENDS,
    WRONG_OPS,
    FlushedDenormals,
    RightBackend,
)
from tagloom.core.ops.op import OPS
from tagloom.core.program.program import Program
from tagloom.core.program.validate import program_problems
from tagloom.core.value import format_value
from tagloom.interp.oracle.blame import find_blame, find_first_level
from tagloom.interp.oracle.finding_folder import finding_backend, is_finding, open_finding
from tagloom.interp.oracle.finding_report import first_difference, write_finding
from tagloom.interp.oracle.fuzz import (
    FuzzFinding,
    FuzzOptions,
    FuzzReport,
    describe_symptom,
    fuzz,
    judge_case,
    try_number,
)
from tagloom.interp.oracle.generate import COMPARISONS, EDGE_INTERVAL, FuzzCase, generate_case
from tagloom.interp.oracle.judge import FAILURES
from tagloom.interp.oracle.protocol import Answer, Capabilities, Level
from tagloom.interp.oracle.shrink import count_nodes, shrink, smaller_cases
from tagloom.interp.oracle.sweep import op_samples, sweep

MOST_PROGRAMS, MOST_EDGE_PROGRAMS = 400, 2_000
"""Each backend whose control flow is wrong must fail within so many programs, and each with a wrong op."""
MOST_NODES = 6
LEVELS = tuple(Level(name, f"the part of {name}") for name in ("eager", "traced", "compiled"))


def judged(backend: Any, case: FuzzCase) -> str:
    judgement = judge_case(backend, case)
    return "discarded" if judgement is None else describe_symptom(judgement)


def first_finding(twin: type[RightBackend], most_programs: int) -> FuzzFinding:
    """What fuzzing reports of the first generated program on which a twin fails."""
    for number in range(most_programs):
        if judged(twin(), generate_case(0, number)).partition(" ")[0] in FAILURES:
            report, backend = FuzzReport(), twin()
            try_number(backend, FuzzOptions(), number, report, Lock())  # type: ignore[arg-type]
            (finding,) = report.findings
            return finding
    pytest.fail(f"{twin.__doc__} was not caught")


def sender_op(program: Program, name: str) -> str:
    """The op of the node that sends a probed value; of a variable of a loop the loop."""
    function, _, variable = name.partition(".")
    for node in program[function].body.walk():
        parameters = (parameter for region in node.regions for parameter in region.parameters)
        if variable in {var.name for var in (*node.results, *parameters)}:
            return node.op
    raise AssertionError(name)


TWINS = [
    *(pytest.param(twin, id=twin.__name__) for twin in WRONG_BACKENDS),
    *(
        pytest.param(twin, id=twin.__name__, marks=pytest.mark.heavy)
        for twin in WRONG_OPS
        if twin is not FlushedDenormals
    ),
]


@pytest.mark.full
@pytest.mark.parametrize("twin", TWINS)
def test_a_wrong_backend_is_found_shrunk_and_blamed(twin: type[RightBackend]) -> None:
    """Fuzzing finds a backend that is wrong in one way within a fixed number of programs, and shrinks the failure to at
    most 6 nodes, on which a right backend is alike. The first wrong token is of an op that the backend computes
    wrongly; of all optimisations the one with the fault is blamed, and of three levels the one that adds it."""
    finding = first_finding(twin, MOST_PROGRAMS if twin in WRONG_BACKENDS else MOST_EDGE_PROGRAMS)
    program, symptom = finding.case.program, finding.symptom
    text = tl.print_program(program)
    assert judged(twin(), finding.case) == symptom and judged(RightBackend(), finding.case) == "alike"
    assert count_nodes(program) <= MOST_NODES, text

    fault = FAULTY_OPS.get(twin)
    if fault is not None:
        assert fault in (*finding.ops.split(), "", *(node.op for node in program.main.body.walk())), text
    if symptom == "different":
        assert finding.probes is not None and finding.probes.first is not None, text
        op = sender_op(program, finding.probes.first.node)
        assert op == fault or (fault == "compare" and op in COMPARISONS) or (fault is None and op in OPS), text

    def verdict_with(*, is_wrong: bool) -> str:
        return judged(twin() if is_wrong else RightBackend(), finding.case).partition(" ")[0]

    flags = [each.__name__ for each in (*WRONG_BACKENDS, *WRONG_OPS)]
    blame = find_blame(flags, lambda off: verdict_with(is_wrong=twin.__name__ not in off) == "alike")
    assert blame.sets == ((twin.__name__,),)
    for first in LEVELS:
        wrong_levels = LEVELS[LEVELS.index(first) :]
        blamed = find_first_level(LEVELS, lambda level, wrong=wrong_levels: verdict_with(is_wrong=level in wrong))  # type: ignore[misc]
        assert blamed.first == first


@pytest.mark.full
def test_flushed_denormals_are_undecided() -> None:
    """A backend that takes denormals for zero differs where the policy leaves that open: fuzzing counts it."""
    backend: Any = FlushedDenormals()
    report = FuzzReport()
    for number in range(2, 800, EDGE_INTERVAL):
        try_number(backend, FuzzOptions(), number, report, Lock())
    assert not report.findings and report.verdicts["undecided"] == report.undecided.total()
    assert sum(count for reason, count in report.undecided.items() if reason.startswith("denormal: ")) > 5


def test_there_are_enough_wrong_backends() -> None:
    """There are at least 25 backends that are wrong in the control flow of programs or in their ops."""
    assert len(WRONG_BACKENDS) + len(WRONG_OPS) >= 25


CALLS = """
func main(n: int64) -> int64 {
  b = cond true, n {
    then(m: int64) {
      k = call last m
      yield k
    }
    else(m: int64) { yield m }
  }
  return b
}

func last(x: int64) -> int64 {
  y = subtract x, 1
  z = cond false, y {
    then(v: int64) { yield v }
    else(w: int64) { yield w }
  }
  return z
}
"""
"""A cond in a function that a branch calls."""


@pytest.mark.full
def test_a_call_becomes_the_body_of_its_function() -> None:
    """The only call of a function goes, even if the failure needs what the function has in it, inside of a branch."""
    program = tl.parse(CALLS).program
    assert program is not None

    def has_cond_in_cond(case: FuzzCase) -> bool:
        reachable = case.program.reachable_functions()
        called = {node.op for function in reachable[1:] for node in function.body.walk()}
        conds = [node for node in case.program.main.body.walk() if node.op == "cond"]
        ops = {node.op for cond in conds for region in cond.regions for node in region.walk()}
        return "cond" in ops or ("call" in ops and "cond" in called)

    smallest = shrink(FuzzCase(program, (3,)), has_cond_in_cond).program
    assert [node.op for node in smallest.main.body.walk()] == ["cond", "cond"] and len(smallest.functions) == 1


DISTANCE = """
func main() -> int64 {
  b = cond true, 3 {
    then(n: int64) {
      k = while_loop n {
        while(k: int64) {
          p = less k, 5
          yield p
        }
        do(k: int64) {
          j = add k, 1
          yield j
        }
      }
      yield k
    }
    else(n: int64) { yield n }
  }
  d = subtract b, 1
  return d
}
"""
"""The difference is wrong only if an operand is not a constant."""


@pytest.mark.full
def test_a_node_becomes_a_parameter() -> None:
    """What computes an operand goes, even if the failure needs an operand that is no constant."""
    program = tl.parse(DISTANCE).program
    assert program is not None

    def has_variable_difference(case: FuzzCase) -> bool:
        nodes = case.program.main.body.walk()
        return any(node.op == "subtract" and isinstance(node.inputs[0], str) for node in nodes)

    smallest = shrink(FuzzCase(program, ()), has_variable_difference)
    assert count_nodes(smallest.program) == 1 and len(smallest.arguments) == 1


@pytest.mark.full
@pytest.mark.parametrize("number", range(3))
def test_generated_programs_are_valid_and_repeatable(number: int) -> None:
    """The programs of a seed keep the rules, are the same in each run, and a right backend agrees on them."""
    for k in range(number, 60, 3):
        case = generate_case(1, k)
        assert program_problems(case.program) == []
        assert tl.print_program(case.program) == tl.print_program(generate_case(1, k).program)
        assert judged(RightBackend(), case) in ("alike", "discarded")


SCALARS = Capabilities(
    "scalars", "1", "C", ("int64", "bool"), ("add", "subtract", "less", "where"), ("cond", "while_loop", "call")
)


@pytest.mark.full
@pytest.mark.parametrize("missing", [None, "cond", "while_loop", "call"])
def test_programs_have_what_the_backend_supports(missing: str | None) -> None:
    """If a backend says which dtypes and constructs it supports, programs have no others; among 100 there are all."""
    constructs = tuple(name for name in SCALARS.constructs or () if name != missing)
    capabilities = SCALARS._replace(constructs=constructs)
    programs = [generate_case(1, number, capabilities).program for number in range(100)]
    nodes = [node for program in programs for function in program.functions for node in function.body.walk()]
    assert all(program_problems(program) == [] for program in programs)
    assert all(capabilities.supports_type(result.type) for node in nodes for result in node.results)
    ops = {node.op for node in nodes}
    assert ops & {"cond", "while_loop", "call"} == set(constructs) and ops > {"add", "subtract", "less", "where"}


@pytest.mark.full
def test_generated_programs_have_what_optimisers_recognise() -> None:
    """Among 200 programs there are steps of 2, 3, 5 and -1, comparisons either way round, loops in loops, dead nodes,
    constant predicates, and values yielded twice; fewer than half are discarded."""
    text = "\n".join(tl.print_program(generate_case(2, k).program, locations=False) for k in range(200))
    for words in ("not_equal", "greater_equal", "cond true", "int32(5)", "call helper", "logical_and", "while_loop"):
        assert words in text, words
    cases = [generate_case(2, k) for k in range(60)]
    assert sum(judged(RightBackend(), case) == "discarded" for case in cases) < 30


@pytest.mark.full
def test_candidates_are_smaller() -> None:
    """Shrinking to anything that is valid ends at a program without nodes: no candidate leads round in a circle."""
    for k in range(5):
        smallest = shrink(generate_case(3, k), lambda case: True, 3_000)
        assert count_nodes(smallest.program) == 0
        assert not [case for case in smaller_cases(smallest) if count_nodes(case.program) > 0]


@pytest.mark.full
@pytest.mark.parametrize("twin", WRONG_OPS, ids=lambda twin: twin.__name__)
def test_the_sweep_finds_a_wrong_op(twin: type[RightBackend]) -> None:
    """An op that is wrong is found by the sweep, in the group of operands that shows it; in a backend that is right the
    sweep finds nothing."""
    op, group, verdict = WRONG_OPS[twin]
    backend: Any = twin()
    failures = {(result.group, result.verdict) for result in sweep(backend, [op]) if result.verdict in FAILURES}
    assert (group, verdict) in failures
    right: Any = RightBackend()
    assert {result.verdict for result in sweep(right, [op])} == {"alike"}


@pytest.mark.heavy
def test_the_sweep_finds_nothing_in_a_right_backend() -> None:
    """A right backend is alike on every op that the sweep tries, and traps where the reference does."""
    backend: Any = RightBackend()
    results = list(sweep(backend))
    assert [result for result in results if result.verdict != "alike"] == []
    assert len(results) > 700
    assert len({sample.row.name for sample in op_samples()}) > 80


class FailingBackend(RightBackend):
    """Fails on every program with a message that has digits."""

    def run(self, program: Any, arguments: Any) -> Answer:
        return Answer("error", message=f"RuntimeError: node {Random(len(arguments)).random()}")


@pytest.mark.full
def test_one_finding_a_class(tmp_path: Path) -> None:
    """Failures of one class are one finding, whatever digits their messages have. Its folder has the program, both
    references' results, and no script for a backend that is not programmed in Python; what is read from it is the
    backend, the program, its arguments and the event at which to begin."""
    report = fuzz(FailingBackend, FuzzOptions(4, 5, 1.0, 2))  # type: ignore[arg-type]
    assert report.verdicts["error"] + report.discarded == 4 and len(report.findings) == 1
    write_finding(report.findings[0], tmp_path / "one", "./mine --fast", None, 5)
    finding = json.loads((tmp_path / "one" / "finding.json").read_text())
    assert finding["machine"] == finding["evaluator"] and finding["nodes"] == 0
    assert shlex.split(finding["command"])[:2] == ["tagloom", "conform"]
    assert shlex.split(finding["command"])[-2:] == ["--backend", "./mine --fast"]
    assert tl.parse((tmp_path / "one" / "program.tl").read_text()).program is not None
    assert not (tmp_path / "one" / "script.py").exists()
    assert is_finding(str(tmp_path / "one")) and not is_finding(str(tmp_path))
    assert finding_backend(tmp_path / "one") == "./mine --fast"
    target, words, events = open_finding(tmp_path / "one", None)
    case = report.findings[0].case
    assert target == f"{tmp_path / 'one' / 'program.tl'}:{case.program.entry}"
    assert words == [format_value(value) for value in case.arguments]
    assert events == finding["first_difference"]["events"]


class FirstRunCrash(RightBackend):
    """Dies in its first run only."""

    runs = 0

    def run(self, program: Any, arguments: Any) -> Answer:
        self.runs += 1
        crash = Answer("crash", cause="SIGSEGV", message="it was killed by SIGSEGV at run")
        return crash if self.runs == 1 else super().run(program, arguments)


@pytest.mark.full
def test_a_failure_that_does_not_repeat() -> None:
    """A failure that no later run repeats is reported with the program and the judgement of the run that failed."""
    report = fuzz(FirstRunCrash, FuzzOptions(3, 5, 1.0, 1))  # type: ignore[arg-type]
    (finding,) = report.findings
    assert finding.judgement.verdict == "crash" and finding.symptom == "crash SIGSEGV"
    assert finding.case.program == generate_case(5, finding.number).program


class FreshProcessCrash(RightBackend):
    """Dies on a program with a cond, if its process has run no other program."""

    is_fresh = True

    def stop(self) -> None:
        self.is_fresh = True

    def run(self, program: Any, arguments: Any) -> Answer:
        has_cond = any(node.op == "cond" for node in program.main.body.walk())
        if self.is_fresh and has_cond:
            return Answer("crash", cause="SIGSEGV", message="it was killed by SIGSEGV at run")
        self.is_fresh = False
        return super().run(program, arguments)


@pytest.mark.full
def test_a_crash_that_earlier_programs_prevent() -> None:
    """A crash that comes in new processes only is shrunk as far as one that comes in each."""
    number = next(k for k in range(30) if judged(FreshProcessCrash(), generate_case(8, k)).startswith("crash"))
    report = FuzzReport()
    try_number(FreshProcessCrash(), FuzzOptions(seed=8), number, report, Lock())  # type: ignore[arg-type]
    (finding,) = report.findings
    assert finding.judgement.verdict == "crash" and count_nodes(finding.case.program) == 1


class HeapCorruption(RightBackend):
    """A program with a cond kills its process, or damages it so that the next program does, whatever it is."""

    is_damaged = False

    def stop(self) -> None:
        self.is_damaged = False

    def run(self, program: Any, arguments: Any) -> Answer:
        nodes = list(program.main.body.walk())
        is_fatal = self.is_damaged or (len(nodes) < 6 and any(node.op == "cond" for node in nodes))
        self.is_damaged = not is_fatal and any(node.op == "cond" for node in nodes)
        crash = Answer("crash", cause="SIGSEGV", message="it was killed by SIGSEGV at run")
        return crash if is_fatal else super().run(program, arguments)


@pytest.mark.full
def test_a_crash_that_an_earlier_program_causes() -> None:
    """A program is no finding because it runs behind one that damaged the process: the finding crashes by itself."""
    backend: Any = HeapCorruption()
    number = next(k for k in range(60) if judged(HeapCorruption(), generate_case(8, k)).startswith("crash"))
    report = FuzzReport()
    try_number(backend, FuzzOptions(seed=8), number, report, Lock())
    (finding,) = report.findings
    assert judged(HeapCorruption(), finding.case) == "crash SIGSEGV"
    assert [node.op for node in finding.case.program.main.body.walk()] == ["cond"]


@pytest.mark.full
def test_the_script_of_a_finding(tmp_path: Path) -> None:
    """The script of a finding runs the program in the backend's own API, and succeeds once the backend is right, which
    NumPy is already."""
    report = fuzz(FailingBackend, FuzzOptions(4, 5, 1.0, 1, max_tries=0))  # type: ignore[arg-type]
    write_finding(report.findings[0], tmp_path, "numpy", "numpy", 5)
    script = tmp_path / "script.py"
    run = subprocess.run([sys.executable, script], capture_output=True, text=True)
    assert run.returncode == 0, run.stderr
    script.write_text(script.read_text().replace("required = [", "required = [-1 + "))
    assert subprocess.run([sys.executable, script], capture_output=True).returncode == 1


LOOPS = """
func main(n: int64) -> int64, int64 {
  a = while_loop n {
    while(k: int64) {
      p = less k, 3
      yield p
    }
    do(k: int64) {
      j = add k, 1
      yield j
    }
  }
  b = add a, 1
  return b, n
}
"""


def test_the_first_difference() -> None:
    """The first difference is the event at which the reference sends the first result that the backend has not."""
    program = tl.parse(LOOPS).program
    assert program is not None
    assert first_difference(program, (1,), (4, 1)) is None
    second = first_difference(program, (1,), (4, 7))
    first = first_difference(program, (1,), (3, 1))
    both = first_difference(program, (1,), ())
    assert first is not None and second is not None and both == second
    assert (second["result"], first["result"]) == (1, 0) and second["events"] < first["events"]  # type: ignore[operator]
    assert (second["node"], second["tag"]) == ("return_1", first["tag"])
