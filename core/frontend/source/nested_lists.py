"""Lists in lists and dicts: the origin of a list that was taken at an index or key known only at run time, and the
lists that it may be.

Python has one object in both places, a trace has a copy. So a change of the copy is written where it comes from, and
the copies of places that may be the same one are taken again. What is known about this is noted in
`core/frontend/trace/aliases.py`.
"""

from __future__ import annotations

import operator
from collections.abc import Collection, Iterable, Iterator, Sequence
from types import CellType
from typing import Any, NamedTuple

from ..trace.aliases import RepeatedIndex
from ..trace.choice import Choice
from ..trace.program_builder import RegionBuilder, current_aliases, current_region
from ..trace.stacked_items import DICT_CLASSES, StackedItems, TracedSet, dict_like, item_length
from .same_values import is_same_value
from .state import active_journal, register_created

CHANGEABLE = (list, *DICT_CLASSES, TracedSet)
"""The classes of items whose changes are written where the item comes from."""
CALL_ON_ORIGIN: CellType = CellType()
"""`call_on_origin` of `items.py`, which sets it."""


class ItemOrigin(NamedTuple):
    """Where a list comes from that is an item of another one."""

    item: list[Any]
    container: Any
    """The list with stacked items, or the dict with stacked entries, that it was taken from; or the tuple of the lists
    that it may be."""
    index: Any
    """Its index, or its key in a dict with stacked entries."""
    items: list[Any]
    """The items of the container when the item was taken: a negative index counts from their end."""
    contents: list[Any]
    """The items of the container since the item has those that it has, and the items of the lists in it."""
    reorderings: int
    """How often items of the container had been moved or replaced when the item was taken."""
    region: RegionBuilder
    """The region under trace when the item was taken."""
    key: Any = None
    """The key in the dict whose values are the lists that it may be."""
    condition: Any = None
    """Where this is false, the item is in no dict: it is the default of `x.get(key, default)`."""
    default: Any = None


def note_origin(item: list[Any], container: Any, index: Any, key: Any = None) -> None:
    """Note that a list is the item of another list at an index, or the value of a dict, or one of several lists; `key`
    is its key if these are the values of a dict."""
    region = current_region()
    assert region is not None, "only a trace has symbolic lengths and indices"
    aliases = region.specialization.aliases
    count = aliases.reordering_counts[id(container)]
    origin = ItemOrigin(
        register_created(item), container, index, list(container), contents_of(container), count, region, key
    )
    aliases.item_origins[id(item)] = origin


def note_default(item: Any, table: dict[Any, Any], key: Any, is_there: Any, default: Any) -> None:
    """Note that a list, dict or set is the value of a dict at a key where this is true, and else a new one."""
    note_origin(item, table, key)
    origins = current_aliases().item_origins
    origins[id(item)] = origins[id(item)]._replace(condition=is_there, default=default)


def note_changeable_option(choice: Choice, table: dict[Any, Any], key: Any) -> None:
    """Note that the one option of a choice that is a list, dict or set is the value of a dict at a key."""
    options = [option for option in choice.options if type(option) in CHANGEABLE]
    if len(options) == 1:
        note_origin(options[0], table, key)


def note_taken_again(origin: ItemOrigin) -> None:
    """Note that a list has the items that it has where it comes from."""
    origins = origin.region.specialization.aliases.item_origins
    origins[id(origin.item)] = origin._replace(contents=contents_of(origin.container))


def copy_of(container: Any) -> Any:
    """A new list, dict or set with the items of this one."""
    if isinstance(container, dict):
        return register_created(dict_like(container, container))
    if type(container) is not TracedSet:
        return register_created(list(container))
    copied = TracedSet()
    copied.replace(container.content())
    return register_created(copied)


def items_of(container: Any) -> Collection[Any]:
    """The items of a list or set, or the values of a dict."""
    if type(container) is TracedSet:
        content = container.content()
        return [content] if isinstance(content, StackedItems) else content
    return container.values() if isinstance(container, dict) else container


