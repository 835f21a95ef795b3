"""Conversion: a Python function becomes one with operators for its control flow, calls and writes.

The converted code has the file, lines and columns of the original, so that errors, locations and breakpoints are those
of the user's code. It is compiled once for a code object; each function object gets its globals, cells and defaults.
"""

from __future__ import annotations

import ast
import copy
import functools
import inspect
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from types import CellType, CodeType, FunctionType
from typing import Any

from ...errors import Usage
from ..trace.source_location import definition_location, explain_unconverted, unconverted_reason
from .classes import NO_CLASSES, OperatorClasses, find_operator_classes
from .nodes import NodeTransformer, child_nodes, walk_nodes
from .passes.comprehensions import convert_comprehensions, define_lambda, spread_iterables
from .passes.control_flow import convert_control_flow
from .passes.expressions import convert_expressions
from .passes.generators import hand_over_items
from .passes.mangling import mangle_names
from .passes.matches import convert_matches
from .passes.variables import convert_loads, mark_loads
from .passes.writes import convert_writes
from .reader import FUTURE_FLAGS, FunctionNode, NotConvertible, read_source
from .scopes import SCOPES
from .templates import GENERATED, copy_tree, generated_name, is_generated, statements

OPERATORS: CellType = CellType()
"""The module of operators, which sets it; converted functions close over it as `ag__`."""
HAND_OVER = "_tagloom_hand_over"
"""The attribute of a generator function of converted code: the functions that hand over its items, by whether they may
stop."""


@dataclass(frozen=True)
class ConvertedCode:
    """The converted code of a function, and its syntax tree, which is only for reading."""

    code: CodeType
    tree: FunctionNode


_CONVERTED: dict[tuple[CodeType, str], ConvertedCode | None] = {}
"""The converted code of each code object and file, or None where it cannot be converted."""
_HANDING_OVER: dict[tuple[CodeType, str, bool], ConvertedCode | None] = {}
"""The converted code of generator functions that hand over their items, or None for one that needs its own frame; with
whether it may stop before the last item."""
_GENERATED: set[tuple[CodeType, str]] = set()
"""The code objects that conversion has made, with their files: equal code may stand in two files."""


def convert(function: FunctionType, operators: CellType = OPERATORS) -> FunctionType:
    """The converted function; the function itself where it is converted already, or cannot be, which its errors then
    explain. `operators` is the cell of what the code calls as `ag__`: the code is the same for all of them."""
    key = function.__code__, function.__code__.co_filename
    if key in _GENERATED:
        return function
    if key not in _CONVERTED:
        try:
            _CONVERTED[key] = convert_code(function.__code__, find_operator_classes(function))
        except NotConvertible as error:
            _CONVERTED[key] = None
            explain_unconverted(function.__code__, f"{function.__name__} is not converted, since {error}")
    converted = _CONVERTED[key]
    return function if converted is None else bind_code(converted.code, function, operators)


def convert_generator(function: FunctionType, *, may_stop: bool) -> FunctionType | None:
    """A generator function as one that hands over its items to a parameter (`ADD`); None for one that cannot be."""
    nested: dict[bool, FunctionType] | None = function.__dict__.get(HAND_OVER)
    if nested is not None:
        return nested[may_stop]
    key = function.__code__, function.__code__.co_filename, may_stop
    if key not in _HANDING_OVER:
        rewrite = functools.partial(hand_over_items, may_stop=may_stop)
        try:
            _HANDING_OVER[key] = convert_code(function.__code__, find_operator_classes(function), rewrite)
        except NotConvertible:
            _HANDING_OVER[key] = None
    converted = _HANDING_OVER[key]
    return None if converted is None else bind_code(converted.code, function, OPERATORS)


def conversions() -> Iterator[tuple[CodeType, ConvertedCode]]:
    """All that this process has converted: the code of the user's functions, and the converted code, in order."""
    return ((code, converted) for (code, _), converted in list(_CONVERTED.items()) if converted is not None)


