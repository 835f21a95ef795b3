"""Operations on objects: attributes, items, special methods, new objects, their truth and length."""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence
from enum import Enum, EnumType
from functools import partial
from types import FunctionType, ModuleType
from typing import Any

from ...core.errors import with_article
from ...core.frontend.eager.variable import Variable
from ..training.optimizers import Optimizer
from . import containers, library, numpy_arrays, static_containers, text, training
from .arithmetic import as_kind
from .dataclass_fields import MISSING_DEFAULT, Field, dataclass_fields
from .heap import FieldKey, VariableKey, class_problem, has_dict, slots_of, static_attribute
from .layouts import (
    MISSING,
    NONE,
    POOLS,
    UNASSIGNED,
    ArrayLayout,
    ConstantLayout,
    ListPool,
    NotSpeculable,
    NumberLayout,
    NumpyLayout,
    Pool,
    ReferenceLayout,
    StaticLayout,
    TupleLayout,
    class_name,
    is_named_tuple,
    join,
    number_kind,
    options_of,
)
from .program_functions import ProgramFunctions
from .recording import python_function
from .staging import (
    NONE_VALUE,
    NewObject,
    StagedValue,
    constant_leaf,
)

MAX_CHOSEN_ITEMS = 16
"""The largest number of items of a tuple that a computed index chooses from."""


