"""The pass on generator expressions and comprehensions: each gets a function with the loops that it stands for,
which hands over its items one by one. Such a loop may be one of the program.

>>> import ast
>>> (function,) = ast.parse("def f(n): return sum(k * k for k in range(n) if k != 3)").body
>>> print(ast.unparse(convert_comprehensions(function, lambda inner: inner)))  # doctest: +NORMALIZE_WHITESPACE
def f(n):
<BLANKLINE>
    def ag__generate_1(ag__items_1, ag__add_1):
        for k in ag__items_1:
            if k != 3:
                ag__add_1(k * k)
    return sum(ag__.generator(range(n),
        lambda ag__items_1: (k * k for k in ag__items_1 if k != 3), ag__generate_1, True))
"""

from __future__ import annotations

import ast
import copy
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from typing import Any, TypeAlias

from ..nodes import NodeTransformer, child_nodes, walk_nodes
from ..reader import FunctionNode
from ..scopes import COMPREHENSIONS, SCOPES, declared_names
from ..templates import copy_tree, expression, generated_name, statements

_QUANTIFIERS = ("any", "all")
"""The builtins that may stop before the last item."""


def convert_comprehensions(
    node: FunctionNode, convert_function: Callable[[ast.FunctionDef], FunctionNode]
) -> FunctionNode:
    """The function, changed in place, with functions for its generator expressions and comprehensions, to which
    `convert_function` is applied, and so are lambdas with such expressions. Those with `await`, with `:=` to a variable
    that has a value before, or is used outside of them, and in lambdas with defaults or in comprehensions, run in
    Python."""
    defined = [] if isinstance(node, ast.Lambda) else list(_defined_lambdas(node.body))
    parts = list(walk_nodes([node]))
    for inner in parts:
        if isinstance(inner, ast.Lambda) and not any(inner is definition for definition in defined):
            spread_iterables(inner)
    if isinstance(node, ast.FunctionDef):
        parts = list(walk_nodes([node]))
        names = [name.id for name in parts if isinstance(name, ast.Name)]
        names += [parameter.arg for parameter in parts if isinstance(parameter, ast.arg)]
        declared = {name for part in parts if isinstance(part, ast.Nonlocal | ast.Global) for name in part.names}
        generators = _Generators(convert_function, Counter([*names, *declared]))
        node.body = [part for statement in node.body for part in generators.convert(statement)]
    return node


def define_lambda(node: ast.Lambda, name: str) -> FunctionNode:
    """A lambda as the definition of a function, if it has comprehensions; else the lambda."""
    if not _has_comprehensions(node.body):
        return node
    (function,) = statements("def name(): return value", node, name=name, value=node.body)
    assert isinstance(function, ast.FunctionDef)
    function.args = node.args
    return function


def _has_comprehensions(node: ast.expr) -> bool:
    return any(isinstance(part, COMPREHENSIONS) for part in walk_nodes([node]))


def _defined_lambdas(nodes: Iterable[ast.AST]) -> Iterator[ast.Lambda]:
    """The lambdas in statements that become definitions: they have comprehensions, and no defaults, and are in no
    comprehension, lambda or other function, whose variables they might use."""
    for node in nodes:
        if isinstance(node, ast.Lambda):
            if _has_comprehensions(node.body) and not node.args.defaults and not any(node.args.kw_defaults):
                yield node
        elif not isinstance(node, (*SCOPES, *COMPREHENSIONS)):
            yield from _defined_lambdas(child_nodes(node))


def spread_iterables(function: FunctionNode) -> None:
    """Let loops that run in Python (comprehensions in lambdas, and generators) go through lists of known length whose
    items lie in arrays."""
    for node in list(walk_nodes([function])):
        if isinstance(node, ast.comprehension | ast.For):
            node.iter = expression("ag__.items_for_python(iterable)", node.iter, iterable=node.iter)


_OPERATORS: dict[type[ast.expr], str] = {
    ast.DictComp: "dict_comprehension",
    ast.GeneratorExp: "generator",
    ast.ListComp: "list_comprehension",
    ast.SetComp: "set_comprehension",
}
_Comprehension: TypeAlias = ast.GeneratorExp | ast.ListComp | ast.DictComp | ast.SetComp


def _with_item(node: _Comprehension) -> ast.GeneratorExp | ast.ListComp:
    """A comprehension with one expression for its items: the generator expression of the pairs of a dict comprehension,
    and of the items of a set comprehension."""
    if isinstance(node, ast.GeneratorExp | ast.ListComp):
        return node
    item: ast.expr
    if isinstance(node, ast.DictComp):
        item = ast.copy_location(ast.Tuple([node.key, node.value], ast.Load()), node)
    else:
        item = node.elt
    return ast.copy_location(ast.GeneratorExp(item, node.generators), node)


def _is_read_first(node: ast.AST, name: str) -> bool:
    """Whether a comprehension reads a variable before it assigns it, so that the value may be an earlier one."""
    first = next(use for use in _uses_in_order(node) if use.id == name)
    return isinstance(first.ctx, ast.Load)


