"""The pass on writes: assignments to attributes and items, augmented assignments, and assignments to variables of
enclosing functions and of the module announce what they change.

>>> import ast
>>> print(ast.unparse(convert_writes(ast.parse('''
... def f(self, x):
...     self.n = x
...     x.a, y = 1, 2
...     self.n += x
...     x += 1
...     del x[0]
... ''').body[0])))
def f(self, x):
    ag__.set_attribute(x, self, 'n')
    item_1, item_2 = (1, 2)
    ag__.set_attribute(item_1, x, 'a')
    y = item_2
    owner_1 = self
    ag__.set_attribute(ag__.augment('+', owner_1.n, x), owner_1, 'n')
    x = ag__.augment('+', x, 1)
    ag__.delete_item(x, 0)
"""

from __future__ import annotations

import ast
import copy
from typing import Any

from ....program.program import UniqueNames
from ..nodes import NodeTransformer, walk_nodes
from ..reader import FunctionNode
from ..scopes import declared_names, own_written_names
from ..templates import index_expression, statements

AUGMENTED_SYMBOLS = {
    ast.Add: "+",
    ast.Sub: "-",
    ast.Mult: "*",
    ast.Div: "/",
    ast.FloorDiv: "//",
    ast.Mod: "%",
    ast.Pow: "**",
    ast.MatMult: "@",
    ast.BitAnd: "&",
    ast.BitOr: "|",
    ast.BitXor: "^",
    ast.LShift: "<<",
    ast.RShift: ">>",
}


def convert_writes(node: FunctionNode) -> FunctionNode:
    """The function, changed in place, with operators for its writes; nested functions stay as they are."""
    if isinstance(node, ast.Lambda):
        return node
    used = {name.id for name in walk_nodes([node]) if isinstance(name, ast.Name)}
    writer = _Writes(declared_names(node.body, ast.Nonlocal), declared_names(node.body, ast.Global), used)
    node.body = writer.convert_all(node.body)
    return node


