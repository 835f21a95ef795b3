"""Trees of Python state: values nested in lists, tuples, dicts and dataclasses, as leaves and structure.

Unlike arguments and results of a program, state may contain lists, whose elements are then values of their own, and
any Python object, which is part of the structure. Objects are compared by identity, strings and the like by value.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Collection, Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np

from ...types import Type
from ..trace.captures import VariableBase, read_variable
from ..trace.choice import Choice
from ..trace.mutable_arrays import MutableArray, PossibleView, copied_arrays, has_other_names, owner_of
from ..trace.program_builder import TracedValue, current_aliases, request_record_class, to_operand, unwrap_weak
from ..trace.pytree import (
    StaticLeaf,
    TreeDef,
    attributes_of,
    expose_static_leaves,
    flatten,
    has_attributes,
    is_record,
    is_static,
    unflatten,
)
from ..trace.source_location import user_location
from ..trace.stacked_items import DICT_CLASSES, EntriesKey, StackedItems, TracedSet
from ..trace.symbol import Symbol
from .state import UNBOUND, Undefined, is_unassigned


class Tree(NamedTuple):
    """A piece of state: its leaves, which are values of a program, and its structure."""

    leaves: list[Any]
    treedef: TreeDef
    copied_arrays: frozenset[int] = frozenset()
    """The positions of leaves that are copies of arrays which change in place."""

    def rebuild(self, leaves: list[Any]) -> Any:
        """The state with these leaves. The lists and dicts in it that are not leaves are new, so that code which
        changes them is refused (`is_one_of_several`): the program may have chosen between several. Nor can the arrays
        change that are copies."""
        leaves = [as_copy(leaf) if position in self.copied_arrays else leaf for position, leaf in enumerate(leaves)]
        return note_rebuilt(unflatten(self.treedef, leaves), [id(leaf) for leaf in leaves])


def is_symbolic(value: Any) -> bool:
    """Whether a value is known only when the program runs."""
    return isinstance(getattr(value, "_tagloom_value", None), TracedValue)


def has_symbols(value: Any) -> bool:
    """Whether a value, or one in a list, tuple or slice, is known only when the program runs."""
    value = read_variable(value)
    if type(value) is slice:
        value = value.start, value.stop, value.step
    if type(value) in (list, tuple):
        return any(map(has_symbols, value))
    return type(value) is StackedItems or is_symbolic(value)


def split(state: Any, shared: Collection[int] = (), own: Collection[int] = ()) -> Tree:
    """The leaves and the structure of a piece of state, for a copy; raises Invalid as `flatten` does. Containers with
    the identities in `shared` are leaves; the copy has the arrays at the positions in `own` themselves.

    >>> tree = split([1, ("a", 2.5)])
    >>> tree.leaves, tree.rebuild([3, 4.5])
    ([1, 2.5], [3, ('a', 4.5)])
    """
    tree = flatten_state(state, shared)
    note_copied_arrays(leaf for position, leaf in enumerate(tree.leaves) if position not in own)
    copied = frozenset(position for position, leaf in enumerate(tree.leaves) if has_other_names(leaf))
    return tree._replace(copied_arrays=copied)


def current_values(leaves: Iterable[Any]) -> list[Any]:
    """These leaves, with the value that it has now in place of each array that changes in place: what the code under
    trace has changed may be undone before the leaves are used."""
    return [Symbol(leaf._tagloom_value) if has_other_names(leaf) else leaf for leaf in leaves]


def as_copy(leaf: Any, source: MutableArray | None = None) -> Any:
    """A leaf of state, which may be a copy of an array, as one that cannot change; it must not be used after a change
    of the source."""
    return PossibleView(leaf._tagloom_value, source) if type(leaf) is Symbol and is_array(leaf) else leaf


def structure_of(state: Any) -> TreeDef:
    """The structure of a piece of state."""
    return flatten_state(state).treedef


def flatten_state(state: Any, shared: Collection[int] = ()) -> Tree:
    """The leaves and the structure of a piece of state, as `split` returns them, for a look at the state without a
    copy."""

    def is_leaf(part: Any) -> bool:
        return id(part) in shared or _has_other_keys(part)

    return Tree(*flatten(state, by_reference=True, constants_are_static=True, is_leaf=is_leaf))


def note_copied_arrays(leaves: Iterable[Any]) -> None:
    """Note the arrays among these values that are copied. A change of such an array is refused from here on,
    since the copy would not see it."""
    for leaf in leaves:
        owner = owner_of(leaf)
        if owner is not None:
            copied_arrays(owner)[id(owner)] = owner, user_location()


def note_shared_result(result: Any, arguments: Sequence[Any]) -> Any:
    """The result of a call of the program; if it has arrays, they may be those of the arguments."""
    tree, own = flatten_state(result), flatten_state(list(arguments)).leaves
    if not any(map(is_array, tree.leaves)):
        return result
    note_copied_arrays(own)
    is_shared = any(map(has_other_names, own))
    return tree._replace(copied_arrays=frozenset(range(len(tree.leaves)))).rebuild(tree.leaves) if is_shared else result


def is_array(leaf: Any) -> bool:
    """Whether a leaf of state is a symbolic array of numbers."""
    if not is_symbolic(leaf):
        return False
    type_ = leaf._tagloom_value.type
    return not type_.is_scalar and type_.dtype.kind in "biuf"


def static_objects(state: Any) -> list[Any]:
    """The objects in a piece of state that are part of its structure."""
    return [leaf.value for leaf in expose_static_leaves(structure_of(state))[1] if isinstance(leaf, StaticLeaf)]


def _identity(container: Any) -> Any:
    return container


def _inner_containers(state: Any, items_of: Callable[[Any], Any]) -> set[int]:
    """The identities of all lists, dicts and sets in a piece of state."""
    identities, pending = set[int](), [state]
    for part in pending:  # a worklist: the loop appends to it
        if type(part) in (list, *DICT_CLASSES, TracedSet) and id(part) not in identities:
            identities.add(id(part))
            part = items_of(part)
            pending += part.values() if type(part) in DICT_CLASSES else part if type(part) is list else ()
        elif type(part) is tuple:
            pending += part
        elif is_record(part) and id(part) not in identities:
            identities.add(id(part))
            pending += attributes_of(part).values()
    return identities


def shared_containers(
    first_state: Any, second_state: Any, items_of: Sequence[Callable[[Any], Any]] = (_identity, _identity)
) -> set[int]:
    """The identities of the lists and dicts that stand at the same places, and only there, in two pieces of state.
    `items_of` gives the list or dict with the items that one has in the first piece, and in the second one.

    >>> items = []
    >>> shared_containers((1, items), (2, items)) == {id(items)}, shared_containers((1, items), (items, items))
    (True, set())
    """
    same, different = set[int](), set[int]()
    pending = [(first_state, second_state)]
    for pair in pending:  # a worklist: the loop appends to it
        first, second = pair
        if first is second:
            same |= older_containers(first, lambda _: False)
            continue
        different |= {id(part) for part in pair}
        first, second = items_of[0](first), items_of[1](second)
        if type(first) is type(second) and type(first) in DICT_CLASSES and first.keys() == second.keys():
            pending += [(first[key], second[key]) for key in first]
        elif type(first) is type(second) and type(first) in (list, tuple) and len(first) == len(second):
            pending += zip(first, second, strict=True)
        else:
            different |= _inner_containers(first, items_of[0]) | _inner_containers(second, items_of[1])
    return same - different


def zeros_like(content: Any, shared: Collection[int] = ()) -> Any:
    """A value of the same structure and types, which is never read; UNBOUND where there is none. Containers with the
    identities in `shared` stay."""
    if is_unassigned(content):
        return UNBOUND
    tree = split(content, shared)
    zeros = [leaf if not is_symbolic(leaf) else _zero(to_operand(unwrap_weak(leaf)).type) for leaf in tree.leaves]
    return UNBOUND if any(zero is UNBOUND for zero in zeros) else tree.rebuild(zeros)


def _zero(type_: Type) -> Any:
    if type_.dtype.kind not in "biuf" or type_.shape is None:
        return UNBOUND
    return np.zeros([size or 0 for size in type_.shape], type_.dtype.numpy)


def _has_other_keys(state: Any) -> bool:
    """Whether a dict has keys by which `flatten` cannot order its items; it is then part of the structure."""
    return type(state) in DICT_CLASSES and any(type(key) not in (str, int, EntriesKey) for key in state)


def older_containers(state: Any, is_new: Callable[[Any], bool]) -> set[int]:
    """The identities of the lists, dicts and instances of dataclasses in a piece of state that are not new."""
    if (type(state) in (list, *DICT_CLASSES, TracedSet) or is_changeable_record(state)) and not is_new(state):
        return {id(state)}
    parts = state.values() if type(state) in DICT_CLASSES else state if type(state) in (list, tuple) else ()
    return {identity for part in parts for identity in older_containers(part, is_new)}


def note_rebuilt(state: Any, shared: Collection[int] = ()) -> Any:
    """Register the lists and dicts of state that is rebuilt, but for those with these identities; returns it."""
    _register(state, shared, current_aliases().rebuilt_containers)
    return state


def note_copied(state: Any, shared: Collection[int] = ()) -> None:
    """Register the lists and dicts of state that staging has copied, but for those with these identities."""
    _register(state, shared, current_aliases().copied_containers)


def note_copied_records(state: Any) -> Any:
    """Register the instances of dataclasses in a value that is a copy of an item; returns it. An attribute of such an
    instance must not be assigned."""
    rebuilt, pending = current_aliases().rebuilt_containers, [state]
    for part in pending:  # a worklist: the loop appends to it
        if is_record(part):
            rebuilt[id(part)] = part
            pending += attributes_of(part).values()
        elif type(part) in (list, tuple):
            pending += part
        elif type(part) in DICT_CLASSES:
            pending += part.values()
    return state


def _register(state: Any, shared: Collection[int], containers: dict[int, Any]) -> None:
    aliases, pending, visited_ids = current_aliases(), [state], set(shared)
    for part in pending:  # a worklist: the loop appends to it
        if id(part) in visited_ids:
            continue
        visited_ids.add(id(part))
        if is_changeable_record(part):
            containers[id(part)] = part
        if type(part) in (list, *DICT_CLASSES, TracedSet):
            containers[id(part)] = part
            aliases.forget_sole_names(id(part))
            source = getattr(aliases.item_origins.get(id(part)), "container", None)
            if type(source) is tuple:  # it is one of these, and so may be what is made from it
                aliases.copied_containers.update((id(option), option) for option in source)
                for option in source:
                    aliases.forget_sole_names(id(option))
            elif source is not None:  # an item of this may be an item or a variable elsewhere, too
                aliases.shared_lists[id(source)] = source
        pending += parts_of(part)


def is_changeable_record(value: Any) -> bool:
    """Whether a value is a record whose attributes can change."""
    parameters: Any = getattr(type(value), "__dataclass_params__", None)
    return is_record(value) and not (parameters and parameters.frozen)


def request_records(values: Iterable[Any]) -> None:
    """Have the program traced again with records in place of the objects of user's classes among these values, if it
    was not: a loop or a list of symbolic length can hold records, but not objects that each iteration creates."""
    for value in values:
        if has_attributes(value):
            request_record_class(value, is_record=True)


def request_objects(*values: Any) -> None:
    """Have the program traced again with objects in place of records of the classes of these dataclasses, if it was
    not: an object can change under several names."""
    for value in values:
        if is_changeable_record(value) and dataclasses.is_dataclass(value):
            request_record_class(value, is_record=False)


def parts_of(value: Any) -> Iterable[Any]:
    """The items of a list, tuple or dict, the attributes of a dataclass, and the options of a choice; of anything else
    nothing."""
    if type(value) in (list, tuple):
        return value  # type: ignore[no-any-return]
    if type(value) in DICT_CLASSES:
        return value.values()  # type: ignore[no-any-return]
    if is_record(value):
        return attributes_of(value).values()
    return value.options if type(value) is Choice else ()


def is_rebuilt(container: Any) -> bool:
    """Whether staging has made this list or dict, from the contents of others."""
    return id(container) in current_aliases().rebuilt_containers


def is_one_of_several(container: Any) -> bool:
    """Whether staging has made this list or dict from others, or others from it: they may be one object."""
    return is_rebuilt(container) or id(container) in current_aliases().copied_containers


def is_same(first: Any, second: Any) -> bool:
    """Whether two pieces of state are the same, so that nothing has to choose between them: one object, one symbolic
    value, or equal numbers or strings of first class.

    >>> is_same(1, 1), is_same(1, 1.0), is_same("a", "a"), is_same([], [])
    (True, False, True, False)
    """
    if first is second:
        return True
    if type(first) is not type(second) or isinstance(first, Undefined) or has_other_names(first):
        return False
    value = getattr(first, "_tagloom_value", None)
    if isinstance(value, TracedValue):
        return value is second._tagloom_value
    if isinstance(first, VariableBase) or not (type(first) in (bool, int, float) or is_static(first)):
        return False
    return StaticLeaf(first) == StaticLeaf(second)
