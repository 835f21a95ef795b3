"""An oracle for expressions: the text is run as Python, on objects whose operators check types."""

from __future__ import annotations

import ast
import itertools
import operator
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import numpy as np
from support.observe.moments import Moment


class PythonValue:
    """A value of an expression, with Python's operators where the types allow them; None is an absent value."""

    def __init__(self, it: Any) -> None:
        self.it = it.item() if isinstance(it, np.generic) else it.tolist() if isinstance(it, np.ndarray) else it

    def __bool__(self) -> bool:
        if isinstance(self.it, list):
            return self.it != [] and all(self.it)
        return bool(self.it)

    def __neg__(self) -> PythonValue:
        return PythonValue(-1) * self

    def __getitem__(self, index: PythonValue) -> PythonValue:
        known = self.it if isinstance(self.it, dict) else dict(enumerate(self.it))
        return PythonValue(known.get(index.it))


def sort(it: Any) -> str | None:
    """The class of values with which a value can be compared."""
    if isinstance(it, list):
        return sort(it[0]) if it else "number"
    sorts = {bool: "truth", int: "number", float: "number", str: "text", set: "names", type(None): None}
    return sorts[type(it)]


def pairs(one: Any, other: Any) -> list[tuple[Any, Any]]:
    one, other = (it if isinstance(it, list) else itertools.repeat(it) for it in (one, other))
    return list(zip(one, other, strict=False))


def comparison(holds: Callable[[Any, Any], bool]) -> Any:
    def method(mine: PythonValue, other: Any) -> bool:
        one, another = mine.it, other.it if isinstance(other, PythonValue) else other
        if isinstance(one, set) or isinstance(another, set):
            names, text = (one, another) if isinstance(one, set) else (another, one)
            return (text in names) == (holds is operator.eq)
        if sort(one) != sort(another) or None in (one, another):
            return False
        if sort(one) != "number" and holds not in (operator.eq, operator.ne):
            return False
        if isinstance(one, list) or isinstance(another, list):
            result = pairs(one, another)
            return result != [] and all(holds(a, b) for a, b in result)
        return holds(one, another)

    return method


def computation(make: Callable[[Any, Any], Any]) -> Any:
    def method(mine: PythonValue, other: Any) -> PythonValue:
        one, another = mine.it, other.it if isinstance(other, PythonValue) else other
        if not (sort(one) == sort(another) == "number"):
            return PythonValue(None)
        try:
            if isinstance(one, list) or isinstance(another, list):
                return PythonValue([make(a, b) for a, b in pairs(one, another)])
            return PythonValue(make(one, another))
        except ArithmeticError:
            return PythonValue(None)

    return method


for sign in ("eq", "ne", "lt", "le", "gt", "ge"):
    setattr(PythonValue, f"__{sign}__", comparison(getattr(operator, sign)))
for sign in ("add", "sub", "mul", "truediv", "floordiv", "mod"):
    setattr(PythonValue, f"__{sign}__", computation(getattr(operator, sign)))


class WrapInPythonValue(ast.NodeTransformer):
    """Wraps the constants, comparisons, `not`, `and` and `or` of an expression in `PythonValue`."""

    def visit_Constant(self, node: ast.Constant) -> ast.AST:
        return ast.copy_location(ast.Call(ast.Name("PythonValue", ast.Load()), [node], []), node)

    def visit_Compare(self, node: ast.Compare) -> ast.AST:
        self.generic_visit(node)
        return ast.copy_location(ast.Call(ast.Name("PythonValue", ast.Load()), [node], []), node)

    def visit_UnaryOp(self, node: ast.UnaryOp) -> ast.AST:
        self.generic_visit(node)
        if not isinstance(node.op, ast.Not):
            return node
        return ast.copy_location(ast.Call(ast.Name("PythonValue", ast.Load()), [node], []), node)

    def visit_BoolOp(self, node: ast.BoolOp) -> ast.AST:
        self.generic_visit(node)
        truth = ast.Call(ast.Name("bool", ast.Load()), [node], [])
        return ast.copy_location(ast.Call(ast.Name("PythonValue", ast.Load()), [truth], []), node)


def oracle(text: str, moment: Moment) -> Any:
    """The value of the text in Python."""
    names: dict[str, Any] = {name: PythonValue(meant) for name, meant in moment.names.items() if "." not in name}
    names |= {
        "tag": SimpleNamespace(**{n[4:]: PythonValue(it) for n, it in moment.names.items() if n.startswith("tag.")})
    }
    names |= {
        "true": PythonValue(True),
        "false": PythonValue(False),
        "inf": PythonValue(float("inf")),
        "PythonValue": PythonValue,
    }
    tree = ast.fix_missing_locations(WrapInPythonValue().visit(ast.parse(text, mode="eval")))
    return eval(compile(tree, "oracle", "eval"), names)


def alike(ours: Any, python: PythonValue) -> bool:
    """Whether our value equals Python's; all NaNs are equal."""
    ours = PythonValue(ours).it
    return repr(ours) == repr(python.it)