class _Writes(NodeTransformer):
    def __init__(self, nonlocal_names: frozenset[str], global_names: frozenset[str], used_names: set[str]) -> None:
        self.nonlocal_names, self.global_names = nonlocal_names, global_names
        self.names = UniqueNames()
        self.names.used_names |= used_names
        self.names.used_names |= {"item", "owner", "index"}

    def visit(self, node: ast.AST) -> Any:
        """The statement that replaces one, after the announcements of the outer variables that it assigns itself."""
        if not isinstance(node, ast.stmt):
            return super().visit(node)
        announcements = self._announcements(node)
        result = super().visit(node)
        return [*announcements, *(result if isinstance(result, list) else [result])] if announcements else result

    def convert(self, statement: ast.stmt) -> list[ast.stmt]:
        """The statements for one."""
        result = self.visit(statement)
        return result if isinstance(result, list) else [result]

    def convert_all(self, body: list[ast.stmt]) -> list[ast.stmt]:
        """The statements for those of a block."""
        return [part for statement in body for part in self.convert(statement)]

    def visit_Assign(self, node: ast.Assign) -> Any:
        if len(node.targets) == 1:
            (target,) = node.targets
            if isinstance(target, ast.Attribute | ast.Subscript):
                return self._store(target, node.value, node)
            later_statements = list[ast.stmt]()
            node.targets = [self._replace(target, later_statements)]
            return [node, *later_statements]
        if not any(
            isinstance(child, ast.Attribute | ast.Subscript)
            for target in node.targets
            for child in walk_nodes([target])
        ):
            return node
        name = self.names.fresh_name("item")
        parts = statements("name = value", node, name=name, value=node.value)
        for target in node.targets:
            later_statements = []
            replacement = self._replace(target, later_statements)
            if isinstance(target, ast.Attribute | ast.Subscript):
                later_statements, replacement = [], None  # type: ignore[assignment]
                parts.append(self._store(target, ast.Name(name, ast.Load()), node))
            else:
                (assignment,) = statements("x = name", node, name=name)
                assert isinstance(assignment, ast.Assign)
                assignment.targets = [replacement]
                parts += [assignment, *later_statements]
        return parts

    def _replace(self, target: ast.expr, later_statements: list[ast.stmt]) -> ast.expr:
        """The target, with names instead of its attributes and items, which `later_statements` assign, and of the
        variables and parts after them: Python assigns from left to right, and the variables may determine which
        attribute or item is meant; the items may be those that a part unpacks."""
        if isinstance(target, ast.Tuple | ast.List) and later_statements:
            name = self.names.fresh_name("item")
            (assignment,) = statements("x = name", target, name=name)
            assert isinstance(assignment, ast.Assign)
            assignment.targets = [target]
            later_statements += self.convert(assignment)
            return ast.copy_location(ast.Name(name, ast.Store()), target)
        if isinstance(target, ast.Tuple | ast.List):
            target.elts = [self._replace(element, later_statements) for element in target.elts]
        elif isinstance(target, ast.Starred):
            target.value = self._replace(target.value, later_statements)
        elif isinstance(target, ast.Attribute | ast.Subscript):
            name = self.names.fresh_name("item")
            later_statements.append(self._store(target, ast.copy_location(ast.Name(name, ast.Load()), target), target))
            return ast.copy_location(ast.Name(name, ast.Store()), target)
        elif later_statements and isinstance(target, ast.Name):
            name = self.names.fresh_name("item")
            later_statements += statements("variable = name", target, variable=target.id, name=name)
            return ast.copy_location(ast.Name(name, ast.Store()), target)
        return target

    def _store(self, target: ast.Attribute | ast.Subscript, value: ast.expr, anchor: ast.AST) -> ast.stmt:
        if isinstance(target, ast.Attribute):
            name = ast.Constant(target.attr)
            template = "ag__.set_attribute(value, owner, name)"
            return statements(template, anchor, value=value, owner=target.value, name=name)[0]
        template = "ag__.set_item(value, owner, index)"
        return statements(template, anchor, value=value, owner=target.value, index=index_expression(target.slice))[0]

    def visit_For(self, node: ast.For) -> ast.AST:
        later_statements = list[ast.stmt]()
        node.target = self._replace(node.target, later_statements)
        self.generic_visit(node)
        node.body = [*later_statements, *node.body]
        return node

    def visit_With(self, node: ast.With) -> ast.AST:
        for position, item in enumerate(node.items):
            later_statements = list[ast.stmt]()
            if item.optional_vars is not None:
                item.optional_vars = self._replace(item.optional_vars, later_statements)
            if later_statements:
                inner = copy.copy(node)
                inner.items = node.items[position + 1 :]
                node.items = node.items[: position + 1]
                node.body = [*later_statements, *(self.convert(inner) if inner.items else self.convert_all(node.body))]
                return node
        self.generic_visit(node)
        return node

    def visit_AnnAssign(self, node: ast.AnnAssign) -> Any:
        if node.value is None or isinstance(node.target, ast.Name):
            return node
        return self._store(node.target, node.value, node)

    def visit_AugAssign(self, node: ast.AugAssign) -> Any:
        symbol, target = ast.Constant(AUGMENTED_SYMBOLS[type(node.op)]), node.target
        if isinstance(target, ast.Name):
            template = "name = ag__.augment(symbol, old, value)"
            old = copy.copy(target)
            old.ctx = ast.Load()
            return statements(template, node, name=target.id, symbol=symbol, old=old, value=node.value)
        owner = self.names.fresh_name("owner")
        parts = statements("owner = value", node, owner=owner, value=target.value)
        if isinstance(target, ast.Attribute):
            template = "ag__.set_attribute(ag__.augment(symbol, owner.attribute, value), owner, name)"
            name = ast.Constant(target.attr)
            fillers: dict[str, Any] = {"attribute": target.attr, "name": name}
        else:
            index = self.names.fresh_name("index")
            parts += statements("index = value", node, index=index, value=index_expression(target.slice))
            template = "ag__.set_item(ag__.augment(symbol, owner[index], value), owner, index)"
            fillers = {"index": index}
        return [*parts, *statements(template, node, symbol=symbol, owner=owner, value=node.value, **fillers)]

    def visit_Delete(self, node: ast.Delete) -> Any:
        parts: list[ast.stmt] = []
        for target in node.targets:
            if isinstance(target, ast.Attribute):
                template = "ag__.delete_attribute(owner, name)"
                parts += statements(template, node, owner=target.value, name=ast.Constant(target.attr))
            elif isinstance(target, ast.Subscript):
                template = "ag__.delete_item(owner, index)"
                parts += statements(template, node, owner=target.value, index=index_expression(target.slice))
            else:
                parts.append(ast.copy_location(ast.Delete([target]), node))
        return parts

    def _announcements(self, node: ast.stmt) -> list[ast.stmt]:
        """Announcements of the variables outside of the function that a statement assigns, apart from its blocks."""
        if not (self.nonlocal_names or self.global_names):
            return []
        parts: list[ast.stmt] = []
        for name in sorted(own_written_names(node)):
            if name in self.nonlocal_names:
                parts += statements("ag__.before_nonlocal(lambda: name)", node, name=name)
            elif name in self.global_names:
                parts += statements("ag__.before_global(lambda: name)", node, name=name)
        return parts

    def _visit_scope(self, node: ast.AST) -> ast.AST:
        return node

    visit_FunctionDef = visit_AsyncFunctionDef = visit_ClassDef = visit_Lambda = _visit_scope
