"""The tests of StableHLO's own interpreter, run by tagloom: `python tests/stablehlo_tests.py FOLDER [--list]`.

FOLDER is `stablehlo/tests/interpret` of a clone of https://github.com/openxla/stablehlo. A test is a function whose
`check` operations compare values. Here it returns each value and the required one instead, and runs on the reference.
Prints how many tests pass, are refused, by reason, and fail; with `--list` each that is refused. The exit code is 1 if
one fails.
"""

from __future__ import annotations

import re
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
import tagloom as tl
from tagloom.interp.exchange.stablehlo.model import module_function
from tagloom.interp.exchange.stablehlo.module import read_module
from tagloom.interp.exchange.stablehlo.parse import parse

SEPARATOR = "// -----"
TEST = re.compile(r"func\.func (?:public )?@(\w+)\(\)\s*\{(.*?)\n\s*(?:func\.)?return\s*\}", re.DOTALL)
CHECK = re.compile(r"check\.expect_(\w+) (%[\w#]+), (dense<.*?>|%[\w#]+)(?:, \w+ = \d+)* : (tensor<[^\n]*>)", re.DOTALL)
TOLERANCES = {"float16": 5e-3, "bfloat16": 2e-2, "float32": 1e-4, "float64": 1e-4}


class InterpreterTest(NamedTuple):
    """A test: its name, a module whose function `main` returns pairs of a value and the required one, and whether the
    two of a pair must have the same bits."""

    name: str
    text: str
    is_exact: Sequence[bool]


def interpreter_tests(file: Path) -> Iterator[InterpreterTest]:
    """The tests of a file."""
    for chunk in file.read_text().split(SEPARATOR):
        for match in TEST.finditer(chunk):
            if "check.expect" not in match[2]:
                continue
            yield returning_test(chunk, match)


def returning_test(chunk: str, match: re.Match[str]) -> InterpreterTest:
    """The test of a function with checks, which a match has found in its module."""
    results: list[tuple[str, str]] = []
    exact: list[bool] = []

    def define_required(check: re.Match[str]) -> str:
        kind, value, required, type_ = check.groups()
        exact.append(kind in ("eq", "eq_const"))
        name = required if required.startswith("%") else f"%required_{len(exact)}"
        results.extend([(value, type_), (name, type_)])
        return "" if name == required else f"{name} = stablehlo.constant {required} : {type_}"

    body = CHECK.sub(define_required, match[2])
    values, types = (", ".join(column) for column in zip(*results, strict=True)) if results else ("", "")
    main = f"func.func @main() -> ({types}) {{{body}\n  func.return {values} : {types}\n}}"
    return InterpreterTest(match[1], chunk[: match.start()] + main + chunk[match.end() :], exact)


def run_test(test: InterpreterTest) -> str:
    """How a test ends: an empty text if it passes, or why it is refused. Raises AssertionError if it fails."""
    try:
        document = parse(test.text.encode())
    except Exception as error:
        lines = [line for line in str(error).splitlines() if "error:" in line] or [str(error)]
        return "MLIR: " + re.sub(r'.*error: "-":[\d:]+ ', "", lines[0])[:70]
    try:
        results = module_function(read_module(document)).run(engine="reference").value
    except tl.Usage as error:
        return error.message
    for value, required, is_exact in zip(results[::2], results[1::2], test.is_exact, strict=True):
        value, required = np.asarray(value), np.asarray(required)
        assert value.dtype == required.dtype and value.shape == required.shape, (value, required)
        if is_exact or value.dtype.name not in TOLERANCES:
            np.testing.assert_array_equal(value, required)
        else:
            tolerance = TOLERANCES[value.dtype.name]
            wide = [array.astype(np.float64) for array in (value, required)]
            np.testing.assert_allclose(*wide, rtol=tolerance, atol=tolerance)
    return ""


def main(folder: str, *options: str) -> int:
    """Run the tests of a folder; returns the exit code."""
    passed, failed, refusals = 0, 0, Counter[str]()
    for file in sorted(Path(folder).rglob("*.mlir")):
        for test in interpreter_tests(file):
            try:
                reason = run_test(test)
            except Exception as error:
                failed += 1
                print(f"failed: {file.stem} {test.name}: {' '.join(str(error).split())[:200]}")
                continue
            passed += not reason
            refusals.update([reason] if reason else [])
            if reason and "--list" in options:
                print(f"refused: {file.stem} {test.name}: {reason}")
    print(f"{passed} passed, {refusals.total()} refused, {failed} failed")
    for reason, count in refusals.most_common():
        print(f"{count:7}  {reason}")
    return min(failed, 1)


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
