"""Changes of arguments: after a call, the caller's lists, dicts and instances of dataclasses have the items and
attributes that Python would leave in them.

A function that changes arguments is traced once more, as one that also returns them. While it is traced, its lists,
dicts and instances are objects of Python: `describe_origins` says at the end of the trace where each of them comes
from, in a text that is part of the structure of the result. After the run, `change_arguments` puts the caller's own
objects and arrays back to these places. Below, a container is a list, a dict or an instance of a dataclass.
"""

from __future__ import annotations

import functools
import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, NoReturn, TypeAlias

from ...core.errors import Invalid
from ...core.frontend.trace.choice import Choice
from ...core.frontend.trace.program_builder import TracedValue, current_region
from ...core.frontend.trace.pytree import attributes_of, init_fields, is_dataclass_instance, is_named_tuple
from ...core.frontend.trace.source_location import user_location
from ...core.frontend.trace.stacked_items import DICT_CLASSES, StackedItems, has_stacked_entries
from ...core.program.program import Location

Path: TypeAlias = tuple[Any, ...]
"""The place of a value in the arguments: the position of the argument, then keys and positions."""
OLD, NEW, TUPLE, ROWS, CHOICE = "old", "new", "tuple", "rows", "choice"
"""The words that begin an origin: a value of the arguments, and its path; a new container, and its number; a tuple;
the lists that one array holds, which are where they were, and may have been changed; one of several lists, and the
position of the number that says which one. The origins of the items follow, or those of the several lists. The origin
of all other values is None."""


def _items_of(value: Any) -> Iterator[tuple[Any, Any]]:
    """The keys or positions of a container's items, or the names of its fields, and the items."""
    if type(value) in DICT_CLASSES:
        yield from value.items()
    elif is_dataclass_instance(value):
        yield from init_fields(value)
    elif type(value) is list or _is_tuple(value):
        yield from enumerate(value)


def _is_tuple(value: Any) -> bool:
    """Whether a value is a tuple or a named tuple."""
    return type(value) is tuple or is_named_tuple(type(value))


def _is_container(value: Any) -> bool:
    """Whether a value is an object that may change: a list, a dict, or an instance of a dataclass."""
    return type(value) in (list, *DICT_CLASSES) or is_dataclass_instance(value)


def _tuple_like(model: Any, items: Iterable[Any]) -> Any:
    """A tuple of the class of `model` with these items."""
    return tuple(items) if type(model) is tuple else model._make(items)


def walk_paths(value: Any, path: Path) -> Iterator[tuple[Path, Any]]:
    """A value and those in it, by their paths.

    >>> [path for path, _ in walk_paths([1, {"a": 2}], (0,))]
    [(0,), (0, 0), (0, 1), (0, 1, 'a')]
    """
    yield path, value
    for key, item in _items_of(value):
        yield from walk_paths(item, (*path, key))


@dataclass
class ArgumentValues:
    """The values in the arguments of a function at the start of a trace."""

    arguments: Sequence[Any]
    values: list[tuple[Path, Any, list[Any]]] = field(init=False)
    """Each value in the arguments, with its path and its items."""
    attributes: list[tuple[Any, dict[str, Any]]] = field(init=False)
    """Each instance of a dataclass in the arguments, with its attributes."""

    def __post_init__(self) -> None:
        pairs = [pair for position, value in enumerate(self.arguments) for pair in walk_paths(value, (position,))]
        self.values = [(path, value, [item for _, item in _items_of(value)]) for path, value in pairs]
        self.attributes = [(value, attributes_of(value)) for _, value in pairs if is_dataclass_instance(value)]

    @property
    def paths(self) -> dict[int, Path]:
        """The paths of the values, by identity."""
        return {id(value): path for path, value, _ in self.values}

    def contents(self, positions: Sequence[int]) -> tuple[Any, ...]:
        """The arguments at these positions at the end of the trace, then the containers that have changed and are in
        them no more. Raises Invalid (F4) for an attribute that has changed and is not a parameter of its class.

        >>> rows = [[1], [2]]
        >>> former = ArgumentValues([rows])
        >>> rows.pop().append(3)
        >>> former.contents([0])
        ([[1]], [2, 3])
        """
        for instance, before in self.attributes:
            _check_attributes(instance, before)
        contents = tuple(self.arguments[position] for position in positions)
        reachable_ids = {id(value) for _, value in walk_paths(contents, ())}
        removed = [
            value
            for (position, *_), value, items in self.values
            if position in positions
            and _is_container(value)
            and id(value) not in reachable_ids
            and _has_changed(value, items)
        ]
        return (*contents, *removed)


