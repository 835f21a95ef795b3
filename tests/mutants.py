"""Random mutants: `python tests/mutants.py [N] [SEED] [SUBJECT] [FIRST-LAST]` makes N, tests each, prints the score.
With FIRST-LAST, as 51-100, it tests only those of the N. Runs on parts of one sample add up if the files are the same,
which the digest in the last line shows.

A mutant is the package with one change to the syntax of one file of its subject below. It is detected if a test of
that subject fails. Mutants that survive are printed: each is a hole in the tests, or equivalent code. The unchanged
package is tested first, and its times are the measure: a mutant one of whose tests takes four times as long as the
slowest test did counts neither as detected nor as a survivor. It is printed as too long: the change may have made an
endless loop, or the machine may be busy.
"""

from __future__ import annotations

import ast
import copy
import hashlib
import os
import random
import shutil
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import NamedTuple
from xml.etree import ElementTree

ROOT = Path(__file__).resolve().parents[1]
SPARED = {"snapshot", "duplicate_token"}
"""Functions that only tests and messages use."""


class Subject(NamedTuple):
    """Files to change, and the tests that should notice."""

    files: tuple[str, ...]
    tests: tuple[str, ...]


SUBJECTS = {
    "machine": Subject(
        (
            "interp/machine/step.py",
            "interp/machine/state.py",
            "interp/machine/fire.py",
            "core/graph/lower.py",
        ),
        (
            "tests/laws/test_laws.py",
            "tests/interp/machine/test_machine.py",
            "tests/interp/outcome/test_ending.py",
            "tests/interp/machine/test_k_bounds.py",
            "tests/interp/machine/test_cells.py",
            "tests/interp/machine/test_effects.py",
            "tests/interp/machine/test_random.py",
            "tests/laws/test_effect_laws.py",
            "tests/core/graph/test_lower.py",
            "tests/core/autodiff",
        ),
    ),
    "effects": Subject(
        (
            "interp/machine/effects.py",
            "interp/machine/k_bounds.py",
            "interp/machine/cells.py",
            "core/ops/effects.py",
            "core/ops/random.py",
        ),
        (
            "tests/laws/test_effect_laws.py",
            "tests/interp/machine/test_k_bounds.py",
            "tests/interp/machine/test_cells.py",
            "tests/interp/machine/test_effects.py",
            "tests/interp/machine/test_random.py",
            "tests/core/test_errors.py",
        ),
    ),
    "history": Subject(
        (
            "interp/history/history.py",
            "interp/history/advance.py",
            "interp/history/segment.py",
            "interp/history/edit.py",
        ),
        (
            "tests/interp/history",
            "tests/laws/test_history_laws.py",
        ),
    ),
    "queries": Subject(
        (
            "interp/queries/ask.py",
            "interp/queries/answers.py",
            "interp/queries/contexts.py",
            "interp/queries/why_not.py",
            "interp/queries/difference.py",
        ),
        ("tests/interp/queries",),
    ),
    "wrong_call": Subject(
        (
            "interp/queries/wrong_call.py",
            "interp/queries/calls.py",
            "interp/outcome/deadlock.py",
        ),
        (
            "tests/interp/outcome/test_deadlock.py",
            "tests/tui/cli/test_exercises.py",
            "tests/tui/cli/test_teaching.py",
        ),
    ),
    "gradients": Subject(
        (
            "core/autodiff/activity.py",
            "core/autodiff/reverse.py",
            "core/autodiff/resolve.py",
            "core/autodiff/rows.py",
            "core/autodiff/cells.py",
            "core/graph/nesting.py",
        ),
        (
            "tests/core/autodiff",
            "tests/core/graph/test_phases.py",
            "tests/core/frontend/eager/test_custom_gradient.py",
            "tests/laws/test_gradient_laws.py",
        ),
    ),
    "partial": Subject(
        (
            "core/transform/prune.py",
            "interp/function/fetch_feed.py",
        ),
        (
            "tests/core/transform/test_prune.py",
            "tests/interp/function/test_fetch_feed.py",
        ),
    ),
    "breakpoints": Subject(
        (
            "interp/breakpoints/parser.py",
            "interp/breakpoints/expression.py",
            "interp/breakpoints/values.py",
            "interp/breakpoints/tag_pattern.py",
            "interp/breakpoints/breakpoint.py",
        ),
        ("tests/interp/breakpoints",),
    ),
    "session": Subject(
        (
            "tui/session/session.py",
            "tui/session/step_commands.py",
            "tui/session/run.py",
            "tui/session/mark_commands.py",
            "tui/session/run_commands.py",
            "tui/session/export_test.py",
        ),
        (
            "tests/tui/session/test_session.py",
            "tests/tui/session/test_session_laws.py",
            "tests/tui/session/test_headless.py",
        ),
    ),
    "fast": Subject(
        (
            "interp/image/image.py",
            "interp/image/opcodes.py",
            "interp/engines/fast/machine.py",
            "interp/engines/fast/throttling.py",
            "interp/engines/fast/frames.py",
            "interp/engines/fast/deliver_scalar.py",
            "interp/engines/fast/delivery_table.py",
            "interp/engines/fast/layout.py",
            "interp/engines/fast/opcode_source.py",
            "interp/engines/fast/load.py",
            "interp/engines/fast/store.py",
            "interp/engines/fast/host_firings.py",
            "interp/engines/fast/state_transfer.py",
            "interp/engines/fast/run.py",
        ),
        (
            "tests/laws/test_fast_laws.py",
            "tests/interp/engines/fast",
            "tests/interp/image/test_image.py",
            "tests/interp/engines/test_engine.py",
        ),
    ),
    "parallel": Subject(
        (
            "interp/engines/fast/deliver_scalar.py",
            "interp/engines/fast/parallel/core.py",
            "interp/engines/fast/shared_memory.py",
            "interp/engines/fast/parallel/store.py",
            "interp/engines/fast/parallel/run.py",
        ),
        ("tests/laws/test_parallel_laws.py",),
    ),
    "events": Subject(
        (
            "interp/engines/fast/events.py",
            "interp/engines/fast/journal.py",
            "interp/engines/fast/columns.py",
            "interp/records/column_log.py",
        ),
        (
            "tests/laws/test_event_laws.py",
            "tests/interp/engines/fast/test_events.py",
        ),
    ),
    "compiled": Subject(
        (
            "interp/engines/compiled/codegen.py",
            "interp/engines/compiled/emitter.py",
            "interp/engines/compiled/layout.py",
            "interp/engines/compiled/tape.py",
            "interp/engines/compiled/elementwise.py",
            "interp/engines/compiled/cells.py",
            "interp/engines/compiled/fusion.py",
            "interp/engines/compiled/matrix_products.py",
            "interp/engines/compiled/data_movement.py",
            "interp/engines/compiled/run.py",
            "interp/engines/compiled/thread.py",
            "interp/engines/compiled/call_buffer.py",
            "interp/engines/compiled/support.py",
        ),
        (
            "tests/interp/engines/compiled/test_ending.py",
            "tests/interp/engines/compiled/test_cells.py",
            "tests/interp/engines/compiled/test_effects.py",
            "tests/interp/engines/compiled/test_borrowing.py",
            "tests/interp/engines/compiled/test_fusion.py",
            "tests/interp/engines/compiled/test_thread_pool.py",
            "tests/interp/engines/compiled/test_agreement.py",
            "tests/interp/engines/compiled/test_gradients.py",
        ),
    ),
    "jit": Subject(
        (
            "interp/engines/jit/cache.py",
            "interp/engines/jit/thread_pool.py",
            "interp/engines/jit/parallel_loops.py",
            "interp/engines/jit/random.py",
            "interp/engines/jit/kernels.py",
            "interp/engines/jit/intrinsics.py",
            "interp/engines/jit/native.py",
            "interp/engines/jit/symbols.py",
            "interp/engines/jit/matrices.py",
        ),
        (
            "tests/interp/engines/jit",
            "tests/interp/engines/compiled/test_thread_pool.py",
            "tests/interp/engines/compiled/test_cells.py",
        ),
    ),
    "language": Subject(
        (
            "core/types.py",
            "core/value.py",
            "core/text/literals.py",
            "core/program/infer.py",
            "core/graph/infer.py",
            "core/text/builder.py",
            "core/text/printer.py",
            "core/json/value.py",
            "core/json/program.py",
            "core/json/graph.py",
            "interp/records/event_log.py",
        ),
        (
            "tests/core/test_types.py",
            "tests/core/test_value.py",
            "tests/core/program/test_infer.py",
            "tests/core/text/test_text.py",
            "tests/core/text/test_text_roundtrip.py",
            "tests/core/text/test_text_errors.py",
            "tests/core/json/test_document.py",
            "tests/interp/records/test_event_log.py",
            "tests/interp/oracle/test_corpus.py",
        ),
    ),
}

