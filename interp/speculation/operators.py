"""Operators and comparisons: of numbers, strings, lists and objects with special methods; and identity."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from types import FunctionType
from typing import Any

from . import arithmetic, containers, library, static_containers, text
from .dataclass_fields import dataclass_of, fields_of
from .layouts import (
    NONE,
    UNASSIGNED,
    ArrayLayout,
    ConstantLayout,
    DictPool,
    Layout,
    ListPool,
    NotSpeculable,
    NumberLayout,
    Pool,
    ReferenceLayout,
    StaticLayout,
    TextLayout,
    TupleLayout,
    class_name,
    number_kind,
    options_of,
)
from .object_operations import ObjectOperations
from .recording import python_function
from .staging import (
    StagedValue,
)


class PythonOperators(ObjectOperations):
    """The generation of operators and comparisons."""

    def binary(self, op: ast.operator, one: StagedValue, other: StagedValue, node: ast.AST) -> StagedValue:
        """A binary operator of Python, or an assignment with it."""

        def operate(pair: Sequence[StagedValue]) -> StagedValue:
            name = type(op).__name__
            if name == "Add" and all(map(text.is_text, pair)) and any(isinstance(p.layout, TextLayout) for p in pair):
                return text.concatenate(self, pair)
            if any(isinstance(each.layout, ReferenceLayout) for each in pair):
                return self._operate_on_objects(name, pair[0], pair[1], node)
            return arithmetic.binary(self, name, pair[0], pair[1], node)

        return self.dispatch_all([self.read_variable(one), self.read_variable(other)], operate)

    def _operate_on_objects(self, name: str, one: StagedValue, other: StagedValue, node: ast.AST) -> StagedValue:
        """A binary operator of which an operand is an object: a call of its special method, or of a list."""
        special = arithmetic.SPECIAL_METHODS[name]
        if not isinstance(one.layout, ReferenceLayout):
            if number_kind(one.layout) is None:
                raise NotSpeculable(f"`{name}` of {one.layout} and {other.layout} has no graph")
            return self.call_special(other, f"__r{special}__", [one], node)
        if isinstance(other.layout, ReferenceLayout):
            self.refuse_reflection(one.layout, other.layout, f"__r{special}__")

        def call(kind: type, instance: StagedValue) -> StagedValue:
            if issubclass(kind, Pool):
                return self._operate_on_list(name, instance, other, node)
            is_in_place = isinstance(node, ast.AugAssign)
            has_in_place = is_in_place and self.require_class_value(kind, f"__i{special}__") is not UNASSIGNED
            return self.call_special(instance, f"__i{special}__" if has_in_place else f"__{special}__", [other], node)

        return self.for_each_class(one, node, call)

    def refuse_reflection(self, one: ReferenceLayout, other: ReferenceLayout, method: str) -> None:
        """Raises NotSpeculable where Python would ask the right operand first, since its class derives from the
        left one's."""
        for owner in one.classes:
            for each in other.classes:
                is_derived = each is not owner and issubclass(each, owner)
                if is_derived and self.require_class_value(each, method) is not UNASSIGNED:
                    raise NotSpeculable(f"{each.__qualname__}.{method} has priority over that of {owner.__qualname__}")

    def _operate_on_list(self, name: str, one: StagedValue, other: StagedValue, node: ast.AST) -> StagedValue:
        if name == "Add" and isinstance(other.layout, ReferenceLayout):
            if isinstance(node, ast.AugAssign):
                self.call_library(library.extend, [one, other])
                return one
            return self.call_library(library.concatenate, [one, other])
        if name == "Mult" and number_kind(other.layout) in ("i", "b") and not isinstance(node, ast.AugAssign):
            return self.call_library(library.repeat, [one, other])
        raise NotSpeculable(f"`{name}` of a list and {other.layout} has no graph")

    def call_library(self, function: Any, arguments: Sequence[StagedValue]) -> StagedValue:
        """A call of a function that says in Python what a builtin does."""
        if any(isinstance(each.layout, ReferenceLayout) and self._has_comparison(each.layout) for each in arguments):
            raise NotSpeculable(f"{function.__name__} of objects with a comparison of their own has no graph")
        assert self.current_node is not None
        return self.call_python(function, arguments, {}, self.current_node)

    def compare(self, op: ast.cmpop, one: StagedValue, other: StagedValue, node: ast.AST) -> StagedValue:
        """A comparison of two values."""
        name = type(op).__name__
        if name in ("In", "NotIn"):
            return self._contains(name, one, other, node)
        operands = [one, other] if name in ("Is", "IsNot") else [self.read_variable(one), self.read_variable(other)]
        return self.dispatch_all(operands, lambda pair: self._compare(name, pair[0], pair[1], node))

    def _contains(self, name: str, item: StagedValue, container: StagedValue, node: ast.AST) -> StagedValue:
        if isinstance(container.layout, StaticLayout):
            is_in = static_containers.contains_key(self, container.layout.object, item)
            return self.constant(is_in is (name == "In"))
        if isinstance(container.layout, ReferenceLayout):

            def has_item(kind: type, each: StagedValue) -> StagedValue:
                if issubclass(kind, DictPool):
                    return containers.contains_key(self, kind, each, item)
                if issubclass(kind, ListPool):
                    return self.call_library(library.contains, [each, item])
                truth = self.truth(self.call_special(each, "__contains__", [item], node), node)
                return self.predicate_value(truth)

            has_key = self.truth(self.for_each_class(container, node, has_item), node)
            if name == "NotIn":
                has_key = not has_key if isinstance(has_key, bool) else self.emit("logical_not", has_key)
            return self.predicate_value(has_key)
        is_tuple = isinstance(container.layout, TupleLayout) or (
            isinstance(container.layout, ConstantLayout) and type(container.layout.value) is tuple
        )
        values = (item, *(self.items(container) if is_tuple else ()))
        if any(number_kind(option) == "f" for each in values for option in options_of(each.layout)):
            raise NotSpeculable("`in` with floats has no graph: NaN is itself, but not equal to itself")
        if not is_tuple:
            raise NotSpeculable(f"`in` a {container.layout} has no graph")
        if any(self._has_own_comparison(option) for each in values for option in options_of(each.layout)):
            raise NotSpeculable("`in` a tuple with objects with a comparison of their own has no graph")
        found: Any = False
        for each in self.items(container):
            equal = self.truth(
                self.dispatch_all([item, each], lambda pair: self._compare("Eq", pair[0], pair[1], node)), node
            )
            if isinstance(equal, bool):
                found = True if equal else found
            else:
                found = found if found is True else equal if found is False else self.emit("logical_or", found, equal)
        if name == "NotIn":
            found = not found if isinstance(found, bool) else self.emit("logical_not", found)
        return self.predicate_value(found)

    def _compare(self, name: str, one: StagedValue, other: StagedValue, node: ast.AST) -> StagedValue:
        layouts = one.layout, other.layout
        if any(isinstance(each, ArrayLayout) for each in layouts) and name not in ("Is", "IsNot"):
            return arithmetic.compare(self, name, one, other, node)
        kinds = [number_kind(each) for each in layouts]
        if name in ("Is", "IsNot"):
            same = self._is_same(one, other)
            if name == "IsNot":
                same = not same if isinstance(same, bool) else self.emit("logical_not", same)
            return self.predicate_value(same)
        if None not in kinds:
            return arithmetic.compare(self, name, one, other, node)
        if any(isinstance(each, ReferenceLayout) and self._has_comparison(each) for each in layouts):
            return self._compare_objects(name, one, other, node)
        is_of_texts = (
            text.is_text(one) and text.is_text(other) and any(isinstance(each, TextLayout) for each in layouts)
        )
        if name in ("Eq", "NotEq") and is_of_texts:
            handles = [text.handle_of(self, each) for each in (one, other)]
            return self.predicate_value(self.emit("equal" if name == "Eq" else "not_equal", *handles))
        if name not in ("Eq", "NotEq"):
            raise NotSpeculable(f"{layouts[0]} and {layouts[1]} are compared by order")
        for layout in layouts:
            if isinstance(layout, ReferenceLayout):
                for owner in layout.classes:
                    if issubclass(owner, Pool):
                        raise NotSpeculable(f"`==` of a {class_name(owner)} has no graph")
                    if self.require_class_value(owner, "__eq__") is not object.__eq__:
                        raise NotSpeculable(f"{owner.__qualname__} has __eq__")
                    if self.require_class_value(owner, "__ne__") is not object.__ne__:
                        raise NotSpeculable(f"{owner.__qualname__} has __ne__")
            elif isinstance(layout, TupleLayout | StaticLayout) or (
                isinstance(layout, ConstantLayout)
                and type(layout.value) not in (bool, int, float, str, type(None))
                and type(layout.value) not in (FunctionType, type)
            ):
                raise NotSpeculable(f"`==` of a {layout} has no graph")
        if all(isinstance(each, ConstantLayout) for each in layouts):
            same = bool(layouts[0].value == layouts[1].value)  # type: ignore[union-attr]
        else:
            same = self._is_same(one, other)
        if name == "NotEq":
            same = not same if isinstance(same, bool) else self.emit("logical_not", same)
        return self.predicate_value(same)

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

    def _has_own_comparison(self, layout: Layout) -> bool:
        """Whether `==` of a value may be a call of Python code."""
        if isinstance(layout, StaticLayout):
            return True
        return isinstance(layout, ReferenceLayout) and self._has_comparison(layout)

    def _compare_objects(self, name: str, one: StagedValue, other: StagedValue, node: ast.AST) -> StagedValue:
        """A comparison of which an operand is an object whose class defines it."""
        special = f"__{_COMPARISON_METHODS[name]}__"
        reflected = f"__{_COMPARISON_METHODS[_REFLECTED[name]]}__"
        if name == "NotEq":
            equal = self.truth(self._compare_objects("Eq", one, other, node), node)
            owners = [
                each
                for part in (one, other)
                if isinstance(part.layout, ReferenceLayout)
                for each in part.layout.classes
            ]
            if any(self.require_class_value(owner, "__ne__") is not object.__ne__ for owner in owners):
                raise NotSpeculable("a class has __ne__")
            return self.predicate_value(not equal if isinstance(equal, bool) else self.emit("logical_not", equal))
        if not isinstance(one.layout, ReferenceLayout):
            return self.call_special(other, reflected, [one], node)
        if isinstance(other.layout, ReferenceLayout):
            self.refuse_reflection(one.layout, other.layout, reflected)

        def compare(kind: type, instance: StagedValue) -> StagedValue:
            method = UNASSIGNED if issubclass(kind, Pool) else self.require_class_value(kind, special)
            is_of_dataclass = not issubclass(kind, Pool) and dataclass_of(kind, special) is not None
            if isinstance(python_function(method), FunctionType) and not is_of_dataclass:
                return self.call_special(instance, special, [other], node)
            if name != "Eq" or not (is_of_dataclass or method is object.__eq__):
                raise NotSpeculable(f"{class_name(kind)} has no {special} of Python code")
            if not isinstance(other.layout, ReferenceLayout):
                return self.constant(False)
            return self.for_each_class(other, node, lambda owner, each: compare_with(kind, instance, owner, each))

        def compare_with(kind: type, instance: StagedValue, owner: type, each: StagedValue) -> StagedValue:
            if dataclass_of(kind, special) is not None:
                if owner is kind:
                    return self._compare_dataclasses(kind, instance, each, node)
                raise NotSpeculable("`==` of dataclasses of two classes has no graph")
            method = self.require_class_value(owner, reflected)
            if method is object.__eq__:
                return self.predicate_value(self._is_same(instance, each))
            return self.call_special(each, reflected, [instance], node)

        return self.for_each_class(one, node, compare)

    def _compare_dataclasses(self, owner: type, one: StagedValue, other: StagedValue, node: ast.AST) -> StagedValue:
        """`==` of two instances of a dataclass: that of tuples of their fields."""
        names = [each.name for each in fields_of(dataclass_of(owner, "__eq__")) if each.compare]

        def go(rest: list[str]) -> StagedValue:
            if not rest:
                return self.constant(True)
            values = [self.read_attribute(each, rest[0], node) for each in (one, other)]
            if any(not isinstance(each.layout, NumberLayout) for each in values):
                raise NotSpeculable("`==` of dataclasses with fields other than numbers has no graph")
            for each in values:
                if number_kind(each.layout) == "f":
                    is_number = self.emit("equal", each.leaves[0], each.leaves[0])
                    self.check(is_number, node, "it is not NaN", "tuples with the same NaN are equal")
            predicate = self.truth(self._compare("Eq", values[0], values[1], node), node)
            return self.branch(predicate, lambda: go(rest[1:]), lambda: self.constant(False))

        return go(names)

    def _is_same(self, one: StagedValue, other: StagedValue) -> Any:
        """Whether two values are one object: a Python bool, or a symbolic one."""
        layouts = one.layout, other.layout
        for value, layout in ((one, layouts[1]), (other, layouts[0])):
            if layout == NONE:
                own = value.layout
                if isinstance(own, ReferenceLayout):
                    return self.emit("less", value.leaves[0], 0) if own.is_optional else False
                return own == NONE
        match layouts:
            case StaticLayout(), StaticLayout():
                return layouts[0] == layouts[1]
            case (StaticLayout(), ReferenceLayout() | NumberLayout()) | (
                ReferenceLayout() | NumberLayout(),
                StaticLayout(),
            ):
                return False
            case ReferenceLayout(), ReferenceLayout():
                return self.emit("equal", one.leaves[0], other.leaves[0])
            case ConstantLayout(), ConstantLayout():
                values = layouts[0].value, layouts[1].value
                if all(isinstance(each, bool | type | FunctionType) for each in values):
                    return values[0] is values[1]
            case NumberLayout("b"), NumberLayout("b"):
                return self.emit("equal", one.leaves[0], other.leaves[0])
            case (NumberLayout("b"), ConstantLayout(bool())) | (ConstantLayout(bool()), NumberLayout("b")):
                return self.emit("equal", self.leaf_of(one), self.leaf_of(other))
            case (ReferenceLayout(), NumberLayout() | ConstantLayout()) | (
                NumberLayout() | ConstantLayout(),
                ReferenceLayout(),
            ):
                return False
        raise NotSpeculable(f"`is` of {layouts[0]} and {layouts[1]} has no graph")


_COMPARISON_METHODS = {"Eq": "eq", "NotEq": "ne", "Lt": "lt", "LtE": "le", "Gt": "gt", "GtE": "ge"}
_REFLECTED = {"Eq": "Eq", "NotEq": "NotEq", "Lt": "Gt", "LtE": "GtE", "Gt": "Lt", "GtE": "LtE"}
_ORDER = tuple(_COMPARISON_METHODS.values())
