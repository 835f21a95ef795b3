"""Templates: quoted Python with names that stand for syntax.

All code that the passes generate is written as templates, never put together from nodes by hand. Generated nodes get
the position of the construct that they replace, so that lines and columns in errors are those of the user's code.
"""

from __future__ import annotations

import ast
from collections.abc import Sequence
from functools import cache
from typing import Any, TypeAlias

from ...python_ast import parse_python
from .nodes import NodeTransformer, child_nodes

Filler: TypeAlias = ast.expr | str | Sequence[ast.stmt] | Sequence[str]
"""The syntax that a name of a template stands for: an expression, an identifier, statements, or the names of a
declaration."""


GENERATED = "ag__"
"""The name of the operators in converted code, and the prefix of all names that passes choose."""


def generated_name(kind: str, label: object) -> str:
    """A name for converted code. Functions of the user that have a name of this form are not converted.

    >>> generated_name("items", 1)
    'ag__items_1'
    """
    return f"{GENERATED}{kind}_{label}"


def is_generated(name: str) -> bool:
    """Whether a name is one that only converted code may have."""
    return name.startswith(GENERATED)


def statements(template: str, anchor: ast.AST, **fillers: Filler) -> list[ast.stmt]:
    """The statements of a template, at the position of `anchor`.

    >>> [x] = parse_python("x").body
    >>> print(ast.unparse(statements("def name(): body", x, name="f", body=[ast.Pass()])[0]))
    def f():
        pass
    """
    filled = _Filling(fillers)
    nodes: list[ast.stmt] = []
    for statement in copy_tree(_parse(template)):
        result = filled.visit(statement)
        nodes += result if isinstance(result, list) else [result]
    for node in nodes:
        place_at(node, anchor)
    return nodes


def expression(template: str, anchor: ast.AST, **fillers: Filler) -> Any:
    """The expression of a template, at the position of `anchor`.

    >>> x = parse_python("x + 1", "eval").body
    >>> ast.unparse(expression("f(lambda: a)", x, a=x))
    'f(lambda: x + 1)'
    """
    (statement,) = statements(template, anchor, **fillers)
    assert isinstance(statement, ast.Expr)
    return statement.value


def index_expression(node: ast.expr) -> ast.expr:
    """An index as an expression: a slice becomes a call of `slice`.

    >>> ast.unparse(index_expression(parse_python("x[1:n, 0]", "eval").body.slice))
    '(ag__.slice(1, n, None), 0)'
    """
    if isinstance(node, ast.Slice):
        parts = [bound if bound is not None else ast.Constant(None) for bound in (node.lower, node.upper, node.step)]
        return expression("ag__.slice(lower, upper, step)", node, lower=parts[0], upper=parts[1], step=parts[2])  # type: ignore[no-any-return]
    if isinstance(node, ast.Tuple):
        node.elts = [index_expression(element) for element in node.elts]
    return node


def copy_tree(node: Any) -> Any:
    """A copy of a syntax tree, with the marks that passes have set: a few times faster than `copy.deepcopy`. Contexts
    and operators, such as `ast.Load()`, are not copied: Python has one of each for all trees, to which tools may add
    attributes, as IPython does when it shows a traceback.

    >>> tree = parse_python("x + 1")
    >>> copied = copy_tree(tree)
    >>> ast.dump(copied) == ast.dump(tree), copied.body[0] is tree.body[0]
    (True, False)
    """
    if isinstance(node, ast.AST):
        if not node._fields and not node._attributes:
            return node
        copied = type(node).__new__(type(node))  # the constructor of 3.13 warns of missing fields
        for name, part in vars(node).items():
            setattr(copied, name, copy_tree(part) if isinstance(part, ast.AST | list) else part)
        return copied
    return [copy_tree(part) for part in node] if isinstance(node, list) else node


@cache
def _parse(template: str) -> list[ast.stmt]:
    tree = parse_python(template)
    for node in ast.walk(tree):
        for name in ("lineno", "col_offset", "end_lineno", "end_col_offset"):
            if hasattr(node, name):
                delattr(node, name)
    return tree.body  # type: ignore[no-any-return]


class _Filling(NodeTransformer):
    """Replaces the names of a template."""

    def __init__(self, fillers: dict[str, Filler]) -> None:
        self.fillers = fillers

    def visit_Name(self, node: ast.Name) -> ast.AST:
        filler = self.fillers.get(node.id)
        if isinstance(filler, str):
            node.id = filler
            return node
        return filler if isinstance(filler, ast.expr) else node

    def visit_Expr(self, node: ast.Expr) -> Any:
        filler = self.fillers.get(node.value.id) if isinstance(node.value, ast.Name) else None
        if isinstance(filler, list):
            return filler
        return self.generic_visit(node)

    def visit_FunctionDef(self, node: ast.FunctionDef) -> Any:
        filler = self.fillers.get(node.name)
        if isinstance(filler, str):
            node.name = filler
        return self.generic_visit(node)

    def visit_arg(self, node: ast.arg) -> Any:
        filler = self.fillers.get(node.arg)
        if isinstance(filler, str):
            node.arg = filler
        return node

    def visit_Attribute(self, node: ast.Attribute) -> Any:
        filler = self.fillers.get(node.attr)
        if isinstance(filler, str):
            node.attr = filler
        return self.generic_visit(node)

    def _visit_declaration(self, node: Any) -> Any:
        names = [name for template_name in node.names for name in self._filled_names(template_name)]
        node.names = names
        return node if names else []

    visit_Nonlocal = visit_Global = _visit_declaration

    def _filled_names(self, name: str) -> Sequence[str]:
        filler = self.fillers.get(name, name)
        return [filler] if isinstance(filler, str) else filler  # type: ignore[return-value]


def place_at(node: ast.AST, anchor: ast.AST) -> None:
    """Give nodes without a position that of `anchor`."""
    pending: list[ast.AST] = [node]
    while pending:
        item = pending.pop()
        if "lineno" in item._attributes and not hasattr(item, "lineno"):
            item.lineno, item.col_offset = anchor.lineno, anchor.col_offset  # type: ignore[attr-defined]
            item.end_lineno, item.end_col_offset = anchor.end_lineno, anchor.end_col_offset  # type: ignore[attr-defined]
            if isinstance(item, ast.Attribute):  # CPython places a call of a method on the last line of its name
                item.end_lineno, item.end_col_offset = item.lineno, item.col_offset
        elif hasattr(item, "lineno"):
            continue  # the user's own code has positions already
        pending += child_nodes(item)
