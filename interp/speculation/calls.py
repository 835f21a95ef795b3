"""Calls of values: functions of the user and nested ones, classes, builtins, and functions on arrays."""

from __future__ import annotations

import ast
import bisect
import heapq
import sys
from collections import deque
from collections.abc import Sequence
from dataclasses import replace
from functools import partial, reduce
from types import BuiltinFunctionType, FunctionType
from typing import Any

import numpy as np

from ...core import dtypes
from ...core.errors import with_article
from ...core.frontend import functions as op_functions
from ...core.frontend.array_api import (
    convolution,
    creation,
    datatypes,
    einsum,
    indexing,
    linalg,
    manipulation,
    neural_network,
    numeric,
    padding,
)
from ...core.frontend.source.numpy_functions import FUNCTIONS
from ...core.frontend.source.scopes import function_scope
from . import arithmetic, containers, library, numpy_arrays, text, training
from .dataclass_fields import dataclass_fields
from .heap import ITEMS, FieldKey, VariableKey, class_problem
from .layouts import (
    MISSING,
    NUMBER_CLASSES,
    ArrayLayout,
    ConstantLayout,
    DequePool,
    DictPool,
    ListPool,
    NotSpeculable,
    NumberLayout,
    Pool,
    ReferenceLayout,
    SetPool,
    Slot,
    StaticLayout,
    TablePool,
    TextLayout,
    TupleLayout,
    class_name,
    is_named_tuple,
    number_kind,
    options_of,
    parts,
)
from .operators import PythonOperators
from .program_functions import MAX_INLINED
from .recording import python_function
from .staging import (
    MISSING_VALUE,
    NONE_VALUE,
    PRINTED_TEXT,
    RUNNING,
    NestedFunction,
    StagedValue,
    constant_leaf,
)


