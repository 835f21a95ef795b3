"""Lists that only one variable names, although a branch or a loop has made them from others.

After `cur = [] if p else cur`, or in a loop with `cur, nxt = nxt, []`, a variable has one of several lists, and the
trace has a copy. The variable may change its list if no other name of these lists is used afterwards: then no code can
tell the copy from the list. So staging notes where each of the lists had one name only, and a change of the copy makes
their other names unusable.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from typing import Any, NamedTuple

import numpy as np

from ...errors import Invalid
from ..trace.choice import Choice
from ..trace.mutable_arrays import has_other_names
from ..trace.program_builder import current_aliases
from ..trace.pytree import is_record
from ..trace.stacked_items import StackedItems
from .state import CONTAINERS, register_created
from .trees import is_one_of_several, parts_of


class SoleName(NamedTuple):
    """A list that a conditional or loop leaves in a variable, and that has no other name."""

    item: list[Any]
    sources: tuple[Any, ...]
    """The lists that it may be: those of the two branches, or those before the loop."""
    merge: Any
    """The conditional or loop. Two lists of one conditional are the same list only if they are in one of its branches;
    two lists of one loop never are."""
    is_of_loop: bool = False


class LoopList(NamedTuple):
    """A list that a variable has in a loop under trace, which gives the variable other lists."""

    item: list[Any]
    loop: Any
    place: Any


class LoopListChange(BaseException):
    """Raised where code changes a list that is a copy, since a loop carries it. The loop may be traced again such that
    the variable is the sole name of its list."""

    def __init__(self, copy: LoopList, refusal: Invalid) -> None:
        super().__init__()
        self.copy, self.refusal = copy, refusal


def has_sole_name(value: Any) -> bool:
    """Whether the code under trace has created a list, without lists in it, that no branch, loop or list has copied."""
    aliases = current_aliases()
    if type(value) is not list or id(value) in aliases.renamed_lists:
        return False
    is_named = id(value) in aliases.sole_names
    if id(value) in aliases.item_origins and not is_named:
        return False
    is_created = id(value) in aliases.created_lists and not is_one_of_several(value)
    is_single = is_created or is_named or loop_list(value) is not None
    return is_single and all(map(_is_flat, value))


def _is_flat(item: Any) -> bool:
    """Whether an item of a list has no parts that can change."""
    if type(item) is StackedItems:
        return item.lengths is None and _is_flat(item.columns)
    if type(item) is tuple:
        return all(map(_is_flat, item))
    if type(item) is Choice:
        return all(map(_is_flat, item.options))
    return not (isinstance(item, (*CONTAINERS, np.ndarray)) or is_record(item) or has_other_names(item))


def has_other_name(value: list[Any], others: Iterable[Any]) -> bool:
    """Whether a list may be one of these values, or a list in them."""
    return any(_may_be_one(value, part) for other in others for part in _lists_in(other))


def _lists_in(value: Any) -> Iterator[list[Any]]:
    pending = [value]
    for part in pending:  # a worklist: the loop appends to it
        if type(part) is list:
            yield part
        pending += parts_of(part)


def _may_be_one(first: list[Any], second: list[Any]) -> bool:
    if first is second:
        return True
    names = current_aliases().sole_names
    one, other = names.get(id(first)), names.get(id(second))
    if one is not None and other is not None and one.merge is other.merge:
        return not one.is_of_loop and any(map(_may_be_one, one.sources, other.sources))
    return any(_may_be_one(source, second) for source in _sources(first)) or any(
        _may_be_one(first, source) for source in _sources(second)
    )


def is_from(value: list[Any], identities: Collection[int]) -> bool:
    """Whether a list may be one of those with these identities."""
    return id(value) in identities or any(is_from(source, identities) for source in _sources(value))


def loop_lists_of(value: list[Any]) -> Iterator[LoopList]:
    """The copies that loops under trace carry, and that a list may be."""
    copy = loop_list(value)
    if copy is not None:
        yield copy
    for source in _sources(value):
        yield from loop_lists_of(source)


def _sources(value: list[Any]) -> tuple[Any, ...]:
    """The lists that a list may be."""
    aliases = current_aliases()
    name, origin = aliases.sole_names.get(id(value)), aliases.item_origins.get(id(value))
    if name is not None:
        return name.sources  # type: ignore[no-any-return]
    container = getattr(origin, "container", None)
    return container if type(container) is tuple else ()


def note_sole_name(value: Any, sources: tuple[Any, ...], merge: Any, *, is_of_loop: bool = False) -> None:
    """Note that a list, which may be one of these, has no other name."""
    current_aliases().sole_names[id(value)] = SoleName(register_created(value), sources, merge, is_of_loop)


def note_loop_list(value: Any, loop: Any, place: Any) -> None:
    """Note that a variable has this list in a loop under trace."""
    if type(value) is list:
        current_aliases().loop_lists[id(value)] = LoopList(value, loop, place)


def make_changeable(value: list[Any]) -> None:
    """Let code change a list that staging has put together: it stands for no other list."""
    aliases = current_aliases()
    aliases.rebuilt_containers.pop(id(value), None)
    aliases.created_lists[id(value)] = value


def take_sole_name(value: Any, refusal: Invalid) -> None:
    """Let code change a list that may be one of several, and make their other names unusable. Raises LoopListChange
    where the loop that carries it must be traced again; else the refusal."""
    aliases = current_aliases()
    name = aliases.sole_names.get(id(value))
    own_loop_lists([value], refusal)
    if name is None:
        raise refusal
    make_changeable(value)
    note_renamed(name.sources)


def note_list_change(value: Any) -> None:
    """Note that a list changes: others that may be this one must not be used any more, but for those that get its
    items."""
    aliases = current_aliases()
    others = [sole_name.item for sole_name in aliases.sole_names.values() if sole_name.item is not value]
    note_renamed([other for other in others if id(other) not in aliases.item_origins and _may_be_one(value, other)])


def loop_list(value: Any) -> LoopList | None:
    """The variable of a loop under trace that has a list, if it can become the sole name of it."""
    changed = current_aliases().loop_lists.get(id(value))
    is_possible = isinstance(changed, LoopList) and changed.loop.is_traced and changed.loop.can_own_list(changed.place)
    return changed if is_possible else None


def own_loop_lists(lists: Iterable[Any], refusal: Invalid) -> None:
    """Raises LoopListChange where one of these lists may be one that a loop under trace carries as a copy."""
    pending = list(lists)
    for part in pending:  # a worklist: the loop appends to it
        changed = loop_list(part)
        if changed is not None:
            raise LoopListChange(changed, refusal)
        if id(part) not in current_aliases().created_lists:
            raise refusal
        pending += _sources(part)


def note_renamed(lists: Iterable[Any]) -> None:
    """Note lists whose other names must not be used any more, and so the lists that one of them may be, and those that
    may be one of all these."""
    aliases = current_aliases()
    renamed, origins = list(lists), list(aliases.item_origins.values())
    for part in renamed:  # a worklist: the loop appends to it
        if type(part) is list and id(part) not in aliases.renamed_lists:
            aliases.renamed_lists[id(part)] = part
            renamed += _sources(part)
    for part in renamed:  # a worklist: the loop appends to it
        choices = {id(origin.item): origin.item for origin in origins if _is_option(part, origin)}
        renamed += [item for identity, item in choices.items() if identity not in aliases.renamed_lists]
        aliases.renamed_lists.update(choices)


def _is_option(value: Any, origin: Any) -> bool:
    return type(origin.container) is tuple and any(option is value for option in origin.container)
