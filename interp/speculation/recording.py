"""Recording: functions that run in Python, and record which way each test went.

A watched function is the original with a call around each test that records its truth. It has the meaning, the frames
and the lines of the original. A function without source runs unwatched.
"""

from __future__ import annotations

import ast
import copy
from types import CellType, CodeType, FunctionType, MethodType
from typing import Any

from ...core.frontend.source.convert import bind_code, compile_tree
from ...core.frontend.source.passes.mangling import mangle_names
from ...core.frontend.source.reader import NotConvertible, read_source
from ...core.frontend.source.templates import expression
from ...core.frontend.source.user_code import is_convertible


class SpeculativeFunctionBase:
    """The base class of speculated functions; `python` is the original function."""

    python: Any  # a FunctionType, which as an annotation would be a method


def python_function(value: Any) -> Any:
    """The Python function behind a speculated function; any other value unchanged."""
    return (
        value.python if issubclass(type(value), SpeculativeFunctionBase) else value
    )  # no `__class__` of the user runs


_FRAME_READERS = ("super", "locals", "vars", "dir", "eval", "exec", "breakpoint")
"""Builtins that read the variables of their caller; a watched function has one variable more."""


class _Tests(ast.NodeTransformer):
    """Wraps each test in a call of `ag__.test`, and each function that is called in one of `ag__.callee`."""

    def _watch_test(self, node: Any) -> Any:
        self.generic_visit(node)
        line, column = node.test.lineno, node.test.col_offset
        node.test = expression(
            "ag__.test(line, column, value)",
            node.test,
            line=ast.Constant(line),
            column=ast.Constant(column),
            value=self._with_truths(node.test),
        )
        return node

    def _with_truths(self, test: ast.expr) -> ast.expr:
        """A test whose operands of `and` and `or` are bools, so that the truth of none is evaluated twice."""
        match test:
            case ast.BoolOp():
                test.values = [self._with_truths(_truth_of(operand)) for operand in test.values]
            case ast.UnaryOp(op=ast.Not()):
                test.operand = self._with_truths(test.operand)
        return test

    visit_If = visit_While = visit_IfExp = visit_Assert = _watch_test

    def visit_Call(self, node: ast.Call) -> ast.AST:
        self.generic_visit(node)
        node.func = expression("ag__.callee(function)", node.func, function=node.func)
        return node


def _truth_of(operand: ast.expr) -> ast.expr:
    """The truth of an operand of a test; one of `and`, `or` and `not` is a test itself."""
    is_test = isinstance(operand, ast.BoolOp) or (isinstance(operand, ast.UnaryOp) and isinstance(operand.op, ast.Not))
    return operand if is_test else expression("ag__.truth(value)", operand, value=operand)


class _FunctionRecorder:
    """The object `ag__` that the watched code of one function calls."""

    def __init__(self, recorder: Recorder, code: CodeType) -> None:
        self.recorder, self.code = recorder, code
        self.callee = recorder.watch

    @staticmethod
    def truth(value: Any) -> bool:
        """The truth of an operand of a test."""
        return bool(value)

    def test(self, line: int, column: int, value: Any) -> bool:
        """The truth of a test, which is recorded."""
        truth = bool(value)
        counts = self.recorder.counts.setdefault((self.code, line, column), [0, 0])
        counts[truth] += 1
        return truth


class Recorder:
    """Counts which way each test went in functions that ran in Python."""

    def __init__(self) -> None:
        self.counts: dict[tuple[CodeType, int, int], list[int]] = {}
        """The numbers of times that the test at a line and column was false, and true."""
        self._watch_codes: dict[CodeType, CodeType | None] = {}

    def branches_taken(self, code: CodeType, line: int, column: int) -> set[bool]:
        """The branches of a test that were taken; empty if it was never reached."""
        counts = self.counts.get((code, line, column), (0, 0))
        return {truth for truth in (False, True) if counts[truth]}

    def watch(self, function: Any) -> Any:
        """A callable that does the same as `function`, and records its tests."""
        if type(function) is MethodType:
            inner = self.watch(function.__func__)
            return function if inner is function.__func__ else MethodType(inner, function.__self__)
        python = python_function(function)
        if type(python) is not FunctionType or not is_convertible(python):
            return function
        code = python.__code__
        if code not in self._watch_codes:
            self._watch_codes[code] = _watched_code(code)
        watched_code = self._watch_codes[code]
        return (
            python if watched_code is None else bind_code(watched_code, python, CellType(_FunctionRecorder(self, code)))
        )


def _watched_code(code: CodeType) -> CodeType | None:
    """The code of a function with its tests watched; None if that is not possible."""
    if "__class__" in code.co_freevars:
        return None
    try:
        source = read_source(code)
    except NotConvertible:
        return None
    if any(isinstance(part, ast.Name) and part.id in _FRAME_READERS for part in ast.walk(source.node)):
        return None
    tree = mangle_names(copy.deepcopy(source.node), source.class_name)
    return _with_names(compile_tree(_Tests().visit(tree), code), code.co_qualname)


def _with_names(code: CodeType, name: str) -> CodeType:
    """The code with the qualified names that nested functions have in the original."""
    constants = list[object]()
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            constant = _with_names(constant, f"{name}.<locals>.{constant.co_name}")
        constants.append(constant)
    return code.replace(co_consts=tuple(constants), co_qualname=name)
