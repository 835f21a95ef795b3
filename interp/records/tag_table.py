"""Tag tables: a document writes each tag once and refers to it by number, since the tags of a deep recursion share all
but their last step."""

from __future__ import annotations

from collections.abc import Iterable

from ...core.json.cursor import INT64_BOUND, JsonCursor
from ...core.json.value import read_site
from ...core.tag import ROOT, Site, Tag


class TagTable:
    """The tags of a document, each once, a parent before its children; the root is number 0 and is not in the list."""

    def __init__(self, tags: Iterable[Tag]) -> None:
        self.sites: dict[Site, int] = {}
        self.numbers: dict[Tag, int] = {ROOT: 0}
        self.rows: list[list[int]] = []
        for tag in tags:
            self._add_tag(tag)

    def _add_tag(self, tag: Tag) -> None:
        new = []
        while tag not in self.numbers and tag.parent is not None:
            new.append(tag)
            tag = tag.parent
        for each in reversed(new):
            site = self.sites.setdefault(each.site, len(self.sites))
            self.rows.append([self.numbers[each.parent or ROOT], site, each.iteration])
            self.numbers[each] = len(self.rows)


def read_sites(at: JsonCursor) -> tuple[Site, ...]:
    """The sites of a document, by number; raises Malformed for a duplicate."""
    found: dict[Site, int] = {}
    for number, place in enumerate(at.entries()):
        first = found.setdefault(read_site(place), number)
        if first != number:
            place.refuse("each site once", f"that of number {first} again")
    return tuple(found)


def read_tags(sites: JsonCursor, tags: JsonCursor) -> list[Tag]:
    """The tags of a document, by number; raises Malformed for a duplicate."""
    known, made = read_sites(sites), [ROOT]
    seen: dict[tuple[int, int, int], int] = {}
    for number, row in enumerate(tags.raw_list()):
        key = _parse_valid_tag(row, len(made), len(known)) or _read_tag(tags.entry(number), len(made), len(known))
        first = seen.setdefault(key, number)
        if first != number:
            tags.entry(number).refuse("each tag once", f"that of number {first + 1} again")
        parent, site, iteration = key
        made.append(made[parent].child(known[site], iteration))
    return made


def _parse_valid_tag(row: object, parents: int, sites: int) -> tuple[int, int, int] | None:
    """A tag from its row, or None if the row is invalid. Without cursors, a million rows take 2 s; with them, 7 s."""
    if type(row) is not list or list(map(type, row)) != [int, int, int]:
        return None
    parent, site, iteration = row
    fits = 0 <= parent < parents and 0 <= site < sites and 0 <= iteration < INT64_BOUND
    return (parent, site, iteration) if fits else None


def _read_tag(at: JsonCursor, parents: int, sites: int) -> tuple[int, int, int]:
    parent, site, iteration = at.fixed_list("parent", "site", "iteration")
    return read_index(parent, parents), read_index(site, sites), iteration.integer(0)


def read_index(at: JsonCursor, end: int) -> int:
    if at.integer(0) >= end:
        at.refuse(f"a number below {end}")
    return at.integer()
