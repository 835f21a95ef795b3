"""The machine of live pages, in JavaScript, is a machine like the others: it runs under Node as a foreign one.

Node starts once for each batch of runs. Outcomes are compared with the reference's in every field, so that counts of
firings by node, traps, residue and statistics count as much as values.
"""

from __future__ import annotations

import itertools
import json
import math
import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tagloom as tl
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from laws.test_second_machine import cases_run
from support.engines.javascript import (
    INEXACT,
    MODULES,
    READS_NAN_BITS,
    SOURCES,
    Run,
    differences,
    is_exact,
    run_batch,
    run_reference,
)
from support.generators.effect_programs import act_cases
from support.generators.generator import PALETTES, Case, _numbers, signatures
from support.generators.scalar_cases import scalar_cases
from tagloom.core.graph.lower import lower
from tagloom.core.json.cursor import JsonCursor
from tagloom.core.json.value import read_value, value_to_json
from tagloom.core.ops.op import OPS
from tagloom.core.text import parse
from tagloom.core.types import Type
from tagloom.core.value import admit, fingerprint
from tagloom.interp.engines.limits import Limits
from tagloom.interp.records.documents import OutcomeRecord, outcome_differences, to_outcome_record
from tagloom.viz.player.live import unsupported_reason
from tagloom.viz.player.page import read_asset

FILES = sorted((Path(__file__).parents[2] / "corpus").glob("*.tl"))
RUN, REFUSED = 961, 331
"""The cases of the corpus that the machine runs, and those that it refuses, all for arrays and their ops."""
SCHEDULES = ("waves", "fifo", "lifo", "random:5", "random:18446744073709551615")
ULPS = 4
"""The window of inexact ops, in units of the last place of the result."""
SPECIAL = ("lgamma", "digamma", "polygamma")
"""Ops whose window is that of 1 where the result is smaller, since they are differences near their zeros."""


def corpus_runs(files: list[Path], schedules: Iterator[str]) -> list[Run]:
    """The cases of files, each with the next of these schedules."""
    return [
        Run(graph, arguments, next(schedules), Limits(**limits))
        for file in files
        for _, graph, arguments, limits in cases_run(parse(file.read_text()))
    ]


def check_batch(runs: list[Run]) -> int:
    """Run a batch, compare it with the reference, and return the number of runs that were not refused."""
    count = 0
    for run, form in zip(runs, run_batch(runs), strict=True):
        assert form.get("unsupported") == unsupported_reason(run.graph)
        if "unsupported" not in form:
            count += 1
            assert differences(run, form) == [], (run.graph.name, run.arguments, run.schedule)
    return count


def printed_kinds(n: Any, x: Any) -> Any:
    print(n > 1, x, [n, x], f"{n} {{}} {x > 0!r}")
    return n


def test_printed_lines_of_converted_code() -> None:
    """What converted code prints is what the reference prints, which for a bool differs from its literal."""
    graph = lower(tl.function(printed_kinds).trace(3, 2.5).program)
    runs = [Run(graph, (3, 2.5)), Run(graph, (0, -1e20))]
    assert check_batch(runs) == 2
    assert run_batch(runs)[0]["printed"] == ["True 2.5 [3, 2.5] 3 {} True"]


def test_every_rule_has_its_place() -> None:
    """The machine names each rule of the semantics where it follows it."""
    assert set(re.findall(r"\bS\d+\b", read_asset("machine.js"))) == {f"S{number}" for number in range(1, 18)}


@pytest.mark.full
def test_a_part_of_the_corpus() -> None:
    """Recursion, loops, cells, bounds, prints and random numbers end as on the reference."""
    names = ("factorial", "bounded_loop", "cells_left_empty", "random_walk", "print_order", "trap_order", "race")
    runs = corpus_runs([file for file in FILES if file.stem in names], itertools.cycle(SCHEDULES))
    assert (check_batch(runs), len(runs)) == (39, 43)


@pytest.mark.full
def test_the_corpus() -> None:
    """Every case of the corpus without arrays ends as on the reference, in every field, each under one of five
    schedules."""
    runs = corpus_runs(FILES, itertools.cycle(SCHEDULES))
    assert (check_batch(runs), len(runs)) == (RUN, RUN + REFUSED)


@pytest.mark.heavy
def test_the_corpus_under_every_schedule() -> None:
    """The same under each schedule."""
    for schedule in SCHEDULES:
        assert check_batch(corpus_runs(FILES, itertools.repeat(schedule))) == RUN


def sample(programs: st.SearchStrategy[Case], count: int) -> list[Case]:
    """The first examples of a fixed sequence, so that one batch runs them all."""
    found: list[Case] = []

    @settings(
        max_examples=count, phases=[Phase.generate], database=None, derandomize=True, deadline=None,
        suppress_health_check=list(HealthCheck),
    )  # fmt: skip
    @given(programs)
    def collect(case: Case) -> None:
        found.append(case)

    collect()
    return found