def contents_of(container: Any) -> list[Any]:
    """The items of a list, or the values of a dict, and the items of the lists, dicts and sets in it."""
    return [
        part for item in items_of(container) for part in (item, *(items_of(item) if type(item) in CHANGEABLE else ()))
    ]


def item_origin(item: Any) -> ItemOrigin | None:
    """Where a list, dict or set was taken from, if it is still there: a change of the item is one there, too."""
    origin = current_aliases().item_origins.get(id(item))
    return origin if isinstance(origin, ItemOrigin) and is_valid(origin) else None


def is_choice(origin: ItemOrigin) -> bool:
    """Whether a list is one of several, and not in an array."""
    return type(origin.container) is tuple


def is_taken_from(item: Any, container: Any, key: Any) -> bool:
    """Whether a list is the item of a list or dict with this symbolic index or key, so that it is there already."""
    origin = item_origin(item) if type(item) in CHANGEABLE else None
    if origin is None or origin.default is not None:
        return False
    if isinstance(container, dict) and is_choice(origin):
        return _is_same(origin.key, key) and are_same(origin.container, list(container.values()))
    if not is_choice(origin):
        return origin.container is container and _is_same(origin.index, key) and has_fixed_place(origin)
    return _is_same(origin.index, key) and are_same(origin.container, container)


def was_taken_from(item: Any, container: Any) -> bool:
    """Whether a value is a list that was an item of this one when it was taken, and may have moved since."""
    origin = current_aliases().item_origins.get(id(item)) if type(item) in CHANGEABLE else None
    return origin is not None and origin.container is container


def is_valid(origin: ItemOrigin) -> bool:
    """Whether an item is still where it was taken: it is one of several lists, or no item of its list has moved."""
    if is_choice(origin):
        return True
    count = origin.region.specialization.aliases.reordering_counts[id(origin.container)]
    return count == origin.reorderings or are_same(contents_of(origin.container), origin.contents)


def reachable_origins() -> list[ItemOrigin]:
    """The origins of the lists that code of the region under trace can have."""
    region = current_region()
    if region is None:
        return []
    regions = {id(inner_region) for inner_region in (region, *region.enclosing_regions())}
    return [origin for origin in current_aliases().item_origins.values() if id(origin.region) in regions]


def valid_origins() -> list[ItemOrigin]:
    """The origins of the lists that code of the region under trace can have, if they are valid."""
    return list(filter(is_valid, reachable_origins()))


def find_taken_item(container: Any, index: Any) -> list[Any] | None:
    """The list that was taken from this list or dict at an index or key before: in Python, it is the same object."""
    for origin in valid_origins():
        is_at_index = _is_same(origin.index, index) and origin.default is None
        if is_at_index and _is_from(origin, container) and has_fixed_place(origin):
            return origin.item
    return None


def _is_from(origin: ItemOrigin, container: Any) -> bool:
    if isinstance(container, dict) or isinstance(origin.container, dict):
        return origin.container is container
    return are_same(origin.container, container)


def has_fixed_place(origin: ItemOrigin) -> bool:
    """Whether the index of an item is still its index although items may have been appended: it counts from the start,
    or there are as many items as before."""
    is_keyed = is_choice(origin) or isinstance(origin.container, dict)
    if is_keyed or (type(origin.index) is int and origin.index >= 0):
        return True
    return len(origin.container) == len(origin.items) and all(
        new is old or (type(new) is type(old) is StackedItems and _have_one_length(new, old))
        for new, old in zip(origin.container, origin.items, strict=True)
    )


def _have_one_length(first: StackedItems, second: StackedItems) -> bool:
    length, other = item_length(first.columns), item_length(second.columns)
    return type(length) is type(other) is int and length == other


def _is_same(first: Any, second: Any) -> bool:
    """Whether two indices are one number, or one value of the program."""
    value = getattr(second, "_tagloom_value", None)
    is_one_value = value is not None and getattr(first, "_tagloom_value", None) is value
    return is_one_value or (type(first) is type(second) is int and first == second)


def _is_same_key(first: Any, second: Any) -> bool:
    """Whether two indices or keys are one number, or one value of the program, or computed alike."""
    values = getattr(first, "_tagloom_value", None), getattr(second, "_tagloom_value", None)
    return _is_same(first, second) or (None not in values and is_same_value(*values))