_COMPARISONS: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
}


class Mutant(NamedTuple):
    """A changed file, and the position of the change."""

    file: str
    line: int
    before: str
    after: str
    source: str


def mutants(file: str) -> Iterator[Mutant]:
    """Every mutant of a file that one change makes."""
    tree = ast.parse((ROOT / file).read_text())
    for node, change in _changes(tree):
        before = ast.unparse(node)
        undo = copy.copy(node.__dict__)
        change()
        after = ast.unparse(node)
        source = ast.unparse(ast.fix_missing_locations(tree))
        node.__dict__.clear()
        node.__dict__.update(undo)
        if after != before:
            yield Mutant(file, getattr(node, "lineno", 0), before, after, source)


def _changes(tree: ast.Module) -> Iterator[tuple[ast.AST, Callable[[], None]]]:
    for node in _code(tree):
        match node:
            case ast.Compare(ops=[op]) if type(op) in _COMPARISONS:
                yield node, _setter(node, "ops", [_COMPARISONS[type(op)]()])
            case ast.BoolOp(op=op):
                yield node, _setter(node, "op", ast.Or() if isinstance(op, ast.And) else ast.And())
            case ast.BinOp(op=ast.Add() | ast.Sub() as op):
                yield node, _setter(node, "op", ast.Sub() if isinstance(op, ast.Add) else ast.Add())
            case ast.AugAssign(op=ast.Add() | ast.Sub() as op):
                yield node, _setter(node, "op", ast.Sub() if isinstance(op, ast.Add) else ast.Add())
            case ast.UnaryOp(op=ast.Not()):
                yield node, _setter(node, "operand", ast.UnaryOp(ast.Not(), node.operand))
            case ast.Constant(value=bool() as value):
                yield node, _setter(node, "value", not value)
            case ast.Constant(value=int() as value):
                yield node, _setter(node, "value", value + 1)
            case ast.If() | ast.IfExp() | ast.While():
                yield node, _setter(node, "test", ast.UnaryOp(ast.Not(), node.test))
            case ast.Call(func=ast.Name(id="min" | "max")):
                pass  # its arguments may stand in any order
            case ast.Call(args=[first, second, *rest], keywords=[]):
                yield node, _setter(node, "args", [second, first, *rest])
        body = getattr(node, "body", None)
        if isinstance(body, list) and not isinstance(node, ast.Module | ast.ClassDef):
            for position, statement in enumerate(body):
                if isinstance(statement, ast.Assign | ast.AugAssign | ast.Delete) or _is_call(statement):
                    yield node, _setter(node, "body", [*body[:position], ast.Pass(), *body[position + 1 :]])


