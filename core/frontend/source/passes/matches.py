"""The pass on `match`: it becomes `if`, unless a pattern assigns names in alternatives of `|`. The tests of a pattern
come before the assignments of its names.

>>> import ast
>>> (function,) = ast.parse('''
... def f(n):
...     match n:
...         case 0 | 1: return 5
...         case k if k > 9: return k
... ''').body
>>> print(ast.unparse(convert_matches(function)))
def f(n):
    ag__subject_1 = n
    if ag__subject_1 == 0 or ag__subject_1 == 1:
        return 5
    else:
        k = ag__subject_1
        if k > 9:
            return k
"""

from __future__ import annotations

import ast
from typing import Any

from ..nodes import NodeTransformer
from ..reader import FunctionNode
from ..scopes import SCOPES, written_names
from ..templates import copy_tree, expression, generated_name, statements


def convert_matches(node: FunctionNode) -> FunctionNode:
    """The function, changed in place, without matches of such patterns; nested functions stay as they are."""
    if isinstance(node, ast.FunctionDef):
        matches = _Matches()
        node.body = [part for statement in node.body for part in _as_list(matches.visit(statement))]
    return node


def _as_list(nodes: Any) -> list[Any]:
    return nodes if isinstance(nodes, list) else [nodes]


class _Matches(NodeTransformer):
    def __init__(self) -> None:
        self.count = 0

    def visit(self, node: ast.AST) -> Any:
        return node if isinstance(node, SCOPES) else super().visit(node)

    def visit_Match(self, node: ast.Match) -> Any:
        self.generic_visit(node)
        if not all(_is_plain(case.pattern) for case in node.cases):
            return node
        self.count += 1
        subject = generated_name("subject", self.count)
        rest: list[ast.stmt] = []
        for case in reversed(node.cases):
            pattern, tests = case.pattern, [case.guard] if case.guard is not None else []
            if not _is_capture(pattern):
                captures = list[ast.expr]()
                pattern_tests = _tests(pattern, ast.copy_location(ast.Name(subject, ast.Load()), pattern), captures)
                tests[:0] = [*pattern_tests, *captures]
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


def _is_plain(pattern: ast.pattern) -> bool:
    """Whether no pattern assigns names in alternatives."""
    alternatives = [alternative for alternative in ast.walk(pattern) if isinstance(alternative, ast.MatchOr)]
    return not any(written_names([alternative]) for alternative in alternatives)


def _tests(pattern: ast.pattern, subject: ast.expr, captures: list[ast.expr]) -> list[ast.expr]:
    """Expressions that are true one after the other where the pattern matches. Expressions that assign its names, and
    are true, are added to `captures`: Python assigns names only where the whole pattern matches."""
    match pattern:
        case ast.MatchValue():
            return [expression("subject == value", pattern, subject=subject, value=pattern.value)]
        case ast.MatchSingleton():
            return [expression(f"subject is {pattern.value}", pattern, subject=subject)]
        case ast.MatchOr():
            parts = [_conjunction(_tests(part, copy_tree(subject), captures), part) for part in pattern.patterns]
            return [ast.copy_location(ast.BoolOp(ast.Or(), parts), pattern)]
        case ast.MatchAs():
            tests = [] if pattern.pattern is None else _tests(pattern.pattern, copy_tree(subject), captures)
            if pattern.name is not None:
                captures.append(expression(f"({pattern.name} := subject, True)[1]", pattern, subject=subject))
            return tests
        case ast.MatchSequence():
            return _sequence_tests(pattern, subject, captures)
        case ast.MatchMapping():
            return _mapping_tests(pattern, subject, captures)
        case ast.MatchClass():
            return _class_tests(pattern, subject, captures)
    raise AssertionError("only plain patterns are converted")


def _sequence_tests(pattern: ast.MatchSequence, subject: ast.expr, captures: list[ast.expr]) -> list[ast.expr]:
    count = len(pattern.patterns)
    star = next((k for k, part in enumerate(pattern.patterns) if isinstance(part, ast.MatchStar)), None)
    template = f"ag__.has_items(subject, {count})"
    if star is not None:
        template = f"ag__.has_items(subject, {count - 1}, True)"
    tests = [expression(template, pattern, subject=subject)]
    for position, part in enumerate(pattern.patterns):
        if isinstance(part, ast.MatchStar):
            if part.name is not None:
                items = f"ag__.inner_items(subject, {position}, {count - position - 1})"
                captures.append(expression(f"({part.name} := {items}, True)[1]", part, subject=copy_tree(subject)))
            continue
        index = position if star is None or position < star else position - count
        tests += _tests(part, expression(f"subject[{index}]", part, subject=copy_tree(subject)), captures)
    return tests


def _mapping_tests(pattern: ast.MatchMapping, subject: ast.expr, captures: list[ast.expr]) -> list[ast.expr]:
    keys = ast.copy_location(ast.Tuple(list(pattern.keys), ast.Load()), pattern)
    tests = [expression("ag__.has_keys(subject, keys)", pattern, subject=subject, keys=copy_tree(keys))]
    for key, part in zip(pattern.keys, pattern.patterns, strict=True):
        item = expression("subject[key]", part, subject=copy_tree(subject), key=copy_tree(key))
        tests += _tests(part, item, captures)
    if pattern.rest is not None:
        template = f"({pattern.rest} := ag__.other_items(subject, keys), True)[1]"
        captures.append(expression(template, pattern, subject=copy_tree(subject), keys=copy_tree(keys)))
    return tests


def _class_tests(pattern: ast.MatchClass, subject: ast.expr, captures: list[ast.expr]) -> list[ast.expr]:
    template = f"ag__.has_class(subject, kind, {len(pattern.patterns)}, {tuple(pattern.kwd_attrs)})"
    tests = [expression(template, pattern, subject=subject, kind=pattern.cls)]
    for position, inner in enumerate(pattern.patterns):
        template = f"ag__.positional_part(subject, kind, {position})"
        part = expression(template, inner, subject=copy_tree(subject), kind=copy_tree(pattern.cls))
        tests += _tests(inner, part, captures)
    for name, inner in zip(pattern.kwd_attrs, pattern.kwd_patterns, strict=True):
        tests += _tests(inner, expression(f"subject.{name}", inner, subject=copy_tree(subject)), captures)
    return tests


def _conjunction(tests: list[ast.expr], anchor: ast.AST) -> ast.expr:
    if not tests:
        return ast.copy_location(ast.Constant(True), anchor)
    return tests[0] if len(tests) == 1 else ast.copy_location(ast.BoolOp(ast.And(), tests), tests[0])
