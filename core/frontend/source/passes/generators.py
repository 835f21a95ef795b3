"""The pass on generator functions: one becomes a function that hands over its items one by one, so that its loops and
branches may be those of a program. If the consumer of the items may stop, the function ends as soon as `add` returns a
true value, and returns whether that happened.

>>> import ast
>>> text = "def evens(n):\\n  yield 0\\n  for k in range(n): yield 2 * k"
>>> print(ast.unparse(hand_over_items(ast.parse(text).body[0], may_stop=True)))
def evens(n, *, ag__add_item):
    if ag__add_item(0):
        return True
    for k in range(n):
        if ag__add_item(2 * k):
            return True
    return False
"""

from __future__ import annotations

import ast
import copy
from typing import Any

from ..nodes import NodeTransformer, walk_nodes
from ..reader import NotConvertible
from ..templates import generated_name, statements

ADD = generated_name("add", "item")
"""The parameter for what takes an item."""


def hand_over_items(node: ast.FunctionDef, *, may_stop: bool) -> ast.FunctionDef:
    """The function, changed in place. Raises NotConvertible where it is a generator that needs its own frame: it uses
    what `yield` returns, or yields in a `with` or `try`, which it may leave when it is closed."""
    rewriter = _Yields(may_stop)
    node.body = [part for statement in node.body for part in rewriter.convert(statement)]
    if may_stop:
        node.body += statements("return False", node.body[-1])
    node.args = copy.deepcopy(node.args)
    node.args.kwonlyargs.append(ast.copy_location(ast.arg(ADD), node))
    node.args.kw_defaults.append(None)
    return node


class _Yields(NodeTransformer):
    def __init__(self, may_stop: bool) -> None:
        self.may_stop, self.count = may_stop, 0

    def convert(self, statement: ast.stmt) -> list[ast.stmt]:
        """The statements that a statement becomes."""
        result = self.visit(statement)
        return result if isinstance(result, list) else [result]

    def visit_Expr(self, node: ast.Expr) -> Any:
        if isinstance(node.value, ast.Yield):
            item = node.value.value or ast.copy_location(ast.Constant(None), node)
            self.generic_visit(item)
            return statements("if add(item): return True" if self.may_stop else "add(item)", node, add=ADD, item=item)
        if isinstance(node.value, ast.YieldFrom):
            self.generic_visit(node.value.value)
            self.count += 1
            names = {kind: generated_name(kind, self.count) for kind in ("rest", "items", "item")}
            if self.may_stop:
                loop = "def rest(items):\n  for item in items:\n    if add(item): return True\n  return False"
                use = "if ag__.hand_over(iterable, add, rest, True): return True"
            else:
                loop = "def rest(items):\n  for item in items: add(item)"
                use = "ag__.hand_over(iterable, add, rest)"
            return statements(f"{loop}\n{use}", node, add=ADD, iterable=node.value.value, **names)
        return self.generic_visit(node)

    def visit_Return(self, node: ast.Return) -> Any:
        self.generic_visit(node)
        before = [] if node.value is None else [ast.copy_location(ast.Expr(node.value), node)]
        return [*before, *statements("return False" if self.may_stop else "return", node)]

    def _visit_yield(self, node: ast.AST) -> Any:
        raise NotConvertible("it uses what `yield` returns")

    visit_Yield = visit_YieldFrom = _visit_yield

    def _visit_compound(self, node: ast.AST) -> ast.AST:
        if _yields(node):
            raise NotConvertible("it yields in a `with` or `try`")
        return self.generic_visit(node)

    visit_With = visit_Try = visit_TryStar = _visit_compound

    def _visit_scope(self, node: ast.AST) -> ast.AST:
        return node

    visit_FunctionDef = visit_AsyncFunctionDef = visit_ClassDef = visit_Lambda = _visit_scope


def _yields(node: ast.AST) -> bool:
    return any(isinstance(child, ast.Yield | ast.YieldFrom) for child in walk_nodes([node]))
