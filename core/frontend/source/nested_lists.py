"""Lists in lists: where a list comes from that was taken at an index that is known only at run time, and of which lists
it is one.

Python has one object in both places, a trace has a copy. So a change of the copy is written where it comes from, and
the copies of places that may be the same one are taken again.
"""

from __future__ import annotations

import operator
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from ..trace.program_builder import RegionBuilder, current_region
from ..trace.stacked_items import DICT_CLASSES
from .state import register_created


class ItemOrigin(NamedTuple):
    """Where a list comes from that is an item of another one."""

    item: list[Any]
    container: list[Any]
    """The list that it was taken from, or, where that has no stacked items, the lists of which it is one."""
    index: Any
    contents: list[Any]
    """The items of the container then, and those of the lists in it."""
    region: RegionBuilder
    """The region under trace."""


def note_origin(item: list[Any], container: list[Any], index: Any) -> None:
    """Note that a list is the item of another one at an index."""
    region = current_region()
    assert region is not None, "only a trace has symbolic lengths and indices"
    origin = ItemOrigin(register_created(item), container, index, _contents(container), region)
    region.specialization.item_origins[id(item)] = origin


def _contents(container: list[Any]) -> list[Any]:
    return [part for item in container for part in (item, *(item if type(item) is list else ()))]


def item_origin(item: Any) -> ItemOrigin | None:
    """Where a list was taken from, if that has not changed since: a change of the item is one there, too."""
    region = current_region()
    origin = None if region is None else region.specialization.item_origins.get(id(item))
    return origin if isinstance(origin, ItemOrigin) and is_valid(origin) else None


def is_valid(origin: ItemOrigin) -> bool:
    """Whether the list that an item comes from has not changed since."""
    contents = _contents(origin.container)
    return len(contents) == len(origin.contents) and all(map(operator.is_, contents, origin.contents))


def valid_origins() -> list[ItemOrigin]:
    """The origins of the lists that code of the region under trace can have, if they are valid."""
    region, regions = current_region(), set[int]()
    origins = () if region is None else tuple(region.specialization.item_origins.values())
    while region is not None:
        regions.add(id(region))
        region = region.parent
    return [origin for origin in origins if id(origin.region) in regions and is_valid(origin)]


def find_taken_item(container: list[Any], index: Any) -> list[Any] | None:
    """The list that was taken from this one at an index before: in Python, it is the same object."""
    value = getattr(index, "_tagloom_value", None)
    for origin in valid_origins():
        is_same_value = value is not None and getattr(origin.index, "_tagloom_value", None) is value
        is_same_number = type(index) is type(origin.index) is int and index == origin.index
        if (is_same_value or is_same_number) and _have_same_items(origin.container, container):
            return origin.item
    return None


def _have_same_items(first: list[Any], second: list[Any]) -> bool:
    return len(first) == len(second) and all(map(operator.is_, first, second))


def are_different_places(first: Any, second: Any) -> bool:
    """Whether two indices are different numbers, counted from one end."""
    return type(first) is type(second) is int and first != second and (first < 0) == (second < 0)


class ListChoice(NamedTuple):
    """Of which lists a list is one, as the run says."""

    item: list[Any]
    number: Any
    """The position of the list among the options, or the condition under which it is the second one of two."""
    options: tuple[Any, ...]


def note_list_choice(chosen: Any, number: Any, options: Sequence[Any]) -> None:
    """Note that each list in a value is the one in the option of this number."""
    region = current_region()
    if region is None or any(chosen is option for option in options):
        return
    if type(chosen) is list and all(type(option) is list for option in options):
        region.specialization.list_choices[id(chosen)] = ListChoice(chosen, number, tuple(options))
    for part, parts in _parallel_parts(chosen, options):
        note_list_choice(part, number, parts)


def _parallel_parts(value: Any, others: Sequence[Any]) -> Iterator[tuple[Any, tuple[Any, ...]]]:
    """The parts of a value, each with those at the same place in others that nest alike."""
    kind = type(value)
    if any(type(each) is not kind for each in others):
        return
    if kind in (list, tuple) and all(len(each) == len(value) for each in others):
        yield from ((part, tuple(each[k] for each in others)) for k, part in enumerate(value))
    elif kind in DICT_CLASSES and all(each.keys() == value.keys() for each in others):
        yield from ((part, tuple(each[key] for each in others)) for key, part in value.items())


def list_choice(value: Any) -> ListChoice | None:
    """Of which lists a list is one; None for all others."""
    region = current_region()
    return None if region is None else region.specialization.list_choices.get(id(value))