def _has_changed(container: Any, items: Sequence[Any]) -> bool:
    now = [item for _, item in _items_of(container)]
    return len(now) != len(items) or any(a is not b for a, b in zip(now, items, strict=True))


def _check_attributes(instance: Any, before: dict[str, Any]) -> None:
    now, names = attributes_of(instance), {name for name, _ in init_fields(instance)}
    for name in sorted(now.keys() | before.keys()):
        if name not in names and now.get(name) is not before.get(name):
            raise Invalid(
                f"attribute {name} of a {type(instance).__name__} is assigned, which is not a parameter of its class",
                rule="F4",
                where=user_location(),
                hint=f"make it a field, {name}: float = 0.0, so that a program can return it",
            )


@dataclass
class _Origins:
    """The origins of what arguments contain at the end of a trace."""

    name: str
    location: Location | None
    paths: dict[int, Path]
    """The paths of the values that the arguments have at the start, by identity."""
    new: dict[int, int] = field(default_factory=dict)
    numbers: list[Any] = field(default_factory=list)
    """The values that say which list is in a place, where it is known only at run time."""

    def describe(self, value: Any) -> Any:
        """The origin of a value. Raises Invalid (F4) where it is known only at run time."""
        if _is_tuple(value):
            return [TUPLE, None, self._describe_items(value)]
        if type(value) is Choice and any(map(_has_containers, value.options)):
            self.refuse()
        is_container = _is_container(value)
        path = self.paths.get(id(value))
        if not is_container:
            return None if path is None else [OLD, path, None]
        if path is None and _is_ambiguous(value):
            return self._describe_choice(value)
        number = path if path is not None else self.new.setdefault(id(value), len(self.new))
        return [NEW if path is None else OLD, number, self._describe_items(value)]

    def _describe_choice(self, value: Any) -> Any:
        from ...core.frontend.source.nested_lists import list_choice  # here: import tagloom needs no converter

        choice = list_choice(value)
        if choice is None or any(map(_has_containers, value)) or not _is_value_of_function(choice.number):
            self.refuse()
        self.numbers.append(choice.number)
        return [CHOICE, len(self.numbers) - 1, [self.describe(option) for option in choice.options]]

    def _describe_items(self, container: Any) -> Any:
        if has_stacked_entries(container):
            if _has_containers(container):
                self.refuse()
            return None
        items = [item for _, item in _items_of(container)]
        has_packed_rows = [type(item) is StackedItems and _has_containers(item.columns) for item in items]
        if any(has_packed_rows[1:]) or (any(has_packed_rows) and not self._has_rows_in_place(container)):
            self.refuse()
        if any(type(item) is StackedItems for item in items) and not any(has_packed_rows):
            if any(map(_has_containers, items)):
                self.refuse()
            return None
        return [
            [ROWS] if is_packed else self.describe(item) for is_packed, item in zip(has_packed_rows, items, strict=True)
        ]

    def _has_rows_in_place(self, container: Any) -> bool:
        """Whether the rows that an array holds are where they were, as far as the trace knows."""
        region = current_region()
        are_apart = region is not None and region.specialization.has_rows_of_their_own
        return id(container) in self.paths and not are_apart and not _is_reordered(container)

    def refuse(self) -> NoReturn:
        raise Invalid(
            f"{self.name} moves or replaces lists in its arguments, and the place of a list is known only at run time",
            rule="F4",
            where=self.location,
            hint="in Python the caller's lists would end up different: copy them, "
            "rows = [list(row) for row in rows], and return the copy",
        )


