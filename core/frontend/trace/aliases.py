"""Which lists and dicts under trace may be one object, or may share items.

A trace may have copies of an object that is one in Python: an array has copies of the lists that are its rows, and a
branch or loop leaves a new list that stands for one of several. So a change by one name must reach the other names. The
front end for Python (`core/frontend/source`) notes here where each list comes from, and who may share what. By that it
writes a change to all copies, or refuses it.

There are two kinds of notes. An origin (`item_origins`, `list_choices`) names the object that a list is a copy of:
changes of the list are written there. All other notes say what may be so. They can only have more changes refused, so
most of them stay where code under trace is undone.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import Any, NamedTuple


class RepeatedIndex(NamedTuple):
    """An index of a list whose item is in another place of the list, too."""

    index: Any
    region: Any
    """The region under trace that put it there."""


class AliasMark(NamedTuple):
    """The notes that are restored where code under trace is undone."""

    renamed_lists: dict[int, Any]
    item_origins: dict[int, Any]
    repeated_indices: dict[int, list[RepeatedIndex]]


@dataclass(slots=True)
class Aliases:
    """The notes of one trace of a function. Keys are identities of lists and dicts, which the notes keep alive."""

    item_origins: dict[int, Any] = field(default_factory=dict)
    """Where a list was taken from that was an item of another one, as an `ItemOrigin`."""
    list_choices: dict[int, Any] = field(default_factory=dict)
    """For a list that is one of several: the several, as a `ListChoice`."""
    rebuilt_containers: dict[int, Any] = field(default_factory=dict)
    """The lists, dicts and dataclasses that were put together from results of branches and loops."""
    copied_containers: dict[int, Any] = field(default_factory=dict)
    """The lists and dicts of which those may be copies."""
    shared_lists: dict[int, Any] = field(default_factory=dict)
    """The lists, and the stacked items in lists, that may have items in common with others, or an item twice."""
    added_lists: dict[int, Any] = field(default_factory=dict)
    """The lists that were added to other lists as items."""
    repeated_indices: dict[int, list[RepeatedIndex]] = field(default_factory=dict)
    """For lists of symbolic length: the indices of items that are in another place of the list, too."""
    stacked_lists: dict[int, dict[int, Any]] = field(default_factory=dict)
    """For lists of symbolic length: the lists that were their items, and that arrays may have copied."""
    outdated_lists: dict[int, Any] = field(default_factory=dict)
    """The lists that must not be read any more: a list that may be the same one was changed."""
    created_lists: dict[int, Any] = field(default_factory=dict)
    """The lists that the code under trace has created."""
    created_instances: dict[int, Any] = field(default_factory=dict)
    """The instances of the user's classes that it has created."""
    sole_names: dict[int, Any] = field(default_factory=dict)
    """The lists that a branch or loop leaves in a variable that is their only name, as `SoleName`."""
    loop_lists: dict[int, Any] = field(default_factory=dict)
    """The lists that variables have in loops under trace that give them other lists, as `LoopList`."""
    renamed_lists: dict[int, Any] = field(default_factory=dict)
    """The lists that must not be used any more: a variable that may have one of them has changed it."""
    reordered_lists: dict[int, Any] = field(default_factory=dict)
    """The lists whose items were moved or replaced, or may have been."""
    reordering_counts: Counter[int] = field(default_factory=Counter)
    """How often items of a list were moved or replaced, or may have been."""
    copied_arrays: dict[int, Any] = field(default_factory=dict)
    """The arrays that change in place and have a copy in a branch, a loop or a list of symbolic length, with the
    location of the copy."""
    loop_copies: dict[int, Any] = field(default_factory=dict)
    """The arrays that a loop under trace carries as copies, as `LoopCopy`."""
    has_row_writes: bool = False
    """Whether a list was changed that an array holds as a row."""

    def mark(self) -> AliasMark:
        """The notes to restore by `reset`, before code that may be undone."""
        return AliasMark(dict(self.renamed_lists), dict(self.item_origins), _copy_lists(self.repeated_indices))

    def reset(self, mark: AliasMark) -> None:
        """Restore the notes of a mark."""
        self.item_origins, self.repeated_indices = dict(mark.item_origins), _copy_lists(mark.repeated_indices)
        self.renamed_lists = dict(mark.renamed_lists)

    def forget_sole_names(self, identity: int) -> None:
        """Note that there is a copy of a list: neither it, nor one that may be it, has a sole name any more."""
        names = list(self.sole_names.values())
        for name in names:
            if id(name.item) == identity or any(id(part) == identity for part in name.sources):
                self.sole_names.pop(id(name.item), None)
                for part in (name.item, *name.sources):
                    self.copied_containers[id(part)] = part
                    if id(part) != identity:
                        self.forget_sole_names(id(part))


def _copy_lists(lists: dict[int, list[RepeatedIndex]]) -> dict[int, list[RepeatedIndex]]:
    return {identity: list(indices) for identity, indices in lists.items()}