def _uses_in_order(node: ast.AST) -> Iterator[ast.Name]:
    """The names in an expression, in the order in which Python evaluates them."""
    parts: list[ast.AST] = list(ast.iter_child_nodes(node))
    if isinstance(node, ast.Name):
        yield node
    elif isinstance(node, ast.NamedExpr):
        parts.reverse()
    elif isinstance(node, COMPREHENSIONS):
        parts = [part for part in parts if isinstance(part, ast.comprehension)]
        parts += [part for part in ast.iter_child_nodes(node) if part not in parts]
    elif isinstance(node, ast.comprehension):
        parts = [node.iter, node.target, *node.ifs]
    for part in parts:
        yield from _uses_in_order(part)


class _Generators(NodeTransformer):
    def __init__(self, convert_function: Callable[[ast.FunctionDef], FunctionNode], uses: Counter[str]) -> None:
        self.convert_function = convert_function
        self.uses = uses
        """How often the function uses each name."""
        self.definitions: list[ast.stmt] = []
        self.count = 0

    def convert(self, statement: ast.stmt) -> list[ast.stmt]:
        """The functions of the generator expressions of a statement, and the statement."""
        outer, self.definitions = self.definitions, []
        result = statement if isinstance(statement, SCOPES) else super().visit(statement)
        parts, self.definitions = [*self.definitions, result], outer
        return parts

    def visit(self, node: ast.AST) -> Any:
        if isinstance(node, ast.stmt):
            return self.convert(node)
        if isinstance(node, _Comprehension):
            return self._convert(node, may_stop=False)
        if isinstance(node, ast.Lambda) and next(_defined_lambdas([node]), None) is node:
            self.count += 1
            name = generated_name("lambda", self.count)
            self.definitions.append(self.convert_function(define_lambda(node, name)))  # type: ignore[arg-type]
            return ast.copy_location(ast.Name(name, ast.Load()), node)
        if isinstance(node, (*SCOPES, *COMPREHENSIONS)):
            return node
        return super().visit(node)

    def visit_Call(self, node: ast.Call) -> ast.AST:
        name = node.func.id if isinstance(node.func, ast.Name) else ""
        is_short = (name in _QUANTIFIERS and len(node.args) == 1) or (name == "next" and node.args)
        if is_short and isinstance(node.args[0], ast.GeneratorExp):
            node.args = [self._convert(node.args[0], may_stop=True), *map(self.visit, node.args[1:])]
            return node
        return self.generic_visit(node)

    def _convert(self, comprehension: _Comprehension, *, may_stop: bool) -> ast.expr:
        node = _with_item(comprehension)
        if any(isinstance(child, ast.Await | ast.Yield) for child in walk_nodes([node])) or any(
            generator.is_async for generator in node.generators
        ):
            return comprehension
        own = Counter(child.id for child in walk_nodes([node]) if isinstance(child, ast.Name))
        assigned = {child.target.id for child in walk_nodes([node]) if isinstance(child, ast.NamedExpr)}
        if any(self.uses[name] > own[name] or _is_read_first(node, name) for name in assigned):
            return comprehension
        first = node.generators[0]
        first.iter = self.visit(first.iter)
        self.count += 1
        name, items, add = (generated_name(kind, self.count) for kind in ("generate", "items", "add"))
        template = "if add(item): return True" if may_stop else "add(item)"
        body = statements(template, node, add=add, item=copy_tree(node.elt))
        for generator in reversed(node.generators):
            for test in reversed(generator.ifs):
                body = statements("if test: body", node, test=copy_tree(test), body=body)
            counted = ast.copy_location(ast.Name(items, ast.Load()), node)
            iterable = counted if generator is first else copy_tree(generator.iter)
            (loop,) = statements("for target in iterable: body", node, iterable=iterable, body=body)
            assert isinstance(loop, ast.For)
            loop.target = copy_tree(generator.target)
            body = [loop]
        if may_stop:
            body += statements("return False", node)
        (function,) = statements("def name(items, add): body", node, name=name, items=items, add=add, body=body)
        assert isinstance(function, ast.FunctionDef)
        definition: Any = self.convert_function(function)
        is_generator = isinstance(comprehension, ast.GeneratorExp)
        definition.is_of_comprehension = True
        definition.runs_at_once = not is_generator and not declared_names(definition.body, ast.Nonlocal)
        self.definitions.append(definition)
        native = copy.copy(node)
        native.generators = [copy.copy(generator) for generator in node.generators]
        native.is_native = True  # type: ignore[union-attr]
        native.generators[0].iter = ast.copy_location(ast.Name(items, ast.Load()), node)
        has_inner = not is_generator and any(isinstance(child, COMPREHENSIONS) for child in walk_nodes([node.elt]))
        has_choices = len(node.generators) > 1 or bool(first.ifs) or has_inner
        operator = _OPERATORS[type(comprehension)]
        options = f"{has_choices}, True" if may_stop else str(has_choices)
        call = expression(
            f"ag__.{operator}(iterable, lambda items: native, name, {options})",
            node,
            iterable=first.iter,
            items=items,
            native=native,
            name=name,
        )
        call.args[1].runs_at_once = definition.runs_at_once
        return call  # type: ignore[no-any-return]