def generated_runs(count: int) -> list[Run]:
    """Runs of generated programs whose results are determined to the last bit."""
    schedules = itertools.cycle(SCHEDULES)
    return [
        Run(lower(case.program), case.arguments, next(schedules), Limits(firings=1_000))
        for case in sample(scalar_cases(INEXACT | READS_NAN_BITS), count)
    ]


@pytest.mark.full
def test_generated_programs(tmp_path: Path) -> None:
    """Generated programs of scalars end as on the reference, and the logs of some pass the check of foreign logs."""
    runs = [run._replace(log=tmp_path / f"{number}.jsonl") for number, run in enumerate(generated_runs(100))]
    assert check_batch(runs) >= 90
    for run in runs[::4]:
        assert run.log is not None
        assert not run.log.exists() or tl.read_events(run.log)


@pytest.mark.heavy
@pytest.mark.timeout(900)
def test_many_generated_programs(tmp_path: Path) -> None:
    """Many more generated programs, and programs of cells, effects, draws and bounds; all logs pass the check."""
    runs = generated_runs(550)
    for case in sample(act_cases(), 1000):
        graph = lower(case.program)
        if is_exact(graph):
            runs.append(Run(graph, case.arguments, SCHEDULES[len(runs) % len(SCHEDULES)], Limits(firings=1_000)))
    runs = [run._replace(log=tmp_path / f"{number}.jsonl") for number, run in enumerate(runs)]
    assert check_batch(runs) > 500
    for run in runs:
        if run.log is not None and run.log.exists():
            tl.read_events(run.log)