def have_one_place(first: ItemOrigin | None, second: ItemOrigin | None) -> bool:
    """Whether two lists, each in a branch of its own, are the item at one place of a list or dict."""
    if first is None or second is None or first.container is not second.container:
        return False
    return all(map(has_fixed_place, (first, second))) and _is_same_key(first.index, second.index)


def are_same(first: Sequence[Any], second: Sequence[Any]) -> bool:
    """Whether two lists have the same objects as items."""
    return len(first) == len(second) and all(map(operator.is_, first, second))


def note_shared_lists(*containers: Any) -> None:
    """Note that these lists and dicts have items in common, or may have one twice, and so have all lists with their
    stacked items, such as a sum of lists that Python computes."""
    stacked = [item for container in containers for item in items_of(container) if type(item) is StackedItems]
    current_aliases().shared_lists.update((id(container), container) for container in (*containers, *stacked))


def note_snapshot(items: Any) -> None:
    """Note that a list or dict has the items that another one has at this moment."""
    current_aliases().shared_lists[id(items)] = items


def note_remaining_share(container: Any) -> None:
    """Note, before items of a list or dict move or are replaced, that it still shares the others."""
    shared = current_aliases().shared_lists
    if any(id(item) in shared for item in items_of(container)):
        note_snapshot(container)


def note_added_list(container: Any, item: Any) -> None:
    """Note that a list or dict gets an item, which is shared if it is a list that is an item already. A loop is traced
    more than once, so that a list from before the loop that each iteration adds is one."""
    if type(item) not in CHANGEABLE:
        return
    aliases = current_aliases()
    origin = aliases.item_origins.get(id(item))
    if origin is not None:
        note_shared_lists(container, origin.container)
    elif id(item) in aliases.added_lists:
        note_shared_lists(container)
    aliases.added_lists[id(item)] = item


def note_assigned_list(container: Any, index: Any, item: Any) -> None:
    """Note that a list or dict gets an item at an index or key. An item of the same list is then in two places, until
    the other place gets another one, as in `x[i], x[j] = x[j], x[i]`."""
    aliases = current_aliases()
    _forget_repeated(container, index)
    origin = aliases.item_origins.get(id(item))
    if origin is None and type(item) in CHANGEABLE and not is_from_here(item):
        note_shared_lists(container)  # each iteration of a loop may assign the same list
    elif origin is None or origin.container is not container:
        note_added_list(container, item)
    elif is_valid(origin) and not _is_same_key(origin.index, index):
        repeated = RepeatedIndex(origin.index, current_region())
        aliases.repeated_indices.setdefault(id(container), []).append(repeated)


def _forget_repeated(container: Any, index: Any) -> None:
    """Forget that the item at an index is in another place, too: it is about to be replaced."""
    repeated = current_aliases().repeated_indices
    noted_indices = repeated.pop(id(container), [])
    others = [entry for entry in noted_indices if not (_is_same(entry.index, index) and can_forget(entry))]
    if others:
        repeated[id(container)] = others


def can_forget(repeated: RepeatedIndex) -> bool:
    """Whether an index is noted by code of the region under trace, or of one in it. A branch or loop cannot forget what
    code around it has noted: the run may not take it."""
    return current_region() in (repeated.region, *repeated.region.enclosing_regions())


def note_assigned_origin(container: Any, index: Any, item: Any) -> None:
    """After an item was stored at an index or key of a list or dict: if it is a new list, note its origin, so that a
    change of it also changes the container there."""
    aliases = current_aliases()
    origin = aliases.item_origins.get(id(item))
    if origin is not None and origin.default is not None and _is_same_key(origin.index, index):
        origin = origin if origin.container is not container else None  # from here on it is there in any case
    is_noted = origin is not None or id(container) in aliases.shared_lists
    if current_region() is not None and type(item) in CHANGEABLE and is_from_here(item) and not is_noted:
        note_origin(item, container, index)


def is_from_here(row: Any) -> bool:
    """Whether the innermost branch, loop or function under trace has created a list."""
    journal = active_journal()
    return journal is None or id(row) in journal.created_objects


