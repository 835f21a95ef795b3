"""The pass on variables: reads of a variable that may be unassigned say so, by name.

>>> import ast
>>> function = ast.parse('''
... def f(n):
...     if n > 0:
...         x = 1
...     return x + n
... ''').body[0]
>>> print(ast.unparse(convert_loads(mark_loads(function)).body[-1]))
return ag__.load(lambda: x, 'x') + n
"""

from __future__ import annotations

import ast
from collections.abc import Sequence

from ..nodes import NodeTransformer, child_nodes
from ..reader import FunctionNode
from ..scopes import COMPREHENSIONS, SCOPES, function_scope, walk_scope, written_names
from ..templates import expression


def mark_loads(node: FunctionNode) -> FunctionNode:
    """Mark the reads of local variables that are not assigned on every path (`may_be_unassigned`), and the others of
    those that a branch or loop may leave unassigned (`is_present`). Returns the function, changed in place."""
    if isinstance(node, ast.FunctionDef):
        scope = function_scope(node)
        marker = _Marker(scope.local_names)
        marker.visit_block(node.body, frozenset(scope.parameters))
        for child in walk_scope(node.body):
            if isinstance(child, ast.Name) and child.id in marker.partial_names:
                child.is_present = not getattr(child, "may_be_unassigned", False)  # type: ignore[attr-defined]
    return node


def convert_loads(node: FunctionNode) -> FunctionNode:
    """The function, changed in place, with operators for the marked reads."""
    return _Loads().visit(node)  # type: ignore[no-any-return]


class _Loads(NodeTransformer):
    def visit_Name(self, node: ast.Name) -> ast.AST:
        if isinstance(node.ctx, ast.Load) and getattr(node, "is_present", False):
            name = ast.copy_location(ast.Name(node.id, ast.Load()), node)
            return expression("ag__.assigned_value(variable)", node, variable=name)  # type: ignore[no-any-return]
        if isinstance(node.ctx, ast.Load) and getattr(node, "may_be_unassigned", False):
            name = ast.copy_location(ast.Name(node.id, ast.Load()), node)
            template = "ag__.load(lambda: variable, name)"
            return expression(template, node, variable=name, name=ast.Constant(node.id))  # type: ignore[no-any-return]
        return node


