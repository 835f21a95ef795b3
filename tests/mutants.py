"""Random mutants: `python tests/mutants.py [N] [SEED] [SUBJECT]` makes N, tests each, and prints the score.

A mutant is the package with one change to the syntax of one of the files of its subject below. It dies if a test of
that subject fails, or does not end. What survives is printed: it is a hole in the tests, or the same written otherwise.
"""

from __future__ import annotations

import ast
import copy
import os
import random
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[1]
SPARED = {"snapshot", "second_token"}
"""Functions that only tests and messages use."""


class Subject(NamedTuple):
    """Files to change, and the tests that are to notice."""

    files: tuple[str, ...]
    tests: tuple[str, ...]


SUBJECTS = {
    "machine": Subject(
        ("interp/step.py", "interp/state.py", "interp/fire.py", "core/lower.py", "core/loops.py"),
        (
            *("tests/test_laws.py", "tests/interp/test_machine.py", "tests/interp/test_ending.py"),
            *("tests/interp/test_bounds.py", "tests/interp/test_cells.py", "tests/interp/test_effects.py"),
            *("tests/test_act_laws.py", "tests/core/test_lower.py", "tests/core/derive"),
        ),
    ),
    "acts": Subject(
        ("interp/acts.py", "interp/bounds.py", "interp/cells.py", "core/ops/cells.py", "core/ops/random.py"),
        (
            *("tests/test_act_laws.py", "tests/interp/test_bounds.py", "tests/interp/test_cells.py"),
            *("tests/interp/test_effects.py", "tests/interp/test_random.py"),
        ),
    ),
    "history": Subject(
        tuple(f"interp/travel/{name}.py" for name in ("history", "going", "walk", "stretch", "edit", "collector")),
        ("tests/interp/travel", "tests/test_history_laws.py"),
    ),
    "questions": Subject(
        tuple(
            f"interp/questions/{name}.py"
            for name in ("queries", "origin", "contexts", "why", "staying", "verdict", "causes", "difference")
        ),
        ("tests/interp/questions",),
    ),
    "gradients": Subject(
        (
            *(
                f"core/derive/{name}.py"
                for name in ("activity", "reverse", "resolve", "rows", "ruled", "threads", "waiting")
            ),
            "core/phases.py",
        ),
        (
            *("tests/core/derive", "tests/core/test_phases.py", "tests/core/test_custom_gradient.py"),
            "tests/test_gradient_laws.py",
        ),
    ),
    "partial": Subject(
        (
            "core/partial.py",
            "core/fewer_phases.py",
            "core/fewer_results.py",
            "core/fewer_calls.py",
            "interp/partial.py",
            "interp/tagged.py",
        ),
        ("tests/core/test_partial.py", "tests/interp/test_partial.py"),
    ),
    "breakpoints": Subject(
        tuple(f"interp/breakpoints/{name}.py" for name in ("expression", "values", "tag_pattern", "breakpoint")),
        ("tests/interp/breakpoints",),
    ),
    "session": Subject(
        tuple(
            f"tui/session/{name}.py"
            for name in (
                "session",
                "moving",
                "activations",
                "stops",
                "stopping",
                "forking",
                "comparing",
                "keeping",
                "run",
            )
        ),
        ("tests/tui/test_session.py", "tests/tui/test_session_laws.py", "tests/tui/test_headless.py"),
    ),
    "fast": Subject(
        (
            *("interp/image.py", "interp/imaging.py", "interp/opcode.py"),
            *(f"interp/fast/{name}.py" for name in ("machine", "frames", "holding", "plain", "rows", "registers")),
            *(f"interp/fast/{name}.py" for name in ("arms", "load", "store", "outside", "takeover", "handover", "run")),
        ),
        ("tests/test_fast_laws.py", "tests/interp/fast", "tests/interp/test_image.py", "tests/interp/test_engine.py"),
    ),
    "cores": Subject(
        tuple(f"interp/fast/{name}.py" for name in ("plain", "messages", "sharing", "shared", "stamped", "several")),
        ("tests/test_cores_laws.py",),
    ),
    "events": Subject(
        tuple(f"interp/fast/{name}.py" for name in ("events", "journal", "keeping", "scribe", "lines", "ink")),
        ("tests/test_event_laws.py", "tests/interp/fast/test_events.py"),
    ),
    "compiled": Subject(
        (
            *(f"interp/compiled/{name}.py" for name in ("source", "writer", "loops", "phases", "kept", "recording")),
            *(f"interp/compiled/{name}.py" for name in ("arena", "arrays", "cells", "chains", "fused", "layout")),
            *(f"interp/compiled/{name}.py" for name in ("components", "counting", "effects", "performing", "products")),
            *(f"interp/compiled/{name}.py" for name in ("ending", "run", "thread", "words", "support")),
        ),
        tuple(
            f"tests/interp/compiled/test_{name}.py"
            for name in ("ending", "cells", "effects", "borrowing", "chains", "crew", "agreement", "gradients")
        ),
    ),
    "jit": Subject(
        tuple(
            f"interp/jit/{name}.py" for name in ("cache", "crew", "draws", "kernels", "machine", "native", "products")
        ),
        ("tests/interp/jit", "tests/interp/compiled/test_crew.py", "tests/interp/compiled/test_cells.py"),
    ),
    "language": Subject(
        (
            *("core/types.py", "core/value.py", "core/literals.py", "core/infer.py", "core/infer_graph.py"),
            *("core/text/programs.py", "core/text/graphs.py", "core/text/print_program.py", "core/text/print_graph.py"),
            *("core/document/value.py", "core/document/program.py", "core/document/graph.py", "interp/log_line.py"),
        ),
        (
            *("tests/core/test_types.py", "tests/core/test_value.py", "tests/core/test_infer.py"),
            *("tests/core/test_text.py", "tests/core/test_text_roundtrip.py", "tests/core/test_text_errors.py"),
            *("tests/core/test_document.py", "tests/interp/test_log.py", "tests/interp/test_corpus.py"),
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
    """A changed file, and where it was changed."""

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
    """What runs: no annotations, imports, docstrings, assertions, `strict=True`, or spared functions."""
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


def dies(mutant: Mutant, tests: Sequence[str], compiled: str) -> bool:
    """Whether a test fails, hangs, or crashes, on the package with this change. What is compiled is kept in one folder
    for all mutants, under keys of all that it is made of: none gets what is another's."""
    with tempfile.TemporaryDirectory() as folder:
        package = Path(folder) / "tagloom"
        shutil.copytree(
            ROOT, package, ignore=shutil.ignore_patterns(".*", "*.egg-info", "__pycache__", "build", "dist")
        )
        (package / mutant.file).write_text(mutant.source)
        command = [sys.executable, "-m", "pytest", "-x", "-q", "-n", "0", "--timeout", "120", *tests]
        environment = {
            **os.environ,
            "PYTHONPATH": folder,
            "PYTHONDONTWRITEBYTECODE": "1",
            "HYPOTHESIS_PROFILE": "mutants",
            "TAGLOOM_CACHE": compiled,
        }
        try:
            run = subprocess.run(command, cwd=package, env=environment, capture_output=True, timeout=1200, check=False)
        except subprocess.TimeoutExpired:
            return True
        if run.returncode > 2:
            raise RuntimeError(f"pytest could not run: {run.stdout.decode()[-2000:]}")
        return run.returncode != 0


def main(count: int, seed: int, name: str) -> int:
    """Test a sample of mutants; 0 if the package as it is lives, and of them one in ten at most, of a few one."""
    files, tests = SUBJECTS[name]
    every = [mutant for file in files for mutant in mutants(file)]
    chosen = random.Random(seed).sample(every, min(count, len(every)))
    with tempfile.TemporaryDirectory() as compiled, ThreadPoolExecutor(max_workers=os.cpu_count()) as pool:
        as_it_is = pool.submit(dies, Mutant(files[0], 0, "", "", (ROOT / files[0]).read_text()), tests, compiled)
        died = list(pool.map(lambda mutant: dies(mutant, tests, compiled), chosen))
        if as_it_is.result():
            print("the tests fail, or do not run, on the package as it is")
            return 1
    for mutant, dead in zip(chosen, died, strict=True):
        if not dead:
            lines = zip(mutant.before.splitlines(), mutant.after.splitlines(), strict=False)
            before, after = next((pair for pair in lines if pair[0] != pair[1]), (mutant.before, mutant.after))
            print(f"survived: {mutant.file}:{mutant.line}\n  - {before}\n  + {after}")
    print(f"{sum(died)} of {len(chosen)} mutants of the {name} died (of {len(every)} there are; seed {seed})")
    allowed = max(len(chosen) // 10, 1 if len(chosen) >= 4 else 0)
    return 0 if len(chosen) - sum(died) <= allowed else 1


if __name__ == "__main__":
    count, seed, name = [*sys.argv[1:], *("100", "1", "machine")[len(sys.argv) - 1 :]]
    sys.exit(main(int(count), int(seed), name))