def _setter(node: ast.AST, name: str, value: object) -> Callable[[], None]:
    return lambda: setattr(node, name, value)


def _is_call(statement: ast.stmt) -> bool:
    return isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Call | ast.YieldFrom | ast.Yield)


def _code(node: ast.AST) -> Iterator[ast.AST]:
    """The executable code of a node: no annotations, imports, docstrings, assertions, `strict=True`, or spared
    functions."""
    for name, child in ast.iter_fields(node):
        if name in ("annotation", "returns", "decorator_list", "type_params"):
            continue
        if isinstance(node, ast.keyword) and node.arg == "strict":
            continue
        for item in child if isinstance(child, list) else [child]:
            spared = isinstance(item, ast.FunctionDef) and item.name in SPARED
            if (
                isinstance(item, ast.AST)
                and not spared
                and not isinstance(item, ast.Import | ast.ImportFrom | ast.Assert)
            ):
                yield item
                yield from _code(item)


class TimeLimits(NamedTuple):
    """The seconds that one test may take, and all tests of a subject together."""

    test: int
    run: int


class SubjectRun(NamedTuple):
    """What came of the tests of a subject: the pytest exit code, or None if they took too long; and the seconds of the
    slowest test and of all together."""

    code: int | None
    slowest: float
    seconds: float


UNCHANGED_LIMITS = TimeLimits(3600, 7200)
"""The limits of the unchanged package, whose times set those of mutants."""


def limits_of(unchanged: SubjectRun) -> TimeLimits:
    """Four times what the unchanged package takes, since other work on the machine slows tests."""
    return TimeLimits(max(60, round(4 * unchanged.slowest)), max(600, round(4 * unchanged.seconds)))


