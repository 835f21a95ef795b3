"""Liveness of waiters: which may still fire, the root causes that decide, and cycles.

A waiter is live if, for each port that lacks a token (for a merge or an activation: for any), some path ends at a live
reason. Reads neither events nor a state.
"""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Callable, Iterator, Sequence
from typing import Protocol, TypeAlias

from .causes import (
    MissingToken,
    Reason,
    RootCause,
    RoutedAway,
    RoutedAwayEarlier,
    TrappedFiring,
    UnfedPort,
    UnfilledCell,
    Waiter,
    WaitingToken,
)

Requirements: TypeAlias = tuple[WaitingToken | MissingToken, ...]
LivenessTest: TypeAlias = Callable[[Reason], bool]


class LivenessOracle(Protocol):
    """What liveness needs to know of reasons and waiters."""

    def is_possibly_live(self, reason: Reason) -> bool: ...

    def needs_any_port(self, place: Waiter) -> bool: ...


def missing_tokens(needs: Requirements) -> Iterator[MissingToken]:
    return (need for need in needs if isinstance(need, MissingToken))


def required_waiters(needs: Requirements) -> Iterator[Waiter]:
    """The waiters that these requirements wait for in turn."""
    for need in missing_tokens(needs):
        yield from (reason for reason in need.reasons if isinstance(reason, Waiter))


def compute_liveness(
    search: LivenessOracle, places: Sequence[Waiter], needs: Sequence[Requirements], lives: LivenessTest
) -> list[bool]:
    """Which of these waiters may still fire, open or continue, given that a reason which ends the search is live if it
    `lives`: the least fixed point, so that a cycle does not keep itself alive."""
    known = set(places)
    lacking = [
        1 if search.needs_any_port(place) else sum(1 for _ in missing_tokens(needs[at]))
        for at, place in enumerate(places)
    ]
    users = defaultdict[Waiter, list[tuple[int, int]]](list)
    ahead: list[tuple[int, int]] = []
    for at in range(len(places)):
        for need in missing_tokens(needs[at]):
            for reason in need.reasons:
                if isinstance(reason, Waiter) and reason in known:
                    users[reason].append((at, need.port))
                elif isinstance(reason, Waiter) or lives(reason):
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


def find_root_causes(
    search: LivenessOracle, places: Sequence[Waiter], needs: Sequence[Requirements], living: Sequence[bool]
) -> tuple[list[RootCause], dict[int, int]]:
    """The root causes that decide: for a live node, the live ones; for a dead one, those of ports that no token can
    reach. With them, for each waiter on a path, the waiter that it was reached from.

    If any of several sources would do and none can send, some of them were simply not chosen. Paths to a trap, or to a
    port that nothing feeds, are then the reason, if there are such.
    """
    where = {place: at for at, place in enumerate(places)}
    faulty = set[int]() if living[0] else _find_faulty(search, places, needs, living)
    roots: dict[object, RootCause] = {}
    by, ahead = dict[int, int](), deque([0])
    while ahead:
        at = ahead.popleft()
        chosen = at in faulty and search.needs_any_port(places[at])
        for port, reason in _deciding_reasons(search, needs[at], living[at], where, living):
            if not isinstance(reason, Waiter):
                if not chosen or isinstance(reason, TrappedFiring | UnfilledCell):
                    roots.setdefault(_cause_key(at, port, reason), RootCause(at, port, reason))
            elif (found := where.get(reason, 0)) not in by and (not chosen or found in faulty) and found:
                by[found] = at
                ahead.append(found)
    return list(roots.values()), by


def _find_faulty(
    search: LivenessOracle, places: Sequence[Waiter], needs: Sequence[Requirements], living: Sequence[bool]
) -> set[int]:
    """The dead waiters with a path to a trap or to a port that nothing feeds."""
    where = {place: at for at, place in enumerate(places)}
    users = defaultdict[int, list[int]](list)
    found = list[int]()
    for at, place in enumerate(places):
        for _, reason in _deciding_reasons(search, needs[at], False, where, living) if not living[at] else ():
            if isinstance(reason, Waiter):
                users[where[reason]].append(at)
            elif not isinstance(
                reason,
                RoutedAway | RoutedAwayEarlier | UnfedPort
                if search.needs_any_port(place)
                else RoutedAway | RoutedAwayEarlier,
            ):
                found.append(at)
    faulty = set(found)
    while found:
        for user in users[found.pop()]:
            if user not in faulty:
                faulty.add(user)
                found.append(user)
    return faulty


def _deciding_reasons(
    search: LivenessOracle, needs: Requirements, lives: bool, where: dict[Waiter, int], living: Sequence[bool]
) -> Iterator[tuple[int, Reason]]:
    """The reasons, by port, why a node may still fire or never will."""
    for need in missing_tokens(needs):
        hopes = [reason for reason in need.reasons if _is_reason_live(search, reason, where, living)]
        if lives or not hopes:
            yield from ((need.port, reason) for reason in (hopes if lives else need.reasons))


def find_cycle(
    search: LivenessOracle, places: Sequence[Waiter], needs: Sequence[Requirements], living: Sequence[bool]
) -> tuple[int, ...]:
    """If nothing is live and no path ends, waiters that wait for each other."""
    where = {place: at for at, place in enumerate(places)}
    at, path = 0, dict[int, None]()
    while at not in path:
        path[at] = None
        _, reason = next(_deciding_reasons(search, needs[at], False, where, living))
        assert isinstance(reason, Waiter), "no way ends"
        at = where[reason]
    around = list(path)
    return tuple(around[around.index(at) :])


def _is_reason_live(search: LivenessOracle, reason: Reason, where: dict[Waiter, int], living: Sequence[bool]) -> bool:
    if isinstance(reason, Waiter):
        return reason not in where or living[where[reason]]
    return search.is_possibly_live(reason)


def _cause_key(at: int, port: int, reason: Reason) -> object:
    """One firing is one root cause, however many waiters depend on it."""
    if isinstance(reason, RoutedAwayEarlier):
        return reason
    return reason.firing.number if isinstance(reason, TrappedFiring | RoutedAway) else (at, port)
