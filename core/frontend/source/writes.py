"""Writes: assignments to attributes and items, and augmented assignments, which announce what they change."""

from __future__ import annotations

import dataclasses
import operator
from collections import defaultdict
from collections.abc import Callable, Iterable
from types import WrapperDescriptorType
from typing import Any, NoReturn

import numpy as np

from ...errors import Invalid, describe_class
from ..trace.captures import VariableBase
from ..trace.program_builder import check_current, current_aliases
from ..trace.python_operations import perform
from ..trace.pytree import is_record
from ..trace.source_location import user_location
from ..trace.stacked_items import DICT_CLASSES, has_stacked_items
from .nested_lists import note_remaining_share, note_stacked_lists
from .sole_names import note_list_change, take_sole_name
from .state import CONTAINERS, AttributePlace, ItemsPlace, active_journal, record_write
from .trees import is_one_of_several, request_objects

AUGMENTED_OPERATORS: dict[str, Callable[[Any, Any], Any]] = {
    "+": operator.iadd,
    "-": operator.isub,
    "*": operator.imul,
    "/": operator.itruediv,
    "//": operator.ifloordiv,
    "%": operator.imod,
    "**": operator.ipow,
    "@": operator.imatmul,
    "&": operator.iand,
    "|": operator.ior,
    "^": operator.ixor,
    "<<": operator.ilshift,
    ">>": operator.irshift,
}
"""The function of each augmented assignment."""


def set_attribute(value: Any, instance: Any, name: str) -> None:
    """`instance.name = value`."""
    _check_copied(instance, name)
    if active_journal() is not None:
        announce_attribute(instance, name)
    perform(setattr, instance, name, value)


def delete_attribute(instance: Any, name: str) -> None:
    """`del instance.name`."""
    _check_copied(instance, name)
    if active_journal() is not None:
        announce_attribute(instance, name)
    perform(delattr, instance, name)


def _check_copied(instance: Any, name: str) -> None:
    """Raises Invalid (F4) for a record that is a copy, or has one: of an item, or of a variable of a branch or loop."""
    if is_record(instance) and is_one_of_several(instance):
        request_objects(instance)
        is_dataclass = dataclasses.is_dataclass(instance)
        other = f"dataclasses.replace(y, {name}=...)" if is_dataclass else f"{type(instance).__name__}(...)"
        refuse_rebuilt(instance, f"give the variable or item another instance: y = {other}")


def announce_attribute(instance: Any, name: str) -> None:
    """Announce a write to an attribute. Raises Invalid (F4) for an attribute that the class computes."""
    member = getattr(type(instance), name, None)
    if not isinstance(instance, VariableBase) and isinstance(member, property):
        raise Invalid(
            f"property {name} of {describe_class(instance)} is assigned under a symbolic condition",
            rule="F4",
            where=user_location(),
            hint="assign the attributes that it sets",
        )
    record_write(AttributePlace(instance, name, f"attribute {name} of {describe_class(instance)}"))


def set_item(value: Any, container: Any, key: Any) -> None:
    """`container[key] = value`."""
    announce_items(container)
    perform(operator.setitem, container, key, value)


def delete_item(container: Any, key: Any) -> None:
    """`del container[key]`."""
    announce_items(container)
    perform(operator.delitem, container, key)


def replace_items(container: Any, items: Iterable[Any]) -> None:
    """Give a list or deque, which has announced it, other items."""
    content = list(items)
    container.clear()
    container.extend(content)


def refuse_rebuilt(container: Any, hint: str) -> NoReturn:
    """Raise the error of a use of a list or dict that may be one of several, which needs to know the one."""
    raise _rebuilt_refusal(container, hint)


def _rebuilt_refusal(container: Any, hint: str) -> Invalid:
    return Invalid(
        f"this {type(container).__name__} comes from a symbolic branch or loop: it may be one of several",
        rule="F4",
        where=user_location(),
        hint=hint,
    )


def announce_items(container: Any) -> None:
    """Announce a change of items, which may move them. Raises Invalid (F4) where it could not be undone, or where the
    container may be one of several."""
    if type(container) in (list, *DICT_CLASSES):
        note_remaining_share(container)
        aliases = current_aliases()
        aliases.reordered_lists[id(container)] = container
        aliases.reordering_counts[id(container)] += 1
    announce_items_in_place(container)


def is_reordered(container: Any) -> bool:
    """Whether items of a list may have been moved or replaced."""
    return id(container) in current_aliases().reordered_lists


def note_in_place(container: Any) -> None:
    """Note that the latest change of a list has changed one of its items, and moved none."""
    current_aliases().reordered_lists.pop(id(container), None)


def note_row_write(container: Any) -> None:
    """Note that an item of a list has changed, which is a list that an array holds."""
    if has_stacked_items(container):
        current_aliases().has_row_writes = True


def announce_items_in_place(container: Any) -> None:
    """Announce a change in the items of a container, or new ones after them. Raises Invalid (F4) as `announce_items`
    does."""
    aliases = current_aliases()
    if id(container) in aliases.renamed_lists:
        check_current(container)
    if is_one_of_several(container) or id(container) in aliases.sole_names:
        copied = "x.copy()" if type(container) is defaultdict else f"{type(container).__name__}(x)"
        take_sole_name(container, _rebuilt_refusal(container, f"change a copy: x = {copied}"))
    if type(container) is list and aliases.sole_names:
        note_list_change(container)
    if type(container) is list and has_stacked_items(container):
        note_stacked_lists(id(container), container)
    if active_journal() is None:
        return
    if isinstance(container, CONTAINERS):
        record_write(ItemsPlace(container))
    elif isinstance(getattr(type(container), "__setitem__", None), WrapperDescriptorType):  # a class written in C
        raise Invalid(
            f"an item of {describe_class(container)} is assigned under a symbolic condition",
            rule="F4",
            where=user_location(),
            hint="assign the items of a list, or of an array that the function has created by NumPy",
        )


def augment(perform: Callable[..., Any], name: str, left: Any, right: Any) -> Any:
    """`left += right`, or another augmented assignment, by `perform`: the new value of its target."""
    if isinstance(left, (*CONTAINERS, np.ndarray)):
        announce_items(left)
    return perform(AUGMENTED_OPERATORS[name], left, right)