def note_stacked_lists(identity: int, content: Any) -> None:
    """Note the lists in the content of a list or dict, given by its identity, before an array holds them."""
    lists = {id(item): item for item in items_of(content) if type(item) in CHANGEABLE}
    if lists:
        current_aliases().stacked_lists.setdefault(identity, {}).update(lists)


def former_items(container: Any) -> list[list[Any]]:
    """The lists that were items of a list of symbolic length, or values of a dict, and are not any more: arrays may
    have copies of them."""
    items = set(map(id, items_of(container)))
    stacked = current_aliases().stacked_lists.get(id(container), {})
    return [item for identity, item in stacked.items() if identity not in items]


def note_outdated(lists: Iterable[list[Any]]) -> None:
    """Note lists that must not be read any more: a list that may be one of them was changed in another one."""
    current_aliases().outdated_lists.update((id(item), item) for item in lists)


def has_shared_lists(container: Any) -> bool:
    """Whether an item of a list or dict may be one of another list, too, or be in two places."""
    aliases, items = current_aliases(), set(map(id, items_of(container)))
    origins = (aliases.item_origins[identity] for identity in items & aliases.item_origins.keys())
    return (
        len(items_of(container)) != len(items)
        or any(origin.container is not container for origin in origins)
        or id(container) in aliases.repeated_indices
        or any(identity in aliases.shared_lists for identity in (id(container), *items))
    )


def are_different_places(first: Any, second: Any) -> bool:
    """Whether two indices are different numbers, counted from one end."""
    return type(first) is type(second) is int and first != second and (first < 0) == (second < 0)


class ListChoice(NamedTuple):
    """The lists that a list may be; the run decides which."""

    item: list[Any]
    number: Any
    """The position of the list among the options, or the condition under which it is the second one of two."""
    options: tuple[Any, ...]


def note_list_choice(chosen: Any, number: Any, options: Sequence[Any]) -> None:
    """Note that each list in a value is the one in the option of this number."""
    if any(chosen is option for option in options):
        return
    if type(chosen) is list and all(type(option) is list for option in options):
        current_aliases().list_choices[id(chosen)] = ListChoice(chosen, number, tuple(options))
    for part, parts in parallel_parts(chosen, options):
        note_list_choice(part, number, parts)


def parallel_parts(value: Any, others: Sequence[Any]) -> Iterator[tuple[Any, tuple[Any, ...]]]:
    """The parts of a value, each with those at the same place in others that nest alike."""
    kind = type(value)
    if any(type(other) is not kind for other in others):
        return
    if kind in (list, tuple) and all(len(other) == len(value) for other in others):
        yield from ((part, tuple(other[k] for other in others)) for k, part in enumerate(value))
    elif kind in DICT_CLASSES and all(other.keys() == value.keys() for other in others):
        yield from ((part, tuple(other[key] for other in others)) for key, part in value.items())


def note_options(item: Any, options: Sequence[Any], index: Any, key: Any = None) -> None:
    """Note the lists, dicts or sets that one may be, and so those in it."""
    note_origin(item, tuple(options), index, key)
    for part, parts in parallel_parts(item, options):
        if type(part) in CHANGEABLE:
            note_options(part, parts, index)


def have_parallel_parts(options: Sequence[Any]) -> bool:
    """Whether each list, dict and set in these has one at the same place in all others, and no tuple has one."""
    parts = [part for option in options for part in items_of(option)]
    if not any(type(part) in (tuple, *CHANGEABLE) for part in parts):
        return True
    groups = [group for _, group in parallel_parts(options[0], options)]
    return len(groups) == len(items_of(options[0])) > 0 and all(
        type(group[0]) in CHANGEABLE and have_parallel_parts(group)
        if any(type(part) in (tuple, *CHANGEABLE) for part in group)
        else True
        for group in groups
    )


def list_choice(value: Any) -> ListChoice | None:
    """The lists that a list may be; None for all others."""
    choice = current_aliases().list_choices.get(id(value))
    return choice if isinstance(choice, ListChoice) else None