def run_tests(mutant: Mutant, tests: Sequence[str], compiled: str, limits: TimeLimits) -> SubjectRun:
    """Run the tests, up to the first that fails, on the package with this change. All mutants share one cache of
    compiled code, whose keys include everything that the code depends on."""
    with tempfile.TemporaryDirectory() as folder:
        package, times = Path(folder) / "tagloom", Path(folder) / "times.xml"
        shutil.copytree(
            ROOT, package, ignore=shutil.ignore_patterns(".*", "*.egg-info", "__pycache__", "build", "dist")
        )
        (package / mutant.file).write_text(mutant.source)
        # Also the parametrisations that only `full(first=N)` makes heavy.
        options = ["-x", "-q", "--tb=no", "-n", "0", "-m", "full or not heavy", f"--junitxml={times}"]
        # This method ends the process; the other raises an exception, which Hypothesis takes for a failing example.
        options += ["--timeout", str(limits.test), "--timeout-method", "thread"]
        command = [sys.executable, "-m", "pytest", *options, *tests]
        environment = {
            **os.environ,
            "PYTHONPATH": folder,
            "PYTHONDONTWRITEBYTECODE": "1",
            "HYPOTHESIS_PROFILE": "mutants",
            "TAGLOOM_CACHE": compiled,
        }
        start = time.monotonic()
        try:
            run = subprocess.run(
                command, cwd=package, env=environment, capture_output=True, timeout=limits.run, check=False
            )
        except subprocess.TimeoutExpired:
            return SubjectRun(None, 0.0, time.monotonic() - start)
        seconds = time.monotonic() - start
        if b"+ Timeout +" in run.stdout + run.stderr:
            return SubjectRun(None, 0.0, seconds)
        if run.returncode > 2:
            raise RuntimeError(f"pytest could not run: {run.stdout.decode()[-2000:]}")
        cases = ElementTree.parse(times).iter("testcase") if times.exists() else ()
        return SubjectRun(run.returncode, max((float(case.get("time", 0)) for case in cases), default=0.0), seconds)


def main(count: int, seed: int, name: str, positions: str = "") -> int:
    """Test a sample of mutants, or those at positions of it, as "51-100"; 0 if the unchanged package passes and at most
    one in ten of the mutants that end survives (of few mutants, one)."""
    files, tests = SUBJECTS[name]
    every = [mutant for file in files for mutant in mutants(file)]
    sample = random.Random(seed).sample(every, min(count, len(every)))
    first, last = map(int, (positions or f"1-{len(sample)}").split("-"))
    chosen = sample[first - 1 : last]
    digest = hashlib.sha256(b"".join((ROOT / file).read_bytes() for file in files)).hexdigest()[:8]
    counts = Counter[str]()
    with tempfile.TemporaryDirectory() as compiled, ThreadPoolExecutor(len(os.sched_getaffinity(0))) as pool:
        unchanged = run_tests(
            Mutant(files[0], 0, "", "", (ROOT / files[0]).read_text()), tests, compiled, UNCHANGED_LIMITS
        )
        if unchanged.code != 0:
            print("the tests fail, or do not run, on the package as it is")
            return 1
        allowed = limits_of(unchanged)
        print(f"the package as it is takes {unchanged.seconds:.0f} s; a test of a mutant may take {allowed.test} s")
        outcomes = pool.map(lambda mutant: run_tests(mutant, tests, compiled, allowed), chosen)
        for position, (mutant, outcome) in enumerate(zip(chosen, outcomes, strict=True), first):
            verdict = {None: "too long", 0: "survived"}.get(outcome.code, "detected")
            counts[verdict] += 1
            if verdict != "detected":
                print(f"{position} {verdict}: {describe(mutant)}")
            if counts.total() % 10 == 0:
                words = f"{counts['detected']} of {first} to {position} detected, {counts['too long']} too long"
                print(words, flush=True)
    ended = len(chosen) - counts["too long"]
    print(
        f"{counts['detected']} of {ended} mutants of the {name} detected, {counts['too long']} more took too long "
        f"({first} to {first + len(chosen) - 1} of a sample of {len(sample)} of {len(every)} there are; seed {seed}, "
        f"files {digest})"
    )
    return 0 if counts["survived"] <= max(ended // 10, 1 if ended >= 4 else 0) else 1


def describe(mutant: Mutant) -> str:
    """Where a mutant differs from the package, and its line before and after."""
    lines = zip(mutant.before.splitlines(), mutant.after.splitlines(), strict=False)
    before, after = next((pair for pair in lines if pair[0] != pair[1]), (mutant.before, mutant.after))
    return f"{mutant.file}:{mutant.line}\n  - {before}\n  + {after}"


if __name__ == "__main__":
    count, seed, name, *positions = [*sys.argv[1:], *("100", "1", "machine")[len(sys.argv) - 1 :]]
    sys.exit(main(int(count), int(seed), name, *positions))