def _has_containers(value: Any) -> bool:
    """Whether a list or dict is in a value under trace, or among stacked items."""
    if type(value) is StackedItems:
        return _has_containers(value.columns)
    if has_stacked_entries(value):
        (entries,) = value.values()
        return _has_containers(entries.columns)
    return _is_container(value) or (_is_tuple(value) and any(map(_has_containers, value)))


def _is_ambiguous(container: Any) -> bool:
    """Whether a list or dict may be one of several, or is a row of an argument."""
    from ...core.frontend.source.nested_lists import item_origin  # here: import tagloom needs no converter
    from ...core.frontend.source.trees import is_rebuilt

    return is_rebuilt(container) or item_origin(container) is not None


def _is_value_of_function(value: Any) -> bool:
    """Whether a value is one of the outermost region under trace, not of a branch or loop in it."""
    region, value = current_region(), getattr(value, "_tagloom_value", None)
    return isinstance(value, TracedValue) and value.region is region


def _is_reordered(container: Any) -> bool:
    from ...core.frontend.source.writes import is_reordered  # here: import tagloom needs no converter

    return is_reordered(container)


def describe_origins(
    name: str, location: Location | None, paths: dict[int, Path], contents: Sequence[Any]
) -> tuple[str, tuple[Any, ...]]:
    """Where the lists, dicts and other values in arguments come from, at the end of a trace of the function of this
    name, defined here, and the values that choose among several lists. `paths` has the paths of the values that the
    arguments had at its start, by identity. Raises Invalid (F4) where the trace does not know it.

    >>> row = [1]
    >>> describe_origins("f", None, {id(row): (0, 1)}, [(row, row)])
    ('[["tuple", null, [["old", [0, 1], [null]], ["old", [0, 1], [null]]]]]', ())
    """
    origins = _Origins(name, location, paths)
    return json.dumps([origins.describe(content) for content in contents]), tuple(origins.numbers)


_read_origins = functools.lru_cache(json.loads)


def change_arguments(
    arguments: Sequence[Any], contents: Sequence[Any], origins: str, numbers: Sequence[Any] = ()
) -> None:
    """Give the lists and dicts in arguments the items that they have in `contents`. `numbers` are the values that
    choose among several lists.

    >>> rows = [[1], [2, 3]]
    >>> first = rows[0]
    >>> items = [["old", [0, 1], [None, None]], ["old", [0, 0], [None]]]
    >>> change_arguments([rows], [[[2, 3], [4]]], json.dumps([["old", [0], items]]))
    >>> rows, rows[1] is first
    ([[2, 3], [4]], True)
    """
    old = dict(pair for position, value in enumerate(arguments) for pair in walk_paths(value, (position,)))
    caller = _CallerItems(old, numbers)
    for content, origin in zip(contents, _read_origins(origins), strict=True):
        caller.restore(content, origin)
    for container, items in caller.changes:
        _set_items(container, items)


def _set_items(container: Any, items: Any) -> None:
    if is_dataclass_instance(container):
        for name, item in items.items():
            if getattr(container, name) is not item:
                object.__setattr__(container, name, item)
        return
    container.clear()
    (container.update if type(container) in DICT_CLASSES else container.extend)(items)