class _Marker:
    """Walks a function along its control flow, with the variables that are assigned on every path so far."""

    def __init__(self, local_names: frozenset[str]) -> None:
        self.local_names = local_names
        self.partial_names: set[str] = set()
        """The variables that a branch or loop assigns which are not assigned before it."""
        self.break_assignments: list[frozenset[str] | None] = []
        """For each loop around, the variables that are assigned at all of its breaks so far."""

    def visit_block(self, body: Sequence[ast.stmt], assigned: frozenset[str] | None) -> frozenset[str] | None:
        """The variables that are assigned at the end; None where the end is not reached."""
        for statement in body:
            if assigned is None:
                return None
            assigned = self.visit(statement, assigned)
        return assigned

    def visit_loop(
        self,
        node: ast.While | ast.For | ast.AsyncFor,
        assigned: frozenset[str],
        in_body: frozenset[str],
        at_end: frozenset[str] | None,
    ) -> frozenset[str] | None:
        """The variables that are assigned after a loop, given those before it, in its body, and where it ends without a
        break."""
        self.partial_names |= (written_names([node]) & self.local_names) - assigned
        self.break_assignments.append(None)
        self.visit_block(node.body, in_body)
        at_breaks = self.break_assignments.pop()
        return _meet(self.visit_block(node.orelse, at_end), at_breaks)

    def visit(self, node: ast.stmt, assigned: frozenset[str]) -> frozenset[str] | None:
        match node:
            case ast.If():
                self.mark([node.test], assigned)
                self.partial_names |= (written_names([node]) & self.local_names) - assigned
                then, otherwise = assigned | walrus_names(node.test, True), assigned | walrus_names(node.test, False)
                return _meet(self.visit_block(node.body, then), self.visit_block(node.orelse, otherwise))
            case ast.While():
                self.mark([node.test], assigned)
                is_endless = isinstance(node.test, ast.Constant) and bool(node.test.value)
                in_body, after = assigned | walrus_names(node.test, True), assigned | walrus_names(node.test, False)
                return self.visit_loop(node, assigned, in_body, None if is_endless else after)
            case ast.For() | ast.AsyncFor():
                self.mark([node.iter], assigned)
                return self.visit_loop(node, assigned, assigned | written_names([node.target]), assigned)
            case ast.With() | ast.AsyncWith():
                self.mark(node.items, assigned)
                targets = [item.optional_vars for item in node.items if item.optional_vars is not None]
                self.partial_names |= (written_names(node.body) & self.local_names) - assigned
                self.visit_block(node.body, assigned | written_names(targets))
                return assigned | written_names(targets)
            case ast.Try() | ast.TryStar():
                self.partial_names |= (written_names([node]) & self.local_names) - assigned
                body = self.visit_block(node.body, assigned)
                at_end = self.visit_block(node.orelse, body) if body is not None else None
                for handler in node.handlers:
                    names = frozenset({handler.name} if handler.name else set())
                    at_end = _meet(at_end, self.visit_block(handler.body, assigned | names))
                last = self.visit_block(node.finalbody, assigned)
                return None if last is None or at_end is None else at_end | last
            case ast.Match():
                self.mark([node.subject], assigned)
                at_end = assigned
                for case in node.cases:
                    inner = assigned | written_names([case.pattern])
                    self.mark([case.guard] if case.guard else [], inner)
                    at_end = _meet(at_end, self.visit_block(case.body, inner)) or frozenset()
                return at_end
            case ast.Return() | ast.Raise() | ast.Break() | ast.Continue():
                self.mark([node], assigned)
                if isinstance(node, ast.Break) and self.break_assignments:
                    self.break_assignments[-1] = _meet(self.break_assignments[-1], assigned)
                return None
            case ast.Delete():
                self.mark([node], assigned)
                return assigned - written_names([node])
        self.mark([node], assigned)
        assigned |= walrus_names(node)
        if isinstance(node, ast.Assign | ast.Import | ast.ImportFrom | ast.FunctionDef | ast.ClassDef):
            return assigned | written_names([node])
        if isinstance(node, ast.AnnAssign | ast.AugAssign) and node.value is not None:
            return assigned | written_names([node.target])
        return assigned

    def mark(self, nodes: Sequence[ast.AST], assigned: frozenset[str]) -> None:
        """Mark the reads of unassigned variables in these nodes."""
        for node in nodes:
            if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load):
                if node.id in self.local_names and node.id not in assigned:
                    node.may_be_unassigned = True  # type: ignore[attr-defined]
            elif isinstance(node, ast.AugAssign) and isinstance(node.target, ast.Name):
                node.target.may_be_unassigned = (  # type: ignore[attr-defined]
                    node.target.id in self.local_names and node.target.id not in assigned
                )
                self.mark([node.value], assigned)
            elif isinstance(node, COMPREHENSIONS):
                self.mark([node.generators[0].iter], assigned)
            elif isinstance(node, SCOPES):
                continue
            else:
                self.mark(child_nodes(node), assigned)


def walrus_names(node: ast.AST, outcome: bool | None = None) -> frozenset[str]:
    """The names that `:=` certainly assigns in a simple statement, or in an expression that is true or false, or both.

    >>> def names(text, outcome):
    ...     return sorted(walrus_names(ast.parse(text, mode="eval").body, outcome))
    >>> names("(a := 1) and (b := 2)", True), names("(a := 1) and (b := 2)", False), names("not (a or (b := 2))", True)
    (['a', 'b'], ['a'], ['b'])
    """
    match node:
        case ast.NamedExpr():
            return frozenset({node.target.id}) | walrus_names(node.value)
        case ast.BoolOp():
            is_whole = outcome is not None and outcome is isinstance(node.op, ast.And)
            values = node.values if is_whole else node.values[:1]
            return frozenset().union(*(walrus_names(value, outcome if is_whole else None) for value in values))
        case ast.UnaryOp(op=ast.Not()):
            return walrus_names(node.operand, None if outcome is None else not outcome)
        case ast.IfExp():
            return walrus_names(node.test)
        case ast.Compare():
            operands = [node.left, *(node.comparators if outcome else node.comparators[:1])]
            return frozenset().union(*map(walrus_names, operands))
        case ast.stmt() | ast.expr() | ast.keyword() if not isinstance(node, (*SCOPES, *COMPREHENSIONS)):
            return frozenset().union(*map(walrus_names, child_nodes(node)))
    return frozenset()


def _meet(first: frozenset[str] | None, second: frozenset[str] | None) -> frozenset[str] | None:
    """The variables that are assigned where two paths meet."""
    if first is None:
        return second
    return first if second is None else first & second
