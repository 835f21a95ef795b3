"""Generated programs over variables: Python functions that run eagerly, and traced as `tl.function`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import tagloom as tl
from hypothesis import strategies as st

NAMES = ("a", "b", "n", "w")
"""Two floats, an integer, and an array of floats."""
STARTS: dict[str, Any] = {"a": 0.5, "b": -1.25, "n": 3, "w": [1.0, -2.0, 0.25]}


def variables() -> dict[str, tl.Variable]:
    return {name: tl.Variable(start, name=name) for name, start in STARTS.items()}


def variable_bits(variables: dict[str, tl.Variable]) -> dict[str, bytes]:
    """The bits of all variables."""
    return {name: np.asarray(each).tobytes() for name, each in variables.items()}


@dataclass(frozen=True)
class Statement:
    kind: str
    target: str = "a"
    number: int = 0
    parts: tuple[tuple[Statement, ...], ...] = ()


simple = st.builds(
    Statement, st.sampled_from(["assign", "add", "sub", "mix"]), st.sampled_from(NAMES), st.integers(0, 7)
)


def _around(inner: st.SearchStrategy[Statement]) -> st.SearchStrategy[Statement]:
    block = st.lists(inner, min_size=0, max_size=3).map(tuple)
    return st.one_of(
        st.builds(Statement, st.just("cond"), st.sampled_from(NAMES), st.integers(0, 7), st.tuples(block, block)),
        st.builds(Statement, st.just("loop"), st.just("n"), st.integers(0, 3), st.tuples(block)),
        st.builds(Statement, st.just("decided"), st.just("n"), st.integers(0, 3), st.tuples(block, block)),
        st.builds(Statement, st.just("call"), st.just("a"), st.integers(0, 3), st.tuples(block)),
        st.builds(Statement, st.just("recur"), st.just("a"), st.integers(0, 3), st.tuples(block)),
    )


programs = st.lists(st.recursive(simple, _around, max_leaves=8), min_size=1, max_size=4).map(tuple)


def build_function(program: Sequence[Statement], variables: dict[str, tl.Variable]) -> Callable[[Any], Any]:
    """The Python function of a program. The functions that it calls are `tl.function`s, eagerly and in a trace."""
    blocks = {statement: _function(statement, variables) for statement in _calls(program)}

    def run(x: Any) -> Any:
        _block(program, variables, x, blocks)
        return variables["a"] + variables["b"] * x + tl.sum(variables["w"])

    return run


def _calls(program: Sequence[Statement]) -> list[Statement]:
    results = []
    for statement in program:
        for part in statement.parts:
            results += _calls(part)
        if statement.kind in ("call", "recur"):
            results.append(statement)
    return results


def _function(statement: Statement, variables: dict[str, tl.Variable]) -> Any:
    (body,) = statement.parts
    inner = {each: _function(each, variables) for each in _calls(body)}

    @tl.function
    def callee(k: tl.int64, x: tl.float64) -> tl.float64:
        _block(body, variables, x, inner)
        if statement.kind == "call":
            return variables["a"] * 0.5
        return tl.cond(k <= 0, lambda: variables["b"] * 0.5, lambda: callee(k - 1, x) + variables["a"] * 0.25)

    return callee


@tl.autograph.inline
def _block(
    block: Sequence[Statement], variables: dict[str, tl.Variable], x: Any, functions: dict[Statement, Any]
) -> None:
    for statement in block:
        _statement(statement, variables, x, functions)


def _value(target: str, number: int, variables: dict[str, tl.Variable], x: Any) -> Any:
    """A value of the target's type, computed from variables."""
    if target == "n":
        return (variables["n"] * (number - 3) + number) % 11
    scalar = variables["b"] * 0.5 + x * (number - 3) if number % 2 else tl.sin(variables["a"] + x) * number
    return scalar if target in "ab" else variables["w"] * 0.5 + scalar


@tl.autograph.inline
def _statement(
    statement: Statement, variables: dict[str, tl.Variable], x: Any, functions: dict[Statement, Any]
) -> None:
    kind, number, variable = statement.kind, statement.number, variables[statement.target]
    value = _value(statement.target, number, variables, x)
    if kind == "assign":
        variable.assign(value)
    elif kind == "add":
        variable.assign_add(value)
    elif kind == "sub":
        variable.assign_sub(value)
    elif kind == "mix":
        before = variable.value
        variable.assign(value)
        variables["a"].assign(
            tl.sum(before) * 0.5 + tl.sum(variable) if statement.target != "n" else variables["a"] + 1.0
        )
    elif kind == "cond":
        then, otherwise = statement.parts
        tl.cond(
            tl.sum(variable) > number - 4,
            lambda: _branch(then, variables, x, functions),
            lambda: _branch(otherwise, variables, x, functions),
        )
    elif kind in ("loop", "decided"):
        *deciding, body = statement.parts

        def going_on(i: Any) -> Any:
            for block in deciding:
                _block(block, variables, x, functions)
            return (i < number) & (variables["n"] != 7)

        def going(i: Any) -> Any:
            _block(body, variables, x, functions)
            return i + 1

        tl.while_loop(going_on, going, 0)
    else:
        variables["a"].assign(variables["a"] * 0.5 + functions[statement](number, x))


@tl.autograph.inline
def _branch(
    block: Sequence[Statement], variables: dict[str, tl.Variable], x: Any, functions: dict[Statement, Any]
) -> Any:
    _block(block, variables, x, functions)
    return 0