def is_converted(function: FunctionType) -> bool:
    """Whether the code of a function comes from conversion."""
    return (function.__code__, function.__code__.co_filename) in _GENERATED


def convert_code(
    code: CodeType, classes: OperatorClasses = NO_CLASSES, rewrite: Callable[[Any], Any] = lambda node: node
) -> ConvertedCode:
    """Convert the function that has this code, and may meet instances of these classes, after it is rewritten; raises
    NotConvertible where that is not possible."""
    source = read_source(code)
    _refuse_generated_names(code, source.node)
    node = rewrite(copy_tree(source.node))
    tree = convert_tree(node, source.class_name, classes)
    compiled = compile_tree(tree, code)
    if compiled.co_flags & inspect.CO_GENERATOR:
        explain_unconverted(compiled, f"conditions of {code.co_name} are not converted, since it is a generator")
    pending = [compiled]
    for pending_code in pending:  # a worklist: the loop appends to it
        _GENERATED.add((pending_code, pending_code.co_filename))
        pending += [constant for constant in pending_code.co_consts if isinstance(constant, CodeType)]
    return ConvertedCode(compiled, tree)


def _refuse_generated_names(code: CodeType, node: FunctionNode) -> None:
    """Raise NotConvertible where a variable of the function has a name of converted code."""
    if any(map(is_generated, _names_of(code))):  # of attributes, too, which may have these names
        parts = list(walk_nodes([node]))
        names = [part.id for part in parts if isinstance(part, ast.Name)]
        names += [part.arg for part in parts if isinstance(part, ast.arg)]
        names += [part.name for part in parts if isinstance(part, ast.FunctionDef)]
        for name in filter(is_generated, names):
            raise NotConvertible(f"converted code has a variable {name} of its own")


def _names_of(code: CodeType) -> Iterator[str]:
    yield from (*code.co_names, *code.co_varnames, *code.co_cellvars, *code.co_freevars)
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _names_of(constant)


def convert_tree(
    node: FunctionNode, class_name: str | None = None, classes: OperatorClasses = NO_CLASSES
) -> FunctionNode:
    """Apply all passes to a function, which may be changed."""
    classes = classes.add_local(node)
    node = mangle_names(node, class_name)
    if isinstance(node, ast.Lambda):
        node = define_lambda(node, "converted")
    node = _convert_nested(node, convert_statements)
    node = convert_expressions(node, classes)
    return convert_loads(node)


def convert_statements(node: FunctionNode) -> FunctionNode:
    """Apply the passes on statements to one function."""
    node = convert_comprehensions(convert_matches(node), convert_statements)
    return convert_control_flow(convert_writes(mark_loads(node)))


def _convert_nested(node: Any, convert_function: Callable[[FunctionNode], FunctionNode]) -> Any:
    """Convert a function and those nested in it, innermost first."""

    class Nested(NodeTransformer):
        is_nested = is_in_class = False

        def visit_FunctionDef(self, inner: ast.FunctionDef) -> Any:
            outer = self.is_nested, self.is_in_class
            self.is_nested, self.is_in_class = True, False
            forms = _hand_over_forms(inner) if outer[0] else []
            self.generic_visit(inner)
            if not _is_generator(inner):
                result: Any = convert_function(inner)
            else:
                spread_iterables(inner)
                result = [convert_writes(inner)]
                for form in forms:
                    self.generic_visit(form)
                    result.append(convert_function(form))
                if forms:
                    note = "ag__.note_hand_over(name, push, push_until)"
                    note += "; del push, push_until" if outer[1] else ""
                    names = {"push": forms[0].name, "push_until": forms[1].name}
                    result += statements(note, inner, name=inner.name, **names)
                elif not outer[0]:
                    (result,) = result
            self.is_nested, self.is_in_class = outer
            return result

        def visit_ClassDef(self, inner: ast.ClassDef) -> ast.AST:
            outer, self.is_in_class = self.is_in_class, True
            self.generic_visit(inner)
            self.is_in_class = outer
            return inner

    return Nested().visit(node)


