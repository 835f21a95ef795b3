"""Operators and properties of the user's classes: Python would call their methods as they are; converted code calls
them converted, by the rules of Python's data model."""

from __future__ import annotations

import ast
import dataclasses
import functools
import inspect
import operator
from collections import Counter
from collections.abc import Callable, Iterator
from types import CodeType, FunctionType, ModuleType
from typing import Any, NamedTuple

from ..trace.source_location import is_installed_file, is_internal_file
from .nodes import walk_nodes
from .user_code import is_convertible


class BinaryOperator(NamedTuple):
    """A binary operator of Python: its function, and the methods of a class for its left and its right operand."""

    function: Callable[[Any, Any], Any]
    method: str
    reflected: str


BINARY = {
    "+": BinaryOperator(operator.add, "__add__", "__radd__"),
    "-": BinaryOperator(operator.sub, "__sub__", "__rsub__"),
    "*": BinaryOperator(operator.mul, "__mul__", "__rmul__"),
    "/": BinaryOperator(operator.truediv, "__truediv__", "__rtruediv__"),
    "//": BinaryOperator(operator.floordiv, "__floordiv__", "__rfloordiv__"),
    "%": BinaryOperator(operator.mod, "__mod__", "__rmod__"),
    "**": BinaryOperator(operator.pow, "__pow__", "__rpow__"),
    "@": BinaryOperator(operator.matmul, "__matmul__", "__rmatmul__"),
    "&": BinaryOperator(operator.and_, "__and__", "__rand__"),
    "|": BinaryOperator(operator.or_, "__or__", "__ror__"),
    "^": BinaryOperator(operator.xor, "__xor__", "__rxor__"),
    "<<": BinaryOperator(operator.lshift, "__lshift__", "__rlshift__"),
    ">>": BinaryOperator(operator.rshift, "__rshift__", "__rrshift__"),
    "<": BinaryOperator(operator.lt, "__lt__", "__gt__"),
    "<=": BinaryOperator(operator.le, "__le__", "__ge__"),
    ">": BinaryOperator(operator.gt, "__gt__", "__lt__"),
    ">=": BinaryOperator(operator.ge, "__ge__", "__le__"),
    "==": BinaryOperator(operator.eq, "__eq__", "__eq__"),
    "!=": BinaryOperator(operator.ne, "__ne__", "__ne__"),
}
UNARY: dict[str, tuple[Callable[[Any], Any], str]] = {
    "-": (operator.neg, "__neg__"),
    "+": (operator.pos, "__pos__"),
    "~": (operator.invert, "__invert__"),
}
_METHODS = {name for row in BINARY.values() for name in row[1:]} | {name for _, name in UNARY.values()}


def user_method(value: Any, name: str) -> FunctionType | None:
    """The method of this name that the class of a value has, if it is the user's Python."""
    method = getattr(type(value), name, None)
    return method if type(method) is FunctionType and is_convertible(method) else None


def operate(call: Callable[..., Any], perform: Callable[..., Any], symbol: str, left: Any, right: Any) -> Any:
    """`left symbol right`, where methods of the user are called by `call`, and Python's operator by `perform`. The
    method of the right operand comes first if its class derives from that of the left one."""
    function, name, reflected = BINARY[symbol]
    methods = user_method(left, name), user_method(right, reflected)
    attempts = [(methods[0], left, right), (methods[1], right, left)]
    if type(left) is type(right) and symbol not in ("==", "!=", "<", "<=", ">", ">="):
        attempts.pop()
    elif type(left) is not type(right) and isinstance(right, type(left)):
        attempts.reverse()
    for method, owner, operand in attempts:
        if method is not None:
            result = call(method, owner, operand)
            if result is not NotImplemented:
                return result
    return perform(function, left, right)


def equal_fields(left: Any, right: Any) -> tuple[tuple[Any, ...], tuple[Any, ...]] | None:
    """The fields by which two instances of a dataclass are compared, if its `__eq__` is that of `dataclass`."""
    kind = type(left)
    if kind is not type(right) or not dataclasses.is_dataclass(kind):
        return None
    method = kind.__eq__
    if type(method) is not FunctionType or not method.__code__.co_filename.startswith("<"):
        return None
    names = [field.name for field in dataclasses.fields(kind) if field.compare]
    return tuple(getattr(left, name) for name in names), tuple(getattr(right, name) for name in names)


class OperatorClasses(NamedTuple):
    """What the classes that a function may meet define."""

    has_operators: bool
    properties: frozenset[str]
    """The names of their properties, and of other descriptors."""

    def add_local(self, function: ast.AST) -> OperatorClasses:
        """These, and what the classes define that are defined in a function."""
        methods = [
            method
            for node in walk_nodes([function])
            if isinstance(node, ast.ClassDef)
            for method in node.body
            if isinstance(method, ast.FunctionDef)
        ]
        decorators = {method.name: method.decorator_list for method in methods if method.decorator_list}
        own = (
            name
            for name, found in decorators.items()
            if any(
                getattr(decorator, "attr", getattr(decorator, "id", "")) in ("property", "cached_property")
                for decorator in found
            )
        )
        has_operators = self.has_operators or any(method.name in _METHODS for method in methods)
        return OperatorClasses(has_operators, self.properties | frozenset(own))


NO_CLASSES = OperatorClasses(False, frozenset())


def find_operator_classes(function: FunctionType) -> OperatorClasses:
    """What the user's classes define that a function refers to by its globals, its cells and modules of the user."""
    classes = list(dict.fromkeys(_reachable_classes(function)))
    members = [(name, member) for kind in classes for base in kind.__mro__ for name, member in vars(base).items()]
    own = [(name, member) for name, member in members if _is_of_user(member)]
    return OperatorClasses(
        _has_table_operators(function) or any(name in _METHODS for name, _ in own),
        frozenset(name for name, member in own if not isinstance(member, FunctionType)),
    )


def _has_table_operators(function: FunctionType) -> bool:
    """Whether a function seems to use a class whose own operators do not look for keys that are known only at run
    time."""
    codes = [function.__code__]
    for code in codes:  # a worklist: the loop appends to it
        codes += [part for part in code.co_consts if isinstance(part, CodeType)]
    names = {name for code in codes for name in code.co_names}
    values = [function.__globals__.get(name) for name in names]
    return not names.isdisjoint(_TABLE_NAMES) or any(isinstance(value, frozenset | Counter) for value in values)


_TABLE_NAMES = ("Counter", "frozenset", "keys")


def _is_of_user(member: Any) -> bool:
    if user_method(member, "__get__") is not None:
        return True
    is_cached = isinstance(member, functools.cached_property)
    function = member.func if is_cached else member.fget if isinstance(member, property) else member
    return type(function) is FunctionType and is_convertible(function)


def _reachable_classes(function: FunctionType) -> Iterator[type]:
    contents = list(function.__globals__.values())
    for cell in function.__closure__ or ():
        try:
            contents.append(cell.cell_contents)
        except ValueError:  # it has no value yet
            continue
    for content in contents:
        if isinstance(content, ModuleType):
            file = getattr(content, "__file__", None)
            if file is not None and not is_installed_file(file) and not is_internal_file(file):
                yield from (inner for inner in list(vars(content).values()) if inspect.isclass(inner))
        else:
            yield content if isinstance(content, type) else type(content)
