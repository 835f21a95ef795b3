"""Operators and comparisons: of numbers, strings, lists and objects with special methods; and identity."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from enum import Enum, IntEnum
from types import FunctionType
from typing import Any

from ...core.errors import with_article
from . import arithmetic, containers, library, numpy_arrays, static_containers, text
from .dataclass_fields import dataclass_of, fields_of
from .heap import static_attribute
from .layouts import (
    NONE,
    UNASSIGNED,
    ArrayLayout,
    ConstantLayout,
    DequePool,
    DictPool,
    Layout,
    ListPool,
    NotSpeculable,
    NumberLayout,
    NumpyLayout,
    Pool,
    ReferenceLayout,
    SetPool,
    StaticLayout,
    TablePool,
    TextLayout,
    TupleLayout,
    class_name,
    is_tuple_layout,
    number_kind,
    options_of,
    parts,
)
from .object_operations import ObjectOperations
from .recording import python_function
from .staging import (
    StagedValue,
)


class PythonOperators(ObjectOperations):
    """Generates operators and comparisons."""

    def binary(self, op: ast.operator, left: StagedValue, right: StagedValue, node: ast.AST) -> StagedValue:
        """A binary operator of Python, or an assignment with it."""

        def operate(pair: Sequence[StagedValue]) -> StagedValue:
            name = type(op).__name__
            if any(numpy_arrays.is_numpy(operand.layout) for operand in pair):
                return numpy_arrays.operate(self, name, pair, node)
            if name == "Add" and all(map(text.is_text, pair)) and any(isinstance(p.layout, TextLayout) for p in pair):
                return text.concatenate(self, pair)
            if any(isinstance(operand.layout, ReferenceLayout) for operand in pair):
                return self._operate_on_objects(name, pair[0], pair[1], node)
            return arithmetic.binary(self, name, pair[0], pair[1], node)

        return self.dispatch_all([self.read_variable(left), self.read_variable(right)], operate)

    def _operate_on_objects(self, name: str, left: StagedValue, right: StagedValue, node: ast.AST) -> StagedValue:
        """A binary operator with an object as an operand: a call of its special method, or an operation on a list."""
        special = arithmetic.SPECIAL_METHODS[name]
        if not isinstance(left.layout, ReferenceLayout):
            if number_kind(left.layout) is None:
                raise NotSpeculable(f"`{name}` of {left.layout} and {right.layout} has no graph")
            return self.call_special(right, f"__r{special}__", [left], node)
        if isinstance(right.layout, ReferenceLayout):
            self.refuse_reflection(left.layout, right.layout, f"__r{special}__")

        def call(kind: type, instance: StagedValue) -> StagedValue:
            if issubclass(kind, ListPool):
                return self._operate_on_list(name, instance, right, node)
            if issubclass(kind, Pool):
                raise NotSpeculable(f"`{name}` of {with_article(class_name(kind))} has no graph")
            is_in_place = isinstance(node, ast.AugAssign)
            has_in_place = is_in_place and self.require_class_value(kind, f"__i{special}__") is not UNASSIGNED
            return self.call_special(instance, f"__i{special}__" if has_in_place else f"__{special}__", [right], node)

        return self.for_each_class(left, node, call)

    def refuse_reflection(self, left: ReferenceLayout, right: ReferenceLayout, method: str) -> None:
        """Raises NotSpeculable if Python would call the method of the right operand first, since its class derives from
        that of the left one."""
        for owner in left.classes:
            for right_class in right.classes:
                is_derived = right_class is not owner and issubclass(right_class, owner)
                if is_derived and self.require_class_value(right_class, method) is not UNASSIGNED:
                    raise NotSpeculable(
                        f"{right_class.__qualname__}.{method} has priority over that of {owner.__qualname__}"
                    )

    def _operate_on_list(self, name: str, left: StagedValue, right: StagedValue, node: ast.AST) -> StagedValue:
        if name == "Add" and isinstance(right.layout, ReferenceLayout):
            if isinstance(node, ast.AugAssign):
                self.call_library(library.extend, [left, right])
                return left
            return self.call_library(library.concatenate, [left, right])
        if name == "Mult" and number_kind(right.layout) in ("i", "b") and not isinstance(node, ast.AugAssign):
            return self.call_library(library.repeat, [left, right])
        raise NotSpeculable(f"`{name}` of a list and {right.layout} has no graph")

    def call_library(self, function: Any, arguments: Sequence[StagedValue], is_exact: bool = False) -> StagedValue:
        """A call of a function of `library`, which implements a builtin in Python. One that `is_exact` compares the
        same items as the builtin, in the same order."""
        if not is_exact and any(
            isinstance(argument.layout, ReferenceLayout) and self._has_comparison(argument.layout)
            for argument in arguments
        ):
            raise NotSpeculable(f"{function.__name__} of objects with a comparison of their own has no graph")
        assert self.current_node is not None
        return self.call_python(function, arguments, {}, self.current_node)

    def compare(self, op: ast.cmpop, left: StagedValue, right: StagedValue, node: ast.AST) -> StagedValue:
        """A comparison of two values."""
        name = type(op).__name__
        if name in ("In", "NotIn"):
            return self._contains(name, left, right, node)
        operands = [left, right] if name in ("Is", "IsNot") else [self.read_variable(left), self.read_variable(right)]
        return self.dispatch_all(operands, lambda pair: self._compare(name, pair[0], pair[1], node))

    def _contains(self, name: str, item: StagedValue, container: StagedValue, node: ast.AST) -> StagedValue:
        """`item in container`, or `not in`."""
        layout = container.layout
        if isinstance(layout, StaticLayout):
            is_in: Any = static_containers.contains_key(self, layout.object, item)
        elif isinstance(layout, ReferenceLayout):
            is_in = self._object_contains(item, container, node)
        else:
            is_in = self._tuple_contains(item, container, node)
        return self.predicate_value(self.negate(is_in) if name == "NotIn" else is_in)

    def _object_contains(self, item: StagedValue, container: StagedValue, node: ast.AST) -> Any:
        """`in` of a list, a dict, or an object with `__contains__`."""

        def has_item(kind: type, instance: StagedValue) -> StagedValue:
            if issubclass(kind, DictPool | TablePool | SetPool):
                return containers.contains_key(self, kind, instance, item)
            if issubclass(kind, DequePool):
                is_found = self.emit("greater_equal", containers.find(self, kind, instance, item), 0)
                return self.number("b", is_found)
            if issubclass(kind, ListPool):
                return self.call_library(library.contains, [instance, item])
            truth = self.truth(self.call_special(instance, "__contains__", [item], node), node)
            return self.predicate_value(truth)

        return self.truth(self.for_each_class(container, node, has_item), node)

    def _tuple_contains(self, item: StagedValue, container: StagedValue, node: ast.AST) -> Any:
        """`in` of a tuple: whether the item is equal to one of its items. Raises NotSpeculable where that may differ
        from identity, which Python compares first."""
        constant = container.layout.value if isinstance(container.layout, ConstantLayout) else None
        if type(constant) is str:
            return self.truth(self.dispatch(item, lambda option: text.contains(self, constant, option)), node)
        is_tuple = is_tuple_layout(container.layout)
        candidates = self.items(container) if is_tuple else []
        options = [option for value in (item, *candidates) for option in options_of(value.layout)]
        if any(number_kind(option) == "f" for option in options):
            raise NotSpeculable("`in` with floats has no graph: NaN is itself, but not equal to itself")
        if not is_tuple:
            raise NotSpeculable(f"`in` {with_article(container.layout)} has no graph")
        if any(map(self.has_own_comparison, options)):
            raise NotSpeculable("`in` a tuple with objects with a comparison of their own has no graph")
        is_in: Any = False
        for candidate in candidates:
            equal = self.dispatch_all([item, candidate], lambda pair: self._compare("Eq", pair[0], pair[1], node))
            is_equal = self.truth(equal, node)
            if is_in is False or is_equal is True:
                is_in = is_equal
            elif is_in is not True and is_equal is not False:
                is_in = self.emit("logical_or", is_in, is_equal)
        return is_in

    def _compare(self, name: str, left: StagedValue, right: StagedValue, node: ast.AST) -> StagedValue:
        if name not in ("Is", "IsNot"):
            left, right = self._as_int(left), self._as_int(right)
        layouts = left.layout, right.layout
        if name in ("Is", "IsNot"):
            is_same = self._is_same(left, right)
            return self.predicate_value(self.negate(is_same) if name == "IsNot" else is_same)
        if any(numpy_arrays.is_numpy(layout) for layout in layouts):
            return numpy_arrays.operate(self, name, [left, right], node)
        is_on_array = any(isinstance(layout, ArrayLayout) for layout in layouts)
        if is_on_array or None not in [number_kind(layout) for layout in layouts]:
            return arithmetic.compare(self, name, left, right, node)
        if any(isinstance(layout, ReferenceLayout) and self._has_comparison(layout) for layout in layouts):
            return self._compare_objects(name, left, right, node)
        if all(map(_is_tuple, layouts)):
            return self._compare_tuples(name, self.items(left), self.items(right), node)
        if name not in ("Eq", "NotEq"):
            raise NotSpeculable(f"{layouts[0]} and {layouts[1]} are compared by order")
        if text.is_text(left) and text.is_text(right) and any(isinstance(layout, TextLayout) for layout in layouts):
            handles = [text.handle_of(self, operand) for operand in (left, right)]
            return self.predicate_value(self.emit("equal" if name == "Eq" else "not_equal", *handles))
        for layout in layouts:
            self._require_plain_equality(layout)
        if all(isinstance(layout, ConstantLayout) for layout in layouts):
            is_equal = bool(layouts[0].value == layouts[1].value)  # type: ignore[union-attr]
        else:
            is_equal = self._is_same(left, right)
        return self.predicate_value(self.negate(is_equal) if name == "NotEq" else is_equal)

    def _as_int(self, value: StagedValue) -> StagedValue:
        """The int of a member of an `IntEnum` that is compared as an int; any other value is unchanged."""
        member = value.layout.value if isinstance(value.layout, ConstantLayout) else None
        if not isinstance(member, IntEnum):
            return value
        names = [f"__{name}__" for name in _ORDER]
        if any(self.require_class_value(type(member), name) is not getattr(int, name) for name in names):
            return value
        return self.constant(int(member))

    def _compare_tuples(
        self, name: str, left: Sequence[StagedValue], right: Sequence[StagedValue], node: ast.AST
    ) -> StagedValue:
        """A comparison of tuples: that of the first items that differ, or of the lengths. Python compares the
        identities of items before it calls `==`. The graph does so for objects, and asserts that no float is NaN."""
        comparison, items = getattr(ast, name)(), (*left, *right)
        has_comparison = any(self.has_own_comparison(part) for item in items for part in parts(item.layout))
        if name in ("Eq", "NotEq") and len(left) != len(right) and not has_comparison:
            return self.constant(name == "NotEq")
        for item in items:
            options = options_of(item.layout)
            if any(_is_array(option) for option in options):
                raise NotSpeculable("a comparison of tuples of arrays has no graph")
            if any(number_kind(option) == "f" or isinstance(option, NumpyLayout) for option in options):
                is_number = self.truth(self.compare(ast.Eq(), item, item, node), node)
                self.check(is_number, node, "no item is NaN", "Python compares identities first")

        def compare_equal(pair: Sequence[StagedValue]) -> StagedValue:
            def call() -> StagedValue:
                return self.predicate_value(self.truth(self._compare("Eq", pair[0], pair[1], node), node))

            if not any(self.has_own_comparison(value.layout) for value in pair):
                return call()
            return self.branch(self._is_same(pair[0], pair[1]), lambda: self.constant(True), call)

        def compare_from(position: int) -> StagedValue:
            if position == min(len(left), len(right)):
                return self.compare(comparison, self.constant(len(left)), self.constant(len(right)), node)
            item, other = left[position], right[position]
            is_equal = self.truth(self.dispatch_all([item, other], compare_equal), node)

            def compare_items() -> StagedValue:
                is_order = name not in ("Eq", "NotEq")
                return self.compare(comparison, item, other, node) if is_order else self.constant(name == "NotEq")

            return self.branch(is_equal, lambda: compare_from(position + 1), compare_items)

        return compare_from(0)

    def _require_plain_equality(self, layout: Layout) -> None:
        """Raises NotSpeculable for values whose `==` is neither identity nor that of constants."""
        if isinstance(layout, ReferenceLayout):
            for owner in layout.classes:
                if issubclass(owner, Pool):
                    raise NotSpeculable(f"`==` of {with_article(class_name(owner))} has no graph")
                if self.require_class_value(owner, "__eq__") is not object.__eq__:
                    raise NotSpeculable(f"{owner.__qualname__} has __eq__")
                if self.require_class_value(owner, "__ne__") is not object.__ne__:
                    raise NotSpeculable(f"{owner.__qualname__} has __ne__")
        elif isinstance(layout, TupleLayout | StaticLayout) or (
            isinstance(layout, ConstantLayout)
            and type(layout.value) not in (bool, int, float, str, type(None))
            and type(layout.value) not in (FunctionType, type)
            and not _is_plain_enum(layout.value)
        ):
            raise NotSpeculable(f"`==` of {with_article(layout)} has no graph")

    def _has_comparison(self, layout: ReferenceLayout) -> bool:
        """Whether a class of objects defines a comparison."""
        return any(
            not issubclass(owner, Pool)
            and any(
                self.require_class_value(owner, f"__{name}__") is not getattr(object, f"__{name}__") for name in _ORDER
            )
            for owner in sorted(layout.classes, key=str)
        )

    def _has_own_truth(self, layout: Layout) -> bool:
        """Whether the truth of a value may be a call of Python code."""
        if not isinstance(layout, ReferenceLayout):
            return False
        owners = [owner for owner in sorted(layout.classes, key=str) if not issubclass(owner, Pool)]
        return any(
            self.require_class_value(owner, name) is not UNASSIGNED
            for owner in owners
            for name in ("__bool__", "__len__")
        )

    def has_own_comparison(self, layout: Layout) -> bool:
        """Whether `==` of a value may be a call of Python code."""
        if isinstance(layout, StaticLayout):
            return True
        return isinstance(layout, ReferenceLayout) and self._has_comparison(layout)

    def _compare_objects(self, name: str, left: StagedValue, right: StagedValue, node: ast.AST) -> StagedValue:
        """A comparison with an object whose class defines it."""
        special = f"__{_COMPARISON_METHODS[name]}__"
        reflected = f"__{_COMPARISON_METHODS[_REFLECTED[name]]}__"
        if name == "NotEq":
            equal = self.truth(self._compare_objects("Eq", left, right, node), node)
            owners = [
                owner
                for part in (left, right)
                if isinstance(part.layout, ReferenceLayout)
                for owner in part.layout.classes
            ]
            if any(self.require_class_value(owner, "__ne__") is not object.__ne__ for owner in owners):
                raise NotSpeculable("a class has __ne__")
            return self.predicate_value(self.negate(equal))
        if not isinstance(left.layout, ReferenceLayout):
            return self.call_special(right, reflected, [left], node)
        if isinstance(right.layout, ReferenceLayout):
            self.refuse_reflection(left.layout, right.layout, reflected)

        def compare(kind: type, instance: StagedValue) -> StagedValue:
            method = UNASSIGNED if issubclass(kind, Pool) else self.require_class_value(kind, special)
            is_of_dataclass = not issubclass(kind, Pool) and dataclass_of(kind, special) is not None
            if isinstance(python_function(method), FunctionType) and not is_of_dataclass:
                return self.call_special(instance, special, [right], node)
            if name != "Eq" or not (is_of_dataclass or method is object.__eq__):
                raise NotSpeculable(f"{class_name(kind)} has no {special} of Python code")
            if not isinstance(right.layout, ReferenceLayout):
                return self.constant(False)
            return self.for_each_class(
                right, node, lambda owner, right_instance: compare_with(kind, instance, owner, right_instance)
            )

        def compare_with(kind: type, instance: StagedValue, owner: type, right_instance: StagedValue) -> StagedValue:
            if dataclass_of(kind, special) is not None:
                if owner is kind:
                    return self._compare_dataclasses(kind, instance, right_instance, node)
                raise NotSpeculable("`==` of dataclasses of two classes has no graph")
            method = self.require_class_value(owner, reflected)
            if method is object.__eq__:
                return self.predicate_value(self._is_same(instance, right_instance))
            return self.call_special(right_instance, reflected, [instance], node)

        return self.for_each_class(left, node, compare)

    def _compare_dataclasses(self, owner: type, left: StagedValue, right: StagedValue, node: ast.AST) -> StagedValue:
        """`==` of two instances of a dataclass: that of tuples of their fields."""
        names = [field.name for field in fields_of(dataclass_of(owner, "__eq__")) if field.compare]

        def compare_from(remaining_names: list[str]) -> StagedValue:
            if not remaining_names:
                return self.constant(True)
            values = [self.read_attribute(instance, remaining_names[0], node) for instance in (left, right)]
            if any(not isinstance(value.layout, NumberLayout) for value in values):
                raise NotSpeculable("`==` of dataclasses with fields other than numbers has no graph")
            for value in values:
                if number_kind(value.layout) == "f":
                    is_number = self.emit("equal", value.leaves[0], value.leaves[0])
                    self.check(is_number, node, "it is not NaN", "tuples with the same NaN are equal")
            predicate = self.truth(self._compare("Eq", values[0], values[1], node), node)
            return self.branch(predicate, lambda: compare_from(remaining_names[1:]), lambda: self.constant(False))

        return compare_from(names)

    def _is_same(self, left: StagedValue, right: StagedValue) -> Any:
        """Whether two values are one object: a Python bool, or a symbolic one."""
        layouts = left.layout, right.layout
        for value, layout in ((left, layouts[1]), (right, layouts[0])):
            if layout == NONE:
                own_layout = value.layout
                if isinstance(own_layout, ReferenceLayout):
                    return self.emit("less", value.leaves[0], 0) if own_layout.is_optional else False
                return own_layout == NONE
        match layouts:
            case StaticLayout(), StaticLayout():
                return layouts[0] == layouts[1]
            case (StaticLayout(), ReferenceLayout() | NumberLayout()) | (
                ReferenceLayout() | NumberLayout(),
                StaticLayout(),
            ):
                return False
            case ReferenceLayout(), ReferenceLayout():
                return self.emit("equal", left.leaves[0], right.leaves[0])
            case ConstantLayout(), ConstantLayout():
                values = layouts[0].value, layouts[1].value
                if all(isinstance(value, bool | type | FunctionType | Enum) for value in values):
                    return values[0] is values[1]
            case NumberLayout("b"), NumberLayout("b"):
                return self.emit("equal", left.leaves[0], right.leaves[0])
            case (NumberLayout("b"), ConstantLayout(bool())) | (ConstantLayout(bool()), NumberLayout("b")):
                return self.emit("equal", self.leaf_of(left), self.leaf_of(right))
            case (ReferenceLayout(), NumberLayout() | ConstantLayout()) | (
                NumberLayout() | ConstantLayout(),
                ReferenceLayout(),
            ):
                return False
        raise NotSpeculable(f"`is` of {layouts[0]} and {layouts[1]} has no graph")


def _is_plain_enum(value: Any) -> bool:
    """Whether a value is a member of an enumeration that is equal only to itself."""
    return isinstance(value, Enum) and static_attribute(type(value), "__eq__") is object.__eq__


def _is_array(layout: Layout) -> bool:
    """Whether a value is an array, and no scalar of NumPy."""
    if isinstance(layout, NumpyLayout):
        return layout.type.shape != ()
    return isinstance(layout, ArrayLayout) or numpy_arrays.is_numpy(layout)


def _is_tuple(layout: Layout) -> bool:
    """Whether a value is a tuple, and of no class that derives from it."""
    if isinstance(layout, ConstantLayout):
        return type(layout.value) is tuple
    return isinstance(layout, TupleLayout) and layout.kind is tuple


_COMPARISON_METHODS = {"Eq": "eq", "NotEq": "ne", "Lt": "lt", "LtE": "le", "Gt": "gt", "GtE": "ge"}
_REFLECTED = {"Eq": "Eq", "NotEq": "NotEq", "Lt": "Gt", "LtE": "GtE", "Gt": "Lt", "GtE": "LtE"}
_ORDER = tuple(_COMPARISON_METHODS.values())
