"""tagloom's engines: each row once, as a program, and run by each."""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import tagloom as tl
from rows import INNER, OFFSET, REPEATED, ROWS, SLOPE, A, C, Size, array, cell, dtype_of, factors, links, tree
from tagloom.core.ops.op import OPS

from systems import Built, Unable, tagloom_training

_PAPERS = Path(__file__).resolve().parents[3] / "papers_examples" / "recursion"
_LIMITS = tl.Limits(firings=10**12, tokens=10**9, depth=10**7)


@tl.function
def scalar(n: tl.int64) -> tl.int64:
    return tl.while_loop(lambda i, x: i < n, lambda i, x: (i + 1, x * (x + A) + C), 0, 1)[1]


@tl.function
def nested(n: tl.int64, m: tl.int64) -> tl.int64:
    def inner(i: Any, x: Any) -> Any:
        return tl.while_loop(lambda j, x: j < m, lambda j, x: (j + 1, x * (x + (A + i)) + C), 0, x)[1]

    return tl.while_loop(lambda i, x: i < n, lambda i, x: (i + 1, inner(i, x)), 0, 1)[1]


@tl.function
def halves(n: tl.int64) -> tl.int64:
    return tl.cond(n == 0, lambda: 0, lambda: n + halves(n - 1) // 2)


@cache
def _of_papers(file: str, name: str) -> tl.Function:
    spec = importlib.util.spec_from_file_location(file, _PAPERS / f"{file}.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[file] = module
    spec.loader.exec_module(module)
    function: tl.Function = getattr(module, name)
    return function


def _wide(n: int) -> tl.Function:
    @tl.function
    def wide(x: tl.float64) -> tl.float64:
        return tree([x * factor for factor in factors(n)], lambda y, z: y + z)

    return wide


def _chain(n: int) -> tl.Function:
    @tl.function
    def chain(x: tl.float64) -> tl.float64:
        for factor, term in links(n):
            x = x * factor + term
        return x

    return chain


@cache
def _affine(name: str) -> tl.Function:
    @tl.function
    def affine(x, a, b):  # type: ignore[no-untyped-def]
        for _ in range(REPEATED[name]):
            x = a * x + b
        return x if name != "sum" else tl.sum(x)  # type: ignore[attr-defined]

    return affine


@cache
def _exptanh(name: str) -> tl.Function:
    @tl.function
    def exptanh(x):  # type: ignore[no-untyped-def]
        for _ in range(REPEATED[name]):
            x = tl.tanh(tl.exp(-x))
        return x

    return exptanh


@cache
def _cell() -> tl.Function:
    @tl.function
    def recurrent(h, w, x, steps):  # type: ignore[no-untyped-def]
        return tl.while_loop(lambda t, h: t < steps, lambda t, h: (t + 1, tl.tanh(tl.matmul(h, w) + x)), 0, h)[1]  # type: ignore[attr-defined]

    return recurrent


_FIXED: dict[str, Callable[[], tl.Function]] = {
    "scalar": lambda: scalar,
    "nested": lambda: nested,
    "halves": lambda: halves,
    "fib": lambda: _of_papers("fib", "fib"),
    "ack": lambda: _of_papers("ackermann", "ack"),
    "tak": lambda: _of_papers("takeuchi", "tak"),
    "primes": lambda: _of_papers("primes", "main"),
}
_kept: dict[tuple[str, Size], tuple[tl.Function, tuple[Any, ...]]] = {}


def _program(row: str, size: Size) -> tuple[tl.Function, tuple[Any, ...]]:
    """The function of a row, and its arguments."""
    if row in _FIXED:
        return _FIXED[row](), (*size, INNER) if row == "nested" else size
    if ROWS[row].group == "training":
        return tagloom_training.step(row), tagloom_training.arguments(row, *size)
    if row in ("wide", "chain"):
        return (_wide if row == "wide" else _chain)(*size), (1.5,)
    if row.startswith("cell"):
        return _cell(), (*cell(int(row[4:])), *size)
    x, dtype = array(row, *size), dtype_of(row)
    if row.startswith("exptanh"):
        return _exptanh(row), (x,)
    return _affine(row), (x, dtype(SLOPE), dtype(OFFSET))


def build(system: str, row: str, size: Size) -> Built:
    """A run of a row on one engine, as `fn.run` makes it: from Python arguments to an outcome."""
    missing = [op for op in (ROWS[row].needs if row in ROWS else ()) if op not in OPS]
    if missing:
        raise Unable(f"needs {', '.join(missing)}")
    if system == "eager":
        return Built(tagloom_training.eager(row, *size))
    if (row, size) not in _kept:
        _kept[row, size] = _program(row, size)
    function, arguments = _kept[row, size]
    engine, _, schedule = system.partition(", ")
    options: dict[str, Any] = {"engine": engine, "limits": _LIMITS} | ({"schedule": schedule} if schedule else {})
    is_training = ROWS[row].group == "training" if row in ROWS else False
    options |= {"measures": False} if is_training else {}
    last: list[tl.Outcome] = []

    def run() -> Any:
        last.clear()
        try:
            last.append(function.run(*arguments, **options))
        except tl.Usage as error:
            raise Unable(str(error).splitlines()[0]) from error
        if last[0].error is not None:
            raise last[0].error
        value = last[0].value
        return (value[0], *value[1]) if is_training else value

    def firings() -> tuple[float, float]:
        return float(last[0].firings), float(last[0].firings)

    return Built(run, None if engine == "compiled" or is_training else firings)