class Calls(PythonOperators):
    """Generates calls whose arguments are already evaluated."""

    def _call_nested(
        self, nested: NestedFunction, arguments: list[StagedValue], keywords: dict[str, StagedValue], node: ast.AST
    ) -> StagedValue:
        """Inline a call of a nested function, which has the variables of the function around it."""
        frame = self.stack[-1]
        if frame.numbers[: len(nested.frame.numbers)] != nested.frame.numbers:
            raise NotSpeculable("a nested function is called outside of the function around it")
        if (frame.hidden_names - nested.frame.hidden_names) & nested.frame.local_names:
            raise NotSpeculable("a nested function is called where a variable of the function around it is hidden")
        if len(self.stack) > MAX_INLINED:
            raise NotSpeculable("a nested function is recursive")
        tree, name = nested.node.args, getattr(nested.node, "name", "lambda")
        if any(not isinstance(default, ast.Constant) for default in (*tree.defaults, *tree.kw_defaults) if default):
            raise NotSpeculable("a nested function with a default that is not a constant has no graph")
        positional = [parameter.arg for parameter in (*tree.posonlyargs, *tree.args)]
        defaults = dict(zip(positional[::-1], tree.defaults[::-1], strict=False))
        defaults |= {
            parameter.arg: value for parameter, value in zip(tree.kwonlyargs, tree.kw_defaults, strict=True) if value
        }
        values = {key: self.constant(default.value) for key, default in defaults.items()}  # type: ignore[attr-defined]
        bound = self._bind(name, tree, values, arguments, keywords, node)
        local_names = function_scope(nested.node).local_names
        outer = self.state
        hidden = {key: value for key, value in outer.variables.items() if key in local_names}
        variables = {key: value for key, value in outer.variables.items() if key not in local_names}
        self.state = replace(outer.copy(), variables=variables | bound)
        self.state.exit, self.state.result = self.constant(RUNNING), MISSING_VALUE
        function: Any = nested.frame.function
        value = self._run_function(function, nested.node, nested.frame)
        variables = {key: value for key, value in self.state.variables.items() if key not in local_names}
        self.state.variables = variables | hidden
        self.state.exit, self.state.result = outer.exit, outer.result
        return value

    def _call_on_list(self, function: Any, items: StagedValue) -> StagedValue:
        """A call of a builtin that takes a list."""
        items = self.as_list(items, ignores_order=function is not list)
        if function is sorted:
            self.require_order(items)
        value = self.call_library(_LIBRARY[function], [items])
        if function is sum and sys.version_info >= (3, 12):
            if any(number_kind(option) not in ("i", "b") for option in options_of(value.layout)):
                raise NotSpeculable("the sum of floats is compensated")
        return value

    def as_list(self, items: StagedValue, ignores_order: bool) -> StagedValue:
        """A list, or a new list of the items of a deque, of the keys of a dict, or of the ints in a set, for a call
        that `ignores_order`."""
        if not isinstance(items.layout, ReferenceLayout):
            raise NotSpeculable(f"the items of {with_article(items.layout)} have no graph")
        if all(issubclass(pool, ListPool) for pool in items.layout.classes):
            return items
        assert self.current_node is not None

        def read(pool: type, instance: StagedValue) -> StagedValue:
            if issubclass(pool, DictPool | TablePool):
                return containers.list_view(self, instance, "keys", self.current_node)  # type: ignore[arg-type]
            is_set = issubclass(pool, SetPool) and ignores_order
            if is_set and self.layout_of_key(FieldKey(pool, ITEMS)) in (NumberLayout("i"), MISSING):
                return self.call_library(library.pairs_of, [instance])
            if issubclass(pool, DequePool):
                return self.call_library(library.pairs_of, [instance])
            raise NotSpeculable(f"the items of {with_article(class_name(pool))} have no graph")

        return self.for_each_class(items, self.current_node, read)

    def require_order(self, items: StagedValue) -> None:
        """Raises NotSpeculable for a list whose items a graph does not sort."""
        assert isinstance(items.layout, ReferenceLayout)
        layouts = [self.layout_of_key(FieldKey(pool, ITEMS)) for pool in items.layout.classes]
        are_tuples = all(isinstance(layout, TupleLayout) and layout.kind is tuple for layout in layouts)
        if any(self.has_own_comparison(part) for layout in layouts for part in parts(layout)):
            raise NotSpeculable("sorted() of objects with a comparison of their own has no graph")
        if not are_tuples and not {*map(number_kind, layouts)} <= {"i", "f", "b"} and layouts != [MISSING]:
            raise NotSpeculable("sorted() has a graph only for numbers of one class and for tuples")

    def _call_print(self, arguments: list[StagedValue], keywords: dict[str, StagedValue], node: ast.AST) -> StagedValue:
        """`print`: the text is appended to those that are printed after the commit."""
        options = {"sep": " ", "end": "\n"}
        for name, value in keywords.items():
            if not isinstance(value.layout, ConstantLayout) or name not in (*options, "flush"):
                raise NotSpeculable(f"print() with {name} has no graph")
            if name in options and value.layout.value is not None:
                options[name] = value.layout.value

        def append(values: list[StagedValue]) -> StagedValue:
            parts = list[StagedValue]()
            for position, value in enumerate(values):
                parts += [self.constant(options["sep"])] if position else []
                parts.append(text.text_of(self, value, Slot("", "s"), node))
            line = text.concatenate(self, [*parts, self.constant(options["end"])])
            key = VariableKey(self.requirements.effects, PRINTED_TEXT)
            lines = StagedValue(self.layout_of_key(key), self.leaves_of(key))
            return self.for_each_class(
                lines, node, lambda pool, owner: containers.call_method(self, pool, owner, "append", [line], node)
            )

        return self.dispatch_all(arguments, append)

    def call_value(
        self, function: StagedValue, arguments: list[StagedValue], keywords: dict[str, StagedValue], node: ast.expr
    ) -> StagedValue:
        """A call of a value, whose arguments are evaluated. Raises NotSpeculable if it has no graph."""
        if isinstance(function.layout, ReferenceLayout | StaticLayout):
            return self.call_special(function, "__call__", arguments, node, keywords)
        if not isinstance(function.layout, ConstantLayout):
            raise NotSpeculable(f"a call of {function.layout} has no graph")
        target = function.layout.value
        python = python_function(target)
        if _is_numpy_function(python):
            return numpy_arrays.call_function(self, python, arguments, keywords)
        if python in _ARRAY_FUNCTIONS_BY_IDENTITY:
            return self._call_array_function(python, [self.read_variable(argument) for argument in arguments], keywords)
        if python in training.GRADIENTS:
            return training.gradient_function(self, python, arguments, keywords)
        if isinstance(target, training.StagedGradient) and not keywords:
            function = self.constant(target.function)
            return training.call_gradient(
                self, target, arguments, lambda operands: self.call_value(function, operands, {}, node)
            )
        if type(python) is partial:
            return self._call_partial(python, arguments, keywords, node)
        if python is replace and len(arguments) == 1:
            return self.for_each_class(
                arguments[0], node, lambda owner, instance: self._replace_fields(owner, instance, keywords, node)
            )
        if type(python) is FunctionType and python in containers.RAW_OPERATIONS:
            operate, (owner, *values) = containers.RAW_OPERATIONS[python], arguments
            return self.for_each_class(owner, node, lambda pool, one: operate(self, pool, one, values, node))
        if type(python) is FunctionType:
            return self.call_python(python, arguments, keywords, node)
        if isinstance(target, NestedFunction):
            return self._call_nested(target, arguments, keywords, node)
        if python is print:
            return self._call_print(arguments, keywords, node)
        if type(python) is BuiltinFunctionType and python in _LIST_FUNCTIONS and not keywords:
            return self._call_list_function(python, arguments)
        if python is reduce and not keywords:
            return self._reduce(arguments, node)
        result = None if keywords else self._call_builtin(python, arguments, node)
        if result is not None:
            return result
        if type(target) is type and is_named_tuple(target):
            return self._construct_named_tuple(target, arguments, keywords, node)
        if type(target) is type and class_problem(target) is None:
            return self.construct(target, arguments, keywords, node)
        raise NotSpeculable(f"a call of {function.layout} has no graph")

    def _replace_fields(
        self, owner: type, instance: StagedValue, keywords: dict[str, StagedValue], node: ast.expr
    ) -> StagedValue:
        """`dataclasses.replace`: a new instance with the fields of another, apart from those of the keywords."""
        fields = () if issubclass(owner, Pool) else dataclass_fields(owner) or ()
        names = [field.name for field in fields]
        if not names or not all(field.init for field in fields) or not keywords.keys() <= {*names}:
            raise NotSpeculable(f"`{ast.unparse(node)}` has no graph")
        values = {name: self.read_attribute(instance, name, node) for name in names if name not in keywords}
        return self.construct(owner, [], values | keywords, node)

    def _call_partial(
        self, function: Any, arguments: list[StagedValue], keywords: dict[str, StagedValue], node: ast.expr
    ) -> StagedValue:
        """A call of a `functools.partial`."""
        for name in ("func", "args"):
            self.requirements.attributes.setdefault((function, name), getattr(function, name))
        if function.keywords:
            self.requirements.keywords.setdefault(function, dict(function.keywords))
        first = [self.default("a partial function", value) for value in function.args]
        own_keywords = {name: self.default(name, value) for name, value in function.keywords.items()}
        target = self.constant(function.func)
        return self.call_value(target, [*first, *arguments], own_keywords | keywords, node)

    def _call_list_function(self, function: Any, arguments: Sequence[StagedValue]) -> StagedValue:
        """A call of a function of the standard library whose first argument is a list."""
        implementation = _LIST_FUNCTIONS[function]
        is_list = arguments and isinstance(arguments[0].layout, ReferenceLayout)
        is_list = is_list and all(issubclass(pool, ListPool) for pool in arguments[0].layout.classes)  # type: ignore[union-attr]
        if not is_list or len(arguments) != implementation.__code__.co_argcount:
            raise NotSpeculable(f"this call of {function.__name__} has no graph")
        return self.call_library(implementation, arguments, is_exact=True)

    def _reduce(self, arguments: Sequence[StagedValue], node: ast.expr) -> StagedValue:
        """`functools.reduce`: of a list by a loop, of a tuple call by call."""
        if len(arguments) not in (2, 3):
            raise NotSpeculable("this call of reduce has no graph")
        function, items, *start = arguments
        if isinstance(items.layout, ReferenceLayout):
            if not start:
                raise NotSpeculable("reduce() of a list without an initial value has no graph")
            return self.call_library(library.fold, [function, items, *start])
        remaining = [*start, *self.sequence_items(items)]
        if not remaining:
            self.check(False, node, "reduce() has an item", "Python raises TypeError")
        result = remaining[0]
        for item in remaining[1:]:
            pair = [result, item]
            result = self.dispatch(function, partial(self.call_value, arguments=pair, keywords={}, node=node))
        return result

    def takes_arrays(self, function: StagedValue) -> bool:
        """Whether a value is a function of NumPy or tagloom that takes arrays, and nests of their elements."""
        if not isinstance(function.layout, ConstantLayout):
            return False
        python = python_function(function.layout.value)
        return _is_numpy_function(python) or python in _ARRAY_FUNCTIONS_BY_IDENTITY

    def _construct_named_tuple(
        self, owner: Any, arguments: Sequence[StagedValue], keywords: dict[str, StagedValue], node: ast.expr
    ) -> StagedValue:
        """A new named tuple."""
        function = self.require_class_value(owner, "__new__").__func__
        self.require_function(function)
        names, defaults = owner._fields, function.__defaults__ or ()
        first_default = len(names) - len(defaults)
        bound_names = {*names[: len(arguments)], *keywords}
        bound = {
            name: self.default(name, value)
            for name, value in zip(names[first_default:], defaults, strict=True)
            if name not in bound_names
        }
        bound |= dict(zip(names, arguments, strict=False)) | keywords
        is_fitting = len(arguments) <= len(names) and keywords.keys() <= {*names[len(arguments) :]}
        if not is_fitting or bound.keys() != {*names}:
            self.check(False, node, "the call fits the fields", "Python raises TypeError where it does not")
        return self.tuple_of([bound[name] for name in names], owner)

    def _call_builtin(self, function: Any, arguments: list[StagedValue], node: ast.expr) -> StagedValue | None:
        """A call of a builtin without keywords; None for anything else."""
        first = arguments[0] if len(arguments) == 1 else None
        if function is isinstance and len(arguments) == 2:
            return self.dispatch(arguments[0], lambda value: self.is_instance(value, arguments[1], node))
        if function is list and not arguments and not self.observation.has_static_objects:
            return containers.new_list(self, [], node)
        if function is dict and not arguments:
            return containers.new_dict(self, [], node)
        if (function is set or function is deque) and len(arguments) < 2:
            return self._new_container(function, arguments, node)
        if function is getattr or function is hasattr or function is setattr:
            return self._call_on_attribute(function, arguments, node)
        if first is not None and (function is str or function is repr):
            slot = Slot("", "s" if function is str else "r")
            return self.dispatch(first, lambda option: text.text_of(self, option, slot, node))
        if type(function) not in (BuiltinFunctionType, type):
            return None
        if first is not None and function is len and self.is_static(first, list):
            return self.constant(first.layout.object.size)  # type: ignore[union-attr]
        if first is not None and isinstance(first.layout, ReferenceLayout):
            if function in _LIBRARY:
                return self._call_on_list(function, first)
            if function is type:
                return self.for_each_class(first, node, lambda kind, _: self.constant(_python_class(kind)))
            if function is len:
                return self.length(first, node)
        handler = arithmetic.BUILTINS.get(function)
        return None if handler is None else self.dispatch_all(arguments, lambda values: handler(self, values, node))

    def _new_container(self, function: Any, arguments: Sequence[StagedValue], node: ast.expr) -> StagedValue:
        """A new set or deque, without items or with those of another container."""
        value = containers.new_container(self, function, [], node)
        for argument in arguments:
            if isinstance(argument.layout, TupleLayout):
                raise NotSpeculable(f"{function.__name__}() of a tuple has no graph")
            items = self.as_list(argument, ignores_order=False)
            self.call_library(library.add_each if function is set else library.add_all, [value, items])
            if function is set and dict in {getattr(owner, "python_class", None) for owner in argument.layout.classes}:  # type: ignore[union-attr]
                containers.forget_order(self, value, node)  # Python makes room for all keys of a dict first
        return value

    def _call_on_attribute(self, function: Any, arguments: Sequence[StagedValue], node: ast.expr) -> StagedValue:
        """`getattr`, `hasattr` or `setattr` with a constant name."""
        names = [argument.layout.value for argument in arguments[1:2] if isinstance(argument.layout, ConstantLayout)]
        counts = {getattr: (2, 3), hasattr: (2,), setattr: (3,)}
        if not names or type(names[0]) is not str or len(arguments) not in counts[function]:
            raise NotSpeculable(f"`{ast.unparse(node)}` has no graph")
        owner, name, extra_arguments = arguments[0], names[0], arguments[2:]
        if function is setattr:
            self.write_attribute(owner, name, extra_arguments[0], node)
            return NONE_VALUE
        if function is hasattr:
            return self.find_attribute(owner, name, node, lambda _: self.constant(True), lambda: self.constant(False))
        if not extra_arguments:
            return self.read_attribute(owner, name, node)
        return self.find_attribute(owner, name, node, lambda value: value, lambda: extra_arguments[0])

    def _call_array_function(
        self, function: Any, arguments: list[StagedValue], keywords: dict[str, StagedValue]
    ) -> StagedValue:
        """A call of a function on arrays, with arguments as in eager code."""
        leaves = [leaf for argument in (*arguments, *keywords.values()) for leaf in training.flatten(self, argument)]
        types = [leaf.layout.type for leaf in leaves if isinstance(leaf.layout, ArrayLayout)]
        if not types and any(not isinstance(leaf.layout, ConstantLayout) for leaf in leaves):
            raise NotSpeculable(f"tl.{function.__name__} of numbers that are computed has no graph")
        takes_floats = {type_.dtype for type_ in types if type_.dtype.kind != "b"} == {dtypes.float64}
        operands = [self._array_argument(argument, takes_floats) for argument in arguments]
        options = {name: self._array_argument(option, takes_floats) for name, option in keywords.items()}
        return self.wrap_array(self.located(lambda: function(*operands, **options)))

    def _array_argument(self, value: StagedValue, takes_floats: bool) -> Any:
        """An argument of a function on arrays: an array, a constant, or a nest of them. A computed float has the dtype
        float64, so only float64 arrays take it unchanged."""
        value = self.read_variable(value)
        if isinstance(value.layout, TupleLayout) or self.is_static(value, list):
            items = [self._array_argument(item, takes_floats) for item in self.items(value)]
            return tuple(items) if isinstance(value.layout, TupleLayout) and value.layout.kind is not list else items
        if isinstance(value.layout, ConstantLayout):
            return constant_leaf(value.layout)
        if takes_floats and value.layout == NumberLayout("f"):
            return value.leaves[0]
        return self.array_operand(value)

    def is_instance(self, value: StagedValue, classes: StagedValue, node: ast.AST) -> StagedValue:
        """`isinstance(value, classes)`."""
        targets = self.items(classes) if isinstance(classes.layout, TupleLayout) else [classes]
        kinds = tuple(target.layout.value for target in targets if isinstance(target.layout, ConstantLayout))
        if len(kinds) != len(targets) or any(type(kind) is not type for kind in kinds):
            raise NotSpeculable("isinstance() with classes that are not known, or have a metaclass")
        layout, number = value.layout, number_kind(value.layout)
        if isinstance(layout, TextLayout | TupleLayout):
            return self.constant(issubclass(str if isinstance(layout, TextLayout) else layout.kind, kinds))
        if number is not None:
            own_class = next(number_class for number_class, kind in NUMBER_CLASSES.items() if kind == number)
            return self.constant(issubclass(own_class, kinds))
        if isinstance(layout, ConstantLayout) and type(layout.value) in (str, type(None)):
            return self.constant(isinstance(layout.value, kinds))
        if not isinstance(layout, ReferenceLayout | StaticLayout):
            raise NotSpeculable(f"isinstance() of {with_article(layout)} has no graph")
        for owner in [layout.object.owner] if isinstance(layout, StaticLayout) else layout.classes:
            if (
                not issubclass(owner, Pool)
                and self.require_class_value(owner, "__class__") is not object.__dict__["__class__"]
            ):
                raise NotSpeculable(f"{owner.__qualname__} has __class__")
        if isinstance(layout, StaticLayout):
            return self.constant(issubclass(layout.object.owner, kinds))

        def of_class(owner: type, _: StagedValue) -> StagedValue:
            return self.constant(issubclass(_python_class(owner), kinds))

        return self.for_each_object(value, node, of_class, lambda: self.constant(issubclass(type(None), kinds)))