class ObjectOperations(ProgramFunctions):
    """Generates Python's operations on objects of the user's classes, lists and dicts."""

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self.is_in_init = False
        """Whether the `__init__` of a frozen dataclass is being generated."""

    def call_value(
        self, function: StagedValue, arguments: list[StagedValue], keywords: dict[str, StagedValue], node: ast.expr
    ) -> StagedValue:
        """A call of a value."""
        raise NotImplementedError

    def name_array(self, value: StagedValue) -> StagedValue:
        """A value that is assigned, stored or passed on: a new array of NumPy gets a row of the table."""
        return numpy_arrays.name_array(self, value)

    def read_attribute(self, owner: StagedValue, name: str, node: ast.AST) -> StagedValue:
        """`owner.name`."""
        return self.dispatch(owner, lambda option: self._read_attribute(option, name, node))

    def _read_attribute(self, owner: StagedValue, name: str, node: ast.AST) -> StagedValue:
        if numpy_arrays.is_numpy(owner.layout):
            return numpy_arrays.read_attribute(self, owner, name)
        match owner.layout:
            case StaticLayout(static) if static.owner is Variable or issubclass(static.owner, Optimizer):
                return training.read_attribute(self, static, name)
            case ReferenceLayout() | StaticLayout():
                return self.for_each_class(
                    owner, node, lambda kind, value: self._read_field(kind, value, name, node), AttributeError
                )
            case ConstantLayout(value) if type(value) is ModuleType:
                if name not in vars(value):
                    raise NotSpeculable(f"module {value.__name__} has no {name} of its own")
                key = VariableKey(vars(value), name)
                return StagedValue(self.layout_of_key(key), self.leaves_of(key))
            case ConstantLayout(value) if type(value) is type and name in ("__name__", "__qualname__"):
                return self.constant(self.requirements.attributes.setdefault((value, name), getattr(value, name)))
            case ConstantLayout(value) if type(value) is type:
                return self._read_class_attribute(value, name)
            case ConstantLayout(value) if type(value) is EnumType and name in value.__members__:
                return self.constant(value.__members__[name])
            case ConstantLayout(value) if isinstance(value, Enum) and _is_plain_enum_attribute(type(value), name):
                key = VariableKey(vars(value), f"_{name}_")
                return StagedValue(self.layout_of_key(key), self.leaves_of(key))
            case TupleLayout(kind=kind) if is_named_tuple(kind):
                return self._read_named_tuple(owner, kind, name)
            case ArrayLayout(type_) if name == "dtype":
                return self.constant(type_.dtype)
            case ArrayLayout(type_) if name == "ndim" and type_.shape is not None:
                return self.constant(len(type_.shape))
            case ArrayLayout(type_) if name == "shape" and type_.shape is not None and None not in type_.shape:
                return self.tuple_of([self.constant(size) for size in type_.shape])
            case ArrayLayout() if name in ("T", "mT"):
                return self.wrap_array(self.located(lambda: getattr(owner.leaves[0], name)))
        if owner.layout == NONE:
            self.fail_on_none(node)
        raise NotSpeculable(f"attribute {name} of {owner.layout} has no graph")

    def _read_field(self, kind: type, owner: StagedValue, name: str, node: ast.AST) -> StagedValue:
        if issubclass(kind, Pool) or kind in POOLS:
            raise NotSpeculable(f"attribute {name} of {with_article(class_name(kind))} has no graph")
        if name == "__class__" and self.require_class_value(kind, name) is object.__dict__[name]:
            return self.constant(kind)
        member = self.require_member(kind, name)
        if isinstance(member, property):
            if not isinstance(member.fget, FunctionType):
                raise NotSpeculable(f"property {kind.__qualname__}.{name} has no Python code")
            return self.call_python(member.fget, [owner], {}, node)
        if member is not UNASSIGNED and _is_data_descriptor(member):
            raise NotSpeculable(f"{kind.__qualname__}.{name} is a descriptor")
        key = self.attribute_key(kind, owner, name)
        layout = self.layout_of_key(key)
        if isinstance(member, FunctionType) and MISSING in options_of(layout):
            raise NotSpeculable(f"a bound method is a value: {name} of {with_article(kind.__qualname__)}")
        if layout == MISSING and member is not UNASSIGNED:
            self._require_class_level(kind, name)
            return self._read_class_attribute(kind, name)
        new = self.new_object(owner)
        if new is not None and not new.has(name) and MISSING not in options_of(layout):
            self.widen(key, join(layout, MISSING))
        if member is UNASSIGNED or MISSING not in options_of(layout):
            return self.read_row(key, owner, node)
        row = self.row(key, owner)
        is_missing = self.emit("equal", row.leaves[0], options_of(layout).index(MISSING))
        return self.branch(is_missing, lambda: self._read_class_attribute(kind, name), lambda: self.drop_missing(row))

    def _read_named_tuple(self, owner: StagedValue, kind: Any, name: str) -> StagedValue:
        """An attribute of a named tuple: an item, or a property."""
        member = self.require_class_value(kind, name)
        if name in kind._fields and not isinstance(member, property):
            position: int = kind._fields.index(name)
            return self.items(owner)[position]
        if isinstance(member, property) and isinstance(member.fget, FunctionType):
            assert self.current_node is not None
            return self.call_python(member.fget, [owner], {}, self.current_node)
        raise NotSpeculable(f"attribute {name} of a {kind.__qualname__} has no graph")

    def find_attribute(
        self,
        owner: StagedValue,
        name: str,
        node: ast.AST,
        on_present: Callable[[StagedValue], StagedValue],
        on_absent: Callable[[], StagedValue],
    ) -> StagedValue:
        """Apply `on_present` to `owner.name`, or call `on_absent` if an object has no such attribute."""

        def read(kind: type, instance: StagedValue) -> StagedValue:
            if (
                issubclass(kind, Pool)
                or kind in POOLS
                or name.startswith("__")
                or self.new_object(instance) is not None
            ):
                raise NotSpeculable(f"whether {with_article(class_name(kind))} has {name} has no graph")
            if self.require_member(kind, name) is not UNASSIGNED:
                return on_present(self._read_field(kind, instance, name, node))
            key = self.attribute_key(kind, instance, name)
            layout = self.layout_of_key(key)
            if layout == MISSING:
                return on_absent()
            row = self.row(key, instance)
            if MISSING not in options_of(layout):
                return on_present(row)
            is_missing = self.emit("equal", row.leaves[0], options_of(layout).index(MISSING))
            return self.branch(is_missing, on_absent, lambda: on_present(self.drop_missing(row)))

        def read_option(option: StagedValue) -> StagedValue:
            if not isinstance(option.layout, ReferenceLayout | StaticLayout):
                raise NotSpeculable(f"whether {with_article(option.layout)} has {name} has no graph")
            return self.for_each_class(option, node, read)

        return self.dispatch(owner, read_option)

    def _read_class_attribute(self, owner: type, name: str) -> StagedValue:
        """`owner.name` of a class: a function, or a variable of the class that defines it."""
        if class_problem(owner) is not None:
            raise NotSpeculable(f"attribute {name} of {owner.__qualname__} has no graph")
        position = next((k for k, base in enumerate(owner.__mro__) if name in base.__dict__), None)
        if position is None:
            raise NotSpeculable(f"{owner.__qualname__} has no attribute {name}")
        definer = owner.__mro__[position]
        member = definer.__dict__[name]
        if isinstance(member, FunctionType | staticmethod) or _is_data_descriptor(member):
            member = self.require_class_value(owner, name)
            if isinstance(member, staticmethod):
                return self.constant(member.__func__)
            if isinstance(member, FunctionType):
                return self.constant(member)
            raise NotSpeculable(f"{owner.__qualname__}.{name} is a descriptor")
        self.resolution_orders[owner] = owner.__mro__
        self.requirements.missing_class_names |= {(before, name) for before in owner.__mro__[:position]}
        key = VariableKey(definer, name)
        return StagedValue(self.layout_of_key(key), self.leaves_of(key))

    def require_member(self, owner: type, name: str) -> Any:
        """The attribute of a class that has the name of an attribute of instances: a descriptor, a function, a
        variable, whose value may change, or UNASSIGNED, also for a slot."""
        member = static_attribute(owner, name, UNASSIGNED)
        if member is not UNASSIGNED and slots_of(owner).get(name) is member:
            self.require_class_value(owner, name)
            return UNASSIGNED
        if member is UNASSIGNED or isinstance(member, FunctionType) or _is_data_descriptor(member):
            return self.require_class_value(owner, name)
        self.requirements.class_variables.add((owner, name))
        return member

    def _require_class_level(self, kind: type, name: str) -> None:
        self.requirements.class_level_names.setdefault(kind, set()).add(name)

    def write_attribute(self, owner: StagedValue, name: str, value: StagedValue, node: ast.AST) -> None:
        """`owner.name = value`."""

        def write(kind: type, instance: StagedValue) -> StagedValue:
            if issubclass(kind, Pool) or kind in POOLS or kind is Variable:
                raise NotSpeculable(f"an attribute of {with_article(class_name(kind))} is assigned")
            member = self.require_member(kind, name)
            if isinstance(member, property) or _is_data_descriptor(member):
                if isinstance(member, property) and isinstance(member.fset, FunctionType):
                    self.call_python(member.fset, [instance, value], {}, node)
                    return NONE_VALUE
                raise NotSpeculable(f"{kind.__qualname__}.{name} is a descriptor")
            if type(kind) is type and not has_dict(kind) and name not in slots_of(kind):
                raise NotSpeculable(f"{kind.__qualname__} has no slot {name}")
            if issubclass(kind, Optimizer) and name != "rate":
                raise NotSpeculable(f"{name} of an optimizer is assigned")
            if static_attribute(kind, "__setattr__") is not object.__setattr__ and not self.is_in_init:
                self.check(False, node, "it is not reached", "Python raises FrozenInstanceError")
            key, new = self.attribute_key(kind, instance, name), self.new_object(instance)
            find_row = partial(self.index_in, key, instance) if isinstance(key, FieldKey) else None
            self.write_heap(key, value, node, find_row, is_new=new is not None)
            if new is not None:
                self.replace_new_object(new, new.assign(name))
            return NONE_VALUE

        def write_option(target: StagedValue) -> StagedValue:
            if isinstance(target.layout, ConstantLayout) and type(target.layout.value) is type:
                self._write_class_attribute(target.layout.value, name, value, node)
                return NONE_VALUE
            if not isinstance(target.layout, ReferenceLayout | StaticLayout):
                if target.layout == NONE:
                    self.fail_on_none(node)
                raise NotSpeculable(f"an assignment to an attribute of {target.layout} has no graph")
            return self.for_each_class(target, node, write, AttributeError)

        self.dispatch(owner, write_option)

    def _write_class_attribute(self, owner: type, name: str, value: StagedValue, node: ast.AST) -> None:
        if class_problem(owner) is not None or name not in owner.__dict__:
            raise NotSpeculable(f"{owner.__qualname__}.{name} is assigned, which the class does not have itself")
        member = owner.__dict__[name]
        is_variable = not isinstance(member, FunctionType | staticmethod) and not _is_data_descriptor(member)
        if not is_variable or name.startswith("__"):
            raise NotSpeculable(f"{owner.__qualname__}.{name} is assigned, which is not a variable")
        self.write_heap(VariableKey(owner, name), value, node)

    def read_item(self, owner: StagedValue, index: StagedValue, node: ast.AST) -> StagedValue:
        """`owner[index]`."""
        return self.dispatch_all([owner, index], lambda pair: self._read_item(pair[0], pair[1], node))

    def write_item(self, owner: StagedValue, index: StagedValue, value: StagedValue, node: ast.AST) -> None:
        """`owner[index] = value`."""

        def write(pair: Sequence[StagedValue]) -> StagedValue:
            container, position = pair
            if isinstance(container.layout, StaticLayout):
                static_containers.write_item(self, container.layout.object, position, value, node)
                return NONE_VALUE
            if not isinstance(container.layout, ReferenceLayout):
                raise NotSpeculable(f"an assignment to an item of {container.layout} has no graph")
            if numpy_arrays.is_reference(container.layout):
                numpy_arrays.write_item(self, container, position, value, node)
                return NONE_VALUE

            def write_class(kind: type, instance: StagedValue) -> StagedValue:
                if not issubclass(kind, Pool):
                    return self.call_special(instance, "__setitem__", [position, value], node)
                containers.write_item(self, kind, instance, position, value, node)
                return NONE_VALUE

            return self.for_each_class(container, node, write_class)

        self.dispatch_all([owner, index], write)

    def delete_item(self, owner: StagedValue, index: StagedValue, node: ast.AST) -> None:
        """`del owner[index]`."""

        def delete(pair: Sequence[StagedValue]) -> StagedValue:
            container, position = pair
            if self.is_static(container, list, dict):
                self.make_general(container.layout.object)  # type: ignore[union-attr]
            if not isinstance(container.layout, ReferenceLayout):
                raise NotSpeculable(f"an item of {container.layout} is deleted")

            def delete_of_class(kind: type, instance: StagedValue) -> StagedValue:
                if not issubclass(kind, Pool):
                    return self.call_special(instance, "__delitem__", [position], node)
                containers.delete_item(self, kind, instance, position, node)
                return NONE_VALUE

            return self.for_each_class(container, node, delete_of_class)

        self.dispatch_all([owner, index], delete)

    def _read_item(self, value: StagedValue, index: StagedValue, node: ast.AST) -> StagedValue:
        value = self.read_variable(value)
        if numpy_arrays.is_numpy(value.layout):
            return numpy_arrays.read_item(self, value, self.array_key(index))
        if isinstance(value.layout, StaticLayout):
            return static_containers.read_item(self, value.layout.object, index, node)
        if isinstance(value.layout, ReferenceLayout):

            def read(kind: type, instance: StagedValue) -> StagedValue:
                if not issubclass(kind, Pool):
                    return self.call_special(instance, "__getitem__", [index], node)
                return containers.read_item(self, kind, instance, index, node)

            return self.for_each_class(value, node, read)
        if isinstance(value.layout, ArrayLayout):
            key = self.array_key(index)
            return self.wrap_array(self.located(lambda: value.leaves[0][key]))
        constant = value.layout.value if isinstance(value.layout, ConstantLayout) else None
        if type(constant) is str and isinstance(index.layout, ConstantLayout):
            key = index.layout.value
            if type(key) in (int, bool, slice):
                return text.read_item(self, constant, key, node)
        if type(constant) is str and number_kind(index.layout) in ("i", "b"):
            return self._choose_item([self.constant(character) for character in constant], index, node)
        if isinstance(value.layout, TupleLayout) and number_kind(index.layout) in ("i", "b"):
            return self._choose_item(self.items(value), index, node)
        raise NotSpeculable(f"an item of {with_article(value.layout)} under {with_article(index.layout)} has no graph")

    def _choose_item(self, items: Sequence[StagedValue], index: StagedValue, node: ast.AST) -> StagedValue:
        """The item of a tuple under an index, which is asserted to be in range. If the index is computed, there is a
        branch for each item."""
        count, number = len(items), as_kind(self, index, "i")
        claim, reason = "the index is in range", "Python raises IndexError where it is not"
        if isinstance(index.layout, ConstantLayout) or not items:
            is_item = isinstance(number, int) and -count <= number < count
            self.check(is_item, node, claim, reason, raises=IndexError)
            return items[int(number)]
        if count > MAX_CHOSEN_ITEMS:
            raise NotSpeculable(f"an item of a tuple of {count} items under a computed index has no graph")
        is_inside = self.emit(
            "logical_and", self.emit("greater_equal", number, -count), self.emit("less", number, count)
        )
        self.check(is_inside, node, claim, reason, raises=IndexError)
        position = self.emit("where", self.emit("less", number, 0), self.emit("add", number, count), number)

        def choose_from(first: int) -> StagedValue:
            if first == count - 1:
                return items[first]
            is_this = self.emit("equal", position, first)
            return self.branch(is_this, lambda: items[first], lambda: choose_from(first + 1))

        return choose_from(0)

    def read_part(self, owner: StagedValue, bounds: Sequence[StagedValue], node: ast.AST) -> StagedValue:
        """`owner[lower:upper:step]`; the bounds that are left out are None. The part of a list is a copy."""
        return self.dispatch_all([self.read_variable(owner), *bounds], lambda values: self._read_part(values, node))

    def _read_part(self, values: Sequence[StagedValue], node: ast.AST) -> StagedValue:
        owner, lower, upper, step = values
        classes = owner.layout.classes if isinstance(owner.layout, ReferenceLayout) else ()
        if classes and all(issubclass(kind, ListPool) for kind in classes):
            return self._read_part_of_list(owner, lower, upper, step, node)
        bounds = [bound.layout.value for bound in (lower, upper, step) if isinstance(bound.layout, ConstantLayout)]
        if len(bounds) < 3:
            raise NotSpeculable(f"a slice of {with_article(owner.layout)} with computed bounds has no graph")
        if isinstance(owner.layout, TupleLayout) and owner.layout.kind is not list:
            try:
                return self.tuple_of(self.items(owner)[slice(*bounds)])
            except (TypeError, ValueError) as error:
                raise NotSpeculable(f"the slice `{ast.unparse(node)}` raises: {error}") from None
        return self._read_item(owner, self.constant(slice(*bounds)), node)

    def _read_part_of_list(
        self, items: StagedValue, lower: StagedValue, upper: StagedValue, step: StagedValue, node: ast.AST
    ) -> StagedValue:
        stride = step.layout.value if isinstance(step.layout, ConstantLayout) else 0
        are_ints = all(
            bound.layout == NONE or number_kind(bound.layout) in ("i", "b") for bound in (lower, upper, step)
        )
        if are_ints and stride == -1 and lower.layout == upper.layout == NONE:
            return self.call_library(library.backward, [items])
        if not are_ints or stride not in (None, 1):
            raise NotSpeculable(f"the slice `{ast.unparse(node)}` of a list has no graph")
        first = self.constant(0) if lower.layout == NONE else lower
        if upper.layout == NONE:
            return self.call_library(library.tail, [items, first])
        return self.call_library(library.part, [items, first, upper])

    def array_key(self, index: StagedValue) -> Any:
        """The key of an item of an array: constants, ints and arrays."""
        index = numpy_arrays.read_elements(self, index)
        if isinstance(index.layout, TupleLayout):
            return tuple(self.array_key(item) for item in self.items(index))
        if isinstance(index.layout, ConstantLayout):
            return constant_leaf(index.layout)
        if number_kind(index.layout) == "i" or isinstance(index.layout, ArrayLayout | NumpyLayout):
            return index.leaves[0]
        raise NotSpeculable(f"an item of an array under {with_article(index.layout)} has no graph")

    def call_special(
        self,
        owner: StagedValue,
        name: str,
        arguments: Sequence[StagedValue],
        node: ast.AST,
        keywords: dict[str, StagedValue] | None = None,
    ) -> StagedValue:
        """A call of a special method, which Python finds in the class of an object."""

        def call(kind: type, instance: StagedValue) -> StagedValue:
            member = UNASSIGNED if issubclass(kind, Pool) else self.require_class_value(kind, name)
            if not isinstance(python_function(member), FunctionType):
                raise NotSpeculable(f"{class_name(kind)} has no {name} of Python code")
            result = self.call_python(python_function(member), [instance, *arguments], keywords or {}, node)
            if any(option == ConstantLayout(NotImplemented) for option in options_of(result.layout)):
                raise NotSpeculable(f"{class_name(kind)}.{name} may return NotImplemented")
            return result

        return self.for_each_class(owner, node, call)

    def construct(
        self, owner: type, arguments: Sequence[StagedValue], keywords: dict[str, StagedValue], node: ast.expr
    ) -> StagedValue:
        """A new object of a class."""
        if self.require_class_value(owner, "__new__") is not object.__new__:
            raise NotSpeculable(f"{owner.__qualname__} has __new__")
        init = self.require_class_value(owner, "__init__")
        value = self.allocate(owner, node)
        self.state.new_objects = (*self.state.new_objects, NewObject(value.leaves[0], owner))
        fields = dataclass_fields(owner)
        if fields is not None:
            self._initialize_dataclass(value, fields, arguments, keywords, node)
        elif isinstance(python_function(init), FunctionType):
            if self.call_python(python_function(init), [value, *arguments], keywords, node).layout != NONE:
                raise NotSpeculable(f"{owner.__qualname__}.__init__ may return a value")
        elif init is not object.__init__:
            raise NotSpeculable(f"{owner.__qualname__}.__init__ has no Python code")
        elif arguments or keywords:
            self.check(False, node, "the call fits the parameters", "Python raises TypeError where it does not")
        new = self.new_object(value)
        assert new is not None
        self.publish(new)
        self.note_creation_orders(new)
        self.replace_new_object(new)
        return value

    def _initialize_dataclass(
        self,
        value: StagedValue,
        fields: Sequence[Field[Any]],
        arguments: Sequence[StagedValue],
        keywords: dict[str, StagedValue],
        node: ast.expr,
    ) -> None:
        """Generate the `__init__` of a dataclass."""
        assert isinstance(value.layout, ReferenceLayout)
        (owner,) = value.layout.classes
        positional = [field.name for field in fields if field.init and not field.kw_only]
        names = [field.name for field in fields if field.init]
        bound = dict(zip(positional, arguments, strict=False))
        is_wrong = len(arguments) > len(positional) or any(
            keyword in bound or keyword not in names for keyword in keywords
        )
        bound |= keywords
        is_wrong |= any(
            field.default is MISSING_DEFAULT and field.default_factory is MISSING_DEFAULT and field.name not in bound
            for field in fields
            if field.init
        )
        if is_wrong:
            self.check(False, node, "the call fits the parameters", "Python raises TypeError where it does not")
        for field in fields:
            if field.name in bound:
                content = bound[field.name]
            elif field.default_factory is not MISSING_DEFAULT:
                content = self.call_value(self.constant(field.default_factory), [], {}, node)
            elif field.init:
                content = self.default(field.name, field.default)
            else:
                continue
            self.is_in_init = True
            self.write_attribute(value, field.name, content, node)
            self.is_in_init = False
        if self.require_class_value(owner, "__post_init__") is not UNASSIGNED:
            self.call_special(value, "__post_init__", (), node)

    def length(self, value: StagedValue, node: ast.AST) -> StagedValue:
        """`len` of a list, or of an object with `__len__`."""
        if numpy_arrays.is_reference(value.layout):
            return self.items(numpy_arrays.read_attribute(self, value, "shape"))[0]

        def length(kind: type, instance: StagedValue) -> StagedValue:
            if issubclass(kind, Pool):
                return self.number("i", containers.length(self, kind, instance))
            count = self.call_special(instance, "__len__", (), node)
            if number_kind(count.layout) != "i":
                raise NotSpeculable(f"{class_name(kind)}.__len__ does not return an int")
            leaf = self.leaf_of(count)
            is_valid = self.emit("greater_equal", leaf, 0) if isinstance(count.layout, NumberLayout) else leaf >= 0
            self.check(is_valid, node, "the length is not negative", "Python raises ValueError where it is")
            return count

        return self.for_each_class(value, node, length)

    def truth_of_object(self, value: StagedValue, node: ast.AST) -> Any:
        """The truth of a list, which is true if it has items, or of an object that may have `__bool__` or `__len__`."""
        assert isinstance(value.layout, ReferenceLayout)
        owner = StagedValue(ReferenceLayout(value.layout.classes, False), value.leaves)

        def truth() -> StagedValue:
            return self.for_each_class(owner, node, truth_of_class)

        def truth_of_class(kind: type, instance: StagedValue) -> StagedValue:
            if issubclass(kind, Pool):
                return self.number("b", self.emit("greater", containers.length(self, kind, instance), 0))
            if self.require_class_value(kind, "__bool__") is not UNASSIGNED:
                value = self.call_special(instance, "__bool__", (), node)
                if number_kind(value.layout) != "b":
                    raise NotSpeculable(f"{class_name(kind)}.__bool__ does not return a bool")
                return value
            if self.require_class_value(kind, "__len__") is not UNASSIGNED:
                return self.predicate_value(self.truth(self.length(instance, node), node))
            return self.constant(True)

        if not value.layout.is_optional:
            return self.truth(truth(), node)
        is_object = self.emit("greater_equal", value.leaves[0], 0)
        return self.truth(self.branch(is_object, truth, lambda: self.constant(False)), node)


def _is_plain_enum_attribute(owner: type, name: str) -> bool:
    """Whether this is the value or the name of the members of an enumeration, as Python defines them."""
    return name in ("name", "value") and static_attribute(owner, name) is static_attribute(Enum, name)


def _is_data_descriptor(member: Any) -> bool:
    return (
        hasattr(type(member), "__set__")
        or hasattr(type(member), "__delete__")
        or (hasattr(type(member), "__get__") and not isinstance(member, FunctionType))
    )
