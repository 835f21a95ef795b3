"""What follows from who waits for what: which of it may still happen, where the ways end that decide, and circles.

What waits is alive if on each port that lacks a token (of a merge, or an activation: on any) some way ends at what
lives. Nothing here looks at events or at a state.
"""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Callable, Iterator, Sequence
from typing import Protocol, TypeAlias

from .causes import Elsewhere, Gone, Held, Missing, Place, Reason, Root, Trapped, Unfed, Unfilled

Needs: TypeAlias = tuple[Held | Missing, ...]
Lives: TypeAlias = Callable[[Reason], bool]


class Search(Protocol):
    """What has to be known of reasons and places."""

    def lives(self, reason: Reason) -> bool: ...

    def takes_any(self, place: Place) -> bool: ...


def missing(needs: Needs) -> Iterator[Missing]:
    return (need for need in needs if isinstance(need, Missing))


def further(needs: Needs) -> Iterator[Place]:
    """The places that these wait for in turn."""
    for need in missing(needs):
        yield from (reason for reason in need.reasons if isinstance(reason, Place))


def alive(search: Search, places: Sequence[Place], needs: Sequence[Needs], lives: Lives) -> list[bool]:
    """Which of these may still fire, open or go on, if an end of the search is no loss where it `lives`: the least
    solution, so that a circle does not keep itself alive."""
    known = set(places)
    lacking = [1 if search.takes_any(place) else sum(1 for _ in missing(needs[at])) for at, place in enumerate(places)]
    users = defaultdict[Place, list[tuple[int, int]]](list)
    ahead: list[tuple[int, int]] = []
    for at in range(len(places)):
        for need in missing(needs[at]):
            for reason in need.reasons:
                if isinstance(reason, Place) and reason in known:
                    users[reason].append((at, need.port))
                elif isinstance(reason, Place) or lives(reason):
                    ahead.append((at, need.port))
    supplied = set[tuple[int, int]]()
    while ahead:
        at, port = ahead.pop()
        if (at, port) not in supplied:
            supplied.add((at, port))
            lacking[at] -= 1
            if not lacking[at]:
                ahead += users[places[at]]
    return [left <= 0 for left in lacking]


def roots_of(
    search: Search, places: Sequence[Place], needs: Sequence[Needs], living: Sequence[bool]
) -> tuple[list[Root], dict[int, int]]:
    """Where the ways end that decide: of a node that may fire, those that are alive; of one that never will, those of
    ports that nothing can come to. With them, for each place on the way, which one it was reached from.

    Where any would do and none can come, some were not chosen, which is as it should be. Those that lead to a trap, or
    to a port that nothing feeds, are the reason, if there are such.
    """
    where = {place: at for at, place in enumerate(places)}
    faulty = set[int]() if living[0] else _faulty(search, places, needs, living)
    roots: dict[object, Root] = {}
    by, ahead = dict[int, int](), deque([0])
    while ahead:
        at = ahead.popleft()
        chosen = at in faulty and search.takes_any(places[at])
        for port, reason in _deciding(search, needs[at], living[at], where, living):
            if not isinstance(reason, Place):
                if not chosen or isinstance(reason, Trapped | Unfilled):
                    roots.setdefault(_key(at, port, reason), Root(at, port, reason))
            elif (found := where.get(reason, 0)) not in by and (not chosen or found in faulty) and found:
                by[found] = at
                ahead.append(found)
    return list(roots.values()), by


def _faulty(search: Search, places: Sequence[Place], needs: Sequence[Needs], living: Sequence[bool]) -> set[int]:
    """Of what never will fire, or open: where some way leads to a trap, or to a port that nothing feeds."""
    where = {place: at for at, place in enumerate(places)}
    users = defaultdict[int, list[int]](list)
    found = list[int]()
    for at, place in enumerate(places):
        for _, reason in _deciding(search, needs[at], False, where, living) if not living[at] else ():
            if isinstance(reason, Place):
                users[where[reason]].append(at)
            elif not isinstance(reason, Elsewhere | Gone | Unfed if search.takes_any(place) else Elsewhere | Gone):
                found.append(at)
    faulty = set(found)
    while found:
        for user in users[found.pop()]:
            if user not in faulty:
                faulty.add(user)
                found.append(user)
    return faulty


def _deciding(
    search: Search, needs: Needs, lives: bool, where: dict[Place, int], living: Sequence[bool]
) -> Iterator[tuple[int, Reason]]:
    """The reasons, by port, why a node may still fire, or why it never will."""
    for need in missing(needs):
        hopes = [reason for reason in need.reasons if _lives(search, reason, where, living)]
        if lives or not hopes:
            yield from ((need.port, reason) for reason in (hopes if lives else need.reasons))


def circle_of(
    search: Search, places: Sequence[Place], needs: Sequence[Needs], living: Sequence[bool]
) -> tuple[int, ...]:
    """Where nothing is alive and no way ends, some that wait for each other."""
    where = {place: at for at, place in enumerate(places)}
    at, path = 0, dict[int, None]()
    while at not in path:
        path[at] = None
        _, reason = next(_deciding(search, needs[at], False, where, living))
        assert isinstance(reason, Place), "no way ends"
        at = where[reason]
    around = list(path)
    return tuple(around[around.index(at) :])


def _lives(search: Search, reason: Reason, where: dict[Place, int], living: Sequence[bool]) -> bool:
    if isinstance(reason, Place):
        return reason not in where or living[where[reason]]
    return search.lives(reason)


def _key(at: int, port: int, reason: Reason) -> object:
    """One firing is one root, however many wait for it."""
    if isinstance(reason, Gone):
        return reason
    return reason.firing.number if isinstance(reason, Trapped | Elsewhere) else (at, port)