def _hand_over_forms(node: ast.FunctionDef) -> list[ast.FunctionDef]:
    """A nested generator function as functions that hand over its items, to the last one, and until one is enough; none
    where it needs its own frame."""
    if node.decorator_list or not _is_generator(node):
        return []
    forms = []
    for may_stop in (False, True):
        try:
            form = hand_over_items(copy_tree(node), may_stop=may_stop)
        except NotConvertible:
            return []
        form.name = generated_name("push_until" if may_stop else "push", node.name)
        forms.append(form)
    return forms


def _is_generator(node: ast.FunctionDef) -> bool:
    pending: list[ast.AST] = list(node.body)
    for child in pending:  # a worklist: the loop appends to it
        if isinstance(child, ast.Yield | ast.YieldFrom | ast.Await):
            return True
        if not isinstance(child, SCOPES):
            pending += child_nodes(child)
    return False


def compile_tree(tree: FunctionNode, code: CodeType) -> CodeType:
    """The code of a converted function, which closes over what the original closes over, and over the operators."""
    if isinstance(tree, ast.FunctionDef):
        tree = copy.copy(tree)
        tree.name, tree.decorator_list, tree.returns = "converted", [], None
        tree.args = _without_annotations(tree.args)
        body: list[ast.stmt] = [tree]
    else:
        tree = copy.copy(tree)
        tree.args = _without_annotations(tree.args)
        body = statements("converted = function", tree, function=tree)
    factory = statements(f"def factory({', '.join((*code.co_freevars, GENERATED))}): body", tree, body=body)
    flags = code.co_flags & FUTURE_FLAGS  # of `from __future__ import annotations`, for nested functions
    module = compile(ast.Module(factory, []), code.co_filename, "exec", flags, dont_inherit=True)
    inner = _constant_code(_constant_code(module))
    return inner.replace(co_name=code.co_name, co_qualname=code.co_qualname)


def _without_annotations(arguments: ast.arguments) -> ast.arguments:
    """Parameters without annotations, and with defaults that are never evaluated: the function object has its own."""
    bare = copy.deepcopy(arguments)
    for child in ast.walk(bare):
        if isinstance(child, ast.arg):
            child.annotation = None
    bare.defaults = []
    bare.kw_defaults = [None] * len(bare.kwonlyargs)
    return bare


def _constant_code(code: CodeType) -> CodeType:
    return next(constant for constant in code.co_consts if isinstance(constant, CodeType))


def bind_code(code: CodeType, function: FunctionType, operators: CellType) -> FunctionType:
    """A function with converted code, and with the globals, cells and defaults of the original."""
    cells = dict(zip(function.__code__.co_freevars, function.__closure__ or (), strict=True))
    cells[GENERATED] = operators
    closure = tuple(cells[name] for name in code.co_freevars)
    converted = FunctionType(code, function.__globals__, function.__name__, function.__defaults__, closure)
    converted.__kwdefaults__, converted.__qualname__ = function.__kwdefaults__, function.__qualname__
    converted.__module__, converted.__doc__ = function.__module__, function.__doc__
    converted.__dict__.update(function.__dict__)
    return converted


def converted_code(function: FunctionType) -> ConvertedCode:
    """The converted code of a function; raises Usage where it cannot be converted."""
    try:
        reason = unconverted_reason(function.__code__)
        if reason is not None:
            raise NotConvertible(reason)
        return convert_code(function.__code__, find_operator_classes(function))
    except NotConvertible as error:
        where = definition_location(function.__code__)
        raise Usage(f"{function.__name__} has no converted code: {error}", where=where) from None


def describe_conversion(function: FunctionType) -> str:
    """The converted code of a function as text; raises Usage where it cannot be converted."""
    return ast.unparse(ast.fix_missing_locations(converted_code(function).tree))