@dataclass
class _CallerItems:
    """The items that lists and dicts of the caller take after a run."""

    old: dict[Path, Any]
    numbers: Sequence[Any]
    new: dict[int, Any] = field(default_factory=dict)
    changes: list[tuple[Any, Any]] = field(default_factory=list)

    def restore(self, content: Any, origin: Any) -> Any:
        """The caller's value for one in the contents of the arguments, which has this origin."""
        if origin is None:
            return content
        kind, place, items = origin
        if kind == CHOICE:
            return self._restore_choice(content, items[int(self.numbers[place])])
        if kind == TUPLE:
            return _tuple_like(content, self._restore_items(content, items, None))
        is_container = _is_container(content)
        value = self.new.setdefault(place, content) if kind == NEW else self.old[tuple(place)]
        if is_container and type(value) is type(content):
            self._change(value, content, items)
        return value

    def _restore_choice(self, content: Any, origin: Any) -> Any:
        """The caller's list for the one that the run has chosen, which contains values only."""
        kind, place, _ = origin
        return self.restore(content, origin if kind == CHOICE else [kind, place, None])

    def _change(self, container: Any, content: Any, origins: Any) -> None:
        """Note the items or attributes that a container takes."""
        if type(content) in DICT_CLASSES or is_dataclass_instance(content):
            parts = dict(_items_of(content))
            items = self._restore_items(list(parts.values()), origins, None)
            self.changes.append((container, dict(zip(parts, items, strict=True))))
        else:
            self.changes.append((container, self._restore_items(content, origins, container)))

    def _restore_items(self, content: Sequence[Any], origins: Any, former: list[Any] | None) -> list[Any]:
        if origins is None:
            return list(content)
        if [ROWS] not in origins:
            return [self.restore(*pair) for pair in zip(content, origins, strict=True)]
        count = len(content) - len(origins) + 1
        rows = [*(former or ()), *[None] * count]
        return [
            *(self._restore_row(row, part) for row, part in zip(rows, content[:count], strict=False)),
            *(self.restore(*pair) for pair in zip(content[count:], origins[1:], strict=True)),
        ]

    def _restore_row(self, former: Any, content: Any) -> Any:
        """A row that is where it was, with what it contains; a new one where there was none."""
        if type(former) is not type(content) or not (_is_tuple(content) or type(content) in (list, *DICT_CLASSES)):
            return content
        old = dict(_items_of(former))
        items = {key: self._restore_row(old.get(key), part) for key, part in _items_of(content)}
        if _is_tuple(content):
            return _tuple_like(content, items.values())
        self.changes.append((former, items if type(content) in DICT_CLASSES else list(items.values())))
        return former


def is_shared(position: int, arguments: Sequence[Any]) -> bool:
    """Whether a container in the argument at this position is in two places of the arguments.

    >>> row = [1]
    >>> is_shared(0, [row, row]), is_shared(0, [[row, row]]), is_shared(0, [[row], [1]])
    (True, True, False)
    """
    own, others = container_ids(arguments[position]), list[int]()
    for other, argument in enumerate(arguments):
        others += container_ids(argument) if other != position else []
    return len(set(own)) < len(own) or not set(own).isdisjoint(others)


def container_ids(value: Any) -> list[int]:
    """The identities of the containers in an argument, one for each place.

    >>> len(container_ids([[1], ({"a": []}, 2)]))
    4
    """
    return [id(part) for _, part in walk_paths(value, ()) if _is_container(part)]


def refuse_shared_change(name: str, parameter: str) -> NoReturn:
    """Raises Invalid (F4) for a call whose arguments have a container in two places, one of which changes."""
    raise Invalid(
        f"{name} changes an object in its argument {parameter} that is also in another place of the arguments",
        rule="F4",
        where=user_location(),
        hint="pass a copy in one of the two places",
    )


def refuse_change(name: str, parameter: str) -> NoReturn:
    """Raises Invalid (F4) for a call in a trace of a function that changes its argument."""
    raise Invalid(
        f"{name} changes its argument {parameter}, and a call of a tl.function in another function gets a copy",
        rule="F4",
        where=user_location(),
        hint=f"change a copy, as in {parameter} = list({parameter}), and return it; or leave @tl.function out",
    )