_NUMPY_FUNCTION_CLASSES = (np.ufunc, type(np.sum), type(np.zeros), FunctionType)
"""The classes of functions of NumPy, all of which are hashable."""


def _is_numpy_function(value: Any) -> bool:
    """Whether a value is a function of NumPy that a graph supports."""
    return type(value) in _NUMPY_FUNCTION_CLASSES and value in FUNCTIONS


def _python_class(owner: type) -> type:
    """The class that Python code sees: `list` or `dict` for a pool."""
    return owner.python_class if issubclass(owner, Pool) else owner


class _ArrayFunctions:
    """The functions on arrays that code may call, by identity: those without effects or random numbers."""

    def __init__(self) -> None:
        modules = (convolution, creation, datatypes, einsum, indexing, linalg, manipulation, neural_network, numeric)
        functions = [getattr(op_functions, name) for name in op_functions.__all__]
        for module in (*modules, padding):
            functions += [member for member in vars(module).values() if type(member) is FunctionType]
        self.functions = {id(function): function for function in functions if function is not neural_network.dropout}

    def __contains__(self, value: object) -> bool:
        return id(value) in self.functions


_ARRAY_FUNCTIONS_BY_IDENTITY = _ArrayFunctions()
_LIBRARY = {
    sum: library.total,
    max: library.largest,
    min: library.smallest,
    any: library.has_true,
    all: library.has_only_true,
    list: library.copy,
    sorted: library.sort,
}
"""Builtins that take a list, each with its implementation in `library`."""
_LIST_FUNCTIONS: dict[Any, Any] = {
    heapq.heappush: library.push,
    heapq.heappop: library.pop_smallest,
    heapq.heapify: library.make_heap,
    bisect.bisect_left: library.bisect_left,
    bisect.bisect_right: library.bisect_right,
    bisect.insort_right: library.insert_sorted,
}
"""Functions of the standard library that take a list, and other arguments; `bisect.bisect` is `bisect_right`."""
