"""The pass on `match`: one whose patterns are literals, `|` of them, names and `_` becomes `if` and `else`.

>>> import ast
>>> (function,) = ast.parse('''
... def f(n):
...     match n:
...         case 0 | 1: return 5
...         case k if k > 9: return k
... ''').body
>>> print(ast.unparse(convert_matches(function)))
def f(n):
    subject_1_ = n
    if subject_1_ == 0 or subject_1_ == 1:
        return 5
    else:
        k = subject_1_
        if k > 9:
            return k
"""

from __future__ import annotations

import ast
from typing import Any

from ..reader import FunctionNode
from ..scopes import SCOPES
from ..templates import expression, statements


def convert_matches(node: FunctionNode) -> FunctionNode:
    """The function, changed in place, without matches of plain values; nested functions stay as they are."""
    if isinstance(node, ast.FunctionDef):
        matches = _Matches()
        node.body = [part for each in node.body for part in _as_list(matches.visit(each))]
    return node


def _as_list(nodes: Any) -> list[Any]:
    return nodes if isinstance(nodes, list) else [nodes]


class _Matches(ast.NodeTransformer):
    def __init__(self) -> None:
        self.count = 0

    def visit(self, node: ast.AST) -> Any:
        return node if isinstance(node, SCOPES) else super().visit(node)

    def visit_Match(self, node: ast.Match) -> Any:
        self.generic_visit(node)
        if not all(_is_capture(case.pattern) or _is_literal(case.pattern) for case in node.cases):
            return node
        self.count += 1
        subject = f"subject_{self.count}_"
        rest: list[ast.stmt] = []
        for case in reversed(node.cases):
            pattern, tests = case.pattern, [case.guard] if case.guard is not None else []
            if not _is_capture(pattern):
                tests.insert(0, _literal_test(pattern, subject))
            chosen = case.body
            if tests:
                test = tests[0] if len(tests) == 1 else ast.copy_location(ast.BoolOp(ast.And(), tests), pattern)
                template = "if test: body\nelse: rest" if rest else "if test: body"
                chosen = statements(template, pattern, test=test, body=case.body, rest=rest)
            if isinstance(pattern, ast.MatchAs) and pattern.name:
                chosen = [*statements("name = subject", pattern, name=pattern.name, subject=subject), *chosen]
            rest = chosen
        return [*statements("name = value", node, name=subject, value=node.subject), *rest]


def _is_capture(pattern: ast.pattern) -> bool:
    return isinstance(pattern, ast.MatchAs) and pattern.pattern is None


def _is_literal(pattern: ast.pattern) -> bool:
    if isinstance(pattern, ast.MatchOr):
        return all(map(_is_literal, pattern.patterns))
    return isinstance(pattern, ast.MatchValue)


def _literal_test(pattern: ast.pattern, subject: str) -> ast.expr:
    if isinstance(pattern, ast.MatchOr):
        parts = [_literal_test(each, subject) for each in pattern.patterns]
        return ast.copy_location(ast.BoolOp(ast.Or(), parts), pattern)
    assert isinstance(pattern, ast.MatchValue)
    return expression("subject == value", pattern, subject=subject, value=pattern.value)  # type: ignore[no-any-return]
