"""Scopes: the names that a function binds, and the names that its statements read and write.

A nested function, class or comprehension is a scope of its own. What it reads counts as read where it stands, except
that a nested function may read a name at any later time (`captured_names`). One that stands for a comprehension runs at
once (`runs_at_once`).
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from .nodes import child_nodes
from .reader import FunctionNode

SCOPES = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda, ast.ClassDef)
COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)


@dataclass(frozen=True)
class Scope:
    """The names of a function."""

    parameters: tuple[str, ...]
    local_names: frozenset[str]
    """The names that the function binds, parameters included."""
    nonlocal_names: frozenset[str]
    global_names: frozenset[str]
    captured_names: frozenset[str]
    """The names that nested functions read or write, at a time that is not known."""


def function_scope(node: FunctionNode) -> Scope:
    """The names of a function.

    >>> scope = function_scope(ast.parse("def f(x):\\n  y = x\\n  global z\\n  z = lambda: y").body[0])
    >>> scope.parameters, sorted(scope.local_names), sorted(scope.global_names), sorted(scope.captured_names)
    (('x',), ['x', 'y'], ['z'], ['y'])
    """
    body = node.body if isinstance(node.body, list) else [ast.Expr(node.body)]
    own = list(walk_scope(body))
    nonlocal_names, global_names = declared_names(body, ast.Nonlocal), declared_names(body, ast.Global)
    parameters = parameter_names(node.args)
    local = {*parameters, *written_names(body)} - nonlocal_names - global_names
    captured = {
        name
        for scope in own
        if isinstance(scope, SCOPES) and not getattr(scope, "runs_at_once", False)
        for name in _inner_names(scope)
    }
    captured |= {
        name for generator in own if isinstance(generator, ast.GeneratorExp) for name in read_names([generator])
    }
    return Scope(tuple(parameters), frozenset(local), nonlocal_names, global_names, frozenset(captured))


def declared_names(body: Sequence[ast.AST], kind: type[ast.Nonlocal | ast.Global]) -> frozenset[str]:
    """The names that a function's body declares nonlocal, or global.

    >>> sorted(declared_names(ast.parse("if x:\\n  global a, b").body, ast.Global))
    ['a', 'b']
    """
    names: list[str] = []
    pending = list(body)
    for child in pending:  # a worklist: the loop appends to it
        if isinstance(child, kind):
            names += child.names
        elif not isinstance(child, (*SCOPES, ast.expr)):
            pending += child_nodes(child)
    return frozenset(names)


def parameter_names(arguments: ast.arguments) -> list[str]:
    """The names of all parameters, in order."""
    parameters = [*arguments.posonlyargs, *arguments.args, *([arguments.vararg] if arguments.vararg else [])]
    parameters += [*arguments.kwonlyargs, *([arguments.kwarg] if arguments.kwarg else [])]
    return [argument.arg for argument in parameters]


def walk_scope(nodes: Iterable[ast.AST]) -> Iterator[ast.AST]:
    """All nodes under these that belong to the same scope; of a nested scope only its node."""
    pending = list(nodes)[::-1]
    while pending:
        node = pending.pop()
        yield node
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            pending += [*node.decorator_list, *_defaults(node.args)]
        elif isinstance(node, ast.Lambda):
            pending += _defaults(node.args)
        elif isinstance(node, ast.ClassDef):
            pending += [*node.decorator_list, *node.bases, *(keyword.value for keyword in node.keywords)]
        else:
            pending += child_nodes(node)[::-1]


def _defaults(arguments: ast.arguments) -> list[ast.expr]:
    return [*arguments.defaults, *(default for default in arguments.kw_defaults if default is not None)]


def written_names(nodes: Iterable[ast.AST]) -> set[str]:
    """The names that these nodes bind or delete, in their own scope.

    >>> sorted(written_names(ast.parse("a = [b for b in c]; del d; import e.f; (g := 1)").body))
    ['a', 'd', 'e', 'g']
    """
    return {name for node in nodes for name in _iterate_written_names(node)}


def own_written_names(statement: ast.stmt) -> set[str]:
    """The names that a statement binds or deletes, apart from the statements in it.

    >>> sorted(own_written_names(ast.parse("for a in (b := c): d = 1").body[0]))
    ['a', 'b']
    """
    if isinstance(statement, SCOPES):
        return written_names([statement])
    names: set[str] = set()
    pending: list[ast.AST] = [statement]
    for node in pending:  # a worklist: the loop appends to it
        for child in child_nodes(node):
            if isinstance(child, ast.ExceptHandler | ast.match_case):
                names |= {child.name} if isinstance(child, ast.ExceptHandler) and child.name else set()
                pending.append(child)
            elif not isinstance(child, ast.stmt):
                names |= written_names([child])
    if isinstance(statement, ast.Import | ast.ImportFrom):
        names |= written_names([statement])
    return names


def _iterate_written_names(node: ast.AST) -> Iterator[str]:
    pending = [node]
    while pending:
        part = pending.pop()
        if isinstance(part, COMPREHENSIONS):  # its targets are its own, a walrus is not
            yield from (inner.target.id for inner in walk_scope([part]) if isinstance(inner, ast.NamedExpr))
            continue
        if isinstance(part, ast.Name):
            if not isinstance(part.ctx, ast.Load):
                yield part.id
            continue
        if isinstance(part, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            yield part.name
        elif isinstance(part, ast.Import | ast.ImportFrom):
            yield from ((alias.asname or alias.name).split(".")[0] for alias in part.names)
        elif isinstance(part, ast.ExceptHandler | ast.MatchAs | ast.MatchStar) and part.name:
            yield part.name
        elif isinstance(part, ast.MatchMapping) and part.rest:
            yield part.rest
        if isinstance(part, SCOPES):
            inner_parts = list(walk_scope([part]))[1:]
            yield from (inner.target.id for inner in inner_parts if isinstance(inner, ast.NamedExpr))
            continue
        pending += child_nodes(part)


def read_names(nodes: Iterable[ast.AST]) -> set[str]:
    """The names of the scope that these nodes read, at once or in nested scopes.

    >>> sorted(read_names(ast.parse("a = b + [c for c in d]; e += 1; f = lambda g: g + h").body))
    ['b', 'd', 'e', 'h']
    """
    names: set[str] = set()
    for node in nodes:
        if isinstance(node, SCOPES):
            names |= _inner_names(node) | read_names(list(walk_scope([node]))[1:])
        elif isinstance(node, COMPREHENSIONS):
            bound = {name for generator in node.generators for name in written_names([generator.target])}
            names |= read_names(child_nodes(node)) - bound
        elif isinstance(node, ast.AugAssign) and isinstance(node.target, ast.Name):
            names |= {node.target.id} | read_names([node.value])
        elif isinstance(node, ast.Name):
            if not isinstance(node.ctx, ast.Store):
                names.add(node.id)
        else:
            names |= read_names(child_nodes(node))
    return names


def _inner_names(node: ast.AST) -> set[str]:
    """The names from outside that a nested scope uses."""
    if isinstance(node, ast.ClassDef):
        return read_names(node.body) - written_names(node.body) | {
            name for name in read_names(node.body) if name in written_names(node.body)
        }
    assert isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda)
    body = node.body if isinstance(node.body, list) else [node.body]
    declared, shared = declared_names(body, ast.Nonlocal), declared_names(body, ast.Global)
    bound = {*parameter_names(node.args), *written_names(body)} - declared
    return (read_names(body) | declared) - bound - shared
