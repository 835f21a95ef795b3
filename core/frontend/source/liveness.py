"""Liveness: which variables may be read after a point of a function, before they are assigned again."""

from __future__ import annotations

import ast
from collections.abc import Sequence, Set
from typing import NamedTuple

from .scopes import read_names, written_names


class Exits(NamedTuple):
    """The variables that are live where an exit of a loop leads, and after a return."""

    after_break: frozenset[str] = frozenset()
    after_continue: frozenset[str] = frozenset()
    after_return: frozenset[str] = frozenset()


def live_before(statements: Sequence[ast.stmt], live_after: Set[str], exits: Exits) -> frozenset[str]:
    """The variables that are live before statements, given those that are live after them.

    >>> body = ast.parse("x = y\\nif p:\\n  z = 1\\nelse:\\n  z = x\\n").body
    >>> sorted(live_before(body, {"z"}, Exits()))
    ['p', 'y']
    """
    live = frozenset(live_after)
    for statement in reversed(statements):
        live = _live_before_statement(statement, live, exits)
    return live


def _live_before_statement(statement: ast.stmt, live: frozenset[str], exits: Exits) -> frozenset[str]:
    match statement:
        case ast.Return():
            return exits.after_return | read_names([statement])
        case ast.Raise():
            return exits.after_return | read_names([statement])
        case ast.Break():
            return exits.after_break
        case ast.Continue():
            return exits.after_continue
        case ast.If():
            branches = live_before(statement.body, live, exits) | live_before(statement.orelse, live, exits)
            return branches - _certain_walrus(statement.test) | read_names([statement.test])
        case ast.While():
            return _live_before_loop(statement, [statement.test], [], live, exits)
        case ast.For() | ast.AsyncFor():
            before = _live_before_loop(statement, [], [statement.target], live, exits)
            return before | read_names([statement.iter])
        case ast.With() | ast.AsyncWith():
            inner = live_before(statement.body, live, exits) | live
            return inner | read_names(statement.items)
        case ast.Try() | ast.TryStar():
            return live | exits.after_return | exits.after_break | exits.after_continue | read_names([statement])
        case ast.Match():
            cases = frozenset[str]().union(*(live_before(case.body, live, exits) for case in statement.cases))
            patterns = [part for case in statement.cases for part in (case.pattern, case.guard) if part is not None]
            return live | cases | read_names([statement.subject, *patterns])
    return live - _assigned(statement) | read_names([statement])


def _live_before_loop(
    loop: ast.While | ast.For | ast.AsyncFor,
    test: Sequence[ast.expr],
    target: Sequence[ast.expr],
    live: frozenset[str],
    exits: Exits,
) -> frozenset[str]:
    ended = live_before(loop.orelse, live, exits)
    head = ended | read_names(test)
    while True:
        inner = exits._replace(after_break=live, after_continue=head)
        body = live_before(loop.body, head, inner) - written_names(target)
        if body | read_names(target) <= head:
            return head
        head |= body | read_names(target)


def _assigned(statement: ast.stmt) -> set[str]:
    """The names that a simple statement certainly assigns."""
    if isinstance(statement, ast.Assign):
        return {name for target in statement.targets for name in written_names([target])}
    if isinstance(statement, ast.AnnAssign) and statement.value is not None:
        return written_names([statement.target])
    if isinstance(statement, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef | ast.Import | ast.ImportFrom):
        return written_names([statement])
    return set()


def _certain_walrus(test: ast.expr) -> set[str]:
    """The names that a test certainly assigns."""
    return {test.target.id} if isinstance(test, ast.NamedExpr) else set()
