"""Walks over syntax trees that leave out contexts and operators, which have no parts and are a third of all nodes.
Conversion takes half the time that it takes with the walks of `ast`."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from functools import cache
from typing import Any

_LEAF_FIELDS = {"ctx", "op", "ops", "id", "attr", "kind", "type_comment", "type_ignores", "conversion"}
"""The fields that hold no node, or only nodes without parts."""


@cache
def _node_fields(kind: type[ast.AST]) -> tuple[str, ...]:
    """The fields of a class of nodes that may hold statements, expressions or parts of them."""
    return () if kind is ast.Constant else tuple(name for name in kind._fields if name not in _LEAF_FIELDS)


@cache
def _method_name(kind: type[ast.AST]) -> str:
    return f"visit_{kind.__name__}"


def child_nodes(node: ast.AST) -> list[ast.AST]:
    """The parts of a node, in order.

    >>> [ast.unparse(each) for each in child_nodes(ast.parse("x[0] + y", mode="eval").body)]
    ['x[0]', 'y']
    """
    children: list[ast.AST] = []
    for name in _node_fields(type(node)):  # type: ignore[arg-type]
        part = getattr(node, name, None)
        if type(part) is list:
            children += [child for child in part if isinstance(child, ast.AST)]
        elif part is not None and isinstance(part, ast.AST):
            children.append(part)
    return children


def walk_nodes(nodes: Iterable[ast.AST]) -> Iterator[ast.AST]:
    """These nodes and all their parts, in no particular order."""
    pending = list(nodes)
    while pending:
        node = pending.pop()
        yield node
        pending += child_nodes(node)


class NodeTransformer(ast.NodeTransformer):
    """The transformer of `ast`, which visits no contexts and operators."""

    def visit(self, node: ast.AST) -> Any:
        method = getattr(self, _method_name(type(node)), None)  # type: ignore[arg-type]
        return self.generic_visit(node) if method is None else method(node)

    def generic_visit(self, node: ast.AST) -> ast.AST:
        for name in _node_fields(type(node)):  # type: ignore[arg-type]
            part = getattr(node, name, None)
            if isinstance(part, list):
                part[:] = self._visit_list(part)
            elif isinstance(part, ast.AST):
                result = self.visit(part)
                if result is None:
                    delattr(node, name)
                else:
                    setattr(node, name, result)
        return node

    def _visit_list(self, parts: list[Any]) -> Iterator[Any]:
        """The replacements for the parts of a list."""
        for part in list(parts):
            result = self.visit(part) if isinstance(part, ast.AST) else part
            if isinstance(result, list):
                yield from result
            elif result is not None or part is None:  # a key of `{**other}` is None
                yield result