def row_runs(name: str, count: int) -> list[Run]:
    """Runs of one op on scalars: every combination of types, with about so many values."""
    runs = []
    combinations = {each for extra in PALETTES for each in signatures(extra).get(name, [])}
    for types, attributes in sorted(combinations, key=str):
        if not all(type_.is_scalar for type_ in types):
            continue
        listed = ", ".join(f"x{at}: {type_}" for at, type_ in enumerate(types))
        given_attributes = "".join(f", {key}={value}" for key, value in attributes if value is not None)
        result = OPS[name].type_rule(*types, **dict(attributes))
        operands = ", ".join(f"x{at}" for at in range(len(types)))
        text = f"func f({listed}) -> {result} {{\n  y = {name} {operands}{given_attributes}\n  return y\n}}"
        program = parse(text)["f"]
        assert isinstance(program, tl.Program)
        graph, choices = lower(program), [list(choices_of(type_)) for type_ in types]
        every = list(itertools.product(*choices))
        runs += [Run(graph, list(each)) for each in every[:: max(1, len(every) // count)]]
    return runs


def choices_of(type_: Type) -> Iterator[Any]:
    """The values that generated programs draw of a type, and further floats."""
    further = (0.3, -0.7, 7.25, -3.5, 1e-3, 30.0, 0.999, -math.inf) if type_.dtype.kind == "f" else ()
    yield from (admit(number, type_) for number in (*_numbers(type_.dtype), *further))


def is_near(name: str, one: Any, other: Any) -> bool:
    """Whether two results of an inexact op are equal in its window."""
    if one != one or other != other or math.isinf(one) or math.isinf(other):
        return bool(one == other or (one != one and other != other))
    size = max(abs(one), type(one)(1)) if name in SPECIAL else abs(one)
    return abs(float(one) - float(other)) <= ULPS * float(np.spacing(size))


ROWS = [row.name for row in OPS.values() if row.scalar is not None and row.name != "assert"]


@pytest.mark.parametrize("count", [pytest.param(3, marks=pytest.mark.full), pytest.param(24, marks=pytest.mark.heavy)])
def test_every_scalar_row(count: int) -> None:
    """Every scalar row of the registry has the reference's results on all of its types: bit for bit, or in the window
    of its function; traps are equal."""
    runs = [(name, run) for name in ROWS for run in row_runs(name, count)]
    assert {name for name, _ in runs} == {*ROWS}
    for (name, run), form in zip(runs, run_batch([run for _, run in runs]), strict=True):
        expected, why = run_reference(run), (name, run.arguments, form)
        assert form["status"] == expected.status, why
        assert [trap["message"] for trap in form["traps"]] == [event.trap for event in expected.trap_events], why
        for result, value in zip(form["results"], expected.results, strict=True):
            if value is None:
                assert result is None, why
            elif name in INEXACT and run.graph.nodes[-2].outputs[0].type.dtype.kind == "f":
                assert is_near(name, value, read_value(JsonCursor(result, "$"))), (why, value)
            else:
                assert fingerprint(value) == fingerprint(read_value(JsonCursor(result, "$"))), (why, value)


BREAKS = {
    "S1": ("machine.js", "this.flight.splice(position, 1);", "this.flight.shift();"),
    "S2": ("machine.js", 'node.op === "merge" ? 1 :', 'node.op === "merge" ? 2 :'),
    "S3": ("machine.js", "this.flight.push(...event.sent);", "this.flight.unshift(...event.sent);"),
    "S4": ("machine.js", "if (frame.fired.has(node.number) || ", "if ("),
    "S5": ("machine.js", "event.trap = stop.message;", "event.outputs = [[0, operands[0]]];"),
    "S6": ("machine.js", "[[second.data ? 0 : 1, first]]", "[[second.data ? 1 : 0, first]]"),
    "S7": ("machine.js", "{ base: frame, into: { site, iteration: 0 } }", "{ base: frame, into: null }"),
    "S8": ("machine.js", "[1, int64(frame.iteration)]", "[1, int64(frame.iteration + 1)]"),
    "S9": ("machine.js", "iteration: iteration + 1 } }", "iteration: iteration + 2 } }"),
    "S10": ("machine.js", "site === null || site === top", "true"),
    "S11": ("machine.js", "!this.alive && !this.below.size &&", "!this.alive &&"),
    "S12": ("machine.js", "this.firings + 1", "this.firings"),
    "S13": ("machine.js", "this.flight.push(...event.woken);", ""),
    "S14": (
        "machine.js",
        "if (event.line !== null) this.printed.push",
        "if (event.line !== null) this.printed.unshift",
    ),
    "S15": ("machine.js", "frame.key() ^ nameKey(node.name)", "frame.key()"),
    "S16": ("machine.js", "earlier.busy === 0)", "true)"),
    "S17": ("machine.js", "[[frame.iteration ? 0 : 1, first]]", "[[0, first]]"),
    "wrap": ("scalars.js", "BigInt.asIntN(bitsOf(dtype), data)", "data"),
    "round": ("scalars.js", "dtype === FLOAT32 ? Math.fround(x) : x", "x"),
    "divide": ("scalars.js", "x < 0n !== y < 0n", "false"),
    "zero": ("scalars.js", 'if (Object.is(form, -0)) return "-0.0";', ""),
    "words": ("keys.js", "z >> 27n", "z >> 28n"),
}
"""For each rule, a line of the machine and its broken form."""
SUBJECTS = (
    "factorial", "bounded_loop", "graph_bounded_loop", "cells_left_empty", "cells_chain", "random_walk", "print_order",
    "trap_order", "race", "limits", "graph_going_back", "int64_wraps", "float32_rounds", "floor_and_remainder",
    "negative_zero", "guarded_division", "graph_two_loops", "loop_of_calls",
)  # fmt: skip


def write_twin(rule: str, folder: Path) -> Path:
    """The modules with one rule broken, in a new folder."""
    module, line, broken = BREAKS[rule]
    folder.mkdir()
    for name in MODULES:
        text = (SOURCES / name).read_text(encoding="utf-8")
        assert name != module or text.count(line) == 1, f"{line} stands {text.count(line)} times"
        (folder / name).write_text(text.replace(line, broken) if name == module else text, encoding="utf-8")
    return folder


@pytest.mark.full
def test_broken_twins(tmp_path: Path) -> None:
    """Each machine that breaks one rule differs from the reference on the corpus, writes what is no outcome, or
    fails."""
    subjects, schedules = list[Run](), itertools.cycle(("random:5", "lifo", "waves"))
    for file in FILES:
        runs = corpus_runs([file], schedules) if file.stem in SUBJECTS else []
        subjects += runs[:: len(runs) // 4 or 1]
    subjects = [run._replace(limits=replace(run.limits, firings=run.limits.firings or 500)) for run in subjects]
    printed: list[list[str]] = [[] for _ in subjects]
    expected = [to_outcome_record(run_reference(run, lines)) for run, lines in zip(subjects, printed, strict=True)]
    folders = {rule: write_twin(rule, tmp_path / str(number)) for number, rule in enumerate(BREAKS)}
    forms = iter(run_batch([run._replace(sources=folder) for folder in folders.values() for run in subjects]))
    batches = [list(itertools.islice(forms, len(subjects))) for _ in folders]
    assert [rule for rule, batch in zip(folders, batches, strict=True) if not is_caught(batch, expected, printed)] == []


def is_caught(forms: list[dict[str, Any]], expected: list[OutcomeRecord], printed: list[list[str]]) -> bool:
    """Whether the outcomes of a twin differ from the expected ones."""
    return any(map(is_different, expected, printed, forms))


def is_different(expected: OutcomeRecord, printed: list[str], form: dict[str, Any]) -> bool:
    """Whether a twin is caught by this run."""
    if "unsupported" in form or "failed" in form:
        return "failed" in form
    lines = form.pop("printed")
    try:
        found = tl.from_json(json.dumps(form))
    except tl.TagloomError:
        return True
    assert isinstance(found, OutcomeRecord)
    return lines != printed or bool(list(outcome_differences(expected, found)))


@pytest.mark.full
def test_the_command_reads_json(tmp_path: Path) -> None:
    """The command takes a graph and arguments as JSON, and writes an outcome and a log that passes the check."""
    program = parse("func twice(x: int8) -> int8 {\n  y = add x, x\n  return y\n}")["twice"]
    assert isinstance(program, tl.Program)
    (form,) = run_batch([Run(lower(program), [100], "fifo", log=tmp_path / "run.jsonl")])
    assert form["results"] == [value_to_json(np.int8(-56))]
    assert tl.read_events(tmp_path / "run.jsonl")
