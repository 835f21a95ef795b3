"""The pass on expressions: calls, `x if p else y`, `and`, `or`, `not`, chained comparisons, `in`, and displays.

An operand that Python may not evaluate becomes a function. An assignment expression in such a function assigns by a
function of its own, since `:=` would bind the name there.

>>> import ast
>>> def show(text):
...     (function,) = ast.parse("def f(a, b, c): return " + text).body
...     print(ast.unparse(convert_expressions(function).body[-1]))
>>> show("a if b else c()")
return ag__.if_exp(b, lambda: a, lambda: ag__.call(c))
>>> show("a and not b")
return ag__.and_(a, lambda: ag__.not_(b))
>>> show("a < b <= c")
return ag__.chain(a, ag__.less, lambda: b, ag__.less_equal, lambda: c)
>>> show("(a, b) < c")
return ag__.less((a, b), c)
>>> show("a in [b, c]")
return ag__.in_(a, ag__.new_container([b, c]))
>>> show("a[b] + a[0]")
return ag__.get_item(a, b) + ag__.get_item(a, 0)

>>> (function,) = ast.parse("def f(a): (b, c), *d = a").body
>>> print(ast.unparse(convert_expressions(function).body[-1]))
(b, c), *d = ag__.unpack(a, ((None, None), ...))
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import Any

from ..classes import NO_CLASSES, OperatorClasses
from ..nodes import NodeTransformer, walk_nodes
from ..reader import FunctionNode, NotConvertible
from ..scopes import walk_scope
from ..templates import copy_tree, expression, generated_name, index_expression, is_generated, statements
from .writes import AUGMENTED_SYMBOLS

_COMPARISONS = {
    ast.Lt: "less",
    ast.LtE: "less_equal",
    ast.Gt: "greater",
    ast.GtE: "greater_equal",
    ast.Eq: "equal",
    ast.NotEq: "not_equal",
    ast.Is: "is_",
    ast.IsNot: "is_not",
    ast.In: "in_",
    ast.NotIn: "not_in",
}


_SYMBOLS = {ast.Lt: "<", ast.LtE: "<=", ast.Gt: ">", ast.GtE: ">=", ast.Eq: "==", ast.NotEq: "!="}
_OF_CONTAINERS = ("enumerate", "len", "list", "reversed", "sorted", "tuple", "zip")
"""Functions of containers."""
_UNARY = {ast.USub: "-", ast.UAdd: "+", ast.Invert: "~"}


def convert_expressions(node: FunctionNode, classes: OperatorClasses = NO_CLASSES) -> FunctionNode:
    """The function, changed in place, with operators for its expressions; nested functions too. Arithmetic, comparisons
    and attributes stay as they are, unless `classes`, which the function may meet, define them, or tuples or lists are
    compared."""
    parameters = frozenset(
        parameter.arg for parameter in [*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs]
    )
    names = _sequence_names(node), _container_names(node), _changed_names(node)
    return _Expressions(classes, *names, parameters).visit(node)  # type: ignore[no-any-return]


class _Expressions(NodeTransformer):
    def __init__(
        self,
        classes: OperatorClasses,
        sequence_names: frozenset[str],
        container_names: frozenset[str],
        changed_names: frozenset[str],
        parameters: frozenset[str],
    ) -> None:
        self.classes, self.parameters = classes, parameters
        self.sequence_names, self.container_names, self.changed_names = sequence_names, container_names, changed_names
        self.first_parameters: list[str | None] = []
        self.setters: list[dict[str, ast.AST] | None] = []
        """For each function around, the names that need a function to be assigned; None for a lambda."""

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        parameters = [*node.args.posonlyargs, *node.args.args]
        if not getattr(node, "is_block", False):
            self.first_parameters.append(parameters[0].arg if parameters else None)
        self.setters.append({})
        self.generic_visit(node)
        setters = self.setters.pop() or {}
        if not getattr(node, "is_block", False):
            self.first_parameters.pop()
        definitions: list[ast.stmt] = []
        for name, anchor in setters.items():
            if not getattr(node, "is_block", False):
                definitions += statements("if False: name = None", anchor, name=name)
            template = "def setter(value):\n  nonlocal name\n  name = value\n  return value"
            parameter = generated_name("value", name)
            definitions += statements(template, anchor, setter=generated_name("set", name), name=name, value=parameter)
        position = 1 if ast.get_docstring(node) is not None else 0
        while position < len(node.body) and isinstance(node.body[position], ast.Nonlocal | ast.Global):
            position += 1
        node.body[position:position] = definitions
        return node

    def visit_Lambda(self, node: ast.Lambda) -> ast.AST:
        self.first_parameters.append(None)
        self.setters.append(None)
        self.generic_visit(node)
        self.setters.pop()
        self.first_parameters.pop()
        return node

    def visit_ClassDef(self, node: ast.ClassDef) -> ast.AST:
        return self.generic_visit(node)

    def visit_AnnAssign(self, node: ast.AnnAssign) -> ast.AST:
        node.target = self.visit(node.target)
        if node.value is not None:
            node.value = self.visit(node.value)
        return node

    def visit_arg(self, node: ast.arg) -> ast.AST:
        return node  # annotations stay as they are

    def visit_Call(self, node: ast.Call) -> ast.AST:
        if _is_operator(node.func) and node.func.attr in ("if_stmt", "while_stmt"):  # type: ignore[attr-defined]
            mark_test(node.args[0])
        if _is_operator(node.func) or getattr(node, "is_of_block", False):
            return self.generic_visit(node)
        if isinstance(node.func, ast.Name) and node.func.id == "super" and not (node.args or node.keywords):
            first = self.first_parameters[-1] if self.first_parameters else None
            if first is not None:
                return expression("super(__class__, first)", node, first=first)  # type: ignore[no-any-return]
        line = node.lineno
        if isinstance(node.func, ast.Attribute):  # as CPython places the call of a method
            line = node.func.end_lineno or line
        self.generic_visit(node)
        anchor = ast.copy_location(ast.Constant(None), node)
        call = expression("ag__.call(function)", anchor, function=node.func)
        if line != node.lineno:
            call.lineno, call.col_offset = line, max(0, (node.func.end_col_offset or 0) - len(node.func.attr))  # type: ignore[attr-defined]
        call.args += node.args
        call.keywords = node.keywords
        return call  # type: ignore[no-any-return]

    def visit_IfExp(self, node: ast.IfExp) -> ast.AST:
        mark_test(node.test)
        test, then, otherwise = self.visit(node.test), self._operand(node.body), self._operand(node.orelse)
        walrus = _walrus_names([node.body, node.orelse])
        template = "ag__.if_exp(test, lambda: then, lambda: otherwise)"
        if walrus:
            template = f"ag__.if_exp(test, lambda: then, lambda: otherwise, lambda: ({', '.join(walrus)},))"
        return expression(template, node, test=test, then=then, otherwise=otherwise)  # type: ignore[no-any-return]

    def visit_BoolOp(self, node: ast.BoolOp) -> ast.AST:
        name = "and_" if isinstance(node.op, ast.And) else "or_"
        if getattr(node, "is_test", False):
            node.values = list(map(_condition, node.values))
        walrus = _walrus_names(node.values[1:])
        first, *rest = node.values
        call = expression(f"ag__.{name}(first)", node, first=self.visit(first))
        call.args += [expression("lambda: operand", value, operand=self._operand(value)) for value in rest]
        if walrus:
            state = expression(f"lambda: ({', '.join(walrus)},)", node)
            call.keywords = [ast.copy_location(ast.keyword("state", state), node)]
        return call  # type: ignore[no-any-return]

    def visit_UnaryOp(self, node: ast.UnaryOp) -> ast.AST:
        if isinstance(node.op, ast.Not):
            mark_test(node.operand)
        self.generic_visit(node)
        if isinstance(node.op, ast.Not):
            return expression("ag__.not_(operand)", node, operand=node.operand)  # type: ignore[no-any-return]
        if self.classes.has_operators and not isinstance(node.operand, ast.Constant):
            symbol = ast.Constant(_UNARY[type(node.op)])
            return expression("ag__.unary(symbol, operand)", node, symbol=symbol, operand=node.operand)  # type: ignore[no-any-return]
        return node

    def visit_Attribute(self, node: ast.Attribute) -> ast.AST:
        self.generic_visit(node)
        if isinstance(node.ctx, ast.Load) and node.attr in self.classes.properties and not _is_operator(node):
            name = ast.Constant(node.attr)
            return expression("ag__.get_attribute(owner, name)", node, owner=node.value, name=name)  # type: ignore[no-any-return]
        return node

    def visit_BinOp(self, node: ast.BinOp) -> ast.AST:
        is_format = isinstance(node.op, ast.Mod) and (
            isinstance(node.left, ast.JoinedStr)
            or (isinstance(node.left, ast.Constant) and isinstance(node.left.value, str))
        )
        self.generic_visit(node)
        if is_format:
            return expression("ag__.format_percent(text, values)", node, text=node.left, values=node.right)  # type: ignore[no-any-return]
        operands = node.left, node.right
        are_variables = all(map(_may_be_variable, operands)) and not all(
            _is_call_of(operand, "call") for operand in operands
        )
        if (isinstance(node.op, ast.Add) and are_variables) or (
            isinstance(node.op, ast.Add | ast.Mult) and any(map(self._may_be_list, operands))
        ):
            symbol = ast.Constant(AUGMENTED_SYMBOLS[type(node.op)])
            return expression("ag__.binary(symbol, left, right)", node, symbol=symbol, left=node.left, right=node.right)  # type: ignore[no-any-return]
        if isinstance(node.op, ast.BitOr) and all(map(_may_be_dict, operands)):
            return expression("ag__.merge(left, right)", node, left=node.left, right=node.right)  # type: ignore[no-any-return]
        if isinstance(node.op, ast.Pow) and not isinstance(node.right, ast.Constant):
            return expression("ag__.power(base, exponent)", node, base=node.left, exponent=node.right)  # type: ignore[no-any-return]
        return self._binary(node, AUGMENTED_SYMBOLS[type(node.op)], node.left, node.right)

    def _may_be_list(self, operand: ast.expr) -> bool:
        """Whether an operand, already converted, is a display of a list, or a variable that may be one."""
        operand = (
            operand.args[0] if isinstance(operand, ast.Call) and _is_call_of(operand, "assigned_value") else operand
        )
        return _is_new_list(operand) or (isinstance(operand, ast.Name) and operand.id in self.container_names)

    def _binary(self, node: ast.expr, symbol: str, left: ast.expr, right: ast.expr) -> ast.expr:
        """A binary operator, which a class may define."""
        if not self.classes.has_operators or (_is_constant(left) and _is_constant(right)):
            return node
        template = "ag__.binary(symbol, left, right)"
        return expression(template, node, symbol=ast.Constant(symbol), left=left, right=right)  # type: ignore[no-any-return]

    def visit_Subscript(self, node: ast.Subscript) -> ast.AST:
        self.generic_visit(node)
        if not isinstance(node.ctx, ast.Load):
            return node
        return expression("ag__.get_item(owner, index)", node, owner=node.value, index=index_expression(node.slice))  # type: ignore[no-any-return]

    def _are_sequences(self, operands: list[ast.expr]) -> bool:
        """Whether the operands of a comparison may be tuples or lists: one is, or is a variable that the function
        assigns one, or all are parameters."""
        names = [operand.id if isinstance(operand, ast.Name) else None for operand in operands]
        return (
            any(map(_is_display, operands))
            or any(name in self.sequence_names for name in names)
            or all(name in self.parameters for name in names)
        )

    def visit_Compare(self, node: ast.Compare) -> ast.AST:
        if len(node.ops) == 1:
            self.generic_visit(node)
            if isinstance(node.ops[0], ast.Eq | ast.NotEq) and not any(map(_is_constant, _operands(node))):
                name = _COMPARISONS[type(node.ops[0])]
                return expression(f"ag__.{name}(left, right)", node, left=node.left, right=node.comparators[0])  # type: ignore[no-any-return]
            if isinstance(node.ops[0], ast.Is | ast.IsNot | ast.In | ast.NotIn):
                name = _COMPARISONS[type(node.ops[0])]
                return expression(f"ag__.{name}(item, items)", node, item=node.left, items=node.comparators[0])  # type: ignore[no-any-return]
            symbol = _SYMBOLS.get(type(node.ops[0]))
            if symbol in ("<", "<=", ">", ">=") and self._are_sequences(_operands(node)):
                name = _COMPARISONS[type(node.ops[0])]
                return expression(f"ag__.{name}(left, right)", node, left=node.left, right=node.comparators[0])  # type: ignore[no-any-return]
            return node if symbol is None else self._binary(node, symbol, node.left, node.comparators[0])
        walrus = _walrus_names(node.comparators[1:])
        call = expression("ag__.chain(left)", node, left=self.visit(node.left))
        for comparison, operand in zip(node.ops, node.comparators, strict=True):
            call.args.append(expression(f"ag__.{_COMPARISONS[type(comparison)]}", operand))
            call.args.append(expression("lambda: operand", operand, operand=self._operand(operand)))
        if walrus:
            state = expression(f"lambda: ({', '.join(walrus)},)", node)
            call.keywords = [ast.copy_location(ast.keyword("state", state), node)]
        return call  # type: ignore[no-any-return]

    def _operand(self, node: ast.expr) -> ast.expr:
        """An operand inside of a generated function: its assignment expressions assign outside."""
        for inner in walk_scope([node]):
            if isinstance(inner, ast.Yield | ast.YieldFrom):
                raise NotConvertible("it has a `yield` that may be skipped in an expression")
            if isinstance(inner, ast.NamedExpr):
                inner.is_inner = True  # type: ignore[attr-defined]
        return self.visit(node)  # type: ignore[no-any-return]

    def visit_NamedExpr(self, node: ast.NamedExpr) -> ast.AST:
        self.generic_visit(node)
        if not getattr(node, "is_inner", False) or not self.setters:
            return node
        setters = self.setters[-1]
        if setters is None:
            raise NotConvertible("a lambda assigns by := where the assignment may be skipped")
        setters[node.target.id] = node
        return expression("setter(value)", node, setter=generated_name("set", node.target.id), value=node.value)  # type: ignore[no-any-return]

    def visit_Assign(self, node: ast.Assign) -> Any:
        self.generic_visit(node)
        is_changed = any(isinstance(target, ast.Name) and target.id in self.changed_names for target in node.targets)
        if is_changed and isinstance(node.value, ast.BinOp):  # a new array, whose elements can be assigned
            symbol = ast.Constant(AUGMENTED_SYMBOLS[type(node.value.op)])
            operands = {"left": node.value.left, "right": node.value.right}
            node.value = expression("ag__.binary(symbol, left, right)", node.value, symbol=symbol, **operands)
        whole = next((target for target in node.targets if isinstance(target, ast.Name)), None)
        if whole is None or len(node.targets) == 1:
            return self._unpack(node)
        others = []
        for target in node.targets:
            if target is not whole:
                (assignment,) = statements("x = name", node, name=whole.id)
                assert isinstance(assignment, ast.Assign)
                assignment.targets = [target]
                others.append(self._unpack(assignment))
        node.targets = [whole]
        return [node, *others]

    def _unpack(self, node: ast.Assign) -> ast.Assign:
        """An assignment whose value may be a list of symbolic length."""
        shapes = {ast.unparse(shape) for shape in map(_unpacked_shape, node.targets)}
        target, shape = node.targets[0], _unpacked_shape(node.targets[0])
        is_flat_display = _is_display(node.value) and all(
            isinstance(part, ast.Constant) and part.value is None for part in getattr(shape, "elts", [])
        )
        if isinstance(target, ast.Tuple | ast.List) and len(shapes) == 1 and not is_flat_display:
            node.value = expression("ag__.unpack(value, shape)", node, value=node.value, shape=shape)
        return node

    def visit_GeneratorExp(self, node: ast.GeneratorExp) -> ast.AST:
        self.generic_visit(node)
        return node if getattr(node, "is_native", False) else expression("ag__.new_container(value)", node, value=node)

    def visit_Assert(self, node: ast.Assert) -> ast.AST:
        message = [] if node.msg is None else [node.msg]
        test, parts = self.visit(node.test), ast.Tuple([self._operand(part) for part in message], ast.Load())
        return statements("ag__.assert_(test, lambda: message)", node, test=test, message=parts)[0]

    def visit_JoinedStr(self, node: ast.JoinedStr) -> ast.AST:
        self.generic_visit(node)
        call = expression("ag__.join_text()", node)
        call.args = node.values
        return call  # type: ignore[no-any-return]

    def visit_FormattedValue(self, node: ast.FormattedValue) -> ast.AST:
        self.generic_visit(node)
        conversion = ast.Constant("" if node.conversion < 0 else chr(node.conversion))
        call = expression("ag__.field(value, conversion)", node, value=node.value, conversion=conversion)
        call.args += [node.format_spec] if node.format_spec is not None else []
        return call  # type: ignore[no-any-return]

    def visit_Raise(self, node: ast.Raise) -> ast.AST:
        self.generic_visit(node)
        if node.exc is None or getattr(node, "is_of_handlers", False):
            return node
        cause = node.cause
        (result,) = statements("raise ag__.exception(error)", node, error=node.exc)
        assert isinstance(result, ast.Raise)
        result.cause = cause
        return result

    def visit_Match(self, node: ast.Match) -> ast.AST:
        self.generic_visit(node)
        node.subject = expression("ag__.known_subject(subject)", node.subject, subject=node.subject)
        return node

    def visit_With(self, node: ast.With) -> ast.AST:
        self.generic_visit(node)
        for item in node.items:
            item.context_expr = expression("ag__.context(manager)", item.context_expr, manager=item.context_expr)
        return node

    def visit_Try(self, node: ast.Try) -> ast.AST:
        self.generic_visit(node)
        if node.handlers and not getattr(node, "is_of_handlers", False):  # of a generator
            kinds = [copy_tree(handler.type) for handler in node.handlers if handler.type is not None]
            caught_classes = (
                ast.Tuple(kinds, ast.Load()) if len(kinds) == len(node.handlers) else ast.Name("Exception", ast.Load())
            )
            node.body = statements(
                "with ag__.handlers(lambda: caught): body", node.body[0], caught=caught_classes, body=node.body
            )
        return node

    def _visit_display(self, node: ast.expr) -> ast.AST:
        self.generic_visit(node)
        if isinstance(getattr(node, "ctx", None), ast.Store | ast.Del):
            return node
        return expression("ag__.new_container(display)", node, display=node)  # type: ignore[no-any-return]

    visit_ListComp = visit_DictComp = visit_SetComp = _visit_display

    def visit_List(self, node: ast.List) -> ast.AST:
        _mark_shared(node.elts)
        return self._visit_display(node)

    def visit_Tuple(self, node: ast.Tuple) -> ast.AST:
        _mark_shared(node.elts)
        return self.generic_visit(node)

    def visit_Dict(self, node: ast.Dict) -> ast.AST:
        if all(key is not None and _is_constant(key) for key in node.keys):
            return self._visit_display(node)
        self.generic_visit(node)
        call = expression("ag__.dict_display()", node)
        call.args = [
            ast.copy_location(ast.Tuple([value] if key is None else [key, value], ast.Load()), value)
            for key, value in zip(node.keys, node.values, strict=True)
        ]
        return call  # type: ignore[no-any-return]

    def visit_Set(self, node: ast.Set) -> ast.AST:
        self.generic_visit(node)
        call = expression("ag__.set_display()", node)
        call.args = node.elts
        return call  # type: ignore[no-any-return]

    def visit_Starred(self, node: ast.Starred) -> ast.AST:
        self.generic_visit(node)
        if isinstance(node.ctx, ast.Load) and getattr(node, "is_shared", False):
            node.value = expression("ag__.share(items)", node.value, items=node.value)
        elif isinstance(node.ctx, ast.Load):
            node.value = expression("ag__.star(items)", node.value, items=node.value)
        return node

    def visit_For(self, node: ast.For) -> ast.AST:
        self.generic_visit(node)  # of a generator: others are calls of `for_stmt`
        node.iter = expression("ag__.spread(items)", node.iter, items=node.iter)
        return node

    def visit_comprehension(self, node: ast.comprehension) -> ast.AST:
        self.generic_visit(node)
        if not (isinstance(node.iter, ast.Name) and is_generated(node.iter.id)):
            node.iter = expression("ag__.spread(items)", node.iter, items=node.iter)
        return node


def mark_test(node: ast.expr) -> None:
    """Note that only the truth of an expression counts."""
    if isinstance(node, ast.Lambda):
        mark_test(node.body)
    elif isinstance(node, ast.BoolOp):
        node.is_test = True  # type: ignore[attr-defined]
        for operand in node.values:
            mark_test(operand)
    elif isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
        mark_test(node.operand)


def _mark_shared(elements: list[ast.expr]) -> None:
    """Note that the items of a starred operand are items of a new list or tuple."""
    for element in elements:
        if isinstance(element, ast.Starred):
            element.is_shared = True  # type: ignore[attr-defined]


def _condition(node: ast.expr) -> ast.expr:
    """An operand of a test; if it may be a container, its truth value."""
    is_container = isinstance(node, ast.Name | ast.Attribute | ast.Subscript | ast.Call)
    return expression("ag__.condition(operand)", node, operand=node) if is_container else node


def _operands(node: ast.Compare) -> list[ast.expr]:
    return [node.left, *node.comparators]


def _may_be_variable(node: ast.expr) -> bool:
    """Whether an expression, already converted, is a variable, an attribute, or what a call returns: it may be a list
    that has another name."""
    return isinstance(node, ast.Name | ast.Attribute) or _is_call_of(node, "assigned_value", "load", "call")


def _is_call_of(node: ast.expr, *operators: str) -> bool:
    """Whether an expression calls one of these operators."""
    return isinstance(node, ast.Call) and _is_operator(node.func) and node.func.attr in operators  # type: ignore[attr-defined]


def _is_new_list(node: ast.expr) -> bool:
    """Whether an expression, already converted, is a display of a list, or a list comprehension."""
    if _is_call_of(node, "list_comprehension"):
        return True
    if isinstance(node, ast.Call) and _is_operator(node.func) and len(node.args) == 1:
        node = node.args[0]
    return isinstance(node, ast.List)


def _is_display(node: ast.expr) -> bool:
    """Whether an expression, which may be converted, is a display of a tuple or list."""
    return isinstance(node, ast.Tuple) or _is_new_list(node)


def _may_be_dict(node: ast.expr) -> bool:
    """Whether an expression, which may be converted, can be a dict: a variable, an item, or what a call returns."""
    return isinstance(node, ast.Name | ast.Attribute | ast.Call)


def _is_constant(node: ast.expr) -> bool:
    """Whether an expression is a number, a string or the like."""
    return isinstance(node, ast.Constant) or (isinstance(node, ast.UnaryOp) and isinstance(node.operand, ast.Constant))


def _is_operator(node: ast.expr) -> bool:
    return isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "ag__"


def _sequence_names(node: FunctionNode) -> frozenset[str]:
    """The variables that a function assigns a display of a tuple or list."""
    assignments = (
        statement
        for statement in walk_nodes([node])
        if isinstance(statement, ast.Assign) and _is_display(statement.value)
    )
    targets = (target for statement in assignments for target in statement.targets)
    return frozenset(target.id for target in targets if isinstance(target, ast.Name))


def _container_names(node: FunctionNode) -> frozenset[str]:
    """The variables that a function uses as containers: it indexes them, goes through them, or calls their methods."""
    uses = list[ast.expr]()
    for part in walk_nodes([node]):
        if isinstance(part, ast.Subscript):
            uses.append(part.value)
        elif isinstance(part, ast.For | ast.comprehension):
            uses.append(part.iter)
        elif isinstance(part, ast.Call) and _is_call_of(part, "for_stmt", "list_comprehension", "generator"):
            uses.append(part.args[0])
        elif isinstance(part, ast.Call) and isinstance(part.func, ast.Attribute):
            uses.append(part.func.value)
        elif isinstance(part, ast.Call) and isinstance(part.func, ast.Name) and part.func.id in _OF_CONTAINERS:
            uses += part.args
    return frozenset(use.id for use in uses if isinstance(use, ast.Name))


def _changed_names(node: FunctionNode) -> frozenset[str]:
    """The variables whose items a function assigns, which is converted already, and those that it assigns to them."""
    calls = [part for part in walk_nodes([node]) if isinstance(part, ast.Call) and len(part.args) == 3]
    owners = [call.args[1] for call in calls if isinstance(call.func, ast.Attribute) and call.func.attr == "set_item"]
    names = {owner.id for owner in owners if isinstance(owner, ast.Name)}
    pairs = [pair for part in walk_nodes([node]) if isinstance(part, ast.Assign) for pair in _assigned_names(part)]
    while new_names := {source for target, source in pairs if target in names} - names:
        names |= new_names
    return frozenset(names)


def _assigned_names(node: ast.Assign) -> Iterator[tuple[str, str]]:
    """The pairs of a variable and one that is assigned to it, as in `a, b = b, a`."""
    pending = [(target, node.value) for target in node.targets]
    for target, value in pending:  # a worklist: the loop appends to it
        if isinstance(target, ast.Name) and isinstance(value, ast.Name):
            yield target.id, value.id
        elif isinstance(target, ast.Tuple) and isinstance(value, ast.Tuple) and len(target.elts) == len(value.elts):
            pending += zip(target.elts, value.elts, strict=True)


def _walrus_names(nodes: list[ast.expr]) -> list[str]:
    return sorted({walrus.target.id for walrus in walk_scope(nodes) if isinstance(walrus, ast.NamedExpr)})


def _unpacked_shape(target: ast.expr) -> ast.expr:
    """The shape of a target, as an argument of `ag__.unpack`: a tuple for one that unpacks, with `...` for a starred
    variable, and None for all else."""
    if isinstance(target, ast.Starred):
        return ast.copy_location(ast.Constant(...), target)
    if isinstance(target, ast.Tuple | ast.List):
        return ast.copy_location(ast.Tuple(list(map(_unpacked_shape, target.elts)), ast.Load()), target)
    return ast.copy_location(ast.Constant(None), target)
